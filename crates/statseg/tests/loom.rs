//! The protocols under the model checker: every interleaving and every value a relaxed load may
//! return, with a bound on preemptions.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p statseg --test loom --release`
//!
//! Tests that expect a panic are the negative controls: the same models of a protocol that is
//! broken on purpose. Were loom not able to see that, the other tests would say nothing.
//!
//! All that runs side by side runs in spawned threads: loom does not let the others run before
//! the first access of the main thread, and a reader there would never see a late sequence with
//! early words. One of the negative controls found that.
#![cfg(loom)]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*, fence};
use loom::thread;
use statseg::STATISTIC_WORDS;
use statseg::model::{self, Pair};

#[path = "loom/in_flight.rs"]
mod in_flight;

#[path = "loom/commit_windows.rs"]
mod commit_windows;

#[path = "loom/steps.rs"]
mod steps;

fn check(model: impl Fn() + Sync + Send + 'static) {
    check_to(3, model);
}

fn check_to(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A writer writes (1, 1) and (2, 2); a reader must see one of them, or (0, 0), or nothing.
fn never_mixed(
    write: fn(&[AtomicU64], u64),
    read: fn(&[AtomicU64]) -> Option<[u64; 2]>,
) -> impl Fn() + Sync + Send + 'static {
    move || {
        let words = Arc::new(model::words(3));
        let writer = {
            let words = words.clone();
            thread::spawn(move || {
                write(&words, 1);
                write(&words, 2);
            })
        };
        beside(&words, move |words| {
            if let Some([left, right]) = read(words) {
                assert_eq!(left, right, "mixed record");
            }
        });
        writer.join().unwrap();
        assert_eq!(read(&words), Some([2, 2]));
    }
}

/// Does something in a thread of its own.
fn beside<T: Send + Sync + 'static>(with: &Arc<T>, act: impl FnOnce(&T) + 'static) {
    let with = with.clone();
    thread::spawn(move || act(&with)).join().unwrap();
}

fn write(words: &[AtomicU64], n: u64) {
    model::write(words, &[n, n]);
}

fn read(words: &[AtomicU64]) -> Option<[u64; 2]> {
    let mut copy = [0; 2];
    model::read(words, &mut copy).ok().map(|()| copy)
}

#[test]
fn seqlock_yields_no_mixed_record() {
    check(never_mixed(write, read));
}

#[test]
#[should_panic(expected = "mixed record")]
fn without_the_fence_of_the_writer_records_are_mixed() {
    fn broken(words: &[AtomicU64], n: u64) {
        let odd = words[0].load(Relaxed) | 1;
        words[0].store(odd, Relaxed);
        // Here the real one has a release fence.
        words[1].store(n, Relaxed);
        words[2].store(n, Relaxed);
        words[0].store(odd + 1, Release);
    }
    check(never_mixed(broken, read));
}

#[test]
#[should_panic(expected = "mixed record")]
fn without_the_second_fence_of_the_reader_records_are_mixed() {
    fn broken(words: &[AtomicU64]) -> Option<[u64; 2]> {
        let seen = words[0].load(Relaxed);
        fence(Acquire);
        let copy = [words[1].load(Relaxed), words[2].load(Relaxed)];
        // Here the real one has an acquire fence.
        (seen & 1 == 0 && words[0].load(Relaxed) == seen).then_some(copy)
    }
    check(never_mixed(write, broken));
}

#[test]
#[should_panic(expected = "mixed record")]
fn without_the_first_fence_of_the_reader_records_are_mixed() {
    fn broken(words: &[AtomicU64]) -> Option<[u64; 2]> {
        let seen = words[0].load(Relaxed);
        // Here the real one has an acquire fence.
        let copy = [words[1].load(Relaxed), words[2].load(Relaxed)];
        fence(Acquire);
        (seen & 1 == 0 && words[0].load(Relaxed) == seen).then_some(copy)
    }
    check(never_mixed(write, broken));
}

#[test]
fn a_dead_writer_hangs_no_reader_and_its_successor_mends_the_record() {
    check(|| {
        let words = Arc::new(model::words(3));
        let writer = {
            let words = words.clone();
            thread::spawn(move || {
                model::write_half(&words, &[1]);
                // The writer was killed; another process takes its place.
                write(&words, 2);
            })
        };
        beside(&words, |words| {
            if let Some([left, right]) = read(words) {
                assert_eq!(left, right, "mixed record");
            }
        });
        writer.join().unwrap();
        assert_eq!(read(&words), Some([2, 2]));
    });
}

#[test]
fn a_ring_gives_the_record_asked_for_or_none() {
    check(|| {
        let words = Arc::new(model::words(8 + 8));
        let writer = {
            let words = words.clone();
            thread::spawn(move || {
                for n in 1..=2 {
                    let id = model::ring_writer(&words, 1).push(&Pair { left: n, right: n });
                    assert_eq!(id, n);
                }
            })
        };
        beside(&words, |words| {
            for id in [1, 2] {
                if let Some(pair) = model::ring(words, 1).get(id) {
                    assert_eq!((pair.left, pair.right), (id, id));
                }
            }
        });
        writer.join().unwrap();
        let ring = model::ring(&words, 1);
        assert_eq!(ring.get(1), None);
        assert_eq!(ring.get(2), Some(Pair { left: 2, right: 2 }));
    });
}

