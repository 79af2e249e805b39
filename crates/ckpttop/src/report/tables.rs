//! The tables of a report.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* hides a row of checkpoints or stalls: only files and waits have an end.

use super::html::{Column, number, table, word};
use super::latency::Latency;
use crate::human::{UNKNOWN, bytes, count, known, time, wait};
use crate::recording::FileWork;
use crate::recording::read::Recording;
use crate::views::history::History;
use crate::views::stalls::Stall;
use crate::views::{self, PHASES};
use std::collections::HashMap;

/// Rows of the tables that end.
const MOST: usize = 20;

fn text(text: Option<&String>) -> String {
    text.map_or_else(|| UNKNOWN.to_owned(), Clone::clone)
}

const LATENCY: [Column<Latency>; 11] = [
    word("", |r| r.name.clone()),
    number("seconds", |r| count(r.seconds)),
    number("commits", |r| count(r.commits)),
    number("per second", |r| {
        known(r.rate(), |rate| format!("{rate:.1}"))
    }),
    number("stalled", |r| {
        if r.stalled > 0.0 {
            time(r.stalled)
        } else {
            "0".to_owned()
        }
    }),
    number("longest", |r| known(r.longest, time)),
    number("measured", |r| count(r.measured)),
    number("p50", |r| known(r.percentile(0.5), time)),
    number("p90", |r| known(r.percentile(0.9), time)),
    number("p99", |r| known(r.percentile(0.99), time)),
    number("p99.9", |r| known(r.percentile(0.999), time)),
];

/// Transactions inside and outside of checkpoints.
pub(super) fn latency(rows: &[Latency]) -> String {
    table(rows, &LATENCY)
}

const CHECKPOINTS: [Column<History>; 16] = [
    number("id", |r| r.checkpoint_id.to_string()),
    word("cause", |r| text(r.cause.as_ref())),
    word("result", |r| r.result.clone()),
    word("started", |r| r.started_at.clock()),
    number("total", |r| known(r.total_time, time)),
    number("write", |r| known(r.write_time, time)),
    number("sync", |r| known(r.sync_time, time)),
    number("buffers", |r| known(r.buffers_written, count)),
    number("files", |r| known(r.files_synced, count)),
    number("longest sync", |r| known(r.longest_sync_time, time)),
    word("of", |r| text(r.longest_sync_file.as_ref())),
    number("WAL", |r| known(r.distance_bytes, bytes)),
    number("commits", |r| known(r.commits, count)),
    number("stalled", |r| known(r.stalled_time, time)),
    number("p99", |r| known(r.transaction_p99_time, time)),
    number("p99 before it", |r| known(r.outside_p99_time, time)),
];

/// Checkpoints that ended.
pub(super) fn checkpoints(recording: &Recording) -> String {
    let rows: Vec<History> = recording.checkpoints.values().cloned().collect();
    some(&rows, &CHECKPOINTS, "No checkpoint ended.")
}

fn some<T>(rows: &[T], columns: &[Column<T>], nothing: &str) -> String {
    if rows.is_empty() {
        format!("<p class=\"none\">{nothing}</p>\n")
    } else {
        table(rows, columns)
    }
}

const STALLS: [Column<Stall>; 8] = [
    word("started", |r| r.started_at.clock()),
    number("length", |r| {
        let more = if r.ongoing { " and on" } else { "" };
        format!("{}{more}", time(r.stalled_time))
    }),
    number("checkpoint", |r| {
        known(r.checkpoint_id, |id| id.to_string())
    }),
    word("phase", |r| r.checkpoint_phase.clone()),
    number("backends", |r| count(r.active_backends)),
    number("commits/s before", |r| count(r.commits_before)),
    word("top wait", |r| {
        let kind = r.top_wait_event_type.as_deref();
        wait(kind, r.top_wait_event.as_deref())
    }),
    word("file", |r| text(r.current_file.as_ref())),
];

/// Stalls.
pub(super) fn stalls(recording: &Recording) -> String {
    let rows: Vec<Stall> = recording.stalls.values().cloned().collect();
    some(&rows, &STALLS, "There was no stall.")
}

const FILES: [Column<FileWork>; 6] = [
    word("file", |r| r.path.clone()),
    number("syncs", |r| count(r.syncs)),
    number("sync time", |r| time(r.sync_time)),
    number("longest", |r| time(r.longest_sync_time)),
    number("buffers", |r| count(r.buffers_written)),
    number("writeback", |r| bytes(r.writeback_bytes)),
];

