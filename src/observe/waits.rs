//! What the processes of the server wait for, by type of process and phase of the checkpoints.
//!
//! *Runs in:* the monitor. *Reads and writes:* the table `waits`, whose only writer it is.
//! *Never:* writes at every sample: once a second is soon enough for who reads it.

use std::collections::HashMap;

use statseg::{CheckpointPhase, Metric, Segment, Text, WaitKey};

use crate::pgshim::backends;

/// Samples that are not in the table yet, by phase.
type Pending = [u64; CheckpointPhase::ALL.len()];

pub(super) struct Waits {
    segment: &'static Segment,
    /// The keys of the rows, in their order; `None` for a row that could not be read.
    keys: Vec<Option<WaitKey>>,
    pending: Vec<Pending>,
    /// Rows by what is sampled; `None`: the table was full.
    rows: HashMap<(Text<4>, u32), Option<usize>>,
}

impl Waits {
    /// Go on with the rows of the worker before this one.
    pub(super) fn start(segment: &'static Segment) -> Self {
        let keys: Vec<_> = segment.waits().keys().collect();
        Self {
            segment,
            pending: vec![Pending::default(); keys.len()],
            keys,
            rows: HashMap::new(),
        }
    }

    /// A process of this type was found in this wait.
    pub(super) fn sample(&mut self, kind: Text<4>, wait: u32, phase: CheckpointPhase) {
        let row = match self.rows.get(&(kind, wait)) {
            Some(row) => *row,
            None => {
                let row = self.place(key(kind, wait));
                self.rows.insert((kind, wait), row);
                row
            }
        };
        let place = phase.code() as usize - 1;
        let counter = row.and_then(|row| self.pending.get_mut(row)?.get_mut(place));
        match counter {
            Some(counter) => *counter += 1,
            None => self.segment.counter(Metric::WaitsLost).increment(),
        }
    }

    /// The row of a key: its own, or the next free one.
    fn place(&mut self, key: WaitKey) -> Option<usize> {
        let own = self.keys.iter().position(|other| *other == Some(key));
        if own.is_some() || self.keys.len() >= self.segment.waits().capacity() {
            return own;
        }
        self.keys.push(Some(key));
        self.pending.push(Pending::default());
        Some(self.keys.len() - 1)
    }

    /// Put what was sampled into the table.
    pub(super) fn publish(&mut self) {
        let table = self.segment.waits();
        for (row, (key, pending)) in self.keys.iter().zip(&mut self.pending).enumerate() {
            let Some(key) = key else { continue };
            for (phase, code) in CheckpointPhase::ALL {
                let samples = std::mem::take(&mut pending[*code as usize - 1]);
                if samples > 0 {
                    table.add(row, key, *phase, samples);
                }
            }
        }
    }
}

/// The row that a wait of a type of process belongs to.
pub(super) fn key(kind: Text<4>, wait: u32) -> WaitKey {
    let (wait_type, wait_event) = backends::wait_names(wait);
    WaitKey {
        backend_type: kind,
        wait_type: wait_type.as_deref().map(Text::new),
        wait_event: wait_event.as_deref().map(Text::new),
    }
}
