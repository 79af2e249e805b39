//! Phase and forecast of the running checkpoint.
//!
//! *Runs in:* the monitor, at each poll. *Reads and writes:* reads the checkpointer's wait event,
//! its pace and its sync state; what comes of it is returned.
//! *Never:* writes to the segment: [`super::watch`] does.

use std::collections::VecDeque;

use pacing::forecast::{self, Pace, Prior, SyncProgress};
use statseg::{
    Cause, FlushMode, FlushState, Kind, Metric, Outcome, Phase, Progress, Segment, SyncState,
};

use super::message::flag;
use super::written::Written;
use crate::pgshim::{self, Wait, WorkList};
use crate::worklist::{Follower, Search};
use crate::{server, shmem};

/// Rates are taken over this long, so that they follow a change of load and do not flicker.
const RATE_WINDOW_US: i64 = 10_000_000;

/// The running checkpoint, as far as it is known.
pub(super) struct Running {
    pub(super) id: u64,
    pub(super) kind: Kind,
    /// Known from the start record; without log_checkpoints only when it is over.
    pub(super) flags: Option<u64>,
    pub(super) pid: u32,
    pub(super) started_at: i64,
    pub(super) redo: u64,
    /// Redo pointer of the checkpoint before; 0 when it is not known.
    pub(super) former_redo: u64,
    /// The cause, where the flags are not known: taken over from a former worker.
    pub(super) known_cause: Option<Cause>,
    /// Of the checkpointer's own progress through its phases; it never goes back.
    phase: Phase,
    search: Search,
    follower: Option<Follower>,
    /// Files on the work list: each will be fsynced.
    files: u64,
    written: Written,
    /// WAL position at the start (checkpointer.c:ckpt_start_recptr).
    start_position: u64,
    /// The counters of the flusher and of the pauses at the start.
    counters: Flushed,
    sync_started_at: Option<i64>,
    /// (when, buffers done, WAL position) of the polls in the window of the rates.
    samples: VecDeque<(i64, u64, u64)>,
}

/// What was done for smoothness.
#[derive(Clone, Copy, Default)]
pub(super) struct Flushed {
    pub(super) writeback_bytes: u64,
    pub(super) sync_pause_ns: u64,
}

impl Flushed {
    /// All so far; after a reset it is less.
    fn now() -> Self {
        let Some(segment) = shmem::segment() else {
            return Self::default();
        };
        let view = segment.view();
        Self {
            writeback_bytes: view.read(Metric::WritebackBytes).count,
            sync_pause_ns: view.read(Metric::SyncPauseTime).count,
        }
    }
}

/// What the checkpoints before say about this one's sync phase.
#[derive(Clone, Copy, Default)]
pub(super) struct Experience {
    pub(super) prior: Option<Prior>,
    /// Files that were synced without being on the work list: written by backends, SLRUs.
    pub(super) files_beside_list: u64,
}

impl Running {
    pub(super) fn begin(
        id: u64,
        kind: Kind,
        flags: Option<u64>,
        started_at: i64,
        redo: u64,
    ) -> Self {
        Self {
            id,
            kind,
            flags,
            pid: pgshim::checkpointer_pid(),
            started_at,
            redo,
            former_redo: 0,
            known_cause: None,
            phase: Phase::Preparing,
            search: Search::default(),
            follower: None,
            files: 0,
            written: Written::new(),
            start_position: server::pace().position,
            counters: Flushed::now(),
            sync_started_at: None,
            samples: VecDeque::new(),
        }
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        self.flags.map(cause).or(self.known_cause)
    }

    /// What was done for it so far.
    pub(super) fn flushed(&self) -> Flushed {
        let (now, then) = (Flushed::now(), self.counters);
        Flushed {
            writeback_bytes: now.writeback_bytes.saturating_sub(then.writeback_bytes),
            sync_pause_ns: now.sync_pause_ns.saturating_sub(then.sync_pause_ns),
        }
    }

    /// Publish the buffers per file, once a second.
    pub(super) fn publish_files(&mut self, segment: &Segment) {
        self.written.publish(segment, self.id, false);
    }

