//! The section "control": the reset lock and what resets leave behind.
//!
//! *Runs in:* any backend that resets; any process reads.
//! *Reads and writes:* single words, each atomic by itself; the lock by compare-and-swap.
//! *Never:* waits for the lock without a bound.

use crate::statistic;
use crate::sync::{AtomicU64, Ordering, Patience};

/// Process id of who resets, 0 when nobody does.
pub(crate) const LOCK: usize = 0;
/// When the counters were reset; 0: never.
pub(crate) const COUNTERS_RESET_AT: usize = 1;
/// When the history was reset; 0: never.
pub(crate) const HISTORY_RESET_AT: usize = 2;
/// When the tables of files were reset; 0: never.
pub(crate) const FILES_RESET_AT: usize = 3;
/// Records of the history up to this id are reset away.
pub(crate) const HISTORY_FLOOR: usize = 4;
/// Entries of the tables of files with another epoch are empty.
pub(crate) const FILES_EPOCH: usize = 5;

/// Rows of the table of waits with another epoch are empty.
pub(crate) const WAITS_EPOCH: usize = 6;
/// When the waits were reset; 0: never.
pub(crate) const WAITS_RESET_AT: usize = 7;
/// Seconds of the timeline up to this id are reset away.
pub(crate) const TIMELINE_FLOOR: usize = 8;
/// Stalls up to this id are reset away.
pub(crate) const STALLS_FLOOR: usize = 9;
/// When timeline and stalls were reset; 0: never.
pub(crate) const TIMELINE_RESET_AT: usize = 10;
/// The epoch of the smallest and largest values of all statistics (crate::statistic).
pub(crate) const METRICS_EPOCH: usize = 11;
/// Where the checkpoints are: the gauge of that name, beside what else each step looks at.
pub(crate) const CHECKPOINT_PHASE: usize = 12;

/// Entries of a fresh table have epoch 0 and are empty.
const FIRST_EPOCH: u64 = 1;

/// The first content of the section.
pub(crate) fn fill(words: &[AtomicU64]) {
    words[FILES_EPOCH].store(FIRST_EPOCH, Ordering::Relaxed);
    words[WAITS_EPOCH].store(FIRST_EPOCH, Ordering::Relaxed);
    words[METRICS_EPOCH].store(statistic::FIRST_EPOCH, Ordering::Relaxed);
}

/// Another process is resetting, and did not finish while this one waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("statistics are being reset by process {pid}")]
pub struct ResetBusy {
    /// The process that is at it.
    pub pid: u32,
}

/// The reset lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct ResetGuard<'a>(&'a AtomicU64);

impl<'a> ResetGuard<'a> {
    pub(crate) fn take(lock: &'a AtomicU64, pid: u32) -> Result<Self, ResetBusy> {
        let mut patience = Patience::long();
        loop {
            // SYNC: observe RESET_LOCK
            let taken =
                lock.compare_exchange(0, u64::from(pid), Ordering::Acquire, Ordering::Relaxed);
            match taken {
                Ok(_) => return Ok(Self(lock)),
                Err(_) if patience.again() => {}
                Err(holder) => {
                    return Err(ResetBusy {
                        pid: u32::try_from(holder).unwrap_or(0),
                    });
                }
            }
        }
    }
}

impl Drop for ResetGuard<'_> {
    fn drop(&mut self) {
        // SYNC: publish RESET_LOCK
        self.0.store(0, Ordering::Release);
    }
}