struct Metric {
    slot: Vec<AtomicU64>,
    baseline: Vec<AtomicU64>,
    epoch: AtomicU64,
}

impl Metric {
    /// One value, 100, is recorded before anything else happens.
    fn new() -> Arc<Self> {
        let metric = Self {
            slot: model::words(STATISTIC_WORDS),
            baseline: model::baseline(),
            epoch: model::epoch(),
        };
        metric.record(100);
        Arc::new(metric)
    }

    fn record(&self, value: u64) {
        model::statistic(&self.slot, &self.epoch).record(value);
    }

    fn value(&self) -> (u64, u64, Option<u64>, Option<u64>, bool) {
        let value = model::value(&self.slot, &self.baseline);
        (value.count, value.total, value.min, value.max, value.torn)
    }
}

/// The update of 7 beside the reset is in the old value or in the new one, never in both or
/// neither; and what is recorded after the reset is in min and max.
#[test]
fn a_reset_counts_nothing_twice_and_loses_nothing() {
    check(|| {
        let metric = Metric::new();
        let resetter = {
            let metric = metric.clone();
            thread::spawn(move || model::rebase(&metric.slot, &metric.baseline, &metric.epoch))
        };
        beside(&metric, |metric| metric.record(7));
        resetter.join().unwrap();

        let (count, total, min, max, torn) = metric.value();
        assert!(!torn);
        assert!(matches!((count, total), (0, 0) | (1, 7)), "{count} {total}");
        // The value in flight may be missing, the one from before the reset is never there.
        assert!(
            matches!((min, max), (None, None) | (Some(7), Some(7))),
            "{min:?} {max:?}"
        );

        metric.record(9);
        let (after, sum, min, max, _) = metric.value();
        assert_eq!((after, sum), (count + 1, total + 9));
        // 7 may be in them although it is counted as before the reset: the accepted race.
        assert!(matches!(min, Some(7 | 9)), "{min:?}");
        assert_eq!(max, Some(9));
    });
}

/// A reader beside a reset sees all of the old value or all of the new one.
#[test]
fn a_reader_beside_a_reset_sees_old_or_new() {
    check_to(2, || {
        let metric = Metric::new();
        let resetter = {
            let metric = metric.clone();
            thread::spawn(move || model::rebase(&metric.slot, &metric.baseline, &metric.epoch))
        };
        beside(&metric, |metric| {
            let seen = metric.value();
            let old = (1, 100, Some(100), Some(100), false);
            let new = (0, 0, None, None, false);
            assert!(seen == old || seen == new || seen.4, "{seen:?}");
        });
        resetter.join().unwrap();
    });
}

/// The same with an update beside both. A counter, for three threads over the words of a
/// statistic take loom an hour.
#[test]
fn a_counter_beside_a_reset_is_old_or_new() {
    check_to(1, || {
        let metric = Metric::new();
        let writer = {
            let metric = metric.clone();
            thread::spawn(move || model::counter(&metric.slot).add(7))
        };
        let resetter = {
            let metric = metric.clone();
            thread::spawn(move || model::rebase(&metric.slot, &metric.baseline, &metric.epoch))
        };
        beside(&metric, |metric| {
            let (count, .., torn) = metric.value();
            // 1 was there before; the 7 are counted before the reset, after it, or not yet.
            assert!(torn || matches!(count, 0 | 1 | 7 | 8), "{count}");
        });
        writer.join().unwrap();
        resetter.join().unwrap();
        assert!(matches!(metric.value().0, 0 | 7));
    });
}

/// Negative control: a reset that reads the sum and writes it as the baseline without the
/// baseline's sequence lock, and a count that a reader takes apart.
#[test]
#[should_panic(expected = "neither old nor new")]
fn a_reset_without_the_sequence_lock_is_seen_half_done() {
    check(|| {
        let metric = Metric::new();
        let resetter = {
            let metric = metric.clone();
            thread::spawn(move || {
                metric.baseline[2].store(1, Relaxed);
                metric.baseline[3].store(100, Relaxed);
            })
        };
        beside(&metric, |metric| {
            let (count, total, ..) = metric.value();
            assert!(
                matches!((count, total), (1, 100) | (0, 0)),
                "neither old nor new"
            );
        });
        resetter.join().unwrap();
    });
}

#[test]
fn the_reset_lock_admits_one() {
    check(|| {
        let lock = Arc::new(AtomicU64::new(0));
        let count = Arc::new(AtomicU64::new(0));
        let resetters = [1, 2].map(|pid| {
            let (lock, count) = (lock.clone(), count.clone());
            thread::spawn(move || {
                // Not an atomic increment: two at once would lose one.
                let add = || count.store(count.load(Relaxed) + 1, Relaxed);
                model::locked(&lock, pid, add).unwrap();
            })
        });
        for resetter in resetters {
            resetter.join().unwrap();
        }
        assert_eq!(count.load(Relaxed), 2);
        assert_eq!(lock.load(Relaxed), 0);
    });
}
