//! How fast writeback is issued: just so that every deadline is kept.
//!
//! *Runs in:* any process; the flusher owns one per device.
//! *Reads and writes:* its own state.
//! *Never:* works ahead: a device that has time is left to the commits.
//!
//! ```text
//!   cost │            ┌── all that is due until d, in seconds of the device
//!        │        ●───┘
//!        │    ●  /        rate: the steepest line from now to a point
//!        │   /
//!        └──●────┴────┴── d
//!          now
//! ```
//!
//! What the checkpointer has not written yet is on the line as well, at the end of its write
//! phase: its pages come by number, and their cost is spread over the time that is left.

use crate::BLOCK_BYTES;
use crate::brake::Brake;
use crate::device::{Device, Load};
use crate::gate::{Gate, largest_piece};
use crate::queue::{Limit, Queue};

/// Nothing is due sooner than this: lateness is made up for smoothly.
const SOONEST: f64 = 0.3;
/// What the checkpointer has not written cannot be issued: near its deadline haste is of no use.
const SOONEST_PLANNED: f64 = 2.0;
/// What we take of a device's time at most, while little is late.
const MOST: f64 = 0.7;
/// Late work, in seconds of the device, from which on we take more, and all.
const LATE: (f64, f64) = (2.0, 6.0);
/// From this rate on the device's time is saved rather than the commits' in cutting runs.
const HASTE: f64 = 0.3;
/// Time not used is kept no longer than this.
const SAVED: f64 = 0.05;
/// A deadline is missed when something is this late; deadlines are kept to the second.
const MISSED: f64 = 2.0;
/// Bounds of the time between two ticks.
const WAIT: (f64, f64) = (0.002, 0.1);
/// Asking the gate again.
const GATED: f64 = 0.005;

/// What is known to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// What it is for the device.
    pub load: Load,
    /// When it must be out.
    pub deadline: f64,
}

/// What a tick goes by.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What waits.
    pub queue: &'a Queue,
    /// What the device can do.
    pub device: &'a Device,
    /// What will come.
    pub planned: Option<Planned>,
    /// What was issued and is not on the device yet.
    pub in_flight: Load,
}

/// What may be issued now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// In seconds of the device: issue while it is above zero, and subtract each issue's cost.
    pub cost: f64,
    /// What the gate lets through.
    pub limit: Limit,
    /// Bytes that a single issue may be at most.
    pub piece: f64,
}

impl Budget {
    /// What may be taken next.
    #[must_use]
    pub fn next(&self) -> Limit {
        Limit {
            bytes: self.limit.bytes.min(self.piece),
            ..self.limit
        }
    }
}

/// The plan of one device.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    gate: Gate,
    brake: Brake,
    rate: f64,
    allowance: f64,
    /// The slope while something is due very soon: it is not let go down.
    pressing: f64,
    /// What waited at the last tick and was not issued since, in seconds of the device.
    waiting: f64,
    last: Option<f64>,
    gated: bool,
    late: bool,
    missed: u64,
}

impl Plan {
    /// With the time that a commit may wait because of us, in seconds.
    #[must_use]
    pub fn new(target_delay: f64) -> Self {
        Self {
            gate: Gate::new(target_delay),
            brake: Brake::new(target_delay),
            rate: 0.0,
            allowance: 0.0,
            pressing: 0.0,
            waiting: 0.0,
            last: None,
            gated: false,
            late: false,
            missed: 0,
        }
    }

    /// The time that a commit may wait because of us, in seconds.
    pub fn set_target_delay(&mut self, target_delay: f64) {
        self.gate.set_target(target_delay);
        self.brake.set_target(target_delay);
    }

    /// What may be issued at `now`. Tell [`Plan::issued`] what was.
    pub fn tick(&mut self, now: f64, input: &Input<'_>) -> Budget {
        let elapsed = self.last.map_or(0.0, |last| (now - last).clamp(0.0, 1.0));
        self.last = Some(now);
        let overdue = overdue(now, input);
        let slope = self.press(now, input);
        self.rate = self.decide(slope, overdue, input.device.known());
        let page = input.device.cost(Load {
            operations: 1.0,
            bytes: BLOCK_BYTES as f64,
        });
        // A debt is paid off; what is not used is not saved up for a burst. Time in which nothing
        // waited is not either: the checkpointer writes in bursts of its own, every 100 ms.
        let saved = if self.waiting > 0.0 {
            self.rate * SAVED
        } else {
            self.allowance = self.allowance.min(0.0);
            0.0
        };
        self.allowance = (self.allowance + self.rate * elapsed).min(saved.max(page));
        self.waiting = input.device.cost(input.queue.load());
        self.note_lateness(now, input);
        let limit = self.gate.room(input.device, input.in_flight);
        self.gated = limit.operations <= 0.0 || limit.bytes <= 0.0;
        let cost = if self.gated { 0.0 } else { self.allowance };
        Budget {
            cost,
            limit,
            piece: largest_piece(input.device, self.rate >= HASTE),
        }
    }

    /// So much was issued, in seconds of the device.
    pub fn issued(&mut self, cost: f64) {
        self.allowance -= cost;
        // Runs that are cut cost more than they were counted with: then a page too many is
        // thought to wait at most.
        self.waiting -= cost;
    }

    /// Seconds of the device per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Seconds until there may be something to issue.
    #[must_use]
    pub fn wait(&self) -> f64 {
        let wait = if self.gated {
            GATED
        } else if self.allowance > 0.0 {
            WAIT.0
        } else if self.rate > 0.0 {
            -self.allowance / self.rate
        } else {
            WAIT.1
        };
        wait.clamp(WAIT.0, WAIT.1)
    }

    /// How often something came to be late.
    #[must_use]
    pub fn deadlines_missed(&self) -> u64 {
        self.missed
    }

