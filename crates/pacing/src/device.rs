//! What a block device can do, learned from what it was seen to do.
//!
//! *Runs in:* any process; the flusher calls it.
//! *Reads and writes:* its arguments only.
//! *Never:* takes a moment of silence for a limit: only a device with a standing queue shows one,
//! and only one that is much less busy than it should be shows that there is less of one.
//!
//! The cost of a load is linear: operations / I + bytes / B seconds of device time. For a disk
//! that seeks this is how it works; for a cloud volume with a cap on each it is at most twice
//! the truth (where both caps bind at once). A linear cost adds up over any mix, so what a queue
//! of a million pages costs is known from two sums.

mod answer;
mod load;

use answer::Answer;
pub use load::{Load, Sample};

/// Where nothing is known: a fast device.
const FIRST_OPERATIONS: f64 = 50_000.0;
/// The size at which bytes cost as much as the operation, where nothing is known.
const FIRST_CROSSOVER: f64 = 65_536.0;
/// No device's crossover lies outside: the fastest memory, the slowest seek.
const CROSSOVER: (f64, f64) = (4096.0, 4_194_304.0);

/// Samples are put together to this length: throttled devices give time in slices of a tenth.
const WINDOW: f64 = 0.4;
/// A queue that stood all the time.
const SATURATED_BUSY: f64 = 0.95;
const SATURATED_QUEUE: f64 = 1.5;
/// Without a standing queue, in seconds: what stood before may have been another device.
const LONGEST_GAP: f64 = 1.0;
/// And what was done, over this length.
const PROOF: f64 = 1.5;
/// What was seen to be done is believed to be possible for this long, in seconds.
const PROOF_LASTS: f64 = 30.0;
/// A load that should keep the device this busy, and keeps it less busy than this part of that,
/// says that the device is faster.
const TELLING: (f64, f64) = (0.65, 0.7);
/// What one such window makes it faster at most.
const FASTER: f64 = 2.0;
/// Seconds until the next one, where the last was a mistake: at first, and at most.
const PATIENCE: (f64, f64) = (1.0, 60.0);
/// A limit met so soon after it was raised shows that it was a mistake.
const MISTAKEN: f64 = 5.0;
/// Part of the error that one saturated sample corrects.
const STEP: f64 = 0.5;

/// A throughput that was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Proof {
    per_second: f64,
    age: f64,
}

impl Proof {
    fn see(&mut self, per_second: f64, seconds: f64) {
        self.age += seconds;
        if per_second >= self.per_second || self.age > PROOF_LASTS {
            *self = Self {
                per_second,
                age: 0.0,
            };
        }
    }
}

/// The model of one device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    operations: f64,
    bytes: f64,
    proven_operations: Proof,
    proven_bytes: Proof,
    window: Option<Sample>,
    proof: Option<Sample>,
    /// Spans with a standing queue, and the time since the last of them.
    standing: Option<Sample>,
    gap: f64,
    known: bool,
    shown: Shown,
    hope_operations: Hope,
    hope_bytes: Hope,
    answer: Answer,
}

/// What was ever seen to be the limit, or not to be.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    operations: bool,
    bytes: bool,
}

/// When a device may be taken for faster than it is known to be, by how little busy it is. A
/// device that is fast but capped, as a cloud's volume, looks idle up to its cap: each mistake
/// makes the next wait longer.
#[derive(Clone, Copy, Debug)]
struct Hope {
    since: f64,
    patience: f64,
}

impl Hope {
    const NEW: Self = Self {
        since: f64::INFINITY,
        patience: 0.0,
    };

    fn raised(&mut self) {
        self.since = 0.0;
        self.patience /= 2.0;
    }

