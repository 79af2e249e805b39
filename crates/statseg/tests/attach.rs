//! Attaching: every way it fails, and that no content of a file makes it crash.
//!
//! `CKPTFLUSH_FUZZED_SEGMENTS` says for how many contents. Documented in CONTRIBUTING.md.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use proptest::prelude::*;
use statseg::{
    AttachError, CheckpointPhase, Event, History, Reader, Second, SegmentState, Stall, View,
    WaitKey, Worker, attach,
};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use support::{Dir, Running};

#[test]
fn child() {
    let Some((role, directory)) = support::role() else {
        return;
    };
    match role.as_str() {
        "live" => {
            let segment = statseg::create(&support::config(&directory)).unwrap();
            println!("created {}", segment.bytes());
            // Until the parent closes the pipe or kills us.
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "attach" => println!("attached {:?}", attach(&directory.join("segment")).err()),
        other => panic!("unknown role {other}"),
    }
}

fn error(path: &Path) -> AttachError {
    let error = attach(path).expect_err("attached");
    let message = error.to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    assert!(
        !message.ends_with('.') && !message.contains("os error"),
        "{message}"
    );
    for text in error.detail().into_iter().chain(error.hint()) {
        assert!(text.ends_with('.'), "{text}");
    }
    error
}

/// Changes one word of a file.
fn patch(path: &Path, word: u64, value: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&value.to_ne_bytes(), word * 8).unwrap();
}

#[test]
fn a_new_segment_says_what_it_is() {
    let dir = Dir::new();
    let segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    assert_eq!(view.layout_version(), statseg::LAYOUT_VERSION);
    assert_eq!(view.generation(), 3);
    assert_eq!(view.bytes(), statseg::required_bytes(&dir.config()));
    assert_eq!(view.bytes(), std::fs::metadata(dir.file()).unwrap().len());
    assert_eq!(view.system_identifier(), support::SYSTEM_IDENTIFIER);
    assert_eq!((view.port(), view.pg_version_num()), (5432, 180_006));
    assert_eq!(view.postmaster_pid(), u64::from(std::process::id()));
    assert_eq!(view.created_at(), segment.created_at());
    assert_eq!(view.state(), Some(SegmentState::Live));
    segment.mark_closed();
    assert_eq!(view.state(), Some(SegmentState::Closed));
    assert!(reader.is_in_place());
    segment.unlink().unwrap();
    assert!(!reader.is_in_place());
    // Who has it mapped keeps it.
    assert_eq!(view.generation(), 3);
    assert!(reader.check_size().is_ok());
}

