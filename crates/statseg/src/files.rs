//! A table of files: as many as fit, the least recently used of a full set gives way.
//!
//! *Runs in:* one writer per table (checkpointer for `files_synced`, monitor for
//! `files_written`, flusher for `files_flushed`); any process reads.
//! *Reads and writes:* the rows of its section, each under its own sequence lock.
//! *Never:* allocates in an update, moves a row, or looks at more than one set.
//!
//! The rows are grouped in sets of 8 ways; the hash of a file's key chooses the set. A row
//! belongs to the table while its id word is the table's epoch (word 5 of "control"): a reset
//! adds one to the epoch, and all rows are empty at once, without a write to any of them.
//!
//! Update, by the one writer: 1. look for the file in its set, and meanwhile for the best place
//! for it: an empty row, else the one with the smallest `last_used`; 2. change a copy of the
//! row; 3. store it under the row's sequence lock. A row whose sequence is odd was left
//! unfinished by a former writer and counts as empty.

use crate::file_key::{FileEntry, FileKey, FileStats};
use crate::record::{self, FIRST_FIELD, ID, RecordType};
use crate::records::FileRow;
use crate::seqlock::SEQUENCE;
use crate::sync::{AtomicU64, Ordering};
use crate::text::Text;
use std::ops::Deref;

/// Rows of a set.
pub(crate) const WAYS: usize = 8;

/// Words of a row that a search looks at without decoding the rest.
const KEY_HASH: usize = FIRST_FIELD;
const LAST_USED: usize = FIRST_FIELD + 1;

/// How an update found its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The file had a row.
    Found,
    /// It got an empty row.
    Inserted,
    /// It got the row of another file, whose counts are gone.
    Evicted,
}

/// A table of files, to be read.
#[derive(Clone, Copy, Debug)]
pub struct FilesTable<'a> {
    words: &'a [AtomicU64],
    stride: usize,
    epoch: Option<&'a AtomicU64>,
}

impl<'a> FilesTable<'a> {
    pub(crate) fn new(words: &'a [AtomicU64], stride: usize, epoch: Option<&'a AtomicU64>) -> Self {
        Self {
            words,
            stride: stride.max(1),
            epoch,
        }
    }

    /// How many files fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.words.len() / self.stride
    }

    /// Consistent copies of the files in the table, in no order. A row being written for
    /// longer than a reader waits is left out.
    pub fn iter(&self) -> impl Iterator<Item = FileEntry> + use<'a> {
        let epoch = self.epoch();
        self.words.chunks_exact(self.stride).filter_map(move |row| {
            // Most rows are empty, and not worth a consistent copy.
            if row.get(ID)?.load(Ordering::Relaxed) != epoch {
                return None;
            }
            let words = record::load::<FileRow>(row).ok()?;
            let row = (words[ID] == epoch).then(|| FileRow::decode(&words))??;
            Some(FileEntry::from_row(&row))
        })
    }

    fn epoch(&self) -> u64 {
        // Rows begin with epoch 0, and no table ever has it.
        self.epoch.map_or(u64::MAX, |w| w.load(Ordering::Relaxed))
    }

    /// The rows of the set of this hash.
    fn set(&self, hash: u64) -> Option<impl Iterator<Item = &'a [AtomicU64]> + use<'a>> {
        let sets = (self.capacity() / WAYS) as u64;
        let set = usize::try_from(hash.checked_rem(sets)?).ok()?;
        let words = WAYS * self.stride;
        let rows = self.words.get(set * words..(set + 1) * words)?;
        Some(rows.chunks_exact(self.stride))
    }
}

/// A table of files and the right to change it: one process at a time.
#[derive(Clone, Copy, Debug)]
pub struct FilesWriter<'a>(FilesTable<'a>);

impl<'a> FilesWriter<'a> {
    pub(crate) fn new(table: FilesTable<'a>) -> Self {
        Self(table)
    }

    /// Changes the counts of a file, which is given a row if it has none. `now_used` grows from
    /// call to call: it tells which file was not used for longest. A path of more than 96 bytes
    /// is cut.
    pub fn update(
        &self,
        key: &FileKey,
        path: &str,
        now_used: u64,
        change: impl FnOnce(&mut FileStats),
    ) -> Placement {
        let path = Text::new(path);
        let hash = key.hash(&path);
        let epoch = self.0.epoch();
        let Some((row, found, placement)) = self.find(key, &path, hash, epoch) else {
            // A table without rows: as if the file had been evicted at once.
            return Placement::Evicted;
        };
        let mut stats = found.map_or_else(FileStats::default, |entry| entry.stats);
        change(&mut stats);
        let entry = FileEntry {
            key: *key,
            path,
            last_used: now_used,
            stats,
        };
        record::store(row, epoch, &entry.to_row());
        placement
    }

    /// The row of the file, or the best one to give it.
    fn find(
        &self,
        key: &FileKey,
        path: &Text<12>,
        hash: u64,
        epoch: u64,
    ) -> Option<(&'a [AtomicU64], Option<FileEntry>, Placement)> {
        let mut best: Option<(&[AtomicU64], u64)> = None;
        let mut free = None;
        for row in self.0.set(hash)? {
            // The only writer reads its own words: no sequence needed.
            let word = |i: usize| row.get(i).map_or(0, |w| w.load(Ordering::Relaxed));
            if word(SEQUENCE) & 1 == 1 || word(ID) != epoch {
                free = free.or(Some(row));
                continue;
            }
            if word(KEY_HASH) == hash
                && let Some(entry) = Self::entry(row)
                && entry.is(key, path)
            {
                return Some((row, Some(entry), Placement::Found));
            }
            let used = word(LAST_USED);
            if best.is_none_or(|(_, least)| used < least) {
                best = Some((row, used));
            }
        }
        match free {
            Some(row) => Some((row, None, Placement::Inserted)),
            None => best.map(|(row, _)| (row, None, Placement::Evicted)),
        }
    }

    fn entry(row: &[AtomicU64]) -> Option<FileEntry> {
        let words = record::load::<FileRow>(row).ok()?;
        FileRow::decode(&words).map(|row| FileEntry::from_row(&row))
    }
}

impl<'a> Deref for FilesWriter<'a> {
    type Target = FilesTable<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
