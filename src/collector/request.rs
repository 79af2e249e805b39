//! Requests to the collector, from SQL: write a database's file now.
//!
//! *Runs in:* the backend that asks. *Reads and writes:* `database_requests`, and the collector's
//! latch; reads `databases` and `collector_state`.
//! *Never:* waits where a cancel or the end of the collector is not noticed.

use std::time::{Duration, Instant};

use pgrx::pg_sys;
use statseg::Segment;

use super::rows::{self, SHARED};
use crate::{pgshim, process, settings};

/// What a request comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Written,
    /// The disk did not take it.
    Failed,
    /// There is no such database, or no row for it.
    Unknown,
    /// The collector is off or away.
    Away,
}

/// Between two looks whether it is served.
const LOOK_MS: i64 = 10;

/// A database that was just created is known to the collector by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ask, and wait until it is served. Database 0: all of them.
pub(crate) fn write(segment: &Segment, database: u32, force: bool) -> Answer {
    if !settings::enabled() || !settings::collector() {
        return Answer::Away;
    }
    let begin = Instant::now();
    loop {
        if let Some(index) = rows::find(segment, database) {
            return ask(segment, database, index, force);
        }
        if begin.elapsed() > PATIENCE {
            return Answer::Unknown;
        }
        // A request for all makes it look at pg_database.
        if let Some(index) = rows::find(segment, SHARED)
            && ask(segment, SHARED, index, false) == Answer::Away
        {
            return Answer::Away;
        }
        nap();
    }
}

/// The row of a database.
pub(crate) fn find(segment: &Segment, database: u32) -> Option<usize> {
    rows::find(segment, database)
}

/// Entries were brought into a database's statistics: have the collector write them, and look
/// which of them have an object. Nobody waits for it.
pub(crate) fn look_after(segment: &Segment, database: u32) {
    if let Some(index) = rows::find(segment, database) {
        let requests = segment.view().database_requests(index);
        requests.ask_validation();
        let _ = requests.request(true, process::now_us());
        wake(segment);
    }
}

fn ask(segment: &Segment, database: u32, index: usize, force: bool) -> Answer {
    let requests = segment.view().database_requests(index);
    let number = requests.request(force, process::now_us());
    let mut missing_since: Option<Instant> = None;
    wake(segment);
    loop {
        let row = segment.view().database(index).read().unwrap_or_default();
        if row.database != database || row.name.is_empty() {
            return Answer::Unknown; // dropped meanwhile
        }
        if requests.is_served(number) {
            return if requests.has_failed(number) {
                Answer::Failed
            } else {
                Answer::Written
            };
        }
        if is_away(segment) {
            // It may be about to come back.
            if missing_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Answer::Away;
            }
        } else if missing_since.take().is_some() {
            wake(segment);
        }
        nap();
    }
}

fn wake(segment: &Segment) {
    let state = segment.view().collector_state().read().unwrap_or_default();
    if let (Some(number), Some(pid)) = (state.proc_number, state.pid) {
        pgshim::wake(number, pid);
    }
}

/// Has it ended, or was it switched off, which a session that waits is not told by its own settings?
fn is_away(segment: &Segment) -> bool {
    let state = segment.view().collector_state().read().unwrap_or_default();
    !state.pid.is_some_and(process::runs)
}

/// A moment, in which a cancel is noticed.
fn nap() {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    let events = i32::try_from(events).unwrap_or(0);
    // SAFETY: a plain pointer of this process.
    let latch = unsafe { pg_sys::MyLatch };
    // SAFETY: this process's own latch.
    unsafe { pg_sys::WaitLatch(latch, events, LOOK_MS, pg_sys::PG_WAIT_EXTENSION) };
    // SAFETY: likewise.
    unsafe { pg_sys::ResetLatch(latch) };
    pg_sys::check_for_interrupts!();
}
