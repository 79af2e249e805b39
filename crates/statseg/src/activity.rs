//! What each process of the server has done: transactions ended, and the longest of each second.
//!
//! *Runs in:* each backend writes its own part; any process reads all of them.
//! *Reads and writes:* the section "activity": the first cache line of each process's part.
//! *Never:* a lock or a lock-prefixed instruction in the writer, which is in the commit path;
//! a reset: the numbers only grow, who wants a difference remembers what was.
//!
//! Words of a part: 0 transactions committed, 1 rolled back, 2 to 5 the longest transaction of
//! each of the last four seconds, 6 those of the committed ones that wrote, 7 when the last of
//! these committed. Second s (since 1970) is in word 2 + s % 4: the lower 16 bits of s in the
//! upper 16, the nanoseconds in the lower 48. One word cannot be torn, so no protocol is needed;
//! a reader may be late by three seconds. A part goes on when the next process inherits it.
//!
//! The lower 16 bits come back after 18 hours: a process that commits nothing for exactly that
//! long shows its old longest transaction again, for three seconds.

use std::ops::Deref;

use crate::sync::{AtomicU64, Ordering};

/// Words of a part before [`crate::steps`].
pub(crate) const ACTIVITY_WORDS: usize = 8;

const COMMITS: usize = 0;
const ROLLBACKS: usize = 1;
const LONGEST: usize = 2;
const WRITES: usize = 6;
const WROTE_AT: usize = 7;
/// Seconds kept.
const SECONDS: u64 = 4;

const TIME_BITS: u32 = 48;
const MOST_TIME: u64 = (1 << TIME_BITS) - 1;

/// Transactions that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Committed.
    pub commits: u64,
    /// Rolled back.
    pub rollbacks: u64,
    /// Of the committed ones those that wrote: with a commit record.
    pub writes: u64,
}

impl std::ops::Add for Ended {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            commits: self.commits.wrapping_add(other.commits),
            rollbacks: self.rollbacks.wrapping_add(other.rollbacks),
            writes: self.writes.wrapping_add(other.writes),
        }
    }
}

impl std::ops::Sub for Ended {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            commits: self.commits.wrapping_sub(other.commits),
            rollbacks: self.rollbacks.wrapping_sub(other.rollbacks),
            writes: self.writes.wrapping_sub(other.writes),
        }
    }
}

/// One process's part, to be read.
#[derive(Clone, Copy, Debug)]
pub struct Activity<'a>(&'a [AtomicU64]);

impl<'a> Activity<'a> {
    pub(crate) fn new(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    fn word(&self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |it| it.load(Ordering::Relaxed))
    }

    /// Transactions ended since the segment was made.
    #[must_use]
    pub fn ended(&self) -> Ended {
        Ended {
            commits: self.word(COMMITS),
            rollbacks: self.word(ROLLBACKS),
            writes: self.word(WRITES),
        }
    }

    /// When the last transaction that wrote committed, in microseconds since 1970; 0: never.
    #[must_use]
    pub fn wrote_at(&self) -> i64 {
        self.word(WROTE_AT).cast_signed()
    }

    /// The longest transaction that ended in a second (since 1970), in nanoseconds.
    #[must_use]
    pub fn longest(&self, second: u64) -> Option<u64> {
        let word = self.word(place(second));
        // A fresh word is second 0 of 65536 with no time: no transaction takes none.
        (word >> TIME_BITS == second & 0xffff && word & MOST_TIME > 0).then_some(word & MOST_TIME)
    }
}

/// One process's part and the right to write it: that process only.
#[derive(Clone, Copy, Debug)]
pub struct ActivityWriter<'a>(Activity<'a>);

impl<'a> ActivityWriter<'a> {
    #[inline]
    pub(crate) fn new(activity: Activity<'a>) -> Self {
        Self(activity)
    }

    /// A transaction was committed now, in microseconds since 1970, after so many nanoseconds.
    #[inline]
    pub fn committed(&self, now_us: i64, ns: u64, wrote: bool) {
        if wrote {
            // Before it is counted: who sees the count mostly sees the moment.
            if let Some(wrote_at) = self.0.0.get(WROTE_AT) {
                wrote_at.store(now_us.cast_unsigned(), Ordering::Relaxed);
            }
            self.increment(WRITES);
        }
        self.add(COMMITS, second(now_us), ns);
    }

