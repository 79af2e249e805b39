//! Writes files one batch at a time, and bears a disk that does not take them.
//!
//! *Runs in:* the collector. *Reads and writes:* the directory of the stats files.
//! *Never:* raises an error for a file that could not be written: the former one is kept, the
//! server goes on, and it is tried again later, less and less often. Never logs more than a line
//! a minute.

use std::io;
use std::time::{Duration, Instant};

use pgrx::prelude::*;
use statsfile::{Subject, file_name};

use super::files::Directory;
use crate::error::Message;
use crate::settings::{self, CollectorFsync};

/// After the first failure; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Between two lines in the log.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// The directory, and how it goes with it.
pub(super) struct Store {
    pub(super) directory: Directory,
    failures: u32,
    paused_until: Option<Instant>,
    complained_at: Option<Instant>,
    /// Something was renamed or removed since the directory was synced.
    is_dirty: bool,
    /// A file of this batch could not be written.
    has_failed: bool,
}

impl Store {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            directory,
            failures: 0,
            paused_until: None,
            complained_at: None,
            is_dirty: false,
            has_failed: false,
        }
    }

    /// Is it no use to try, just now?
    pub(super) fn is_paused(&self) -> bool {
        self.paused_until
            .is_some_and(|until| Instant::now() < until)
    }

    /// Write one file of the batch; false if that failed.
    pub(super) fn write(&mut self, subject: Subject, bytes: &[u8]) -> bool {
        let sync = settings::collector_fsync() == CollectorFsync::Batch;
        let written = self
            .directory
            .make()
            .and_then(|()| self.directory.write(subject, bytes, sync));
        match written {
            Ok(()) => {
                self.is_dirty = true;
                true
            }
            Err(error) => {
                self.failed(&file_name(subject), &error);
                false
            }
        }
    }

    /// Remove a file that is of no use any more.
    pub(super) fn remove(&mut self, subject: Subject) {
        match self.directory.remove(subject) {
            Ok(()) => self.is_dirty = true,
            Err(error) => self.failed(&file_name(subject), &error),
        }
    }

    /// End the batch.
    pub(super) fn end(&mut self) {
        let was_dirty = std::mem::take(&mut self.is_dirty);
        let sync = settings::collector_fsync() == CollectorFsync::Batch;
        if was_dirty
            && sync
            && let Err(error) = self.directory.sync()
        {
            self.failed(".", &error);
        }
        // That some were written before one was not is no sign of recovery.
        if !std::mem::take(&mut self.has_failed) && was_dirty {
            self.failures = 0;
            self.paused_until = None;
        }
    }

    fn failed(&mut self, name: &str, error: &io::Error) {
        let pause = FIRST_PAUSE * 2u32.saturating_pow(self.failures.min(10));
        self.failures += 1;
        self.has_failed = true;
        let now = Instant::now();
        self.paused_until = Some(now + pause.min(LONGEST_PAUSE));
        let lately = self
            .complained_at
            .is_some_and(|at| at.elapsed() < COMPLAIN_EVERY);
        if !lately {
            self.complained_at = Some(now);
            complain(&self.directory, name, error);
        }
    }
}

fn complain(directory: &Directory, name: &str, error: &io::Error) {
    Message {
        code: match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                PgSqlErrorCode::ERRCODE_DISK_FULL
            }
            _ => PgSqlErrorCode::ERRCODE_IO_ERROR,
        },
        primary: format!(
            "could not write ckptflush statistics file \"{}\": {error}",
            directory.path().join(name).display()
        ),
        detail: Some("The former file is kept, and it will be tried again.".to_owned()),
        hint: None,
    }
    .report(PgLogLevel::LOG);
}
