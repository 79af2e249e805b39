//! The sequence lock over words: one writer, any number of readers, nobody waits for anybody.
//!
//! *Runs in:* every process that maps the segment.
//! *Reads and writes:* the words it is given; word 0 is the sequence.
//! *Never:* blocks, allocates, or lets a reader hang on a writer that died.
//!
//! The protocol (all accesses are atomic, so there is no data race to speak of; the sequence
//! only tells a reader that the words it copied belong together):
//!
//! Writer, the only one of these words:
//! 1. load the sequence `s` relaxed (nobody else changes it) and store `s | 1` relaxed: odd
//!    means "being changed". `s` is odd already when a former writer died in mid-update; then
//!    the sequence stays odd until step 4;
//! 2. `fence(Release)`: who sees a word of step 3 also sees the odd sequence of step 1;
//! 3. store the words relaxed;
//! 4. store the next even number with Release: who sees it also sees the words of step 3.
//!
//! Reader:
//! 1. load the sequence `s` relaxed, then `fence(Acquire)`; odd: look again;
//! 2. load the words relaxed;
//! 3. `fence(Acquire)`: if step 2 saw a word of a newer update, step 4 sees its odd sequence;
//! 4. load the sequence relaxed: still `s`: the words are of one update; else look again;
//! 5. after a bounded number of looks: [`Torn`].
//!
//! Why step 1 of the reader is not one Acquire load: readers map the segment read-only, and on
//! read-only memory only relaxed loads are guaranteed by the standard library; a relaxed load
//! followed by an acquire fence is what it recommends, and costs the same.
//!
//! Why the sequence cannot come round: 2^63 updates at one per nanosecond take 292 years.

use crate::sync::{AtomicU64, Ordering, Patience, fence};

/// Word 0 of everything under a sequence lock.
pub(crate) const SEQUENCE: usize = 0;

/// No consistent copy could be had: the writer is in mid-update for longer than a reader waits
/// (it may have been killed there), or the words hold no valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record is being changed or was left unfinished")]
pub struct Torn;

/// An update begun: remember to [`end`] it. Returned by [`begin`].
#[must_use]
pub(crate) struct Begun(u64);

/// Writer, steps 1 and 2.
#[inline]
pub(crate) fn begin(sequence: &AtomicU64) -> Begun {
    let odd = sequence.load(Ordering::Relaxed) | 1;
    sequence.store(odd, Ordering::Relaxed);
    // SYNC: publish SEQLOCK_BEGIN
    fence(Ordering::Release);
    Begun(odd)
}

/// Writer, step 4.
#[inline]
pub(crate) fn end(sequence: &AtomicU64, begun: Begun) {
    // SYNC: publish SEQLOCK_END
    sequence.store(begun.0.wrapping_add(1), Ordering::Release);
}

/// Reader, step 1: the sequence, or `None` while it is odd.
#[inline]
pub(crate) fn begin_read(sequence: &AtomicU64) -> Option<u64> {
    let seen = sequence.load(Ordering::Relaxed);
    // SYNC: observe SEQLOCK_END
    fence(Ordering::Acquire);
    (seen & 1 == 0).then_some(seen)
}

/// Reader, steps 3 and 4: whether all that was loaded since [`begin_read`] is of one update.
#[inline]
pub(crate) fn still(sequence: &AtomicU64, seen: u64) -> bool {
    // SYNC: observe SEQLOCK_BEGIN
    fence(Ordering::Acquire);
    sequence.load(Ordering::Relaxed) == seen
}

/// Stores `from` into `words[1..]` as one update. Words that do not fit are a mistake of the
/// caller; the update is then left out rather than cut.
#[inline]
pub(crate) fn write(words: &[AtomicU64], from: &[u64]) {
    let Some((sequence, rest)) = words.split_first() else {
        return;
    };
    let Some(rest) = rest.get(..from.len()) else {
        debug_assert!(false, "record does not fit its words");
        return;
    };
    let begun = begin(sequence);
    for (word, value) in rest.iter().zip(from) {
        word.store(*value, Ordering::Relaxed);
    }
    end(sequence, begun);
}

/// Copies `words[1..]` into `into`, all of one update.
#[inline]
pub(crate) fn read(words: &[AtomicU64], into: &mut [u64]) -> Result<(), Torn> {
    read_patiently(words, into, Patience::new())
}

/// The same with a given patience.
#[inline]
pub(crate) fn read_patiently(
    words: &[AtomicU64],
    into: &mut [u64],
    mut patience: Patience,
) -> Result<(), Torn> {
    let (sequence, rest) = words.split_first().ok_or(Torn)?;
    let rest = rest.get(..into.len()).ok_or(Torn)?;
    loop {
        if let Some(seen) = begin_read(sequence) {
            for (value, word) in into.iter_mut().zip(rest) {
                *value = word.load(Ordering::Relaxed);
            }
            if still(sequence, seen) {
                return Ok(());
            }
        }
        if !patience.again() {
            return Err(Torn);
        }
    }
}
