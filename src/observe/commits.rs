//! How long a commit takes, from before its record is made until it is durable.
//!
//! *Runs in:* every backend, in the transaction callback.
//! *Reads and writes:* the backend's own part of `commit_windows`.
//! *Never:* takes a lock, allocates, or raises. A transaction without an xid writes no commit
//! record, waits for nothing, and costs one check here.
//!
//! xact.c:CommitTransaction calls back just before RecordTransactionCommit and soon after it:
//! between lies the WAL flush, and with synchronous replication the standby's answer.

use pgrx::pg_sys;
use pgrx::prelude::*;
use std::time::Instant;

use statseg::CommitWindows;

use crate::process::{ProcessCell, now_us};
use crate::{pgshim, settings, shmem};

static BEGAN: ProcessCell<Option<Instant>> = ProcessCell::new(None);
/// This process's part: its number among the server's processes, asked for once.
static PART: ProcessCell<Option<usize>> = ProcessCell::new(None);

/// Called from `_PG_init` in the postmaster: children inherit the callback by fork.
pub(crate) fn install() {
    // SAFETY: registers a function of this library, which is never unloaded.
    unsafe { pg_sys::RegisterXactCallback(Some(committing), std::ptr::null_mut()) };
}

#[pg_guard]
unsafe extern "C-unwind" fn committing(
    event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_PRE_COMMIT => {
            // SAFETY: reads the current transaction's state, in a transaction.
            let xid = unsafe { pg_sys::GetTopTransactionIdIfAny() };
            let writes = xid != pg_sys::TransactionId::from(0);
            BEGAN.set((writes && settings::enabled()).then(Instant::now));
        }
        pg_sys::XactEvent::XACT_EVENT_COMMIT => {
            if let Some(began) = BEGAN.get() {
                BEGAN.set(None);
                record(began);
            }
        }
        pg_sys::XactEvent::XACT_EVENT_ABORT => BEGAN.set(None),
        _ => {}
    }
}

fn record(began: Instant) {
    let Some(segment) = shmem::segment() else {
        return;
    };
    let part = PART.get().unwrap_or_else(|| {
        let part = pgshim::my_proc_number() as usize;
        PART.set(Some(part));
        part
    });
    let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let window = CommitWindows::number(now_us());
    segment.commit_windows(part).record(window, ns);
}
