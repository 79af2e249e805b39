//! Another server's files: the former primary's at promotion, or any by SQL.
//!
//! *Runs in:* the collector; a backend of a superuser. *Reads and writes:* files of a directory
//! that the administrator names, read only; entries of the statistics.
//! *Never:* asks where a file comes from: that is the administrator's affair. What it is, it is held
//! against.
//!
//! A standby counts its own scans, and knows nothing of the rows that the primary has changed: at
//! promotion every table has zero dead rows, and autovacuum is blind. The former primary's files, if
//! they can be had, say what it knew. Only what maintenance depends on is taken from them.
//!
//! That a server was a standby is remembered by a mark among its statistics, as in
//! [`super::load`]: so a collector that was not there at promotion finds it later, and a server that
//! crashes does not import twice.

use std::path::Path;

use pgrx::prelude::*;
use statsfile::{Identity, Key as FileKey, StatsFile, Subject, Translation, file_name};

use super::files::{self, Directory};
use super::identity::{History, Place};
use super::kinds::Kinds;
use super::round::Collector;
use super::validate::After;
use crate::error::Message;
use crate::pgshim::stats::{self, Key, Mark, What};
use crate::{server, settings};

/// The number of the mark "was a standby".
const STANDBY: u64 = 0xCF10_CF11;
const WAITING: i64 = 1;
const IMPORTED: i64 = 2;

/// Of no entry: nothing is counted.
const NO_MARK: u64 = 0;

/// Larger files are not read by SQL.
const MOST_BYTES: u64 = 1 << 30;

impl Collector {
    /// At promotion: take in the former primary's files.
    pub(super) fn import(&mut self, identity: &Identity) {
        let state = Mark::read(STANDBY).map(|mark| mark.state);
        if server::in_recovery() {
            if state != Some(WAITING) {
                mark(WAITING);
            }
            return;
        }
        if state != Some(WAITING) {
            return;
        }
        // Before: whatever happens, never twice.
        mark(IMPORTED);
        let Some(path) = settings::collector_import() else {
            return;
        };
        let directory = Directory::at(&path);
        match directory.list() {
            Ok(subjects) => self.import_all(identity, &directory, &subjects),
            Err(error) => not_imported(&path, &error.to_string()),
        }
    }

    fn import_all(&mut self, identity: &Identity, directory: &Directory, subjects: &[Subject]) {
        let history = History::now();
        let (mut entries, mut databases) = (0, 0);
        for subject in subjects {
            let Subject::Database(oid) = *subject else {
                continue;
            };
            if !self.known.contains_key(&oid) {
                continue;
            }
            match import_one(directory, *subject, &self.kinds, identity, &history) {
                Ok(merged) => {
                    entries += merged;
                    databases += 1;
                    // Written anew in this round, with all that came; then its objects are looked
                    // up, for some may have been dropped since.
                    self.keys.forget();
                    self.watch.clear();
                    if let Some(known) = self.known.get_mut(&oid) {
                        known.filed = None;
                    }
                    self.validation.add(oid, After::Recovery);
                    self.rows.update(oid, |row| {
                        row.restored_at = Some(crate::process::now_us());
                        row.restored_entries = Some(merged);
                        row.dropped_entries = None;
                    });
                }
                Err(reason) => not_imported(&directory.path().join(file_name(*subject)), &reason),
            }
        }
        Message {
            code: PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
            primary: format!(
                "ckptflush imported {entries} statistics of {databases} databases from \"{}\"",
                directory.path().display()
            ),
            detail: None,
            hint: None,
        }
        .report(PgLogLevel::LOG);
    }
}

fn mark(state: i64) {
    Mark {
        state,
        ..Mark::default()
    }
    .write(STANDBY);
}

/// The file of the former primary: the same cluster, and of our history, for later than that it
/// has done what never happened here.
fn import_one(
    directory: &Directory,
    subject: Subject,
    kinds: &Kinds,
    identity: &Identity,
    history: &History,
) -> Result<u64, String> {
    let bytes = directory.read(subject).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or("There is no such file.")?;
    let file = StatsFile::verify(&bytes).map_err(|refused| refused.to_string())?;
    let header = file.header();
    let written_by = Identity {
        control_inode: identity.control_inode,
        ..header.identity
    };
    header
        .check_subject(subject)
        .and_then(|()| written_by.check(identity))
        .map_err(|refused| refused.to_string())?;
    match history.place(header) {
        Place::Here => {}
        Place::NotYet(refused) | Place::Elsewhere(refused) => return Err(refused.to_string()),
    }
    let Subject::Database(database) = subject else {
        return Ok(0);
    };
    Ok(merge(&file, kinds, database, What::Material))
}

/// Merge the entries of a file into those of a database. The structs are translated by the names
/// of their fields, which for a file of this very major changes nothing.
fn merge(file: &StatsFile<'_>, kinds: &Kinds, database: u32, what: What) -> u64 {
    let is_own = file.header().identity.format_id == server::stats_format();
    let mut merged = 0;
    for section in file.sections() {
        let known = kinds.named(section.name);
        let Some(known) = known.filter(|known| !known.is_common) else {
            continue;
        };
        let layout = known.layout();
        // Without names only structs of the same server version are known.
        if layout.fields.is_empty() && !is_own {
            continue;
        }
        let translation = Translation::between(section.fields(), layout.fields);
        let mut bytes = vec![0; layout.struct_len];
        let mut entries = section.entries();
        while let Some(entry) = entries.next_entry() {
            let FileKey::Object(object) = entry.key else {
                continue;
            };
            if layout.fields.is_empty() {
                if entry.bytes.len() != bytes.len() {
                    continue;
                }
                bytes.copy_from_slice(entry.bytes);
            } else {
                translation.apply(entry.bytes, &mut bytes);
            }
            let key = Key {
                kind: known.kind.number,
                database,
                object,
            };
            merged += stats::merge(&[key], &bytes, layout.struct_len, what, NO_MARK);
        }
    }
    merged
}

/// `ckpt_stats_restore_database`: merge a file, of any major and any cluster, into the statistics
/// of a database. How many entries that were, or why not.
pub(crate) fn restore_database(database: u32, path: &Path) -> Result<u64, String> {
    let bytes = files::read(path, MOST_BYTES).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or("There is no such file.")?;
    let file = StatsFile::verify(&bytes).map_err(|refused| refused.to_string())?;
    match file.header().subject {
        Subject::Database(0) if database != 0 => {
            Err("The file holds the statistics of shared relations.".to_owned())
        }
        Subject::Common => Err("The file holds the statistics of the cluster.".to_owned()),
        Subject::Database(_) => Ok(merge(&file, &Kinds::new(), database, What::All)),
    }
}

fn not_imported(path: &Path, reason: &str) {
    Message {
        code: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        primary: format!(
            "ckptflush did not import statistics from \"{}\"",
            path.display()
        ),
        detail: Some(reason.to_owned()),
        hint: None,
    }
    .report(PgLogLevel::LOG);
}
