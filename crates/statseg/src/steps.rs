//! The last steps of a process, not yet in its statistics.
//!
//! *Runs in:* each process that serves a client writes its own; any process reads all of them.
//! *Reads and writes:* the words behind a process's part of the section "activity".
//! *Never:* makes the writer wait, allocates in an update, loses or doubles a step.
//!
//! A short transaction updates six statistics, whose heads and buckets are on pages of their own: to
//! fetch these takes longer than all the rest of counting. So its times are put down one behind
//! the other, in one cache line, and go into the statistics when there is no room for more, many
//! transactions at once. Who reads a statistic adds to it what is still here.
//!
//! Words: 0 sequence, 1 epoch, 2 to 7 reserved, then the steps. A step is one word: the number of
//! the statistic ([`crate::Metric::step`], from 1) in the lower 8 bits, the value in the upper 56;
//! 0: none yet. Steps are put down from the first place on, without a gap.
//!
//! Writer, the only one of these words and of the statistics of its slot:
//! 1. load the epoch of all metrics relaxed. Another than the one here, or no room: fold first;
//! 2. store the step relaxed: one word cannot be torn, and nothing else belongs to it.
//!
//! Fold, under the sequence lock of these words:
//! 1. record each step in its statistic, with the epoch that stands here, then store 0;
//! 2. the epoch here becomes that of all metrics.
//!
//! Reader of a statistic, for each slot, under this sequence lock: the words of the statistic, and
//! the steps with its number up to the first 0. The sequence only says that no fold was in between.
//! So each step is seen in one of the two places, and min and max of the steps are of the epoch
//! that stands here. A reset is such a reader, and a patient one.
//!
//! A writer that died in mid-fold leaves steps behind the first 0: who gives up waiting for it
//! looks at all of them, and at most one step, the one at work, is seen twice. The next owner of
//! the slot goes on behind the last one and folds all in time.

use crate::codes::{CheckpointPhase, Command};
use crate::seqlock::{self, SEQUENCE};
use crate::statistic::Statistic;
use crate::sync::{AtomicU64, Ordering};

const EPOCH: usize = 1;
/// Words before the first step.
const HEAD_WORDS: usize = 8;
/// Steps there is room for: of some forty short transactions.
#[cfg(not(loom))]
const ROOM: usize = 240;
/// The same in a model: every word counts.
#[cfg(loom)]
const ROOM: usize = 2;
/// All words.
pub const STEPS_WORDS: usize = HEAD_WORDS + ROOM;

const NUMBER_BITS: u32 = 8;
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;
/// The largest value; larger ones are cut. In nanoseconds two years.
const MOST: u64 = u64::MAX >> NUMBER_BITS;

/// The number of a statistic among those that are recorded as steps, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepNumber(u8);

/// Phases of each.
const PHASES: u8 = CheckpointPhase::ALL.len() as u8;

impl StepNumber {
    /// How many there are.
    pub const COUNT: usize = (Command::ALL.len() + 1) * PHASES as usize;

    /// Of the time of commands of a kind, in a phase of the checkpoints.
    #[inline]
    #[must_use]
    pub const fn command(command: Command, phase: CheckpointPhase) -> Self {
        // Both number from 1 without a gap.
        Self((command.code() as u8 - 1) * PHASES + phase.code() as u8)
    }

    /// Of the length of transactions in a phase of the checkpoints.
    #[inline]
    #[must_use]
    pub const fn transaction(phase: CheckpointPhase) -> Self {
        Self(Command::ALL.len() as u8 * PHASES + phase.code() as u8)
    }

    pub(crate) const fn from_index(index: usize) -> Self {
        Self(index as u8 + 1)
    }

    /// Its place in an array of all of them, from 0.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    pub(crate) const fn code(self) -> u64 {
        self.0 as u64
    }
}

/// One process's steps, and the right to write them: that process only.
#[derive(Clone, Copy, Debug)]
pub struct StepsWriter<'a> {
    words: &'a [AtomicU64; STEPS_WORDS],
    /// The epoch of all metrics.
    metrics_epoch: &'a AtomicU64,
    /// The one that stands in the words.
    epoch: u64,
    /// The place of the next step.
    next: usize,
}

