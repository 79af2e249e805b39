//! A worker's row of `ckpt_stats_workers`.
//!
//! *Runs in:* the worker whose row it is. *Reads and writes:* that row, whose only writer it is.
//! *Never:* touches another worker's row.

use statseg::{Segment, Text, Worker, WorkerState};

use crate::process;

/// Writes the row of one worker.
pub(super) struct Status {
    segment: &'static Segment,
    index: usize,
    row: Worker,
}

impl Status {
    /// The worker is there, for the first time or again.
    pub(super) fn starting(segment: &'static Segment, index: usize, name: &str) -> Self {
        let former = segment.worker(index).read().unwrap_or_default();
        let again = former.name.as_str() == name;
        let status = Self {
            segment,
            index,
            row: Worker {
                name: Text::new(name),
                pid: Some(process::pid()),
                state: WorkerState::Starting,
                restarts: if again { former.restarts + 1 } else { 0 },
                last_active_at: Some(process::now_us()),
                ..former
            },
        };
        status.write();
        status
    }

    pub(super) fn running(&mut self) {
        self.row.state = WorkerState::Running;
        self.row.last_active_at = Some(process::now_us());
        self.write();
    }

    pub(super) fn disabled(&mut self) {
        self.row.state = WorkerState::Disabled;
        self.write();
    }

    pub(super) fn failed(&mut self, error: &str) {
        self.row.state = WorkerState::Failed;
        self.row.last_error = Some(Text::new(error));
        self.row.last_error_at = Some(process::now_us());
        self.write();
    }

    pub(super) fn stopped(&mut self) {
        self.row.state = WorkerState::Stopped;
        self.row.pid = None;
        self.write();
    }

    fn write(&self) {
        self.segment.worker(self.index).write(&self.row);
    }
}
