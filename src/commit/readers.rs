//! What a reader waits for, so that it is told only what is durable.
//!
//! *Runs in:* every backend: at the end of a transaction, and in the hooks before rows are told
//! (pgshim/commit.c, where the wait itself is).
//! *Reads and writes:* reads the commits in flight; writes its own slot.
//! *Never:* asks before the snapshot is taken: what becomes visible in between would be missed.
//!
//! Only processes that serve a client wait: a parallel worker's leader waits for all that its
//! snapshot shows.

use std::time::Instant;

use pgrx::guc::GucEnum;
use statseg::{Durability, Segment};

use super::tally;
use crate::pgshim::commit::{self, Durable, Reader};
use crate::process::{self, ProcessCell};
use crate::settings::{self, Readers};
use crate::shmem;

/// When the wait in a hook began.
static BEGAN: ProcessCell<Option<Instant>> = ProcessCell::new(None);

/// Called from `_PG_init` in the postmaster.
pub(super) fn install() {
    commit::watch_readers(&Reader {
        level: settings::group_commit_readers_word(),
        strict: Readers::Statement.to_ordinal(),
        target,
        waited,
    });
}

/// Up to where all must be durable that this process may have seen by now.
pub(super) fn seen(segment: &'static Segment) -> Durable {
    let position = |what| {
        let commits = segment.in_flight(what);
        commits.map_or(0, |commits| commits.target(commit::insert_end))
    };
    Durable {
        flush: position(Durability::Flush),
        standby: position(Durability::Standby),
    }
}

/// The same at the end of a transaction that is no group commit; nothing if it need not wait.
///
/// `flushed`: its own record was, and so all that it can have seen, whose records lie before it.
pub(super) fn seen_at_end(segment: &'static Segment, flushed: bool) -> Durable {
    let waits = settings::group_commit_readers() != Readers::Relaxed
        && !flushed
        && process::is_client_backend()
        && commit::took_snapshot();
    if waits {
        seen(segment)
    } else {
        Durable::default()
    }
}

extern "C" fn target(target: *mut Durable) {
    let seen = shmem::segment().map(seen).unwrap_or_default();
    // The clock is not looked at where there is nothing to wait for.
    let waits = seen != Durable::default();
    BEGAN.set(waits.then(Instant::now));
    // SAFETY: the C side gives a pointer to a struct of its own.
    unsafe { target.write(seen) };
}

extern "C" fn waited() {
    if let (Some(began), Some(segment)) = (BEGAN.get(), shmem::segment()) {
        tally::reader_waited(segment, began);
    }
}
