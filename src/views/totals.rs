//! `ckpt_stats`: what all checkpoints together did.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the workers' and the
//! checkpointer's counters.
//! *Never:* asks PostgreSQL's own statistics: these survive `pg_stat_reset_shared`.

use statseg::{Metric, Segment};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let view = segment.view();
    let counter = |metric| Field::count(view.read(metric).count);
    rows.push([
        counter(Metric::NumTimed),
        counter(Metric::NumRequested),
        counter(Metric::NumDone),
        counter(Metric::NumFailed),
        counter(Metric::RestartpointsTimed),
        counter(Metric::RestartpointsReq),
        counter(Metric::RestartpointsDone),
        Field::time(view.read(Metric::WriteTime).count),
        Field::time(view.read(Metric::SyncTime).count),
        counter(Metric::BuffersWritten),
        // Before 18 SLRU pages are part of buffers_written.
        if view.pg_version_num() >= 180_000 {
            counter(Metric::SlruWritten)
        } else {
            Field::NULL
        },
        counter(Metric::FilesSynced),
        Field::time(view.read(Metric::CheckpointLongestSyncTime).max),
        counter(Metric::WritebackBytes),
        counter(Metric::WritebackCalls),
        Field::time(view.read(Metric::SyncPauseTime).count),
        counter(Metric::Stalls),
        Field::time(view.read(Metric::StalledTime).count),
        Field::at(view.reset_times().counters),
    ]);
}
