//! Statistics: what is recorded is read, whatever is reset or left unfinished.
//!
//! *Runs in:* tests. *Reads and writes:* words of its own. *Never:* is part of the crate.

use super::*;

fn words(n: usize) -> Vec<AtomicU64> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

/// A statistic with three slots and the baseline of a fresh segment.
struct Fresh {
    slots: Vec<Vec<AtomicU64>>,
    baseline: Vec<AtomicU64>,
    epoch: AtomicU64,
}

impl Fresh {
    fn new() -> Self {
        let baseline = words(STATISTIC_WORDS);
        baseline[EPOCH].store(FIRST_EPOCH, Ordering::Relaxed);
        Self {
            slots: (0..3).map(|_| words(STATISTIC_WORDS)).collect(),
            baseline,
            epoch: AtomicU64::new(FIRST_EPOCH),
        }
    }

    fn record(&self, slot: usize, value: u64) {
        Statistic::new(&self.slots[slot], Some(&self.epoch)).record(value);
    }

    fn read(&self) -> Sum {
        read(
            &self.slots.iter().map(|words| Slot::from(words.as_slice())),
            &self.baseline,
            STATISTIC_WORDS,
        )
    }

    fn rebase(&self) {
        rebase(
            self.slots.iter().map(|words| Slot::from(words.as_slice())),
            &self.baseline,
            STATISTIC_WORDS,
            next_epoch(&self.epoch),
        );
    }
}

#[test]
fn slots_are_added_up() {
    let metric = Fresh::new();
    metric.record(0, 50);
    metric.record(2, 7);
    metric.record(2, 90);
    let sum = metric.read();
    assert_eq!((sum.count, sum.total, sum.torn), (3, 147, false));
    assert_eq!((sum.min, sum.max), (Some(7), Some(90)));
    assert_eq!(sum.buckets.iter().sum::<u64>(), 3);
}

#[test]
fn slots_that_were_quiet_since_the_reset_add_no_min_and_max() {
    let metric = Fresh::new();
    metric.record(0, 1);
    metric.record(1, 1000);
    metric.rebase();
    metric.record(2, 30);
    let sum = metric.read();
    assert_eq!((sum.count, sum.total), (1, 30));
    assert_eq!((sum.min, sum.max), (Some(30), Some(30)));
    metric.record(0, 20);
    let sum = metric.read();
    assert_eq!((sum.min, sum.max), (Some(20), Some(30)));
}

#[test]
fn a_slot_left_unfinished_is_counted_and_marked() {
    let metric = Fresh::new();
    metric.record(0, 5);
    metric.record(1, 6);
    let _died = seqlock::begin(&metric.slots[1][SEQUENCE]);
    let sum = metric.read();
    assert_eq!((sum.count, sum.total, sum.torn), (2, 11, true));
    // A reset takes its words as they are, and the next owner of the slot mends it.
    metric.rebase();
    assert_eq!((metric.read().count, metric.read().torn), (0, true));
    metric.record(1, 7);
    let sum = metric.read();
    assert_eq!((sum.count, sum.total, sum.torn), (1, 7, false));
}

#[test]
fn a_reset_left_unfinished_hangs_nobody() {
    let metric = Fresh::new();
    metric.record(0, 5);
    let _died = seqlock::begin(&metric.baseline[SEQUENCE]);
    let sum = metric.read();
    assert_eq!((sum.count, sum.torn), (1, true));
    metric.rebase();
    assert_eq!(
        metric.read(),
        Sum {
            buckets: vec![0; BUCKETS],
            ..Sum::default()
        }
    );
}

#[test]
fn a_gauge_is_the_sum_of_its_slots() {
    let slots = [words(COUNTER_WORDS), words(COUNTER_WORDS)];
    let baseline = words(COUNTER_WORDS);
    for (slot, value) in slots.iter().zip([3, 4]) {
        let gauge = Gauge(slot.get(COUNT));
        gauge.set(100);
        gauge.set(value);
    }
    let sum = read(
        &slots.iter().map(|words| Slot::from(words.as_slice())),
        &baseline,
        COUNTER_WORDS,
    );
    assert_eq!((sum.count, sum.torn), (7, false));
}

#[test]
fn too_few_words_count_nothing() {
    let (own, epoch) = (words(STATISTIC_WORDS - 1), AtomicU64::new(FIRST_EPOCH));
    Statistic::new(&own, Some(&epoch)).record(1);
    Statistic::new(&[], None).record(1);
    assert!(own.iter().all(|w| w.load(Ordering::Relaxed) == 0));
    assert!(read(&std::iter::empty(), &[], STATISTIC_WORDS).torn);
    rebase(std::iter::empty(), &[], STATISTIC_WORDS, FIRST_EPOCH);
}
