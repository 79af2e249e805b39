//! The collector's round: what has changed, and into the files with it.
//!
//! *Runs in:* the collector. *Reads and writes:* the statistics, through the shim; the files; the
//! segment's `collector_state`, `databases` and `database_requests`.
//! *Never:* writes before all that was to be restored is restored; takes more of the time than a
//! twentieth.
//!
//! What a cycle does with the databases is in [`super::cycle`].
//!
//! ```text
//!   pg_database ──► known ── signatures of the databases' entries ──► todo
//!                                                                  │ Check    │ Write
//!                      keys (searched rarely) ──► capture ──► material? ──► encode ──► store
//! ```

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use statseg::{CollectorState, Segment};
use statsfile::{Envelope, Identity, Subject};

use super::capture::Capture;
use super::files::Directory;
use super::identity;
use super::keys::Keys;
use super::kinds::Kinds;
use super::known::{Filed, Known, Watch};
use super::restoring::Restoring;
use super::rows::{Rows, SHARED};
use super::store::Store;
use super::validate::{After, Validation};
use crate::pgshim::stats::{Dropped, Key, catalog};
use crate::pgshim::{self, stats};
use crate::{process, server, settings};

/// A round that took so long is followed by a pause so many times as long, at least.
const PAUSE: u32 = 20;

/// Pauses while there is something to wait for: a standby's replay, a worker's end.
const SOON: Duration = Duration::from_millis(100);

/// Nothing to do until a setting is changed, which wakes.
const OFF: Duration = Duration::from_secs(3600);

/// The collector.
pub(crate) struct Collector {
    pub(super) segment: &'static Segment,
    pub(super) state: CollectorState,
    pub(super) kinds: Kinds,
    pub(super) keys: Keys,
    pub(super) capture: Capture,
    pub(super) store: Store,
    pub(super) rows: Rows,
    pub(super) known: BTreeMap<u32, Known>,
    pub(super) watch: Watch,
    /// All of pg_database is in `known`, as it was when it was read last.
    pub(super) is_complete: bool,
    /// Entries of databases that are gone, to which somebody referred when they were to be dropped.
    in_use: Vec<Key>,
    pub(super) validation: Validation,
    restoring: Restoring,
    pub(super) generation: u64,
    next_round: Instant,
    pub(super) next_check: Instant,
    pub(super) common_at: Instant,
}

impl Collector {
    pub(crate) fn start(segment: &'static Segment) -> Self {
        catalog::watch_databases();
        let state = CollectorState {
            proc_number: Some(pgshim::my_proc_number()),
            pid: Some(process::pid()),
            loaded: false,
        };
        segment.collector_state().write(&state);
        let now = Instant::now();
        let rows = Rows::start(segment);
        let mut validation = Validation::new();
        for (database, restored_at) in rows.unvalidated() {
            validation.add(database, After::restored_at(restored_at));
        }
        Self {
            segment,
            state,
            kinds: Kinds::new(),
            keys: Keys::new(),
            capture: Capture::new(),
            store: Store::new(Directory::own()),
            rows,
            known: BTreeMap::new(),
            watch: Watch::default(),
            is_complete: false,
            in_use: Vec::new(),
            validation,
            restoring: Restoring::new(),
            generation: 0,
            next_round: now,
            next_check: now,
            common_at: now,
        }
    }

    /// Look once, and say when to look again.
    pub(crate) fn round(&mut self) -> Duration {
        if !settings::collector() {
            self.suspend();
            return OFF;
        }
        self.answer(true);
        let Ok(identity) = identity::own() else {
            return SOON; // the directory is gone, or will be readable again
        };
        if !self.state.loaded {
            self.look_at_databases();
            if !self.restore(&identity) {
                return SOON;
            }
        }
        let requests = self.rows.open();
        if Instant::now() >= self.next_round || !requests.is_empty() {
            let begin = Instant::now();
            self.look_at_databases();
            self.drop_rest();
            self.import(&identity);
            self.collect(&identity, &requests);
            let pause = (begin.elapsed() * PAUSE).max(settings::collector_interval());
            self.next_round = begin + pause;
        }
        let validating = self.validation.step(&self.known, &self.rows);
        let pause = self.next_round.saturating_duration_since(Instant::now());
        validating.map_or(pause, |soon| pause.min(soon))
    }

