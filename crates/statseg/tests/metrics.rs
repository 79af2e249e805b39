//! Counters and statistics from the writer to the reader, and what a reset does to them.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use statseg::{
    Event, Group, METRICS, Metric, MetricKind, Outcome, ResetTarget, ResetTimes, SyncState, Value,
    Worker, WorkerState, attach,
};
use std::sync::atomic::{AtomicBool, Ordering};
use support::Dir;

#[test]
fn the_directory_of_a_segment_is_the_catalog() {
    let dir = Dir::new();
    let _segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    let found: Vec<_> = reader.view().metrics().collect();
    assert_eq!(found.len(), METRICS.len());
    for (found, def) in found.iter().zip(&METRICS) {
        assert_eq!(
            (found.name, found.unit, found.help, found.kind, found.group),
            (def.name, def.unit, def.help, def.kind, def.group.section())
        );
    }
    assert_eq!(reader.view().slot_count(Group::Checkpointer), 1);
}

#[test]
fn what_is_written_is_read_by_name_and_by_number() {
    let dir = Dir::new();
    let segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    for (n, metric) in (1..).zip(Metric::ALL) {
        match metric.def().kind {
            MetricKind::Counter => segment.counter(*metric).add(n),
            MetricKind::Gauge => segment.gauge(*metric).set(n),
            MetricKind::Statistic => segment.statistic(*metric).record(n),
        }
    }
    for (n, (metric, info)) in (1..).zip(Metric::ALL.iter().zip(reader.view().metrics())) {
        let value = reader.view().read(*metric);
        assert_eq!(value, reader.view().value(&info));
        assert_eq!(value, segment.view().read(*metric));
        if info.kind == MetricKind::Statistic {
            assert_eq!((value.count, value.total), (1, n));
            assert_eq!(
                (value.min, value.max, value.mean()),
                (Some(n), Some(n), Some(n as f64))
            );
            assert_eq!(value.percentile(0.5), Some(n));
            assert_eq!(value.buckets.iter().sum::<u64>(), 1);
        } else {
            assert_eq!(
                value,
                Value {
                    count: n,
                    ..Value::default()
                }
            );
        }
    }
}

#[test]
fn a_statistic_is_count_total_min_max_and_percentiles() {
    let dir = Dir::new();
    let segment = dir.create();
    let metric = Metric::FileSyncTime;
    assert_eq!(segment.view().read(metric).min, None);
    assert_eq!(segment.view().read(metric).percentile(0.5), None);
    for ns in 1..=1000 {
        segment.statistic(metric).record(ns * 1000);
    }
    let value = segment.view().read(metric);
    assert_eq!((value.count, value.total), (1000, 500_500_000));
    assert_eq!((value.min, value.max), (Some(1000), Some(1_000_000)));
    for (q, exact) in [(0.5, 500_000.0), (0.9, 900_000.0), (0.99, 990_000.0)] {
        let found = value.percentile(q).unwrap() as f64;
        assert!((found - exact).abs() / exact <= 0.0625, "{q}: {found}");
    }
    assert_eq!(value.percentile(1.0), Some(1_000_000));
    // A value beyond the range is in the last bucket, and in min and max as it is.
    segment.statistic(metric).record(u64::MAX / 4);
    assert_eq!(
        segment.view().read(metric).percentile(1.0),
        Some(u64::MAX / 4)
    );
}

#[test]
fn a_slot_that_is_not_there_counts_nothing() {
    let dir = Dir::new();
    let segment = dir.create();
    segment.counter_at(Metric::NumDone, 1).add(5);
    segment
        .statistic_at(Metric::FileSyncTime, usize::MAX)
        .record(5);
    assert_eq!(segment.view().read(Metric::NumDone).count, 0);
    assert_eq!(segment.view().read(Metric::FileSyncTime).count, 0);
}

