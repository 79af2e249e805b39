//! The timeline: one row for each second.
//!
//! *Runs in:* the monitor. *Reads and writes:* the ring `timeline`, whose only writer it is.
//! *Never:* invents a second: one in which the monitor could not look is not there.

use std::path::Path;

use statseg::{CheckpointPhase, Ended, Metric, Second, Segment, histogram};

use crate::kernel::{self, DeviceCounters};
use crate::server;

const SECOND_US: i64 = 1_000_000;

/// What the differences of a second are made from.
#[derive(Clone)]
struct Totals {
    ended: Ended,
    transactions: Vec<u64>,
    stalled_ns: u64,
    writeback_bytes: u64,
    wal: u64,
    device: Option<DeviceCounters>,
}

pub(super) struct Timeline {
    segment: &'static Segment,
    /// The device of the data directory, if it has counters.
    device: Option<u64>,
    /// The second that is going on: begin and totals then.
    begun: Option<(i64, Totals)>,
    looks: u64,
    active: u64,
    /// The running checkpoint and its buffers, as last counted.
    counted: Option<(u64, u64)>,
}

impl Timeline {
    pub(super) fn start(segment: &'static Segment) -> Self {
        let device = kernel::device_of(Path::new("base"));
        Self {
            segment,
            device: device.filter(|device| kernel::counters(*device).is_ok()),
            begun: None,
            looks: 0,
            active: 0,
            counted: None,
        }
    }

    /// A look at the backends found so many at work. True when a second has ended with it.
    pub(super) fn look(&mut self, now: i64, active: usize, stalled_ns: u64) -> bool {
        let second = now - now.rem_euclid(SECOND_US);
        let over = self.begun.as_ref().is_none_or(|(at, _)| *at != second);
        if over {
            let totals = self.totals(stalled_ns);
            let buffers = self.buffers();
            if let Some((at, before)) = self.begun.replace((second, totals.clone())) {
                // Not when the clock was set, or nobody looked for a while.
                if second - at == SECOND_US {
                    self.push(at, &before, &totals, buffers);
                }
            }
            (self.looks, self.active) = (0, 0);
        }
        self.looks += 1;
        self.active += active as u64;
        over
    }

    fn totals(&self, stalled_ns: u64) -> Totals {
        let view = self.segment.view();
        Totals {
            ended: view.ended(),
            transactions: transactions(self.segment),
            stalled_ns,
            writeback_bytes: view.recorded(Metric::WritebackBytes).count,
            wal: server::wal_position(),
            device: self.device.and_then(|it| kernel::counters(it).ok()),
        }
    }

    fn push(&self, at: i64, before: &Totals, after: &Totals, buffers: Option<u64>) {
        let view = self.segment.view();
        let progress = view.progress().read().unwrap_or_default();
        let flusher = crate::shmem::flusher(self.segment);
        let second = u64::try_from(at / SECOND_US).unwrap_or(0);
        let grown = |field: fn(&DeviceCounters) -> u64| {
            field(after.device.as_ref()?).checked_sub(field(before.device.as_ref()?))
        };
        let passed = difference(&after.transactions, &before.transactions);
        // By the second in which they ended. What has ended between that and this look is in
        // `passed` too, and must not make a percentile that is above the longest.
        let longest = view.longest_transaction(second);
        self.segment.timeline().push(&Second {
            at,
            checkpoint_id: progress.active.then_some(progress.checkpoint_id),
            phase: view.checkpoint_phase(),
            commits: after.ended.commits.saturating_sub(before.ended.commits),
            rollbacks: after.ended.rollbacks.saturating_sub(before.ended.rollbacks),
            active_backends: self.active.div_ceil(self.looks.max(1)),
            stalled_ns: after.stalled_ns.saturating_sub(before.stalled_ns),
            longest_transaction_ns: longest,
            transaction_p99_ns: histogram::percentile(&passed, 0.99, None, longest),
            buffers_written: buffers,
            writeback_bytes: after.writeback_bytes.saturating_sub(before.writeback_bytes),
            os_dirty_bytes: flusher.os_dirty_bytes,
            os_writeback_bytes: flusher.os_writeback_bytes,
            wal_bytes: after.wal.checked_sub(before.wal),
            device_write_ops: grown(|it| it.write_operations),
            device_write_bytes: grown(|it| it.write_bytes),
            device_in_flight: after.device.map(|it| it.in_flight),
        });
    }

    /// Buffers the checkpointer has written since the last call; `None` without a checkpoint.
    fn buffers(&mut self) -> Option<u64> {
        let progress = self.segment.progress().read().unwrap_or_default();
        let now = (progress.checkpoint_id, progress.buffers_done.unwrap_or(0));
        let running = progress.active.then_some(now);
        let before = std::mem::replace(&mut self.counted, running);
        let ended = before.filter(|(id, _)| running.is_none_or(|(now, _)| now != *id));
        let rest = ended.and_then(|(id, counted)| {
            let (_, row) = self.segment.history().newest(1).next()?;
            let written = row.buffers_written.filter(|_| row.checkpoint_id == id)?;
            Some(written.saturating_sub(counted))
        });
        let counted = before.filter(|_| ended.is_none()).map_or(0, |it| it.1);
        let new = running.map(|(_, done)| done.saturating_sub(counted));
        match (rest, new) {
            (None, new) => new,
            (rest, new) => Some(rest.unwrap_or(0) + new.unwrap_or(0)),
        }
    }

    /// Nobody will look for a while.
    pub(super) fn suspend(&mut self) {
        self.begun = None;
    }
}

/// Transactions that ever ended, by their length.
pub(super) fn transactions(segment: &Segment) -> Vec<u64> {
    let mut sum = vec![0; histogram::BUCKETS];
    for (phase, _) in CheckpointPhase::ALL {
        let value = segment.view().recorded(Metric::transaction(*phase));
        for (sum, bucket) in sum.iter_mut().zip(&value.buckets) {
            *sum += bucket;
        }
    }
    sum
}

/// What was recorded between two states.
pub(super) fn difference(after: &[u64], before: &[u64]) -> Vec<u64> {
    let pairs = after.iter().zip(before);
    pairs
        .map(|(after, before)| after.saturating_sub(*before))
        .collect()
}
