//! Rules about the device: a limit that it runs into, and writes that come in bursts.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* takes a steady load for a limit: at a limit, requests queue up.

use statseg::CheckpointPhase;

use super::measured::{Measured, Second, Settings, mean, quantile};
use super::schedule::longer_interval;
use super::text::{MB, Setting, bytes, percent, seconds};
use super::{Advice, Severity};

/// Seconds at the limit, at least: below that it is chance.
const ENOUGH: usize = 20;
/// How far such seconds may be from each other, and how many of them must not be farther.
const FLAT: f64 = 0.1;
const MOST: f64 = 0.7;

/// A line that does not rise although requests wait: how high, and how flat.
struct Line {
    height: f64,
    share: f64,
}

/// The flat line of these seconds' figures, if hardly any second of all is above it.
fn flat_line(busy: &[f64], all: &[f64]) -> Option<Line> {
    let height = quantile(busy.to_vec(), 0.5).filter(|height| *height > 0.0)?;
    let near = busy
        .iter()
        .filter(|it| (**it - height).abs() <= FLAT * height);
    let above = all.iter().filter(|it| **it > (1.0 + 2.0 * FLAT) * height);
    let share = near.count() as f64 / busy.len() as f64;
    let rare = 20 * above.count() <= busy.len();
    (share >= MOST && rare).then_some(Line { height, share })
}

/// The device does no more than so many operations, or bytes, per second.
pub(super) fn limit(measured: &Measured) -> Option<Advice> {
    let known = || {
        measured
            .seconds
            .iter()
            .filter_map(|it| Some((it, it.device?)))
    };
    let waiting: Vec<_> = known()
        .filter(|(_, (_, _, in_flight))| *in_flight >= 2.0)
        .collect();
    if waiting.len() < ENOUGH {
        return None;
    }
    let line = |of: fn((f64, f64, f64)) -> f64| {
        let busy: Vec<f64> = waiting.iter().map(|(_, device)| of(*device)).collect();
        let all: Vec<f64> = known().map(|(_, device)| of(device)).collect();
        flat_line(&busy, &all)
    };
    let (operations, volume) = (line(|it| it.0), line(|it| it.1));
    let by_operations = match (&operations, &volume) {
        (Some(operations), Some(volume)) => operations.share >= volume.share,
        (operations, _) => operations.is_some(),
    };
    let line = if by_operations { operations } else { volume }?;
    let value = if by_operations {
        format!("{:.0} writes", line.height)
    } else {
        bytes(line.height)
    };
    let slowed = slowed(measured, &waiting);
    Some(Advice {
        topic: "device_limit",
        severity: if slowed.is_some() {
            Severity::Warning
        } else {
            Severity::Info
        },
        finding: format!("the device does no more than {value} per second"),
        evidence: format!(
            "In {} of {} seconds requests were waiting for it; {} of these had {value} within {}, \
             and none had much more.{}",
            waiting.len(),
            known().count(),
            percent(line.share),
            percent(FLAT),
            slowed.unwrap_or_default(),
        ),
        suggestion: less_to_write(measured),
        expected_effect:
            "Pages that are changed often are written less often, over a longer time, \
                          and less WAL is written: see ckpt_stats_forecast(). A volume with a \
                          higher limit helps at once."
                .to_owned(),
    })
}

/// What transactions had of it, if anything.
fn slowed(measured: &Measured, waiting: &[(&Second, (f64, f64, f64))]) -> Option<String> {
    let stalled: f64 = waiting.iter().map(|(second, _)| second.stalled).sum();
    let then = mean(waiting.iter().filter_map(|(second, _)| second.p99))?;
    let free = |second: &&Second| {
        second
            .device
            .is_some_and(|(_, _, in_flight)| in_flight < 2.0)
    };
    let else_p99 = mean(measured.seconds.iter().filter(free).filter_map(|it| it.p99));
    let longer = else_p99.is_some_and(|else_p99| then >= 2.0 * else_p99);
    (stalled >= 1.0 || longer).then(|| {
        format!(
            " Transactions took {} then (mean p99), {} otherwise, and {} were stalled.",
            seconds(then),
            else_p99.map_or("nothing known".to_owned(), seconds),
            seconds(stalled),
        )
    })
}

