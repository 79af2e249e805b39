//! What several tests need: real segments in a directory of their own, and the viewer.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod play;

use serde_json::Value;
use statseg::{Config, FlushMode, FlushState, Progress, Segment, Text, Worker, WorkerState};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const SYSTEM_IDENTIFIER: u64 = 7_123_456_789_012_345_678;

/// A directory that is removed with all its content.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ckpttop-test.{}.{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The segment of a server with this port.
    pub fn server(&self, port: u16, generation: u64) -> Segment {
        statseg::create(&Config {
            directory: self.0.clone(),
            file_name: format!("ckptflush.{port}.{SYSTEM_IDENTIFIER}"),
            generation,
            system_identifier: SYSTEM_IDENTIFIER,
            port,
            pg_version_num: 170_011,
            history: 16,
            files: 16,
            backends: 4,
            timeline: 3600,
            require_tmpfs: false,
        })
        .unwrap()
    }

    pub fn file(&self, port: u16) -> PathBuf {
        self.0.join(format!("ckptflush.{port}.{SYSTEM_IDENTIFIER}"))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_micros()).unwrap()
}

/// What the workers of a server leave in a segment: signs of life of this moment, and a
/// checkpoint that is half done.
pub fn alive(segment: &Segment, at: i64) {
    let worker = |name: &str, pid| Worker {
        name: Text::new(name),
        pid: Some(pid),
        state: WorkerState::Running,
        last_active_at: Some(at),
        ..Worker::default()
    };
    segment.worker(0).write(&worker("ckptflush monitor", 11));
    segment.worker(1).write(&worker("ckptflush flusher", 12));
    segment.flush_state().write(&FlushState {
        mode: FlushMode::Following,
        heartbeat_at: at,
        queue_bytes: 12_345_678,
        ..FlushState::default()
    });
    segment.progress().write(&Progress {
        active: true,
        checkpoint_id: 7,
        phase: statseg::Phase::Writing,
        started_at: at - 5_000_000,
        redo_lsn: Some(0x1_2345_6789),
        buffers_total: Some(1000),
        buffers_done: Some(250),
        updated_at: at,
        ..Progress::default()
    });
}

/// With the signals as a terminal's user has them: tests that are run in the background inherit some
/// that are ignored, and ckpttop heeds that.
pub fn ckpttop(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command
        .args([
            "--default-signal=HUP,INT,TERM",
            env!("CARGO_BIN_EXE_ckpttop"),
        ])
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    ckpttop(arguments).output().unwrap()
}

/// Runs it, expects success, and returns what it printed.
pub fn stdout(arguments: &[&str]) -> String {
    let done = run(arguments);
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A viewer that prints JSON until it is dropped.
pub struct Ticking {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Ticking {
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = ckpttop(arguments);
        command
            .args(["--json", "--interval", "0.1"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next look for which this holds, within half a minute.
    pub fn wait_for(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + Duration::from_secs(30);
        let mut last = String::new();
        while Instant::now() < end {
            last.clear();
            assert!(
                self.lines.read_line(&mut last).unwrap() > 0,
                "it ended, waiting for: {what}"
            );
            let look: Value = serde_json::from_str(&last).unwrap();
            if holds(&look) {
                return look;
            }
        }
        panic!("waited in vain for: {what}; the last look was {last}");
    }

    pub fn wait_for_state(&mut self, state: &str) -> Value {
        self.wait_for(state, |look| look["ckpttop"]["server_state"] == state)
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program of this name among the paths, or the test fails and says what to install; with
/// CKPTTOP_SKIP_EXTERNAL=1 it is passed over.
pub fn external(name: &str, paths: &[&str], install: &str) -> Option<PathBuf> {
    let variable = format!("CKPTTOP_{}", name.to_uppercase());
    let named = std::env::var_os(&variable).map(PathBuf::from);
    let all = named.into_iter().chain(paths.iter().map(PathBuf::from));
    let found = all.into_iter().find(|path| path.exists());
    if found.is_none() {
        assert!(
            std::env::var_os("CKPTTOP_SKIP_EXTERNAL").is_some(),
            "there is no {name}: {install}, name it with {variable}, or set \
             CKPTTOP_SKIP_EXTERNAL=1 to leave out what needs it"
        );
        eprintln!("left out: there is no {name}");
    }
    found
}
