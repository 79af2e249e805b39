//! A server that works for a few seconds: what its processes would leave in the segment.

use super::{Dir, alive, ckpttop, now_us};
use statseg::{
    CheckpointPhase, Command, FileKey, History, Metric, Outcome, Second, Segment, Stall, Text,
    WaitKey,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const SECOND: i64 = 1_000_000;
/// Seconds in the timeline when the recording begins.
pub const BEFORE: i64 = 30;
/// Commits of each second.
pub const COMMITS: u64 = 100;

/// The begin of the second of a moment.
pub fn second_of(at: i64) -> i64 {
    at - at.rem_euclid(SECOND)
}

fn phase(at: i64) -> CheckpointPhase {
    match at / SECOND % 10 {
        0..5 => CheckpointPhase::None,
        5..9 => CheckpointPhase::Writing,
        _ => CheckpointPhase::Syncing,
    }
}

fn push_second(segment: &Segment, at: i64) {
    let phase = phase(at);
    segment.timeline().push(&Second {
        at,
        checkpoint_id: (phase != CheckpointPhase::None).then_some(7),
        phase,
        commits: COMMITS,
        rollbacks: 1,
        active_backends: 2,
        longest_transaction_ns: Some(30_000_000),
        transaction_p99_ns: Some(5_000_000),
        buffers_written: Some(50),
        writeback_bytes: 400_000,
        os_dirty_bytes: Some(9_000_000),
        os_writeback_bytes: Some(1_000_000),
        wal_bytes: Some(2_000_000),
        device_write_ops: Some(500),
        device_write_bytes: Some(5_000_000),
        device_in_flight: Some(3),
        ..Second::default()
    });
}

/// What the monitor finds in a second of 100 looks.
fn push_waits(segment: &Segment, at: i64) {
    let rows = [
        ("checkpointer", Some(("Activity", "CheckpointerMain")), 100),
        ("client backend", None, 120),
        ("client backend", Some(("LWLock", "WALWrite")), 50),
        ("client backend", Some(("Client", "ClientRead")), 30),
    ];
    for (row, (kind, wait, samples)) in rows.into_iter().enumerate() {
        let key = WaitKey {
            backend_type: Text::new(kind),
            wait_type: wait.map(|(kind, _)| Text::new(kind)),
            wait_event: wait.map(|(_, event)| Text::new(event)),
        };
        assert!(segment.waits().add(row, &key, phase(at), samples));
    }
}

/// A tenth of a second of two clients.
fn push_commands(segment: &Segment, at: i64) {
    let phase = phase(at);
    for (command, ms) in [
        (Command::Parse, 5),
        (Command::Execute, 65),
        (Command::WalFlush, 50),
        (Command::Idle, 80),
    ] {
        segment
            .statistic(Metric::command(command, phase))
            .record(ms * 1_000_000);
    }
    for _ in 0..COMMITS / 10 {
        segment
            .statistic(Metric::transaction(phase))
            .record(4_000_000);
    }
}

/// A checkpoint that ended at this moment, and a stall in it.
fn push_checkpoint(segment: &Segment, at: i64) {
    segment
        .files_synced()
        .update(&FileKey::Path, "pg_xact/0000", 1, |stats| {
            stats.record_sync(70_000_000)
        });
    segment.history().push(&History {
        checkpoint_id: 6,
        outcome: Outcome::Completed,
        started_at: at - 2 * SECOND,
        ended_at: at,
        buffers_written: Some(1234),
        write_ns: Some(1_500_000_000),
        sync_ns: Some(400_000_000),
        longest_sync_ns: Some(70_000_000),
        longest_sync_file: Some(Text::new("pg_xact/0000")),
        ..History::default()
    });
    segment.stalls().push(&Stall {
        started_at: at - SECOND,
        stalled_ns: 350_000_000,
        phase: CheckpointPhase::Writing,
        active_backends: 2,
        commits_before: COMMITS,
        top_wait_type: Some(Text::new("LWLock")),
        top_wait_event: Some(Text::new("WALWrite")),
        ..Stall::default()
    });
}

/// Records a server that works for some seconds, with these further options.
pub fn record(dir: &Dir, segment: &Segment, seconds: i64, options: &[&str]) -> PathBuf {
    let file = dir.path().join("recording");
    let begun = now_us();
    let mut seen = second_of(begun);
    for back in (1..=BEFORE).rev() {
        push_second(segment, seen - back * SECOND);
    }
    alive(segment, begun);
    let mut child = ckpttop(&["record", file.to_str().unwrap()])
        .args(["-D", dir.path().to_str().unwrap()])
        .args(["--duration", &seconds.to_string()])
        .args(options)
        .spawn()
        .unwrap();
    let mut checkpoint_is_due = true;
    while child.try_wait().unwrap().is_none() {
        let now = now_us();
        alive(segment, now);
        push_commands(segment, now);
        if second_of(now) > seen {
            push_second(segment, seen);
            push_waits(segment, seen);
            seen = second_of(now);
        }
        if checkpoint_is_due && now - begun > SECOND * 3 / 2 {
            push_checkpoint(segment, now);
            checkpoint_is_due = false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(child.wait().unwrap().success());
    file
}

/// The report of a recording.
pub fn report(recording: &Path) -> String {
    let out = recording.with_extension("html");
    let arguments = ["report", recording.to_str().unwrap(), "-o"];
    super::stdout(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    std::fs::read_to_string(out).unwrap()
}

/// The figures of a report: their ids and what is in them.
pub fn figures(page: &str) -> Vec<(String, String)> {
    let parts = page.split("<figure id=\"").skip(1);
    parts
        .map(|part| {
            let (id, rest) = part.split_once('"').unwrap();
            let (content, _) = rest.split_once("</figure>").unwrap();
            (id.to_owned(), content.to_owned())
        })
        .collect()
}
