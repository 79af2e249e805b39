//! The parts of a segment that the flusher brought: what is written there is read back, and what
//! is damaged there is refused or left out.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use proptest::prelude::*;
use statseg::{
    AttachError, CommitWindows, Commits, Config, FileKey, FlushMode, FlushState, Group, Metric,
    MetricKind, Placement, Reader, RecordType, ResetTarget, Takeover, Torn, attach, create,
};
use std::os::unix::fs::FileExt;
use support::Dir;

fn flush_state() -> FlushState {
    FlushState {
        mode: FlushMode::Following,
        heartbeat_at: -1,
        willing: true,
        proc_number: Some(u32::MAX),
        pid: Some(4711),
        queue_bytes: 1,
        queue_cost_ns: 2,
        due_cost_ns: 3,
        in_flight_bytes: 4,
        device_operations: Some(5),
        device_bytes: Some(6),
        rate_bytes: 7,
        target_ppm: Some(900_000),
        commit_mean_ns: Some(0),
        deadline_at: Some(i64::MIN),
        sweep_files: 8,
        sweep_ns: 9,
        os_dirty_bytes: Some(10),
        os_writeback_bytes: Some(u64::MAX),
    }
}

fn takeover() -> Takeover {
    Takeover {
        active: true,
        started_at: i64::MAX,
        unlogged: true,
        syncing: true,
    }
}

/// The entry of a section in the directory, and the section: first words of both.
fn section(dir: &Dir, name: &str) -> (u64, u64) {
    let bytes = std::fs::read(dir.file()).unwrap();
    let mut entries = (512..).step_by(12).zip(bytes[4096..].chunks(96));
    let named = |entry: &[u8]| entry[48..].starts_with(format!("{name}\0").as_bytes());
    let (at, entry) = entries.find(|(_, entry)| named(entry)).unwrap();
    let offset = u64::from_ne_bytes(entry[8..16].try_into().unwrap());
    (at, offset / 8)
}

/// Changes one word of a segment's file.
fn patch(dir: &Dir, word: u64, value: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(dir.file());
    let bytes = value.to_ne_bytes();
    file.unwrap().write_all_at(&bytes, word * 8).unwrap();
}

fn word_of<T: RecordType>(field: &str) -> u64 {
    let field = T::FIELDS.iter().find(|it| it.name == field).unwrap();
    field.word as u64
}

#[test]
fn what_the_flusher_and_the_checkpointer_say_is_read_as_it_was_written() {
    let dir = Dir::new();
    let segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    assert_eq!(view.flush_state().read(), Ok(FlushState::default()));
    assert_eq!(view.takeover().read(), Ok(Takeover::default()));
    // Who was never there is off, does not take over, and was never seen.
    let fresh = FlushState::default();
    let said = (fresh.mode, fresh.willing, fresh.heartbeat_at);
    assert_eq!(said, (FlushMode::Off, false, 0));
    assert!(!Takeover::default().active);

    segment.flush_state().write(&flush_state());
    segment.takeover().write(&takeover());
    assert_eq!(view.flush_state().read(), Ok(flush_state()));
    assert_eq!(view.takeover().read(), Ok(takeover()));
    // Nothing of the former record shines through where the new one has no value.
    segment.flush_state().write(&fresh);
    segment.takeover().write(&Takeover::default());
    assert_eq!(view.flush_state().read(), Ok(fresh));
    assert_eq!(view.takeover().read(), Ok(Takeover::default()));
}

#[test]
fn the_flushed_files_have_a_table_of_their_own() {
    let dir = Dir::new();
    let segment = dir.create();
    let table = segment.files_flushed();
    let placed = table.update(&FileKey::Path, "base/5/16384", 1, |stats| {
        stats.writeback_bytes = 8192;
        stats.os_dirty_bytes = Some(4096);
    });
    assert_eq!(placed, Placement::Inserted);
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    let found: Vec<_> = view.files_flushed().iter().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path.as_str(), "base/5/16384");
    let stats = &found[0].stats;
    assert_eq!(
        (stats.writeback_bytes, stats.os_dirty_bytes),
        (8192, Some(4096))
    );
    let others = view
        .files_synced()
        .iter()
        .chain(view.files_written().iter());
    assert_eq!(others.count(), 0);
    segment.reset(ResetTarget::Files, 1, 1).unwrap();
    assert_eq!(view.files_flushed().iter().count(), 0);
}

