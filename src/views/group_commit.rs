//! `ckpt_stats_group_commit`: what group commits and readers did.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the backends' counters.
//! *Never:* tells of commits that nobody has asked to be group commits: these are counted only
//! while `ckptflush.group_commit` is on.

use statseg::{Metric, Segment};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let view = segment.view();
    let counter = |metric| Field::count(view.read(metric).count);
    let size = view.read(Metric::GroupSize);
    let flush = view.read(Metric::GroupFlushTime);
    let wait = view.read(Metric::GroupWaitTime);
    let reader = view.read(Metric::GroupReaderWaitTime);
    rows.push([
        counter(Metric::GroupCommits),
        counter(Metric::GroupSkippedAsynchronous),
        counter(Metric::GroupSkippedRemoteApply),
        counter(Metric::GroupSkippedStandby),
        counter(Metric::GroupSkippedTwoPhase),
        counter(Metric::GroupSkippedUnlogged),
        counter(Metric::GroupSkippedBackground),
        counter(Metric::GroupSkippedFsync),
        counter(Metric::GroupFlushes),
        counter(Metric::GroupFollowers),
        counter(Metric::GroupFlushedBefore),
        Field::from(size.mean()),
        Field::count(size.percentile(0.5)),
        Field::count(size.max),
        Field::time(flush.total),
        Field::time(wait.total),
        Field::time(wait.max),
        Field::count(reader.count),
        Field::time(reader.total),
        Field::time(view.read(Metric::FlushLockTime).count),
        Field::at(view.reset_times().counters),
    ]);
}
