//! The monitor: from events and wait events to the begin, progress and end of checkpoints.
//!
//! *Runs in:* the `ckptflush monitor` worker.
//! *Reads and writes:* reads the segment's events and sync state; writes `monitor_state`,
//! `progress`, `files_written`, `history` and the monitor's metrics, whose only writer it is.
//! *Never:* talks to the checkpointer; takes a lock of the buffer pool.
//!
//! With `log_checkpoints` the checkpointer's events tell begin and end. Without, a checkpoint
//! begins when the redo pointer moves and ends when the checkpointer waits in its main loop
//! again. The same two signs close a checkpoint whose end was never told: it failed, unless the
//! control file names its redo pointer, which is written last (xlog.c:CreateCheckPoint).

use std::time::{Duration, Instant};

use pacing::forecast::Prior;
use statseg::{
    CheckpointPhase, Event, EventKind, History, Kind, Metric, MonitorState, Outcome, Progress,
    Segment, SyncState,
};

use super::ended;
use super::progress::{Experience, Running};
use crate::observe::victims::Victims;
use crate::pgshim::{self, CoreCounters, Wait};
use crate::{process, server, shmem};

/// What the monitor knows between two polls.
pub(crate) struct Monitor {
    segment: &'static Segment,
    state: MonitorState,
    running: Option<Running>,
    experience: Experience,
    /// PostgreSQL's counters before the running or next checkpoint, and when they were read.
    /// Unknown until the checkpointer is seen idle after the one before: it publishes them late.
    counters: Option<(CoreCounters, Instant)>,
    /// When a moved redo pointer was first seen without its event.
    unexplained_since: Option<Instant>,
    victims: Victims,
}

impl Monitor {
    /// Begin to watch, or go on where the worker before this one stopped.
    pub(crate) fn start(segment: &'static Segment) -> Self {
        let mut state = segment.monitor_state().read().unwrap_or_default();
        state.next_checkpoint_id = state.next_checkpoint_id.max(1);
        state.proc_number = Some(pgshim::my_proc_number());
        state.pid = Some(process::pid());
        let mut monitor = Self {
            segment,
            state,
            running: None,
            experience: experience(&state),
            counters: None,
            unexplained_since: None,
            victims: Victims::start(segment),
        };
        monitor.resume();
        monitor.save();
        monitor
    }

    /// Take up the checkpoint that the former worker was watching.
    fn resume(&mut self) {
        let Ok(left) = self.segment.progress().read() else {
            return;
        };
        if left.active {
            let mut running = Running::begin(
                left.checkpoint_id,
                left.kind,
                None,
                left.started_at,
                left.redo_lsn.unwrap_or(0),
            );
            running.known_cause = left.cause;
            self.running = Some(running);
        }
    }

    /// Look once. Called every `ckptflush.sample_interval` and whenever an event arrives.
    pub(crate) fn poll(&mut self) {
        let started = Instant::now();
        // In this order: a wait that is read before the events are cannot be the idle time
        // after an end that we have not been told of yet.
        let wait = pgshim::checkpointer_wait();
        let was_running = self.running.is_some();
        self.take_events();
        if was_running && matches!(wait, Wait::Idle | Wait::Absent) {
            self.end_untold();
        }
        self.notice_unlogged();
        if wait == Wait::Idle {
            self.count_idle();
        }
        self.publish();
        let spent = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.segment
            .statistic(Metric::MonitorPollTime)
            .record(spent);
    }

    /// Has the checkpointer told something since the last look?
    pub(crate) fn is_told(&self) -> bool {
        self.segment.events().head() > self.state.events_seen
    }

    /// Something is about to happen that a look in a moment would see better than one later.
    pub(crate) fn is_curious(&self) -> bool {
        match &self.running {
            // Its work list is being made. Not for long: a checkpoint that has nothing to write
            // has no list at all.
            Some(running) => {
                let age = process::now_us() - running.started_at;
                running.listed_files().is_none() && (0..LIST_WITHIN_US).contains(&age)
            }
            // The checkpointer is about to publish its counters.
            None => self.counters.is_none(),
        }
    }

    /// Switched off: forget the running checkpoint, whose end nobody will tell, and the redo
    /// pointer, which may move unwatched.
    pub(crate) fn suspend(&mut self) {
        self.take_events();
        self.running = None;
        self.state.last_redo_lsn = 0;
        self.publish();
    }

    /// Work off what the checkpointer has told since the last poll.
    fn take_events(&mut self) {
        let events = self.segment.events();
        let head = events.head();
        let capacity = events.capacity() as u64;
        let oldest = (head + 1).saturating_sub(capacity).max(1);
        let mut next = self.state.events_seen + 1;
        if next < oldest {
            self.segment.counter(Metric::EventsLost).add(oldest - next);
            next = oldest;
        }
        for id in next..=head {
            // Before it is worked off: an error there must not bring it back for ever.
            self.state.events_seen = id;
            match events.get(id) {
                Some(event) => self.take(&event),
                None => self.segment.counter(Metric::EventsLost).increment(),
            }
        }
        if head >= next {
            self.save();
        }
    }

    fn take(&mut self, event: &Event) {
        match event.kind {
            EventKind::Start => self.told_start(event),
            EventKind::Complete | EventKind::Failed => self.told_end(event),
        }
    }

    fn told_start(&mut self, event: &Event) {
        self.unexplained_since = None;
        let kind = kind(event.restartpoint);
        if let Some(running) = &mut self.running {
            if running.redo == event.redo_lsn && running.flags.is_none() {
                // Seen by its redo pointer before its record came.
                running.flags = Some(event.flags);
                running.kind = kind;
                return;
            }
            self.end_untold();
        }
        self.begin(kind, Some(event.flags), event.at, event.redo_lsn);
    }