    fn met_a_limit(&mut self) {
        if self.since < MISTAKEN {
            self.patience = (self.patience * 8.0).clamp(PATIENCE.0, PATIENCE.1);
            self.since = MISTAKEN;
        }
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    /// Nothing is known: fast, until it shows otherwise.
    #[must_use]
    pub fn new() -> Self {
        Self {
            operations: FIRST_OPERATIONS,
            bytes: FIRST_OPERATIONS * FIRST_CROSSOVER,
            proven_operations: Proof::default(),
            proven_bytes: Proof::default(),
            window: None,
            proof: None,
            standing: None,
            gap: 0.0,
            known: false,
            shown: Shown::default(),
            hope_operations: Hope::NEW,
            hope_bytes: Hope::NEW,
            answer: Answer::NEW,
        }
    }

    /// A device of known ability.
    #[must_use]
    pub fn with(operations_per_second: f64, bytes_per_second: f64) -> Self {
        Self {
            operations: operations_per_second,
            bytes: bytes_per_second,
            known: true,
            shown: Shown {
                operations: true,
                bytes: true,
            },
            ..Self::new()
        }
    }

    /// Seconds of device time that a load takes.
    #[must_use]
    pub fn cost(&self, load: Load) -> f64 {
        load.operations / self.operations + load.bytes / self.bytes
    }

    /// Operations per second it can do.
    #[must_use]
    pub fn operations_per_second(&self) -> f64 {
        self.operations
    }

    /// Bytes per second it can do.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes
    }

    /// Has it ever shown a limit?
    #[must_use]
    pub fn known(&self) -> bool {
        self.known
    }

    /// Learn from one more span of time, of about a tenth of a second.
    pub fn learn(&mut self, sample: &Sample) {
        if sample.seconds <= 0.0 {
            return;
        }
        self.saturated(sample);
        let window = match self.window {
            Some(window) => together(&window, sample),
            None => *sample,
        };
        if window.seconds < WINDOW {
            self.window = Some(window);
            return;
        }
        self.window = None;
        let operations = window.done.operations / window.seconds;
        let bytes = window.done.bytes / window.seconds;
        self.prove(&window);
        self.operations = self.operations.max(self.proven_operations.per_second);
        self.bytes = self.bytes.max(self.proven_bytes.per_second);
        self.hope_operations.since += window.seconds;
        self.hope_bytes.since += window.seconds;
        if self.answer.is_throttled(&window) {
            self.explain(operations, bytes);
        } else if self.known && window.busy < SATURATED_BUSY {
            self.relax(window.busy, operations, bytes);
        }
    }

    /// What was done for a while can be done. A volume with a cap is dealt out its time in slices,
    /// so over less than some of them it may seem to do more.
    fn prove(&mut self, window: &Sample) {
        let span = match self.proof {
            Some(proof) => together(&proof, window),
            None => *window,
        };
        self.proof = Some(span);
        if span.seconds < PROOF {
            return;
        }
        self.proof = None;
        let per_second = |done: f64| done / span.seconds;
        self.proven_operations
            .see(per_second(span.done.operations), span.seconds);
        self.proven_bytes
            .see(per_second(span.done.bytes), span.seconds);
    }

    /// Spans with a standing queue are put together by themselves, gaps or not: where commits
    /// wait the brake makes gaps, and a model that is wrong would never see a whole window.
    fn saturated(&mut self, sample: &Sample) {
        if sample.busy < SATURATED_BUSY || sample.queued < SATURATED_QUEUE {
            self.gap += sample.seconds;
            if self.gap > LONGEST_GAP {
                self.standing = None;
            }
            return;
        }
        self.gap = 0.0;
        let standing = match self.standing {
            Some(standing) => together(&standing, sample),
            None => *sample,
        };
        self.standing = Some(standing);
        // Not quite: four of a tenth may be a little short of it.
        if standing.seconds >= WINDOW * 0.9 {
            self.standing = None;
            self.explain(
                standing.done.operations / standing.seconds,
                standing.done.bytes / standing.seconds,
            );
        }
    }

    /// A device that is not saturated shows no limit, but may show that there is less of one: what
    /// is capped by a wrong model never saturates, and would stay wrong for ever.
    fn relax(&mut self, busy: f64, operations: f64, bytes: f64) {
        let predicted = operations / self.operations + bytes / self.bytes;
        if predicted < TELLING.0 || busy > predicted * TELLING.1 {
            return;
        }
        let faster = (predicted / busy.max(0.01)).min(FASTER);
        // What makes most of the cost is what is wrong most likely.
        let (ability, hope, shown) = if operations / self.operations >= bytes / self.bytes {
            (
                &mut self.operations,
                &mut self.hope_operations,
                &mut self.shown.operations,
            )
        } else {
            (&mut self.bytes, &mut self.hope_bytes, &mut self.shown.bytes)
        };
        if hope.since >= hope.patience {
            *ability *= faster;
            *shown = true;
            hope.raised();
        }
    }

