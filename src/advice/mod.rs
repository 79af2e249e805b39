//! What the measurements say to change: rules over numbers, each with its evidence.
//!
//! *Runs in:* the backend that queries `ckpt_stats_advice`. Pure.
//! *Reads and writes:* its argument, [`Measured`], which the view gathers.
//! *Never:* says anything without a number that was measured or set; changes a setting. A server
//! that is idle and healthy gets no row, a busy and healthy one no warning.
//!
//! One rule is one function, `fn(&Measured) -> Option<Advice>`; [`RULES`] lists them all. A rule
//! that looks at a setting asks what the load is *now* and what that setting does to *it*, so that
//! advice that was followed goes away by itself, whatever the history still says.

mod commits;
mod device;
mod limit;
mod measured;
mod schedule;
mod syncs;
mod text;
mod tracking;
mod writes;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testing;

pub(crate) use measured::{
    Checkpoint, Commits, Files, GroupCommit, LATEST, Measured, RECENT, Second, Settings, Stall,
    SyncedFile, Writes, cycles,
};
pub(crate) use schedule::REPLAY_BYTES;
use text::Setting;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// There is something to gain.
    Info,
    /// It hurts, or is bound to.
    Warning,
    /// The server may stop.
    Critical,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// A row of `ckpt_stats_advice`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    /// A heading of docs/advice.md.
    pub(crate) topic: &'static str,
    pub(crate) severity: Severity,
    /// What is the matter.
    pub(crate) finding: String,
    /// The numbers it is known by.
    pub(crate) evidence: String,
    /// `None`: no setting cures it.
    suggestion: Option<Setting>,
    /// What that, or what else helps, would do.
    pub(crate) expected_effect: String,
}

impl Advice {
    /// A statement that can be pasted.
    pub(crate) fn suggestion(&self) -> Option<String> {
        self.suggestion.as_ref().map(Setting::statement)
    }

    pub(crate) fn docs(&self) -> String {
        format!("docs/advice.md#{}", self.topic)
    }
}

type Rule = fn(&Measured) -> Option<Advice>;

const RULES: &[Rule] = &[
    tracking::log_checkpoints,
    schedule::disk_too_small,
    schedule::by_wal,
    schedule::low_target,
    schedule::high_target,
    schedule::back_to_back,
    schedule::recovery,
    syncs::many_files,
    syncs::slow_flush,
    syncs::volume,
    limit::limit,
    device::kernel_bursts,
    device::bulk_writes,
    writes::flusher_off,
    writes::checkpoint_flush_after,
    writes::backend_flush_after,
    writes::bgwriter_flush_after,
    writes::bgwriter,
    writes::pool_too_small,
    writes::pool_too_large,
    commits::useless_delay,
    commits::useful_delay,
    commits::group_commit,
    tracking::slow_clock,
    tracking::sampling,
];

/// All that the rules have to say, the gravest first.
pub(crate) fn advice(measured: &Measured) -> Vec<Advice> {
    let mut found: Vec<_> = RULES.iter().filter_map(|rule| rule(measured)).collect();
    found.sort_by_key(|advice| std::cmp::Reverse(advice.severity));
    found
}

#[cfg(test)]
mod tests {
    use super::testing::{busy, idle};
    use super::*;

    #[test]
    fn an_idle_server_gets_no_advice() {
        assert_eq!(advice(&idle()), []);
        assert_eq!(advice(&Measured::default()), []);
    }

    #[test]
    fn a_healthy_busy_server_gets_no_warning() {
        assert_eq!(advice(&busy()), []);
    }

    #[test]
    fn the_gravest_comes_first() {
        let mut measured = busy();
        measured.settings.log_checkpoints = false;
        measured.settings.target = 0.7;
        let found = advice(&measured);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].topic, "log_checkpoints");
        assert_eq!(found[1].severity, Severity::Info);
        assert_eq!(
            found[0].suggestion().as_deref(),
            Some("ALTER SYSTEM SET log_checkpoints = 'on';")
        );
        assert_eq!(found[0].docs(), "docs/advice.md#log_checkpoints");
    }
}
