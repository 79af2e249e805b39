//! The commits of each tenth of a second and their mean time, backend by backend.
//!
//! *Runs in:* each backend writes its own part; any process reads all of them.
//! *Reads and writes:* the section "commit_windows": a cache line per backend.
//! *Never:* a lock or a lock-prefixed instruction in the writer, which is in the commit path.
//!
//! A part holds the last four windows, each as two words: its number, and its commits: how many
//! in the upper 16 bits, the sum of their times in nanoseconds in the lower 48. Window w is in
//! place w % 4, so a reader may be late by three windows. No window has the number 0.
//!
//! The number of a window is the sequence of its own place:
//!
//! Writer, the only one of these words:
//! 1. first commit of a window: number = 0, then `fence(Release)`: who sees the commits of
//!    step 2 also sees that the number is not the former one any more;
//! 2. commits = it;
//! 3. number = w with Release: who sees it also sees the commits of step 2;
//! 4. further commits: commits = all. One word cannot be torn.
//!
//! Reader:
//! 1. load the number relaxed; not w: none. Then `fence(Acquire)`;
//! 2. load the commits relaxed;
//! 3. `fence(Acquire)`: if step 2 saw those of another window, step 4 sees another number;
//! 4. load the number relaxed: still w: the commits are of w; else none. Nobody looks again: a
//!    place that changes hands holds a window that is too long ago.
//!
//! A part goes on when the next backend inherits it, as the numbers are the server's: in the
//! same window it adds to what is there. Who died after step 1 left the number 0, which the next
//! commit mends.
//!
//! Numbers come back when the clock is set back. Then a window may hold the commits of both its
//! times, and a reader that sleeps from before its step 2 until the backend has been through
//! another window and back may take that one's commits. Either is a wrong mean of a few tenths
//! of a second.

use std::ops::Deref;

use crate::sync::{AtomicU64, Ordering, fence};

/// Length of a window.
const WINDOW_US: i64 = 100_000;
/// Windows of a part.
const WINDOWS: u64 = 4;
/// Words of a part.
pub(crate) const COMMIT_WINDOW_WORDS: usize = 2 * WINDOWS as usize;

/// Bits of the sum of times.
const TIME_BITS: u32 = 48;
/// The longest sum: three days.
const MOST_TIME: u64 = (1 << TIME_BITS) - 1;
/// The most commits: a backend would have to do one in 1.5 µs.
const MOST_COMMITS: u64 = u64::MAX >> TIME_BITS;

/// The commits of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// How many.
    pub count: u64,
    /// The sum of their times, in nanoseconds.
    pub total_ns: u64,
}

impl Commits {
    /// Any word holds some.
    fn unpack(word: u64) -> Self {
        Self {
            count: word >> TIME_BITS,
            total_ns: word & MOST_TIME,
        }
    }

    /// The word with one commit more. One that does not fit is left out, so that the mean stays
    /// that of the others.
    #[inline]
    fn add(word: u64, ns: u64) -> u64 {
        let room = MOST_TIME - (word & MOST_TIME);
        if ns > room || word >> TIME_BITS == MOST_COMMITS {
            return word;
        }
        word + (1 << TIME_BITS) + ns
    }

    /// Those of several backends.
    pub(crate) fn sum(parts: impl Iterator<Item = Self>) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            count: sum.count.saturating_add(part.count),
            total_ns: sum.total_ns.saturating_add(part.total_ns),
        })
    }

    /// Their mean time, in nanoseconds; `None` when there was none.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// One backend's part, to be read.
#[derive(Clone, Copy, Debug)]
pub struct CommitWindows<'a>(&'a [AtomicU64]);

