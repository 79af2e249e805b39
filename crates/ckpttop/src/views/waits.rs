//! `ckpt_stats_waits`: what the processes of the server were found waiting for.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the table `waits`.
//! *Never:* shows a wait that was not found since the last reset.

use super::text;
use serde::{Deserialize, Serialize};
use statseg::{CheckpointPhase, View};
use std::collections::HashMap;

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Wait {
    pub(crate) backend_type: String,
    pub(crate) wait_event_type: Option<String>,
    pub(crate) wait_event: Option<String>,
    pub(crate) checkpoint_phase: String,
    pub(crate) samples: u64,
    pub(crate) share: Option<f64>,
}

impl Wait {
    /// All rows of a segment.
    pub(crate) fn read(view: View<'_>) -> Vec<Self> {
        let waits: Vec<_> = view.waits().iter().collect();
        let phases = CheckpointPhase::ALL.iter().map(|(phase, _)| *phase);
        let pairs = waits
            .iter()
            .flat_map(|wait| phases.clone().map(move |phase| (wait, phase)))
            .filter(|(wait, phase)| wait.samples(*phase) > 0);
        let mut all: HashMap<_, u64> = HashMap::new();
        for (wait, phase) in pairs.clone() {
            *all.entry((wait.backend_type, phase)).or_default() += wait.samples(phase);
        }
        pairs
            .map(|(wait, phase)| {
                let samples = wait.samples(phase);
                let whole = all.get(&(wait.backend_type, phase));
                Self {
                    backend_type: wait.backend_type.as_str().to_owned(),
                    wait_event_type: text(wait.wait_type),
                    wait_event: text(wait.wait_event),
                    checkpoint_phase: phase.to_string(),
                    samples,
                    share: whole.map(|whole| samples as f64 / *whole as f64),
                }
            })
            .collect()
    }
}
