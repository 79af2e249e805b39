//! Which commits may be group commits, and why another one may not.
//!
//! *Runs in:* every backend, just before its commit record. *Reads and writes:* nothing.
//! *Never:* looks at anything but what it is given.

use pgrx::pg_sys;
use statseg::Metric;

use crate::pgshim::commit::Facts;

/// Why a commit keeps its locks until it is durable. In the order in which they are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skip {
    /// It changed nothing, or nothing that a crash would not undo anyway: there is no flush.
    Nothing,
    /// It wrote to temporary or unlogged tables only: the same, but it has a record.
    Unlogged,
    /// The process serves no client: nobody waits for it, or it is the server's own.
    Background,
    /// synchronous_commit is off: there is no flush to wait for.
    Asynchronous,
    /// The flag that makes a standby report what it has applied is set by synchronous_commit when
    /// the record is made (xact.c:XactLogCommitRecord): it cannot be turned down until later.
    RemoteApply,
    /// A synchronous standby has to answer, and its answer may not be waited for without locks.
    Standby,
    /// fsync is off: a flush takes no time.
    Fsync,
}

impl Skip {
    /// The counter of the reason; none for what is no skipped commit.
    pub(super) fn metric(self) -> Option<Metric> {
        match self {
            Self::Nothing => None,
            Self::Unlogged => Some(Metric::GroupSkippedUnlogged),
            Self::Background => Some(Metric::GroupSkippedBackground),
            Self::Asynchronous => Some(Metric::GroupSkippedAsynchronous),
            Self::RemoteApply => Some(Metric::GroupSkippedRemoteApply),
            Self::Standby => Some(Metric::GroupSkippedStandby),
            Self::Fsync => Some(Metric::GroupSkippedFsync),
        }
    }
}

/// Level of synchronous_commit, as core numbers it.
const OFF: u32 = pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_OFF;
const REMOTE_APPLY: u32 = pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_REMOTE_APPLY;

/// May the transaction release its locks before it is durable? It may still get an xid after this
/// (async.c:PreCommit_Notify); WAL that it writes first after this makes it a commit like any
/// other.
pub(super) fn may_engage(
    facts: &Facts,
    is_client: bool,
    with_standby: bool,
) -> std::result::Result<(), Skip> {
    let skip = if !facts.logged() {
        if facts.writes() {
            Skip::Unlogged
        } else {
            Skip::Nothing
        }
    } else if !is_client || facts.applies() {
        Skip::Background
    } else if facts.level() == OFF {
        Skip::Asynchronous
    } else if facts.level() >= REMOTE_APPLY {
        Skip::RemoteApply
    } else if facts.standby() && !with_standby {
        Skip::Standby
    } else if !facts.synced() {
        Skip::Fsync
    } else {
        return Ok(());
    };
    Err(skip)
}