#[test]
fn the_catalog_says_who_writes_what() {
    use MetricKind::{Counter, Statistic};
    let dir = Dir::new();
    let segment = dir.create();
    let view = segment.view();
    let expected = [
        (
            Metric::WritebackBytes,
            "writeback_bytes",
            Counter,
            "flusher",
            "bytes",
        ),
        (
            Metric::WritebackCalls,
            "writeback_calls",
            Counter,
            "flusher",
            "count",
        ),
        (
            Metric::DeadlinesMissed,
            "deadlines_missed",
            Counter,
            "flusher",
            "count",
        ),
        (
            Metric::FlushFilesEvicted,
            "flush_files_evicted",
            Counter,
            "flusher",
            "count",
        ),
        (
            Metric::FlushRoundTime,
            "flush_round_time",
            Statistic,
            "flusher",
            "ns",
        ),
        (
            Metric::SyncPauseTime,
            "sync_pause_time",
            Counter,
            "checkpointer",
            "ns",
        ),
    ];
    for (metric, name, kind, group, unit) in expected {
        let found = view.metrics().find(|it| it.name == name).unwrap();
        assert_eq!(
            (found.kind, found.group, found.unit),
            (kind, group, unit),
            "{name}"
        );
        assert_eq!(metric.def().name, name);
    }
    let flusher = view.metrics().filter(|it| it.group == "flusher");
    assert_eq!(flusher.count(), 5);
    assert_eq!(view.slot_count(Group::Flusher), 1);
}

#[test]
fn the_commits_of_all_backends_are_added_up() {
    let dir = Dir::new();
    let backends = 4;
    let segment = dir.create();
    let window = CommitWindows::number(1_700_000_000_000_000);
    assert_eq!(segment.view().commits(window), Commits::default());
    for backend in 0..backends {
        for ns in [10, 20] {
            segment
                .commit_windows(backend)
                .record(window, ns + backend as u64);
        }
    }
    // One that has gone on to the next window, and one that there is no part for.
    segment.commit_windows(0).record(window + 4, 1000);
    segment.commit_windows(backends).record(window, 1_000_000);
    segment.commit_windows(usize::MAX).record(window, 1_000_000);
    let reader = attach(&dir.file()).unwrap();
    let found = reader.view().commits(window);
    assert_eq!((found.count, found.total_ns), (6, 6 + 6 * 15 + 6));
    assert_eq!(found.mean_ns(), Some(17));
    assert_eq!(reader.view().commits(window + 4).count, 1);
    assert_eq!(reader.view().commits(0), Commits::default());
    let last = reader.view().commit_windows(backends - 1).commits(window);
    assert_eq!(last.map(|it| it.count), Some(2));
    assert_eq!(reader.view().commit_windows(backends).commits(window), None);
}

#[test]
fn a_server_of_no_or_many_backends_has_a_segment() {
    let dir = Dir::new();
    for backends in [0, 1, 1000] {
        let config = Config {
            backends,
            ..dir.config()
        };
        let segment = create(&config).unwrap();
        let last = backends.max(1) as usize - 1;
        segment.commit_windows(last).record(1, 5);
        segment.commit_windows(last + 1).record(1, 5);
        assert_eq!(segment.view().commits(1).count, 1, "{backends}");
        segment.unlink().unwrap();
    }
}

