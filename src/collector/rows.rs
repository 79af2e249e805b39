//! The rows of `ckpt_stats_databases`: which database has which, and what stands in it.
//!
//! *Runs in:* the collector. *Reads and writes:* the segment's `databases`, whose only writer it
//! is, and `database_requests` beside it.
//! *Never:* needs a row: a database for which there is no room is collected all the same.

use std::collections::BTreeMap;

use statseg::{CollectedDatabase, DatabaseRequests, Segment, Text};

/// The first row is of the shared relations, and requests there are for all databases.
pub(super) const SHARED: u32 = 0;
const SHARED_NAME: &str = "shared relations";

/// A request that somebody waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) database: u32,
    pub(super) number: u64,
    /// Write whatever has changed.
    pub(super) force: bool,
}

pub(super) struct Rows {
    segment: &'static Segment,
    places: BTreeMap<u32, usize>,
    free: Vec<usize>,
}

impl Rows {
    /// Take up the rows that the collector before this one has left.
    pub(super) fn start(segment: &'static Segment) -> Self {
        let mut rows = Self {
            segment,
            places: BTreeMap::new(),
            free: Vec::new(),
        };
        for index in (0..segment.view().database_count()).rev() {
            let row = segment.database(index).read().unwrap_or_default();
            if row.name.is_empty() {
                rows.free.push(index);
            } else {
                rows.places.insert(row.database, index);
            }
        }
        rows.add(SHARED, SHARED_NAME.as_bytes());
        rows
    }

    /// Databases that were restored, and when, whose objects were not looked at to the end.
    pub(super) fn unvalidated(&self) -> Vec<(u32, i64)> {
        let open = |(&database, &index): (&u32, &usize)| {
            let row = self.segment.database(index).read().unwrap_or_default();
            let restored_at = row.restored_at.filter(|_| row.dropped_entries.is_none());
            restored_at.map(|at| (database, at))
        };
        self.places.iter().filter_map(open).collect()
    }

    /// A database is there, with this name now.
    pub(super) fn add(&mut self, database: u32, name: &[u8]) {
        let name = Text::new(&String::from_utf8_lossy(name));
        if let Some(&index) = self.places.get(&database) {
            self.write(index, |row| row.name = name);
            return;
        }
        if let Some(index) = self.free.pop() {
            self.places.insert(database, index);
            self.requests(index).clear();
            self.segment.database(index).write(&CollectedDatabase {
                database,
                name,
                ..CollectedDatabase::default()
            });
        }
    }

    /// A database is gone.
    pub(super) fn remove(&mut self, database: u32) {
        if let Some(index) = self.places.remove(&database) {
            self.segment
                .database(index)
                .write(&CollectedDatabase::default());
            self.free.push(index);
        }
    }

    /// Change what is shown of a database; nothing is written if that is no change.
    pub(super) fn update(&self, database: u32, change: impl FnOnce(&mut CollectedDatabase)) {
        if let Some(&index) = self.places.get(&database) {
            self.write(index, change);
        }
    }

    fn write(&self, index: usize, change: impl FnOnce(&mut CollectedDatabase)) {
        let row = self.segment.database(index);
        let before = row.read().unwrap_or_default();
        let mut after = before;
        change(&mut after);
        if after != before {
            row.write(&after);
        }
    }

    fn requests(&self, index: usize) -> DatabaseRequests<'static> {
        self.segment.view().database_requests(index)
    }

    /// What waits to be served.
    pub(super) fn open(&self) -> Vec<Request> {
        let open = |(&database, &index): (&u32, &usize)| {
            let (number, force) = self.requests(index).open()?;
            Some(Request {
                database,
                number,
                force,
            })
        };
        self.places.iter().filter_map(open).collect()
    }

    pub(super) fn serve(&self, request: &Request, written: bool) {
        if let Some(&index) = self.places.get(&request.database) {
            self.requests(index).serve(request.number, written);
        }
    }

    /// Is there a row for this database?
    pub(super) fn has(&self, database: u32) -> bool {
        self.places.contains_key(&database)
    }

    /// Was it asked to look up the objects of this database's entries? Tells it once.
    pub(super) fn take_validation(&self, database: u32) -> bool {
        let index = self.places.get(&database);
        index.is_some_and(|index| self.requests(*index).take_validation())
    }

    /// Entries that the worker for this database has dropped, if it has come to its end.
    pub(super) fn take_dropped(&self, database: u32) -> Option<u64> {
        let index = self.places.get(&database)?;
        self.requests(*index).take_dropped()
    }
}

/// Where the row of a database is, for somebody else than the collector.
pub(super) fn find(segment: &Segment, database: u32) -> Option<usize> {
    let view = segment.view();
    (0..view.database_count()).find(|index| {
        let row = view.database(*index).read().unwrap_or_default();
        row.database == database && !row.name.is_empty()
    })
}
