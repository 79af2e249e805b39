//! The flusher: what was written is put on the device in time, evenly, and beside the commits.
//!
//! *Runs in:* the `ckptflush flusher` worker.
//! *Reads and writes:* reads the checkpointer's work list, the monitor's progress, the commits'
//! times and the page cache; writes `flush_state`, `files_flushed` and the flusher's metrics,
//! whose only writer it is; starts writeback.
//! *Never:* waits for writeback; marks anything as synced: the checkpointer still syncs every
//! file, and a wrong guess here costs I/O, never durability.

use std::time::{Duration, Instant};

use pacing::plan::Planned;
use statseg::{FlushMode, FlushState, Metric, Placement, Segment, Takeover};

use super::due::Expiry;
use super::files::Files;
use super::following::{Following, write_phase_left};
use super::lane::Lane;
use super::sweep::{Seen, Sweep};
use crate::kernel::{self, Facilities};
use crate::process::now_us;
use crate::{pgshim, process, server, settings, shmem};

/// With nothing to do, only to show that we are alive.
const IDLE: Duration = Duration::from_millis(400);
/// Looking for a list that is being made.
const CURIOUS: Duration = Duration::from_millis(10);
/// Between two looks at a list that is being written, and at commits.
const FOLLOWING: Duration = Duration::from_millis(50);
/// While the sweep is in the middle of its round: its slice is 2 ms.
const SWEEPING: Duration = Duration::from_millis(50);
/// What is due by then counts as due: deadlines are kept to the second.
const DUE_SOON: f64 = 0.5;
/// Of a window of 64 blocks: from here on it is dense.
const DENSE: u32 = 24;
/// Dirty blocks of a window that has been there for a while, at most: the kernel counts a folio,
/// which may be the whole window, as dirty when one page of it is.
const SPARSE: u32 = 4;

/// What the flusher knows between two rounds.
pub(crate) struct Flusher {
    segment: &'static Segment,
    began: Instant,
    facilities: Facilities,
    expiry: Expiry,
    files: Files,
    lanes: Vec<Lane>,
    following: Option<Following>,
    sweep: Sweep,
    state: FlushState,
    /// The window of commits that the brakes were told of last.
    commit_window: u64,
    published: Instant,
    issued_bytes: u64,
    /// Deadlines missed, as counted so far.
    missed: u64,
}

impl Flusher {
    pub(crate) fn start(segment: &'static Segment) -> Self {
        Self {
            segment,
            began: Instant::now(),
            facilities: kernel::facilities(),
            expiry: Expiry(kernel::dirty_expire_seconds()),
            files: Files::default(),
            lanes: Vec::new(),
            following: None,
            sweep: Sweep::new(),
            state: FlushState {
                proc_number: Some(pgshim::my_proc_number()),
                pid: Some(process::pid()),
                ..FlushState::default()
            },
            commit_window: 0,
            published: Instant::now(),
            issued_bytes: 0,
            missed: 0,
        }
    }

    /// One round; returns the time until the next one is wanted.
    pub(crate) fn round(&mut self) -> Duration {
        if !settings::flush() || !server::syncs_data() || !self.facilities.writeback {
            self.suspend();
            return IDLE;
        }
        let began = Instant::now();
        let takeover = shmem::takeover(self.segment);
        self.follow(&takeover);
        let sweeping = settings::flush_sweep() && self.facilities.cachestat && self.sweep();
        self.open_lanes();
        self.feed_brakes();
        let issued = self.issue(&takeover);
        self.issued_bytes += issued;
        self.publish(&takeover);
        let spent = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.segment.statistic(Metric::FlushRoundTime).record(spent);
        self.pause(sweeping)
    }

