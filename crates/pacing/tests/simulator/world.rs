//! The world: a disk, commits, a checkpoint, and who writes its pages back; one event at a time.
//!
//! *Reads and writes:* its own state. *Never:* looks at a real clock: a run is repeatable.
//!
//! Times are in seconds from the beginning of the checkpoint.

use pacing::BLOCK_BYTES;
use pacing::device::{Device, Load};
use pacing::lane::{Counters, Kernel, Lane, Start};
use pacing::plan::Planned;
use pacing::queue::Issue;

use crate::checkpoint::{BLOCK, Checkpoint, LARGEST, Page, requests};
use crate::commits::{Commit, Commits, Random};
use crate::disk::{Ability, Disk, Request, Writer};

/// The flusher looks at the list that often (src/flush/flusher.rs).
const FOLLOWING: f64 = 0.05;
/// Work for the checkpoint is spread at least so far (src/flush/due.rs).
const SHORTEST: f64 = 0.3;
/// The operating system wakes us so much later than asked, at most.
const LATE: f64 = 0.001;
/// How often the outcome takes note of the state.
const NOTE_EVERY: f64 = 0.1;

/// Faults for negative controls: what is not done, or done wrong, around the lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Faults {
    /// All that is in flight counts as landed.
    pub(crate) no_gate: bool,
    /// Nobody tells of commits.
    pub(crate) no_brake: bool,
    /// The device is never looked at.
    pub(crate) no_learning: bool,
    /// What is to come is not told.
    pub(crate) no_forecast: bool,
    /// All is due so much later; far earlier: as soon as it can be.
    pub(crate) later: f64,
}

/// Who does the writeback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Policy {
    /// Nobody: commits alone.
    Nobody,
    /// The checkpointer, every 32 pages.
    Core,
    /// The flusher.
    Lane(Faults),
}

pub(crate) const SOUND: Faults = Faults {
    no_gate: false,
    no_brake: false,
    no_learning: false,
    no_forecast: false,
    later: 0.0,
};

pub(crate) const PLANNED: Policy = Policy::Lane(SOUND);

/// Work-conserving: all that is written is due at once.
pub(crate) const FOLLOWER: Policy = Policy::Lane(Faults {
    later: -1000.0,
    ..SOUND
});

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) disk: Ability,
    /// Requests the queue holds.
    pub(crate) slots: usize,
    /// When the disk becomes another one.
    pub(crate) change: Option<(f64, Ability)>,
    pub(crate) commits_per_second: f64,
    pub(crate) pages: Vec<Page>,
    /// Length of the write phase.
    pub(crate) phase: f64,
    /// What goes on after the phase.
    pub(crate) rest: f64,
    pub(crate) target_delay: f64,
    /// What the flusher believes of the disk at the beginning.
    pub(crate) model: Device,
    pub(crate) seed: u64,
}

impl Scenario {
    /// The writeback is to be out this long before the end of the phase (src/flush/due.rs).
    pub(crate) fn margin(&self) -> f64 {
        (self.phase * 0.04).clamp(SHORTEST, 10.0)
    }

    /// The largest piece that the gate of a slow disk cuts a run to.
    pub(crate) fn piece(&self) -> f64 {
        let least = (4.0 * self.disk.bytes / self.disk.operations).min(262_144.0);
        let aimed = self.target_delay * self.disk.bytes;
        aimed.max(least).max(2.0 * BLOCK)
    }

    /// Seconds of the disk that the pages take, in such pieces.
    pub(crate) fn work(&self) -> f64 {
        let piece = self.piece();
        let cost = |bytes: f64| {
            let whole = (bytes / piece).floor();
            let rest = bytes - whole * piece;
            let last = if rest > 0.0 {
                self.disk.time(rest)
            } else {
                0.0
            };
            whole * self.disk.time(piece) + last
        };
        requests(&self.pages).into_iter().map(cost).sum()
    }