#[test]
fn a_reset_of_the_counters_starts_them_again() {
    let dir = Dir::new();
    let segment = dir.create();
    let (counter, statistic) = (Metric::NumDone, Metric::FileSyncTime);
    segment.counter(counter).add(5);
    segment.statistic(statistic).record(100);
    segment.events().push(&Event::default());
    assert_eq!(segment.view().reset_times(), ResetTimes::default());

    segment.reset(ResetTarget::Counters, 42, 1_000).unwrap();
    let times = ResetTimes {
        counters: Some(1_000),
        ..ResetTimes::default()
    };
    assert_eq!(segment.view().reset_times(), times);
    assert_eq!(segment.view().read(counter).count, 0);
    let value = segment.view().read(statistic);
    assert_eq!(
        (value.count, value.total, value.min, value.max),
        (0, 0, None, None)
    );
    assert_eq!(value.percentile(0.5), None);

    segment.counter(counter).increment();
    segment.statistic(statistic).record(200);
    segment.statistic(statistic).record(150);
    assert_eq!(segment.view().read(counter).count, 1);
    let value = segment.view().read(statistic);
    assert_eq!((value.count, value.total), (2, 350));
    assert_eq!((value.min, value.max), (Some(150), Some(200)));
    assert_eq!(value.buckets.iter().sum::<u64>(), 2);

    segment.reset(ResetTarget::All, 42, 2_000).unwrap();
    let all = Some(2_000);
    let times = ResetTimes {
        counters: all,
        history: all,
        files: all,
        waits: all,
        timeline: all,
    };
    assert_eq!(segment.view().reset_times(), times);
    assert_eq!(segment.view().read(statistic).count, 0);
    // Messages between processes are no statistics.
    assert_eq!(segment.events().head(), 1);
    assert!(segment.events().get(1).is_some());
}

/// Threads that reset and read beside a writer: at the end, what the baselines took and what is
/// left is exactly what was recorded.
#[test]
fn resets_beside_a_writer_lose_nothing() {
    let dir = Dir::new();
    let segment = dir.create();
    let done = AtomicBool::new(false);
    let metric = Metric::CheckpointWriteTime;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut now = 0;
            while !done.load(Ordering::Relaxed) {
                now += 1;
                segment.reset(ResetTarget::Counters, 1, now).unwrap();
                std::thread::yield_now();
            }
        });
        let reader = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::Relaxed) {
                let value = segment.view().read(metric);
                if !value.torn {
                    assert_eq!(value.total, 5 * value.count);
                    assert!(value.min.is_none_or(|min| min == 5));
                }
                most = most.max(value.count);
            }
            most
        });
        for _ in 0..200_000 {
            segment.statistic(metric).record(5);
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() <= 200_000);
    });
    segment.reset(ResetTarget::Counters, 1, 1).unwrap();
    segment.statistic(metric).record(7);
    let value = segment.view().read(metric);
    assert_eq!((value.count, value.total, value.torn), (1, 7, false));
    assert_eq!((value.min, value.max), (Some(7), Some(7)));
    assert_eq!(value.buckets.iter().sum::<u64>(), 1);
}

/// Who resets in one process keeps the others out; in the end they are told who it is.
#[test]
fn a_reset_that_hangs_is_reported() {
    let dir = Dir::new();
    let segment = dir.create();
    // The lock is word 0 of "control"; a process that died with it is imitated in the file.
    let offset = control_offset(&dir);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(dir.file())
        .unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &4711u64.to_ne_bytes(), offset).unwrap();
    let busy = segment.reset(ResetTarget::All, 1, 1).unwrap_err();
    assert_eq!(busy.pid, 4711);
    assert_eq!(
        busy.to_string(),
        "statistics are being reset by process 4711"
    );
    assert_eq!(segment.view().reset_times(), ResetTimes::default());
}

/// Where "control" begins, by the description of the layout.
fn control_offset(dir: &Dir) -> u64 {
    let bytes = std::fs::read(dir.file()).unwrap();
    let entry = bytes[4096..]
        .chunks(96)
        .find(|e| e[48..].starts_with(b"control\0"))
        .unwrap();
    u64::from_ne_bytes(entry[8..16].try_into().unwrap())
}

#[test]
fn records_are_read_as_they_were_written() {
    let dir = Dir::new();
    let segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    assert_eq!(view.sync_state().read(), Ok(SyncState::default()));
    let state = SyncState {
        start_at: -1,
        files_done: 3,
        last_file: Some("base/5/16384".into()),
        ..SyncState::default()
    };
    segment.sync_state().write(&state);
    assert_eq!(view.sync_state().read(), Ok(state));
    assert_eq!(segment.sync_state().read(), Ok(state));

    let worker = Worker {
        name: "ckptflush monitor, a name that is too long".into(),
        pid: Some(4711),
        state: WorkerState::Running,
        ..Worker::default()
    };
    segment.worker(3).write(&worker);
    assert_eq!(
        view.worker(3).read().unwrap().name.as_str(),
        "ckptflush monitor, a name that i"
    );
    assert_eq!(view.worker(0).read(), Ok(Worker::default()));
    // Beyond the last one.
    segment.worker(4).write(&worker);
    assert!(view.worker(4).read().is_err());
    assert_eq!(Outcome::default(), Outcome::Completed);
}
