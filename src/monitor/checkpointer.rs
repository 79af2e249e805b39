//! What the checkpointer says of itself, taken from its own log records.
//!
//! *Runs in:* the checkpointer, inside `emit_log_hook`, sometimes in a critical section.
//! *Reads and writes:* the segment's `events`, `sync_state` and `files_synced`, which have no
//! other writer; this process's log level while a checkpoint runs
//! (with [`crate::flush::checkpointer`]).
//! *Never:* raises, takes a lock (but for the spinlock of GetRedoRecPtr), waits, or changes what
//! the user finds in the log.
//!
//! xlog.c:LogCheckpointStart and LogCheckpointEnd log a record each, with `CheckpointStats`
//! complete at the second. Between them sync.c:ProcessSyncRequests logs one record per file at
//! DEBUG1, so that level is set for the length of the checkpoint, and what only that brought
//! about is swallowed here.

use std::ffi::{CStr, c_char};

use pgrx::{PgLogLevel, pg_sys};
use statseg::{Event, EventKind, Metric, Placement, Segment, SyncState};

use super::message::{self, Said, flag};
use crate::process::{self, ProcessCell, now_us};
use crate::{loglevel, pgshim, relfile, server, settings, shmem};

/// The checkpoint that this process is in.
#[derive(Clone, Copy)]
struct Running {
    restartpoint: bool,
    /// Files are tracked.
    tracked: bool,
    sync: SyncState,
}

/// What was heard of, for the others who live by these records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    Nothing,
    /// A checkpoint or restartpoint has begun.
    Started {
        /// The checkpointer paces its writes.
        spread: bool,
        /// Pages of unlogged relations are written too.
        unlogged: bool,
    },
    /// One file was synced, in this time.
    Synced {
        ns: u64,
    },
    /// The checkpoint is over, or not to be told of.
    Ended,
}

static RUNNING: ProcessCell<Option<Running>> = ProcessCell::new(None);

/// One log record of the checkpointer.
pub(crate) fn observe(record: &pg_sys::ErrorData) -> Heard {
    let Some(segment) = shmem::segment() else {
        return Heard::Nothing;
    };
    match message::classify(text(record.message_id)) {
        // Switched off, or no more told of: nothing that follows belongs to a checkpoint.
        _ if !settings::enabled() || !server::logs_checkpoints() => {
            end();
            Heard::Ended
        }
        Said::Start { restartpoint } => started(segment, restartpoint, text(record.message)),
        Said::Complete { restartpoint } => {
            completed(segment, restartpoint, text(record.message));
            Heard::Ended
        }
        Said::Synced => synced(segment, text(record.message)),
        // Nothing in a checkpoint catches an error: it ends with it (checkpointer.c).
        Said::Other if record.elevel >= PgLogLevel::ERROR as i32 => {
            failed(segment);
            Heard::Ended
        }
        Said::Other => Heard::Nothing,
    }
}

fn started(segment: &Segment, restartpoint: bool, text: &[u8]) -> Heard {
    // The one before has not been heard of again.
    failed(segment);
    let tracked = settings::track_sync();
    // Not tracked: no checkpoint's, so that the monitor does not take zero files for a fact.
    let start_at = if tracked { now_us() } else { 0 };
    let sync = SyncState {
        start_at,
        ..SyncState::default()
    };
    segment.sync_state().write(&sync);
    if tracked {
        loglevel::listen();
    }
    RUNNING.set(Some(Running {
        restartpoint,
        tracked,
        sync,
    }));
    let flags = message::flags(text);
    tell(
        segment,
        Event {
            flags,
            // xlog.c sets it before it logs the start, for restartpoints too.
            redo_lsn: server::redo_pointer(),
            ..event(EventKind::Start, restartpoint)
        },
    );
    Heard::Started {
        spread: flags & flag::NOT_SPREAD == 0,
        unlogged: flags & flag::UNLOGGED_TOO != 0,
    }
}

