//! Restores the statistics from the files, after core has lost or discarded them.
//!
//! *Runs in:* the collector, before it writes anything. *Reads and writes:* the files; entries of
//! the statistics, and the mark among them.
//! *Never:* loads a file that was not verified from the first byte to the last; loads an entry
//! twice.
//!
//! Whether core has lost them is told by a mark that lives among them: core writes it to
//! pgstat.stat at a clean stop and restores it with all others, so it is there if they are.
//!
//! 1. Mark "complete": nothing is to be restored.
//! 2. No mark: the statistics are new, unless they are older than this server's start. Then core has
//!    kept them, and ckptflush is new here.
//! 3. Mark "loading": somebody began. It says at which file, and how many of its entries are in;
//!    the file is the same, for nothing is written before all is loaded.
//!
//! The mark is counted up with each entry (collector.c), so an error, a SIGTERM, or a clean stop in
//! between lets the next collector go on there. A crash loses the mark with all the rest.
//! Should restoring be what crashes the server, the third attempt is the last one.
//!
//! Clients may be connected meanwhile and count, so entries are merged. A database's own entry comes
//! last: without it autovacuum passes the database by, and with it finds the rest.

use std::io;

use pgrx::prelude::*;
use statsfile::{Key as FileKey, Refused, Section, StatsFile, Subject, file_name};

use super::files::Directory;
use super::identity::{History, Place};
use super::kinds::{Kinds, Known};
use crate::error::Message;
use crate::pgshim::stats::{self, Key, Mark, What};
use crate::{process, server};

/// The number of the mark: nobody's function.
pub(super) const RESTORED: u64 = 0xCF10_CF10;

const LOADING: i64 = 1;
const COMPLETE: i64 = 2;

/// Subject of a mark for the file of the cluster, which is the last one.
const COMMON: i64 = 1 << 32;

const ATTEMPTS: u32 = 3;

/// Entries merged by one call.
const AT_ONCE: usize = 1024;

/// What has become of a file.
pub(super) enum Outcome {
    Loaded {
        entries: u64,
        /// How old the file is, in microseconds.
        age_us: i64,
    },
    /// It is damaged.
    Damaged(String),
    /// It is another server's, or of another time.
    Foreign(String),
    /// A standby has not yet come to where it was written.
    Early(String),
}

/// What is done next.
pub(super) enum State {
    /// There is nothing to be restored.
    Kept,
    /// These files, in this order.
    Restore(Vec<Subject>),
    /// Restoring has failed before, and is not tried again.
    GivenUp,
}

/// Find out what is to be done, and say so in the mark.
pub(super) fn begin(directory: &Directory) -> io::Result<State> {
    let mark = Mark::read(RESTORED);
    let from = match mark {
        Some(mark) if mark.state == COMPLETE => return Ok(State::Kept),
        Some(mark) => mark.subject,
        None if stats::counting_since() < server::started_at() => {
            complete();
            return Ok(State::Kept);
        }
        None => {
            let attempts = directory.attempts() + 1;
            let subjects = directory.list()?;
            if attempts > ATTEMPTS {
                end(directory);
                return Ok(State::GivenUp);
            }
            if !subjects.is_empty() {
                set_attempts(directory, attempts);
            }
            Mark {
                state: LOADING,
                ..Mark::default()
            }
            .write(RESTORED);
            0
        }
    };
    let subjects = directory.list()?.into_iter();
    Ok(State::Restore(
        subjects.filter(|subject| code(*subject) >= from).collect(),
    ))
}

/// All is loaded.
pub(super) fn end(directory: &Directory) {
    complete();
    set_attempts(directory, 0);
}

/// A disk that does not take the number, being full, can be read from: only the guard against a
/// restoring that crashes the server is missing then.
fn set_attempts(directory: &Directory, attempts: u32) {
    if let Err(error) = directory.set_attempts(attempts) {
        Message {
            code: PgSqlErrorCode::ERRCODE_IO_ERROR,
            primary: format!(
                "could not count attempts to restore ckptflush statistics files in \"{}\": {error}",
                directory.path().display()
            ),
            detail: Some("They are restored all the same.".to_owned()),
            hint: None,
        }
        .report(PgLogLevel::LOG);
    }
}

fn complete() {
    Mark {
        state: COMPLETE,
        ..Mark::default()
    }
    .write(RESTORED);
}

fn code(subject: Subject) -> i64 {
    match subject {
        Subject::Database(oid) => i64::from(oid),
        Subject::Common => COMMON,
    }
}

