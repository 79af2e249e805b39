//! Time that processes wait for a row only because its owner flushes: what group commit would save.
//!
//! *Runs in:* the monitor, at each look at all processes.
//! *Reads and writes:* reads PGPROCs and locks without a lock; writes one counter.
//! *Never:* looks for the owner of a row while nobody waits for one.

use std::time::{Duration, Instant};

use statseg::{Metric, Segment};

use crate::pgshim::backends::{self, Process, RowWait};

/// A look that comes later than this says nothing of the time before it.
const LONGEST: Duration = Duration::from_secs(1);

/// What was seen at the looks.
#[derive(Default)]
pub(super) struct FlushLocks {
    last: Option<Instant>,
}

impl FlushLocks {
    /// All processes, as they are now.
    pub(super) fn look(&mut self, segment: &'static Segment, found: &[Process], now: Instant) {
        let passed = self.last.replace(now).map(|last| now - last);
        let Some(passed) = passed.filter(|passed| *passed < LONGEST) else {
            return;
        };
        let waits = |kind| move |it: &&Process| backends::row_wait(it.wait) == Some(kind);
        let flushes = found
            .iter()
            .filter(waits(RowWait::Owner))
            .filter(|it| backends::waits_for_flush(it))
            .count();
        if flushes == 0 {
            return;
        }
        // Whoever waits for its turn waits behind one of those that wait for an owner. Which one
        // cannot be seen without the lock manager's locks: all are taken to wait behind these.
        let turns = found.iter().filter(waits(RowWait::Turn)).count();
        let waiting = u64::try_from(flushes + turns).unwrap_or(0);
        let ns = u64::try_from(passed.as_nanos()).unwrap_or(0);
        segment
            .counter(Metric::FlushLockTime)
            .add(ns.saturating_mul(waiting));
    }
}