/// The setting that makes checkpoints write less per second.
fn less_to_write(measured: &Measured) -> Option<Setting> {
    let by_wal = measured.present()?.by_wal;
    if !by_wal && measured.settings.target < 0.8 {
        return Some(Setting::new("checkpoint_completion_target", "0.9"));
    }
    longer_interval(measured)
}

/// Seconds without a checkpoint in which the device wrote much that neither was WAL nor started
/// by us, while nobody could commit: the kernel has come round.
pub(super) fn kernel_bursts(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let burst = |second: &&Second| {
        let ours = second.writeback_bytes + second.wal_bytes;
        second.phase == CheckpointPhase::None
            && second.stalled > 0.0
            && second
                .device
                .is_some_and(|(_, bytes, _)| bytes >= 8.0 * MB && ours < 0.5 * bytes)
    };
    let bursts: Vec<_> = measured.seconds.iter().filter(burst).collect();
    let works = settings.flush && settings.flush_sweep && measured.sweep;
    if bursts.len() < 3 || works {
        return None;
    }
    let most = bursts
        .iter()
        .filter_map(|it| it.device)
        .map(|it| it.1)
        .fold(0.0, f64::max);
    let stalled: f64 = bursts.iter().map(|it| it.stalled).sum();
    let suggestion = sweep(settings);
    Some(Advice {
        topic: "kernel_writeback",
        severity: Severity::Warning,
        finding: "the kernel writes dirty pages in bursts, during which nobody commits".to_owned(),
        evidence: format!(
            "In {} seconds of the timeline, while no checkpoint ran, up to {} were written that \
             are neither WAL nor the flusher's, and {} of them were stalled.",
            bursts.len(),
            bytes(most),
            seconds(stalled),
        ),
        expected_effect: if suggestion.is_some() {
            "The flusher writes these pages evenly, before the kernel's vm.dirty_expire_centisecs \
             is over."
        } else {
            "The sweep needs the kernel's cachestat, which is not to be had here. Without it, a \
             lower vm.dirty_background_bytes makes the bursts smaller and more frequent."
        }
        .to_owned(),
        suggestion,
    })
}

/// What is to be switched on so that pages that others have written are swept.
fn sweep(settings: &Settings) -> Option<Setting> {
    if !settings.flush {
        Some(Setting::new("ckptflush.flush", "on"))
    } else if !settings.flush_sweep {
        Some(Setting::new("ckptflush.flush_sweep", "on"))
    } else {
        None
    }
}

/// What CREATE INDEX, COPY and the like wait for while others cannot commit.
const BULK_WAITS: [&str; 3] = ["DataFileImmediateSync", "DataFileExtend", "DataFileWrite"];

