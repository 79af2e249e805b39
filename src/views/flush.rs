//! `ckpt_stats_flush`: what the flusher is doing.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the flusher's `flush_state`,
//! the checkpointer's `takeover` and the flusher's counters.
//! *Never:* shows the state of a flusher that is away as if it were there.

use statseg::{FlushMode, Metric, Segment};

use super::rows::{Field, Rows};
use crate::{settings, shmem};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let state = shmem::flusher(segment);
    let on = state.mode != FlushMode::Off;
    let takeover = on && shmem::takeover(segment).active;
    let now = |number: u64| Field::count(on.then_some(number));
    let view = segment.view();
    rows.push([
        Field::text(state.mode.as_str()),
        Field::from(takeover),
        now(state.queue_bytes),
        Field::time(on.then_some(state.queue_cost_ns)),
        now(state.in_flight_bytes),
        Field::count(state.device_operations),
        Field::count(state.device_bytes),
        now(state.rate_bytes),
        Field::time((settings::target_delay() * 1e9) as u64),
        Field::time(state.commit_mean_ns),
        Field::at(state.deadline_at),
        Field::count(view.read(Metric::DeadlinesMissed).count),
        now(state.sweep_files),
        Field::time(on.then_some(state.sweep_ns)),
    ]);
}
