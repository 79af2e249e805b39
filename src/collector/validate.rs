//! After restoring: drops the statistics of objects that are gone, and after a crash empties those of
//! unlogged relations, which crash recovery has emptied.
//!
//! *Runs in:* one short worker at a time, connected to the database it looks at; the collector
//! starts it. *Reads and writes:* the database's file for the keys, its catalogs, entries of the
//! statistics; its word of `database_requests` for the collector.
//! *Never:* keeps anybody from dropping, copying or renaming the database: who wants to has taken
//! a lock and waits for sessions to leave, up to 5 s; between two looks, some milliseconds, the
//! worker sees that and leaves.
//!
//! It goes by the keys of the file, for what was restored came from there, and a search for all
//! entries of a database is a search for all entries.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pgrx::bgworkers::{
    BackgroundWorkerBuilder, BackgroundWorkerStatus, BgWorkerStartTime, DynamicBackgroundWorker,
};
use pgrx::pg_sys;
use statsfile::{StatsFile, Subject};

use super::files::Directory;
use super::kinds::Kinds;
use super::known::Known;
use super::rows::{self, Rows, SHARED};
use crate::pgshim::stats::catalog::{self, Object};
use crate::pgshim::stats::{self, Dropped, Key};
use crate::{process, shmem};

pub(crate) const NAME: &str = "ckptflush validator";
/// Of the function in [`crate::worker`].
const ENTRY: &str = "ckptflush_validator_main";

/// Objects looked up in one go.
const AT_ONCE: usize = 256;

/// Between two looks at a worker that runs.
const SOON: Duration = Duration::from_millis(100);

/// A database whose worker has left early, or could not be started, comes again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// And not more often than that: it may be one to which nobody can connect.
const TIMES: u32 = 60;

/// Looks at objects whose entries are to be dropped while somebody refers to them. Who is about to
/// drop them himself does so soon; what a session has looked at by its OID, it refers to until it
/// ends. The entry stays then, and does no harm.
const LOOKS: u32 = 10;
/// Between two of them.
const MOMENT: Duration = Duration::from_millis(10);

/// Why objects are looked up: what an unlogged relation has in it depends on that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// A crash, or a promotion: unlogged relations were emptied.
    Recovery,
    /// A file was restored by SQL; or recovery was so long ago that unlogged relations have
    /// something else in them.
    Request,
}

/// No unlogged relation is taken for empty so long after its statistics were restored.
const FRESH: Duration = Duration::from_secs(600);

impl After {
    /// What was restored then is still to be looked at.
    pub(super) fn restored_at(us: i64) -> Self {
        let age = u64::try_from(process::now_us() - us).map(Duration::from_micros);
        if age.is_ok_and(|age| age < FRESH) {
            Self::Recovery
        } else {
            Self::Request
        }
    }
}

/// What a worker is told, in one word: the database, and in the bit above its 32 after what.
const REQUEST: u64 = 1 << 32;

struct Waiting {
    database: u32,
    after: After,
    times: u32,
    not_before: Instant,
}

struct Running {
    worker: DynamicBackgroundWorker,
    waiting: Waiting,
}

/// The databases that are still to be looked at.
pub(super) struct Validation {
    queue: VecDeque<Waiting>,
    running: Option<Running>,
    /// No worker could be started for one, so none is tried for the others until then.
    not_before: Instant,
}

impl Validation {
    pub(super) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            running: None,
            not_before: Instant::now(),
        }
    }

    pub(super) fn add(&mut self, database: u32, after: After) {
        self.queue.push_back(Waiting {
            database,
            after,
            times: 0,
            not_before: Instant::now(),
        });
    }

    /// Start the next worker when the one before has ended; says how soon to come back, unless
    /// there is nothing to do.
    pub(super) fn step(
        &mut self,
        known: &std::collections::BTreeMap<u32, Known>,
        rows: &Rows,
    ) -> Option<Duration> {
        if let Some(running) = self.running.take() {
            match running.worker.pid() {
                Ok(_) | Err(BackgroundWorkerStatus::NotYetStarted) => {
                    self.running = Some(running);
                    return Some(SOON);
                }
                Err(_) => self.ended(running.waiting, rows),
            }
        }
        let now = Instant::now();
        let is_due = |one: &Waiting| one.not_before.max(self.not_before) <= now;
        let Some(at) = self.queue.iter().position(is_due) else {
            return (!self.queue.is_empty()).then_some(AGAIN);
        };
        let waiting = self.queue.remove(at)?;
        if waiting.database == SHARED {
            self.look_at_shared(waiting, rows);
        } else if known
            .get(&waiting.database)
            .is_some_and(|it| it.is_connectable)
        {
            match start(waiting.database, waiting.after) {
                Some(worker) => self.running = Some(Running { worker, waiting }),
                None => {
                    self.not_before = now + AGAIN;
                    self.again(waiting);
                    return Some(AGAIN);
                }
            }
        }
        Some(SOON)
    }

    fn ended(&mut self, waiting: Waiting, rows: &Rows) {
        match rows.take_dropped(waiting.database) {
            Some(dropped) => rows.update(waiting.database, |row| {
                row.dropped_entries = Some(dropped);
            }),
            None if rows.has(waiting.database) => self.again(waiting),
            // It cannot report, and has done its work as far as anybody knows.
            None => {}
        }
    }

    fn again(&mut self, waiting: Waiting) {
        if waiting.times < TIMES {
            self.queue.push_back(Waiting {
                times: waiting.times + 1,
                not_before: Instant::now() + AGAIN,
                ..waiting
            });
        }
    }

    /// Shared relations are never dropped; subscriptions are, and their catalog is a shared one.
    fn look_at_shared(&mut self, waiting: Waiting, rows: &Rows) {
        let keys = keys_of(Subject::Common);
        let mut looked = Looked::default();
        // There are no unlogged ones.
        let _ = looked.look_at_all(&keys, After::Request, 0);
        rows.update(SHARED, |row| {
            let before = row.dropped_entries.filter(|_| waiting.times > 0);
            row.dropped_entries = Some(before.unwrap_or(0) + looked.dropped);
        });
        if !looked.in_use.is_empty() {
            self.again(waiting);
        }
    }
}

