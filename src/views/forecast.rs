//! `ckpt_stats_forecast(...)`: what the measured load would do under other settings.
//!
//! *Runs in:* the backend that calls it. *Reads and writes:* what [`super::measured`] reads.
//! *Never:* answers where nothing was measured: then it returns no row.

use pacing::BLOCK_BYTES;
use pacing::outlook::{Load, Setting};
use pgrx::datum::Interval;
use pgrx::pg_sys;
use pgrx::prelude::*;
use statseg::Segment;

use super::measured;
use super::rows::{Field, Rows};
use crate::advice::REPLAY_BYTES;
use crate::error::Message;

/// Without arguments: so many times the present `checkpoint_timeout` and `max_wal_size`, which go
/// together: with one of them alone the other one begins the checkpoints.
const FACTORS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// Limits of `checkpoint_timeout` (`guc_tables.c`), seconds.
const TIMEOUT: (f64, f64) = (30.0, 86_400.0);
/// `max_wal_size` is a number of megabytes.
const MB: f64 = 1_048_576.0;

pub(super) fn call(segment: &'static Segment, call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the install script declares it RETURNS SETOF record.
    let mut rows = unsafe { Rows::begin(call) };
    // SAFETY: the install script declares three arguments, the first an interval.
    let timeout: Option<Interval> = unsafe { pgrx::fcinfo::pg_getarg(call, 0) };
    // SAFETY: the second is a double precision.
    let target: Option<f64> = unsafe { pgrx::fcinfo::pg_getarg(call, 1) };
    // SAFETY: the third is a bigint.
    let max_wal: Option<i64> = unsafe { pgrx::fcinfo::pg_getarg(call, 2) };
    let settings = measured::settings();
    let present = settings.schedule();
    let asked = Setting {
        timeout: timeout.map_or(present.timeout, |it| it.as_micros() as f64 / 1e6),
        target: target.unwrap_or(present.target),
        max_wal_bytes: max_wal.map_or(present.max_wal_bytes, |it| it as f64),
        ..present
    };
    check(&asked);
    let checkpoints = measured::history(segment);
    if let Some(load) = measured::load(segment, &checkpoints, &settings) {
        let around = timeout.is_none() && target.is_none() && max_wal.is_none();
        let device = measured::device(segment);
        let settings = if around { five(&present) } else { vec![asked] };
        for setting in settings {
            push(&mut rows, &load, &setting, setting == present, device);
        }
    }
    pg_sys::Datum::from(0)
}

/// Settings around the present one, as far as the server allows them.
fn five(present: &Setting) -> Vec<Setting> {
    let scaled = |factor: &f64| {
        let megabytes = (present.max_wal_bytes * factor / MB).round();
        Setting {
            timeout: (present.timeout * factor)
                .round()
                .clamp(TIMEOUT.0, TIMEOUT.1),
            max_wal_bytes: (megabytes * MB).max(2.0 * present.segment_bytes),
            ..*present
        }
    };
    let mut settings: Vec<_> = FACTORS.iter().map(scaled).collect();
    settings.dedup();
    settings
}

/// Values that the settings cannot have have no forecast.
fn check(asked: &Setting) {
    let refuse = |name: &str, range: String| {
        Message {
            code: PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            primary: format!("{name} is outside the valid range"),
            detail: Some(format!("It must be {range}.")),
            hint: None,
        }
        .report(PgLogLevel::ERROR);
    };
    if !(TIMEOUT.0..=TIMEOUT.1).contains(&asked.timeout) {
        refuse("checkpoint_timeout", "from 30 seconds to 1 day".to_owned());
    }
    if !(0.0..=1.0).contains(&asked.target) {
        refuse("completion_target", "from 0 to 1".to_owned());
    }
    let least = 2.0 * asked.segment_bytes;
    if asked.max_wal_bytes < least {
        refuse(
            "max_wal_size",
            format!("at least {least} bytes, two segments"),
        );
    }
}

fn push(
    rows: &mut Rows,
    load: &Load,
    setting: &Setting,
    present: bool,
    device: (Option<f64>, Option<f64>, f64),
) {
    let outlook = load.under(setting);
    let whole = |number: f64| Field::from(number.round() as i64);
    let ms = |seconds: f64| Field::from(seconds * 1e3);
    rows.push([
        Field::from(Interval::from_seconds(setting.timeout)),
        Field::from(setting.target),
        whole(setting.max_wal_bytes),
        Field::from(present),
        Field::text(if outlook.by_wal { "wal" } else { "timed" }),
        Field::from(3600.0 / outlook.interval),
        ms(outlook.interval),
        ms(outlook.write_seconds),
        whole(outlook.pages),
        Field::from(outlook.write_rate.map(|rate| rate.round() as i64)),
        Field::from(outlook.write_rate.and_then(|rate| share(rate, device))),
        whole(outlook.wal_rate),
        whole(outlook.wal_disk),
        whole(outlook.redo),
        ms(outlook.redo / REPLAY_BYTES),
    ]);
}

/// Share of what the device was seen to be capable of that the write phase takes: of its
/// operations or bytes, whichever is more.
fn share(
    write_rate: f64,
    (ops, bytes, ops_per_page): (Option<f64>, Option<f64>, f64),
) -> Option<f64> {
    let pages = write_rate / BLOCK_BYTES as f64;
    let ops = ops.map(|most| pages * ops_per_page / most);
    let bytes = bytes.map(|most| write_rate / most);
    match (ops, bytes) {
        (Some(ops), Some(bytes)) => Some(ops.max(bytes)),
        (ops, bytes) => ops.or(bytes),
    }
}
