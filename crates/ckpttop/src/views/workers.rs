//! `ckpt_stats_workers`: the background workers and how they are.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the workers' records.
//! *Never:* looks for their processes.

use super::text;
use crate::value::At;
use serde::{Deserialize, Serialize};
use statseg::View;

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) pid: Option<u32>,
    pub(crate) state: String,
    pub(crate) restarts: u64,
    pub(crate) last_error: Option<String>,
    pub(crate) last_error_at: Option<At>,
    pub(crate) last_active_at: Option<At>,
}

impl Worker {
    /// All rows of a segment.
    pub(crate) fn read(view: View<'_>) -> Vec<Self> {
        let rows = (0..view.worker_count()).filter_map(|index| view.worker(index).read().ok());
        rows.filter(|row| !row.name.is_empty())
            .map(|row| Self {
                name: row.name.as_str().to_owned(),
                pid: row.pid,
                state: row.state.to_string(),
                restarts: row.restarts,
                last_error: text(row.last_error),
                last_error_at: row.last_error_at.map(At),
                last_active_at: row.last_active_at.map(At),
            })
            .collect()
    }
}
