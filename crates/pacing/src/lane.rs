//! One device: what waits for it, what is in flight, and when the next of it is issued.
//!
//! *Runs in:* any process; the flusher owns one per device, a simulator drives it in tests.
//! *Reads and writes:* its own state; the device, through [`Kernel`].
//! *Never:* waits for writeback; knows a file by more than its number.

use std::collections::VecDeque;

use crate::device::{Device, Load, Sample};
use crate::plan::{Input, Plan, Planned};
use crate::queue::{Issue, Queue};

/// Time between two looks at the device's counters, in seconds.
const SAMPLE_EVERY: f64 = 0.1;
/// After a longer time the counters say nothing of one load.
const STALE: f64 = 1.0;
/// Issues made in one round at most: the worker must come round to its heartbeat.
const ISSUES_PER_ROUND: usize = 256;

/// What the kernel counts of a device since it was started; times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// With something in flight.
    pub busy: f64,
    /// The same, times the number in flight.
    pub queued: f64,
    /// Completed.
    pub done: Load,
}

/// What became of a start of writeback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start<Ticket> {
    /// It is on its way.
    Started(Ticket),
    /// It could not be started; whoever syncs the file will hear why.
    Failed,
    /// The file is gone, with all that was dirty in it.
    Gone,
}

/// A device, and the files on it.
pub trait Kernel {
    /// What the writeback that was started is known by.
    type Ticket;

    /// Start the writeback of a range.
    fn start(&mut self, issue: &Issue) -> Start<Self::Ticket>;

    /// Is nothing of it being written any more? `age`: seconds since it was started; `cost`: what
    /// the device takes for all that is in flight, for a kernel that cannot be asked.
    fn landed(&mut self, ticket: &Self::Ticket, age: f64, cost: f64) -> bool;

    /// Is there time for more in this round? Starting writeback may block, on a device whose queue
    /// is full.
    fn has_time(&mut self) -> bool {
        true
    }

    /// The counters, unless they cannot be read.
    fn counters(&mut self) -> Option<Counters>;
}

/// Writeback that was started and is not known to be done.
#[derive(Debug)]
struct Flight<Ticket> {
    ticket: Ticket,
    load: Load,
    at: f64,
}

/// A device and its plan.
#[derive(Debug)]
pub struct Lane<Ticket> {
    /// What it can do.
    pub device: Device,
    /// What waits.
    pub queue: Queue,
    /// How fast.
    pub plan: Plan,
    flights: VecDeque<Flight<Ticket>>,
    in_flight: Load,
    counters: Option<(f64, Counters)>,
}

/// What a round of a lane did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Pages issued.
    pub pages: u64,
    /// Ranges they were issued in.
    pub calls: u64,
}

impl<Ticket> Lane<Ticket> {
    /// Empty, with what is believed of the device and the time that a commit may wait because of
    /// us, in seconds.
    #[must_use]
    pub fn new(device: Device, target_delay: f64) -> Self {
        Self {
            device,
            queue: Queue::new(),
            plan: Plan::new(target_delay),
            flights: VecDeque::new(),
            in_flight: Load::default(),
            counters: None,
        }
    }

    /// What was issued and is not known to be on the device.
    #[must_use]
    pub fn in_flight(&self) -> Load {
        self.in_flight
    }

    /// Issue what is to be issued now.
    pub fn round(
        &mut self,
        now: f64,
        kernel: &mut impl Kernel<Ticket = Ticket>,
        planned: Option<Planned>,
    ) -> Done {
        self.drain(now, kernel);
        self.sample(now, kernel);
        let mut budget = self.plan.tick(
            now,
            &Input {
                queue: &self.queue,
                device: &self.device,
                planned,
                in_flight: self.in_flight,
            },
        );
        let mut done = Done::default();
        for _ in 0..ISSUES_PER_ROUND {
            if budget.cost <= 0.0 || !kernel.has_time() {
                break;
            }
            let Some(issue) = self.queue.take(&budget.next()) else {
                break;
            };
            let cost = self.device.cost(issue.load);
            budget.cost -= cost;
            self.plan.issued(cost);
            budget.limit.operations -= issue.load.operations;
            budget.limit.bytes -= issue.load.bytes;
            match kernel.start(&issue) {
                Start::Started(ticket) => {
                    self.in_flight += issue.load;
                    self.flights.push_back(Flight {
                        ticket,
                        load: issue.load,
                        at: now,
                    });
                    done.pages += u64::from(issue.pages);
                    done.calls += 1;
                }
                Start::Failed => {}
                Start::Gone => self.queue.forget(issue.file),
            }
            if budget.limit.operations <= 0.0 || budget.limit.bytes <= 0.0 {
                break;
            }
        }
        done
    }

