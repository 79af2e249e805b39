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

#[cfg(not(loom))]
pub(crate) use real::Patience;

#[cfg(loom)]
pub(crate) use modelled::Patience;

#[cfg(not(loom))]
mod real {
    use std::time::Duration;

    const SPINS: u32 = 128;
    const YIELDS: u32 = 64;
    const SLEEPS: u32 = 20;
    const SLEEP: Duration = Duration::from_millis(1);

    /// How often to look again before giving up.
    ///
    /// The first looks only spin: an update takes nanoseconds. The next ones yield the CPU, for
    /// a writer that was descheduled in mid-update. Then a reader gives up: the writer may be
    /// dead. Only who has to be right rather than quick sleeps as well.
    #[derive(Debug)]
    pub(crate) struct Patience {
        looks: u32,
        limit: u32,
    }

    impl Patience {
        /// A reader's: microseconds on a machine with a free CPU; where others take every yielded
        /// CPU for a time slice, up to a quarter of a second.
        pub(crate) fn new() -> Self {
            Self {
                looks: 0,
                limit: SPINS + YIELDS,
            }
        }

        /// A resetter's: 20 milliseconds more.
        pub(crate) fn long() -> Self {
            Self {
                looks: 0,
                limit: SPINS + YIELDS + SLEEPS,
            }
        }

        /// Waits a little and says whether to look again.
        pub(crate) fn again(&mut self) -> bool {
            match self.looks {
                n if n >= self.limit => return false,
                n if n < SPINS => std::hint::spin_loop(),
                n if n < SPINS + YIELDS => std::thread::yield_now(),
                _ => std::thread::sleep(SLEEP),
            }
            self.looks += 1;
            true
        }
    }
}

#[cfg(loom)]
mod modelled {
    /// A model's patience: each look multiplies the number of interleavings.
    #[derive(Debug)]
    pub(crate) enum Patience {
        /// A reader looks twice.
        Looks(u32),
        /// A resetter looks until the others have gone on: in a model nobody is dead.
        Endless,
    }

    impl Patience {
        pub(crate) fn new() -> Self {
            Self::Looks(1)
        }

        pub(crate) fn long() -> Self {
            Self::Endless
        }

        pub(crate) fn again(&mut self) -> bool {
            match self {
                Self::Looks(0) => false,
                Self::Looks(n) => {
                    *n -= 1;
                    true
                }
                Self::Endless => {
                    loom::thread::yield_now();
                    true
                }
            }
        }
    }
}