impl<'a> CommitWindows<'a> {
    pub(crate) fn new(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    /// The number of the window that a moment lies in, in microseconds since 1970; 0, which is
    /// no window, in the first tenth of a second of that year and before.
    #[inline]
    #[must_use]
    pub fn number(at_us: i64) -> u64 {
        u64::try_from(at_us / WINDOW_US).unwrap_or(0)
    }

    /// Number and commits of the place of a window; `None` if it is no window, or there is no
    /// such part.
    #[inline]
    fn place(&self, window: u64) -> Option<(&'a AtomicU64, &'a AtomicU64)> {
        if window == 0 {
            return None;
        }
        let place = usize::try_from(window % WINDOWS).ok()? * 2;
        Some((self.0.get(place)?, self.0.get(place + 1)?))
    }

    /// The commits of a window; `None` when there was none, or it is too long ago.
    #[inline]
    #[must_use]
    pub fn commits(&self, window: u64) -> Option<Commits> {
        let (number, commits) = self.place(window)?;
        if number.load(Ordering::Relaxed) != window {
            return None;
        }
        // SYNC: observe COMMIT_WINDOW_END
        fence(Ordering::Acquire);
        let found = commits.load(Ordering::Relaxed);
        // SYNC: observe COMMIT_WINDOW_BEGIN
        fence(Ordering::Acquire);
        (number.load(Ordering::Relaxed) == window).then(|| Commits::unpack(found))
    }
}

/// One backend's part and the right to write it: that backend only.
#[derive(Debug)]
pub struct CommitWindowsWriter<'a>(CommitWindows<'a>);

impl<'a> CommitWindowsWriter<'a> {
    #[inline]
    pub(crate) fn new(windows: CommitWindows<'a>) -> Self {
        Self(windows)
    }

    /// A commit in `window` took this long. Nothing happens in a part that does not exist, or in
    /// a window 0, which is none.
    #[inline]
    pub fn record(&self, window: u64, ns: u64) {
        let Some((number, commits)) = self.0.place(window) else {
            return;
        };
        if number.load(Ordering::Relaxed) == window {
            let all = Commits::add(commits.load(Ordering::Relaxed), ns);
            commits.store(all, Ordering::Relaxed);
            return;
        }
        number.store(0, Ordering::Relaxed);
        // SYNC: publish COMMIT_WINDOW_BEGIN
        fence(Ordering::Release);
        commits.store(Commits::add(0, ns.min(MOST_TIME)), Ordering::Relaxed);
        // SYNC: publish COMMIT_WINDOW_END
        number.store(window, Ordering::Release);
    }
}

impl<'a> Deref for CommitWindowsWriter<'a> {
    type Target = CommitWindows<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> Vec<AtomicU64> {
        (0..COMMIT_WINDOW_WORDS)
            .map(|_| AtomicU64::new(0))
            .collect()
    }