/// A large command writes so much at once that nobody commits.
pub(super) fn bulk_writes(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let bulk = |event: &str| BULK_WAITS.contains(&event);
    let stalls: Vec<_> = measured
        .stalls
        .iter()
        .filter(|it| bulk(&it.wait_event))
        .collect();
    let stalled: f64 = stalls.iter().map(|it| it.seconds).sum();
    let longest = stalls
        .iter()
        .max_by(|one, other| one.seconds.total_cmp(&other.seconds))?;
    if stalled < 1.0 {
        return None;
    }
    let suggestion = sweep(settings);
    Some(Advice {
        topic: "bulk_writes",
        severity: if stalled >= 10.0 {
            Severity::Warning
        } else {
            Severity::Info
        },
        finding: "large commands, such as CREATE INDEX or COPY, stall everybody else".to_owned(),
        evidence: format!(
            "{} stalls of {} together, the longest of {}, in which most waited for {}.",
            stalls.len(),
            seconds(stalled),
            seconds(longest.seconds),
            longest.wait_event,
        ),
        expected_effect: if suggestion.is_some() {
            "What they write goes out while they run, and not all at once at their end."
        } else {
            "The flusher is at work already; the device is not faster. Such commands belong into a \
             quiet hour."
        }
        .to_owned(),
        suggestion,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::measured::Stall;
    use super::super::testing::{busy, statement};
    use super::*;

    /// So many seconds at 400 writes, with a queue, among idle ones.
    fn capped(seconds: usize, in_flight: f64) -> Measured {
        let mut measured = busy();
        for (place, second) in measured.seconds.iter_mut().enumerate() {
            let wobble = (place % 5) as f64;
            second.device = Some((50.0 + wobble, 4.0 * MB, 0.0));
            if place < seconds {
                second.device = Some((395.0 + 3.0 * wobble, (2.0 + wobble) * MB, in_flight));
                second.p99 = Some(0.5);
            }
        }
        measured
    }

    #[test]
    fn a_flat_line_with_a_queue_is_a_limit() {
        let advice = limit(&capped(60, 8.0)).unwrap();
        assert_eq!(
            advice.finding,
            "the device does no more than 401 writes per second"
        );
        assert_eq!(advice.severity, Severity::Warning);
        assert!(advice.evidence.contains("Transactions took 500 ms then"));
        assert_eq!(
            statement(Some(advice)),
            "ALTER SYSTEM SET checkpoint_timeout = '10min';"
        );
    }

    #[test]
    fn a_steady_load_is_none() {
        assert_eq!(limit(&capped(60, 0.0)), None, "nothing waits");
        assert_eq!(limit(&capped(10, 8.0)), None, "too short");
        let mut higher = capped(60, 8.0);
        for second in higher.seconds.iter_mut().skip(100).take(20) {
            second.device = Some((900.0, MB, 0.0));
        }
        assert_eq!(limit(&higher), None, "it did more before");
        let mut wild = capped(60, 8.0);
        for (place, second) in wild.seconds.iter_mut().take(60).enumerate() {
            second.device = Some((100.0 + 10.0 * place as f64, MB * place as f64, 8.0));
        }
        assert_eq!(limit(&wild), None, "not flat");
    }

    #[test]
    fn bytes_can_be_the_limit() {
        let mut measured = capped(60, 8.0);
        for (place, second) in measured.seconds.iter_mut().take(60).enumerate() {
            second.device = Some((100.0 + 10.0 * place as f64, 20.0 * MB, 8.0));
            second.p99 = None;
        }
        let advice = limit(&measured).unwrap();
        assert_eq!(
            advice.finding,
            "the device does no more than 20.0 MB per second"
        );
        assert_eq!(advice.severity, Severity::Info, "nobody was slower");
    }

    #[test]
    fn bursts_of_the_kernel_are_what_we_did_not_write() {
        let mut measured = busy();
        for second in measured.seconds.iter_mut().take(4) {
            second.device = Some((2000.0, 60.0 * MB, 100.0));
            second.stalled = 0.9;
            second.phase = CheckpointPhase::None;
        }
        assert_eq!(kernel_bursts(&measured), None, "the sweep is at work");
        measured.sweep = false;
        assert_eq!(kernel_bursts(&measured).unwrap().suggestion(), None);
        measured.settings.flush_sweep = false;
        let advice = kernel_bursts(&measured);
        assert!(advice.as_ref().unwrap().evidence.contains("up to 60.0 MB"));
        assert_eq!(
            statement(advice),
            "ALTER SYSTEM SET ckptflush.flush_sweep = 'on';"
        );
        measured.seconds[0].writeback_bytes = 55.0 * MB;
        measured.seconds[1].wal_bytes = 55.0 * MB;
        assert_eq!(kernel_bursts(&measured), None, "two are not");
    }

    #[test]
    fn stalls_of_large_commands_have_their_waits() {
        let mut measured = busy();
        let stall = |seconds, event: &str| Stall {
            seconds,
            wait_event: event.to_owned(),
        };
        measured.stalls = vec![stall(9.0, "WALSync"), stall(0.5, "DataFileImmediateSync")];
        assert_eq!(bulk_writes(&measured), None);
        measured.stalls.push(stall(6.0, "DataFileImmediateSync"));
        let advice = bulk_writes(&measured).unwrap();
        assert_eq!(advice.suggestion(), None);
        assert!(advice.evidence.starts_with("2 stalls of 6.5 s together"));
        measured.settings.flush = false;
        assert_eq!(
            statement(bulk_writes(&measured)),
            "ALTER SYSTEM SET ckptflush.flush = 'on';"
        );
    }
}
