//! The rule about a limit of the device: a flat line of operations or bytes per second.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* takes a steady load for a limit.
//!
//! A flat line alone says nothing: a steady load has one. It is a limit by either of these marks:
//!
//! | mark | where it is seen |
//! |---|---|
//! | requests are waiting, and no more of them are served | whoever writes leaves a queue, as large commands do, and checkpoints without the flusher |
//! | with the writes of a checkpoint it is as high as without, and fewer transactions are done | the flusher leaves no queue: each commit waits for one request of its own |

use pacing::BLOCK_BYTES;
use statseg::CheckpointPhase;

use super::measured::{Measured, Second, mean, quantile};
use super::schedule::longer_interval;
use super::syncs::long_syncs;
use super::text::{Setting, bytes, percent, seconds};
use super::{Advice, Severity};

/// Seconds at the limit, at least: below that it is chance.
const ENOUGH: usize = 20;
/// How far such seconds may be from each other, and how many of them must not be farther.
const FLAT: f64 = 0.1;
const MOST: f64 = 0.7;
/// With and without a checkpoint the line may differ by so much.
const SAME: f64 = 0.05;
/// The part of the line that the writes of checkpoints have, and that transactions lose, at least.
const DISPLACED: f64 = 0.2;
/// Fewer backends at work may just not ask for more.
const AT_WORK: f64 = 2.0;

/// Operations, bytes, in flight at the end: of the device in a second.
type Device = (f64, f64, f64);

/// A line that does not rise although requests wait: how high, and how flat.
struct Line {
    height: f64,
    share: f64,
}

/// A figure that may be limited.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Operations,
    Bytes,
}

impl Unit {
    fn of(self, device: Device) -> f64 {
        match self {
            Self::Operations => device.0,
            Self::Bytes => device.1,
        }
    }

    fn value(self, height: f64) -> String {
        match self {
            Self::Operations => format!("{height:.0} writes"),
            Self::Bytes => bytes(height),
        }
    }

    /// What so many bytes that checkpoints write make of it: pages mostly lie apart.
    fn of_pages(self, written: f64) -> f64 {
        match self {
            Self::Operations => written / BLOCK_BYTES as f64,
            Self::Bytes => written,
        }
    }
}

/// What was seen of a limit.
struct Limit {
    unit: Unit,
    height: f64,
    evidence: String,
    /// Transactions were slower, or fewer.
    hurts: bool,
}

