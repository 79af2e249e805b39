//! `ckpt_stats_timeline`: one row per second, the newest first.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the ring `timeline`.
//! *Never:* fills in a second that nobody saw.

use super::time;
use crate::value::{At, ms};
use serde::{Deserialize, Serialize};
use statseg::View;

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Second {
    pub(crate) at: At,
    pub(crate) checkpoint_id: Option<u64>,
    pub(crate) checkpoint_phase: String,
    pub(crate) commits: u64,
    pub(crate) rollbacks: u64,
    pub(crate) active_backends: u64,
    pub(crate) stalled_time: f64,
    pub(crate) longest_transaction_time: Option<f64>,
    pub(crate) transaction_p99_time: Option<f64>,
    pub(crate) buffers_written: Option<u64>,
    pub(crate) writeback_bytes: u64,
    pub(crate) os_dirty_bytes: Option<u64>,
    pub(crate) os_writeback_bytes: Option<u64>,
    pub(crate) wal_bytes: Option<u64>,
    pub(crate) device_write_ops: Option<u64>,
    pub(crate) device_write_bytes: Option<u64>,
    pub(crate) device_in_flight: Option<u64>,
}

impl Second {
    /// At most this many rows of a segment, the newest first.
    pub(crate) fn read(view: View<'_>, most: usize) -> Vec<Self> {
        let ring = view.timeline();
        let newest = ring.newest(most.min(ring.capacity()));
        newest.map(|(_, row)| Self::of(&row)).collect()
    }

    fn of(row: &statseg::Second) -> Self {
        Self {
            at: At(row.at),
            checkpoint_id: row.checkpoint_id,
            checkpoint_phase: row.phase.to_string(),
            commits: row.commits,
            rollbacks: row.rollbacks,
            active_backends: row.active_backends,
            stalled_time: ms(row.stalled_ns),
            longest_transaction_time: time(row.longest_transaction_ns),
            transaction_p99_time: time(row.transaction_p99_ns),
            buffers_written: row.buffers_written,
            writeback_bytes: row.writeback_bytes,
            os_dirty_bytes: row.os_dirty_bytes,
            os_writeback_bytes: row.os_writeback_bytes,
            wal_bytes: row.wal_bytes,
            device_write_ops: row.device_write_ops,
            device_write_bytes: row.device_write_bytes,
            device_in_flight: row.device_in_flight,
        }
    }
}
