//! Counters, gauges and statistics: one slot per writer, updated without a lock and without a
//! lock-prefixed instruction; the value is the sum over the slots less a baseline.
//!
//! *Runs in:* the owner of a slot updates it; any process reads; who resets holds the reset
//! lock of [`crate::reset`].
//! *Reads and writes:* the words of a metric in the slots and in the baseline.
//! *Never:* makes a writer wait, allocates in an update, changes a slot on reset.
//!
//! A metric has 8 words in each slot (counter, gauge) or 8 + 320 (statistic): 0 sequence,
//! 1 epoch, 2 count (of a counter or gauge: the value), 3 total, 4 min, 5 max, 6 and 7 reserved,
//! 8 to 327 the buckets. Its baseline has the same words; 4 and 5 are not used there.
//!
//! Update of a statistic, by the owner of the slot:
//! 1. load the epoch of all metrics (a word of the section "control") relaxed;
//! 2. under the slot's sequence lock: count + 1, total + value; when the slot's epoch is
//!    another, min and max start again with this value and the slot takes the epoch; else min
//!    and max are lowered and raised;
//! 3. the bucket + 1, relaxed, after it.
//!
//! Reset of all metrics, by the holder of the reset lock:
//! 1. the epoch of all metrics + 1, then `fence(SeqCst)`;
//!
//! and then for each, under its baseline's sequence lock (so that nobody puts a new epoch and an
//! old baseline together):
//! 2. its baseline's epoch becomes that one;
//! 3. the sum over the slots, word by word, becomes the baseline.
//!
//! One epoch for all of them, because a backend updates several in each transaction and finds
//! none of them in its cache. For the same reason those of commands and transactions are first put
//! down elsewhere and recorded here many at once: [`crate::steps`] has that protocol.
//!
//! Read: 1. the baseline's sequence; 2. the baseline; 3. the slots, each under its own sequence
//! lock, and with the steps that are not in it yet; 4. the baseline's sequence again: another: from
//! the start. Min and max of slots with an old epoch are left out.
//!
//! What a reset beside updates can and cannot do. Every word of a slot only grows, and the
//! baseline is a value it had; so **nothing is ever counted twice or lost**: of each update,
//! each word is either in the baseline or in the new value, and all words of the head on the
//! same side, because the resetter copies the head under the slot's sequence lock. For that it
//! is patient: only a writer that stays in mid-update for more than 20 ms (dead or stopped)
//! has its words taken as they are, and then the count of that one update may be on one side
//! and its total on the other.
//!
//! Min and max follow the epoch instead: who reads between the steps 1 and 2 misses those of slots
//! that were updated there. The fence has the new epoch on its way to every CPU before the slots
//! are read, therefore at most one update per slot, the one in flight, can be
//! counted in the new value and have its value in the old min and max. (The language's memory
//! model sets no bound to how long a relaxed load may return the old epoch; the machines do.)
//! And an update made between the steps 1 and 3 may be in the new min and max though it is counted
//! in the baseline. That is accepted: to close it, each update would have to wait for the reset.
//! What is recorded after the reset has returned, and knows of it, is in both.

use crate::histogram::{self, BUCKETS};
use crate::seqlock::{self, SEQUENCE};
use crate::steps::Steps;
use crate::sync::{AtomicU64, Ordering, Patience, fence};

/// Words of a metric before the buckets; all words of a counter or gauge.
pub const COUNTER_WORDS: usize = 8;
/// Words of a statistic.
pub const STATISTIC_WORDS: usize = COUNTER_WORDS + BUCKETS;

pub(crate) const EPOCH: usize = 1;
pub(crate) const COUNT: usize = 2;
pub(crate) const TOTAL: usize = 3;
pub(crate) const MIN: usize = 4;
pub(crate) const MAX: usize = 5;

/// The epoch that a new segment begins with. The slots begin with 0, so the first update of each
/// starts its min and max.
pub(crate) const FIRST_EPOCH: u64 = 1;

/// Adds without a lock prefix: right only because the word has one writer.
#[inline]
fn add(word: &AtomicU64, n: u64) {
    word.store(
        word.load(Ordering::Relaxed).wrapping_add(n),
        Ordering::Relaxed,
    );
}

/// A counter in a slot, to be counted up by the slot's owner.
///
/// A handle of a metric that is no counter, or of a slot that is not there, counts nothing.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a>(pub(crate) Option<&'a AtomicU64>);

impl Counter<'_> {
    /// Counts `n` more.
    #[inline]
    pub fn add(&self, n: u64) {
        if let Some(word) = self.0 {
            add(word, n);
        }
    }

    /// Counts one more.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }
}

/// A gauge in a slot, to be set by the slot's owner.
///
/// A handle of a metric that is no gauge, or of a slot that is not there, sets nothing.
#[derive(Clone, Copy, Debug)]
pub struct Gauge<'a>(pub(crate) Option<&'a AtomicU64>);

