//! A ring of records: the last so many of them, each with its number.
//!
//! *Runs in:* one writer (checkpointer for events, monitor for the history); any reader.
//! *Reads and writes:* the words of its section.
//! *Never:* makes the writer wait for a reader: who is too slow misses records, and can tell.
//!
//! Word 0 of the section is the head: how many records were ever pushed, which is the id of the
//! newest. The entries begin at word 8; the record with id `i` (from 1) stands in entry
//! `(i - 1) % count`.
//!
//! Push, by the one writer: 1. write the record with its id under the entry's sequence lock;
//! 2. store the head with Release.
//! Get, by anybody: 1. load the head; an id above it is not there yet, one that is `count` or
//! more behind it is gone; 2. read the entry under its sequence lock; 3. the id in it must be
//! the one asked for: else the writer has come round meanwhile.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::record::{self, ID, RecordType};
use crate::sync::{AtomicU64, Ordering, fence};

/// Words before the first entry: the head has a cache line of its own.
pub(crate) const RING_HEAD_WORDS: usize = 8;

/// A ring, to be read.
#[derive(Debug)]
pub struct Ring<'a, T> {
    words: &'a [AtomicU64],
    stride: usize,
    count: usize,
    /// Ids up to this one were reset away.
    floor: Option<&'a AtomicU64>,
    kind: PhantomData<T>,
}

impl<T> Clone for Ring<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ring<'_, T> {}

impl<'a, T: RecordType> Ring<'a, T> {
    pub(crate) fn new(
        words: &'a [AtomicU64],
        stride: usize,
        count: usize,
        floor: Option<&'a AtomicU64>,
    ) -> Self {
        Self {
            words,
            stride,
            count,
            floor,
            kind: PhantomData,
        }
    }

    /// How many records were ever pushed: the id of the newest.
    #[must_use]
    pub fn head(&self) -> u64 {
        let head = self.words.first().map_or(0, |w| w.load(Ordering::Relaxed));
        // SYNC: observe RING_HEAD
        fence(Ordering::Acquire);
        head
    }

    /// How many records fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.count
    }

    /// The record with this id; `None` when it is not there yet, overwritten, reset away, or
    /// being overwritten.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<T> {
        let behind = self.head().checked_sub(id)?;
        let floor = self.floor.map_or(0, |w| w.load(Ordering::Relaxed));
        if id == 0 || id <= floor || behind >= self.count as u64 {
            return None;
        }
        let buffer = record::load::<T>(self.entry(id)?).ok()?;
        if buffer[ID] == id {
            T::decode(&buffer)
        } else {
            None
        }
    }

    /// The newest `n` records with their ids, newest first. What is overwritten meanwhile is
    /// left out.
    pub fn newest(&self, n: usize) -> impl Iterator<Item = (u64, T)> + use<'a, T> {
        let ring = *self;
        let head = ring.head();
        let n = n.min(ring.count) as u64;
        let oldest = head.saturating_sub(n);
        (oldest..head).rev().filter_map(move |below| {
            let id = below + 1;
            ring.get(id).map(|record| (id, record))
        })
    }

    fn entry(&self, id: u64) -> Option<&'a [AtomicU64]> {
        let index = usize::try_from(id.wrapping_sub(1).checked_rem(self.count as u64)?).ok()?;
        let start = RING_HEAD_WORDS + index * self.stride;
        self.words.get(start..start + self.stride)
    }
}

/// A ring and the right to push: one process at a time.
#[derive(Debug)]
pub struct RingWriter<'a, T>(Ring<'a, T>);

impl<'a, T: RecordType> RingWriter<'a, T> {
    pub(crate) fn new(ring: Ring<'a, T>) -> Self {
        Self(ring)
    }

    /// Adds a record in the place of the oldest and returns its id.
    #[inline]
    pub fn push(&self, record: &T) -> u64 {
        let Some(head) = self.0.words.first() else {
            return 0;
        };
        let id = head.load(Ordering::Relaxed).wrapping_add(1);
        if let Some(entry) = self.0.entry(id) {
            record::store(entry, id, record);
        }
        // SYNC: publish RING_HEAD
        head.store(id, Ordering::Release);
        id
    }
}

impl<'a, T> Deref for RingWriter<'a, T> {
    type Target = Ring<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
