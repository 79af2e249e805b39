//! `ckpt_stats_workers`: the background workers and how they are.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the workers' rows.
//! *Never:* asks the postmaster.

use statseg::Segment;

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    for index in 0..segment.view().worker_count() {
        let Ok(worker) = segment.worker(index).read() else {
            continue;
        };
        if worker.name.is_empty() {
            continue;
        }
        rows.push([
            Field::text(worker.name.as_str()),
            Field::from(worker.pid.and_then(|pid| i32::try_from(pid).ok())),
            Field::text(worker.state.as_str()),
            Field::count(worker.restarts),
            Field::file(worker.last_error),
            Field::at(worker.last_error_at),
            Field::at(worker.last_active_at),
        ]);
    }
}
