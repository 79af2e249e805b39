//! One cycle of the collector: decide about each database, and write what is to be written.
//!
//! *Runs in:* the collector. *Reads and writes:* as [`super::round`] says.
//! *Never:* lets one database's trouble keep the others from disk.

use std::time::{Duration, Instant};

use pgrx::prelude::*;
use statseg::Metric;
use statsfile::{DatabaseRow, Header, Identity, Name, Subject};

use super::capture::sign_own;
use super::keys::News;
use super::kinds::{Kinds, Signature};
use super::known::{Filed, Signs, Todo};
use super::round::Collector;
use super::rows::{Request, SHARED};
use super::validate::After;
use crate::error::Message;
use crate::{process, server, settings};

/// Looks at entries that find nothing are followed by a pause so many times as long: with the
/// searches they are all that a server does for us where only autovacuum is at work, and shall
/// not take a thousandth of the time.
const CHECK_PAUSE: u32 = 1500;

/// A database that is to be looked at, with its entry as it was when that was decided: what is
/// counted while the others are copied makes the signature another one, and so is not missed.
struct Task {
    database: u32,
    signs: Signs,
    own: Vec<u8>,
    todo: Todo,
    force: bool,
}

/// A database about which something has to be decided.
struct Unsettled {
    /// Among those that are watched.
    place: usize,
    /// Of its own entry.
    signature: u64,
    own: Option<Vec<u8>>,
}

impl Collector {
    /// One cycle: all databases, or those that are asked for.
    pub(super) fn collect(&mut self, identity: &Identity, requests: &[Request]) {
        let begin = Instant::now();
        let mut tasks = self.decide(requests);
        self.record(Metric::CollectorCheckTime, begin);
        if self.store.is_paused() && requests.is_empty() {
            return;
        }
        let may_check = begin >= self.next_check || !requests.is_empty();
        tasks.retain(|task| task.todo == Todo::Write || may_check);
        let has_rows = tasks.iter().any(|task| task.todo == Todo::Write);
        let news = if has_rows { News::Soon } else { News::Later };
        if !tasks.is_empty()
            && (self.keys.is_due(settings::collector_interval(), news) || !requests.is_empty())
        {
            self.search();
        }
        let searched = self.keys.searched_at().is_some_and(|at| at >= begin);
        let (mut written, mut checking) = (0, Duration::ZERO);
        for task in &tasks {
            let at = Instant::now();
            if task.todo == Todo::Check {
                let is_news = self.is_news(task, searched);
                checking += at.elapsed();
                if !is_news {
                    continue;
                }
            }
            if !self.write(identity, task, searched) {
                break; // the disk takes none of the others either
            }
            self.record(Metric::CollectorWriteTime, at);
            written += 1;
        }
        if tasks.iter().any(|task| task.todo == Todo::Check) {
            self.next_check = begin + checking * CHECK_PAUSE;
        }
        self.write_common(identity, requests);
        self.store.end();
        if written > 0 {
            self.record(Metric::CollectorCycleTime, begin);
        }
        for request in requests {
            let failed = self.store.is_paused();
            // The file has the keys that the worker goes by.
            if self.rows.take_validation(request.database) {
                self.validation.add(request.database, After::Request);
            }
            self.rows.serve(request, !failed);
        }
    }

    /// Look at all databases; those about which something has to be decided, or all.
    fn look(&mut self, all: bool) -> Vec<Unsettled> {
        let now = Instant::now();
        let mut unsettled = Vec::new();
        let mut some = self.watch.some(0);
        while !some.is_empty() {
            let entries = self.capture.databases(&self.kinds, &some);
            let settled = self.watch.settled(&some);
            for ((place, settled), own) in some.clone().zip(settled).zip(entries) {
                let signature = own.map_or(Signature::NONE, Signature::of);
                if all || !settled.holds(signature, now) {
                    unsettled.push(Unsettled {
                        place,
                        signature,
                        own: own.map(<[u8]>::to_vec),
                    });
                }
            }
            some = self.watch.some(some.end);
        }
        unsettled
    }

    /// What is to be done about each database, by its own entry.
    fn decide(&mut self, requests: &[Request]) -> Vec<Task> {
        let lazy = settings::collector_lazy_interval();
        let asked = |oid: u32| {
            let mut for_it = requests
                .iter()
                .filter(|request| request.database == oid || request.database == SHARED);
            (
                for_it.clone().next().is_some(),
                for_it.any(|request| request.force),
            )
        };
        self.watch.begin(&self.known, lazy);
        let mut tasks = Vec::new();
        for it in self.look(!requests.is_empty()) {
            let database = self.watch.database(it.place);
            let Some(known) = self.known.get_mut(&database) else {
                continue;
            };
            let own = it.own.as_deref();
            let signs = own.map(|own| sign(&self.kinds, own, it.signature));
            let todo = known.todo(signs, lazy);
            let settled = known.settled(it.signature, todo, lazy, self.next_check);
            self.watch.settle(it.place, settled);
            let pending = todo != Todo::Nothing;
            // To look into a row takes longer than all of the rest.
            if known.shown_pending.replace(pending) != Some(pending) {
                self.rows.update(database, |row| row.pending = pending);
            }
            let (Some(signs), Some(own)) = (signs, it.own) else {
                continue; // nothing was ever counted there
            };
            let (is_asked, force) = asked(database);
            let todo = match todo {
                Todo::Nothing if !force => continue,
                Todo::Wait if !is_asked => continue,
                _ if is_asked => Todo::Write,
                todo => todo,
            };
            if !requests.is_empty() && !is_asked {
                continue;
            }
            tasks.push(Task {
                database,
                signs,
                own,
                todo,
                force,
            });
        }
        tasks
    }