    /// A transaction was rolled back, likewise.
    #[inline]
    pub fn rolled_back(&self, now_us: i64, ns: u64) {
        self.add(ROLLBACKS, second(now_us), ns);
    }

    /// Its first word, to be fetched early; null if there is none.
    #[cfg(not(loom))]
    #[inline]
    #[must_use]
    pub fn first_word(&self) -> *const u64 {
        let first = self.0.0.first();
        first.map_or(std::ptr::null(), |word| word.as_ptr())
    }

    #[inline]
    fn add(&self, counter: usize, second: u64, ns: u64) {
        self.increment(counter);
        let Some(longest) = self.0.0.get(place(second)) else {
            return;
        };
        let ended = (second & 0xffff) << TIME_BITS | ns.clamp(1, MOST_TIME);
        let former = longest.load(Ordering::Relaxed);
        if former >> TIME_BITS != ended >> TIME_BITS || former < ended {
            longest.store(ended, Ordering::Relaxed);
        }
    }

    #[inline]
    fn increment(&self, counter: usize) {
        if let Some(counter) = self.0.0.get(counter) {
            // Right without a lock prefix only because the word has one writer.
            let count = counter.load(Ordering::Relaxed).wrapping_add(1);
            counter.store(count, Ordering::Relaxed);
        }
    }
}

impl<'a> Deref for ActivityWriter<'a> {
    type Target = Activity<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn second(unix_us: i64) -> u64 {
    u64::try_from(unix_us / 1_000_000).unwrap_or(0)
}

fn place(second: u64) -> usize {
    LONGEST + (second % SECONDS) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A second, in microseconds.
    const S: i64 = 1_000_000;

    fn words() -> Vec<AtomicU64> {
        (0..ACTIVITY_WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn transactions_are_counted_and_the_longest_kept() {
        let words = words();
        let part = ActivityWriter::new(Activity::new(&words));
        assert_eq!((part.ended(), part.longest(7)), (Ended::default(), None));
        part.committed(7 * S, 50, true);
        part.committed(7 * S, 90, false);
        part.rolled_back(7 * S, 20);
        part.committed(8 * S, 10, true);
        let expected = Ended {
            commits: 3,
            rollbacks: 1,
            writes: 2,
        };
        assert_eq!(part.ended(), expected);
        assert_eq!(part.wrote_at(), 8 * S);
        let longest: Vec<_> = (6..=9).map(|second| part.longest(second)).collect();
        assert_eq!(longest, [None, Some(90), Some(10), None]);
        part.committed(11 * S, 5, false);
        assert_eq!((part.longest(7), part.longest(11)), (None, Some(5)));
    }

    #[test]
    fn a_part_that_does_not_exist_takes_nothing() {
        let part = ActivityWriter::new(Activity::new(&[]));
        part.committed(S, 1, true);
        assert_eq!((part.ended(), part.longest(1)), (Ended::default(), None));
    }

    #[test]
    fn no_time_at_all_is_shown_as_the_least() {
        let words = words();
        let part = ActivityWriter::new(Activity::new(&words));
        part.committed(0, 0, false);
        assert_eq!(part.longest(0), Some(1));
        part.committed(0, u64::MAX, false);
        assert_eq!(part.longest(0), Some(MOST_TIME));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Of each of the last four seconds, the longest.
        #[test]
        fn the_longest_of_each_second_is_found(
            start in 0..1u64 << 32,
            steps in prop::collection::vec((0..2u64, 1..1u64 << 40), 1..60),
        ) {
            let words = words();
            let part = ActivityWriter::new(Activity::new(&words));
            let mut model = std::collections::BTreeMap::new();
            let mut second = start;
            for (pause, ns) in steps {
                second += pause;
                part.committed(second.cast_signed() * S, ns, false);
                let longest = model.entry(second).or_insert(0);
                *longest = ns.max(*longest);
            }
            for back in 0..SECONDS.min(second) {
                prop_assert_eq!(part.longest(second - back), model.get(&(second - back)).copied());
            }
        }
    }
}
