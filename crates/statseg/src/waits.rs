//! The table of waits: how often backends of a type were found in a wait, by checkpoint phase.
//!
//! *Runs in:* the monitor writes; any process reads.
//! *Reads and writes:* the rows of the section "waits", each under its own sequence lock.
//! *Never:* moves or removes a row: a key keeps its row as long as the segment lives.
//!
//! Rows are filled from the first on; the first one that was never used ends the table. A row's
//! samples count while its epoch is the table's (word 6 of "control"): a reset adds one to the
//! epoch, and the writer begins each row again when it next has something to add.

use crate::codes::CheckpointPhase;
use crate::observed::WaitRow;
use crate::record::{Record, RecordWriter};
use crate::sync::{AtomicU64, Ordering};
use crate::text::Text;
use std::ops::Deref;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitKey {
    /// The type of backend.
    pub backend_type: Text<4>,
    /// The type of the wait; `None`: the backend was not waiting.
    pub wait_type: Option<Text<2>>,
    /// The wait.
    pub wait_event: Option<Text<8>>,
}

impl WaitRow {
    /// What the row is about.
    #[must_use]
    pub fn key(&self) -> WaitKey {
        WaitKey {
            backend_type: self.backend_type,
            wait_type: self.wait_type,
            wait_event: self.wait_event,
        }
    }

    /// Samples in a phase.
    #[must_use]
    pub fn samples(&self, phase: CheckpointPhase) -> u64 {
        match phase {
            CheckpointPhase::None => self.samples_none,
            CheckpointPhase::Writing => self.samples_writing,
            CheckpointPhase::Syncing => self.samples_syncing,
        }
    }
}

/// The table of waits, to be read.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'a> {
    words: &'a [AtomicU64],
    stride: usize,
    epoch: Option<&'a AtomicU64>,
}

impl<'a> Waits<'a> {
    pub(crate) fn new(words: &'a [AtomicU64], stride: usize, epoch: Option<&'a AtomicU64>) -> Self {
        Self {
            words,
            stride: stride.max(1),
            epoch,
        }
    }

    /// How many rows fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.words.len() / self.stride
    }

    fn epoch(&self) -> u64 {
        self.epoch.map_or(0, |it| it.load(Ordering::Relaxed))
    }

    fn part(&self, row: usize) -> &'a [AtomicU64] {
        let start = row.saturating_mul(self.stride);
        self.words.get(start..start + self.stride).unwrap_or(&[])
    }

    /// Row by row, what was ever found, also before the last reset; `None` for one that is being
    /// written.
    fn all(&self) -> impl Iterator<Item = Option<WaitRow>> + use<'a> {
        let table = *self;
        (0..table.capacity())
            .map(move |row| Record::<WaitRow>::new(table.part(row)).read().ok())
            .take_while(|row| row.is_none_or(|row| !row.backend_type.is_empty()))
    }

    /// The rows with samples since the last reset.
    pub fn iter(&self) -> impl Iterator<Item = WaitRow> + use<'a> {
        let epoch = self.epoch();
        self.all().flatten().filter(move |row| row.epoch == epoch)
    }
}

/// The table and the right to write it.
#[derive(Debug)]
pub struct WaitsWriter<'a>(Waits<'a>);

impl<'a> WaitsWriter<'a> {
    pub(crate) fn new(table: Waits<'a>) -> Self {
        Self(table)
    }

    /// The keys that have a row already, in the order of the rows: for a writer that takes over.
    pub fn keys(&self) -> impl Iterator<Item = Option<WaitKey>> + use<'a> {
        self.0.all().map(|row| row.map(|row| row.key()))
    }

    /// Adds samples of a phase to the row of a key, which stays the key's. False when there is
    /// no such row.
    pub fn add(&self, row: usize, key: &WaitKey, phase: CheckpointPhase, samples: u64) -> bool {
        if row >= self.capacity() {
            return false;
        }
        let writer = RecordWriter::<WaitRow>::new(self.0.part(row));
        let epoch = self.0.epoch();
        let former = writer.read().unwrap_or_default();
        let mut new = if former.key() == *key && former.epoch == epoch {
            former
        } else {
            WaitRow {
                epoch,
                backend_type: key.backend_type,
                wait_type: key.wait_type,
                wait_event: key.wait_event,
                ..WaitRow::default()
            }
        };
        let counter = match phase {
            CheckpointPhase::None => &mut new.samples_none,
            CheckpointPhase::Writing => &mut new.samples_writing,
            CheckpointPhase::Syncing => &mut new.samples_syncing,
        };
        *counter = counter.saturating_add(samples);
        writer.write(&new);
        true
    }
}

impl<'a> Deref for WaitsWriter<'a> {
    type Target = Waits<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
