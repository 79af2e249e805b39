//! `ckpt_stats_stalls`: the stall that is going on, then the past ones, the newest first.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the record `stall` and the ring `stalls`.
//! *Never:* shows a stall twice: it is going on until it is in the ring.

use super::text;
use crate::value::{At, ms};
use serde::{Deserialize, Serialize};
use statseg::View;

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stall {
    pub(crate) started_at: At,
    pub(crate) stalled_time: f64,
    pub(crate) ongoing: bool,
    pub(crate) checkpoint_id: Option<u64>,
    pub(crate) checkpoint_phase: String,
    pub(crate) current_file: Option<String>,
    pub(crate) active_backends: u64,
    pub(crate) commits_before: u64,
    pub(crate) top_wait_event_type: Option<String>,
    pub(crate) top_wait_event: Option<String>,
}

impl Stall {
    /// Of a segment, the stall that is going on and at most this many past ones.
    pub(crate) fn read(view: View<'_>, most: usize) -> Vec<Self> {
        // In this order, so that one that ends meanwhile is not left out.
        let current = view.stall().read().ok().filter(|stall| stall.ongoing);
        let ring = view.stalls();
        let past = ring.newest(most.min(ring.capacity()));
        let past = past
            .map(|(_, stall)| stall)
            .filter(|stall| current.is_none_or(|now| now.started_at != stall.started_at));
        current.into_iter().chain(past).map(Self::of).collect()
    }

    fn of(row: statseg::Stall) -> Self {
        Self {
            started_at: At(row.started_at),
            stalled_time: ms(row.stalled_ns),
            ongoing: row.ongoing,
            checkpoint_id: row.checkpoint_id,
            checkpoint_phase: row.phase.to_string(),
            current_file: text(row.current_file),
            active_backends: row.active_backends,
            commits_before: row.commits_before,
            top_wait_event_type: text(row.top_wait_type),
            top_wait_event: text(row.top_wait_event),
        }
    }
}