    /// The gate, to be told of drains.
    pub fn gate_mut(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// The brake, to be told of commits.
    pub fn brake_mut(&mut self) -> &mut Brake {
        &mut self.brake
    }

    /// The slope, with what was issued ahead of its time. A slope towards the moment itself would
    /// get flatter with every page, and never come to an end: so there it is not let go down.
    fn press(&mut self, now: f64, input: &Input<'_>) -> f64 {
        let slope = slope(now, input, (-self.allowance).max(0.0));
        let soon = input.queue.earliest().is_some_and(|at| at < now + SOONEST);
        self.pressing = if soon { slope.max(self.pressing) } else { 0.0 };
        slope.max(self.pressing)
    }

    fn decide(&self, slope: f64, overdue: f64, known: bool) -> f64 {
        // 0 while little is late, 1 when much is.
        let pressure = ((overdue - LATE.0) / (LATE.1 - LATE.0)).clamp(0.0, 1.0);
        let factor = self.brake.factor();
        let braked = slope * (factor + (1.0 - factor) * pressure);
        if known {
            braked.min(MOST + (1.0 - MOST) * pressure)
        } else {
            braked
        }
    }

    fn note_lateness(&mut self, now: f64, input: &Input<'_>) {
        let earliest = input.queue.earliest();
        let late = earliest.is_some_and(|deadline| deadline + MISSED < now);
        if late && !self.late {
            self.missed += 1;
        }
        self.late = late;
    }
}

/// Cost of what should be out by now.
#[must_use]
pub fn overdue(now: f64, input: &Input<'_>) -> f64 {
    let due = input
        .queue
        .due()
        .take_while(|(deadline, _)| *deadline <= now);
    let load = due.fold(Load::default(), |sum, (_, load)| sum + load);
    input.device.cost(load)
}

/// The steepest of all slopes from now to a deadline, in seconds of the device per second.
/// `debt` is what is to be paid besides, in seconds of the device.
fn slope(now: f64, input: &Input<'_>, debt: f64) -> f64 {
    let until = |deadline: f64| (deadline - now).max(SOONEST);
    let at_last = |deadline: f64| (deadline - now).max(SOONEST_PLANNED);
    let mut planned = input.planned;
    let mut steepest: f64 = 0.0;
    let mut sum = Load::default();
    for (deadline, load) in input.queue.due() {
        if let Some(coming) = planned.filter(|coming| coming.deadline < deadline) {
            sum += coming.load;
            steepest = steepest.max((debt + input.device.cost(sum)) / at_last(coming.deadline));
            planned = None;
        }
        sum += load;
        steepest = steepest.max((debt + input.device.cost(sum)) / until(deadline));
    }
    if let Some(coming) = planned {
        sum += coming.load;
        steepest = steepest.max((debt + input.device.cost(sum)) / at_last(coming.deadline));
    }
    steepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        Device::with(400.0, 20e6)
    }

    fn queue(deadlines: &[(f64, u32)]) -> Queue {
        let mut queue = Queue::new();
        let mut block = 0;
        for (deadline, pages) in deadlines {
            for _ in 0..*pages {
                queue.mark(1, block, *deadline);
                block += 2; // nobody's neighbour
            }
            block += 64; // a window has one deadline
        }
        queue
    }

    fn rate(queue: &Queue, planned: Option<Planned>) -> f64 {
        let device = device();
        let input = Input {
            queue,
            device: &device,
            planned,
            in_flight: Load::default(),
        };
        slope(0.0, &input, 0.0)
    }

    #[test]
    fn the_rate_is_the_steepest_slope() {
        let page = 1.0 / 400.0 + 8192.0 / 20e6;
        let spread = queue(&[(10.0, 100)]);
        assert!((rate(&spread, None) - 10.0 * page).abs() < 1e-9);
        let urgent = queue(&[(1.0, 100), (10.0, 10)]);
        assert!((rate(&urgent, None) - 100.0 * page).abs() < 1e-9);
        let planned = Planned {
            load: Load {
                operations: 900.0,
                bytes: 900.0 * 8192.0,
            },
            deadline: 10.0,
        };
        assert!((rate(&spread, Some(planned)) - 100.0 * page).abs() < 1e-9);
        assert!((rate(&Queue::new(), Some(planned)) - 90.0 * page).abs() < 1e-9);
        assert!(rate(&Queue::new(), None).abs() < 1e-9);
    }

    #[test]
    fn a_pause_is_not_made_up_for_in_one_burst() {
        let device = device();
        let full = queue(&[(100.0, 1000)]);
        let input = Input {
            queue: &full,
            device: &device,
            planned: None,
            in_flight: Load::default(),
        };
        let mut plan = Plan::new(0.02);
        plan.tick(0.0, &input);
        let budget = plan.tick(60.0, &input);
        assert!(budget.cost <= 0.004, "a page at most: {budget:?}");
    }

    #[test]
    fn much_late_work_outweighs_the_brake() {
        let device = device();
        let mut plan = Plan::new(0.02);
        plan.brake_mut().commit_window(Some(0.01));
        for _ in 0..50 {
            plan.brake_mut().commit_window(Some(1.0));
        }
        let little = queue(&[(0.0, 100)]);
        let input = |queue| Input {
            queue,
            device: &device,
            planned: None,
            in_flight: Load::default(),
        };
        plan.tick(5.0, &input(&little));
        assert!(plan.rate() < 0.2, "{}", plan.rate());
        let much = queue(&[(0.0, 4000)]);
        plan.tick(5.1, &input(&much));
        assert!(plan.rate() > 0.95, "{}", plan.rate());
        assert_eq!(plan.deadlines_missed(), 1);
    }
}