fn start(database: u32, after: After) -> Option<DynamicBackgroundWorker> {
    let task = match after {
        After::Recovery => u64::from(database),
        After::Request => u64::from(database) | REQUEST,
    };
    BackgroundWorkerBuilder::new(NAME)
        .set_type(NAME)
        .set_library("ckptflush")
        .set_function(ENTRY)
        .enable_spi_access()
        .set_start_time(BgWorkerStartTime::ConsistentState)
        .set_restart_time(None)
        .set_argument(Some(pg_sys::Datum::from(task)))
        .set_notify_pid(i32::try_from(process::pid()).unwrap_or(0))
        .load_dynamic()
        .ok()
}

/// The database that a worker's argument names.
pub(crate) fn database_of(task: u64) -> u32 {
    u32::try_from(task & u64::from(u32::MAX)).unwrap_or(0)
}

/// All of the worker's work, once it is connected to the database.
pub(crate) fn run(task: u64) {
    let database = database_of(task);
    let after = if task & REQUEST == 0 {
        After::Recovery
    } else {
        After::Request
    };
    let mut keys = keys_of(Subject::Database(database));
    let mut looked = Looked::default();
    let segment = shmem::require();
    let place = rows::find(segment, database);
    let row = place.and_then(|place| segment.view().database(place).read().ok());
    let restored_at = row.and_then(|row| row.restored_at);
    let since = restored_at.map_or(i64::MAX, process::timestamp);
    for look in 1..=LOOKS {
        if looked.look_at_all(&keys, after, since).is_none() {
            return; // somebody wants the database; the collector will send another one
        }
        keys = std::mem::take(&mut looked.in_use);
        if keys.is_empty() || look == LOOKS {
            break;
        }
        std::thread::sleep(MOMENT);
    }
    if let Some(place) = place {
        let requests = segment.view().database_requests(place);
        requests.report_dropped(looked.dropped);
    }
}

fn by_kind(keys: &[Key]) -> impl Iterator<Item = &[Key]> {
    keys.chunk_by(|one, next| one.kind == next.kind)
}

/// Keys of a file, kind by kind; none if it cannot be read, as after it was written anew by
/// another version.
fn keys_of(subject: Subject) -> Vec<Key> {
    let kinds = Kinds::new();
    let bytes = Directory::own().read(subject).ok().flatten();
    let Some(Ok(file)) = bytes.as_deref().map(StatsFile::verify) else {
        return Vec::new();
    };
    let database = match subject {
        Subject::Database(oid) => oid,
        Subject::Common => 0,
    };
    let mut keys = Vec::new();
    for section in file.sections() {
        let Some(known) = kinds.named(section.name) else {
            continue;
        };
        let mut entries = section.entries();
        while let Some(entry) = entries.next_entry() {
            keys.extend(entry.key.object().map(|object| Key {
                kind: known.kind.number,
                database,
                object,
            }));
        }
    }
    keys
}

/// What was found out about objects.
#[derive(Default)]
struct Looked {
    /// Entries dropped.
    dropped: u64,
    /// Those that are to be dropped when nobody refers to them any more.
    in_use: Vec<Key>,
}

impl Looked {
    /// Look at objects whose entries were restored then. `None`: somebody wants the database.
    fn look_at_all(&mut self, keys: &[Key], after: After, since: i64) -> Option<()> {
        by_kind(keys)
            .flat_map(|keys| keys.chunks(AT_ONCE))
            .try_for_each(|keys| self.look_at(keys, after, since))
    }

    /// Look at objects of one kind.
    fn look_at(&mut self, keys: &[Key], after: After, since: i64) -> Option<()> {
        let objects = catalog::objects(keys)?;
        for (key, object) in keys.iter().zip(objects) {
            match object {
                Object::Missing => match stats::drop_entry(key) {
                    Dropped::None => {}
                    Dropped::Done => self.dropped += 1,
                    Dropped::InUse => self.in_use.push(*key),
                },
                Object::Unlogged if after == After::Recovery => stats::forget_tuples(key, since),
                Object::Unlogged | Object::Permanent | Object::Unknown => {}
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_restored_long_ago_is_not_taken_for_empty() {
        let (now, day) = (process::now_us(), 86_400_000_000);
        assert_eq!(After::restored_at(now), After::Recovery);
        assert_eq!(After::restored_at(now - 1_000_000), After::Recovery);
        assert_eq!(After::restored_at(now - day), After::Request);
        // The clock was set back.
        assert_eq!(After::restored_at(now + day), After::Request);
    }
}
