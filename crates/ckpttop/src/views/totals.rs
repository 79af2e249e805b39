//! `ckpt_stats`: what all checkpoints together did.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the workers' and the checkpointer's
//! counters.
//! *Never:* adds up the history: that forgets.

use crate::value::{At, ms};
use serde::{Deserialize, Serialize};
use statseg::{Metric, View};

/// The row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Totals {
    pub(crate) num_timed: u64,
    pub(crate) num_requested: u64,
    pub(crate) num_done: u64,
    pub(crate) num_failed: u64,
    pub(crate) restartpoints_timed: u64,
    pub(crate) restartpoints_req: u64,
    pub(crate) restartpoints_done: u64,
    pub(crate) write_time: f64,
    pub(crate) sync_time: f64,
    pub(crate) buffers_written: u64,
    pub(crate) slru_written: Option<u64>,
    pub(crate) files_synced: u64,
    pub(crate) longest_sync_time: Option<f64>,
    pub(crate) writeback_bytes: u64,
    pub(crate) writeback_calls: u64,
    pub(crate) sync_pause_time: f64,
    pub(crate) stalls: Option<u64>,
    pub(crate) stalled_time: Option<f64>,
    pub(crate) stats_reset: Option<At>,
}

impl Totals {
    /// The row of a segment.
    pub(crate) fn read(view: View<'_>) -> Self {
        let count = |metric| view.read(metric).count;
        let longest = view.read(Metric::CheckpointLongestSyncTime).max;
        Self {
            num_timed: count(Metric::NumTimed),
            num_requested: count(Metric::NumRequested),
            num_done: count(Metric::NumDone),
            num_failed: count(Metric::NumFailed),
            restartpoints_timed: count(Metric::RestartpointsTimed),
            restartpoints_req: count(Metric::RestartpointsReq),
            restartpoints_done: count(Metric::RestartpointsDone),
            write_time: ms(count(Metric::WriteTime)),
            sync_time: ms(count(Metric::SyncTime)),
            buffers_written: count(Metric::BuffersWritten),
            // Before 18 SLRU pages are part of buffers_written.
            slru_written: (view.pg_version_num() >= 180_000).then(|| count(Metric::SlruWritten)),
            files_synced: count(Metric::FilesSynced),
            longest_sync_time: longest.map(ms),
            writeback_bytes: count(Metric::WritebackBytes),
            writeback_calls: count(Metric::WritebackCalls),
            sync_pause_time: ms(count(Metric::SyncPauseTime)),
            stalls: Some(count(Metric::Stalls)),
            stalled_time: Some(ms(count(Metric::StalledTime))),
            stats_reset: view.reset_times().counters.map(At),
        }
    }
}