    /// What the commits take of the disk, were each flushed by itself.
    pub(crate) fn commit_share(&self) -> f64 {
        self.commits_per_second * (self.disk.time(BLOCK) + self.disk.time(0.0))
    }

    /// What both take of it while the phase lasts.
    pub(crate) fn share(&self) -> f64 {
        self.commit_share() + self.work() / (self.phase - self.margin())
    }
}

/// The state at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    pub(crate) at: f64,
    /// Bytes of the checkpoint that are on the disk.
    pub(crate) landed: f64,
    /// Of the plan, in seconds of the device per second.
    pub(crate) rate: f64,
    pub(crate) device: Device,
}

pub(crate) struct Outcome {
    pub(crate) commits: Vec<Commit>,
    pub(crate) notes: Vec<Note>,
    /// When the last page of the checkpoint was on the disk.
    pub(crate) over: f64,
}

impl Outcome {
    /// The time that so many of a hundred commits of a span did not exceed.
    pub(crate) fn percentile(&self, share: f64, from: f64, to: f64) -> f64 {
        let mut times: Vec<f64> = self
            .commits
            .iter()
            .filter(|commit| (from..to).contains(&commit.began))
            .map(|commit| commit.took)
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().saturating_sub(1);
        let index = (times.len() as f64 * share / 100.0) as usize;
        times.get(index.min(last)).copied().unwrap_or(0.0)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.percentile(99.0, 0.0, f64::INFINITY)
    }
}

/// The disk as the lane sees it, with the flights that are on their way.
struct Site {
    disk: Disk,
    /// By batch: requests that are not done.
    open: Vec<usize>,
    landed: f64,
    landed_at: f64,
    faults: Faults,
}

impl Site {
    fn write(&mut self, writer: Writer, sizes: &[f64]) -> usize {
        let batch = self.open.len();
        self.open.push(sizes.len());
        for bytes in sizes {
            self.disk.submit(Request {
                writer,
                bytes: *bytes,
                batch,
            });
        }
        batch
    }
}

impl Kernel for Site {
    type Ticket = usize;

    fn start(&mut self, issue: &Issue) -> Start<usize> {
        let mut sizes = Vec::new();
        let mut at = issue.first_block;
        let end = at + issue.blocks;
        while at < end {
            let next = ((at / LARGEST + 1) * LARGEST).min(end);
            sizes.push(f64::from(next - at) * BLOCK);
            at = next;
        }
        Start::Started(self.write(Writer::Flusher, &sizes))
    }

    fn landed(&mut self, batch: &usize, _age: f64, _cost: f64) -> bool {
        self.faults.no_gate || self.open[*batch] == 0
    }

    fn counters(&mut self) -> Option<Counters> {
        (!self.faults.no_learning).then_some(self.disk.counters)
    }
}

struct World<'a> {
    scenario: &'a Scenario,
    policy: Policy,
    site: Site,
    commits: Commits,
    checkpoint: Checkpoint,
    lane: Lane<usize>,
    faults: Faults,
    random: Random,
    round_at: f64,
    told_window: u64,
    change: Option<(f64, Ability)>,
    note_at: f64,
    notes: Vec<Note>,
}

/// Let it all happen.
pub(crate) fn run(scenario: &Scenario, policy: Policy) -> Outcome {
    let faults = match policy {
        Policy::Lane(faults) => faults,
        _ => Faults::default(),
    };
    let pages = match policy {
        Policy::Nobody => Vec::new(),
        _ => scenario.pages.clone(),
    };
    let mut world = World {
        scenario,
        policy,
        site: Site {
            disk: Disk::new(scenario.disk, scenario.slots),
            open: Vec::new(),
            landed: 0.0,
            landed_at: 0.0,
            faults,
        },
        commits: Commits::new(scenario.commits_per_second, scenario.seed),
        checkpoint: Checkpoint::new(pages, scenario.phase),
        lane: Lane::new(scenario.model, scenario.target_delay),
        faults,
        random: Random::new(scenario.seed ^ 0xF1),
        round_at: match policy {
            Policy::Lane(_) => 0.0,
            _ => f64::INFINITY,
        },
        told_window: 0,
        change: scenario.change,
        note_at: 0.0,
        notes: Vec::new(),
    };
    let end = scenario.phase + scenario.rest;
    while world.step(end) {}
    let all = scenario.pages.len() as f64 * BLOCK;
    Outcome {
        commits: world.commits.done,
        notes: world.notes,
        over: if world.site.landed >= all - 1.0 {
            world.site.landed_at
        } else {
            f64::INFINITY
        },
    }
}