    fn told_end(&mut self, event: &Event) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let row = ended::by_event(&running, event);
        self.close(&mut running, &row);
    }

    /// The running checkpoint is over, and nobody said so.
    fn end_untold(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let now = process::now_us();
        let row = if pgshim::control_file_redo().is_none_or(|redo| redo >= running.redo) {
            let after = pgshim::core_counters();
            let distance = running.redo.checked_sub(running.former_redo);
            let before = self.counters.map(|(before, _)| before);
            ended::by_counters(&running, now, before.as_ref(), &after, distance)
        } else {
            ended::failed(&running, now)
        };
        self.close(&mut running, &row);
    }

    /// Without log_checkpoints a moved redo pointer is the only sign of a start.
    fn notice_unlogged(&mut self) {
        let redo = server::redo_pointer();
        if self.state.last_redo_lsn == 0 {
            // The first look of all, or the first one after we were switched off. It is 0 until
            // the startup process has read the control file.
            self.state.last_redo_lsn = redo;
        }
        if self.running.is_some() || redo == self.state.last_redo_lsn {
            self.unexplained_since = None;
            return;
        }
        let since = *self.unexplained_since.get_or_insert_with(Instant::now);
        if server::logs_checkpoints() && since.elapsed() < PATIENCE {
            return; // its record is on the way
        }
        self.unexplained_since = None;
        let kind = kind(server::in_recovery());
        self.begin(kind, None, process::now_us(), redo);
        // Shorter than a poll: it is over already. Read after the redo pointer, an idle
        // checkpointer cannot be one that has not begun.
        if matches!(pgshim::checkpointer_wait(), Wait::Idle | Wait::Absent) {
            self.end_untold();
        }
    }

    /// Keep PostgreSQL's counters of the time before a checkpoint: it is not logged by surprise,
    /// and at the start of the server or by a reset they change without one.
    fn count_idle(&mut self) {
        let fresh = self
            .counters
            .is_some_and(|(_, at)| at.elapsed() < COUNT_EVERY);
        if self.running.is_some() || fresh {
            return;
        }
        let counters = pgshim::core_counters();
        // A checkpoint that began meanwhile may be in them.
        if server::redo_pointer() == self.state.last_redo_lsn {
            self.counters = Some((counters, Instant::now()));
        }
    }

    fn begin(&mut self, kind: Kind, flags: Option<u64>, at: i64, redo: u64) {
        let id = self.state.next_checkpoint_id;
        self.state.next_checkpoint_id += 1;
        let mut running = Running::begin(id, kind, flags, at, redo);
        running.former_redo = self.state.last_redo_lsn;
        self.running = Some(running);
        self.victims.begin();
        self.state.last_redo_lsn = redo;
        self.save();
    }

    fn close(&mut self, running: &mut Running, row: &History) {
        running.end(self.segment, row.outcome);
        let row = &self.victims.end(*row);
        // First, so that nobody finds one checkpoint running and in the history.
        self.segment.progress().write(&idle());
        ended::record(self.segment, row);
        if row.outcome == Outcome::Completed
            && let Some(sync_ns) = row.sync_ns
        {
            self.state.previous_sync_ns = sync_ns;
            self.state.previous_files = row.files_synced.unwrap_or(0);
            self.experience = experience(&self.state);
            if let (Some(synced), Some(listed)) = (row.files_synced, running.listed_files()) {
                self.experience.files_beside_list = synced.saturating_sub(listed);
            }
        }
        self.counters = None;
        self.save();
    }

    fn publish(&mut self) {
        let now = process::now_us();
        let progress = match &mut self.running {
            Some(running) => {
                let sync = current_sync(self.segment, running);
                let progress = running.look(
                    now,
                    pgshim::checkpointer_wait(),
                    sync.as_ref(),
                    &shmem::flusher(self.segment),
                    &self.experience,
                );
                running.publish_files(self.segment);
                self.victims.look();
                progress
            }
            None => idle(),
        };
        self.segment.progress().write(&progress);
        let phase = CheckpointPhase::of(progress.phase);
        self.segment.set_checkpoint_phase(if progress.active {
            phase
        } else {
            CheckpointPhase::None
        });
    }

    fn save(&self) {
        self.segment.monitor_state().write(&self.state);
    }
}

/// The progress of no checkpoint.
fn idle() -> Progress {
    Progress {
        updated_at: process::now_us(),
        ..Progress::default()
    }
}

/// The sync state, if it is the running checkpoint's and its files are tracked.
fn current_sync(segment: &Segment, running: &Running) -> Option<SyncState> {
    let sync = segment.sync_state().read().ok()?;
    (sync.start_at + SLACK_US >= running.started_at).then_some(sync)
}

/// How long the record of a start may be late before the checkpoint counts as not logged.
const PATIENCE: Duration = Duration::from_millis(250);

/// The list of 8 GB of dirty buffers is filled and sorted within this.
const LIST_WITHIN_US: i64 = 5_000_000;

const COUNT_EVERY: Duration = Duration::from_secs(1);

/// The checkpointer writes the sync state a moment before it tells the start.
const SLACK_US: i64 = 10_000;

fn experience(state: &MonitorState) -> Experience {
    Experience {
        prior: (state.previous_sync_ns > 0).then(|| Prior {
            seconds: state.previous_sync_ns as f64 / 1e9,
            files: state.previous_files,
        }),
        files_beside_list: 0,
    }
}

fn kind(restartpoint: bool) -> Kind {
    if restartpoint {
        Kind::Restartpoint
    } else {
        Kind::Checkpoint
    }
}
