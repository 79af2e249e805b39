//! State of one process, and what kind of process it is.
//!
//! *Runs in:* every process. *Reads and writes:* its own memory only.
//! *Never:* shares anything: what other processes must see belongs in [`crate::shmem`].

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use pgrx::pg_sys;

/// A static that belongs to this process. A forked child starts with the parent's value.
pub(crate) struct ProcessCell<T>(Cell<T>);

// SAFETY: a PostgreSQL process has one thread that runs its code and ours; this library
// starts no other. So no two threads ever reach the same cell.
unsafe impl<T> Sync for ProcessCell<T> {}

impl<T: Copy> ProcessCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Cell::new(value))
    }

    pub(crate) fn get(&self) -> T {
        self.0.get()
    }

    pub(crate) fn set(&self, value: T) {
        self.0.set(value);
    }
}

/// Is the postmaster loading `shared_preload_libraries` right now?
pub(crate) fn preloading() -> bool {
    // SAFETY: a plain bool, written by this process only (miscinit.c).
    unsafe { pg_sys::process_shared_preload_libraries_in_progress }
}

/// Is this process the checkpointer?
pub(crate) fn is_checkpointer() -> bool {
    // SAFETY: a plain enum, set once when the process starts (miscinit.c).
    unsafe { pg_sys::MyBackendType == pg_sys::BackendType::B_CHECKPOINTER }
}

/// Does this process serve a client?
pub(crate) fn is_client_backend() -> bool {
    // SAFETY: as above.
    unsafe { pg_sys::MyBackendType == pg_sys::BackendType::B_BACKEND }
}

/// Is it ready to do so? Before, it reads catalogs in a transaction of its own.
pub(crate) fn is_past_start() -> bool {
    // SAFETY: a plain enum of this process (miscinit.c).
    unsafe { pg_sys::Mode == pg_sys::ProcessingMode::NormalProcessing }
}

/// False in a child of the postmaster.
pub(crate) fn is_postmaster() -> bool {
    // SAFETY: a plain bool, set once at start (globals.c).
    let environment = unsafe { pg_sys::IsPostmasterEnvironment };
    // SAFETY: likewise.
    environment && !unsafe { pg_sys::IsUnderPostmaster }
}

/// This process's pid.
pub(crate) fn pid() -> u32 {
    std::process::id()
}

/// Microseconds between the Unix epoch and PostgreSQL's (datatype/timestamp.h).
const EPOCH_SHIFT_US: i64 = 946_684_800 * 1_000_000;

/// Now, in microseconds since the Unix epoch: the unit of every moment in the segment. The clock
/// of timestamp.c:GetCurrentTimestamp.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(0))
}

/// A moment, by the clock that durations are measured with and by the one that timestamps are of.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    /// Since the Unix epoch.
    pub(crate) us: i64,
}

/// How long one clock is believed to tell the other. They drift apart by 500 millionths at most
/// (adjtimex(2)): 5 µs in that time. A clock that was set is noticed after it.
const IN_STEP: Duration = Duration::from_millis(10);

/// When both clocks were last read together.
static BOTH: ProcessCell<Option<Moment>> = ProcessCell::new(None);

impl Moment {
    /// Now. Reads one clock where the other was read a short time ago: a backend that is busy asks
    /// at each of its transactions.
    pub(crate) fn now() -> Self {
        let instant = Instant::now();
        if let Some(both) = BOTH.get() {
            let passed = instant.saturating_duration_since(both.instant);
            if passed < IN_STEP {
                let us = both.us + i64::try_from(passed.as_micros()).unwrap_or(0);
                return Self { instant, us };
            }
        }
        Self::read(instant)
    }

    fn read(instant: Instant) -> Self {
        let us = now_us();
        let both = Self { instant, us };
        BOTH.set(Some(both));
        both
    }

    /// When a timestamp of this process was taken; `None` if the machine's clock cannot tell.
    pub(crate) fn at(us: i64) -> Option<Instant> {
        let near = |both: &Self| Duration::from_micros(both.us.abs_diff(us)) < IN_STEP;
        let both = BOTH.get().filter(near);
        let both = both.unwrap_or_else(|| Self::read(Instant::now()));
        let apart = Duration::from_micros(both.us.abs_diff(us));
        if us < both.us {
            both.instant.checked_sub(apart)
        } else {
            both.instant.checked_add(apart)
        }
    }
}

/// A server timestamp as the segment keeps it.
pub(crate) fn unix_us(timestamp: pg_sys::TimestampTz) -> i64 {
    timestamp + EPOCH_SHIFT_US
}

/// A segment's moment as a server timestamp.
pub(crate) fn timestamp(unix_us: i64) -> pg_sys::TimestampTz {
    unix_us - EPOCH_SHIFT_US
}

/// Does a process of this number run?
pub(crate) fn runs(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else {
        return false;
    };
    // SAFETY: signal 0 is none.
    unsafe { libc::kill(pid, 0) == 0 }
}
