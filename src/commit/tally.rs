//! What group commits and readers did, counted.
//!
//! *Runs in:* every backend. *Reads and writes:* the backend's own slot, and the two words of the
//! segment by which flushes are told apart.
//! *Never:* takes a lock, allocates, or raises.

use std::time::Instant;

use statseg::{Metric, Segment, Served};

use crate::pgshim::commit;
use crate::shmem;

/// Count one.
pub(super) fn count(segment: &'static Segment, metric: Metric) {
    segment.counter_at(metric, shmem::slot()).increment();
}

/// A group commit found itself flushed by another one's flush, before it had to wait.
pub(super) fn flushed_before(segment: &'static Segment) {
    count(segment, Metric::GroupFlushedBefore);
}

/// A group commit has waited since `began`.
pub(super) fn waited(segment: &'static Segment, began: Instant) {
    let ns = nanoseconds(began);
    let record = |metric, value| {
        segment.statistic_at(metric, shmem::slot()).record(value);
    };
    record(Metric::GroupWaitTime, ns);
    let Some(flushes) = segment.flushes() else {
        return;
    };
    match flushes.serve(commit::flush_end()) {
        Served::First(before) => {
            count(segment, Metric::GroupFlushes);
            record(Metric::GroupFlushTime, ns);
            if before > 0 {
                record(Metric::GroupSize, before);
            }
        }
        Served::Follower => count(segment, Metric::GroupFollowers),
    }
}

/// A reader has waited since `began`.
pub(super) fn reader_waited(segment: &'static Segment, began: Instant) {
    let metric = Metric::GroupReaderWaitTime;
    let statistic = segment.statistic_at(metric, shmem::slot());
    statistic.record(nanoseconds(began));
}

fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