impl<'a> StepsWriter<'a> {
    /// The writer goes on where a former one has left off; `None` if the words are not there.
    pub(crate) fn new(
        words: &'a [AtomicU64],
        metrics_epoch: Option<&'a AtomicU64>,
    ) -> Option<Self> {
        let words: &[AtomicU64; STEPS_WORDS] = words.first_chunk()?;
        let used = |word: &AtomicU64| word.load(Ordering::Relaxed) != 0;
        let last = words[HEAD_WORDS..].iter().rposition(used);
        Some(Self {
            words,
            metrics_epoch: metrics_epoch?,
            epoch: words[EPOCH].load(Ordering::Relaxed),
            next: HEAD_WORDS + last.map_or(0, |last| last + 1),
        })
    }

    /// Records one value; `statistic` gives those of this process's slot, for the fold.
    #[inline]
    pub fn record(
        &mut self,
        number: StepNumber,
        value: u64,
        statistic: impl Fn(usize) -> Statistic<'a>,
    ) {
        let epoch = self.metrics_epoch.load(Ordering::Relaxed);
        if epoch != self.epoch || self.next >= STEPS_WORDS {
            self.fold(epoch, statistic);
        }
        if let Some(word) = self.words.get(self.next) {
            let step = value.min(MOST) << NUMBER_BITS | number.code();
            word.store(step, Ordering::Relaxed);
            self.next += 1;
        }
    }

    /// The word that the next step goes to, to be fetched early.
    #[cfg(not(loom))]
    #[inline]
    #[must_use]
    pub fn next_word(&self) -> *const u64 {
        let place = self.words.get(self.next);
        place.unwrap_or(&self.words[SEQUENCE]).as_ptr()
    }

    #[cold]
    #[inline(never)]
    fn fold(&mut self, epoch: u64, statistic: impl Fn(usize) -> Statistic<'a>) {
        let begun = seqlock::begin(&self.words[SEQUENCE]);
        for word in self.words.iter().take(self.next).skip(HEAD_WORDS) {
            let step = word.load(Ordering::Relaxed);
            if let Some(index) = (step & NUMBERS).checked_sub(1) {
                statistic(index as usize).record_in(self.epoch, step >> NUMBER_BITS);
                word.store(0, Ordering::Relaxed);
            }
        }
        self.words[EPOCH].store(epoch, Ordering::Relaxed);
        seqlock::end(&self.words[SEQUENCE], begun);
        (self.epoch, self.next) = (epoch, HEAD_WORDS);
    }
}

/// One process's steps of one statistic, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps<'a> {
    words: &'a [AtomicU64; STEPS_WORDS],
    number: u64,
}

impl<'a> Steps<'a> {
    /// `None` if the words are not there.
    pub(crate) fn new(words: &'a [AtomicU64], number: u64) -> Option<Self> {
        let words = words.first_chunk()?;
        Some(Self { words, number })
    }

    /// Begins to read: the sequence, or `None` while steps are folded.
    #[inline]
    pub(crate) fn begin_read(&self) -> Option<u64> {
        seqlock::begin_read(&self.words[SEQUENCE])
    }

    /// Was nothing folded since?
    #[inline]
    pub(crate) fn still(&self, seen: u64) -> bool {
        seqlock::still(&self.words[SEQUENCE], seen)
    }

    /// The epoch of the values.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.words[EPOCH].load(Ordering::Relaxed)
    }

    /// The values, as they are; `all`: also those that a writer that died has left.
    #[inline]
    pub(crate) fn values(&self, all: bool) -> impl Iterator<Item = u64> + use<'a> {
        let number = self.number;
        let words = self.words.iter().skip(HEAD_WORDS);
        let steps = words.map(|word| word.load(Ordering::Relaxed));
        steps
            .take_while(move |step| all || *step != 0)
            .filter(move |step| step & NUMBERS == number)
            .map(|step| step >> NUMBER_BITS)
    }
}
