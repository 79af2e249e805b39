//! How long commits take, from before the record is made until it is durable, and transactions.
//!
//! *Runs in:* every backend, in the transaction callbacks.
//! *Reads and writes:* the backend's own part of `commit_windows` and `activity`, and its slot.
//! *Never:* takes a lock, allocates, or raises.
//!
//! xact.c:CommitTransaction calls back just before RecordTransactionCommit and soon after it:
//! between lies the WAL flush, and with synchronous replication the standby's answer. With group
//! commit these come later, and so does the end that [`crate::hooks`] tells of. A transaction
//! without an xid writes no commit record and waits for nothing.

use pgrx::pg_sys;
use pgrx::prelude::*;

use statseg::{CommitWindows, Segment};

use super::commands;
use super::place::{self, Place, place};
use crate::pgshim::backends;
use crate::process::{self, Moment, ProcessCell, Tick, unix_us};
use crate::{settings, shmem};

/// A commit that has ended.
pub(super) struct Commit {
    /// Just before its record is made.
    pub(super) began: Tick,
    /// It is as durable as it was asked to be.
    pub(super) ended: Tick,
    /// It has a record.
    pub(super) writes: bool,
}

/// One that has not ended.
#[derive(Clone, Copy)]
struct Begun {
    began: Option<Tick>,
    writes: bool,
}

static COMMITTING: ProcessCell<Option<Begun>> = ProcessCell::new(None);

/// Called from `_PG_init` in the postmaster: children inherit the callback by fork. The ends of
/// transactions come from [`crate::hooks`].
pub(crate) fn install() {
    // SAFETY: registers a function of this library, which is never unloaded.
    unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction), std::ptr::null_mut()) };
}

/// The transaction is about to make its commit record, or to be prepared.
pub(crate) fn begins() {
    if !settings::enabled() {
        COMMITTING.set(None);
        return;
    }
    let writes = backends::has_xid();
    // Of one that waits for nothing and ends with its statement nobody asks when it began.
    let began = (writes || commands::is_inside()).then(Tick::now);
    COMMITTING.set(Some(Begun { began, writes }));
}

/// It is as durable as it was asked to be.
pub(crate) fn ends() {
    if let (Some(Begun { began, writes }), Some(segment)) = (COMMITTING.get(), shmem::segment()) {
        COMMITTING.set(None);
        let now = Moment::now();
        let ended = now.tick;
        let began = began.unwrap_or(ended);
        committed(
            segment,
            &Commit {
                began,
                ended,
                writes,
            },
            now.us,
        );
    }
}

/// A transaction of a client backend that commits nothing is over: both of the above in one, for
/// it waits for nothing. Is called if the statistics are on.
#[unsafe(link_section = "ckf_hot")]
pub(crate) extern "C" fn plain(message: i64, began: i64) {
    if let Some(place) = place() {
        let now = Moment::now();
        commands::plain_committed(place, message, began, now.tick);
        let ns = transaction_ended(place, now.us, began);
        place.activity.committed(now.us, ns, false);
    }
}

/// It was rolled back.
pub(crate) fn aborted() {
    COMMITTING.set(None);
    if settings::enabled() {
        rolled_back();
    }
}

/// A savepoint, or the block of a function that catches errors.
#[pg_guard]
unsafe extern "C-unwind" fn subtransaction(
    event: pg_sys::SubXactEvent::Type,
    _own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut std::ffi::c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB && process::is_client_backend() {
        commands::rolled_back(Tick::now());
    }
}

fn committed(segment: &'static Segment, commit: &Commit, now: i64) {
    if commit.writes {
        let ns = commit.ended.since(commit.began);
        segment
            .commit_windows(super::slot())
            .record(CommitWindows::number(now), ns);
    }
    if is_client()
        && let Some(place) = place()
    {
        commands::committed(place, commit);
        let ns = transaction_ended(place, now, backends::transaction_start());
        place.activity.committed(now, ns, commit.writes);
    }
}

/// Does the process serve a client, and not only get ready for it?
fn is_client() -> bool {
    process::is_client_backend() && process::is_past_start()
}

fn rolled_back() {
    if is_client()
        && let Some(place) = place()
    {
        let now = Moment::now();
        commands::rolled_back(now.tick);
        let ns = transaction_ended(place, now.us, backends::transaction_start());
        place.activity.rolled_back(now.us, ns);
    }
}

/// Records how long the transaction took that ends now.
#[inline]
fn transaction_ended(place: Place, now_us: i64, began: i64) -> u64 {
    let us = now_us - unix_us(began);
    let ns = u64::try_from(us).unwrap_or(0).saturating_mul(1000);
    place::transaction(commands::phase_met(place), ns);
    ns
}