/// The files that took longest to sync.
pub(super) fn files(recording: &Recording) -> String {
    let mut rows: Vec<FileWork> = recording.files.values().cloned().collect();
    rows.sort_by(|a, b| {
        b.sync_time
            .total_cmp(&a.sync_time)
            .then_with(|| a.path.cmp(&b.path))
    });
    rows.truncate(MOST);
    some(&rows, &FILES, "No checkpoint ended while it was recorded.")
}

/// A command in its phases: how often, and how long in milliseconds.
struct Command {
    name: String,
    phases: [(u64, f64); PHASES],
}

impl Command {
    fn mean(&self, phase: usize) -> String {
        let (count, ms) = self.phases[phase];
        known((count > 0).then(|| ms / count as f64), time)
    }

    fn all(&self) -> (u64, f64) {
        let phases = self.phases.iter();
        phases.fold((0, 0.0), |sum, (count, ms)| (sum.0 + count, sum.1 + ms))
    }
}

const COMMANDS: [Column<Command>; 6] = [
    word("command", |r| r.name.clone()),
    number("count", |r| count(r.all().0)),
    number("time", |r| time(r.all().1)),
    number("mean: no checkpoint", |r| r.mean(0)),
    number("write phase", |r| r.mean(1)),
    number("sync phase", |r| r.mean(2)),
];

/// What client backends did, by phase.
pub(super) fn commands(recording: &Recording) -> String {
    let mut rows: Vec<Command> = statseg::Command::ALL
        .iter()
        .map(|(command, _)| Command {
            name: command.to_string(),
            phases: Default::default(),
        })
        .collect();
    for (name, phase, count, ms) in recording.passed.iter().flat_map(|passed| &passed.commands) {
        let row = rows.iter_mut().find(|row| row.name == *name);
        if let (Some(row), Some(phase)) = (row, views::phase(phase)) {
            row.phases[phase].0 += count;
            row.phases[phase].1 += ms;
        }
    }
    rows.retain(|row| row.all().0 > 0);
    some(&rows, &COMMANDS, "No command was recorded.")
}

/// A wait of a type of process.
struct Wait {
    backend_type: String,
    name: String,
    samples: u64,
    share: f64,
}

const WAITS: [Column<Wait>; 4] = [
    word("backend type", |r| r.backend_type.clone()),
    word("wait", |r| r.name.clone()),
    number("samples", |r| count(r.samples)),
    number("share", |r| format!("{:.1} %", r.share * 100.0)),
];

/// What was found most; sleeping processes are left out.
pub(super) fn waits(recording: &Recording) -> String {
    let mut sums: Vec<u64> = vec![0; recording.wait_keys.len()];
    for (place, samples) in recording.passed.iter().flat_map(|passed| &passed.waits) {
        if let Some(sum) = sums.get_mut(*place) {
            *sum += samples;
        }
    }
    let mut whole: HashMap<&str, u64> = HashMap::new();
    for ((kind, ..), samples) in recording.wait_keys.iter().zip(&sums) {
        *whole.entry(kind).or_default() += samples;
    }
    let busy = |kind: &Option<String>| !matches!(kind.as_deref(), Some("Activity" | "Client"));
    let found = recording.wait_keys.iter().zip(&sums);
    let mut rows: Vec<Wait> = found
        .filter(|((_, kind, _), samples)| busy(kind) && **samples > 0)
        .map(|((backend_type, kind, event), samples)| Wait {
            backend_type: backend_type.clone(),
            name: wait(kind.as_deref(), event.as_deref()),
            samples: *samples,
            share: *samples as f64
                / whole
                    .get(backend_type.as_str())
                    .copied()
                    .unwrap_or(1)
                    .max(1) as f64,
        })
        .collect();
    // Clients first: the others have work of their own, and most of them sleep in it.
    let client = |row: &Wait| row.backend_type == "client backend";
    rows.sort_by(|a, b| {
        let by = |row: &Wait| std::cmp::Reverse((client(row), row.samples));
        by(a).cmp(&by(b)).then_with(|| a.name.cmp(&b.name))
    });
    rows.truncate(MOST);
    some(&rows, &WAITS, "No wait was recorded.")
}
