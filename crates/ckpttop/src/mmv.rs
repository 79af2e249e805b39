//! The metrics as a Memory Mapped Value file, version 1: mmv(5) of Performance Co-Pilot.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* writes one file, `ckptflush_PORT`, in a directory the user names.
//! *Never:* changes anything but values in a file that stands in its place: pmdammv has it mapped.
//! Other metrics mean another file under the same name.
//!
//! ```text
//! header          40 bytes   "MMV\0", version, generation twice, 3 parts, flags, PID, cluster
//! table        3 × 16        kind, entries, offset: metrics 3, values 4, strings 5
//! metrics      n × 104       name 64, item, type, semantics, dimension, no domain, help twice
//! values       n × 32        value, 0, offset of its metric, 0
//! strings      n × 256       help, with a zero byte at the end
//! ```
//!
//! A statistic becomes several metrics: `NAME.count`, `.total`, `.min`, `.max`, and the
//! percentiles. Times are in milliseconds. What is not known is NaN.

use crate::failure::{Failure, Result};
use crate::metrics::{self, Metric, Unit, Value};
use crate::snapshot::Snapshot;
use crate::value::At;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HEADER: usize = 40;
const TOC: usize = 16;
const METRIC: usize = 104;
const VALUE: usize = 32;
const STRING: usize = 256;
const NAME: usize = 64;
/// An item number has ten bits.
const MOST: usize = 1023;
/// The values belong to a process, and mean nothing when that has ended.
const FLAG_PROCESS: u32 = 2;
const NO_DOMAIN: u32 = u32::MAX;

/// One entry of the file.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    name: String,
    help: String,
    /// Bytes, milliseconds, or just a number.
    unit: Unit,
    /// It only grows.
    counter: bool,
    value: Number,
}

/// A value in one of the two types that we need.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(u64),
    Real(f64),
}

impl Number {
    fn of(value: f64, unit: Unit) -> Self {
        match unit {
            Unit::Time => Self::Real(value),
            _ => Self::Whole(value as u64),
        }
    }

    /// The code of its type: PM_TYPE_U64, PM_TYPE_DOUBLE.
    fn code(self) -> u32 {
        match self {
            Self::Whole(_) => 3,
            Self::Real(_) => 5,
        }
    }

    fn bytes(self) -> [u8; 8] {
        match self {
            Self::Whole(value) => value.to_ne_bytes(),
            Self::Real(value) => value.to_ne_bytes(),
        }
    }
}

/// The file, which lives as long as this unless it is kept.
pub(crate) struct Mmv {
    directory: PathBuf,
    keep: bool,
    open: Option<Open>,
}

struct Open {
    file: File,
    path: PathBuf,
    /// What cannot change in place.
    shape: Vec<(String, u32)>,
}

impl Mmv {
    /// Nothing is written yet. With `keep` the file stays when the process ends.
    pub(crate) fn new(directory: &Path, keep: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            keep,
            open: None,
        }
    }

    /// Takes over the values of a snapshot; while the server is away there is no file.
    pub(crate) fn write(&mut self, snapshot: &Snapshot) -> Result<()> {
        let items = items(&metrics::of(snapshot));
        if items.is_empty() {
            self.remove();
            return Ok(());
        }
        let shape = shape(&items);
        if let Some(open) = self.open.as_ref().filter(|open| open.shape == shape) {
            let at = values_offset(items.len()) as u64;
            return open
                .file
                .write_all_at(&values(&items), at)
                .map_err(|error| failed("write", &open.path, &error));
        }
        self.make(&items, shape, snapshot.seen.port.unwrap_or(0))
    }

    /// Makes the file under another name first: who maps it finds it complete.
    fn make(&mut self, items: &[Item], shape: Vec<(String, u32)>, port: u64) -> Result<()> {
        let path = self.directory.join(format!("ckptflush_{port}"));
        let fresh = self.directory.join(format!(".ckptflush_{port}.new"));
        // Of a viewer that was killed. An error shows when the file is made.
        let _ = std::fs::remove_file(&fresh);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&fresh)
            .map_err(|error| failed("create", &fresh, &error))?;
        let cluster = u32::try_from(port % 4096).unwrap_or(0);
        file.write_all(&content(items, cluster, self.keep))
            .and_then(|()| std::fs::rename(&fresh, &path))
            .map_err(|error| {
                let _ = std::fs::remove_file(&fresh);
                failed("write", &path, &error)
            })?;
        self.open = Some(Open { file, path, shape });
        Ok(())
    }

    fn remove(&mut self) {
        if let Some(open) = self.open.take() {
            // If it cannot be removed, its PID still says that it is out of date.
            let _ = std::fs::remove_file(open.path);
        }
    }
}

impl Drop for Mmv {
    fn drop(&mut self) {
        if !self.keep {
            self.remove();
        }
    }
}

fn failed(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::io(&format!("{action} file \"{}\"", path.display()), error)
}