    /// Search for entries that were made since; those of databases that are gone are dropped.
    fn search(&mut self) {
        self.keys.search();
        self.segment
            .statistic(Metric::CollectorSearchTime)
            .record(nanoseconds(self.keys.took()));
        let entries = self.keys.len() as u64;
        self.segment.gauge(Metric::CollectorEntries).set(entries);
        let found = self.keys.databases();
        if found.iter().all(|oid| self.known.contains_key(oid)) {
            return;
        }
        // Read after the search: a database whose entry was found had been created before. That was
        // perhaps not told yet: so it is read whether it is known to have changed or not.
        self.is_complete = false;
        self.look_at_databases();
        for oid in found {
            if !self.known.contains_key(&oid) {
                self.drop_entries(oid);
            }
        }
    }

    /// Is there something in the entries that the file has not? If not, it is not asked again
    /// until something else changes.
    fn is_news(&mut self, task: &Task, searched: bool) -> bool {
        let keys = self.keys.of(task.database);
        let material = self.capture.material(&self.kinds, keys, &task.own);
        let Some(known) = self.known.get_mut(&task.database) else {
            return false; // dropped meanwhile
        };
        let is_same = known.filed.is_some_and(|filed| filed.material == material);
        if is_same && !task.force {
            known.checked = Some(task.signs.all);
            known.is_partial &= !searched;
            return false;
        }
        true
    }

    fn header(&mut self, identity: &Identity, subject: Subject, name: &[u8]) -> Header {
        let position = server::position();
        self.generation += 1;
        Header {
            identity: *identity,
            timeline: position.timeline,
            flush_lsn: position.lsn,
            subject,
            database_name: Name::new(name),
            written_at: process::timestamp(process::now_us()),
            generation: self.generation,
            signature: 0,
            material_signature: 0,
        }
    }

    /// Write the file of one database; false if the disk did not take it.
    fn write(&mut self, identity: &Identity, task: &Task, searched: bool) -> bool {
        let subject = Subject::Database(task.database);
        let Some(known) = self.known.get(&task.database) else {
            return true;
        };
        let name = known.name.clone();
        let header = Header {
            signature: task.signs.all,
            ..self.header(identity, subject, &name)
        };
        let keys = self.keys.of(task.database);
        let made = self.capture.encode(&self.kinds, &header, keys, &task.own);
        let made = match made {
            Ok(made) => made,
            Err(error) => return cannot_encode(&error),
        };
        let (bytes, entries, material) = (made.bytes.len() as u64, made.entries, made.material);
        if !self.store.write(subject, made.bytes) {
            return false;
        }
        self.count(bytes);
        if let Some(known) = self.known.get_mut(&task.database) {
            known.is_partial = !searched;
            known.shown_pending = Some(false);
            known.checked = Some(task.signs.all);
            known.filed = Some(Filed {
                signature: task.signs.all,
                rows: Some(task.signs.rows),
                material,
                generation: header.generation,
                lsn: header.flush_lsn,
                at: Instant::now(),
            });
        }
        self.rows.update(task.database, |row| {
            row.size_bytes = Some(bytes);
            row.entries = Some(entries);
            row.last_write_at = Some(process::now_us());
            row.writes += 1;
            row.written_bytes += bytes;
            row.pending = false;
        });
        true
    }

    fn record(&self, metric: Metric, since: Instant) {
        let ns = nanoseconds(since.elapsed());
        self.segment.statistic(metric).record(ns);
    }

    /// A file of so many bytes was written.
    fn count(&self, bytes: u64) {
        self.segment.counter(Metric::CollectorFiles).increment();
        self.segment.counter(Metric::CollectorBytes).add(bytes);
    }

    /// Write the file of the cluster: all in it may wait.
    fn write_common(&mut self, identity: &Identity, requests: &[Request]) {
        let asked = requests.iter().any(|request| request.database == SHARED);
        if self.store.is_paused()
            || !(asked || self.common_at.elapsed() >= settings::collector_lazy_interval())
        {
            return;
        }
        let header = self.header(identity, Subject::Common, b"");
        let databases: Vec<DatabaseRow> = self
            .known
            .iter()
            .filter_map(|(oid, known)| {
                let filed = known.filed.as_ref()?;
                Some(DatabaseRow {
                    oid: *oid,
                    name: Name::new(&known.name),
                    signature: filed.signature,
                    material_signature: filed.material,
                    generation: filed.generation,
                    flush_lsn: filed.lsn,
                })
            })
            .collect();
        let keys = self.keys.of(SHARED);
        let made = self
            .capture
            .encode_common(&self.kinds, &header, keys, |encoder| {
                encoder.databases(databases)
            });
        match made {
            Ok(made) => {
                let bytes = made.bytes.len() as u64;
                if self.store.write(Subject::Common, made.bytes) {
                    self.count(bytes);
                    self.common_at = Instant::now();
                }
            }
            Err(error) => {
                cannot_encode(&error);
            }
        }
    }
}

/// Signatures of a database's own entry; that of all of it is known.
fn sign(kinds: &Kinds, own: &[u8], all: u64) -> Signs {
    let mut rows = Signature::START;
    sign_own(kinds, &mut rows, own);
    Signs {
        all,
        rows: rows.value(),
    }
}

/// It is a bug, or an extension whose statistics are larger than the format allows. The others
/// are written all the same.
fn cannot_encode(error: &statsfile::EncodeError) -> bool {
    Message {
        code: PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        primary: "could not make a ckptflush statistics file".to_owned(),
        detail: Some(format!("The reason: {error}.")),
        hint: None,
    }
    .report(PgLogLevel::LOG);
    true
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
