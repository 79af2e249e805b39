//! `ckpt_stats_stalls`: the stall that is going on, then the past ones, the newest first.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the record `stall` and the
//! ring `stalls`.
//! *Never:* shows a stall twice: it is going on until it is in the ring.

use statseg::{Segment, Stall};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    // In this order, so that one that ends meanwhile is not left out.
    let current = segment.stall().read().ok().filter(|stall| stall.ongoing);
    if let Some(stall) = current {
        push(rows, &stall);
    }
    let past = segment.stalls();
    for (_, stall) in past.newest(past.capacity()) {
        if current.is_none_or(|current| current.started_at != stall.started_at) {
            push(rows, &stall);
        }
    }
}

fn push(rows: &mut Rows, stall: &Stall) {
    rows.push([
        Field::at(stall.started_at),
        Field::time(stall.stalled_ns),
        Field::from(stall.ongoing),
        Field::count(stall.checkpoint_id),
        Field::text(stall.phase.as_str()),
        Field::file(stall.current_file),
        Field::count(stall.active_backends),
        Field::count(stall.commits_before),
        Field::file(stall.top_wait_type),
        Field::file(stall.top_wait_event),
    ]);
}
