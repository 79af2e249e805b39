//! Rules about what is not seen, and what seeing costs.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* asks for more to be tracked than a rule needs.

use super::measured::Measured;
use super::text::{Setting, percent, seconds};
use super::{Advice, Severity};

/// A clock that takes longer to read is slow: 20 to 50 ns are usual.
const SLOW_CLOCK_NS: f64 = 200.0;
/// Share of a CPU that the monitor's looks may take.
const SAMPLING: f64 = 0.05;
/// The setting is at most so many seconds (settings.rs).
const LONGEST_INTERVAL: f64 = 1.0;

/// Without the log's records we do not see when a checkpoint begins.
pub(super) fn log_checkpoints(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    if settings.log_checkpoints {
        return None;
    }
    let unknown = measured.checkpoints.iter().filter(|it| it.files.is_none());
    let seen = match (unknown.count(), measured.checkpoints.len()) {
        (_, 0) => String::new(),
        (unknown, all) => {
            format!(" {unknown} of {all} checkpoints are known without their fsyncs and WAL files.")
        }
    };
    let takeover = if settings.flush {
        " The flusher cannot take over their writeback."
    } else {
        ""
    };
    Some(Advice {
        topic: "log_checkpoints",
        severity: Severity::Warning,
        finding: "log_checkpoints is off, so ckptflush sees only a part of each checkpoint"
            .to_owned(),
        evidence: format!("log_checkpoints = off.{seen}{takeover}"),
        suggestion: Some(Setting::new("log_checkpoints", "on")),
        expected_effect: "Causes, fsyncs and files of checkpoints are seen, the flusher evens out \
                          their writes, and the rules about fsyncs can speak. Two lines in the \
                          server log per checkpoint."
            .to_owned(),
    })
}

/// Reading the clock takes long, and settings have it read for each block.
pub(super) fn slow_clock(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let clock = measured.clock_ns.filter(|ns| *ns >= SLOW_CLOCK_NS)?;
    let on = [
        ("track_io_timing", settings.track_io_timing),
        ("track_wal_io_timing", settings.track_wal_io_timing),
    ];
    let (name, _) = on.into_iter().find(|(_, on)| *on)?;
    Some(Advice {
        topic: "slow_clock",
        severity: Severity::Info,
        finding: format!(
            "{name} reads the clock at each I/O, and the clock of this machine is slow"
        ),
        evidence: format!("{name} = on. Reading the clock takes {clock:.0} ns."),
        suggestion: Some(Setting::new(name, "off")),
        expected_effect: "Two readings less per block that is read or written. A faster clock \
                          source of the machine (tsc) is better."
            .to_owned(),
    })
}

/// Looking at all processes takes much of a CPU.
pub(super) fn sampling(measured: &Measured) -> Option<Advice> {
    let present = measured.settings.wait_sample_interval;
    let share = measured.sampling.filter(|share| *share >= SAMPLING)?;
    let interval = (present * share / SAMPLING * 2.0).clamp(present, LONGEST_INTERVAL);
    (interval > present).then(|| Advice {
        topic: "wait_sample_interval",
        severity: Severity::Info,
        finding: "sampling the waits of all processes takes much time".to_owned(),
        evidence: format!(
            "ckptflush.wait_sample_interval = {}. The monitor's looks take {} of a CPU.",
            seconds(present),
            percent(share),
        ),
        suggestion: Some(Setting::new(
            "ckptflush.wait_sample_interval",
            format!("{:.0}ms", interval * 1e3),
        )),
        expected_effect: "Fewer looks. Stalls are seen with less precision.".to_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{busy, statement};
    use super::*;

    #[test]
    fn checkpoints_that_are_not_logged_are_half_seen() {
        let mut measured = busy();
        assert_eq!(log_checkpoints(&measured), None);
        measured.settings.log_checkpoints = false;
        measured.checkpoints.truncate(2);
        measured.checkpoints[0].files = None;
        let advice = log_checkpoints(&measured).unwrap();
        assert!(advice.evidence.contains("1 of 2 checkpoints"));
        assert!(advice.evidence.contains("The flusher"));
        measured.checkpoints.clear();
        measured.settings.flush = false;
        let advice = log_checkpoints(&measured).unwrap();
        assert_eq!(advice.evidence, "log_checkpoints = off.");
    }

    #[test]
    fn a_slow_clock_matters_where_it_is_read() {
        let mut measured = busy();
        measured.clock_ns = Some(900.0);
        assert_eq!(slow_clock(&measured), None, "nobody reads it");
        measured.settings.track_wal_io_timing = true;
        assert_eq!(
            statement(slow_clock(&measured)),
            "ALTER SYSTEM SET track_wal_io_timing = 'off';"
        );
        measured.clock_ns = Some(30.0);
        assert_eq!(slow_clock(&measured), None, "it is fast");
    }

    #[test]
    fn sampling_that_costs_is_made_rarer() {
        let mut measured = busy();
        assert_eq!(sampling(&measured), None);
        measured.sampling = Some(0.1);
        assert_eq!(
            statement(sampling(&measured)),
            "ALTER SYSTEM SET ckptflush.wait_sample_interval = '40ms';"
        );
        measured.settings.wait_sample_interval = LONGEST_INTERVAL;
        assert_eq!(sampling(&measured), None, "it cannot be rarer");
    }
}
