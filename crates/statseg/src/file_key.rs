//! What a row of the tables of files is known by, and what it counts.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* allocates.

use crate::records::FileRow;
use crate::text::Text;

/// What a file is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKey {
    /// A file of a relation.
    Relation {
        /// Object identifier of the tablespace.
        tablespace: u32,
        /// Object identifier of the database; 0 for shared relations.
        database: u32,
        /// The relation's file number.
        relfilenode: u32,
        /// Number of the fork.
        fork: u32,
        /// Number of the segment file.
        segment: u32,
    },
    /// Any other file: known by the path given with it, such as `pg_xact/0000`.
    Path,
}

/// What is counted of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Buffers written to it.
    pub buffers_written: u64,
    /// Bytes our writeback issued for it.
    pub writeback_bytes: u64,
    /// How often it was synced.
    pub syncs: u64,
    /// All syncs together.
    pub sync_total_ns: u64,
    /// The shortest sync.
    pub sync_min_ns: Option<u64>,
    /// The longest sync.
    pub sync_max_ns: Option<u64>,
    /// The last sync.
    pub sync_last_ns: Option<u64>,
    /// Dirty bytes of it that the last sweep found in the kernel's page cache.
    pub os_dirty_bytes: Option<u64>,
}

impl FileStats {
    /// Counts one sync.
    pub fn record_sync(&mut self, ns: u64) {
        self.syncs += 1;
        self.sync_total_ns = self.sync_total_ns.wrapping_add(ns);
        self.sync_min_ns = Some(self.sync_min_ns.map_or(ns, |min| min.min(ns)));
        self.sync_max_ns = Some(self.sync_max_ns.map_or(ns, |max| max.max(ns)));
        self.sync_last_ns = Some(ns);
    }
}

/// One file of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// What it is known by.
    pub key: FileKey,
    /// Its path below the data directory.
    pub path: Text<12>,
    /// The number its last use was given.
    pub last_used: u64,
    /// What was counted.
    pub stats: FileStats,
}

/// Spreads the bits of a number; from 0 it does not stay 0.
const fn mix(mut hash: u64, word: u64) -> u64 {
    hash ^= word;
    hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ (hash >> 29)
}

impl FileKey {
    /// A hash of the key: of the path only where the path is the key.
    pub(crate) fn hash(&self, path: &Text<12>) -> u64 {
        let seed = 0x636B_7074_666C_7573;
        match *self {
            Self::Relation {
                tablespace,
                database,
                relfilenode,
                fork,
                segment,
            } => {
                let words = [
                    1 | u64::from(tablespace) << 32,
                    u64::from(database) << 32 | u64::from(relfilenode),
                    u64::from(fork) << 32 | u64::from(segment),
                ];
                words.into_iter().fold(seed, mix)
            }
            Self::Path => path.to_words().into_iter().fold(seed, mix),
        }
    }
}

impl FileEntry {
    /// Whether the entry is the file of this key and path.
    pub(crate) fn is(&self, key: &FileKey, path: &Text<12>) -> bool {
        self.key == *key && (*key != FileKey::Path || self.path == *path)
    }

    pub(crate) fn to_row(self) -> FileRow {
        let (relation, [tablespace, database, relfilenode, fork, segment]) = match self.key {
            FileKey::Relation {
                tablespace,
                database,
                relfilenode,
                fork,
                segment,
            } => (true, [tablespace, database, relfilenode, fork, segment]),
            FileKey::Path => (false, [0; 5]),
        };
        FileRow {
            key_hash: self.key.hash(&self.path),
            last_used: self.last_used,
            relation,
            tablespace,
            database,
            relfilenode,
            fork,
            segment,
            path: self.path,
            buffers_written: self.stats.buffers_written,
            writeback_bytes: self.stats.writeback_bytes,
            syncs: self.stats.syncs,
            sync_total_ns: self.stats.sync_total_ns,
            sync_min_ns: self.stats.sync_min_ns,
            sync_max_ns: self.stats.sync_max_ns,
            sync_last_ns: self.stats.sync_last_ns,
            os_dirty_bytes: self.stats.os_dirty_bytes,
        }
    }

    pub(crate) fn from_row(row: &FileRow) -> Self {
        let key = if row.relation {
            FileKey::Relation {
                tablespace: row.tablespace,
                database: row.database,
                relfilenode: row.relfilenode,
                fork: row.fork,
                segment: row.segment,
            }
        } else {
            FileKey::Path
        };
        Self {
            key,
            path: row.path,
            last_used: row.last_used,
            stats: FileStats {
                buffers_written: row.buffers_written,
                writeback_bytes: row.writeback_bytes,
                syncs: row.syncs,
                sync_total_ns: row.sync_total_ns,
                sync_min_ns: row.sync_min_ns,
                sync_max_ns: row.sync_max_ns,
                sync_last_ns: row.sync_last_ns,
                os_dirty_bytes: row.os_dirty_bytes,
            },
        }
    }
}
