//! State of one process, and what kind of process it is.
//!
//! *Runs in:* every process. *Reads and writes:* its own memory only.
//! *Never:* shares anything: what other processes must see belongs in [`crate::shmem`].

use std::cell::Cell;
use std::ffi::c_int;
use std::num::NonZeroU64;
use std::time::SystemTime;

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

    /// Changes it in place. A value that is taken out and put back goes through the stack, in pieces
    /// of other sizes than it is read in next time: each time the processor waits until the former
    /// write is done.
    ///
    /// # Safety
    /// What `act` does reaches this cell in no other way.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: one thread, and the caller says that this is the only reference.
        act(unsafe { &mut *self.0.as_ptr() })
    }

    /// Where it is, for C to read.
    pub(crate) fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T: Copy, const N: usize> ProcessCell<[T; N]> {
    /// One of several.
    pub(crate) fn at(&self, index: usize) -> Option<T> {
        self.0.as_array_of_cells().get(index).map(Cell::get)
    }
}

/// Has a word fetched into the cache that is written to soon, without waiting for it.
#[inline]
pub(crate) fn fetch(word: *const u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing and cannot fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(word.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
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

/// A moment of the clock that durations are measured with: nanoseconds since the machine's start.
/// [`std::time::Instant`] is the same in twice the words, and with more code to subtract.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(NonZeroU64);

/// The C library's function. Here it is in memory that each statement has in the cache anyway: see
/// pgshim/hot.h for what a name costs.
#[unsafe(link_section = "ckf_data")]
static CLOCK: ProcessCell<unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int> =
    ProcessCell::new(libc::clock_gettime);

impl Tick {
    #[inline]
    pub(crate) fn now() -> Self {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: a valid pointer; every Linux has this clock.
        unsafe { CLOCK.get()(libc::CLOCK_MONOTONIC, &raw mut now) };
        let seconds = now.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000);
        Self::of(seconds.wrapping_add(now.tv_nsec.cast_unsigned()))
    }

    #[inline]
    fn of(ns: u64) -> Self {
        Self(NonZeroU64::new(ns).unwrap_or(NonZeroU64::MIN))
    }

    /// Nanoseconds from an earlier moment; 0 from a later one.
    #[inline]
    pub(crate) fn since(self, earlier: Self) -> u64 {
        self.0.get().saturating_sub(earlier.0.get())
    }

    /// So many microseconds later; a negative number: earlier.
    #[inline]
    fn plus_us(self, us: i64) -> Self {
        let ns = us.saturating_mul(1000);
        Self::of(self.0.get().saturating_add_signed(ns))
    }
}

/// A moment, by the clock that durations are measured with and by the one that timestamps are of.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) tick: Tick,
    /// Since the Unix epoch.
    pub(crate) us: i64,
}

/// How long one clock is believed to tell the other, in nanoseconds. They drift apart by 500
/// millionths at most (adjtimex(2)): 5 µs in that time. A clock that was set is noticed after it.
const IN_STEP: u64 = 10_000_000;

/// When both clocks were last read together.
#[unsafe(link_section = "ckf_data")]
static BOTH: ProcessCell<Option<Moment>> = ProcessCell::new(None);

impl Moment {
    /// Now. Reads one clock where the other was read a short time ago: a backend that is busy asks
    /// at each of its transactions.
    #[inline]
    pub(crate) fn now() -> Self {
        let tick = Tick::now();
        if let Some(both) = BOTH.get() {
            let passed = tick.since(both.tick);
            if passed < IN_STEP {
                let us = both.us + (passed / 1000).cast_signed();
                return Self { tick, us };
            }
        }
        Self::read(tick)
    }

    #[cold]
    fn read(tick: Tick) -> Self {
        let us = now_us();
        let both = Self { tick, us };
        BOTH.set(Some(both));
        both
    }

    /// When a timestamp of this process was taken.
    #[inline]
    pub(crate) fn at(us: i64) -> Tick {
        let near = |both: &Self| both.us.abs_diff(us) < IN_STEP / 1000;
        let both = BOTH.get().filter(near);
        let both = both.unwrap_or_else(|| Self::read(Tick::now()));
        both.tick.plus_us(us.saturating_sub(both.us))
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