/// The device does no more than so many operations, or bytes, per second.
pub(super) fn limit(measured: &Measured) -> Option<Advice> {
    let known: Vec<(&Second, Device)> = measured
        .seconds
        .iter()
        .filter_map(|it| Some((it, it.device?)))
        .collect();
    let queue = queue(measured, &known);
    let limit = if queue.as_ref().is_some_and(|limit| limit.hurts) {
        queue
    } else {
        displaced(&known).or(queue)
    }?;
    let value = limit.unit.value(limit.height);
    let syncs = long_syncs(measured).map_or_else(String::new, |syncs| format!(" {syncs}"));
    Some(Advice {
        topic: "device_limit",
        severity: if limit.hurts {
            Severity::Warning
        } else {
            Severity::Info
        },
        finding: format!("the device does no more than {value} per second"),
        evidence: limit.evidence + &syncs,
        suggestion: less_to_write(measured),
        expected_effect:
            "Pages that are changed often are written less often, over a longer time, \
                          and less WAL is written: see ckpt_stats_forecast(). A volume with a \
                          higher limit helps at once."
                .to_owned(),
    })
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

/// The flatter line of the two units.
fn flatter(busy: &[(&Second, Device)], all: &[(&Second, Device)]) -> Option<(Unit, Line)> {
    let line = |unit: Unit| {
        let figures = |of: &[(&Second, Device)]| -> Vec<f64> {
            of.iter().map(|(_, device)| unit.of(*device)).collect()
        };
        flat_line(&figures(busy), &figures(all)).map(|line| (unit, line))
    };
    let lines = [line(Unit::Bytes), line(Unit::Operations)];
    let lines = lines.into_iter().flatten();
    // Of two that are as flat, the last.
    lines.max_by(|(_, one), (_, other)| one.share.total_cmp(&other.share))
}

/// By the seconds in which requests were waiting.
fn queue(measured: &Measured, known: &[(&Second, Device)]) -> Option<Limit> {
    let waiting: Vec<_> = known
        .iter()
        .filter(|(_, (_, _, in_flight))| *in_flight >= 2.0)
        .copied()
        .collect();
    if waiting.len() < ENOUGH {
        return None;
    }
    let (unit, line) = flatter(&waiting, known)?;
    let slowed = slowed(measured, &waiting);
    Some(Limit {
        unit,
        height: line.height,
        hurts: slowed.is_some(),
        evidence: format!(
            "In {} of {} seconds requests were waiting for it; {} of these had {} within {}, \
             and none had much more.{}",
            waiting.len(),
            known.len(),
            percent(line.share),
            unit.value(line.height),
            percent(FLAT),
            slowed.unwrap_or_default(),
        ),
    })
}

/// By what the writes of checkpoints took from transactions.
fn displaced(known: &[(&Second, Device)]) -> Option<Limit> {
    let busy: Vec<_> = known
        .iter()
        .filter(|(second, _)| second.active >= AT_WORK)
        .copied()
        .collect();
    let (with, without): (Vec<_>, Vec<_>) = busy
        .iter()
        .partition(|(second, _)| second.phase != CheckpointPhase::None);
    if with.len().min(without.len()) < ENOUGH / 2 || busy.len() < ENOUGH {
        return None;
    }
    let (unit, line) = flatter(&busy, known)?;
    let middle = |of: &[(&Second, Device)]| {
        let figures = of.iter().map(|(_, device)| unit.of(*device)).collect();
        quantile(figures, 0.5)
    };
    let same = (middle(&with)? - middle(&without)?).abs() <= SAME * line.height;
    let average = |of: &[(&Second, Device)], field: fn(&Second) -> f64| {
        mean(of.iter().map(|(second, _)| field(second)))
    };
    let written = |of| average(of, |it| it.writeback_bytes);
    let added = unit.of_pages(written(&with)? - written(&without)?);
    let done = |of| average(of, |it| it.commits);
    let (fewer, more) = (done(&with)?, done(&without)?);
    if !same || added < DISPLACED * line.height || fewer > (1.0 - DISPLACED) * more {
        return None;
    }
    Some(Limit {
        unit,
        height: line.height,
        hurts: true,
        evidence: format!(
            "In {} of {} seconds two backends or more were at work; {} of these had {} within {}, \
             with the writes of a checkpoint ({} seconds) as without ({}), and hardly any had much \
             more. {fewer:.0} transactions per second were done with them, {more:.0} without.",
            busy.len(),
            known.len(),
            percent(line.share),
            unit.value(line.height),
            percent(FLAT),
            with.len(),
            without.len(),
        ),
    })
}

/// What transactions had of it, if anything.
fn slowed(measured: &Measured, waiting: &[(&Second, Device)]) -> Option<String> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{busy, statement};
    use super::super::text::MB;
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
    fn the_mark_that_hurts_comes_first() {
        let mut measured = shared(200.0, 400.0, 200.0);
        for second in measured.seconds.iter_mut().step_by(100) {
            second.device = second.device.map(|it| (it.0, it.1, 5.0));
        }
        let advice = limit(&measured).unwrap();
        assert_eq!(advice.severity, Severity::Warning);
        assert!(advice.evidence.contains("400 without"), "not the queue's");
    }

    /// So many commits per second with a checkpoint's writes, which make so many operations, and
    /// without; each commit takes one, and the device does 400.
    fn shared(fewer: f64, more: f64, writes: f64) -> Measured {
        let mut measured = busy();
        for (place, second) in measured.seconds.iter_mut().enumerate() {
            let wobble = (place % 5) as f64;
            let writing = second.phase != CheckpointPhase::None;
            let (commits, written) = if writing {
                (fewer, writes)
            } else {
                (more, 0.0)
            };
            second.active = 6.0;
            second.commits = commits;
            second.writeback_bytes = written * BLOCK_BYTES as f64;
            second.device = Some((
                commits + written + wobble,
                (4.0 + wobble) * MB,
                wobble % 2.0,
            ));
        }
        measured
    }

    #[test]
    fn what_checkpoints_take_from_transactions_shows_a_limit() {
        let advice = limit(&shared(200.0, 400.0, 200.0)).unwrap();
        assert_eq!(
            advice.finding,
            "the device does no more than 402 writes per second"
        );
        assert_eq!(advice.severity, Severity::Warning);
        assert!(
            advice.evidence.contains("200 transactions per second")
                && advice.evidence.contains("400 without"),
            "{}",
            advice.evidence
        );
    }

    #[test]
    fn where_nothing_is_taken_there_is_no_limit() {
        assert_eq!(limit(&shared(400.0, 400.0, 200.0)), None, "it did more");
        assert_eq!(limit(&shared(390.0, 400.0, 10.0)), None, "next to nothing");
        assert_eq!(
            limit(&shared(300.0, 400.0, 10.0)),
            None,
            "fewer asked for it"
        );
        assert_eq!(limit(&shared(200.0, 400.0, 300.0)), None, "another line");
        let mut few = shared(200.0, 400.0, 200.0);
        for second in &mut few.seconds {
            second.active = 1.0;
        }
        assert_eq!(limit(&few), None, "nobody waits");
        let mut short = shared(200.0, 400.0, 200.0);
        short.seconds.truncate(300);
        for second in short.seconds.iter_mut().skip(9) {
            second.phase = CheckpointPhase::Writing;
        }
        assert_eq!(limit(&short), None, "too little without");
    }
}
