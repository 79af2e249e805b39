//! What several tests need: a directory of their own, and children of their own kind.
#![allow(dead_code, unreachable_pub)]

use statseg::{Config, Segment, create};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub const SYSTEM_IDENTIFIER: u64 = 7_123_456_789_012_345_678;

/// A directory that is removed with all its content.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let shm = Path::new("/dev/shm");
        let base = if shm.is_dir() {
            shm.to_owned()
        } else {
            std::env::temp_dir()
        };
        let path = base.join(format!("statseg-test.{}.{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of the segment's file.
    pub fn file(&self) -> PathBuf {
        self.0.join("segment")
    }

    /// A small segment in this directory.
    pub fn config(&self) -> Config {
        config(&self.0)
    }

    pub fn create(&self) -> Segment {
        create(&self.config()).unwrap()
    }

    /// Names of what is in the directory.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn config(directory: &Path) -> Config {
    Config {
        directory: directory.to_owned(),
        file_name: "segment".to_owned(),
        generation: 3,
        system_identifier: SYSTEM_IDENTIFIER,
        port: 5432,
        pg_version_num: 180_006,
        history: 4,
        files: 16,
        backends: 4,
        timeline: 60,
        require_tmpfs: false,
    }
}

/// How much a test does: so much by default, more by a variable of the environment.
pub fn amount(variable: &str, default: u64) -> u64 {
    let Ok(value) = std::env::var(variable) else {
        return default;
    };
    value
        .parse()
        .unwrap_or_else(|error| panic!("{variable}={value}: {error}"))
}

/// The variable that makes a test binary the child of a test: what it is to do.
const ROLE: &str = "STATSEG_TEST_ROLE";
/// The directory it is to do it in.
const DIRECTORY: &str = "STATSEG_TEST_DIRECTORY";

/// What this process is to do as a child, if it is one.
pub fn role() -> Option<(String, PathBuf)> {
    Some((
        std::env::var(ROLE).ok()?,
        std::env::var_os(DIRECTORY)?.into(),
    ))
}

/// This test binary again, as a child that runs the test `child` only.
pub fn command(role: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// A child that is killed when its test is over.
pub struct Running(pub Child);

impl Running {
    pub fn start(role: &str, directory: &Path) -> Self {
        Self(command(role, directory).spawn().unwrap())
    }

    /// Waits for a line of the child that begins like this, and returns the rest of it.
    pub fn wait_for(&mut self, begin: &str) -> String {
        use std::io::Read;
        let out = self.0.stdout.as_mut().unwrap();
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            assert_eq!(
                out.read(&mut byte).unwrap(),
                1,
                "child ended without \"{begin}\""
            );
            if byte[0] != b'\n' {
                line.push(byte[0]);
                continue;
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            // The test harness writes "test child ... " in front of the first line.
            if let Some((_, rest)) = text.split_once(begin) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
    }

    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
