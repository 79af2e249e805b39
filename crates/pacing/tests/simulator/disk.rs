//! A disk: one server behind a queue, with the counters that the kernel keeps of it.
//!
//! *Reads and writes:* its own state; time comes from [`crate::world`].
//! *Never:* merges or sorts: the harshest order for a commit is the order of arrival.

use std::collections::VecDeque;

use pacing::lane::Counters;

/// How operations and bytes make time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A disk that seeks, then transfers.
    Sum,
    /// Operations and bytes go on side by side; the slower of both counts.
    Larger,
    /// A fast device behind a cap, as a cloud's volume: it looks idle until the cap is reached.
    Capped,
}

/// What a disk can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ability {
    pub(crate) operations: f64,
    pub(crate) bytes: f64,
    pub(crate) shape: Shape,
}

/// What a capped device takes for one request while below its cap, as a part of 1 / operations.
const CAPPED_LATENCY: f64 = 0.2;
/// Seconds of work that a capped device does at once after a pause.
const CAPPED_CREDIT: f64 = 0.02;

impl Ability {
    /// Seconds of the device for one request.
    pub(crate) fn time(&self, bytes: f64) -> f64 {
        let (seek, transfer) = (1.0 / self.operations, bytes / self.bytes);
        match self.shape {
            Shape::Sum => seek + transfer,
            Shape::Larger | Shape::Capped => seek.max(transfer),
        }
    }

    pub(crate) fn faster(&self, factor: f64) -> Self {
        Self {
            operations: self.operations * factor,
            bytes: self.bytes * factor,
            ..*self
        }
    }
}

/// Who writes. Each waits by itself where the queue is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Writer {
    Commit,
    Flusher,
    Checkpointer,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) writer: Writer,
    pub(crate) bytes: f64,
    /// The caller's number of what this is a part of.
    pub(crate) batch: usize,
}

pub(crate) struct Disk {
    ability: Ability,
    /// Requests that the queue holds; whoever finds it full is blocked.
    slots: usize,
    queue: VecDeque<Request>,
    /// By writer: what did not fit.
    waiting: [VecDeque<Request>; 3],
    turn: usize,
    /// When the first of the queue is done.
    done_at: Option<f64>,
    /// Up to when a capped device has given its time away.
    spent: f64,
    pub(crate) counters: Counters,
    now: f64,
}

impl Disk {
    pub(crate) fn new(ability: Ability, slots: usize) -> Self {
        Self {
            ability,
            slots,
            queue: VecDeque::new(),
            waiting: Default::default(),
            turn: 0,
            done_at: None,
            spent: 0.0,
            counters: Counters::default(),
            now: 0.0,
        }
    }

    /// From the next request on.
    pub(crate) fn change(&mut self, ability: Ability) {
        self.ability = ability;
    }

    pub(crate) fn advance(&mut self, now: f64) {
        let span = now - self.now;
        self.now = now;
        if !self.queue.is_empty() {
            self.counters.busy += span;
            self.counters.queued += span * self.queue.len() as f64;
        }
    }

    pub(crate) fn now(&self) -> f64 {
        self.now
    }

    pub(crate) fn submit(&mut self, request: Request) {
        let own = &mut self.waiting[request.writer as usize];
        if self.queue.len() < self.slots && own.is_empty() {
            self.queue.push_back(request);
            self.serve();
        } else {
            own.push_back(request);
        }
    }

    pub(crate) fn blocks(&self, writer: Writer) -> bool {
        !self.waiting[writer as usize].is_empty()
    }

    pub(crate) fn done_at(&self) -> f64 {
        self.done_at.unwrap_or(f64::INFINITY)
    }

    /// The first request is done.
    pub(crate) fn complete(&mut self) -> Request {
        let request = self.queue.pop_front().unwrap();
        self.counters.done.operations += 1.0;
        self.counters.done.bytes += request.bytes;
        self.done_at = None;
        // A free slot goes to the writers in turn, as the block layer wakes them.
        for _ in 0..self.waiting.len() {
            if self.queue.len() >= self.slots {
                break;
            }
            self.turn = (self.turn + 1) % self.waiting.len();
            if let Some(next) = self.waiting[self.turn].pop_front() {
                self.queue.push_back(next);
            }
        }
        self.serve();
        request
    }

    fn serve(&mut self) {
        if self.done_at.is_some() {
            return;
        }
        let Some(first) = self.queue.front() else {
            return;
        };
        let time = self.ability.time(first.bytes);
        self.done_at = Some(if self.ability.shape == Shape::Capped {
            self.spent = self.spent.max(self.now - CAPPED_CREDIT) + time;
            self.spent.max(self.now + CAPPED_LATENCY * time)
        } else {
            self.now + time
        });
    }
}
