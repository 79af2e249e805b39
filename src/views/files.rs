//! `ckpt_stats_files`: one row per file that checkpoints wrote or synced.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the tables `files_synced`
//! (written by the checkpointer), `files_written` (by the monitor) and `files_flushed` (by the
//! flusher) and joins them.
//! *Never:* opens a file.

use std::collections::HashMap;

use statseg::{FileEntry, FileKey, FileStats, Segment, Text};

use super::rows::{Field, Rows};

const FORKS: [&str; 4] = ["main", "fsm", "vm", "init"];

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    // Three tables with a writer each; a file may be in any of them.
    let mut files: HashMap<(FileKey, Text<12>), FileStats> = HashMap::new();
    let view = segment.view();
    let all = view
        .files_synced()
        .iter()
        .chain(view.files_written().iter())
        .chain(view.files_flushed().iter());
    for FileEntry {
        key, path, stats, ..
    } in all
    {
        let sum = files.entry((key, path)).or_default();
        sum.buffers_written += stats.buffers_written;
        sum.writeback_bytes += stats.writeback_bytes;
        sum.os_dirty_bytes = sum.os_dirty_bytes.or(stats.os_dirty_bytes);
        if stats.syncs > 0 {
            sum.syncs = stats.syncs;
            sum.sync_total_ns = stats.sync_total_ns;
            sum.sync_min_ns = stats.sync_min_ns;
            sum.sync_max_ns = stats.sync_max_ns;
            sum.sync_last_ns = stats.sync_last_ns;
        }
    }
    for ((key, path), stats) in files {
        let [database, tablespace, relfilenode, fork, segment] = identity(&key);
        rows.push([
            database,
            tablespace,
            relfilenode,
            fork,
            segment,
            Field::text(path.as_str()),
            Field::count(stats.buffers_written),
            Field::count(stats.writeback_bytes),
            Field::count(stats.syncs),
            Field::time(stats.sync_total_ns),
            Field::time(stats.sync_min_ns),
            Field::time(stats.sync_max_ns),
            Field::time(stats.sync_last_ns),
            Field::count(stats.os_dirty_bytes),
        ]);
    }
}

/// Database, tablespace, relfilenode, fork and segment; all NULL for a file of no relation.
fn identity(key: &FileKey) -> [Field; 5] {
    match *key {
        FileKey::Relation {
            tablespace,
            database,
            relfilenode,
            fork,
            segment,
        } => [
            Field::oid(database),
            Field::oid(tablespace),
            Field::oid(relfilenode),
            Field::word(
                usize::try_from(fork)
                    .ok()
                    .and_then(|fork| FORKS.get(fork).copied()),
            ),
            Field::from(i32::try_from(segment).ok()),
        ],
        FileKey::Path => [const { Field::NULL }; 5],
    }
}