#[test]
fn no_file() {
    let dir = Dir::new();
    let error = error(&dir.file());
    assert!(matches!(error, AttachError::NotFound { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("preloads"));
}

#[test]
fn not_a_regular_file() {
    let dir = Dir::new();
    dir.create();
    let link = dir.path().join("link");
    symlink(dir.file(), &link).unwrap();
    assert!(matches!(error(&link), AttachError::Symlink { .. }));
    assert!(matches!(error(dir.path()), AttachError::NotRegular { .. }));
    let pipe = dir.path().join("pipe");
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
    // Must not wait for somebody to write into it either.
    assert!(matches!(error(&pipe), AttachError::NotRegular { .. }));
}

#[test]
fn no_permission() {
    use std::os::unix::process::CommandExt;
    let dir = Dir::new();
    dir.create();
    if !rustix::process::geteuid().is_root() {
        let none = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(dir.file(), none).unwrap();
        assert!(matches!(error(&dir.file()), AttachError::Permission { .. }));
        return;
    }
    // Root may read everything, so somebody else has to try.
    match support::command("attach", dir.path())
        .uid(65534)
        .gid(65534)
        .spawn()
    {
        Err(e) => eprintln!("skipped: this binary cannot be run by another user: {e}"),
        Ok(child) => {
            let said = Running(child).wait_for("attached ");
            assert!(said.contains("Permission"), "{said}");
        }
    }
}

#[test]
fn other_content() {
    let dir = Dir::new();
    std::fs::write(dir.file(), "").unwrap();
    assert!(matches!(
        error(&dir.file()),
        AttachError::BeingCreated { .. }
    ));
    std::fs::write(dir.file(), "CKPTS").unwrap();
    assert!(matches!(
        error(&dir.file()),
        AttachError::NotASegment { .. }
    ));
    std::fs::write(dir.file(), vec![b'x'; 10_000]).unwrap();
    assert!(matches!(
        error(&dir.file()),
        AttachError::NotASegment { .. }
    ));
    std::fs::write(dir.file(), statseg::MAGIC).unwrap();
    assert!(matches!(
        error(&dir.file()),
        AttachError::BeingCreated { .. }
    ));
}

#[test]
fn other_versions() {
    let dir = Dir::new();
    let _segment = dir.create();
    patch(&dir.file(), 1, 0);
    assert!(matches!(
        error(&dir.file()),
        AttachError::BeingCreated { .. }
    ));
    patch(&dir.file(), 1, 99);
    let error = error(&dir.file());
    assert!(
        matches!(
            error,
            AttachError::OtherVersion {
                found: 99,
                known: 1,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .ends_with("has layout version 99, expected 1"),
        "{error}"
    );
}

#[test]
fn truncated() {
    let dir = Dir::new();
    let segment = dir.create();
    let reader = attach(&dir.file()).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(dir.file())
        .unwrap();
    for size in [segment.bytes() - 1, 4096, 4095, 16] {
        file.set_len(size).unwrap();
        let found = error(&dir.file());
        let AttachError::Truncated { bytes, .. } = found else {
            panic!("{found:?}")
        };
        assert_eq!(bytes, size);
        assert!(found.detail().unwrap().contains(&size.to_string()));
        assert!(matches!(
            reader.check_size(),
            Err(AttachError::Truncated { .. })
        ));
    }
}

#[test]
fn corrupt_directories() {
    let dir = Dir::new();
    let _segment = dir.create();
    let good = std::fs::read(dir.file()).unwrap();
    // Word of the header, a wrong value, and what is said about it.
    let cases = [
        (3, 4095, "size"),
        (3, 4100, "size"),
        (4, u64::MAX, "directory of sections"),
        (5, 0, "directory of sections"),
        (5, 4097, "directory of sections"),
        (6, u64::MAX / 256, "directory of metrics"),
        (7, 1 << 40, "directory of metrics"),
        (7, 4096, "overlap"),
        // The first section: offset, bytes, stride, count, name.
        (512 + 1, 0, "section 0 is out of bounds"),
        (512 + 2, u64::MAX - 7, "section 0 is out of bounds"),
        (512 + 3, u64::MAX / 2, "section 0 has an impossible shape"),
        (512 + 4, u64::MAX, "section 0 has an impossible shape"),
        (512 + 6, u64::MAX, "section 0 has an impossible shape"),
    ];
    for (word, value, says) in cases {
        std::fs::write(dir.file(), &good).unwrap();
        patch(&dir.file(), word, value);
        let error = error(&dir.file());
        let AttachError::Corrupt { what, .. } = &error else {
            panic!("{word}: {error:?}")
        };
        assert!(what.contains(says), "word {word}: {what}");
    }
}

#[test]
fn unknown_sections_and_metrics_are_skipped() {
    let dir = Dir::new();
    let segment = dir.create();
    let metrics_offset = {
        let bytes = std::fs::read(dir.file()).unwrap();
        u64::from_ne_bytes(bytes[7 * 8..8 * 8].try_into().unwrap())
    };
    segment.counter(statseg::Metric::NumDone).add(5);
    let all = attach(&dir.file()).unwrap().view().metrics().count();
    // A kind of metric that a later version has.
    patch(&dir.file(), metrics_offset / 8, 77);
    let reader = attach(&dir.file()).unwrap();
    let view = reader.view();
    assert_eq!(view.metrics().count(), all - 1);
    assert_eq!(
        view.read(statseg::Metric::NumTimed),
        statseg::Value::default()
    );
    assert_eq!(view.read(statseg::Metric::NumDone).count, 5);
    // The section of the checkpointer's slots is of an unknown kind: its metrics have no place.
    patch(&dir.file(), 512, 78);
    assert!(matches!(error(&dir.file()), AttachError::Corrupt { .. }));
}

#[test]
fn whether_the_server_is_alive() {
    let dir = Dir::new();
    let mut server = Running::start("live", dir.path());
    server.wait_for("created ");
    let reader = attach(&dir.file()).unwrap();
    assert!(reader.server_is_alive().unwrap());
    assert!(reader.server_is_alive().unwrap());
    server.kill();
    assert!(!reader.server_is_alive().unwrap());
    // The probe has left no lock behind.
    let segment = dir.create();
    assert!(!reader.is_in_place());
    assert!(attach(segment.path()).unwrap().server_is_alive().unwrap());
}

/// Reads all there is.
fn read_everything(reader: &Reader) {
    reader.check_size().unwrap();
    let view = reader.view();
    for metric in view.metrics() {
        assert!(metric.name.len() <= 48 && metric.unit.len() <= 16 && metric.help.len() <= 144);
        let value = view.value(&metric);
        for q in [0.0, 0.5, 0.99, 1.0] {
            let _ = (value.percentile(q), value.mean());
        }
    }
    for metric in statseg::Metric::ALL {
        let _ = view.read(*metric);
    }
    let _ = (
        view.progress().read(),
        view.sync_state().read(),
        view.monitor_state().read(),
    );
    let _ = (view.flush_state().read(), view.takeover().read());
    let workers: Vec<_> = (0..=view.worker_count())
        .map(|i| view.worker(i).read())
        .collect();
    assert!(workers.last().unwrap().is_err());
    let _: Vec<(u64, Event)> = view.events().newest(usize::MAX).collect();
    let _: Vec<(u64, History)> = view.history().newest(usize::MAX).collect();
    for id in [0, 1, 64, 65, u64::MAX] {
        let _ = (view.events().get(id), view.history().get(id));
    }
    let files = view
        .files_synced()
        .iter()
        .chain(view.files_written().iter());
    let _ = files.chain(view.files_flushed().iter()).count();
    for window in [0, 1, 97, u64::MAX] {
        let _ = view.commits(window).mean_ns();
        let _ = view.commit_windows(usize::MAX).commits(window);
    }
    let _ = (view.reset_times(), view.state(), view.created_at());
    read_observed(&view);
}

/// What was seen of the backends.
fn read_observed(view: &View<'_>) {
    for metric in statseg::Metric::ALL {
        let _ = view.recorded(*metric);
    }
    let _ = (view.checkpoint_phase(), view.stall().read(), view.ended());
    let _: Vec<_> = view.timeline().newest(usize::MAX).collect();
    let _: Vec<_> = view.stalls().newest(usize::MAX).collect();
    let _ = view.waits().iter().count();
    for second in [0, 9, u64::MAX] {
        let _ = view.longest_transaction(second);
        let _ = view.activity(usize::MAX).longest(second);
    }
    let _ = view.activity(0).wrote_at();
}

/// A segment with something in each section.
fn image() -> Vec<u8> {
    let dir = Dir::new();
    let segment = dir.create();
    for n in 0..100 {
        segment.counter(statseg::Metric::NumTimed).add(n);
        segment
            .statistic(statseg::Metric::FileSyncTime)
            .record(n * n);
        segment.events().push(&Event::default());
        segment.history().push(&History::default());
        segment
            .files_synced()
            .update(&statseg::FileKey::Path, &n.to_string(), n, |_| {});
        segment.commit_windows(n as usize % 4).record(n, n);
        segment
            .activity(n as usize % 4)
            .committed(n.cast_signed() * 1_000_000, n, true);
        segment.timeline().push(&Second::default());
        segment.stalls().push(&Stall::default());
        let row = WaitKey {
            backend_type: "client backend".into(),
            wait_type: None,
            wait_event: None,
        };
        segment
            .waits()
            .add(n as usize, &row, CheckpointPhase::None, 1);
    }
    segment.worker(0).write(&Worker {
        name: "monitor".into(),
        ..Worker::default()
    });
    std::fs::read(dir.file()).unwrap()
}

fn any_word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..64u64,
        (0..64u32).prop_map(|bit| 1 << bit),
        (0..1u64 << 20).prop_map(|n| n * 8),
        (0..1u64 << 12).prop_map(|n| n * 64),
        (0..64u64).prop_map(|n| u64::MAX - n),
    ]
}

fn cases() -> u32 {
    u32::try_from(support::amount("CKPTFLUSH_FUZZED_SEGMENTS", 400)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..Default::default() })]

    /// Whatever stands in the words, attaching gives an error or a reader that reads.
    #[test]
    fn no_content_crashes_a_reader(
        // Header and directories, most of all their used parts.
        patches in prop::collection::vec((prop_oneof![0..16usize, 512..1500usize], any_word()), 0..6),
        anywhere in prop::collection::vec((0..1usize << 14, any_word()), 0..20),
        length in prop::option::weighted(0.1, 0..100_000usize),
    ) {
        static IMAGE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut bytes = IMAGE.get_or_init(image).clone();
        for (word, value) in patches.into_iter().chain(anywhere) {
            let at = word % (bytes.len() / 8) * 8;
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        // The version stays, or nearly every case would end there.
        bytes[8..16].copy_from_slice(&1u64.to_ne_bytes());
        bytes.truncate(length.unwrap_or(usize::MAX));
        let dir = Dir::new();
        std::fs::write(dir.file(), bytes).unwrap();
        match attach(&dir.file()) {
            Ok(reader) => read_everything(&reader),
            Err(error) => {
                let _ = (error.to_string(), error.detail(), error.hint());
            }
        }
    }
}

#[test]
fn the_image_of_the_test_above_is_read() {
    let dir = Dir::new();
    std::fs::write(dir.file(), image()).unwrap();
    let reader = attach(&dir.file()).unwrap();
    read_everything(&reader);
    let view = reader.view();
    assert_eq!(view.read(statseg::Metric::FileSyncTime).count, 100);
    assert_eq!(view.history().newest(10).count(), 4);
    assert_eq!(view.files_synced().iter().count(), 16);
    assert_eq!(view.commits(97).total_ns, 97);
    assert!(!reader.server_is_alive().unwrap());
}