fn synced(segment: &Segment, text: &[u8]) -> Heard {
    let Some((file, ns)) = message::synced(text) else {
        return Heard::Nothing;
    };
    if let Some(running) = RUNNING.get().filter(|running| running.tracked) {
        count_sync(segment, running, file, ns);
    }
    Heard::Synced { ns }
}

fn count_sync(segment: &Segment, mut running: Running, file: &str, ns: u64) {
    let sync = &mut running.sync;
    sync.files_done += 1;
    sync.sync_time_ns += ns;
    sync.last_at = now_us();
    sync.last_file = Some(statseg::Text::new(file));
    if ns >= sync.longest_ns {
        sync.longest_ns = ns;
        sync.longest_file = sync.last_file;
    }
    segment.sync_state().write(sync);
    segment.statistic(Metric::FileSyncTime).record(ns);
    let used = u64::try_from(sync.last_at).unwrap_or(0);
    let placement = segment
        .files_synced()
        .update(&relfile::key(file), file, used, |stats| {
            stats.record_sync(ns)
        });
    if placement == Placement::Evicted {
        segment.counter(Metric::SyncFilesEvicted).increment();
    }
    RUNNING.set(Some(running));
}

fn completed(segment: &Segment, restartpoint: bool, text: &[u8]) {
    // Started while we were switched off: there is no row to complete.
    let Some(running) = end() else {
        return;
    };
    let stats = pgshim::checkpoint_stats();
    let count = |number: i64| u64::try_from(number).ok();
    let moment = |at: i64| Some(process::unix_us(at));
    let distances = message::distances(
        text,
        count(stats.buffers_written).unwrap_or(0),
        stats.slru_written >= 0,
        count(stats.files_synced).unwrap_or(0),
    );
    tell(
        segment,
        Event {
            redo_lsn: server::redo_pointer(),
            buffers_written: count(stats.buffers_written),
            slru_written: count(stats.slru_written),
            start_at: moment(stats.start_at),
            write_start_at: moment(stats.write_at),
            sync_start_at: moment(stats.sync_at),
            sync_end_at: moment(stats.sync_end_at),
            end_at: moment(stats.end_at),
            segs_added: count(stats.segments_added),
            segs_removed: count(stats.segments_removed),
            segs_recycled: count(stats.segments_recycled),
            files_synced: count(stats.files_synced),
            longest_sync_ns: Some(stats.longest_sync_us.saturating_mul(1000)),
            total_sync_ns: Some(stats.total_sync_us.saturating_mul(1000)),
            distance_bytes: distances.map(|(distance, _)| distance),
            estimate_bytes: distances.map(|(_, estimate)| estimate),
            longest_sync_file: running.sync.longest_file,
            ..event(EventKind::Complete, restartpoint)
        },
    );
}

fn failed(segment: &Segment) {
    if let Some(running) = end() {
        tell(segment, event(EventKind::Failed, running.restartpoint));
    }
}

/// Leave the running checkpoint, if there is one, and speak as the user wants again.
fn end() -> Option<Running> {
    let running = RUNNING.get()?;
    RUNNING.set(None);
    loglevel::end();
    Some(running)
}

fn event(kind: EventKind, restartpoint: bool) -> Event {
    Event {
        kind,
        at: now_us(),
        restartpoint,
        pid: process::pid(),
        ..Event::default()
    }
}

/// Hand an event to the monitor and wake it.
fn tell(segment: &Segment, event: Event) {
    segment.events().push(&event);
    if let Ok(monitor) = segment.monitor_state().read()
        && let (Some(number), Some(pid)) = (monitor.proc_number, monitor.pid)
    {
        pgshim::wake(number, pid);
    }
}

/// A C string of the record, empty when there is none.
fn text<'a>(string: *const c_char) -> &'a [u8] {
    if string.is_null() {
        return b"";
    }
    // SAFETY: elog.c's strings are zero-terminated and live as long as the record, which
    // outlives the hook's call; no caller keeps the slice longer.
    unsafe { CStr::from_ptr(string) }.to_bytes()
}
