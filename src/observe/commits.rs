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
use std::time::Instant;

use statseg::{CommitWindows, Metric, Segment};

use super::commands;
use crate::pgshim::backends;
use crate::process::{self, Moment, ProcessCell, unix_us};
use crate::{settings, shmem};

/// A commit that has ended.
pub(super) struct Commit {
    /// Just before its record is made.
    pub(super) began: Instant,
    /// It is as durable as it was asked to be.
    pub(super) ended: Instant,
    /// It has a record.
    pub(super) writes: bool,
}

/// One that has not ended.
#[derive(Clone, Copy)]
struct Begun {
    began: Option<Instant>,
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
    let began = (writes || commands::is_inside()).then(Instant::now);
    COMMITTING.set(Some(Begun { began, writes }));
}

/// It is as durable as it was asked to be.
pub(crate) fn ends() {
    if let (Some(Begun { began, writes }), Some(segment)) = (COMMITTING.get(), shmem::segment()) {
        COMMITTING.set(None);
        let now = Moment::now();
        let ended = now.instant;
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

/// It was rolled back.
pub(crate) fn aborted() {
    COMMITTING.set(None);
    if let Some(segment) = shmem::segment().filter(|_| settings::enabled()) {
        rolled_back(segment);
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
        commands::rolled_back(Instant::now());
    }
}

fn committed(segment: &'static Segment, commit: &Commit, now: i64) {
    if commit.writes {
        let ns = commands::nanoseconds(commit.began, commit.ended);
        segment
            .commit_windows(super::slot())
            .record(CommitWindows::number(now), ns);
    }
    if process::is_client_backend() && process::is_past_start() {
        commands::committed(segment, commit);
        let ns = transaction_ended(segment, now);
        segment
            .activity(super::slot())
            .committed(now, ns, commit.writes);
    }
}

fn rolled_back(segment: &'static Segment) {
    if process::is_client_backend() && process::is_past_start() {
        let now = Moment::now();
        commands::rolled_back(now.instant);
        let ns = transaction_ended(segment, now.us);
        segment.activity(super::slot()).rolled_back(now.us, ns);
    }
}

/// Records how long the transaction took that ends now.
fn transaction_ended(segment: &'static Segment, now_us: i64) -> u64 {
    let us = now_us - unix_us(backends::transaction_start());
    let ns = u64::try_from(us).unwrap_or(0).saturating_mul(1000);
    let metric = Metric::transaction(commands::phase_met(segment));
    segment.statistic_at(metric, super::slot()).record(ns);
    ns
}
