//! Commits that others may see before they are durable: what a reader must wait for.
//!
//! *Runs in:* each backend that commits by group commit announces; each backend that reads asks.
//! *Reads and writes:* the section "group_commit": two words for each kind of durability.
//! *Never:* waits, and never takes a lock. A process that is killed between two steps leaves its
//! announcement behind; the server then starts anew with a new segment.
//!
//! A commit becomes visible before its position in the WAL is known to us, and no hook lies
//! between its record and its visibility. So a reader cannot go by positions alone: a commit is
//! announced before it can have a record.
//!
//! Committing backend:
//! 1. announce: in_flight + 1;
//! 2. its commit record goes into the WAL, and its changes become visible (PostgreSQL: both under
//!    locks, of which the reader takes the second to get its snapshot);
//! 3. newest = max(newest, the end of its record);
//! 4. in_flight - 1 with Release: who sees it also sees step 3.
//!
//! If the commit fails after step 1, step 3 is left out.
//!
//! Reader, when it has its snapshot:
//! 1. load in_flight with Acquire. Not 0: what it sees may have no position yet, but has a record
//!    already: all WAL inserted so far is the answer;
//! 2. else load newest: it covers all that the reader sees.
//!
//! Why: of each commit that the snapshot shows, the announcement came before it. So the reader
//! finds in_flight as that announcement left it, or later. If that is 0, all that were announced
//! have gone through step 4, each of which the load has synchronized with: a number counted down
//! by several is a chain of read-modify-writes, and each is part of the release sequence of the
//! ones before it.

use crate::sync::{AtomicU64, Ordering};

/// Words of one kind of durability.
const WORDS: usize = 2;
/// Words of the section: in one cache line, as they are used together.
pub(crate) const GROUP_COMMIT_WORDS: usize = 16;
const FLUSH: usize = 0;
const STANDBY: usize = FLUSH + WORDS;
/// Words of all kinds: as the C side knows them (pgshim/commit.c:none_in_flight).
pub(crate) const IN_FLIGHT_WORDS: usize = STANDBY + WORDS;
/// Of [`Flushes`]: in a cache line of its own.
pub(crate) const FLUSHES: usize = 8;

/// What a commit waits for after it has become visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The flush of its record.
    Flush,
    /// The answer of synchronous standbys as well.
    Standby,
}

/// Commits on the way to one kind of durability.
#[derive(Clone, Copy, Debug)]
pub struct InFlight<'a> {
    in_flight: &'a AtomicU64,
    newest: &'a AtomicU64,
}

impl<'a> InFlight<'a> {
    /// Over the words of the section; `None` if they are not there.
    #[inline]
    pub(crate) fn new(words: &'a [AtomicU64], what: Durability) -> Option<Self> {
        let first = match what {
            Durability::Flush => FLUSH,
            Durability::Standby => STANDBY,
        };
        Some(Self {
            in_flight: words.get(first)?,
            newest: words.get(first + 1)?,
        })
    }

    /// Step 1 of a commit. One of the next two has to follow.
    #[inline]
    pub fn announce(&self) {
        // Ordered before visibility by the lock under which that happens.
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// Steps 3 and 4: it is visible, and its record ends at `position`.
    #[inline]
    pub fn publish(&self, position: u64) {
        self.newest.fetch_max(position, Ordering::Relaxed);
        self.withdraw();
    }

    /// Step 4 alone: it has failed, or has no record.
    #[inline]
    pub fn withdraw(&self) {
        // SYNC: publish NEWEST_COMMIT
        self.in_flight.fetch_sub(1, Ordering::Release);
    }

    /// The reader's part: the position up to which WAL must be durable before what the caller has
    /// seen may be told; 0: none. `inserted` gives the end of all WAL so far.
    #[inline]
    pub fn target(&self, inserted: impl FnOnce() -> u64) -> u64 {
        // SYNC: observe NEWEST_COMMIT
        if self.in_flight.load(Ordering::Acquire) == 0 {
            self.newest.load(Ordering::Relaxed)
        } else {
            inserted()
        }
    }

    /// How many are announced: 0 when nobody commits.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }
}

/// Which flushes have served group commits, to count them: any process.
///
/// A flush is known by the position up to which it has made WAL durable. The first commit that
/// comes back to a position further than all before it counts as the one that led the flush, all
/// others as followers. Who really did the flush cannot be seen from outside of PostgreSQL; how
/// many there were, and how many commits each has served, can.
#[derive(Clone, Copy, Debug)]
pub struct Flushes<'a> {
    flushed: &'a AtomicU64,
    served: &'a AtomicU64,
}

/// What a commit was to the flush that served it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The first that came back from it; the flush before it had served so many.
    First(u64),
    /// Another one.
    Follower,
}

impl<'a> Flushes<'a> {
    pub(crate) fn new(words: &'a [AtomicU64]) -> Option<Self> {
        Some(Self {
            flushed: words.get(FLUSHES)?,
            served: words.get(FLUSHES + 1)?,
        })
    }

    /// A commit was served by the flush up to `flushed`. Statistics only, so relaxed: a commit
    /// that comes back while the next flush ends may be counted with that one.
    #[inline]
    pub fn serve(&self, flushed: u64) -> Served {
        if self.flushed.fetch_max(flushed, Ordering::Relaxed) < flushed {
            Served::First(self.served.swap(1, Ordering::Relaxed))
        } else {
            self.served.fetch_add(1, Ordering::Relaxed);
            Served::Follower
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words() -> Vec<AtomicU64> {
        (0..GROUP_COMMIT_WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn a_reader_waits_for_the_newest_or_for_all() {
        let words = words();
        let commits = InFlight::new(&words, Durability::Flush).unwrap();
        assert_eq!(commits.target(|| 99), 0);
        commits.announce();
        assert_eq!(commits.target(|| 99), 99);
        commits.announce();
        commits.publish(30);
        assert_eq!(commits.target(|| 99), 99, "one is still on its way");
        commits.publish(20);
        assert_eq!(commits.target(|| 99), 30, "positions only grow");
        commits.announce();
        commits.withdraw();
        assert_eq!((commits.target(|| 99), commits.count()), (30, 0));
    }

    #[test]
    fn kinds_of_durability_are_apart() {
        let words = words();
        let flush = InFlight::new(&words, Durability::Flush).unwrap();
        let standby = InFlight::new(&words, Durability::Standby).unwrap();
        flush.announce();
        flush.publish(7);
        assert_eq!(standby.target(|| 99), 0);
        standby.announce();
        assert_eq!((flush.target(|| 99), standby.target(|| 99)), (7, 99));
    }

    #[test]
    fn a_segment_without_the_words_has_none() {
        assert!(InFlight::new(&[], Durability::Flush).is_none());
        assert!(Flushes::new(&words()[..FLUSHES]).is_none());
    }

    #[test]
    fn flushes_are_counted_with_their_groups() {
        let words = words();
        let flushes = Flushes::new(&words).unwrap();
        assert_eq!(flushes.serve(10), Served::First(0));
        assert_eq!(flushes.serve(10), Served::Follower);
        assert_eq!(flushes.serve(10), Served::Follower);
        assert_eq!(flushes.serve(20), Served::First(3));
        // Late to say so.
        assert_eq!(flushes.serve(10), Served::Follower);
        assert_eq!(flushes.serve(30), Served::First(2));
    }
}
