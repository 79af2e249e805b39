//! What happens per second: differences of successive snapshots, kept for the sparklines.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* makes a rate of two counts that do not belong together: of another segment, another
//! checkpoint, or from before a reset.

use crate::snapshot::{Snapshot, State, Views};
use crate::value::At;
use crate::wait_rates::WaitRates;
use std::collections::VecDeque;

/// A second that began earlier is not the last one, in milliseconds.
const RECENT_MS: f64 = 3000.0;
/// Looks that are remembered; more than a terminal is wide.
const KEPT: usize = 512;

/// One figure over the last looks, the newest last. Unknown is 0 in the line, and no number.
#[derive(Debug, Default)]
pub(crate) struct Series {
    line: VecDeque<u64>,
    last: Option<u64>,
}

impl Series {
    fn push(&mut self, value: Option<u64>) {
        if self.line.len() == KEPT {
            self.line.pop_front();
        }
        self.line.push_back(value.unwrap_or(0));
        self.last = value;
    }

    /// The newest, if known.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// The newest so many, the newest last.
    pub(crate) fn newest(&self, n: usize) -> Vec<u64> {
        let skip = self.line.len().saturating_sub(n);
        self.line.iter().skip(skip).copied().collect()
    }
}

/// The key figures.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    before: Option<Point>,
    /// Buffers written per second by the running checkpoint.
    pub(crate) buffers: Series,
    /// Files synced per second by the running checkpoint.
    pub(crate) files: Series,
    /// Bytes per second of which the flusher started the writeback.
    pub(crate) writeback: Series,
    /// Dirty bytes in the kernel's page cache, as the sweep saw them.
    pub(crate) dirty: Series,
    /// Bytes that wait for writeback.
    pub(crate) queue: Series,
    /// Commits per second.
    pub(crate) commits: Series,
    /// 99 % of the transactions of the last full second took at most so many microseconds.
    pub(crate) p99: Series,
    /// Waits since the last look.
    pub(crate) waits: WaitRates,
}

/// What a difference is made of.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: At,
    /// When the segment was made: its generation begins anew with each start of the server.
    made_at: At,
    checkpoint: u64,
    buffers: u64,
    files: u64,
    writeback: u64,
}

impl Point {
    fn of(at: At, views: &Views) -> Self {
        let running = views.progress.as_ref();
        Self {
            at,
            made_at: views.info.started_at,
            checkpoint: running.map_or(0, |row| row.checkpoint_id),
            buffers: running.and_then(|row| row.buffers_done).unwrap_or(0),
            files: running.and_then(|row| row.files_done).unwrap_or(0),
            writeback: views.totals.writeback_bytes,
        }
    }

    /// How much a count has grown per second since another point.
    fn rate(&self, before: Option<&Self>, count: impl Fn(&Self) -> u64) -> Option<u64> {
        let before = before.filter(|before| before.made_at == self.made_at)?;
        let seconds = self.at.ms_since(before.at) / 1e3;
        let grown = count(self).checked_sub(count(before))?;
        (seconds > 0.0).then(|| (grown as f64 / seconds).round() as u64)
    }
}

impl Rates {
    /// Takes in a snapshot. While the server is away or still, there are no rates.
    pub(crate) fn push(&mut self, snapshot: &Snapshot) {
        let waiting = snapshot.seen.server_state == State::Waiting;
        let Some(views) = snapshot.views.as_ref().filter(|_| !waiting) else {
            self.before = None;
            return;
        };
        let now = Point::of(snapshot.seen.taken_at, views);
        let before = self.before.as_ref();
        // A checkpoint that has begun since counts from zero.
        let start = before.map(|before| match before.checkpoint == now.checkpoint {
            true => *before,
            false => Point {
                buffers: 0,
                files: 0,
                ..*before
            },
        });
        self.buffers.push(now.rate(start.as_ref(), |p| p.buffers));
        self.files.push(now.rate(start.as_ref(), |p| p.files));
        self.writeback.push(now.rate(before, |p| p.writeback));
        self.dirty.push(snapshot.seen.os_dirty_bytes);
        self.queue.push(views.flush.queue_bytes);
        let moving = snapshot.seen.server_state == State::Running;
        let commits = snapshot.seen.commits_per_second.filter(|_| moving);
        self.commits.push(commits.map(|rate| rate.round() as u64));
        let recent = |at: At| snapshot.seen.taken_at.ms_since(at) < RECENT_MS;
        let second = views.timeline.first().filter(|row| recent(row.at));
        let p99 = second.and_then(|row| row.transaction_p99_time);
        self.p99.push(p99.map(|ms| (ms * 1e3).round() as u64));
        self.before = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::info::Info;
    use crate::views::progress::Progress;

    fn look(second: i64, made: i64, checkpoint: Option<(u64, u64)>, bytes: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.seen.taken_at = At(second * 1_000_000);
        snapshot.seen.server_state = State::Running;
        let mut views = Views {
            info: Info {
                started_at: At(made),
                ..Info::default()
            },
            progress: checkpoint.map(|(checkpoint_id, done)| Progress {
                checkpoint_id,
                buffers_done: Some(done),
                ..Progress::default()
            }),
            ..Views::default()
        };
        views.totals.writeback_bytes = bytes;
        snapshot.views = Some(views);
        snapshot
    }

    #[test]
    fn differences_are_of_what_belongs_together() {
        let mut rates = Rates::default();
        rates.push(&look(0, 1, Some((7, 100)), 1000));
        assert_eq!(rates.buffers.last(), None);
        rates.push(&look(2, 1, Some((7, 300)), 1500));
        assert_eq!(
            (rates.buffers.last(), rates.writeback.last()),
            (Some(100), Some(250))
        );
        // The next checkpoint counts from zero; a reset leaves no difference.
        rates.push(&look(3, 1, Some((8, 40)), 10));
        assert_eq!(
            (rates.buffers.last(), rates.writeback.last()),
            (Some(40), None)
        );
        // Another segment.
        rates.push(&look(4, 2, Some((8, 90)), 20));
        assert_eq!(rates.buffers.last(), None);
        rates.push(&look(5, 2, None, 20));
        assert_eq!(
            (rates.buffers.last(), rates.writeback.last()),
            (Some(0), Some(0))
        );
        // The same moment twice, as after a clock that was set back.
        rates.push(&look(5, 2, None, 30));
        assert_eq!(rates.writeback.last(), None);
        assert_eq!(rates.buffers.newest(3), [0, 0, 0]);
        assert_eq!(rates.buffers.newest(100).len(), 6);
    }
}
