//! `ckpt_stats_flush`: what the flusher is doing.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the flusher's `flush_state`, the
//! checkpointer's `takeover` and the flusher's counters.
//! *Never:* shows the state of a flusher that is away as if it were there.

use super::time;
use crate::value::{At, ms};
use serde::{Deserialize, Serialize};
use statseg::{FlushMode, FlushState, Metric, View};

/// The flusher looks more often than this; if not, it hangs or is gone. As in the extension.
const ALIVE_MS: f64 = 1000.0;

/// The row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Flush {
    pub(crate) state: String,
    pub(crate) takeover: bool,
    pub(crate) queue_bytes: Option<u64>,
    pub(crate) queue_cost_time: Option<f64>,
    pub(crate) in_flight_bytes: Option<u64>,
    pub(crate) device_ops_per_second: Option<u64>,
    pub(crate) device_bytes_per_second: Option<u64>,
    pub(crate) rate_bytes: Option<u64>,
    /// A setting, which the segment does not hold: known from SQL only.
    pub(crate) target_delay_time: Option<f64>,
    pub(crate) commit_mean_time: Option<f64>,
    pub(crate) deadline_at: Option<At>,
    pub(crate) deadlines_missed: u64,
    pub(crate) sweep_files: Option<u64>,
    pub(crate) sweep_time: Option<f64>,
}

impl Flush {
    /// The row of a segment, as it was when the server last moved: of a stopped server the last
    /// state is of interest, of a flusher that is away while others move it is not.
    pub(crate) fn read(view: View<'_>, moved_at: At) -> Self {
        let state = view.flush_state().read().unwrap_or_default();
        let state = if moved_at.ms_since(At(state.heartbeat_at)) < ALIVE_MS {
            state
        } else {
            FlushState::default()
        };
        let on = state.mode != FlushMode::Off;
        let takeover = view.takeover().read().unwrap_or_default();
        Self {
            state: state.mode.to_string(),
            takeover: on && takeover.active,
            queue_bytes: on.then_some(state.queue_bytes),
            queue_cost_time: on.then(|| ms(state.queue_cost_ns)),
            in_flight_bytes: on.then_some(state.in_flight_bytes),
            device_ops_per_second: state.device_operations,
            device_bytes_per_second: state.device_bytes,
            rate_bytes: on.then_some(state.rate_bytes),
            target_delay_time: None,
            commit_mean_time: time(state.commit_mean_ns),
            deadline_at: state.deadline_at.map(At),
            deadlines_missed: view.read(Metric::DeadlinesMissed).count,
            sweep_files: on.then_some(state.sweep_files),
            sweep_time: on.then(|| ms(state.sweep_ns)),
        }
    }
}
