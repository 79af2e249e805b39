//! Restoring as the collector does it: file after file, with what is to be told about each.
//!
//! *Runs in:* the collector, until all is done. *Reads and writes:* as [`super::load`] does, and
//! the rows of `ckpt_stats_databases`.
//! *Never:* loads the file of a database that does not exist.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use pgrx::prelude::*;
use statseg::Metric;
use statsfile::{Identity, Subject, file_name};

use super::identity::History;
use super::load::{self, Outcome, State};
use super::round::Collector;
use super::validate::After;
use crate::error::Message;
use crate::{process, server};

/// A standby that has not come to where a file was written by then goes on without it.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Restoring {
    /// The files that are to come; `None`: not begun.
    files: Option<VecDeque<Subject>>,
    begun_at: Option<Instant>,
    databases: u64,
    entries: u64,
}

impl Restoring {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Go on; true when all is done.
    pub(super) fn step(&mut self, collector: &mut Collector, identity: &Identity) -> bool {
        match self.try_step(collector, identity) {
            Ok(done) => done,
            Err(error) => {
                // As good as no files: the server does without.
                cannot_read(collector.store.directory.path(), &error);
                load::end(&collector.store.directory);
                true
            }
        }
    }

    fn try_step(&mut self, collector: &mut Collector, identity: &Identity) -> io::Result<bool> {
        if self.files.is_none() {
            match load::begin(&collector.store.directory)? {
                State::Kept => return Ok(true),
                State::GivenUp => {
                    given_up();
                    return Ok(true);
                }
                State::Restore(files) => self.files = Some(files.into()),
            }
            self.begun_at = Some(Instant::now());
        }
        while let Some(subject) = self.files.as_ref().and_then(|files| files.front().copied()) {
            if !self.file(collector, identity, subject)? {
                return Ok(false);
            }
            if let Some(files) = &mut self.files {
                files.pop_front();
            }
        }
        load::end(&collector.store.directory);
        self.report(collector);
        Ok(true)
    }

    /// One file; false if it must wait.
    fn file(
        &mut self,
        collector: &mut Collector,
        identity: &Identity,
        subject: Subject,
    ) -> io::Result<bool> {
        let database = match subject {
            Subject::Database(oid) if !collector.known.contains_key(&oid) => {
                return Ok(self.is_late() || !server::in_recovery());
            }
            Subject::Database(oid) => Some(oid),
            Subject::Common => None,
        };
        let directory = &collector.store.directory;
        let history = History::now();
        let outcome = load::file(directory, subject, &collector.kinds, identity, &history);
        let outcome = outcome.unwrap_or_else(|error| {
            cannot_read(&directory.path().join(file_name(subject)), &error);
            Some(Outcome::Foreign(error.to_string()))
        });
        let refused = match outcome {
            None => None,
            Some(Outcome::Loaded { entries, age_us }) => {
                self.entries += entries;
                if let Some(oid) = database {
                    self.databases += 1;
                    restored(collector, oid, entries, age_us);
                }
                None
            }
            Some(Outcome::Early(_)) if !self.is_late() => return Ok(false),
            Some(Outcome::Early(reason) | Outcome::Foreign(reason)) => Some(reason),
            Some(Outcome::Damaged(reason)) => {
                load::report_damaged(directory, subject, &reason);
                Some(reason)
            }
        };
        if let Some(reason) = refused {
            let oid = database.unwrap_or(super::rows::SHARED);
            let reason = if database.is_none() {
                format!("{}: {reason}", file_name(subject))
            } else {
                reason
            };
            collector.rows.update(oid, |row| {
                row.refused_reason = Some(statseg::Text::new(&reason));
            });
        }
        Ok(true)
    }

    fn is_late(&self) -> bool {
        self.begun_at.is_some_and(|at| at.elapsed() > PATIENCE)
    }

    fn report(&self, collector: &Collector) {
        let took = self.begun_at.map(|at| at.elapsed()).unwrap_or_default();
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let gauge = collector.segment.gauge(Metric::CollectorRestoreTime);
        gauge.set(ns);
        if self.entries == 0 {
            return;
        }
        Message {
            code: PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
            primary: format!(
                "ckptflush restored {} statistics of {} databases",
                self.entries, self.databases
            ),
            detail: None,
            hint: None,
        }
        .report(PgLogLevel::LOG);
    }
}

/// Remember what was restored, and have the objects looked after.
fn restored(collector: &mut Collector, oid: u32, entries: u64, age_us: i64) {
    let now = process::now_us();
    collector.rows.update(oid, |row| {
        row.restored_at = Some(now);
        row.restored_entries = Some(entries);
        row.restored_age_ns = u64::try_from(age_us).ok().map(|us| us.saturating_mul(1000));
        row.dropped_entries = None;
        row.refused_reason = None;
    });
    collector.validation.add(oid, After::Recovery);
}

fn given_up() {
    Message {
        code: PgSqlErrorCode::ERRCODE_SYSTEM_ERROR,
        primary: "ckptflush does not restore statistics".to_owned(),
        detail: Some("The server went down in three attempts to do so.".to_owned()),
        hint: Some("Statistics start anew; this may be a bug worth reporting.".to_owned()),
    }
    .report(PgLogLevel::LOG);
}

fn cannot_read(path: &Path, error: &io::Error) {
    Message {
        code: PgSqlErrorCode::ERRCODE_IO_ERROR,
        primary: format!(
            "could not read ckptflush statistics files in \"{}\": {error}",
            path.display()
        ),
        detail: Some("What was not restored starts anew.".to_owned()),
        hint: None,
    }
    .report(PgLogLevel::LOG);
}
