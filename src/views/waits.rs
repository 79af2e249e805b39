//! `ckpt_stats_waits`: what the processes of the server were found waiting for.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the table `waits`.
//! *Never:* shows a wait that was not found since the last reset.

use std::collections::HashMap;

use statseg::{CheckpointPhase, Segment};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let waits: Vec<_> = segment.view().waits().iter().collect();
    let mut all: HashMap<_, u64> = HashMap::new();
    for (phase, _) in CheckpointPhase::ALL {
        for wait in &waits {
            *all.entry((wait.backend_type, *phase)).or_default() += wait.samples(*phase);
        }
    }
    for wait in &waits {
        for (phase, _) in CheckpointPhase::ALL {
            let samples = wait.samples(*phase);
            let whole = all.get(&(wait.backend_type, *phase)).copied();
            if samples == 0 {
                continue;
            }
            rows.push([
                Field::text(wait.backend_type.as_str()),
                Field::file(wait.wait_type),
                Field::file(wait.wait_event),
                Field::text(phase.as_str()),
                Field::count(samples),
                Field::from(whole.map(|whole| samples as f64 / whole as f64)),
            ]);
        }
    }
}