    /// Switched off. What was not written then is found changed later.
    pub(crate) fn suspend(&mut self) {
        self.answer(false);
        self.watch.release();
        self.next_round = Instant::now();
    }

    /// Tell who has asked, or may ask, whether there will be an answer: without a pid there is none
    /// ([`super::request`]).
    fn answer(&mut self, will: bool) {
        let pid = will.then(process::pid);
        if self.state.pid != pid {
            self.state.pid = pid;
            self.publish();
        }
    }

    /// After an error: whatever it interrupted begins anew.
    pub(crate) fn recover(&mut self) {
        server::abort_transaction();
        self.capture = Capture::new();
    }

    fn publish(&self) {
        self.segment.collector_state().write(&self.state);
    }

    /// Restore what there is to be restored; false while that is not done.
    fn restore(&mut self, identity: &Identity) -> bool {
        let mut restoring = std::mem::take(&mut self.restoring);
        let done = restoring.step(self, identity);
        self.restoring = restoring;
        if done {
            self.adopt(identity);
            self.state.loaded = true;
            self.publish();
        }
        done
    }

    /// Take the files as they are for written, so that only what changes is written again.
    fn adopt(&mut self, identity: &Identity) {
        self.watch.clear();
        self.store.directory.remove_temporary();
        for subject in self.store.directory.list().unwrap_or_default() {
            let head = self.store.directory.read_head(subject).ok().flatten();
            let Some(Ok(envelope)) = head.map(|bytes| Envelope::read(&bytes)) else {
                continue;
            };
            let header = envelope.header;
            self.generation = self.generation.max(header.generation);
            let Subject::Database(oid) = subject else {
                continue;
            };
            let Some(known) = self.known.get_mut(&oid) else {
                self.store.remove(subject);
                continue;
            };
            if header.subject != subject || header.identity.check(identity).is_err() {
                continue;
            }
            known.filed = Some(Filed {
                signature: header.signature,
                rows: None,
                material: header.material_signature,
                generation: header.generation,
                lsn: header.flush_lsn,
                at: Instant::now(),
            });
            let at = process::unix_us(header.written_at);
            self.rows.update(oid, |row| {
                row.size_bytes = Some(envelope.file_bytes());
                row.entries = Some(envelope.entries);
                row.last_write_at = Some(at);
            });
        }
        self.store.end();
    }

    /// Keep up with pg_database. The entries of a database that is gone are dropped: core has
    /// done that where DROP DATABASE ran, and has not where it was replayed.
    pub(super) fn look_at_databases(&mut self) {
        if !catalog::databases_changed() && self.is_complete {
            return;
        }
        // An error in what follows must not be the end of it: the change is not told again.
        self.is_complete = false;
        self.watch.clear();
        let databases = catalog::databases();
        let gone: Vec<u32> = self
            .known
            .keys()
            .filter(|oid| **oid != SHARED && databases.iter().all(|row| row.oid != **oid))
            .copied()
            .collect();
        if !gone.is_empty() {
            self.watch.release();
        }
        for oid in gone {
            self.known.remove(&oid);
            self.rows.remove(oid);
            self.store.remove(Subject::Database(oid));
            self.drop_entries(oid);
        }
        self.store.end();
        self.known
            .entry(SHARED)
            .or_insert_with(|| Known::new(Vec::new(), false));
        for row in databases {
            let known = self
                .known
                .entry(row.oid)
                .or_insert_with(|| Known::new(Vec::new(), row.is_connectable));
            known.is_connectable = row.is_connectable;
            if known.name != row.name {
                self.rows.add(row.oid, &row.name);
                known.name = row.name;
            }
        }
        self.is_complete = true;
    }

    pub(super) fn drop_entries(&mut self, database: u32) {
        let own = self.kinds.key_of(database);
        self.in_use.retain(|key| key.database != database);
        for key in std::iter::once(&own).chain(self.keys.of(database)) {
            if stats::drop_entry(key) == Dropped::InUse {
                self.in_use.push(*key);
            }
        }
        // Its own entry is the first of its keys, too.
        self.in_use.dedup();
    }

    /// Try again what could not be dropped, unless there is such a database again.
    fn drop_rest(&mut self) {
        let known = &self.known;
        self.in_use.retain(|key| {
            !known.contains_key(&key.database) && stats::drop_entry(key) == Dropped::InUse
        });
    }
}