impl Gauge<'_> {
    /// Sets the value.
    #[inline]
    pub fn set(&self, value: u64) {
        if let Some(word) = self.0 {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// A statistic in a slot, to be updated by the slot's owner.
///
/// A handle of a metric that is no statistic, or of a slot that is not there, records nothing.
#[derive(Clone, Copy, Debug)]
pub struct Statistic<'a>(pub(crate) Option<StatisticWords<'a>>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct StatisticWords<'a> {
    pub(crate) own: &'a [AtomicU64; STATISTIC_WORDS],
    pub(crate) epoch: &'a AtomicU64,
}

impl<'a> Statistic<'a> {
    /// A handle that records nothing.
    pub const NONE: Self = Self(None);

    /// The handle over the words of a slot and the epoch of all metrics; dead when there are too
    /// few.
    #[inline]
    pub(crate) fn new(own: &'a [AtomicU64], epoch: Option<&'a AtomicU64>) -> Self {
        let words = own.first_chunk().zip(epoch);
        Self(words.map(|(own, epoch)| StatisticWords { own, epoch }))
    }

    /// Records one value.
    #[inline]
    pub fn record(&self, value: u64) {
        if let Some(StatisticWords { epoch, .. }) = self.0 {
            self.record_in(epoch.load(Ordering::Relaxed), value);
        }
    }

    /// Records one value of a given epoch.
    #[inline]
    pub(crate) fn record_in(&self, epoch: u64, value: u64) {
        let Some(StatisticWords { own, .. }) = self.0 else {
            return;
        };
        let begun = seqlock::begin(&own[SEQUENCE]);
        add(&own[COUNT], 1);
        add(&own[TOTAL], value);
        if own[EPOCH].load(Ordering::Relaxed) == epoch {
            if value < own[MIN].load(Ordering::Relaxed) {
                own[MIN].store(value, Ordering::Relaxed);
            }
            if value > own[MAX].load(Ordering::Relaxed) {
                own[MAX].store(value, Ordering::Relaxed);
            }
        } else {
            own[EPOCH].store(epoch, Ordering::Relaxed);
            own[MIN].store(value, Ordering::Relaxed);
            own[MAX].store(value, Ordering::Relaxed);
        }
        seqlock::end(&own[SEQUENCE], begun);
        add(&own[COUNTER_WORDS + histogram::index(value)], 1);
    }
}

/// Words of a metric added up over its slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) total: u64,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) buckets: Vec<u64>,
    pub(crate) torn: bool,
}

impl Sum {
    fn new(words: usize) -> Self {
        Self {
            buckets: vec![0; words.saturating_sub(COUNTER_WORDS)],
            ..Self::default()
        }
    }

    /// Adds one slot; min and max only when they are of the epoch. `one` is room for it.
    fn add_slot(
        &mut self,
        slot: &Slot<'_>,
        epoch: u64,
        patience: fn() -> Patience,
        one: &mut Self,
    ) {
        let Some(steps) = slot.steps else {
            self.add_words(slot.words, epoch, patience());
            return;
        };
        let mut looks = patience();
        loop {
            let seen = steps.begin_read();
            if seen.is_none() && looks.again() {
                continue;
            }
            one.add_words(slot.words, epoch, patience());
            // A fold that takes too long may have died: all that it has left is looked at.
            one.add_steps(&steps, epoch, seen.is_none());
            let whole = seen.is_some_and(|seen| steps.still(seen));
            if whole || seen.is_none() || !looks.again() {
                one.torn |= !whole;
                self.take(one);
                return;
            }
            one.clear();
        }
    }

    /// Adds the steps of a slot that are not in it yet.
    fn add_steps(&mut self, steps: &Steps<'_>, epoch: u64, all: bool) {
        let current = steps.epoch() == epoch;
        for value in steps.values(all) {
            self.count = self.count.wrapping_add(1);
            self.total = self.total.wrapping_add(value);
            if current {
                self.min = Some(self.min.map_or(value, |m| m.min(value)));
                self.max = Some(self.max.map_or(value, |m| m.max(value)));
            }
            if let Some(bucket) = self.buckets.get_mut(histogram::index(value)) {
                *bucket = bucket.wrapping_add(1);
            }
        }
    }

    /// Adds another sum, and leaves nothing in it.
    fn take(&mut self, one: &mut Self) {
        self.torn |= one.torn;
        if one.count != 0 {
            self.count = self.count.wrapping_add(one.count);
            self.total = self.total.wrapping_add(one.total);
            self.min = self.min.into_iter().chain(one.min).min();
            self.max = self.max.max(one.max);
            for (sum, bucket) in self.buckets.iter_mut().zip(&one.buckets) {
                *sum = sum.wrapping_add(*bucket);
            }
            one.clear();
        }
        one.torn = false;
    }