    /// It is over. If it has completed, all that is on its list was written; unless the list is
    /// that of the next checkpoint by now, which tells nothing of this one.
    pub(super) fn end(&mut self, segment: &Segment, outcome: Outcome) {
        if outcome == Outcome::Completed && server::redo_pointer() == self.redo {
            self.finish_list();
        }
        self.written.publish(segment, self.id, true);
    }

    fn finish_list(&mut self) {
        let written = &mut self.written;
        if let Some(follower) = &mut self.follower {
            follower.finish(|_, page| written.count(page.file));
        }
    }

    /// Files on the work list, if it was found.
    pub(super) fn listed_files(&self) -> Option<u64> {
        self.follower.as_ref().map(|_| self.files)
    }

    /// Look once: follow the list, tell the phase, forecast the end.
    pub(super) fn look(
        &mut self,
        now: i64,
        wait: Wait,
        sync: Option<&SyncState>,
        flush: &FlushState,
        experience: &Experience,
    ) -> Progress {
        self.follow();
        self.enter(phase_of(wait, self.follower.is_some(), sync), now);
        let pace = server::pace();
        let done = self.follower.as_ref().map(Follower::done);
        self.sample(now, done.unwrap_or(0), pace.position);
        let estimate = self
            .listed_files()
            .map(|listed| listed + experience.files_beside_list);
        let files_done = sync.map(|sync| sync.files_done);
        let last_file = sync.and_then(|sync| sync.last_file);
        let write_rate = self.rates().0;
        let pace = self.pace(now, &pace, done.unwrap_or(0), flush);
        let sync = SyncProgress {
            files_total: estimate.map(|files| files.max(files_done.unwrap_or(0))),
            files_done: files_done.unwrap_or(0),
            elapsed: self.sync_started_at.map_or(0.0, |at| seconds(now - at)),
        };
        let eta = forecast::end(
            &pace,
            forecast_phase(self.phase),
            experience.prior.as_ref(),
            &sync,
        );
        let moment = |end: f64| whole_second(self.started_at) + (end * 1e6) as i64;
        Progress {
            active: true,
            checkpoint_id: self.id,
            pid: self.pid,
            kind: self.kind,
            cause: self.cause(),
            phase: self.phase,
            started_at: self.started_at,
            redo_lsn: Some(self.redo),
            buffers_total: self.follower.as_ref().map(Follower::total),
            buffers_done: done,
            files_total_estimate: sync.files_total,
            files_done,
            current_file: last_file,
            write_rate_bytes: write_rate
                .map(|rate| (rate * f64::from(pgrx::pg_sys::BLCKSZ)) as u64),
            queue_bytes: (flush.mode != FlushMode::Off).then_some(flush.queue_bytes),
            os_dirty_bytes: flush.os_dirty_bytes,
            os_writeback_bytes: flush.os_writeback_bytes,
            sync_forecast_ns: forecast::sync_left(experience.prior.as_ref(), &sync)
                .map(|left| (left * 1e9) as u64),
            scheduled_end_at: forecast::scheduled_end(&pace).map(moment),
            eta_at: eta.map(moment),
            on_schedule: (!pace.immediate && pace.total > 0)
                .then(|| forecast::keeps_schedule(&pace)),
            updated_at: now,
        }
    }

    /// Find the list, or see how far it is written.
    fn follow(&mut self) {
        let written = &mut self.written;
        let stands = self
            .follower
            .as_mut()
            .is_some_and(|follower| follower.advance(|_, page| written.count(page.file)));
        if !stands && self.phase.code() <= Phase::Writing.code() {
            let unlogged = self
                .flags
                .is_none_or(|flags| flags & flag::UNLOGGED_TOO != 0);
            self.follower = self.search.find(WorkList::new(unlogged));
            self.files = self.follower.as_ref().map_or(0, listed_files);
            // At once: it may be found in the middle, by a worker that was started again.
            if let Some(follower) = &mut self.follower {
                follower.advance(|_, page| written.count(page.file));
            }
        }
    }