impl World<'_> {
    /// The next event; false when it is all over.
    fn step(&mut self, end: f64) -> bool {
        let free = |writer, at: f64| {
            if self.site.disk.blocks(writer) {
                f64::INFINITY
            } else {
                at
            }
        };
        let events = [
            self.change.map_or(f64::INFINITY, |(at, _)| at),
            self.site.disk.done_at(),
            self.commits.next(),
            free(Writer::Checkpointer, self.checkpoint.next),
            free(Writer::Flusher, self.round_at),
            self.note_at,
        ];
        let (which, at) = events
            .iter()
            .enumerate()
            .min_by(|one, other| one.1.total_cmp(other.1))
            .unwrap();
        // Whoever was blocked goes on late.
        let now = at.max(self.site.disk.now());
        if now > end {
            return false;
        }
        self.site.disk.advance(now);
        match which {
            0 => {
                if let Some((_, ability)) = self.change.take() {
                    self.site.disk.change(ability);
                }
            }
            1 => self.complete(now),
            2 => {
                if let Some(request) = self.commits.arrive(now) {
                    self.site.disk.submit(request);
                }
            }
            3 => {
                let core = self.policy == Policy::Core;
                if let Some(sizes) = self.checkpoint.write(now, core) {
                    self.site.write(Writer::Checkpointer, &sizes);
                }
            }
            4 => self.round(now),
            _ => self.note(now),
        }
        true
    }

    fn complete(&mut self, now: f64) {
        let request = self.site.disk.complete();
        if request.writer == Writer::Commit {
            if let Some(next) = self.commits.completed(now) {
                self.site.disk.submit(next);
            }
            return;
        }
        self.site.open[request.batch] -= 1;
        self.site.landed += request.bytes;
        self.site.landed_at = now;
    }

    /// The flusher's, as src/flush/flusher.rs does it.
    fn round(&mut self, now: f64) {
        let end = self.scenario.phase - self.scenario.margin() + self.faults.later;
        for (file, block) in self.checkpoint.news.drain(..) {
            let deadline = if self.faults.later < 0.0 {
                now
            } else {
                end.max(now + SHORTEST)
            };
            self.lane.queue.mark(file, block, deadline);
        }
        let (window, shortest) = self.commits.last_window(now);
        if window != self.told_window && !self.faults.no_brake {
            self.told_window = window;
            self.lane.plan.brake_mut().commit_window(shortest);
        }
        let told = now < self.scenario.phase && !self.faults.no_forecast;
        let planned = told.then_some(Planned {
            load: self.checkpoint.planned,
            deadline: end,
        });
        self.lane.round(now, &mut self.site, planned);
        let mut wait = FOLLOWING;
        if !self.lane.queue.is_empty() {
            wait = wait.min(self.lane.plan.wait().clamp(0.002, 0.1));
        }
        self.round_at = now + wait + LATE * self.random.share();
    }

    fn note(&mut self, now: f64) {
        self.note_at = now + NOTE_EVERY;
        self.notes.push(Note {
            at: now,
            landed: self.site.landed,
            rate: self.lane.plan.rate(),
            device: self.lane.device,
        });
    }
}

/// A page by itself, as a load.
pub(crate) fn page() -> Load {
    Load {
        operations: 1.0,
        bytes: BLOCK_BYTES as f64,
    }
}