fn shape(items: &[Item]) -> Vec<(String, u32)> {
    items
        .iter()
        .map(|item| (item.name.clone(), item.value.code()))
        .collect()
}

fn items(metrics: &[Metric]) -> Vec<Item> {
    let mut items: Vec<Item> = metrics.iter().flat_map(of_metric).collect();
    items.truncate(MOST);
    items
}

fn of_metric(metric: &Metric) -> Vec<Item> {
    let unit = metric.unit;
    let item = |suffix: &str, what: &str, unit, counter, value| Item {
        name: format!("{}{suffix}", metric.name),
        help: format!("{}{what}", metric.help),
        unit,
        counter,
        value,
    };
    let real = |value: Option<f64>| Number::Real(value.unwrap_or(f64::NAN));
    match metric.value {
        Value::Counter(value) => vec![item("", "", unit, true, Number::of(value, unit))],
        Value::Gauge(value) => vec![item("", "", unit, false, real(value))],
        Value::Statistic(statistic) => {
            let count = Number::Whole(statistic.count);
            let total = Number::of(statistic.total, unit);
            let [p50, p90, p99, p999] = statistic.quantiles.map(|(_, value)| real(value));
            vec![
                item(".count", ": how many", Unit::Count, true, count),
                item(".total", ": total", unit, true, total),
                item(".min", ": smallest", unit, false, real(statistic.min)),
                item(".max", ": largest", unit, false, real(statistic.max)),
                item(".p50", ": median", unit, false, p50),
                item(".p90", ": 90th percentile", unit, false, p90),
                item(".p99", ": 99th percentile", unit, false, p99),
                item(".p999", ": 99.9th percentile", unit, false, p999),
            ]
        }
    }
}

fn metrics_offset() -> usize {
    HEADER + 3 * TOC
}

fn values_offset(items: usize) -> usize {
    metrics_offset() + items * METRIC
}

fn strings_offset(items: usize) -> usize {
    values_offset(items) + items * VALUE
}

/// The whole file.
fn content(items: &[Item], cluster: u32, keep: bool) -> Vec<u8> {
    let n = items.len();
    let mut out = Vec::with_capacity(strings_offset(n) + n * STRING);
    let generation = (At::now().0 / 1_000_000).unsigned_abs().max(1);
    let flags = if keep { 0 } else { FLAG_PROCESS };
    out.extend(b"MMV\0");
    put32(&mut out, 1);
    put64(&mut out, generation);
    put64(&mut out, generation);
    for word in [3, flags, std::process::id(), cluster] {
        put32(&mut out, word);
    }
    let parts = [
        (3, metrics_offset()),
        (4, values_offset(n)),
        (5, strings_offset(n)),
    ];
    for (kind, offset) in parts {
        put32(&mut out, kind);
        put32(&mut out, u32::try_from(n).unwrap_or(0));
        put64(&mut out, offset as u64);
    }
    for (index, item) in items.iter().enumerate() {
        let help = (strings_offset(n) + index * STRING) as u64;
        put_text::<NAME>(&mut out, &item.name);
        put32(&mut out, u32::try_from(index + 1).unwrap_or(0));
        put32(&mut out, item.value.code());
        // PM_SEM_COUNTER, PM_SEM_INSTANT.
        put32(&mut out, if item.counter { 1 } else { 3 });
        put32(&mut out, dimension(item.unit));
        put32(&mut out, NO_DOMAIN);
        put32(&mut out, 0);
        put64(&mut out, help);
        put64(&mut out, help);
    }
    out.extend(values(items));
    for item in items {
        put_text::<STRING>(&mut out, &item.help);
    }
    out
}

/// The part with the values.
fn values(items: &[Item]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len() * VALUE);
    for (index, item) in items.iter().enumerate() {
        out.extend(item.value.bytes());
        put64(&mut out, 0);
        put64(&mut out, (metrics_offset() + index * METRIC) as u64);
        put64(&mut out, 0);
    }
    out
}

/// PCP's pmUnits: four bits each of the dimensions space, time and count, then of their scales,
/// then eight bits of nothing.
fn dimension(unit: Unit) -> u32 {
    const MILLISECONDS: u32 = 2;
    match unit {
        Unit::Bytes => 1 << 28,
        Unit::Time => 1 << 24 | MILLISECONDS << 12,
        Unit::Count => 1 << 20,
    }
}

fn put32(out: &mut Vec<u8>, word: u32) {
    out.extend(word.to_ne_bytes());
}

fn put64(out: &mut Vec<u8>, word: u64) {
    out.extend(word.to_ne_bytes());
}

/// Text in a field of this size, with at least one zero byte at the end; cut at a character.
fn put_text<const SIZE: usize>(out: &mut Vec<u8>, text: &str) {
    let fits = text.floor_char_boundary(SIZE - 1);
    let end = out.len() + SIZE;
    out.extend(&text.as_bytes()[..fits]);
    out.resize(end, 0);
}