    /// Phases go forward only: a wait event of an earlier one is a leftover.
    fn enter(&mut self, phase: Phase, now: i64) {
        if phase.code() <= self.phase.code() {
            return;
        }
        self.phase = phase;
        if phase.code() >= Phase::Syncing.code() {
            self.sync_started_at.get_or_insert(now);
            self.finish_list();
        }
    }

    fn sample(&mut self, now: i64, done: u64, position: u64) {
        self.samples.push_back((now, done, position));
        while self.samples.len() > 2
            && self
                .samples
                .front()
                .is_some_and(|(at, ..)| now - at > RATE_WINDOW_US)
        {
            self.samples.pop_front();
        }
    }

    fn pace(&self, now: i64, pace: &server::Pace, done: u64, flush: &FlushState) -> Pace {
        let (mut write_rate, wal_rate) = self.rates();
        let mut done = done;
        if let Some(target) = flush.target_ppm
            && self.phase == Phase::Writing
        {
            // The schedule counts cost and not pages: so many pages would be as far.
            let share = target as f64 / 1e6 / pace.completion_target;
            done = (done as f64 * share) as u64;
            write_rate = None;
        }
        Pace {
            immediate: self
                .flags
                .is_some_and(|flags| flags & flag::NOT_SPREAD != 0),
            elapsed: seconds(now - whole_second(self.started_at)),
            done,
            total: self.follower.as_ref().map_or(0, Follower::total),
            write_rate,
            completion_target: pace.completion_target,
            timeout: f64::from(pace.timeout),
            wal_since_start: pace.position.saturating_sub(self.start_position),
            wal_rate,
            wal_segment_size: pace.wal_segment_bytes,
            checkpoint_segments: pace.checkpoint_segments,
        }
    }

    /// Buffers and bytes of WAL per second over the window; `None` before there are two samples.
    fn rates(&self) -> (Option<f64>, Option<f64>) {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return (None, None);
        };
        let time = seconds(last.0 - first.0);
        if time <= 0.0 {
            return (None, None);
        }
        let per_second = |grown: u64| Some(grown as f64 / time);
        let written = last.1.saturating_sub(first.1);
        (
            // A handful of buffers between two naps says nothing of the speed.
            per_second(written).filter(|_| written >= 20),
            per_second(last.2.saturating_sub(first.2)),
        )
    }
}

fn listed_files(follower: &Follower) -> u64 {
    let mut listed = Written::new();
    for page in follower.pages() {
        listed.count(page.file);
    }
    listed.files()
}

fn cause(flags: u64) -> Cause {
    let has = |flag| flags & flag != 0;
    if has(flag::SHUTDOWN) {
        Cause::Shutdown
    } else if has(flag::END_OF_RECOVERY) {
        Cause::EndOfRecovery
    } else if has(flag::WAL) {
        Cause::Wal
    } else if has(flag::TIME) {
        Cause::Timed
    } else {
        Cause::Requested
    }
}

fn phase_of(wait: Wait, list_found: bool, sync: Option<&SyncState>) -> Phase {
    match wait {
        Wait::Syncing => Phase::Syncing,
        // WAL is written and the control file updated in other moments too: it is the end only
        // after a file was synced.
        Wait::Finishing if sync.is_some_and(|sync| sync.files_done > 0) => Phase::Finishing,
        _ if sync.is_some_and(|sync| sync.files_done > 0) => Phase::Syncing,
        Wait::Writing => Phase::Writing,
        _ if list_found => Phase::Writing,
        _ => Phase::Preparing,
    }
}

fn forecast_phase(phase: Phase) -> forecast::Phase {
    match phase {
        Phase::Preparing => forecast::Phase::Preparing,
        Phase::Writing => forecast::Phase::Writing,
        Phase::Syncing => forecast::Phase::Syncing,
        Phase::Finishing => forecast::Phase::Finishing,
    }
}

/// The checkpointer counts from a whole second (checkpointer.c:ckpt_start_time).
fn whole_second(moment_us: i64) -> i64 {
    moment_us - moment_us.rem_euclid(1_000_000)
}

fn seconds(us: i64) -> f64 {
    us as f64 / 1e6
}
