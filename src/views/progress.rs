//! `ckpt_stats_progress`: the running checkpoint, or no row.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the monitor's `progress`.
//! *Never:* shows a checkpoint that has ended.

use statseg::{Cause, Segment};

use super::rows::{Field, Rows};
use crate::process::now_us;

/// Size of a buffer.
const BLOCK: u64 = pgrx::pg_sys::BLCKSZ as u64;

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let Ok(progress) = segment.progress().read() else {
        return;
    };
    if !progress.active {
        return;
    }
    let bytes = |buffers: Option<u64>| buffers.map(|buffers| buffers * BLOCK);
    let elapsed_us = u64::try_from(now_us() - progress.started_at).unwrap_or(0);
    rows.push([
        Field::count(progress.checkpoint_id),
        Field::from(i32::try_from(progress.pid).ok()),
        Field::text(progress.kind.as_str()),
        Field::word(progress.cause.map(Cause::as_str)),
        Field::text(progress.phase.as_str()),
        Field::at(progress.started_at),
        Field::time(elapsed_us * 1000),
        Field::lsn(progress.redo_lsn),
        Field::count(progress.buffers_total),
        Field::count(progress.buffers_done),
        Field::count(bytes(progress.buffers_total)),
        Field::count(bytes(progress.buffers_done)),
        Field::count(progress.files_total_estimate),
        Field::count(progress.files_done),
        Field::file(progress.current_file),
        Field::count(progress.write_rate_bytes),
        Field::count(progress.queue_bytes),
        Field::count(progress.os_dirty_bytes),
        Field::count(progress.os_writeback_bytes),
        Field::time(progress.sync_forecast_ns),
        Field::at(progress.scheduled_end_at),
        Field::at(progress.eta_at),
        Field::from(progress.on_schedule),
    ]);
}
