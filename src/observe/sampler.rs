//! Looks at all processes of the server, often: who is at work, and what each waits for.
//!
//! *Runs in:* the monitor. *Reads and writes:* PGPROCs, without a lock; hands what it sees to
//! [`super::waits`], [`super::flush_locks`], [`super::stalls`] and [`super::timeline`].
//! *Never:* asks a process anything: each look is two words of each, and a cache line.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use statseg::{Ended, Metric, Segment, Text};

use super::flush_locks::FlushLocks;
use super::stalls::{Active, Look, Stalls};
use super::timeline::Timeline;
use super::waits::Waits;
use crate::pgshim::backends::{self, Process};
use crate::process::now_us;
use crate::{pgshim, settings};

/// While no client backend is at work.
const IDLE_INTERVAL: Duration = Duration::from_millis(100);
/// All places for processes are looked through so often: there may be thousands, and few in use.
const SEARCH_EVERY: Duration = Duration::from_millis(100);
/// No client backend was at work for so long: look less often.
const IDLE_AFTER: Duration = Duration::from_secs(1);
/// How often unknown processes may be asked for: that takes locks.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// A process may end, and another kind of process get its number.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// What is known of a process.
#[derive(Clone, Copy)]
struct Known {
    kind: Text<4>,
    is_client: bool,
}

/// When a process was seen to have committed.
#[derive(Clone, Copy, Default)]
struct Commits {
    ended: Ended,
    wrote_at: i64,
    committed_at: i64,
}

pub(crate) struct Sampler {
    segment: &'static Segment,
    /// The most processes there can be.
    most: usize,
    found: Vec<Process>,
    /// When all places for processes were looked through.
    searched: Option<Instant>,
    known: HashMap<i32, Known>,
    asked: Option<Instant>,
    forgot: Instant,
    active: Vec<Active>,
    /// By the number of the process.
    commits: Vec<Commits>,
    /// What all of them have ended.
    ended: Ended,
    /// When the last transaction that wrote committed.
    wrote_at: i64,
    last_active: Instant,
    next: Instant,
    waits: Waits,
    flush_locks: FlushLocks,
    stalls: Stalls,
    timeline: Timeline,
}

impl Sampler {
    pub(crate) fn start(segment: &'static Segment) -> Self {
        let now = Instant::now();
        let most = usize::try_from(pgshim::process_count()).unwrap_or(0);
        Self {
            segment,
            most,
            found: Vec::with_capacity(most),
            searched: None,
            known: HashMap::new(),
            asked: None,
            forgot: now,
            active: Vec::with_capacity(most),
            commits: vec![Commits::default(); most],
            ended: Ended::default(),
            wrote_at: 0,
            last_active: now,
            next: now,
            waits: Waits::start(segment),
            flush_locks: FlushLocks::default(),
            stalls: Stalls::start(segment, now_us()),
            timeline: Timeline::start(segment),
        }
    }

    /// Look if it is time, and say how long until the next look. While nobody is at work it is time
    /// as soon as the process is `awake` for another reason, which saves it from waking up twice.
    pub(crate) fn round(&mut self, awake: bool) -> Duration {
        let now = Instant::now();
        let idle = now.duration_since(self.last_active) > IDLE_AFTER;
        if now >= self.next || (idle && awake) {
            self.look(now);
            let spent = u64::try_from(now.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.segment.statistic(Metric::SampleTime).record(spent);
            let interval = settings::wait_sample_interval();
            self.next = if idle {
                now + interval.max(IDLE_INTERVAL)
            } else {
                // On a grid, so that lateness does not add up; not in a burst after a long sleep.
                (self.next + interval).max(now + interval / 2)
            };
        }
        self.next.saturating_duration_since(Instant::now())
    }

    fn look(&mut self, now: Instant) {
        let at = now_us();
        let all = self
            .searched
            .is_none_or(|searched| now - searched >= SEARCH_EVERY);
        if all {
            self.searched = Some(now);
            backends::find_processes(&mut self.found, self.most);
            // Of those that have gone meanwhile, too.
            (0..self.most).for_each(|number| self.count(number, at));
        } else {
            backends::look_again(&mut self.found);
        }
        self.sample(now, at);
        self.flush_locks.look(self.segment, &self.found, now);
        let view = self.segment.view();
        self.stalls.look(&Look {
            now: at,
            ended: self.ended,
            wrote_at: self.wrote_at,
            active: &self.active,
            phase: view.checkpoint_phase(),
        });
        let stalled_ns = self.stalls.total_ns();
        if self.timeline.look(at, self.active.len(), stalled_ns) {
            self.waits.publish();
        }
    }

    /// See what a process has committed since the last look.
    fn count(&mut self, number: usize, at: i64) {
        let Some(commits) = self.commits.get_mut(number) else {
            return;
        };
        let part = self.segment.view().activity(number);
        let now = part.ended();
        let before = commits.ended;
        if now.commits != before.commits {
            commits.committed_at = at;
            if now.writes != before.writes {
                // Not later than now, whatever happened to the clock.
                commits.wrote_at = part.wrote_at().min(at);
                self.wrote_at = self.wrote_at.min(at).max(commits.wrote_at);
            }
            commits.ended = now;
            self.ended = self.ended + (now - before);
        }
    }

    /// Count everybody's wait, and find the client backends at work.
    fn sample(&mut self, now: Instant, at: i64) {
        let phase = self.segment.view().checkpoint_phase();
        let mut strangers = false;
        self.active.clear();
        for index in 0..self.found.len() {
            let process = self.found[index];
            if process.pid == 0 {
                continue;
            }
            let Some(known) = self.known.get(&process.pid) else {
                strangers = true;
                continue;
            };
            self.waits.sample(known.kind, process.wait, phase);
            if !known.is_client {
                continue;
            }
            let number = usize::try_from(process.number).unwrap_or(usize::MAX);
            let at_work = !backends::is_client(process.wait);
            self.count(number, at);
            if at_work {
                let commits = self.commits.get(number).copied().unwrap_or_default();
                self.active.push(Active {
                    wait: process.wait,
                    wrote_at: commits.wrote_at,
                    committed_at: commits.committed_at,
                });
            }
        }
        if !self.active.is_empty() {
            self.last_active = now;
        }
        if strangers {
            self.ask(now);
        }
    }

    /// Learn what kinds of processes there are.
    fn ask(&mut self, now: Instant) {
        if self.asked.is_some_and(|at| now - at < ASK_EVERY) {
            return;
        }
        self.asked = Some(now);
        if now - self.forgot > FORGET_EVERY {
            self.forgot = now;
            self.known.clear();
        }
        let known = &mut self.known;
        backends::backends(|backend| {
            let kind = Known {
                kind: Text::new(&backend.kind),
                is_client: backend.is_client,
            };
            known.insert(backend.pid, kind);
        });
    }

    /// Nobody will look for a while.
    pub(crate) fn suspend(&mut self) {
        self.stalls.suspend();
        self.timeline.suspend();
        self.waits.publish();
    }
}
