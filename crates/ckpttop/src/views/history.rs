//! `ckpt_stats_history`: one row per finished checkpoint, the newest first.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the ring `history`.
//! *Never:* shows rows from before the last reset.

use super::{text, time};
use crate::value::{At, Lsn};
use serde::{Deserialize, Serialize};
use statseg::{Cause, View};

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct History {
    pub(crate) checkpoint_id: u64,
    pub(crate) kind: String,
    pub(crate) cause: Option<String>,
    pub(crate) result: String,
    pub(crate) started_at: At,
    pub(crate) ended_at: At,
    pub(crate) redo_lsn: Option<Lsn>,
    pub(crate) buffers_written: Option<u64>,
    pub(crate) slru_written: Option<u64>,
    pub(crate) write_time: Option<f64>,
    pub(crate) sync_time: Option<f64>,
    pub(crate) total_time: Option<f64>,
    pub(crate) files_synced: Option<u64>,
    pub(crate) longest_sync_time: Option<f64>,
    pub(crate) longest_sync_file: Option<String>,
    pub(crate) average_sync_time: Option<f64>,
    pub(crate) wal_added: Option<u64>,
    pub(crate) wal_removed: Option<u64>,
    pub(crate) wal_recycled: Option<u64>,
    pub(crate) distance_bytes: Option<u64>,
    pub(crate) estimate_bytes: Option<u64>,
    pub(crate) writeback_bytes: Option<u64>,
    pub(crate) sync_pause_time: Option<f64>,
    pub(crate) commits: Option<u64>,
    pub(crate) stalled_time: Option<f64>,
    pub(crate) longest_transaction_time: Option<f64>,
    pub(crate) transaction_p99_time: Option<f64>,
    pub(crate) transaction_p999_time: Option<f64>,
    pub(crate) outside_p99_time: Option<f64>,
    pub(crate) outside_p999_time: Option<f64>,
}

impl History {
    /// At most this many rows of a segment, the newest first.
    pub(crate) fn read(view: View<'_>, most: usize) -> Vec<Self> {
        let ring = view.history();
        let newest = ring.newest(most.min(ring.capacity()));
        newest.map(|(_, row)| Self::of(&row)).collect()
    }

    fn of(row: &statseg::History) -> Self {
        Self {
            checkpoint_id: row.checkpoint_id,
            kind: row.kind.to_string(),
            cause: row.cause.map(Cause::as_str).map(str::to_owned),
            result: row.outcome.to_string(),
            started_at: At(row.started_at),
            ended_at: At(row.ended_at),
            redo_lsn: row.redo_lsn.map(Lsn),
            buffers_written: row.buffers_written,
            slru_written: row.slru_written,
            write_time: time(row.write_ns),
            sync_time: time(row.sync_ns),
            total_time: time(row.total_ns),
            files_synced: row.files_synced,
            longest_sync_time: time(row.longest_sync_ns),
            longest_sync_file: text(row.longest_sync_file),
            average_sync_time: time(row.average_sync_ns),
            wal_added: row.wal_added,
            wal_removed: row.wal_removed,
            wal_recycled: row.wal_recycled,
            distance_bytes: row.distance_bytes,
            estimate_bytes: row.estimate_bytes,
            writeback_bytes: row.writeback_bytes,
            sync_pause_time: time(row.sync_pause_ns),
            commits: row.commits,
            stalled_time: time(row.stalled_ns),
            longest_transaction_time: time(row.longest_transaction_ns),
            transaction_p99_time: time(row.transaction_p99_ns),
            transaction_p999_time: time(row.transaction_p999_ns),
            outside_p99_time: time(row.outside_p99_ns),
            outside_p999_time: time(row.outside_p999_ns),
        }
    }
}
