//! What the backends did and waited for: slots, activity, waits, timeline and stalls.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use statseg::{
    CheckpointPhase, Command, Ended, Metric, ResetTarget, Second, Stall, Text, WaitKey, WaitRow,
    attach,
};
use support::Dir;

fn key(event: Option<(&str, &str)>) -> WaitKey {
    WaitKey {
        backend_type: Text::new("client backend"),
        wait_type: event.map(|(kind, _)| Text::new(kind)),
        wait_event: event.map(|(_, event)| Text::new(event)),
    }
}

#[test]
fn every_process_counts_in_its_own_slot() {
    let dir = Dir::new();
    let segment = dir.create();
    let metric = Metric::command(Command::Execute, CheckpointPhase::Syncing);
    for (process, ns) in [(0, 10), (3, 30), (3, 50)] {
        segment.statistic_at(metric, process).record(ns);
    }
    // There are four slots only.
    segment.statistic_at(metric, 4).record(1_000);
    let value = segment.view().read(metric);
    assert_eq!((value.count, value.total), (3, 90));
    assert_eq!((value.min, value.max), (Some(10), Some(50)));
    let other = Metric::command(Command::Execute, CheckpointPhase::Writing);
    assert_eq!(segment.view().read(other).count, 0);
}

#[test]
fn what_was_recorded_only_grows_whatever_is_reset() {
    let dir = Dir::new();
    let segment = dir.create();
    let metric = Metric::transaction(CheckpointPhase::None);
    segment.statistic_at(metric, 1).record(7);
    segment.reset(ResetTarget::All, 1, 1).unwrap();
    segment.statistic_at(metric, 2).record(7);
    let view = segment.view();
    assert_eq!(view.read(metric).count, 1);
    let recorded = view.recorded(metric);
    assert_eq!((recorded.count, recorded.total), (2, 14));
    assert_eq!(recorded.buckets.iter().sum::<u64>(), 2);
    assert_eq!((recorded.min, recorded.max), (None, None));
}

#[test]
fn the_phase_is_for_everybody_to_see() {
    let dir = Dir::new();
    let segment = dir.create();
    assert_eq!(segment.view().checkpoint_phase(), CheckpointPhase::None);
    let reader = attach(&dir.file()).unwrap();
    for (phase, _) in CheckpointPhase::ALL {
        segment.set_checkpoint_phase(*phase);
        assert_eq!(reader.view().checkpoint_phase(), *phase);
    }
}

#[test]
fn activity_is_added_up() {
    let dir = Dir::new();
    let segment = dir.create();
    segment.activity(0).committed(9_000_000, 100, true);
    segment.activity(1).rolled_back(9_000_000, 300);
    segment.activity(3).committed(10_000_000, 5, false);
    segment.activity(4).committed(10_000_000, 1_000, true); // nobody's part
    let view = segment.view();
    let expected = Ended {
        commits: 2,
        rollbacks: 1,
        writes: 1,
    };
    assert_eq!(view.ended(), expected);
    let longest = [8, 9, 10].map(|second| view.longest_transaction(second));
    assert_eq!(longest, [None, Some(300), Some(5)]);
}

#[test]
fn waits_keep_their_rows() {
    let dir = Dir::new();
    let segment = dir.create();
    let waits = segment.waits();
    let keys = [
        key(None),
        key(Some(("LWLock", "WALWrite"))),
        key(Some(("IO", "WALSync"))),
    ];
    assert_eq!(waits.iter().count(), 0);
    for (row, key) in keys.iter().enumerate() {
        for (phase, _) in CheckpointPhase::ALL {
            assert!(waits.add(row, key, *phase, phase.code()));
        }
    }
    assert!(waits.add(1, &keys[1], CheckpointPhase::Syncing, 10));
    assert!(!waits.add(waits.capacity(), &keys[0], CheckpointPhase::None, 1));

    let reader = attach(&dir.file()).unwrap();
    let rows: Vec<WaitRow> = reader.view().waits().iter().collect();
    assert_eq!(rows.iter().map(WaitRow::key).collect::<Vec<_>>(), keys);
    let samples = CheckpointPhase::ALL
        .iter()
        .map(|(phase, _)| rows[1].samples(*phase));
    assert_eq!(samples.collect::<Vec<_>>(), [1, 2, 13]);
}

#[test]
fn a_reset_empties_the_waits_and_keeps_their_rows() {
    let dir = Dir::new();
    let segment = dir.create();
    let waits = segment.waits();
    let (first, second) = (key(Some(("IO", "A"))), key(Some(("IO", "B"))));
    waits.add(0, &first, CheckpointPhase::None, 5);
    waits.add(1, &second, CheckpointPhase::None, 5);
    segment.reset(ResetTarget::Waits, 1, 77).unwrap();
    assert_eq!(segment.view().reset_times().waits, Some(77));
    assert_eq!(waits.iter().count(), 0);
    // Who takes over finds the row that belongs to a key, also when it is empty.
    let keys: Vec<_> = waits.keys().collect();
    assert_eq!(keys, [Some(first), Some(second)]);
    waits.add(1, &second, CheckpointPhase::None, 2);
    let rows: Vec<_> = waits.iter().collect();
    assert_eq!((rows.len(), rows[0].samples_none), (1, 2));
}

#[test]
fn timeline_and_stalls_are_reset_together_and_the_history_is_not() {
    let dir = Dir::new();
    let segment = dir.create();
    for at in 1..=70 {
        segment.timeline().push(&Second {
            at,
            ..Second::default()
        });
    }
    segment.stalls().push(&Stall {
        stalled_ns: 5,
        ..Stall::default()
    });
    let view = segment.view();
    // The support's segment keeps 60 seconds.
    assert_eq!(view.timeline().newest(100).count(), 60);
    assert_eq!(view.stalls().newest(100).count(), 1);
    segment.reset(ResetTarget::Timeline, 1, 5).unwrap();
    assert_eq!(view.timeline().newest(100).count(), 0);
    assert_eq!(view.stalls().newest(100).count(), 0);
    let times = view.reset_times();
    assert_eq!((times.timeline, times.history), (Some(5), None));
    segment.timeline().push(&Second::default());
    assert_eq!(view.timeline().newest(100).count(), 1);
}