#[test]
fn sections_of_a_wrong_shape_are_refused() {
    let dir = Dir::new();
    let _segment = dir.create();
    let good = std::fs::read(dir.file()).unwrap();
    // What a record or a part needs, without what makes the stride even.
    let shapes = [
        ("flush_state", FlushState::WORDS as u64),
        ("takeover", Takeover::WORDS as u64),
        ("commit_windows", 8),
        ("files_flushed", 31),
    ];
    for (name, words) in shapes {
        let (entry, _) = section(&dir, name);
        // Kind, stride, count, and the first letter of the name.
        let damage = [
            (entry, 1),
            (entry + 3, words - 1),
            (entry + 3, 0),
            (entry + 4, 0),
            (entry + 4, 1 << 40),
            (entry + 6, u64::from_ne_bytes(*b"xxxxxxxx")),
        ];
        for (word, value) in damage {
            std::fs::write(dir.file(), &good).unwrap();
            patch(&dir, word, value);
            let error = attach(&dir.file()).expect_err(name);
            let AttachError::Corrupt { what, .. } = &error else {
                panic!("{name}: {error:?}")
            };
            let said = what.contains(name) || what.contains("has an impossible shape");
            assert!(said, "{name}, word {word}: {what}");
        }
    }
    // Not whole sets.
    std::fs::write(dir.file(), &good).unwrap();
    let (entry, _) = section(&dir, "files_flushed");
    patch(&dir, entry + 4, 7);
    assert!(attach(&dir.file()).is_err());
}

#[test]
fn damaged_records_are_torn() {
    let dir = Dir::new();
    let segment = dir.create();
    let (_, state) = section(&dir, "flush_state");
    let (_, takeover) = section(&dir, "takeover");
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    // Sequence, presence, code, bool, small number.
    let damage = [
        (0, 1),
        (2, 0),
        (word_of::<FlushState>("mode"), 0),
        (word_of::<FlushState>("mode"), 5),
        (word_of::<FlushState>("willing"), 2),
        (word_of::<FlushState>("pid"), 1 << 32),
    ];
    for (word, value) in damage {
        segment.flush_state().write(&flush_state());
        assert!(view.flush_state().read().is_ok());
        patch(&dir, state + word, value);
        assert_eq!(view.flush_state().read(), Err(Torn), "word {word}");
    }
    for (word, value) in [
        (0, 7),
        (2, 0b0111),
        (word_of::<Takeover>("active"), u64::MAX),
    ] {
        segment.takeover().write(&self::takeover());
        assert!(view.takeover().read().is_ok());
        patch(&dir, takeover + word, value);
        assert_eq!(view.takeover().read(), Err(Torn), "word {word}");
    }
    // The writer mends all of it.
    segment.flush_state().write(&flush_state());
    assert_eq!(view.flush_state().read(), Ok(flush_state()));
}

fn read(reader: &Reader, window: u64) {
    let view = reader.view();
    let _ = (view.flush_state().read(), view.takeover().read());
    for window in [0, window, u64::MAX] {
        let found = view.commits(window);
        let _ = found.mean_ns();
        for backend in [0, 3, 4, usize::MAX] {
            let part = view.commit_windows(backend).commits(window);
            assert!(part.is_none_or(|it| backend < 4 && it.count <= found.count));
        }
    }
    assert!(view.files_flushed().iter().count() <= 16);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Whatever stands in the new sections, a reader reads it without a panic, a writer writes
    /// over it, and what was written is read.
    #[test]
    fn any_words_are_borne(
        content in prop::collection::vec(
            prop_oneof![any::<u64>(), 0..8u64, Just(u64::MAX)], 24 + 8 + 4 * 8,
        ),
        window in 1..u64::MAX,
    ) {
        let dir = Dir::new();
        let segment = dir.create();
        let (_, start) = section(&dir, "flush_state");
        // They follow each other, and are the last ones.
        prop_assert_eq!(section(&dir, "takeover").1, start + 24);
        prop_assert_eq!(section(&dir, "commit_windows").1, start + 32);
        for (at, value) in (start..).zip(content) {
            patch(&dir, at, value);
        }
        let reader = attach(&dir.file()).unwrap();
        read(&reader, window);
        segment.flush_state().write(&flush_state());
        segment.takeover().write(&takeover());
        prop_assert_eq!(reader.view().flush_state().read(), Ok(flush_state()));
        prop_assert_eq!(reader.view().takeover().read(), Ok(takeover()));
        for backend in 0..4 {
            segment.commit_windows(backend).record(window, 1);
            segment.commit_windows(backend).record(window ^ 4, 1);
            segment.commit_windows(backend).record(window, 7);
        }
        if window != 4 {
            let found = reader.view().commits(window);
            prop_assert_eq!((found.count, found.total_ns), (4, 28));
        }
    }
}