    /// Take what has arrived on the device out of the flights, the oldest first. Where one has
    /// landed, so have those before it, or nearly: asking in growing steps, a fast device with
    /// thousands of flights is asked a dozen times a round.
    fn drain(&mut self, now: f64, kernel: &mut impl Kernel<Ticket = Ticket>) {
        let cost = self.device.cost(self.in_flight);
        let (mut step, mut grows) = (1, true);
        while !self.flights.is_empty() {
            let ask = step.min(self.flights.len());
            let landed = self
                .flights
                .get(ask - 1)
                .is_some_and(|flight| kernel.landed(&flight.ticket, now - flight.at, cost));
            if landed {
                for flight in self.flights.drain(..ask) {
                    self.in_flight -= flight.load;
                    let seconds = (now - flight.at).max(0.0);
                    self.plan.gate_mut().drained(seconds, flight.load);
                }
            }
            grows &= landed;
            if grows {
                step *= 2;
            } else if step == 1 {
                break;
            } else {
                step /= 2;
            }
        }
        if self.flights.is_empty() {
            self.in_flight = Load::default();
        }
    }

    /// Learn from what the device has done since the last look.
    fn sample(&mut self, now: f64, kernel: &mut impl Kernel<Ticket = Ticket>) {
        let last = self.counters.map(|(at, _)| now - at);
        if last.is_some_and(|seconds| seconds < SAMPLE_EVERY) {
            return;
        }
        let Some(after) = kernel.counters() else {
            return;
        };
        let Some((at, before)) = self.counters.replace((now, after)) else {
            return;
        };
        let seconds = now - at;
        if seconds > STALE {
            return;
        }
        self.device.learn(&Sample {
            seconds,
            busy: ((after.busy - before.busy) / seconds).clamp(0.0, 1.0),
            queued: ((after.queued - before.queued) / seconds).max(0.0),
            done: after.done - before.done,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that never finishes; file 1 is gone, file 2 cannot be written.
    #[derive(Default)]
    struct Stuck {
        asked: usize,
        started: Vec<u32>,
        /// Flights below this have landed.
        landed: u32,
    }

    impl Kernel for Stuck {
        type Ticket = u32;

        fn start(&mut self, issue: &Issue) -> Start<u32> {
            self.started.push(issue.file);
            match issue.file {
                1 => Start::Gone,
                2 => Start::Failed,
                _ => Start::Started(issue.first_block),
            }
        }

        fn landed(&mut self, ticket: &u32, _age: f64, _cost: f64) -> bool {
            self.asked += 1;
            *ticket < self.landed
        }

        fn counters(&mut self) -> Option<Counters> {
            None
        }
    }

    fn lane(pages: impl Iterator<Item = (u32, u32)>) -> Lane<u32> {
        let mut lane = Lane::new(Device::with(50_000.0, 3e9), 0.02);
        for (file, block) in pages {
            lane.queue.mark(file, block, 0.0);
        }
        lane
    }

    #[test]
    fn a_file_that_is_gone_is_forgotten_and_one_that_fails_is_not_in_flight() {
        let mut kernel = Stuck::default();
        let mut lane = lane([(1, 0), (1, 2), (1, 100), (2, 0), (2, 2)].into_iter());
        for round in 0..20 {
            lane.round(f64::from(round) * 0.01, &mut kernel, None);
        }
        assert_eq!(kernel.started, [1, 2, 2]);
        assert!(lane.queue.is_empty());
        assert_eq!(lane.in_flight(), Load::default());
    }

    #[test]
    fn many_flights_are_asked_after_in_few_steps() {
        let mut kernel = Stuck::default();
        let mut lane = lane((0..600).map(|page| (3, page * 2)));
        let mut now = 0.0;
        while kernel.started.len() < 600 && now < 10.0 {
            now += 0.01;
            lane.round(now, &mut kernel, None);
        }
        assert_eq!(kernel.started.len(), 600);
        kernel.landed = 1000;
        kernel.asked = 0;
        lane.round(now + 0.01, &mut kernel, None);
        assert!(kernel.asked <= 20, "{}", kernel.asked);
        let left = 100.0;
        assert!(
            (lane.in_flight().operations - left).abs() < 1e-6,
            "{lane:?}"
        );
    }
}
