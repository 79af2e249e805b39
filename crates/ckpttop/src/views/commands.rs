//! `ckpt_stats_commands`: what client backends spent their time with, by checkpoint phase.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the backends' slots.
//! *Never:* is read without need: each row is a sum over all processes of the server.

use super::time;
use crate::value::ms;
use serde::{Deserialize, Serialize};
use statseg::{CheckpointPhase, Metric, View};

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Command {
    pub(crate) command: String,
    pub(crate) checkpoint_phase: String,
    pub(crate) count: u64,
    pub(crate) total_time: f64,
    pub(crate) min_time: Option<f64>,
    pub(crate) max_time: Option<f64>,
    pub(crate) mean_time: Option<f64>,
    pub(crate) p50_time: Option<f64>,
    pub(crate) p90_time: Option<f64>,
    pub(crate) p99_time: Option<f64>,
    pub(crate) p999_time: Option<f64>,
}

impl Command {
    /// All rows of a segment: each command with each phase, in this order.
    pub(crate) fn read(view: View<'_>) -> Vec<Self> {
        let commands = statseg::Command::ALL.iter();
        let pairs = commands.flat_map(|(command, _)| {
            let phases = CheckpointPhase::ALL.iter();
            phases.map(|(phase, _)| (*command, *phase))
        });
        pairs
            .map(|(command, phase)| Self::of(view, command, phase))
            .collect()
    }

    fn of(view: View<'_>, command: statseg::Command, phase: CheckpointPhase) -> Self {
        let value = view.read(Metric::command(command, phase));
        Self {
            command: command.to_string(),
            checkpoint_phase: phase.to_string(),
            count: value.count,
            total_time: ms(value.total),
            min_time: time(value.min),
            max_time: time(value.max),
            mean_time: value.mean().map(|ns| ns / 1e6),
            p50_time: time(value.percentile(0.5)),
            p90_time: time(value.percentile(0.9)),
            p99_time: time(value.percentile(0.99)),
            p999_time: time(value.percentile(0.999)),
        }
    }
}
