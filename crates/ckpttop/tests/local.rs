//! What the viewer makes of segments: of living, hanging, ended servers, and of bad files.
#![allow(clippy::unwrap_used)]

mod support;

use statseg::{FileKey, History, Metric, Text};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use support::{Dir, Ticking, alive, ckpttop, now_us, run, stdout, text};

#[test]
fn one_server_is_found_and_shown() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    segment.counter(Metric::NumTimed).add(3);
    segment.statistic(Metric::FileSyncTime).record(2_500_000);
    segment.history().push(&History {
        checkpoint_id: 6,
        started_at: 1_763_715_600_123_456,
        sync_ns: Some(1_234_567),
        longest_sync_file: Some(Text::new("base/5/1259")),
        ..History::default()
    });
    let directory = dir.path().to_str().unwrap();
    let look: serde_json::Value =
        serde_json::from_str(&stdout(&["-D", directory, "--once", "--json"])).unwrap();
    assert_eq!(look["ckpttop"]["server_state"], "running");
    assert_eq!(look["ckpttop"]["port"], 5432);
    assert_eq!(look["ckpt_stats"]["num_timed"], 3);
    assert_eq!(look["ckpt_stats_progress"]["checkpoint_id"], 7);
    assert_eq!(look["ckpt_stats_progress"]["redo_lsn"], "1/23456789");
    assert_eq!(look["ckpt_stats_progress"]["bytes_done"], 250 * 8192);
    assert_eq!(
        look["ckpt_stats_progress"]["eta_at"],
        serde_json::Value::Null
    );
    assert_eq!(look["ckpt_stats_flush"]["state"], "following");
    let row = &look["ckpt_stats_history"][0];
    assert_eq!(row["started_at"], "2025-11-21T09:00:00.123456Z");
    assert_eq!(row["sync_time"], 1.234_567);
    let counters = look["ckpt_stats_counters"].as_array().unwrap();
    let sync = counters
        .iter()
        .find(|row| row["name"] == "file_sync_time")
        .unwrap();
    assert_eq!((&sync["unit"], &sync["p99"]), (&"ms".into(), &2.5.into()));
    // The same as text.
    let shown = stdout(&["-D", directory, "--once"]);
    assert!(
        shown.contains("\n  redo_lsn             | 1/23456789\n"),
        "{shown}"
    );
    let batch = stdout(&[
        "-D",
        directory,
        "--batch",
        "--count",
        "2",
        "--interval",
        "0.1",
    ]);
    assert_eq!(batch.matches("ckpt_stats_progress:").count(), 2);
}

#[test]
fn three_tables_of_files_are_one() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let key = |relfilenode| FileKey::Relation {
        tablespace: 1663,
        database: 5,
        relfilenode,
        fork: 1,
        segment: 2,
    };
    let (synced, written) = (segment.files_synced(), segment.files_written());
    synced.update(&key(100), "base/5/100_fsm.2", 1, |stats| {
        stats.record_sync(2_000_000)
    });
    synced.update(&key(101), "base/5/101_fsm.2", 2, |stats| {
        stats.record_sync(3_000_000)
    });
    synced.update(&FileKey::Path, "pg_xact/0000", 3, |stats| {
        stats.record_sync(1_000_000)
    });
    written.update(&key(100), "base/5/100_fsm.2", 1, |stats| {
        stats.buffers_written = 9
    });
    segment
        .files_flushed()
        .update(&key(100), "base/5/100_fsm.2", 1, |stats| {
            stats.writeback_bytes = 73_728;
            stats.os_dirty_bytes = Some(0);
        });
    let file = dir.file(5432);
    let out = stdout(&["--segment", file.to_str().unwrap(), "--once", "--json"]);
    let look: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = look["ckpt_stats_files"].as_array().unwrap();
    let paths: Vec<_> = rows
        .iter()
        .map(|row| row["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["base/5/101_fsm.2", "base/5/100_fsm.2", "pg_xact/0000"]
    );
    assert_eq!(
        serde_json::to_string(&rows[1]).unwrap(),
        "{\"database\":5,\"tablespace\":1663,\"relfilenode\":100,\"fork\":\"fsm\",\"segment\":2,\
         \"path\":\"base/5/100_fsm.2\",\"buffers_written\":9,\"writeback_bytes\":73728,\
         \"syncs\":1,\"sync_time\":2.0,\"min_sync_time\":2.0,\"max_sync_time\":2.0,\
         \"last_sync_time\":2.0,\"os_dirty_bytes\":0}"
    );
    assert!(rows[2]["fork"].is_null() && rows[2]["os_dirty_bytes"].is_null());
}

#[test]
fn a_server_that_hangs_is_shown_with_how_long() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us() + 1_000_000);
    let mut top = Ticking::start(&["-D", dir.path().to_str().unwrap()]);
    // Nobody writes any more. The segment was made now, so it takes three seconds and one.
    top.wait_for_state("running");
    let look = top.wait_for_state("still");
    let still = look["ckpttop"]["still_time"].as_f64().unwrap();
    assert!((3000.0..4000.0).contains(&still), "{still}");
    assert_eq!(look["ckpt_stats_progress"]["buffers_done"], 250);
    // The last state of the flusher, too, and not "off".
    assert_eq!(look["ckpt_stats_flush"]["state"], "following");
    alive(&segment, now_us());
    top.wait_for_state("running");
}

