//! `ckpt_stats_commands`: what client backends spent their time with.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the backends' slots.
//! *Never:* leaves out a pair that was never seen: its count is 0.

use statseg::{CheckpointPhase, Command, Metric, Segment};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let view = segment.view();
    for (command, _) in Command::ALL {
        for (phase, _) in CheckpointPhase::ALL {
            let value = view.read(Metric::command(*command, *phase));
            let percentile = |q| Field::time(value.percentile(q));
            rows.push([
                Field::text(command.as_str()),
                Field::text(phase.as_str()),
                Field::count(value.count),
                Field::time(value.total),
                Field::time(value.min),
                Field::time(value.max),
                Field::from(value.mean().map(|ns| ns / 1e6)),
                percentile(0.5),
                percentile(0.9),
                percentile(0.99),
                percentile(0.999),
            ]);
        }
    }
}
