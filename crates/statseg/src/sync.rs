//! The atomics of the crate: the standard library's, or loom's when a model is checked.
//!
//! *Runs in:* every process that maps the segment.
//! *Reads and writes:* nothing itself.
//! *Never:* locks. There is no mutex in this crate, and none may be added: a process may die
//! anywhere, and a lock it held would outlive it.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// How often a reader may look again before it gives up.
///
/// The first looks only spin: an update takes nanoseconds. The later ones yield the CPU, for a
/// writer that was descheduled in mid-update. Then the reader gives up, because the writer may
/// be dead: with two cores and a living writer that does not happen in practice.
#[derive(Debug)]
pub(crate) struct Patience(u32);

#[cfg(not(loom))]
const SPINS: u32 = 128;
#[cfg(not(loom))]
const YIELDS: u32 = 64;

impl Patience {
    #[cfg(not(loom))]
    pub(crate) fn new() -> Self {
        Self(SPINS + YIELDS)
    }

    /// Waits a little and says whether to look again.
    #[cfg(not(loom))]
    pub(crate) fn again(&mut self) -> bool {
        if self.0 == 0 {
            return false;
        }
        self.0 -= 1;
        if self.0 >= YIELDS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
        true
    }

    /// A model has few looks: each one multiplies the number of interleavings.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(1)
    }

    #[cfg(loom)]
    pub(crate) fn again(&mut self) -> bool {
        if self.0 == 0 {
            return false;
        }
        self.0 -= 1;
        true
    }
}
