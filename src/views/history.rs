//! `ckpt_stats_history`: one row per finished checkpoint, the newest first.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the ring `history`.
//! *Never:* shows rows from before the last reset.

use statseg::{Cause, Segment};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let history = segment.history();
    // Newest first, as a DBA looks at it.
    for (_, row) in history.newest(history.capacity()) {
        rows.push([
            Field::count(row.checkpoint_id),
            Field::text(row.kind.as_str()),
            Field::word(row.cause.map(Cause::as_str)),
            Field::text(row.outcome.as_str()),
            Field::at(row.started_at),
            Field::at(row.ended_at),
            Field::lsn(row.redo_lsn),
            Field::count(row.buffers_written),
            Field::count(row.slru_written),
            Field::time(row.write_ns),
            Field::time(row.sync_ns),
            Field::time(row.total_ns),
            Field::count(row.files_synced),
            Field::time(row.longest_sync_ns),
            Field::file(row.longest_sync_file),
            Field::time(row.average_sync_ns),
            Field::count(row.wal_added),
            Field::count(row.wal_removed),
            Field::count(row.wal_recycled),
            Field::count(row.distance_bytes),
            Field::count(row.estimate_bytes),
            Field::count(row.writeback_bytes),
            Field::time(row.sync_pause_ns),
            Field::count(row.commits),
            Field::time(row.stalled_ns),
            Field::time(row.longest_transaction_ns),
            Field::time(row.transaction_p99_ns),
            Field::time(row.transaction_p999_ns),
            Field::time(row.outside_p99_ns),
            Field::time(row.outside_p999_ns),
        ]);
    }
}
