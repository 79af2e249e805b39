//! `ckpt_stats_info`: the library, its segment, and what it found on its machine.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the segment's header.
//! *Never:* asks this machine what only the server can know.

use crate::value::At;
use serde::{Deserialize, Serialize};
use statseg::View;
use std::path::Path;

/// The row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Info {
    /// The version of the library, which the segment does not hold: known from SQL only. So are
    /// the last three columns.
    pub(crate) version: Option<String>,
    pub(crate) layout_version: u64,
    pub(crate) generation: u64,
    pub(crate) segment_path: String,
    pub(crate) segment_bytes: u64,
    pub(crate) started_at: At,
    pub(crate) stats_reset: Option<At>,
    pub(crate) cachestat: Option<bool>,
    pub(crate) sync_file_range: Option<bool>,
    pub(crate) device_counters: Option<bool>,
}

impl Info {
    /// The row of a segment.
    pub(crate) fn read(view: View<'_>, path: &Path) -> Self {
        Self {
            layout_version: view.layout_version(),
            generation: view.generation(),
            segment_path: path.to_string_lossy().into_owned(),
            segment_bytes: view.bytes(),
            started_at: At(view.created_at()),
            stats_reset: view.reset_times().counters.map(At),
            ..Self::default()
        }
    }
}
