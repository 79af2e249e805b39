//! Steps under the model checker: a process that puts down more than there is room for, beside a
//! reader and beside a reset.

use super::{beside, check_to};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;
use statseg::model;
use statseg::{CheckpointPhase, STATISTIC_WORDS, STEPS_WORDS, Statistic, StepNumber};

/// One statistic, the steps of its only process, and the epoch of all.
struct Process {
    slot: Vec<AtomicU64>,
    steps: Vec<AtomicU64>,
    baseline: Vec<AtomicU64>,
    epoch: AtomicU64,
}

fn number() -> StepNumber {
    StepNumber::transaction(CheckpointPhase::None)
}

impl Process {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            slot: model::words(STATISTIC_WORDS),
            steps: model::words(STEPS_WORDS),
            baseline: model::baseline(),
            epoch: model::epoch(),
        })
    }

    /// As a process that has just begun: it finds what is there. There is room for two.
    fn record(&self, values: &[u64]) {
        let mut steps = model::steps(&self.steps, &self.epoch);
        let statistic = |index| {
            assert_eq!(index, number().index());
            self.statistic()
        };
        for value in values {
            steps.record(number(), *value, statistic);
        }
    }

    fn statistic(&self) -> Statistic<'_> {
        model::statistic(&self.slot, &self.epoch)
    }

    fn value(&self) -> (u64, u64, Option<u64>, Option<u64>, bool) {
        let value = model::value_with_steps(&self.slot, (&self.steps, number()), &self.baseline);
        (value.count, value.total, value.min, value.max, value.torn)
    }

    fn rebase(&self) {
        let steps = (&self.steps[..], number());
        model::rebase_with_steps(&self.slot, steps, &self.baseline, &self.epoch);
    }
}

fn spawn(process: &Arc<Process>, act: fn(&Process)) -> thread::JoinHandle<()> {
    let process = process.clone();
    thread::spawn(move || act(&process))
}

/// Whatever is folded meanwhile, each step is seen once.
#[test]
fn a_reader_beside_a_fold_sees_each_step_once() {
    check_to(1, || {
        let process = Process::new();
        process.record(&[7]);
        // A reset: what is here is folded before the next step, as it is when there is no room.
        process.epoch.fetch_add(1, Relaxed);
        let writer = spawn(&process, |process| process.record(&[11]));
        beside(&process, |process| {
            let steps = (&process.steps[..], number());
            let value = model::recorded_with_steps(&process.slot, steps);
            let seen = (value.count, value.total);
            assert!(
                value.torn || [(1, 7), (2, 18)].contains(&seen),
                "a step twice or never: {seen:?}"
            );
        });
        writer.join().unwrap();
        let (count, total, .., torn) = process.value();
        assert_eq!((count, total, torn), (2, 18, false));
    });
}

/// Negative control: a fold without the sequence lock.
#[test]
#[should_panic(expected = "a step twice or never")]
fn without_the_sequence_lock_a_step_is_seen_twice() {
    check_to(2, || {
        let process = Process::new();
        process.record(&[7]);
        let writer = spawn(&process, |process| {
            process.statistic().record(7);
            process.steps[8].store(0, Relaxed);
        });
        beside(&process, |process| {
            let (count, .., torn) = process.value();
            assert!(torn || count == 1, "a step twice or never");
        });
        writer.join().unwrap();
    });
}

/// What is put down beside a reset is counted before it or after it; what was there before it is
/// never in min and max again, though it is folded later.
#[test]
fn a_reset_counts_no_step_twice_and_loses_none() {
    check_to(2, || {
        let process = Process::new();
        process.record(&[100]);
        let resetter = spawn(&process, Process::rebase);
        beside(&process, |process| process.record(&[7]));
        resetter.join().unwrap();

        let (count, total, min, max, torn) = process.value();
        assert!(!torn);
        assert!(matches!((count, total), (0, 0) | (1, 7)), "{count} {total}");
        // The value in flight may be missing.
        assert!(
            matches!((min, max), (None, None) | (Some(7), Some(7))),
            "{min:?} {max:?}"
        );

        process.record(&[9]);
        let (after, sum, min, max, torn) = process.value();
        assert_eq!((after, sum, torn), (count + 1, total + 9, false));
        assert!(matches!(min, Some(7 | 9)), "{min:?}");
        assert_eq!(max, Some(9));
    });
}
