//! Which plots there are, and the marks in all of them.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* leaves out a plot: of what was not recorded it says so.

use super::axis::Unit;
use super::grid::{Grid, How};
use super::plot::{Form, Mark, Plot, Series};
use super::series::{self, Values};
use crate::human::{known, time, wait};
use crate::recording::read::Recording;
use crate::value::At;
use crate::views::history::History;
use crate::views::timeline::Second;

/// Size of a buffer: BLCKSZ, which nobody changes.
const BLOCK: f64 = 8192.0;

/// All plots, in their order.
pub(super) fn all(recording: &Recording, grid: &Grid) -> Vec<Plot> {
    vec![
        throughput(recording, grid),
        latency(recording, grid),
        device_bytes(recording, grid),
        device_operations(recording, grid),
        in_flight(recording, grid),
        page_cache(recording, grid),
        waits(recording, grid),
        commands(recording, grid),
    ]
}

fn of(name: &str, class: &'static str, values: Values) -> Series {
    Series {
        name: name.to_owned(),
        class,
        values,
    }
}

/// A figure of the timeline: its name, its colour, and its value of a second.
type Figure<'a> = (&'a str, &'static str, fn(&Second) -> Option<f64>);

/// A series for each figure of the timeline that was ever known.
fn figures(recording: &Recording, grid: &Grid, how: How, all: &[Figure<'_>]) -> Vec<Series> {
    let series = all.iter().map(|(name, class, figure)| {
        let values = series::seconds(recording, grid, how, figure);
        of(name, class, values)
    });
    series
        .filter(|one| one.values.iter().any(Option::is_some))
        .collect()
}

fn float(number: Option<u64>) -> Option<f64> {
    number.map(|number| number as f64)
}

fn throughput(recording: &Recording, grid: &Grid) -> Plot {
    let commits: fn(&Second) -> Option<f64> = |row| Some(row.commits as f64);
    let rollbacks: fn(&Second) -> Option<f64> = |row| Some(row.rollbacks as f64);
    let mut shown = vec![("commits", "c1", commits)];
    if recording.seconds.values().any(|row| row.rollbacks > 0) {
        shown.push(("rollbacks", "c4", rollbacks));
    }
    let mut series = figures(recording, grid, How::Mean, &shown);
    if grid.step > 1 {
        let slowest = series::seconds(recording, grid, How::Min, commits);
        series.push(of("commits, slowest second", "c2", slowest));
    }
    Plot {
        id: "throughput",
        title: "Throughput",
        caption: per_column(grid, "Transactions that ended in each second."),
        unit: Unit::Count("per second"),
        form: Form::Lines,
        series,
    }
}

fn per_column(grid: &Grid, what: &str) -> String {
    match grid.step {
        1 => what.to_owned(),
        step => format!("{what} A point stands for {}.", time(step as f64 * 1e3)),
    }
}

fn latency(recording: &Recording, grid: &Grid) -> Plot {
    Plot {
        id: "latency",
        title: "Latency",
        caption: "Transactions from their first statement to their end, by the second in which \
                  they ended. 99 % of them took at most p99."
            .to_owned(),
        unit: Unit::Time,
        form: Form::Log,
        series: figures(
            recording,
            grid,
            How::Max,
            &[
                ("longest", "c4", |row| row.longest_transaction_time),
                ("p99", "c1", |row| row.transaction_p99_time),
            ],
        ),
    }
}

fn device_bytes(recording: &Recording, grid: &Grid) -> Plot {
    Plot {
        id: "device-bytes",
        title: "Writes, in bytes",
        caption:
            "What the block device of the data directory wrote, whoever asked for it; and what \
                  the server did: its WAL, the buffers that checkpoints handed to the kernel, and \
                  the writeback that ckptflush started."
                .to_owned(),
        unit: Unit::Bytes("/s"),
        form: Form::Lines,
        series: figures(
            recording,
            grid,
            How::Mean,
            &[
                ("device", "c1", |row| float(row.device_write_bytes)),
                ("WAL", "c3", |row| float(row.wal_bytes)),
                ("buffers of checkpoints", "c2", |row| {
                    Some(row.buffers_written.unwrap_or(0) as f64 * BLOCK)
                }),
                ("writeback started", "c5", |row| {
                    Some(row.writeback_bytes as f64)
                }),
            ],
        ),
    }
}

fn device_operations(recording: &Recording, grid: &Grid) -> Plot {
    Plot {
        id: "device-operations",
        title: "Writes, in operations",
        caption: "Writes that the block device of the data directory finished.".to_owned(),
        unit: Unit::Count("per second"),
        form: Form::Lines,
        series: figures(
            recording,
            grid,
            How::Mean,
            &[("writes", "c1", |row| float(row.device_write_ops))],
        ),
    }
}

fn in_flight(recording: &Recording, grid: &Grid) -> Plot {
    Plot {
        id: "in-flight",
        title: "Queue of the device",
        caption: "Requests in flight at the end of each second.".to_owned(),
        unit: Unit::Count("requests"),
        form: Form::Lines,
        series: figures(
            recording,
            grid,
            How::Max,
            &[("in flight", "c1", |row| float(row.device_in_flight))],
        ),
    }
}

fn page_cache(recording: &Recording, grid: &Grid) -> Plot {
    Plot {
        id: "page-cache",
        title: "Dirty pages in the kernel",
        caption: "Files of relations in the kernel's page cache, as the sweep of ckptflush saw \
                  them: bytes that nobody has asked the device to write yet, and bytes that are on \
                  their way."
            .to_owned(),
        unit: Unit::Bytes(""),
        form: Form::Lines,
        series: figures(
            recording,
            grid,
            How::Max,
            &[
                ("dirty", "c2", |row| float(row.os_dirty_bytes)),
                ("under writeback", "c1", |row| float(row.os_writeback_bytes)),
            ],
        ),
    }
}

/// Types of waits in the order of the stack, with their colours; others are grey.
const WAITS: [(&str, &str); 8] = [
    ("running", "c3"),
    ("IO", "c1"),
    ("LWLock", "c2"),
    ("Lock", "c4"),
    ("IPC", "c5"),
    ("BufferPin", "c7"),
    ("Timeout", "c6"),
    ("Extension", "c9"),
];

fn waits(recording: &Recording, grid: &Grid) -> Plot {
    let mut found = series::waits(recording, grid);
    let idle = found.remove("Client").unwrap_or_default();
    let known: Vec<f64> = idle.iter().flatten().copied().collect();
    let idle = if known.is_empty() {
        String::new()
    } else {
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        format!(" Not drawn: those that waited for their client, {mean:.1} on average.")
    };
    let mut series = Vec::new();
    for (name, class) in WAITS {
        series.extend(found.remove(name).map(|values| of(name, class, values)));
    }
    series.extend(found.into_iter().map(|(name, it)| of(&name, "c8", it)));
    Plot {
        id: "waits",
        title: "What client backends waited for",
        caption: format!(
            "Client backends by the type of their wait, on average, as the monitor found them \
             while it was recorded; \"running\" is without a wait.{idle}"
        ),
        unit: Unit::Count("backends"),
        form: Form::Stack,
        series,
    }
}

/// Commands in the order of the stack, with their kind.
const COMMANDS: [(&str, &str, &str); 8] = [
    ("wal_flush", "nothingness", "n1"),
    ("execute", "handling", "h1"),
    ("commit", "handling", "h2"),
    ("utility", "handling", "h3"),
    ("plan", "handling", "h4"),
    ("parse", "handling", "h5"),
    ("bind", "handling", "h6"),
    ("idle", "reading", "r1"),
];

fn commands(recording: &Recording, grid: &Grid) -> Plot {
    let mut found = series::commands(recording, grid);
    let stalled = series::seconds(recording, grid, How::Mean, |row| {
        Some((row.stalled_time / 1e3).min(1.0))
    });
    // What backends did in a stall is drawn as the stall.
    let mut halted: Values = vec![None; grid.columns];
    for (_, values) in found.iter_mut().filter(|(name, _)| *name != "idle") {
        for ((value, share), halted) in values.iter_mut().zip(&stalled).zip(&mut halted) {
            if let (Some(value), Some(share)) = (value, share) {
                *halted = Some(halted.unwrap_or(0.0) + *value * share);
                *value *= 1.0 - share;
            }
        }
    }
    let mut series = Vec::new();
    if halted.iter().flatten().any(|value| *value > 0.0) {
        series.push(of("nothingness: in a stall", "n2", halted));
    }
    for (name, kind, class) in COMMANDS {
        let values = found.remove(name);
        series.extend(values.map(|values| of(&format!("{kind}: {name}"), class, values)));
    }
    Plot {
        id: "commands",
        title: "Where the time of client backends went",
        caption: "Client backends by what they did, on average. Reading: waiting for the client. \
                  Handling: its commands. Nothingness: waiting for the WAL to be durable, and \
                  whatever was not done in a stall. What took longer than a second is drawn over \
                  the seconds that it took."
            .to_owned(),
        unit: Unit::Count("backends"),
        form: Form::Stack,
        series,
    }
}

/// When the phases of a checkpoint were: begin, end of the write phase, end of the sync phase.
fn phases(row: &History) -> (At, At, At) {
    let after = |at: At, ms: Option<f64>| At(at.0 + (ms.unwrap_or(0.0) * 1e3) as i64);
    let written = after(row.started_at, row.write_time).min(row.ended_at);
    (
        row.started_at,
        written,
        after(written, row.sync_time).min(row.ended_at),
    )
}

/// Checkpoints and stalls.
pub(super) fn marks(recording: &Recording) -> Vec<Mark> {
    let mut marks = Vec::new();
    for row in recording.checkpoints.values() {
        let (from, written, synced) = phases(row);
        let mut phase = |from, to, class, length| {
            let length = known(length, time);
            let title = format!("{} {}, {class} phase {length}", row.kind, row.checkpoint_id);
            marks.push(Mark {
                from,
                to,
                class,
                title,
            });
        };
        phase(from, written, "write", row.write_time);
        phase(written, synced, "sync", row.sync_time);
    }
    marks.extend(running(recording));
    marks.extend(recording.stalls.values().map(|row| {
        let kind = row.top_wait_event_type.as_deref();
        let waited = wait(kind, row.top_wait_event.as_deref());
        Mark {
            from: row.started_at,
            to: At(row.started_at.0 + (row.stalled_time * 1e3) as i64),
            class: "stall",
            title: format!("stall of {}: {waited}", time(row.stalled_time)),
        }
    }));
    marks
}

/// Phases of checkpoints of which the end was not recorded: there are only their seconds.
fn running(recording: &Recording) -> Vec<Mark> {
    let ended = |at: At| {
        let rows = recording.checkpoints.values();
        rows.into_iter()
            .any(|row| row.started_at <= at && at < row.ended_at)
    };
    let mut marks: Vec<Mark> = Vec::new();
    for row in recording.seconds.values().filter(|row| !ended(row.at)) {
        let (Some(id), to) = (row.checkpoint_id, At(row.at.0 + 1_000_000)) else {
            continue;
        };
        let class = match row.checkpoint_phase.as_str() {
            "writing" => "write",
            "syncing" => "sync",
            _ => continue,
        };
        let title = format!("checkpoint {id}, {}", row.checkpoint_phase);
        match marks.last_mut() {
            Some(last) if last.to == row.at && last.title == title => last.to = to,
            _ => marks.push(Mark {
                from: row.at,
                to,
                class,
                title,
            }),
        }
    }
    marks
}