    /// Switched off: forget what waits. The kernel writes it, or a checkpoint does.
    pub(crate) fn suspend(&mut self) {
        self.following = None;
        self.lanes.clear();
        self.missed = 0;
        self.files = Files::default();
        self.sweep = Sweep::new();
        self.state = FlushState {
            mode: FlushMode::Off,
            heartbeat_at: now_us(),
            proc_number: self.state.proc_number,
            pid: self.state.pid,
            ..FlushState::default()
        };
        self.segment.flush_state().write(&self.state);
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn pause(&self, sweeping: bool) -> Duration {
        let waits = self
            .lanes
            .iter()
            .filter(|lane| !lane.queue.is_empty())
            .map(|lane| Duration::from_secs_f64(lane.plan.wait().clamp(0.002, 0.1)));
        let following = self.following.as_ref().map(|following| {
            if following.is_curious() {
                CURIOUS
            } else {
                FOLLOWING
            }
        });
        let sweeping = sweeping.then_some(SWEEPING);
        waits.chain(following).chain(sweeping).min().unwrap_or(IDLE)
    }

    /// Take up, follow, or leave the checkpoint whose writeback is left to us.
    fn follow(&mut self, takeover: &Takeover) {
        let now = self.now();
        if !takeover.active {
            self.following = None;
            return;
        }
        if !self.following.as_ref().is_some_and(|it| it.is(takeover)) {
            self.following = Some(Following::begin(*takeover));
        }
        let Some(following) = &mut self.following else {
            return;
        };
        let progress = self.segment.progress().read().unwrap_or_default();
        // Without a schedule: soon, but not at once.
        let left = write_phase_left(&progress, takeover).unwrap_or(2.0);
        let (expiry, lanes) = (self.expiry, &mut self.lanes);
        following.advance(takeover.syncing, &mut self.files, |files, number, block| {
            let Some(file) = files.get_mut(number) else {
                return;
            };
            let since = file.dirtied(expiry, now);
            file.clean_mtime = None;
            let deadline = expiry.listed(since, now, now + left);
            if let Some(lane) = lanes.get_mut(file.lane) {
                lane.queue.mark(number, block, deadline);
            }
        });
    }

    /// Go on with the sweep. True while it is in its round.
    fn sweep(&mut self) -> bool {
        let now = self.now();
        let (expiry, lanes) = (self.expiry, &mut self.lanes);
        let sweeping = self.sweep.slice(&mut self.files, |files, number, seen| {
            let Some(file) = files.get_mut(number) else {
                return;
            };
            let Some(lane) = lanes.get_mut(file.lane) else {
                return;
            };
            match *seen {
                Seen::Window { index, dirty, new } => {
                    // In an old part it may be one page of a large folio.
                    let dirty = if new { dirty } else { dirty.min(SPARSE) };
                    let since = file.dirtied(expiry, now);
                    let deadline = expiry.swept(since, now, dirty >= DENSE);
                    lane.queue.observe(number, index, dirty, deadline);
                }
                Seen::Clean => lane.queue.forget(number),
                Seen::Gone => {
                    lane.queue.forget(number);
                    files.remove(number);
                }
            }
        });
        self.state.sweep_files = self.files.len() as u64;
        self.state.sweep_ns = u64::try_from(self.sweep.last_round.as_nanos()).unwrap_or(0);
        sweeping
    }

    /// A lane for each device that was found.
    fn open_lanes(&mut self) {
        for device in self.files.devices().iter().skip(self.lanes.len()) {
            self.lanes.push(Lane::new(*device));
        }
    }

    /// Tell the brakes of the commits of each tenth of a second that is over.
    fn feed_brakes(&mut self) {
        let window = super::last_commit_window();
        if window == self.commit_window {
            return;
        }
        self.commit_window = window;
        let mean = super::mean_commit(self.segment);
        self.state.commit_mean_ns = mean.map(|seconds| (seconds * 1e9) as u64);
        for lane in &mut self.lanes {
            // On a device of its own the WAL is not slowed by us, nor commits by what we do.
            let told = mean.filter(|_| lane.with_wal);
            lane.plan.brake_mut().commit_window(told);
        }
    }

    /// Issue what is due, on every device.
    fn issue(&mut self, takeover: &Takeover) -> u64 {
        let now = self.now();
        let progress = self.segment.progress().read().unwrap_or_default();
        let left = write_phase_left(&progress, takeover);
        let mut bytes = 0;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let planned = self
                .following
                .as_ref()
                .zip(left)
                .map(|(following, left)| Planned {
                    load: following.planned(index),
                    deadline: now + left,
                });
            let done = lane.round(now, &mut self.files, planned, self.facilities.cachestat);
            if done.calls > 0 {
                let written = done.pages * pacing::BLOCK_BYTES;
                bytes += written;
                self.segment.counter(Metric::WritebackBytes).add(written);
                self.segment.counter(Metric::WritebackCalls).add(done.calls);
            }
        }
        bytes
    }

