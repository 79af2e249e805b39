//! The checkpointer's work list, followed while it is written: which page of which file is out.
//!
//! *Runs in:* the monitor and the flusher, each with a follower of its own.
//! *Reads and writes:* reads `CkptBufferIds` and the buffer headers through [`crate::pgshim`],
//! without a lock. *Never:* writes to the list: a lost entry would be a lost buffer.

use std::time::{Duration, Instant};

use pacing::frontier::{Frontier, Item, Look, Pool, locate, look};
use statseg::FileKey;

use crate::pgshim::{self, WorkList};

/// Buffer headers looked at in one poll at most: one or two milliseconds. At a poll in 100 ms that
/// follows 1.6 GB/s; a faster checkpoint is caught up with at its end.
const LOOKS_PER_POLL: usize = 20_000;

/// Counting the marked buffers is a pass over all headers. While nothing on the list is marked
/// yet, and so nothing speaks for its being made, it is done this often at most.
const COUNT_EVERY: Duration = Duration::from_millis(100);

/// md.c:RELSEG_SIZE of a standard build, in blocks.
const SEGMENT_BLOCKS: u32 = pgrx::pg_sys::RELSEG_SIZE;

// What is planned in blocks is issued in bytes of the file: with others it would be the wrong ones.
const _: () = assert!(pgrx::pg_sys::BLCKSZ as u64 == pacing::BLOCK_BYTES);

/// Stands for a database that could not be told; no object has this identifier.
const UNKNOWN: u32 = u32::MAX;

/// A page of the list: its file, and its block within that file.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    pub(crate) file: FileKey,
    pub(crate) block: u32,
}

impl Page {
    /// The tablespace of its file; each is written side by side with the others.
    pub(crate) fn tablespace(&self) -> u32 {
        match self.file {
            FileKey::Relation { tablespace, .. } => tablespace,
            _ => 0,
        }
    }
}

/// Looks for the list of a checkpoint that has begun.
#[derive(Default)]
pub(crate) struct Search {
    counted: Option<Instant>,
}

impl Search {
    /// Find the list; `None` while it is being made.
    pub(crate) fn find(&mut self, list: WorkList) -> Option<Follower> {
        match look(&list) {
            Look::BeingMade => return None,
            Look::NothingMarked if self.counted.is_some_and(|at| at.elapsed() < COUNT_EVERY) => {
                return None;
            }
            Look::NothingMarked | Look::Sorted => {}
        }
        self.counted = Some(Instant::now());
        let total = locate(&list, list.count_needed())?;
        Some(Follower {
            databases: databases(&list, total),
            frontier: Frontier::new(&list, total),
            list,
            settled: false,
        })
    }
}

/// The located list of one checkpoint.
pub(crate) struct Follower {
    list: WorkList,
    frontier: Frontier,
    /// Database of each item: the list has none, and the buffer may hold another page later.
    databases: Vec<u32>,
    /// No item was seen written yet: the list may still turn out to be incomplete.
    settled: bool,
}

impl Follower {
    pub(crate) fn total(&self) -> u64 {
        self.frontier.total() as u64
    }

    pub(crate) fn done(&self) -> u64 {
        self.frontier.done() as u64
    }

    /// Every page of the list, in its order, which is that of the writes in each tablespace.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        self.databases
            .iter()
            .enumerate()
            .map(|(index, database)| page(&self.list.item(index), *database))
    }

    /// Follow what was written since the last call: `each` gets the index of the item in the list
    /// and its page. False if the list is not the one that was found: then it was not complete,
    /// and must be looked for again.
    pub(crate) fn advance(&mut self, mut each: impl FnMut(usize, Page)) -> bool {
        if !self.settled {
            if !self.frontier.list_stands(&self.list) {
                return false;
            }
            self.settled = self.frontier.done() > 0;
        }
        let databases = &self.databases;
        self.frontier
            .advance(&self.list, LOOKS_PER_POLL, |index, item| {
                each(index, page(item, databases[index]));
            });
        true
    }

    /// The write phase is over: what is left are flags that a re-dirtied page kept.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(usize, Page)) {
        let databases = &self.databases;
        self.frontier.finish(&self.list, |index, item| {
            each(index, page(item, databases[index]));
        });
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

fn page(item: &Item, database: u32) -> Page {
    Page {
        file: FileKey::Relation {
            tablespace: item.tablespace,
            database,
            relfilenode: item.relation,
            fork: u32::try_from(item.fork).unwrap_or(0),
            segment: item.block / SEGMENT_BLOCKS,
        },
        block: item.block % SEGMENT_BLOCKS,
    }
}

/// Path of a relation's file below the data directory. `None` for a file whose database could
/// not be told, and for one that belongs to no relation.
pub(crate) fn path(key: &FileKey) -> Option<String> {
    match *key {
        FileKey::Relation {
            tablespace,
            database,
            relfilenode,
            fork,
            segment,
        } if database != UNKNOWN => Some(pgshim::relation_path(
            database,
            tablespace,
            relfilenode,
            i32::try_from(fork).unwrap_or(0),
            segment,
        )),
        _ => None,
    }
}