    /// Adds the words of one slot.
    fn add_words(&mut self, slot: &[AtomicU64], epoch: u64, patience: Patience) {
        let mut head = [0; COUNTER_WORDS - 1];
        if seqlock::read_patiently(slot, &mut head, patience).is_err() {
            // Its writer is in mid-update or died there. Each word by itself is right all the
            // same; only that they belong together is not said.
            self.torn = true;
            for (value, word) in head.iter_mut().zip(slot.iter().skip(1)) {
                *value = word.load(Ordering::Relaxed);
            }
        }
        self.count = self.count.wrapping_add(head[COUNT - 1]);
        self.total = self.total.wrapping_add(head[TOTAL - 1]);
        if head[EPOCH - 1] == epoch {
            self.min = Some(self.min.map_or(head[MIN - 1], |m| m.min(head[MIN - 1])));
            self.max = Some(self.max.map_or(head[MAX - 1], |m| m.max(head[MAX - 1])));
        }
        if head[COUNT - 1] == 0 {
            return; // most slots of a server with room for many connections
        }
        for (sum, word) in self.buckets.iter_mut().zip(slot.iter().skip(COUNTER_WORDS)) {
            *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
        }
    }

    /// Takes the baseline away. Saturating: a foreign segment may hold any number.
    fn subtract(&mut self, baseline: &[u64; STATISTIC_WORDS]) {
        self.count = self.count.saturating_sub(baseline[COUNT]);
        self.total = self.total.saturating_sub(baseline[TOTAL]);
        for (bucket, less) in self.buckets.iter_mut().zip(&baseline[COUNTER_WORDS..]) {
            *bucket = bucket.saturating_sub(*less);
        }
        if self.count == 0 {
            (self.min, self.max) = (None, None);
        }
    }

    fn clear(&mut self) {
        (self.count, self.total, self.min, self.max) = (0, 0, None, None);
        self.buckets.fill(0);
        self.torn = false;
    }
}

/// A metric in one slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) words: &'a [AtomicU64],
    /// What is not in them yet.
    pub(crate) steps: Option<Steps<'a>>,
}

impl<'a> From<&'a [AtomicU64]> for Slot<'a> {
    fn from(words: &'a [AtomicU64]) -> Self {
        Self { words, steps: None }
    }
}

/// The value of a metric: the sum over `slots` less `baseline`.
pub(crate) fn read<'a, I>(slots: &I, baseline: &'a [AtomicU64], words: usize) -> Sum
where
    I: Iterator<Item = Slot<'a>> + Clone,
{
    let mut sum = Sum::new(words);
    let mut one = Sum::new(words);
    let mut less = [0; STATISTIC_WORDS];
    let mut patience = Patience::new();
    loop {
        let seen = baseline.get(SEQUENCE).and_then(seqlock::begin_read);
        for (value, word) in less.iter_mut().zip(baseline) {
            *value = word.load(Ordering::Relaxed);
        }
        for slot in slots.clone() {
            sum.add_slot(&slot, less[EPOCH], Patience::new, &mut one);
        }
        sum.subtract(&less);
        match (baseline.get(SEQUENCE), seen) {
            (Some(sequence), Some(seen)) if seqlock::still(sequence, seen) => return sum,
            _ if patience.again() => sum.clear(),
            _ => {
                // Who resets died in the middle of it. The words are shown all the same.
                sum.torn = true;
                return sum;
            }
        }
    }
}

/// The sum over `slots` since the segment was made, whatever was reset; without min and max.
pub(crate) fn recorded<'a, I>(slots: I, words: usize) -> Sum
where
    I: Iterator<Item = Slot<'a>>,
{
    let mut sum = Sum::new(words);
    let mut one = Sum::new(words);
    for slot in slots {
        sum.add_slot(&slot, 0, Patience::new, &mut one);
    }
    (sum.min, sum.max) = (None, None);
    sum
}

/// Begins a reset of all metrics, each of which is then to be [`rebase`]d with the epoch that this
/// gives. Only for the holder of the reset lock.
pub(crate) fn next_epoch(epoch: &AtomicU64) -> u64 {
    add(epoch, 1);
    // SYNC: publish EPOCH. See "Reset" above for what this fence bounds.
    fence(Ordering::SeqCst);
    epoch.load(Ordering::Relaxed)
}

/// Makes the sum over `slots` the baseline. Only for the holder of the reset lock.
pub(crate) fn rebase<'a, I>(slots: I, baseline: &[AtomicU64], words: usize, epoch: u64)
where
    I: Iterator<Item = Slot<'a>>,
{
    let Some(baseline) = baseline.get(..words) else {
        return;
    };
    let begun = seqlock::begin(&baseline[SEQUENCE]);
    baseline[EPOCH].store(epoch, Ordering::Relaxed);
    let mut sum = Sum::new(words);
    let mut one = Sum::new(words);
    for slot in slots {
        sum.add_slot(&slot, 0, Patience::long, &mut one);
    }
    baseline[COUNT].store(sum.count, Ordering::Relaxed);
    baseline[TOTAL].store(sum.total, Ordering::Relaxed);
    for (word, value) in baseline[COUNTER_WORDS..].iter().zip(&sum.buckets) {
        word.store(*value, Ordering::Relaxed);
    }
    seqlock::end(&baseline[SEQUENCE], begun);
}

#[cfg(test)]
mod tests;