    /// Show what we do, at every round; and once a second what it came to.
    fn publish(&mut self, takeover: &Takeover) {
        let now = self.now();
        let at = now_us();
        let lanes = &self.lanes;
        let cost: f64 = lanes.iter().map(|l| l.device.cost(l.queue.load())).sum();
        let due: f64 = lanes.iter().map(|lane| lane.due_by(now + DUE_SOON)).sum();
        let earliest = lanes.iter().filter_map(|l| l.queue.earliest());
        let state = &mut self.state;
        state.queue_bytes = lanes.iter().map(|lane| lane.queue.bytes()).sum();
        state.queue_cost_ns = (cost * 1e9) as u64;
        state.due_cost_ns = (due * 1e9) as u64;
        state.in_flight_bytes = lanes.iter().map(|lane| lane.in_flight().bytes as u64).sum();
        state.deadline_at = earliest
            .min_by(f64::total_cmp)
            .map(|deadline| at + ((deadline - now) * 1e6) as i64);
        let target = self.following.as_ref().and_then(|following| {
            following.target(|lane, load| lanes.get(lane).map_or(0.0, |it| it.device.cost(load)))
        });
        state.target_ppm = target.map(|target| (target * 1e6) as u64);
        state.mode = if takeover.active {
            FlushMode::Following
        } else if state.queue_bytes > 0 {
            FlushMode::Draining
        } else {
            FlushMode::Idle
        };
        state.willing = true;
        state.heartbeat_at = at;
        let elapsed = self.published.elapsed();
        if elapsed >= Duration::from_secs(1) {
            self.published = Instant::now();
            self.publish_totals(elapsed.as_secs_f64());
        }
        self.segment.flush_state().write(&self.state);
    }

    fn publish_totals(&mut self, seconds: f64) {
        let state = &mut self.state;
        state.rate_bytes = (std::mem::take(&mut self.issued_bytes) as f64 / seconds) as u64;
        // The main device's; a tablespace may have another one.
        let known = self.lanes.first().filter(|lane| lane.device.known());
        state.device_operations = known.map(|lane| lane.device.operations_per_second() as u64);
        state.device_bytes = known.map(|lane| lane.device.bytes_per_second() as u64);
        let missed: u64 = self.lanes.iter().map(|l| l.plan.deadlines_missed()).sum();
        self.segment
            .counter(Metric::DeadlinesMissed)
            .add(missed.saturating_sub(self.missed));
        self.missed = missed;
        let swept = settings::flush_sweep() && self.facilities.cachestat;
        let (mut dirty, mut writeback) = (0, 0);
        let used = u64::try_from(now_us()).unwrap_or(0);
        let table = self.segment.files_flushed();
        for file in self.files.iter_mut() {
            dirty += file.dirty_bytes;
            writeback += file.writeback_bytes;
            let bytes = std::mem::take(&mut file.flushed_bytes);
            let shown = swept.then_some(file.dirty_bytes);
            if bytes == 0 && shown.unwrap_or(0) == file.shown_bytes.unwrap_or(0) {
                continue;
            }
            file.shown_bytes = shown;
            let path = file.path.to_string_lossy();
            let placement = table.update(&file.key, &path, used, |stats| {
                stats.writeback_bytes += bytes;
                stats.os_dirty_bytes = shown;
            });
            if placement == Placement::Evicted {
                self.segment.counter(Metric::FlushFilesEvicted).increment();
            }
        }
        state.os_dirty_bytes = swept.then_some(dirty);
        state.os_writeback_bytes = swept.then_some(writeback);
    }
}
