//! What counting costs the server, and what a snapshot costs a reader.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use statseg::{Config, FileKey, History, Metric, Progress, Segment, View, attach, create};
use std::hint::black_box;
use support::Dir;

fn writers(c: &mut Criterion) {
    let dir = Dir::new();
    let segment = create(&Config {
        history: 1000,
        files: 4096,
        backends: 100,
        timeline: 3600,
        ..dir.config()
    })
    .unwrap();
    let mut n = 0u64;

    let counter = segment.counter(Metric::NumDone);
    c.bench_function("counter_add", |b| b.iter(|| counter.add(black_box(1))));
    c.bench_function("counter_find_and_add", |b| {
        b.iter(|| {
            segment
                .counter(black_box(Metric::NumDone))
                .add(black_box(1))
        });
    });

    let statistic = segment.statistic(Metric::FileSyncTime);
    let mut next = || {
        // Values over many octaves, as times have them.
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        n >> (n >> 59) >> 22
    };
    c.bench_function("values_only", |b| b.iter(|| black_box(next())));
    c.bench_function("statistic_record", |b| {
        b.iter(|| statistic.record(black_box(next())))
    });
    c.bench_function("statistic_record_same", |b| {
        b.iter(|| statistic.record(black_box(1234)))
    });
    c.bench_function("statistic_find_and_record", |b| {
        b.iter(|| {
            segment
                .statistic(black_box(Metric::FileSyncTime))
                .record(black_box(1234))
        });
    });

    let mut steps = segment.steps(1).unwrap();
    let numbers = [4, 10, 4, 16, 22, 25].map(|n| {
        Metric::ALL
            .iter()
            .find_map(|m| m.step().filter(|s| s.index() == n))
    });
    c.bench_function("steps_of_a_transaction", |b| {
        b.iter(|| {
            for number in numbers.iter().flatten() {
                steps.record(*number, black_box(next()), |index| {
                    let metric = Metric::ALL[Metric::ParseNone as usize + index];
                    segment.statistic_at(metric, 1)
                });
            }
        })
    });

    commits(c, &segment);

    let progress = Progress {
        buffers_done: Some(1),
        current_file: Some("base/16384/16385.1".into()),
        ..Progress::default()
    };
    let record = segment.progress();
    c.bench_function("record_write", |b| {
        b.iter(|| record.write(black_box(&progress)))
    });
    c.bench_function("record_read", |b| {
        b.iter(|| black_box(record.read().unwrap()))
    });

    let history = History {
        longest_sync_file: Some("base/5/1".into()),
        ..History::default()
    };
    let ring = segment.history();
    c.bench_function("ring_push", |b| b.iter(|| ring.push(black_box(&history))));

    let table = segment.files_synced();
    let mut used = 0;
    c.bench_function("files_update", |b| {
        b.iter(|| {
            used += 1;
            let key = FileKey::Relation {
                tablespace: 1663,
                database: 5,
                relfilenode: 16384 + used % 2000,
                fork: 0,
                segment: 0,
            };
            table.update(&key, "base/5/16384", u64::from(used), |stats| {
                stats.record_sync(1000)
            })
        });
    });
}

/// What a commit pays for being known to the flusher, and what the flusher pays to know.
fn commits(c: &mut Criterion, segment: &Segment) {
    let mut window = 1u64;
    let own = |window| segment.commit_windows(black_box(7)).record(window, 1234);
    c.bench_function("commit_record", |b| b.iter(|| own(black_box(window))));
    c.bench_function("commit_record_first_of_window", |b| {
        b.iter(|| {
            window += 1;
            own(black_box(window));
        });
    });
    for backend in 0..100 {
        segment.commit_windows(backend).record(window, 1234);
    }
    c.bench_function("commits_of_100_backends", |b| {
        b.iter(|| black_box(segment.view().commits(black_box(window))))
    });
}

/// All that the views show.
fn snapshot(view: View<'_>) -> u64 {
    let metrics: u64 = view.metrics().map(|metric| view.value(&metric).count).sum();
    let records = view.progress().read().is_ok() && view.monitor_state().read().is_ok();
    let records = records && view.flush_state().read().is_ok() && view.takeover().read().is_ok();
    let history: u64 = view.history().newest(1000).map(|(id, _)| id).sum();
    let files = view
        .files_synced()
        .iter()
        .chain(view.files_written().iter());
    let files = files.chain(view.files_flushed().iter()).count();
    metrics + u64::from(records) + history + files as u64
}

fn readers(c: &mut Criterion) {
    let dir = Dir::new();
    let segment = create(&Config {
        history: 1000,
        files: 4096,
        backends: 100,
        timeline: 3600,
        ..dir.config()
    })
    .unwrap();
    for n in 0..2000 {
        segment.history().push(&History {
            checkpoint_id: n,
            ..History::default()
        });
        let path = format!("base/5/{n}");
        segment
            .files_synced()
            .update(&FileKey::Path, &path, n, |stats| stats.record_sync(n));
        segment
            .files_written()
            .update(&FileKey::Path, &path, n, |stats| stats.record_sync(n));
        segment.statistic(Metric::FileSyncTime).record(n * 1000);
    }
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    c.bench_function("statistic_read", |b| {
        b.iter(|| black_box(view.read(Metric::FileSyncTime)));
    });
    c.bench_function("percentile", |b| {
        let value = view.read(Metric::FileSyncTime);
        b.iter(|| black_box(value.percentile(black_box(0.99))));
    });
    c.bench_function("snapshot_of_everything", |b| {
        b.iter(|| black_box(snapshot(view)))
    });
    c.bench_function("attach", |b| b.iter(|| attach(&dir.file()).unwrap()));
}

criterion_group!(benches, writers, readers);
criterion_main!(benches);
