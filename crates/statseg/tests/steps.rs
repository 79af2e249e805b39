//! What a process has put down as steps is read as if it were in its statistics already.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use statseg::{
    CheckpointPhase, Command, Metric, ResetTarget, STEPS_WORDS, Segment, StepNumber, StepsWriter,
    Value,
};
use support::Dir;

const EXECUTE: Metric = Metric::command(Command::Execute, CheckpointPhase::None);

/// A process of the server, as the library does it.
struct Process<'a> {
    segment: &'a Segment,
    slot: usize,
    steps: StepsWriter<'a>,
}

impl<'a> Process<'a> {
    fn new(segment: &'a Segment, slot: usize) -> Self {
        let steps = segment.steps(slot).unwrap();
        Self {
            segment,
            slot,
            steps,
        }
    }

    fn record(&mut self, metric: Metric, value: u64) {
        let (segment, slot) = (self.segment, self.slot);
        self.steps.record(metric.step().unwrap(), value, |index| {
            let metric = Metric::ALL
                .iter()
                .find(|m| m.step().is_some_and(|s| s.index() == index));
            segment.statistic_at(*metric.unwrap(), slot)
        });
    }
}

fn facts(value: &Value) -> (u64, u64, Option<u64>, Option<u64>, u64, bool) {
    (
        value.count,
        value.total,
        value.min,
        value.max,
        value.buckets.iter().sum(),
        value.torn,
    )
}

#[test]
fn numbers_are_those_of_the_metrics() {
    for (phase, _) in CheckpointPhase::ALL {
        for (command, _) in Command::ALL {
            let step = Metric::command(*command, *phase).step();
            assert_eq!(step, Some(StepNumber::command(*command, *phase)));
        }
        let step = Metric::transaction(*phase).step();
        assert_eq!(step, Some(StepNumber::transaction(*phase)));
    }
    assert_eq!(Metric::GroupSize.step(), None);
    assert_eq!(Metric::FileSyncTime.step(), None);
}

#[test]
fn each_step_counts_at_once_and_once() {
    let dir = Dir::new();
    let segment = dir.create();
    let mut process = Process::new(&segment, 2);
    let mut total = 0;
    for n in 1..=3 * STEPS_WORDS as u64 {
        process.record(EXECUTE, n);
        total += n;
        let expected = (n, total, Some(1), Some(n), n, false);
        assert_eq!(facts(&segment.view().read(EXECUTE)), expected);
    }
    let other = Metric::transaction(CheckpointPhase::None);
    assert_eq!(segment.view().read(other).count, 0);
    let recorded = segment.view().recorded(EXECUTE);
    assert_eq!(recorded.total, total);
}

#[test]
fn the_next_process_goes_on() {
    let dir = Dir::new();
    let segment = dir.create();
    for n in 1..=2 * STEPS_WORDS as u64 {
        Process::new(&segment, 1).record(EXECUTE, 5);
        assert_eq!(segment.view().read(EXECUTE).count, n);
    }
    assert!(segment.steps(4).is_none(), "nobody's");
}

#[test]
fn a_reset_takes_steps_away_as_well() {
    let dir = Dir::new();
    let segment = dir.create();
    let (mut one, mut other) = (Process::new(&segment, 0), Process::new(&segment, 1));
    one.record(EXECUTE, 1);
    other.record(EXECUTE, 1000);
    segment.reset(ResetTarget::Counters, 1, 1).unwrap();
    let nothing = (0, 0, None, None, 0, false);
    assert_eq!(facts(&segment.view().read(EXECUTE)), nothing);
    // What was put down before is folded with the old epoch.
    one.record(EXECUTE, 30);
    let expected = (1, 30, Some(30), Some(30), 1, false);
    assert_eq!(facts(&segment.view().read(EXECUTE)), expected);
    other.record(EXECUTE, 20);
    let expected = (2, 50, Some(20), Some(30), 2, false);
    assert_eq!(facts(&segment.view().read(EXECUTE)), expected);
    for _ in 0..STEPS_WORDS {
        one.record(EXECUTE, 25);
    }
    let value = segment.view().read(EXECUTE);
    assert_eq!((value.min, value.max), (Some(20), Some(30)));
    assert_eq!(value.count, 2 + STEPS_WORDS as u64);
}

#[test]
fn a_value_that_does_not_fit_is_cut() {
    let dir = Dir::new();
    let segment = dir.create();
    Process::new(&segment, 0).record(EXECUTE, u64::MAX);
    assert_eq!(segment.view().read(EXECUTE).max, Some(u64::MAX >> 8));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..Default::default() })]

    /// The same as if all were recorded in the statistics at once, whoever begins anew and
    /// whatever is reset in between.
    #[test]
    fn steps_are_as_good_as_statistics(
        acts in prop::collection::vec((0..4usize, 0..27usize, 0..1u64 << 45, 0..40u8), 1..900),
    ) {
        let (dir, model) = (Dir::new(), Dir::new());
        let (segment, model) = (dir.create(), model.create());
        let metrics: Vec<Metric> = Metric::ALL.iter().copied().filter(|m| m.step().is_some()).collect();
        let mut processes: Vec<_> = (0..4).map(|slot| Process::new(&segment, slot)).collect();
        for (slot, metric, value, chance) in acts {
            match chance {
                0 => processes[slot] = Process::new(&segment, slot),
                1 => {
                    segment.reset(ResetTarget::Counters, 1, 1).unwrap();
                    model.reset(ResetTarget::Counters, 1, 1).unwrap();
                }
                _ => {
                    processes[slot].record(metrics[metric], value);
                    model.statistic_at(metrics[metric], slot).record(value);
                }
            }
        }
        for metric in metrics {
            prop_assert_eq!(segment.view().read(metric), model.view().read(metric));
            prop_assert_eq!(segment.view().recorded(metric), model.view().recorded(metric));
        }
    }
}
