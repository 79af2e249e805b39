//! `ckpt_stats_files`: one row per file that checkpoints wrote or synced, or the flusher wrote
//! back; the longest sync time first.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the tables `files_synced` (written by the
//! checkpointer), `files_written` (by the monitor) and `files_flushed` (by the flusher) and
//! joins them.
//! *Never:* opens a file.

use super::time;
use serde::{Deserialize, Serialize};
use statseg::{FileEntry, FileKey, FileStats, Text, View};
use std::collections::HashMap;

const FORKS: [&str; 4] = ["main", "fsm", "vm", "init"];

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct File {
    #[serde(deserialize_with = "oid")]
    pub(crate) database: Option<u32>,
    #[serde(deserialize_with = "oid")]
    pub(crate) tablespace: Option<u32>,
    #[serde(deserialize_with = "oid")]
    pub(crate) relfilenode: Option<u32>,
    pub(crate) fork: Option<String>,
    pub(crate) segment: Option<u32>,
    pub(crate) path: String,
    pub(crate) buffers_written: u64,
    pub(crate) writeback_bytes: u64,
    pub(crate) syncs: u64,
    pub(crate) sync_time: f64,
    pub(crate) min_sync_time: Option<f64>,
    pub(crate) max_sync_time: Option<f64>,
    pub(crate) last_sync_time: Option<f64>,
    pub(crate) os_dirty_bytes: Option<u64>,
}

/// PostgreSQL writes an OID into JSON as text.
fn oid<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Oid {
        Number(u32),
        Text(String),
    }
    Ok(match Option::deserialize(deserializer)? {
        Some(Oid::Number(oid)) => Some(oid),
        Some(Oid::Text(oid)) => Some(oid.parse().map_err(serde::de::Error::custom)?),
        None => None,
    })
}

impl File {
    /// All rows of a segment.
    pub(crate) fn read(view: View<'_>) -> Vec<Self> {
        // Three tables with a writer each; a file may be in any of them.
        let mut files: HashMap<(FileKey, Text<12>), FileStats> = HashMap::new();
        let all = view
            .files_synced()
            .iter()
            .chain(view.files_written().iter())
            .chain(view.files_flushed().iter());
        for FileEntry {
            key, path, stats, ..
        } in all
        {
            add(files.entry((key, path)).or_default(), &stats);
        }
        let mut rows: Vec<_> = files
            .iter()
            .map(|((key, path), stats)| Self::of(key, path, stats))
            .collect();
        sort(&mut rows);
        rows
    }

    fn of(key: &FileKey, path: &Text<12>, stats: &FileStats) -> Self {
        let identity = match *key {
            FileKey::Relation {
                tablespace,
                database,
                relfilenode,
                fork,
                segment,
            } => Self {
                // 0 is no OID.
                database: Some(database).filter(|oid| *oid != 0),
                tablespace: Some(tablespace).filter(|oid| *oid != 0),
                relfilenode: Some(relfilenode).filter(|oid| *oid != 0),
                fork: usize::try_from(fork)
                    .ok()
                    .and_then(|fork| FORKS.get(fork))
                    .map(|fork| (*fork).to_owned()),
                segment: Some(segment),
                ..Self::default()
            },
            FileKey::Path => Self::default(),
        };
        Self {
            path: path.as_str().to_owned(),
            buffers_written: stats.buffers_written,
            writeback_bytes: stats.writeback_bytes,
            syncs: stats.syncs,
            sync_time: crate::value::ms(stats.sync_total_ns),
            min_sync_time: time(stats.sync_min_ns),
            max_sync_time: time(stats.sync_max_ns),
            last_sync_time: time(stats.sync_last_ns),
            os_dirty_bytes: stats.os_dirty_bytes,
            ..identity
        }
    }
}

/// Adds what one table knows of a file to what the others know.
fn add(sum: &mut FileStats, stats: &FileStats) {
    sum.buffers_written = sum.buffers_written.saturating_add(stats.buffers_written);
    sum.writeback_bytes = sum.writeback_bytes.saturating_add(stats.writeback_bytes);
    sum.os_dirty_bytes = sum.os_dirty_bytes.or(stats.os_dirty_bytes);
    if stats.syncs > 0 {
        sum.syncs = stats.syncs;
        sum.sync_total_ns = stats.sync_total_ns;
        sum.sync_min_ns = stats.sync_min_ns;
        sum.sync_max_ns = stats.sync_max_ns;
        sum.sync_last_ns = stats.sync_last_ns;
    }
}

/// The files that took longest come first, then those written most.
fn sort(rows: &mut [File]) {
    rows.sort_by(|a, b| {
        b.sync_time
            .total_cmp(&a.sync_time)
            .then_with(|| b.buffers_written.cmp(&a.buffers_written))
            .then_with(|| b.writeback_bytes.cmp(&a.writeback_bytes))
            .then_with(|| a.path.cmp(&b.path))
    });
}
