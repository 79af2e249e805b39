//! The metrics of a snapshot in the form that monitoring systems know.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* gives a number for what is not known.
//!
//! All metrics of the segment's own directory, and gauges of what is going on at the moment.
//! [`crate::openmetrics`] and [`crate::mmv`] write the same.

use crate::snapshot::{Seen, Snapshot, State, Views};
use crate::views::counters::Counter;
use statseg::MetricKind;

/// What numbers are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Bytes,
    /// Milliseconds, as in the views.
    Time,
}

impl Unit {
    fn of(unit: &str) -> Self {
        match unit {
            "ms" => Self::Time,
            "bytes" => Self::Bytes,
            _ => Self::Count,
        }
    }
}

/// A metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) help: String,
    pub(crate) value: Value,
}

/// Its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Counter(f64),
    Gauge(Option<f64>),
    Statistic(Statistic),
}

/// Many values in short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistic {
    pub(crate) count: u64,
    pub(crate) total: f64,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// The shares and the value below which each lies.
    pub(crate) quantiles: [(f64, Option<f64>); 4],
}

/// All metrics of a snapshot; none while the server is away.
pub(crate) fn of(snapshot: &Snapshot) -> Vec<Metric> {
    let Some(views) = &snapshot.views else {
        return Vec::new();
    };
    let mut metrics: Vec<Metric> = Vec::new();
    let all = views.counters.iter().map(of_counter);
    for metric in all.chain(gauges(&snapshot.seen, views)) {
        // A later version of the server may have a metric of the name of a gauge.
        if metrics.iter().all(|known| known.name != metric.name) {
            metrics.push(metric);
        }
    }
    metrics
}

fn of_counter(row: &Counter) -> Metric {
    let value = match row.kind() {
        MetricKind::Counter => Value::Counter(row.total),
        MetricKind::Gauge => Value::Gauge(Some(row.total)),
        MetricKind::Statistic => Value::Statistic(Statistic {
            count: row.count.unwrap_or(0),
            total: row.total,
            min: row.min,
            max: row.max,
            quantiles: [
                (0.5, row.p50),
                (0.9, row.p90),
                (0.99, row.p99),
                (0.999, row.p999),
            ],
        }),
    };
    Metric {
        name: row.name.clone(),
        unit: Unit::of(&row.unit),
        help: row.description.clone(),
        value,
    }
}

/// What is going on at the moment.
fn gauges(seen: &Seen, views: &Views) -> impl Iterator<Item = Metric> {
    use Unit::{Bytes, Count, Time};
    let number = |number: Option<u64>| number.map(|number| number as f64);
    let flag = |flag: bool| Some(f64::from(u8::from(flag)));
    let running = views.progress.as_ref();
    let flush = &views.flush;
    let gauge = |name: &str, unit, help: &str, value| Metric {
        name: name.to_owned(),
        unit,
        help: help.to_owned(),
        value: Value::Gauge(value),
    };
    let of_progress =
        |get: fn(&crate::views::progress::Progress) -> Option<u64>| number(running.and_then(get));
    [
        gauge(
            "server_moves",
            Count,
            "Whether the server's workers move",
            flag(seen.server_state == State::Running),
        ),
        gauge(
            "still_time",
            Time,
            "For how long nothing has moved in the server",
            seen.still_time,
        ),
        gauge(
            "progress_active",
            Count,
            "Whether a checkpoint or restartpoint is running",
            flag(running.is_some()),
        ),
        gauge(
            "progress_elapsed_time",
            Time,
            "For how long it has been running",
            running.map(|row| row.elapsed_time),
        ),
        gauge(
            "progress_buffers",
            Count,
            "Buffers it has to write",
            of_progress(|row| row.buffers_total),
        ),
        gauge(
            "progress_buffers_done",
            Count,
            "Buffers it has written",
            of_progress(|row| row.buffers_done),
        ),
        gauge(
            "progress_files_estimate",
            Count,
            "Files it has to sync, an estimate",
            of_progress(|row| row.files_total_estimate),
        ),
        gauge(
            "progress_files_done",
            Count,
            "Files it has synced",
            of_progress(|row| row.files_done),
        ),
        gauge(
            "progress_write_rate",
            Bytes,
            "Bytes per second it is writing",
            of_progress(|row| row.write_rate_bytes),
        ),
        gauge(
            "flush_queue",
            Bytes,
            "Bytes that wait for their writeback",
            number(flush.queue_bytes),
        ),
        gauge(
            "flush_in_flight",
            Bytes,
            "Bytes whose writeback was started and is not known to be done",
            number(flush.in_flight_bytes),
        ),
        gauge(
            "os_dirty",
            Bytes,
            "Dirty bytes of relations in the page cache of the kernel",
            number(seen.os_dirty_bytes),
        ),
        gauge(
            "commit_mean_time",
            Time,
            "Mean commit of the last tenth of a second",
            flush.commit_mean_time,
        ),
    ]
    .into_iter()
}
