//! Real processes: what one writes, another reads whole or not at all; and a writer killed in
//! the middle of an update hangs nobody.
//!
//! `CKPTFLUSH_TORN_READS` and `CKPTFLUSH_TORN_READERS` make the first test longer: so many reads
//! in all, by so many processes. Documented in CONTRIBUTING.md.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use statseg::{
    Event, FileKey, History, Metric, Progress, Reader, Segment, SegmentState, Text, attach, create,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::{Dir, Running};

/// How many records are read in all: of an unoptimized build fewer, for the sake of time.
fn reads() -> u64 {
    let default = if cfg!(debug_assertions) {
        500_000
    } else {
        5_000_000
    };
    support::amount("CKPTFLUSH_TORN_READS", default)
}

/// Processes that read.
fn readers() -> u64 {
    support::amount("CKPTFLUSH_TORN_READERS", 1)
}

#[test]
fn child() {
    let Some((role, directory)) = support::role() else {
        return;
    };
    match role.as_str() {
        "read" => {
            let reader = attach(&directory.join("segment")).unwrap();
            println!("attached");
            let (whole, torn) = read_all(&reader, reads().div_ceil(readers()));
            println!("read {whole} {torn}");
        }
        "write" => {
            let segment = create(&support::config(&directory)).unwrap();
            println!("created");
            // Nothing but updates: where it is killed, one is going on as likely as not.
            let (progress, history, event) = (progress(1), history(1), event(1));
            let statistic = segment.statistic(Metric::FileSyncTime);
            loop {
                segment.progress().write(&progress);
                segment.history().push(&history);
                segment.events().push(&event);
                statistic.record(3);
            }
        }
        other => panic!("unknown role {other}"),
    }
}

/// Records of which every part follows from one number.
fn progress(n: u64) -> Progress {
    Progress {
        checkpoint_id: n,
        redo_lsn: Some(!n),
        buffers_total: (!n.is_multiple_of(2)).then_some(n.rotate_left(7)),
        current_file: Some(path(n)),
        updated_at: n.cast_signed(),
        ..Progress::default()
    }
}

fn history(n: u64) -> History {
    History {
        checkpoint_id: n,
        redo_lsn: Some(!n),
        longest_sync_file: (!n.is_multiple_of(3)).then(|| path(n)),
        outside_p999_ns: Some(n.rotate_left(9)),
        ..History::default()
    }
}

fn event(n: u64) -> Event {
    Event {
        flags: n,
        redo_lsn: !n,
        longest_sync_file: Some(path(n)),
        ..Event::default()
    }
}

/// A path whose every word tells the number.
fn path(n: u64) -> Text<12> {
    let word = n % 10_000_000;
    let mut words = [0; 12];
    words.fill(u64::from_ne_bytes(
        *format!("{word:08}").as_bytes().first_chunk().unwrap(),
    ));
    Text::from_words(&words).unwrap()
}

fn key(n: u64) -> FileKey {
    let relfilenode = u32::try_from(n % 20).unwrap();
    FileKey::Relation {
        tablespace: 1663,
        database: 5,
        relfilenode,
        fork: 0,
        segment: 0,
    }
}

fn write_all(segment: &Segment, n: u64) {
    segment.progress().write(&progress(n));
    // The n-th push has id n.
    assert_eq!(segment.history().push(&history(n)), n);
    assert_eq!(segment.events().push(&event(n)), n);
    segment.statistic(Metric::FileSyncTime).record(3);
    segment
        .files_synced()
        .update(&key(n), path(n).as_str(), n, |stats| {
            stats.buffers_written = n;
            stats.writeback_bytes = !n;
        });
    let window = n / COMMITS;
    segment.commit_windows(2).record(window, window);
}

/// Commits in a window.
const COMMITS: u64 = 3;

