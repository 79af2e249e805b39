//! Group commit: a transaction's locks are free before its WAL record is flushed.
//!
//! *Runs in:* every backend, at the end of its transactions.
//! *Reads and writes:* `synchronous_commit` of this process, for the time of one commit; the
//! commits in flight, and its own slot of the segment.
//! *Never:* raises, allocates or touches a resource owner after the commit record: whatever fails
//! there is a PANIC.
//!
//! PostgreSQL keeps the locks of a transaction until its commit record is flushed, so whoever
//! waits for the same row waits for one flush after the other. Nothing in a lock needs the flush:
//! who comes next writes its own record behind, and cannot be durable before. So the commit is
//! made as with `synchronous_commit = off`, and waited for as with `on`, with the locks released
//! in between. The client is answered after the wait, as ever.
//!
//! ```text
//! xact.c:CommitTransaction
//!   XACT_EVENT_PRE_COMMIT ───── begins(): may it? then announce, and turn synchronous_commit off
//!   ON COMMIT, NOTIFY, ...        may still fail: XACT_EVENT_ABORT ── aborted()
//!   RecordTransactionCommit       its record is in the WAL buffers, nothing waits
//!   ProcArrayEndTransaction       others see it
//!   XACT_EVENT_COMMIT ───────── visible(): give synchronous_commit back, publish the position
//!   release of locks              the next one has the row
//!   ResourceRelease, AFTER_LOCKS  wait(): flush, as whoever comes first; then the standby
//!   SignalBackends, ...
//! the client's answer
//! ```
//!
//! The wait runs with interrupts held, as the flush in core does: a cancel or a shutdown comes
//! after it. Synchronous standbys are asked in any case: one may have been configured since
//! [`begins`], and core has not waited for it.
//!
//! | file | what it does |
//! |---|---|
//! | [`rules`] | which commits may be group commits |
//! | [`readers`] | what a reader waits for |
//! | [`tally`] | counts |
//!
//! docs/group-commit.md says what is promised to whom; crates/statseg/src/in_flight.rs has the
//! protocol between commits and readers.

mod readers;
mod rules;
mod tally;

use std::time::Instant;

use statseg::{Durability, Metric, Segment};

use self::rules::Skip;
use crate::pgshim::commit::{self, Durable, Facts};
use crate::process::{self, ProcessCell};
use crate::{settings, shmem};

/// A commit that is announced.
#[derive(Clone, Copy)]
struct Announced {
    /// What synchronous_commit was.
    level: u32,
    /// It waits for a standby as well.
    standby: bool,
}

/// What the transaction waits for when its locks are released.
#[derive(Clone, Copy)]
enum Pending {
    /// Its own record.
    Commit(Durable),
    /// What it has seen.
    Reader(Durable),
}

/// A commit of this process between [`begins`] and its record.
static ANNOUNCED: ProcessCell<Option<Announced>> = ProcessCell::new(None);
static PENDING: ProcessCell<Option<Pending>> = ProcessCell::new(None);
/// The transaction that is about to commit has written WAL.
static LOGGED: ProcessCell<bool> = ProcessCell::new(false);

/// Called from `_PG_init` in the postmaster: children inherit the hooks by fork.
pub(crate) fn install() {
    readers::install();
}

/// XACT_EVENT_PRE_COMMIT: the last moment before the decision to flush.
pub(crate) fn begins() {
    LOGGED.set(false);
    let Some(segment) = shmem::segment() else {
        return;
    };
    LOGGED.set(commit::has_logged());
    if !settings::group_commit() || !settings::enabled() {
        return;
    }
    let facts = Facts::now();
    let is_client = process::is_client_backend() && process::is_past_start();
    match rules::may_engage(&facts, is_client, settings::group_commit_sync_rep()) {
        Ok(()) => announce(segment, &facts),
        Err(skip) => skipped(segment, skip),
    }
}

/// The same for a transaction that writes nothing: it can only be a reader.
pub(crate) fn begins_plain() {
    LOGGED.set(false);
}

fn announce(segment: &'static Segment, facts: &Facts) {
    let (Some(flush), Some(standby)) = (
        segment.in_flight(Durability::Flush),
        segment.in_flight(Durability::Standby),
    ) else {
        return;
    };
    flush.announce();
    if facts.standby() {
        standby.announce();
    }
    ANNOUNCED.set(Some(Announced {
        level: facts.level(),
        standby: facts.standby(),
    }));
    commit::set_level(0);
}

fn skipped(segment: &'static Segment, skip: Skip) {
    if let Some(metric) = skip.metric() {
        tally::count(segment, metric);
    }
}

/// XACT_EVENT_PRE_PREPARE: core flushes, with locks that a crash must not lose.
pub(crate) fn prepares() {
    if let Some(segment) = shmem::segment().filter(|_| settings::group_commit()) {
        tally::count(segment, Metric::GroupSkippedTwoPhase);
    }
}

/// XACT_EVENT_COMMIT: the transaction is committed, and others see it. Says whether it has to
/// wait for something when its locks are released.
pub(crate) fn visible() -> bool {
    let Some(segment) = shmem::segment() else {
        return false;
    };
    let record = commit::record_end();
    let pending = if let Some(announced) = ANNOUNCED.get() {
        conclude(segment, announced, record);
        record.map(|end| {
            tally::count(segment, Metric::GroupCommits);
            Pending::Commit(Durable {
                flush: end,
                standby: end,
            })
        })
    } else {
        None
    };
    let pending = pending.or_else(|| {
        let flushed = record.is_some() && LOGGED.get() && commit::flushes();
        let seen = readers::seen_at_end(segment, flushed);
        (seen != Durable::default() && !seen.is_reached()).then_some(Pending::Reader(seen))
    });
    PENDING.set(pending);
    pending.is_some()
}

/// XACT_EVENT_ABORT: also of a commit that failed after [`begins`].
pub(crate) fn aborted() {
    PENDING.set(None);
    if let (Some(announced), Some(segment)) = (ANNOUNCED.get(), shmem::segment()) {
        conclude(segment, announced, None);
    }
}

/// Give synchronous_commit back, and end the announcement: with the position, if there is one.
fn conclude(segment: &'static Segment, announced: Announced, record: Option<u64>) {
    ANNOUNCED.set(None);
    commit::set_level(announced.level);
    let end = |what| {
        if let Some(commits) = segment.in_flight(what) {
            match record {
                Some(end) => commits.publish(end),
                None => commits.withdraw(),
            }
        }
    };
    end(Durability::Flush);
    if announced.standby {
        end(Durability::Standby);
    }
}

/// The locks are released: wait until the transaction, or what it has seen, is durable.
pub(crate) fn wait() {
    let (Some(pending), Some(segment)) = (PENDING.get(), shmem::segment()) else {
        return;
    };
    PENDING.set(None);
    match pending {
        Pending::Commit(target) if target.is_reached() => {
            // A standby that was configured meanwhile is asked all the same.
            target.wait();
            tally::flushed_before(segment);
        }
        Pending::Commit(target) => {
            let began = Instant::now();
            target.wait();
            tally::waited(segment, began);
        }
        Pending::Reader(target) => {
            let began = Instant::now();
            target.wait_as_reader();
            tally::reader_waited(segment, began);
        }
    }
}