/// Load one file.
pub(super) fn file(
    directory: &Directory,
    subject: Subject,
    kinds: &Kinds,
    identity: &statsfile::Identity,
    history: &History,
) -> io::Result<Option<Outcome>> {
    let Some(bytes) = directory.read(subject)? else {
        return Ok(None);
    };
    let file = match verify(&bytes, subject, identity) {
        Ok(file) => file,
        Err(refused) if refused.is_damage() || matches!(refused, Refused::OtherSubject { .. }) => {
            return Ok(Some(Outcome::Damaged(refused.to_string())));
        }
        Err(refused) => return Ok(Some(Outcome::Foreign(refused.to_string()))),
    };
    match history.place(file.header()) {
        Place::Here => {}
        Place::NotYet(refused) => return Ok(Some(Outcome::Early(refused.to_string()))),
        Place::Elsewhere(refused) => return Ok(Some(Outcome::Foreign(refused.to_string()))),
    }
    let age_us = process::now_us() - process::unix_us(file.header().written_at);
    let mut merge = Merge::new(kinds, subject, RESTORED);
    file.sections().for_each(|section| merge.section(&section));
    Ok(Some(Outcome::Loaded {
        entries: merge.merged,
        age_us: age_us.max(0),
    }))
}

fn verify<'a>(
    bytes: &'a [u8],
    subject: Subject,
    identity: &statsfile::Identity,
) -> Result<StatsFile<'a>, Refused> {
    let file = StatsFile::verify(bytes)?;
    file.header().check_subject(subject)?;
    file.header().identity.check(identity)?;
    Ok(file)
}

/// Brings the entries of a file in, after those that the mark says are in already.
struct Merge<'k> {
    kinds: &'k Kinds,
    database: u32,
    mark: u64,
    skip: u64,
    merged: u64,
    keys: Vec<Key>,
    saved: Vec<u8>,
}

impl<'k> Merge<'k> {
    fn new(kinds: &'k Kinds, subject: Subject, mark: u64) -> Self {
        let known = Mark::read(mark).unwrap_or_default();
        let subject_code = code(subject);
        let skip = if known.subject == subject_code {
            u64::try_from(known.applied).unwrap_or(0)
        } else {
            Mark {
                state: LOADING,
                subject: subject_code,
                applied: 0,
            }
            .write(mark);
            0
        };
        Self {
            kinds,
            database: match subject {
                Subject::Database(oid) => oid,
                Subject::Common => 0,
            },
            mark,
            skip,
            merged: 0,
            keys: Vec::with_capacity(AT_ONCE),
            saved: Vec::new(),
        }
    }

    /// Is the next entry in already?
    fn is_in(&mut self) -> bool {
        let is_in = self.skip > 0;
        self.skip = self.skip.saturating_sub(1);
        is_in
    }

    fn section(&mut self, section: &Section<'_>) {
        let known = self.kinds.named(section.name);
        let known = known.filter(|known| known.kind.bytes == section.struct_len);
        let mut entries = section.entries();
        while let Some(entry) = entries.next_entry() {
            if self.is_in() {
                continue;
            }
            match (known, entry.key) {
                (Some(known), _) if known.kind.is_fixed => {
                    self.merged += u64::from(stats::add_fixed(&known.kind, entry.bytes));
                    self.count();
                }
                (Some(known), FileKey::Object(object)) => self.add(known, object, entry.bytes),
                (Some(known), FileKey::Name(name)) => self.add_slot(known, name, entry.bytes),
                // Of an extension that is not loaded any more.
                (None, _) => self.count(),
            }
        }
        if let Some(known) = known {
            self.flush(known);
        }
    }

    /// One entry that is none of the hash table is in.
    fn count(&self) {
        if let Some(mark) = Mark::read(self.mark) {
            Mark {
                applied: mark.applied + 1,
                ..mark
            }
            .write(self.mark);
        }
    }

    /// Only a slot that there is: by name, for its place may be another one.
    fn add_slot(&mut self, known: &Known, name: &[u8], bytes: &[u8]) {
        let index = std::ffi::CString::new(name)
            .ok()
            .and_then(|name| stats::slot_index(&name));
        match index {
            Some(index) => self.add(known, index, bytes),
            None => self.count(),
        }
    }

    fn add(&mut self, known: &Known, object: u64, bytes: &[u8]) {
        self.keys.push(Key {
            kind: known.kind.number,
            database: self.database,
            object,
        });
        self.saved.extend_from_slice(bytes);
        if self.keys.len() == AT_ONCE {
            self.flush(known);
        }
    }

    fn flush(&mut self, known: &Known) {
        let bytes = known.kind.bytes;
        self.merged += stats::merge(&self.keys, &self.saved, bytes, What::All, self.mark);
        self.keys.clear();
        self.saved.clear();
    }
}

/// Say in the log that a file is not used; damaged ones are put aside.
pub(super) fn report_damaged(directory: &Directory, subject: Subject, reason: &str) {
    let aside = directory.put_aside(subject);
    Message {
        code: PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        primary: format!(
            "ckptflush statistics file \"{}\" is damaged",
            directory.path().join(file_name(subject)).display()
        ),
        detail: Some(reason.to_owned()),
        hint: aside.is_ok().then(|| {
            "It was renamed to end in \".bad\", and its statistics start anew.".to_owned()
        }),
    }
    .report(PgLogLevel::LOG);
}