/// Reads until enough is read; returns how many records were whole and how many torn.
fn read_all(reader: &Reader, reads: u64) -> (u64, u64) {
    let view = reader.view();
    let (mut whole, mut torn) = (0, 0);
    let (mut last, mut windows) = (0, 0);
    while whole < reads && view.state() == Some(SegmentState::Live) {
        match view.progress().read() {
            Ok(found) => {
                whole += 1;
                let n = found.checkpoint_id;
                assert!(n >= last, "{n} after {last}");
                last = n;
                // The first one is the default of a new segment.
                assert!(n == 0 || found == progress(n), "{found:?}");
            }
            Err(_) => torn += 1,
        }
        for id in last.saturating_sub(3)..=last {
            if let Some(found) = view.history().get(id) {
                whole += 1;
                assert_eq!(found, history(id));
            }
            if let Some(found) = view.events().get(id) {
                whole += 1;
                assert_eq!(found, event(id));
            }
        }
        // The writer goes on meanwhile, so most of these are gone, or just being begun.
        for window in last / COMMITS..last / COMMITS + 5 {
            let found = view.commits(window);
            windows += u64::from(found.count > 0);
            assert!(found.count <= COMMITS, "{found:?}");
            assert_eq!(found.total_ns, found.count * window, "{window}");
        }
        if last.is_multiple_of(16) {
            let value = view.read(Metric::FileSyncTime);
            if value.torn {
                torn += 1;
            } else {
                whole += 1;
                assert_eq!(value.total, 3 * value.count);
            }
            for file in view.files_synced().iter() {
                whole += 1;
                let n = file.last_used;
                assert_eq!((file.key, file.path), (key(n), path(n)));
                assert_eq!(
                    (file.stats.buffers_written, file.stats.writeback_bytes),
                    (n, !n)
                );
            }
        }
    }
    assert!(windows > 0, "no window of commits was seen");
    (whole, torn)
}

#[test]
fn another_process_reads_whole_records() {
    let dir = Dir::new();
    let segment = dir.create();
    let mut running: Vec<_> = (0..readers())
        .map(|_| Running::start("read", dir.path()))
        .collect();
    for reader in &mut running {
        reader.wait_for("attached");
    }
    let mut n = 0;
    let begun = Instant::now();
    // Two cores read two million records per second and more.
    let patience = Duration::from_secs(60 + reads() / 500_000);
    // Their output is read only when they are done.
    while running
        .iter_mut()
        .any(|reader| reader.0.try_wait().unwrap().is_none())
        && begun.elapsed() < patience
    {
        for _ in 0..10_000 {
            n += 1;
            write_all(&segment, n);
        }
    }
    segment.mark_closed();
    let (mut whole, mut torn) = (0, 0);
    for reader in &mut running {
        let said = reader.wait_for("read ");
        let (some, others) = said.split_once(' ').unwrap();
        whole += some.parse::<u64>().unwrap();
        torn += others.parse::<u64>().unwrap();
    }
    eprintln!(
        "{n} written, {whole} read whole, {torn} unreadable, {:?}",
        begun.elapsed()
    );
    assert!(whole >= reads(), "only {whole}");
    // Unreadable is for writers that stay away, not for busy ones.
    assert!(torn * 100 <= whole, "{torn} unreadable");
}

/// A backend that begins a window with every commit, and a reader at the window that is about to
/// give way: without the second look it takes the next one's commits now and then.
#[test]
fn a_window_that_gives_way_is_not_mistaken_for_the_next() {
    let dir = Dir::new();
    let segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    let now = AtomicU64::new(1);
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let (mut seen, begun) = (0, Instant::now());
            while seen < reads() && begun.elapsed() < Duration::from_secs(60) {
                let now = now.load(Ordering::Relaxed);
                for window in now..now + 3 {
                    if let Some(found) = reader.view().commit_windows(0).commits(window) {
                        seen += 1;
                        assert_eq!((found.count, found.total_ns), (1, window));
                    }
                }
            }
            now.store(u64::MAX, Ordering::Relaxed);
            seen
        });
        for window in 4.. {
            segment.commit_windows(0).record(window, window);
            // The oldest one that is still there.
            if now.swap(window - 3, Ordering::Relaxed) == u64::MAX || looks.is_finished() {
                break;
            }
        }
        assert!(looks.join().unwrap() > 0);
    });
}

#[test]
fn a_writer_killed_in_mid_update_hangs_nobody() {
    let (mut unfinished, mut longest) = (0, Duration::ZERO);
    for _ in 0..40 {
        let dir = Dir::new();
        let mut writer = Running::start("write", dir.path());
        writer.wait_for("created");
        let reader = attach(&dir.file()).unwrap();
        while reader.view().events().head() < 100 {
            std::thread::yield_now();
        }
        writer.kill();
        let begun = Instant::now();
        let view = reader.view();
        let torn = [
            view.progress().read().is_err(),
            view.read(Metric::FileSyncTime).torn,
            view.history().newest(4).count() < 4,
            view.events().newest(64).count() < 64,
        ];
        unfinished += u32::from(torn.contains(&true));
        longest = longest.max(begun.elapsed());
        assert!(!reader.server_is_alive().unwrap());
    }
    eprintln!("{unfinished} of 40 writers died in mid-update, longest read {longest:?}");
    assert!(
        unfinished > 0,
        "no writer died in mid-update: this test has tested nothing"
    );
    assert!(longest < Duration::from_secs(5), "{longest:?}");
}
