//! Rules about writes that come to the device in bursts.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* takes WAL, or what the flusher writes, for a burst.

use statseg::CheckpointPhase;

use super::measured::{Measured, Second, Settings};
use super::text::{MB, Setting, bytes, seconds};
use super::{Advice, Severity};

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
        settings.flush_on()
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
