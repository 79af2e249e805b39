//! Doors into the protocols for the model checker, compiled under `--cfg loom` only.
//!
//! *Runs in:* `tests/loom.rs`.
//! *Reads and writes:* the words of the model.
//! *Never:* does anything itself: a model of other code than the real one proves nothing.

use crate::control::{ResetBusy, ResetGuard};
use crate::record::record;
use crate::statistic::{FIRST_EPOCH, Slot};
use crate::steps::Steps;
use crate::{
    CommitWindows, CommitWindowsWriter, Counter, Durability, InFlight, MetricKind, Ring,
    RingWriter, Statistic, StepNumber, StepsWriter, Torn, Value,
};
pub use loom::sync::atomic::AtomicU64;

record! {
    /// A record small enough for a model.
    pub struct Pair {
        /// A number.
        pub left: u64,
        /// The same number, if the protocol is right.
        pub right: u64,
    }
}

/// Words as a fresh segment has them.
#[must_use]
pub fn words(n: usize) -> Vec<AtomicU64> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

/// A baseline as a fresh segment has it.
#[must_use]
pub fn baseline() -> Vec<AtomicU64> {
    let mut words = words(crate::STATISTIC_WORDS);
    words[crate::statistic::EPOCH] = AtomicU64::new(FIRST_EPOCH);
    words
}

/// See `seqlock::write`.
pub fn write(words: &[AtomicU64], from: &[u64]) {
    crate::seqlock::write(words, from);
}

/// A writer that dies in the middle of an update.
pub fn write_half(words: &[AtomicU64], from: &[u64]) {
    let _ = crate::seqlock::begin(&words[0]);
    for (word, value) in words[1..].iter().zip(from) {
        word.store(*value, loom::sync::atomic::Ordering::Relaxed);
    }
}

/// See `seqlock::read`.
///
/// # Errors
/// [`Torn`].
pub fn read(words: &[AtomicU64], into: &mut [u64]) -> Result<(), Torn> {
    crate::seqlock::read(words, into)
}

/// The epoch of all metrics as a fresh segment has it.
#[must_use]
pub fn epoch() -> AtomicU64 {
    AtomicU64::new(FIRST_EPOCH)
}

/// See `Statistic::new`.
#[must_use]
pub fn statistic<'a>(own: &'a [AtomicU64], epoch: &'a AtomicU64) -> Statistic<'a> {
    Statistic::new(own, Some(epoch))
}

/// A counter in a slot of its own.
#[must_use]
pub fn counter(own: &[AtomicU64]) -> Counter<'_> {
    Counter(own.get(crate::statistic::COUNT))
}

/// See `statistic::read`. The buckets are left out: no protocol covers them, and each word
/// doubles the time.
#[must_use]
pub fn value(slot: &[AtomicU64], baseline: &[AtomicU64]) -> Value {
    let slots = std::iter::once(slot.into());
    let baseline = &baseline[..crate::COUNTER_WORDS];
    let sum = crate::statistic::read(&slots, baseline, crate::COUNTER_WORDS);
    (sum, MetricKind::Statistic).into()
}

/// See `statistic::rebase`.
pub fn rebase(slot: &[AtomicU64], baseline: &[AtomicU64], epoch: &AtomicU64) {
    let epoch = crate::statistic::next_epoch(epoch);
    crate::statistic::rebase(
        std::iter::once(slot.into()),
        baseline,
        crate::COUNTER_WORDS,
        epoch,
    );
}

/// A writer of steps, which finds what is there.
#[must_use]
pub fn steps<'a>(words: &'a [AtomicU64], epoch: &'a AtomicU64) -> StepsWriter<'a> {
    StepsWriter::new(words, Some(epoch)).expect("there are words")
}

fn slot_with_steps<'a>(
    slot: &'a [AtomicU64],
    (steps, number): (&'a [AtomicU64], StepNumber),
) -> Slot<'a> {
    Slot {
        words: slot,
        steps: Steps::new(steps, number.code()),
    }
}

/// As [`value`], with the steps that are not in the slot yet.
#[must_use]
pub fn value_with_steps(
    slot: &[AtomicU64],
    steps: (&[AtomicU64], StepNumber),
    baseline: &[AtomicU64],
) -> Value {
    let slots = std::iter::once(slot_with_steps(slot, steps));
    let baseline = &baseline[..crate::COUNTER_WORDS];
    let sum = crate::statistic::read(&slots, baseline, crate::COUNTER_WORDS);
    (sum, MetricKind::Statistic).into()
}

/// What was recorded in a slot and its steps, whatever was reset: the part of a read that a fold can
/// meddle with. The baseline and min and max would make loom's work many times as long.
#[must_use]
pub fn recorded_with_steps(slot: &[AtomicU64], steps: (&[AtomicU64], StepNumber)) -> Value {
    let slots = std::iter::once(slot_with_steps(slot, steps));
    let sum = crate::statistic::recorded(slots, crate::COUNTER_WORDS);
    (sum, MetricKind::Statistic).into()
}

/// As [`rebase`], likewise.
pub fn rebase_with_steps(
    slot: &[AtomicU64],
    steps: (&[AtomicU64], StepNumber),
    baseline: &[AtomicU64],
    epoch: &AtomicU64,
) {
    let epoch = crate::statistic::next_epoch(epoch);
    let slots = std::iter::once(slot_with_steps(slot, steps));
    crate::statistic::rebase(slots, baseline, crate::COUNTER_WORDS, epoch);
}

/// A ring of `count` pairs over words enough for it.
#[must_use]
pub fn ring(words: &[AtomicU64], count: usize) -> Ring<'_, Pair> {
    Ring::new(words, 8, count, None)
}

/// The writer's end of [`ring`].
#[must_use]
pub fn ring_writer(words: &[AtomicU64], count: usize) -> RingWriter<'_, Pair> {
    RingWriter::new(ring(words, count))
}

/// Runs `work` under the reset lock.
///
/// # Errors
/// [`ResetBusy`].
pub fn locked<T>(lock: &AtomicU64, pid: u32, work: impl FnOnce() -> T) -> Result<T, ResetBusy> {
    let _guard = ResetGuard::take(lock, pid)?;
    Ok(work())
}

/// One backend's windows of commits.
#[must_use]
pub fn commit_windows(words: &[AtomicU64]) -> CommitWindowsWriter<'_> {
    CommitWindowsWriter::new(CommitWindows::new(words))
}

/// Group commits on the way to their flush.
#[must_use]
pub fn in_flight(words: &[AtomicU64]) -> InFlight<'_> {
    InFlight::new(words, Durability::Flush).expect("there are words")
}
