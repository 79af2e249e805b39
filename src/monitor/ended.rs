//! A checkpoint that is over: its row of the history, and the counters.
//!
//! *Runs in:* the monitor. *Reads and writes:* the segment's `history` and the monitor's metrics.
//! *Never:* guesses: what is not known of a checkpoint stays absent.

use statseg::{Cause, Event, EventKind, History, Kind, Metric, Outcome, Segment};

use super::progress::Running;
use crate::pgshim::CoreCounters;

/// The row of a checkpoint whose end the checkpointer has told.
pub(super) fn by_event(running: &Running, event: &Event) -> History {
    let span = |from: Option<i64>, to: Option<i64>| {
        let us = u64::try_from(to? - from?).ok()?;
        us.checked_mul(1000)
    };
    let complete = event.kind == EventKind::Complete;
    History {
        outcome: if complete {
            Outcome::Completed
        } else {
            Outcome::Failed
        },
        started_at: event.start_at.unwrap_or(running.started_at),
        ended_at: event.end_at.unwrap_or(event.at),
        buffers_written: event.buffers_written,
        slru_written: event.slru_written,
        write_ns: span(event.write_start_at, event.sync_start_at),
        sync_ns: span(event.sync_start_at, event.sync_end_at),
        total_ns: span(event.start_at, event.end_at),
        files_synced: event.files_synced,
        longest_sync_ns: event.longest_sync_ns,
        longest_sync_file: event.longest_sync_file,
        average_sync_ns: average(event),
        wal_added: event.segs_added,
        wal_removed: event.segs_removed,
        wal_recycled: event.segs_recycled,
        distance_bytes: event.distance_bytes,
        estimate_bytes: event.estimate_bytes,
        ..row(running)
    }
}

/// The row of a checkpoint that was not logged, from PostgreSQL's own counters before and after.
pub(super) fn by_counters(
    running: &Running,
    ended_at: i64,
    before: Option<&CoreCounters>,
    after: &CoreCounters,
    distance_bytes: Option<u64>,
) -> History {
    // A reset in between leaves less than before, or what nobody can tell.
    let grown = |counter: fn(&CoreCounters) -> i64| {
        u64::try_from(counter(after).checked_sub(counter(before?))?).ok()
    };
    let write_ns = grown(|counters| counters.write_time_ms).map(|ms| ms * 1_000_000);
    let sync_ns = grown(|counters| counters.sync_time_ms).map(|ms| ms * 1_000_000);
    // A checkpoint shorter than a poll was seen to begin when it was over already.
    let at_least = write_ns.unwrap_or(0) + sync_ns.unwrap_or(0);
    let latest_start = ended_at - i64::try_from(at_least / 1000).unwrap_or(0);
    let started_at = running.started_at.min(latest_start);
    History {
        outcome: Outcome::Completed,
        cause: running.cause().or_else(|| counted_cause(before?, after)),
        started_at,
        ended_at,
        buffers_written: grown(|counters| counters.buffers_written),
        slru_written: grown(|counters| counters.slru_written).filter(|_| after.slru_written >= 0),
        write_ns,
        sync_ns,
        total_ns: u64::try_from(ended_at - started_at)
            .ok()
            .map(|us| us * 1000),
        distance_bytes,
        ..row(running)
    }
}

/// The row of a checkpoint that ended without a word and did not reach the control file.
pub(super) fn failed(running: &Running, ended_at: i64) -> History {
    History {
        outcome: Outcome::Failed,
        started_at: running.started_at,
        ended_at,
        ..row(running)
    }
}

fn row(running: &Running) -> History {
    let flushed = running.flushed();
    History {
        writeback_bytes: Some(flushed.writeback_bytes),
        sync_pause_ns: Some(flushed.sync_pause_ns),
        checkpoint_id: running.id,
        kind: running.kind,
        cause: running.cause(),
        redo_lsn: Some(running.redo),
        ..History::default()
    }
}

/// As xlog.c:LogCheckpointEnd divides: whole microseconds.
fn average(event: &Event) -> Option<u64> {
    let total_us = event.total_sync_ns? / 1000;
    Some(total_us.checked_div(event.files_synced?).unwrap_or(0) * 1000)
}

/// PostgreSQL counts a checkpoint as timed or requested when it decides to do it.
fn counted_cause(before: &CoreCounters, after: &CoreCounters) -> Option<Cause> {
    match (
        after.timed > before.timed,
        after.requested > before.requested,
    ) {
        (true, false) => Some(Cause::Timed),
        (false, true) => Some(Cause::Requested),
        _ => None,
    }
}

/// Count the checkpoint, then append its row: who finds the row finds all counted.
pub(super) fn record(segment: &Segment, row: &History) {
    count(segment, row);
    segment.history().push(row);
}

fn count(segment: &Segment, row: &History) {
    let count = |metric: Metric, number: Option<u64>| {
        segment.counter(metric).add(number.unwrap_or(0));
    };
    let measure = |metric: Metric, number: Option<u64>| {
        if let Some(number) = number {
            segment.statistic(metric).record(number);
        }
    };
    if row.outcome == Outcome::Failed {
        count(Metric::NumFailed, Some(1));
        return;
    }
    let [timed, requested, done] = match row.kind {
        Kind::Checkpoint => [Metric::NumTimed, Metric::NumRequested, Metric::NumDone],
        Kind::Restartpoint => [
            Metric::RestartpointsTimed,
            Metric::RestartpointsReq,
            Metric::RestartpointsDone,
        ],
    };
    match row.cause {
        Some(Cause::Timed) => count(timed, Some(1)),
        Some(_) => count(requested, Some(1)),
        None => {}
    }
    count(done, Some(1));
    count(Metric::BuffersWritten, row.buffers_written);
    count(Metric::SlruWritten, row.slru_written);
    count(Metric::FilesSynced, row.files_synced);
    count(Metric::WriteTime, row.write_ns);
    count(Metric::SyncTime, row.sync_ns);
    measure(Metric::CheckpointWriteTime, row.write_ns);
    measure(Metric::CheckpointSyncTime, row.sync_ns);
    measure(Metric::CheckpointTotalTime, row.total_ns);
    measure(Metric::CheckpointLongestSyncTime, row.longest_sync_ns);
    measure(Metric::CheckpointBuffers, row.buffers_written);
    measure(Metric::CheckpointDistance, row.distance_bytes);
}
