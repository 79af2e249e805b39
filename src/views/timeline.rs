//! `ckpt_stats_timeline`: one row per second, the newest first.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the ring `timeline`.
//! *Never:* fills in a second that nobody saw.

use statseg::Segment;

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let timeline = segment.timeline();
    for (_, second) in timeline.newest(timeline.capacity()) {
        rows.push([
            Field::at(second.at),
            Field::count(second.checkpoint_id),
            Field::text(second.phase.as_str()),
            Field::count(second.commits),
            Field::count(second.rollbacks),
            Field::count(second.active_backends),
            Field::time(second.stalled_ns),
            Field::time(second.longest_transaction_ns),
            Field::time(second.transaction_p99_ns),
            Field::count(second.buffers_written),
            Field::count(second.writeback_bytes),
            Field::count(second.os_dirty_bytes),
            Field::count(second.os_writeback_bytes),
            Field::count(second.wal_bytes),
            Field::count(second.device_write_ops),
            Field::count(second.device_write_bytes),
            Field::count(second.device_in_flight),
        ]);
    }
}