    fn writer(words: &[AtomicU64]) -> CommitWindowsWriter<'_> {
        CommitWindowsWriter::new(CommitWindows::new(words))
    }

    fn some(count: u64, total_ns: u64) -> Option<Commits> {
        Some(Commits { count, total_ns })
    }

    #[test]
    fn windows_are_kept_apart() {
        let words = words();
        let windows = writer(&words);
        assert_eq!(windows.commits(7), None);
        for (window, ns) in [(7, 50), (7, 30), (7, 40), (8, 90), (10, 5)] {
            windows.record(window, ns);
        }
        let found: Vec<_> = (6..=11).map(|window| windows.commits(window)).collect();
        let expected = [None, some(3, 120), some(1, 90), None, some(1, 5), None];
        assert_eq!(found, expected);
        assert_eq!(found[1].and_then(|it| it.mean_ns()), Some(40));
        windows.record(11, 1);
        assert_eq!(windows.commits(7), None, "its place is taken");
        assert_eq!(windows.commits(8), some(1, 90), "the others stay");
    }

    #[test]
    fn a_window_begins_with_its_first_microsecond() {
        let first = 1_700_000_000_000_000;
        let window = CommitWindows::number(first);
        assert_eq!(window, 17_000_000_000);
        assert_eq!(CommitWindows::number(first - 1), window - 1);
        assert_eq!(CommitWindows::number(first + WINDOW_US - 1), window);
        assert_eq!(CommitWindows::number(first + WINDOW_US), window + 1);
        assert_eq!(CommitWindows::number(i64::MAX), 92_233_720_368_547);
    }

    #[test]
    fn a_moment_before_the_epoch_has_the_window_that_is_none() {
        for at in [-1, -WINDOW_US, i64::MIN, 0, WINDOW_US - 1] {
            assert_eq!(CommitWindows::number(at), 0);
        }
        let words = words();
        let windows = writer(&words);
        assert_eq!(
            windows.commits(0),
            None,
            "a new part's places have number 0"
        );
        windows.record(0, 5);
        assert_eq!(windows.commits(0), None);
        assert!(words.iter().all(|it| it.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn the_next_backend_of_a_part_adds_to_its_window() {
        let words = words();
        writer(&words).record(9, 100);
        writer(&words).record(9, 200);
        assert_eq!(writer(&words).commits(9), some(2, 300));
        // Much later another one: nothing of the former is counted in.
        writer(&words).record(4 * 1000 + 1, 7);
        assert_eq!(writer(&words).commits(4001), some(1, 7));
        assert_eq!(writer(&words).commits(9), None);
    }

    #[test]
    fn a_backend_that_died_between_two_steps_is_unseen_and_mended() {
        for commits_stored in [false, true] {
            let words = words();
            let windows = writer(&words);
            windows.record(1, 100);
            words[2].store(0, Ordering::Relaxed);
            if commits_stored {
                words[3].store(1 << TIME_BITS | 700, Ordering::Relaxed);
            }
            assert_eq!((windows.commits(1), windows.commits(5)), (None, None));
            assert_eq!(windows.commits(0), None);
            windows.record(5, 3);
            assert_eq!((windows.commits(1), windows.commits(5)), (None, some(1, 3)));
        }
    }

    #[test]
    fn a_commit_that_does_not_fit_is_left_out() {
        let words = words();
        let windows = writer(&words);
        windows.record(1, u64::MAX);
        assert_eq!(windows.commits(1), some(1, MOST_TIME));
        windows.record(1, 1);
        windows.record(1, u64::MAX);
        assert_eq!(windows.commits(1), some(1, MOST_TIME));
        windows.record(1, 0);
        assert_eq!(windows.commits(1), some(2, MOST_TIME), "this one does");
        for _ in 0..70_000 {
            windows.record(2, 10);
        }
        assert_eq!(windows.commits(2), some(MOST_COMMITS, MOST_COMMITS * 10));
        assert_eq!(windows.commits(2).and_then(|it| it.mean_ns()), Some(10));
    }

    #[test]
    fn the_commits_of_all_are_added_up_and_do_not_turn_over() {
        let part = Commits {
            count: 2,
            total_ns: 10,
        };
        let most = Commits {
            count: u64::MAX,
            total_ns: u64::MAX,
        };
        assert_eq!(Commits::sum([part, part].into_iter()).mean_ns(), Some(5));
        assert_eq!(Commits::sum([most, part].into_iter()), most);
        assert_eq!(Commits::sum(std::iter::empty()).mean_ns(), None);
    }

    #[test]
    fn a_part_that_does_not_exist_takes_nothing() {
        // None at all, and one that ends in the middle of a window.
        for words in [0, 3].map(|n| words().into_iter().take(n).collect::<Vec<_>>()) {
            let windows = writer(&words);
            windows.record(1, 1);
            assert_eq!(windows.commits(1), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// A part is a map of the last window of each place; the clock may go back.
        #[test]
        fn a_part_is_a_map_of_four_places(
            steps in prop::collection::vec((1..12u64, 0..1000u64), 0..80),
        ) {
            let words = words();
            let windows = writer(&words);
            let mut model = [(0, Commits::default()); WINDOWS as usize];
            for (window, ns) in steps {
                windows.record(window, ns);
                let place = &mut model[window as usize % WINDOWS as usize];
                if place.0 != window {
                    *place = (window, Commits::default());
                }
                place.1.count += 1;
                place.1.total_ns += ns;
            }
            for window in 0..14 {
                let place = model[window as usize % WINDOWS as usize];
                let expected = (window != 0 && place.0 == window).then_some(place.1);
                prop_assert_eq!(windows.commits(window), expected);
            }
        }

        /// Whatever stands in the words, a writer and a reader take it without a panic, and a
        /// commit is never taken away from a window.
        #[test]
        fn any_words_are_borne(
            content in prop::collection::vec(any::<u64>(), COMMIT_WINDOW_WORDS),
            window in any::<u64>(),
            ns in any::<u64>(),
            own in any::<bool>(),
        ) {
            let words: Vec<_> = content.into_iter().map(AtomicU64::new).collect();
            let windows = writer(&words);
            if own {
                let place = (window % WINDOWS) as usize * 2;
                words[place].store(window, Ordering::Relaxed);
            }
            let before = windows.commits(window).unwrap_or_default();
            let _ = before.mean_ns();
            windows.record(window, ns);
            let after = windows.commits(window).unwrap_or_default();
            prop_assert!(after.count >= before.count && after.total_ns >= before.total_ns);
            prop_assert_eq!(after.count > 0, window != 0);
        }
    }
}
