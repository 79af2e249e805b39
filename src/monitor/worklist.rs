//! The checkpointer's work list, followed while it is written: progress and buffers per file.
//!
//! *Runs in:* the monitor. *Reads and writes:* reads `CkptBufferIds` and the buffer headers
//! through [`crate::pgshim`], without a lock; writes the segment's `files_written`.
//! *Never:* writes to the list: a lost entry would be a lost buffer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pacing::frontier::{Frontier, Item, Pool, locate};
use statseg::{FileKey, Metric, Placement, Segment};

use crate::pgshim::{self, WorkList};

/// Buffer headers looked at in one poll at most: one or two milliseconds. At a poll in 100 ms that
/// follows 1.6 GB/s; a faster checkpoint is caught up with at its end.
const LOOKS_PER_POLL: usize = 20_000;

/// Counts go to the segment once a second: one file's row costs a microsecond, and a poll may
/// pass hundreds.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// md.c:RELSEG_SIZE of a standard build, in blocks.
const SEGMENT_BLOCKS: u32 = pgrx::pg_sys::RELSEG_SIZE;

/// Stands for a database that could not be told; no object has this identifier.
const UNKNOWN: u32 = u32::MAX;

/// The located list of one checkpoint.
pub(super) struct Follower {
    list: WorkList,
    frontier: Frontier,
    /// Database of each item: the list has none, and the buffer may hold another page later.
    databases: Vec<u32>,
    files: usize,
    /// Buffers written and not yet published.
    written: Written,
    published: Instant,
    /// No item was seen written yet: the list may still turn out to be incomplete.
    settled: bool,
}

impl Follower {
    /// Find the list of the checkpoint that has just begun; `None` while it is being made.
    pub(super) fn find(list: WorkList) -> Option<Self> {
        let total = locate(&list, list.count_needed())?;
        let databases = databases(&list, total);
        let mut listed = Written::default();
        for (index, database) in databases.iter().enumerate() {
            listed.count(file(&list.item(index), *database));
        }
        Some(Self {
            list,
            frontier: Frontier::new(&list, total),
            databases,
            files: listed.files(),
            written: Written::default(),
            published: Instant::now(),
            settled: false,
        })
    }

    /// Files that the list names: each will be fsynced.
    pub(super) fn files(&self) -> u64 {
        self.files as u64
    }

    pub(super) fn total(&self) -> u64 {
        self.frontier.total() as u64
    }

    pub(super) fn done(&self) -> u64 {
        self.frontier.done() as u64
    }

    /// Follow what was written since the last call. False if the list is not the one that was
    /// found: then it was not complete, and must be looked for again.
    pub(super) fn advance(&mut self) -> bool {
        if !self.settled {
            if !self.frontier.list_stands(&self.list) {
                return false;
            }
            self.settled = self.frontier.done() > 0;
        }
        let (written, databases) = (&mut self.written, &self.databases);
        self.frontier
            .advance(&self.list, LOOKS_PER_POLL, |index, item| {
                written.count(file(item, databases[index]));
            });
        true
    }

    /// The write phase is over: what is left are flags that a re-dirtied page kept.
    pub(super) fn finish(&mut self) {
        let (written, databases) = (&mut self.written, &self.databases);
        self.frontier.finish(&self.list, |index, item| {
            written.count(file(item, databases[index]));
        });
    }

    /// Publish the counts per file, if it is time or `now` is said.
    pub(super) fn publish(&mut self, segment: &Segment, used: u64, now: bool) {
        if !now && self.published.elapsed() < PUBLISH_EVERY {
            return;
        }
        self.published = Instant::now();
        let table = segment.files_written();
        for (key, buffers) in self.written.take().filter(|(key, _)| known(key)) {
            let placement = table.update(&key, &path(&key), used, |stats| {
                stats.buffers_written += buffers;
            });
            if placement == Placement::Evicted {
                segment.counter(Metric::FilesEvicted).increment();
            }
        }
    }
}

/// Buffers by file. Items come in the order of the list, so most belong to the file of the one
/// before and cost no look-up.
#[derive(Default)]
struct Written {
    last: Option<(FileKey, u64)>,
    others: HashMap<FileKey, u64>,
}

impl Written {
    fn count(&mut self, file: FileKey) {
        match &mut self.last {
            Some((last, buffers)) if *last == file => *buffers += 1,
            last => {
                if let Some((key, buffers)) = last.replace((file, 1)) {
                    *self.others.entry(key).or_default() += buffers;
                }
            }
        }
    }

    /// Number of files counted.
    fn files(mut self) -> usize {
        self.take().count()
    }

    fn take(&mut self) -> impl Iterator<Item = (FileKey, u64)> + use<> {
        if let Some((key, buffers)) = self.last.take() {
            *self.others.entry(key).or_default() += buffers;
        }
        std::mem::take(&mut self.others).into_iter()
    }
}

/// The database of each of the first `total` items.
///
/// The buffer that the item names knows it, written or not, until another page takes its place.
/// For a page that has left the pool before this first look, its neighbour on the list speaks;
/// wrong only where catalogs with equal file numbers in several databases alternate.
fn databases(list: &WorkList, total: usize) -> Vec<u32> {
    let mut known: Option<(Item, u32)> = None;
    let database = |index| {
        let item = list.item(index);
        if let Some(database) = list.database(&item) {
            known = Some((item, database));
            return database;
        }
        match known {
            Some((neighbour, database)) if same_relation(&neighbour, &item) => database,
            _ => UNKNOWN,
        }
    };
    (0..total).map(database).collect()
}

fn same_relation(one: &Item, other: &Item) -> bool {
    (one.tablespace, one.relation) == (other.tablespace, other.relation)
}

/// The file that an item's block lies in.
fn file(item: &Item, database: u32) -> FileKey {
    FileKey::Relation {
        tablespace: item.tablespace,
        database,
        relfilenode: item.relation,
        fork: u32::try_from(item.fork).unwrap_or(0),
        segment: item.block / SEGMENT_BLOCKS,
    }
}

/// A file whose database could not be told has no path: its few buffers are in no row.
fn known(key: &FileKey) -> bool {
    !matches!(
        key,
        FileKey::Relation {
            database: UNKNOWN,
            ..
        }
    )
}

fn path(key: &FileKey) -> String {
    match *key {
        FileKey::Relation {
            tablespace,
            database,
            relfilenode,
            fork,
            segment,
        } => pgshim::relation_path(
            database,
            tablespace,
            relfilenode,
            i32::try_from(fork).unwrap_or(0),
            segment,
        ),
        FileKey::Path => String::new(),
    }
}
