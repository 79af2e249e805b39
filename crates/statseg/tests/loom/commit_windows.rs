//! The windows of commits under the model checker: a backend begins a window in the place of
//! another one, beside a reader of either.

use super::{beside, check};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, Ordering::*, fence};
use loom::thread;
use statseg::Commits;
use statseg::model;

/// Two windows with the same place.
const FORMER: u64 = 1;
const LATTER: u64 = 5;
/// Words of that place: the number and the commits.
const NUMBER: usize = 2;
const COMMITS: usize = 3;
/// One commit, as it is packed.
const ONE: u64 = 1 << 48;

type Record = fn(&[AtomicU64], u64, u64);
type Read = fn(&[AtomicU64], u64) -> Option<Commits>;

/// A reader of either window gets that window's commits or nothing. Times tell them apart: each
/// commit of the former takes 1, that of the latter 100.
fn each_has_its_own(record: Record, commits: Read) -> impl Fn() + Sync + Send + 'static {
    move || {
        let words = Arc::new(model::words(8));
        let writer = {
            let words = words.clone();
            thread::spawn(move || {
                record(&words, FORMER, 1);
                record(&words, FORMER, 1);
                record(&words, LATTER, 100);
            })
        };
        beside(&words, move |words| {
            if let Some(found) = commits(words, LATTER) {
                assert_eq!((found.count, found.total_ns), (1, 100), "another window's");
            }
            if let Some(found) = commits(words, FORMER) {
                assert!(matches!(found.count, 1 | 2), "another window's");
                assert_eq!(found.count, found.total_ns, "another window's");
            }
        });
        writer.join().unwrap();
        assert_eq!(commits(&words, FORMER), None);
        let last = commits(&words, LATTER).map(|it| (it.count, it.total_ns));
        assert_eq!(last, Some((1, 100)));
    }
}

fn record(words: &[AtomicU64], window: u64, ns: u64) {
    model::commit_windows(words).record(window, ns);
}

fn commits(words: &[AtomicU64], window: u64) -> Option<Commits> {
    model::commit_windows(words).commits(window)
}

/// The real writer, but for its fence and the order of its last store.
fn record_with(words: &[AtomicU64], window: u64, ns: u64, fenced: bool, last: Ordering) {
    let (number, commits) = (&words[NUMBER], &words[COMMITS]);
    if number.load(Relaxed) == window {
        commits.store(commits.load(Relaxed) + ONE + ns, Relaxed);
        return;
    }
    number.store(0, Relaxed);
    if fenced {
        fence(Release);
    }
    commits.store(ONE + ns, Relaxed);
    number.store(window, last);
}

/// The real reader, but for its fences and its second look.
fn commits_with(
    words: &[AtomicU64],
    window: u64,
    fenced: [bool; 2],
    again: bool,
) -> Option<Commits> {
    let number = &words[NUMBER];
    if number.load(Relaxed) != window {
        return None;
    }
    if fenced[0] {
        fence(Acquire);
    }
    let found = words[COMMITS].load(Relaxed);
    if fenced[1] {
        fence(Acquire);
    }
    let still = !again || number.load(Relaxed) == window;
    still.then_some(Commits {
        count: found >> 48,
        total_ns: found % ONE,
    })
}

#[test]
fn commits_are_of_the_window_asked_for() {
    check(each_has_its_own(record, commits));
}

/// So that what the controls leave out is all that they change.
#[test]
fn the_copies_that_the_controls_break_are_sound() {
    check(each_has_its_own(
        |words, window, ns| record_with(words, window, ns, true, Release),
        |words, window| commits_with(words, window, [true, true], true),
    ));
}

#[test]
#[should_panic(expected = "another window's")]
fn without_the_fence_of_the_backend_windows_are_mixed() {
    check(each_has_its_own(
        |words, window, ns| record_with(words, window, ns, false, Release),
        commits,
    ));
}

#[test]
#[should_panic(expected = "another window's")]
fn without_the_release_of_the_number_windows_are_mixed() {
    check(each_has_its_own(
        |words, window, ns| record_with(words, window, ns, true, Relaxed),
        commits,
    ));
}

#[test]
#[should_panic(expected = "another window's")]
fn without_the_first_fence_of_the_reader_windows_are_mixed() {
    check(each_has_its_own(record, |words, window| {
        commits_with(words, window, [false, true], true)
    }));
}

#[test]
#[should_panic(expected = "another window's")]
fn without_the_second_fence_of_the_reader_windows_are_mixed() {
    check(each_has_its_own(record, |words, window| {
        commits_with(words, window, [true, false], true)
    }));
}

#[test]
#[should_panic(expected = "another window's")]
fn without_the_second_look_at_the_number_windows_are_mixed() {
    check(each_has_its_own(record, |words, window| {
        commits_with(words, window, [true, true], false)
    }));
}

/// A backend dies in the middle of beginning a window, and the next one begins one in its place.
#[test]
fn a_dead_backend_leaves_nothing_to_its_successor() {
    check(|| {
        let words = Arc::new(model::words(8));
        let writers = {
            let words = words.clone();
            thread::spawn(move || {
                record(&words, FORMER, 1);
                words[NUMBER].store(0, Relaxed);
                fence(Release);
                words[COMMITS].store(ONE + 7, Relaxed);
                // It was killed here.
                record(&words, LATTER, 100);
            })
        };
        beside(&words, |words| {
            for (window, ns) in [(LATTER, 100), (FORMER, 1)] {
                if let Some(found) = commits(words, window) {
                    assert_eq!((found.count, found.total_ns), (1, ns), "the dead one's");
                }
            }
        });
        writers.join().unwrap();
        assert_eq!(commits(&words, LATTER).unwrap().total_ns, 100);
    });
}
