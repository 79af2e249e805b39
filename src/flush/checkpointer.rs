//! The checkpointer's side: leave the writeback of a spread checkpoint to the flusher, and pause between fsyncs while commits are slow.
//!
//! *Runs in:* the checkpointer, from the log hook; [`started`] in a critical section.
//! *Reads and writes:* reads `flush_state`, and what the server's processes wait for; writes
//! `takeover` and the time paused.
//! *Never:* raises or takes a lock. Never pauses in an immediate or shutdown checkpoint.
//!
//! A pause does not absorb sync requests. Between the fsync of a file and the removal of its
//! entry, which is where the hook is called (sync.c:ProcessSyncRequests), a new request for that
//! file would be taken for the one just done, and be lost with it. So a pause is short, and the
//! requests wait in their queue until PostgreSQL absorbs them before the next file but nine.

use std::time::Duration;

use pacing::sync::SyncPace;
use statseg::{FlushState, Metric, Segment, Takeover};

use super::alarm;
use crate::process::{ProcessCell, now_us};
use crate::{loglevel, pgshim, server, settings, shmem};

/// The spread checkpoint that this process is in.
#[derive(Clone, Copy)]
struct Spread {
    takeover: Takeover,
    pace: SyncPace,
    /// The alarm was stopped, and will ring once more.
    alarm_left: bool,
    /// Somebody waits for its end.
    in_haste: bool,
}

static SPREAD: ProcessCell<Option<Spread>> = ProcessCell::new(None);

/// A checkpoint has begun.
pub(crate) fn started(spread: bool, unlogged: bool) {
    ended();
    let Some(segment) = shmem::segment() else {
        return;
    };
    if !spread || !settings::flush() || !server::syncs_data() {
        return;
    }
    let state = shmem::flusher(segment);
    let takeover = Takeover {
        active: state.willing,
        started_at: now_us(),
        unlogged,
        syncing: false,
    };
    if takeover.active {
        alarm::start();
    }
    if takeover.active || settings::sync_pace_max() > 0.0 {
        loglevel::listen();
    }
    segment.takeover().write(&takeover);
    let allowance = settings::sync_pace_max() * f64::from(server::pace().timeout);
    SPREAD.set(Some(Spread {
        takeover,
        pace: SyncPace::new(allowance),
        alarm_left: false,
        in_haste: false,
    }));
    wake(&state);
}

/// One file was synced: the place to pause.
pub(crate) fn synced(ns: u64) {
    let (Some(mut spread), Some(segment)) = (SPREAD.get(), shmem::segment()) else {
        return;
    };
    if !spread.takeover.syncing {
        alarm::stop();
        spread.alarm_left = alarm::is_left();
        // It was the alarm.
        server::forget_wants();
        spread.in_haste = is_early(segment);
        spread.takeover.syncing = true;
        segment.takeover().write(&spread.takeover);
    }
    if spread.alarm_left && !alarm::is_left() {
        // And once more: nothing else resets the latch in this phase.
        server::forget_wants();
        spread.alarm_left = false;
    }
    if !spread.in_haste {
        pause(segment, &mut spread.pace, ns as f64 / 1e9);
    }
    SPREAD.set(Some(spread));
}

/// Sleep as long as the pace says, in short naps: what it goes by changes meanwhile.
fn pause(segment: &Segment, pace: &mut SyncPace, last_sync: f64) {
    let mut cost = last_sync;
    while !server::is_wanted() && !pgshim::checkpoint_awaited() {
        let backlog = shmem::flusher(segment).due_cost_ns as f64 / 1e9;
        let seconds = pace.pause(
            now_us() as f64 / 1e6,
            cost,
            super::mean_commit(segment),
            settings::target_delay(),
            files_left(segment),
            backlog,
        );
        if seconds <= 0.0 {
            return;
        }
        let nap = Duration::from_secs_f64(seconds);
        std::thread::sleep(nap);
        segment
            .counter(Metric::SyncPauseTime)
            .add(u64::try_from(nap.as_nanos()).unwrap_or(0));
        // Paid for; what may follow is for the backlog.
        cost = 0.0;
        if backlog <= 0.0 {
            return;
        }
    }
}

/// Is the write phase over well before its schedule? Then somebody has asked for haste: the
/// request itself is private to checkpointer.c (ImmediateCheckpointRequested). A list of a few
/// pages ends early as well, and needs no pauses.
fn is_early(segment: &Segment) -> bool {
    let Ok(progress) = segment.progress().read() else {
        return false;
    };
    let Some(end) = progress.scheduled_end_at.filter(|_| progress.active) else {
        return false;
    };
    end - now_us() > EARLY_US.max((end - progress.started_at) / 10)
}

/// A write phase ends a nap or two before its schedule.
const EARLY_US: i64 = 500_000;

/// Files still to be synced, as far as the monitor can tell.
fn files_left(segment: &Segment) -> Option<u64> {
    let progress = segment.progress().read().ok()?;
    let total = progress.files_total_estimate?;
    Some(total.saturating_sub(progress.files_done.unwrap_or(0)))
}

/// The checkpoint is over, or we are no more told of it.
pub(crate) fn ended() {
    let (Some(_), Some(segment)) = (SPREAD.get(), shmem::segment()) else {
        return;
    };
    SPREAD.set(None);
    loglevel::end();
    alarm::stop();
    segment.takeover().write(&Takeover::default());
    wake(&shmem::flusher(segment));
}

fn wake(state: &FlushState) {
    if let (Some(number), Some(pid)) = (state.proc_number, state.pid) {
        pgshim::wake(number, pid);
    }
}