#[test]
fn a_restart_is_survived() {
    let dir = Dir::new();
    let first = dir.server(5432, 1);
    alive(&first, now_us());
    let mut top = Ticking::start(&["-D", dir.path().to_str().unwrap()]);
    top.wait_for("the first", |look| {
        look["ckpt_stats_info"]["generation"] == 1
    });
    // As the postmaster does it at a clean stop.
    first.mark_closed();
    let look = top.wait_for_state("waiting");
    assert!(look.get("ckpt_stats").is_none());
    first.unlink().unwrap();
    drop(first);
    top.wait_for("no file", |look| {
        look["ckpttop"]["waiting_for"]
            .as_str()
            .is_some_and(|why| why.contains("does not exist"))
    });
    let second = dir.server(5432, 2);
    alive(&second, now_us());
    top.wait_for("the second", |look| {
        look["ckpt_stats_info"]["generation"] == 2
    });
    // As after a crash of a backend: another file in the place of one that is still mapped.
    std::fs::remove_file(dir.file(5432)).unwrap();
    let third = dir.server(5432, 3);
    alive(&third, now_us());
    top.wait_for("the third", |look| {
        look["ckpt_stats_info"]["generation"] == 3
    });
}

#[test]
fn with_several_servers_the_user_chooses() {
    let dir = Dir::new();
    let segments = [dir.server(5432, 1), dir.server(5433, 1)];
    let directory = dir.path().to_str().unwrap();
    let why = failure(&["-D", directory, "--once"]);
    assert_eq!(
        why,
        "ckpttop: error: there are several running servers\n\
         ckpttop: detail: Their ports are 5432, 5433.\n\
         ckpttop: hint: Choose one with --port, or with --segment.\n"
    );
    let shown = stdout(&["-D", directory, "--port", "5433", "--once"]);
    assert!(shown.contains("| 5433\n"), "{shown}");
    drop(segments);
    // What is left of both does not count.
    let why = failure(&["-D", directory, "--once"]);
    assert!(
        why.contains("There are 2 segments of servers that are not running."),
        "{why}"
    );
}

#[test]
fn each_way_to_fail_says_so() {
    let dir = Dir::new();
    let directory = dir.path().to_str().unwrap();
    let why = failure(&["-D", directory, "--once"]);
    assert!(why.starts_with(&format!(
        "ckpttop: error: no stats segment found in \"{directory}\"\nckpttop: hint: Start a server"
    )));
    let why = failure(&["-D", "/nonexistent", "--once"]);
    assert!(why.contains("could not open directory \"/nonexistent\": No such file or directory\n"));

    let segment = dir.server(5432, 1);
    let file = dir.file(5432);
    let of_file = |patch: &dyn Fn(&std::fs::File)| {
        let other = dir.path().join("other");
        std::fs::copy(&file, &other).unwrap();
        patch(&std::fs::File::options().write(true).open(&other).unwrap());
        failure(&["--segment", other.to_str().unwrap(), "--once"])
    };
    let word = |at: u64, word: u64| {
        move |f: &std::fs::File| f.write_all_at(&word.to_ne_bytes(), at).unwrap()
    };
    let why = of_file(&word(8, 99));
    assert!(why.contains("has layout version 99, expected 1\n"), "{why}");
    assert!(why.contains("\nckpttop: hint: Use the viewer"), "{why}");
    let why = of_file(&|f| f.set_len(100_000).unwrap());
    assert!(
        why.contains("is truncated\nckpttop: detail: It has 100000 bytes"),
        "{why}"
    );
    let why = of_file(&word(0, 1));
    assert!(why.contains("is not a stats segment\n"), "{why}");
    let why = of_file(&word(40, 1 << 40));
    assert!(
        why.contains("is corrupt: the directory of sections is out of bounds\n"),
        "{why}"
    );
    let why = of_file(&word(8, 0));
    assert!(why.contains("is still being created\n"), "{why}");

    let link = dir.path().join("link");
    symlink(&file, &link).unwrap();
    let why = failure(&["--segment", link.to_str().unwrap(), "--once"]);
    assert!(
        why.contains("is a symbolic link, not a stats segment\n"),
        "{why}"
    );
    // A copy that nobody uses, whatever it says of itself.
    drop(segment);
    let why = of_file(&word(12 * 8, 1));
    assert!(why.contains("is not running\nckpttop: hint:"), "{why}");
}

#[test]
fn who_may_not_read_is_told_so() {
    let dir = Dir::new();
    let _segment = dir.server(5432, 1);
    let directory = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), directory).unwrap();
    let mut command = ckpttop(&["-D", dir.path().to_str().unwrap(), "--once"]);
    if rustix::process::geteuid().is_root() {
        // The user nobody must be able to reach the program.
        let program = dir.path().join("ckpttop");
        std::fs::copy(env!("CARGO_BIN_EXE_ckpttop"), &program).unwrap();
        command = std::process::Command::new(program);
        command
            .args(["-D", dir.path().to_str().unwrap(), "--once"])
            .uid(65534)
            .gid(65534);
    } else {
        let nothing = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(dir.file(5432), nothing).unwrap();
    }
    let done = command.output().unwrap();
    let why = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{why}");
    assert!(why.contains("could not open stats segment"), "{why}");
    assert!(
        why.contains("Permission denied\nckpttop: hint: Only the operating system user"),
        "{why}"
    );
}

/// Runs it, expects exit code 1 and nothing on standard output, and returns the message.
fn failure(arguments: &[&str]) -> String {
    let done = run(arguments);
    let why = text(&done.stderr);
    assert_eq!(
        (done.status.code(), done.stdout.len()),
        (Some(1), 0),
        "{why}"
    );
    why
}
