//! Commits: they arrive at random, and all that wait share the next flush of the WAL.
//!
//! *Reads and writes:* its own state. *Never:* knows what else is on the disk.
//!
//! A flush is a write and, when that is done, a flush of the device's cache: an operation more.

use crate::disk::{Request, Writer};

/// A small generator, for a run must be repeatable.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2_685_821_657_736_338_717) | 1)
    }

    /// 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const WAL_PAGE: f64 = 8192.0;
const WINDOW: f64 = 0.1;

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Idle,
    Writing,
    Flushing,
}

/// A commit that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit {
    pub(crate) began: f64,
    pub(crate) took: f64,
}

pub(crate) struct Commits {
    per_second: f64,
    random: Random,
    next: f64,
    waiting: Vec<f64>,
    group: Vec<f64>,
    stage: Stage,
    pub(crate) done: Vec<Commit>,
    /// Number of the current window of a tenth of a second, its shortest commit, and that of
    /// the window before.
    window: (u64, Option<f64>, Option<f64>),
}

impl Commits {
    pub(crate) fn new(per_second: f64, seed: u64) -> Self {
        let mut commits = Self {
            per_second,
            random: Random::new(seed),
            next: f64::INFINITY,
            waiting: Vec::new(),
            group: Vec::new(),
            stage: Stage::Idle,
            done: Vec::new(),
            window: (0, None, None),
        };
        if per_second > 0.0 {
            commits.schedule(0.0);
        }
        commits
    }

    fn schedule(&mut self, now: f64) {
        let share = self.random.share().max(1e-12);
        self.next = now - share.ln() / self.per_second;
    }

    pub(crate) fn next(&self) -> f64 {
        self.next
    }

    /// One arrives.
    pub(crate) fn arrive(&mut self, now: f64) -> Option<Request> {
        self.waiting.push(now);
        self.schedule(now);
        if self.stage == Stage::Idle {
            self.start()
        } else {
            None
        }
    }

    fn start(&mut self) -> Option<Request> {
        self.group = std::mem::take(&mut self.waiting);
        self.stage = Stage::Writing;
        Some(request(WAL_PAGE))
    }

    /// The request in flight is done; what follows it.
    pub(crate) fn completed(&mut self, now: f64) -> Option<Request> {
        if self.stage == Stage::Writing {
            self.stage = Stage::Flushing;
            return Some(request(0.0));
        }
        self.roll(now);
        for began in self.group.drain(..) {
            let took = now - began;
            self.done.push(Commit { began, took });
            let shortest = self.window.1.get_or_insert(took);
            *shortest = shortest.min(took);
        }
        self.stage = Stage::Idle;
        if self.waiting.is_empty() {
            None
        } else {
            self.start()
        }
    }

    fn roll(&mut self, now: f64) {
        let number = (now / WINDOW) as u64;
        if number > self.window.0 {
            let before = self.window.1.filter(|_| number == self.window.0 + 1);
            self.window = (number, None, before);
        }
    }

    /// The last full window, and the shortest commit in it.
    pub(crate) fn last_window(&mut self, now: f64) -> (u64, Option<f64>) {
        self.roll(now);
        (self.window.0.saturating_sub(1), self.window.2)
    }
}

fn request(bytes: f64) -> Request {
    Request {
        writer: Writer::Commit,
        bytes,
        batch: usize::MAX,
    }
}
