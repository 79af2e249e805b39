//! `ckpt_stats_progress`: the running checkpoint, or nothing.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the monitor's `progress`.
//! *Never:* shows a checkpoint that has ended.

use super::{text, time};
use crate::value::{At, Lsn};
use serde::{Deserialize, Serialize};
use statseg::{Cause, View};

/// Size of a buffer: BLCKSZ, which nobody changes; the segment does not have it.
const BLOCK: u64 = 8192;

/// The row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Progress {
    pub(crate) checkpoint_id: u64,
    pub(crate) pid: u32,
    pub(crate) kind: String,
    pub(crate) cause: Option<String>,
    pub(crate) phase: String,
    pub(crate) started_at: At,
    pub(crate) elapsed_time: f64,
    pub(crate) redo_lsn: Option<Lsn>,
    pub(crate) buffers_total: Option<u64>,
    pub(crate) buffers_done: Option<u64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) bytes_done: Option<u64>,
    pub(crate) files_total_estimate: Option<u64>,
    pub(crate) files_done: Option<u64>,
    pub(crate) current_file: Option<String>,
    pub(crate) write_rate_bytes: Option<u64>,
    pub(crate) queue_bytes: Option<u64>,
    pub(crate) os_dirty_bytes: Option<u64>,
    pub(crate) os_writeback_bytes: Option<u64>,
    pub(crate) sync_forecast_time: Option<f64>,
    pub(crate) scheduled_end_at: Option<At>,
    pub(crate) eta_at: Option<At>,
    pub(crate) on_schedule: Option<bool>,
}

impl Progress {
    /// The row of a segment at this moment.
    pub(crate) fn read(view: View<'_>, now: At) -> Option<Self> {
        let row = view.progress().read().ok().filter(|row| row.active)?;
        let bytes = |buffers: Option<u64>| buffers.map(|buffers| buffers.saturating_mul(BLOCK));
        Some(Self {
            checkpoint_id: row.checkpoint_id,
            pid: row.pid,
            kind: row.kind.to_string(),
            cause: row.cause.map(Cause::as_str).map(str::to_owned),
            phase: row.phase.to_string(),
            started_at: At(row.started_at),
            elapsed_time: now.ms_since(At(row.started_at)),
            redo_lsn: row.redo_lsn.map(Lsn),
            buffers_total: row.buffers_total,
            buffers_done: row.buffers_done,
            bytes_total: bytes(row.buffers_total),
            bytes_done: bytes(row.buffers_done),
            files_total_estimate: row.files_total_estimate,
            files_done: row.files_done,
            current_file: text(row.current_file),
            write_rate_bytes: row.write_rate_bytes,
            queue_bytes: row.queue_bytes,
            os_dirty_bytes: row.os_dirty_bytes,
            os_writeback_bytes: row.os_writeback_bytes,
            sync_forecast_time: time(row.sync_forecast_ns),
            scheduled_end_at: row.scheduled_end_at.map(At),
            eta_at: row.eta_at.map(At),
            on_schedule: row.on_schedule,
        })
    }

    /// How much of the present phase is done, 0 to 1; `None` when that is not known.
    pub(crate) fn share(&self) -> Option<f64> {
        let (done, total) = match self.phase.as_str() {
            "syncing files" => (self.files_done, self.files_total_estimate),
            "finishing" => return Some(1.0),
            _ => (self.buffers_done, self.buffers_total),
        };
        let share = done? as f64 / total.filter(|total| *total > 0)? as f64;
        Some(share.clamp(0.0, 1.0))
    }
}
