//! The checkpointer's work list, followed while it is written: progress and buffers per file.
//!
//! *Runs in:* the monitor. *Reads and writes:* reads `CkptBufferIds` and the buffer headers
//! through [`crate::pgshim`], without a lock; writes the segment's `files_written`.
//! *Never:* writes to the list: a lost entry would be a lost buffer.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use pacing::frontier::{Flag, Frontier, Item, Pool, locate};
use statseg::{FileKey, Metric, Placement, Segment};

use crate::pgshim::{self, WorkList};

/// Buffer headers looked at in one poll at most: 0.2 ms. At one poll in 100 ms that follows
/// 160 MB/s on its own; a faster checkpoint is caught up with at its end.
const LOOKS_PER_POLL: usize = 20_000;

/// Counts go to the segment once a second: one file's row costs a microsecond, and a poll may
/// pass hundreds.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// md.c:RELSEG_SIZE of a standard build, in blocks.
const SEGMENT_BLOCKS: u32 = pgrx::pg_sys::RELSEG_SIZE;

/// The located list of one checkpoint.
pub(super) struct Follower {
    list: WorkList,
    frontier: Frontier,
    /// Database of each item. The list has none, the descriptor loses it when it is written.
    databases: Vec<u32>,
    files: usize,
    /// Buffers written and not yet published.
    written: HashMap<FileKey, u64>,
    published: Instant,
    /// No item was seen written yet: the list may still turn out to be incomplete.
    settled: bool,
}

impl Follower {
    /// Find the list of the checkpoint that has just begun; `None` while it is being made.
    pub(super) fn find(list: WorkList) -> Option<Self> {
        let total = locate(&list, list.count_needed())?;
        let databases = databases(&list, total);
        let files = (0..total)
            .map(|index| file(&list.item(index), databases[index]))
            .collect::<HashSet<_>>()
            .len();
        Some(Self {
            list,
            frontier: Frontier::new(&list, total),
            databases,
            files,
            written: HashMap::new(),
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
                *written.entry(file(item, databases[index])).or_default() += 1;
            });
        true
    }

    /// The write phase is over: what is left are flags that a re-dirtied page kept.
    pub(super) fn finish(&mut self) {
        let (written, databases) = (&mut self.written, &self.databases);
        self.frontier.finish(&self.list, |index, item| {
            *written.entry(file(item, databases[index])).or_default() += 1;
        });
    }

    /// Publish the counts per file, if it is time or `now` is said.
    pub(super) fn publish(&mut self, segment: &Segment, used: u64, now: bool) {
        if !now && self.published.elapsed() < PUBLISH_EVERY {
            return;
        }
        self.published = Instant::now();
        let table = segment.files_written();
        for (key, buffers) in self.written.drain() {
            let placement = table.update(&key, &path(&key), used, |stats| {
                stats.buffers_written += buffers;
            });
            if placement == Placement::Evicted {
                segment.counter(Metric::FilesEvicted).increment();
            }
        }
    }
}

/// The database of each of the first `total` items.
///
/// An item that is written already has lost its descriptor. Its database is then taken from the
/// neighbour before it, which is right but where catalogs with equal file numbers in several
/// databases alternate; there it is a guess, for the few buffers written before the first look.
fn databases(list: &WorkList, total: usize) -> Vec<u32> {
    let mut known: Option<(u32, u32)> = None;
    (0..total)
        .map(|index| {
            let item = list.item(index);
            if let Flag::Needed { database, .. } = list.flag(&item) {
                known = Some((item.relation, database));
                return database;
            }
            match known {
                Some((relation, database)) if relation == item.relation => database,
                _ => following_database(list, index, total),
            }
        })
        .collect()
}

/// The database of the next item of the same relation that still has one; 0 when there is none.
fn following_database(list: &WorkList, index: usize, total: usize) -> u32 {
    const LOOK_AHEAD: usize = 64;
    let relation = list.item(index).relation;
    (index..total.min(index + LOOK_AHEAD))
        .map(|next| list.item(next))
        .take_while(|item| item.relation == relation)
        .find_map(|item| match list.flag(&item) {
            Flag::Needed { database, .. } => Some(database),
            _ => None,
        })
        .unwrap_or(0)
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