    /// A saturated device did this per second: its cost is one second, so change what does not
    /// add up.
    fn explain(&mut self, operations: f64, bytes: f64) {
        if operations <= 0.0 {
            return; // it stood still: nothing to go by
        }
        self.known = true;
        let predicted = operations / self.operations + bytes / self.bytes;
        if predicted < 0.9 {
            self.hope_operations.met_a_limit();
            self.hope_bytes.met_a_limit();
        }
        if predicted < 1.0 && !self.can_be_slower(operations, bytes) {
            // What was proven cannot be true any more.
            self.proven_operations = Proof::default();
            self.proven_bytes = Proof::default();
            self.proof = None;
        }
        let (slow_operations, slow_bytes) = self.blame(operations, bytes);
        let share = |from: f64, to: f64| from * (to / from).powf(STEP);
        let far = !(0.5..2.0).contains(&predicted);
        // Far off: at once. Near: by half, for one sample is noisy.
        let to = |from, to| if far { to } else { share(from, to) };
        self.shown.operations |= slow_operations != self.operations;
        self.shown.bytes |= slow_bytes != self.bytes;
        self.operations = to(self.operations, slow_operations).max(1.0);
        self.bytes = to(self.bytes, slow_bytes);
        // Of what never showed a limit nothing is known but that it is no better than usual: a
        // guess too low is corrected by whatever happens, one too high only by a queue that
        // commits wait in.
        if !self.shown.bytes {
            self.bytes = self.bytes.min(self.operations * FIRST_CROSSOVER);
        } else if !self.shown.operations {
            self.operations = self.operations.min(self.bytes / FIRST_CROSSOVER);
        }
        self.operations = self.operations.max(self.proven_operations.per_second);
        self.bytes = self
            .bytes
            .max(self.proven_bytes.per_second)
            .min(self.operations * CROSSOVER.1);
        // So few bytes are not moved by so many operations.
        self.operations = self.operations.min(self.bytes / CROSSOVER.0);
    }

    /// Could a device that does what was proven take a second for this?
    fn can_be_slower(&self, operations: f64, bytes: f64) -> bool {
        let most = |done: f64, proof: Proof| {
            if proof.per_second > 0.0 {
                done / proof.per_second
            } else {
                1.0
            }
        };
        most(operations, self.proven_operations) + most(bytes, self.proven_bytes) >= 0.9
    }

    /// The abilities that would explain a second for this. The part that predicts more of the
    /// cost is changed, as far as what was proven lets it; the rest falls to the other.
    fn blame(&self, operations: f64, bytes: f64) -> (f64, f64) {
        let by_operations = operations / self.operations;
        let by_bytes = bytes / self.bytes;
        let least_by_bytes = by_bytes.min(0.95);
        let least_by_operations = by_operations.min(0.95);
        if by_operations >= by_bytes {
            let wanted = operations / (1.0 - least_by_bytes);
            let allowed = wanted.max(self.proven_operations.per_second);
            let rest = 1.0 - operations / allowed;
            if allowed > wanted * 1.1 && rest > 0.05 && bytes > 0.0 {
                return (allowed, bytes / rest);
            }
            (wanted, self.bytes)
        } else {
            let wanted = bytes / (1.0 - least_by_operations);
            let allowed = wanted.max(self.proven_bytes.per_second);
            let rest = 1.0 - bytes / allowed;
            if allowed > wanted * 1.1 && rest > 0.05 {
                return (operations / rest, allowed);
            }
            (self.operations, wanted)
        }
    }
}

/// Two spans, one after the other.
fn together(one: &Sample, other: &Sample) -> Sample {
    let seconds = one.seconds + other.seconds;
    let mean = |a: f64, b: f64| (a * one.seconds + b * other.seconds) / seconds;
    Sample {
        seconds,
        busy: mean(one.busy, other.busy),
        queued: mean(one.queued, other.queued),
        done: one.done + other.done,
    }
}

#[cfg(test)]
mod tests;
