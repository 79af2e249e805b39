//! Transactions inside and outside of checkpoints: how many, how long, how fast.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* makes a percentile of percentiles: they come from the lengths of all transactions
//! that ended while it was recorded.

use crate::recording::read::Recording;
use crate::views::{self, PHASES};
use statseg::histogram;

/// The phases as the report calls them.
pub(super) const NAMES: [&str; PHASES] = ["no checkpoint", "write phase", "sync phase"];

/// A row: a phase, or all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Latency {
    pub(super) name: String,
    /// Seconds of the timeline.
    pub(super) seconds: u64,
    pub(super) commits: u64,
    pub(super) rollbacks: u64,
    /// In milliseconds, as all times here.
    pub(super) stalled: f64,
    pub(super) longest: Option<f64>,
    /// Transactions of which the length is known.
    pub(super) measured: u64,
    buckets: Vec<u64>,
}

impl Latency {
    /// The length that this share of the transactions did not exceed.
    pub(super) fn percentile(&self, share: f64) -> Option<f64> {
        let ns = histogram::percentile(&self.buckets, share, None, None);
        ns.map(crate::value::ms)
    }

    /// Commits per second.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.seconds > 0).then(|| self.commits as f64 / self.seconds as f64)
    }

    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.stalled += other.stalled;
        self.longest = most(self.longest, other.longest);
        self.measured += other.measured;
        self.buckets.resize(histogram::BUCKETS, 0);
        for (sum, count) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum += count;
        }
    }
}

fn most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Each phase, and all of them.
pub(super) fn rows(recording: &Recording) -> Vec<Latency> {
    let mut rows: Vec<Latency> = NAMES
        .iter()
        .zip(&recording.transactions)
        .map(|(name, buckets)| Latency {
            name: (*name).to_owned(),
            measured: buckets.iter().sum(),
            buckets: buckets.clone(),
            ..Latency::default()
        })
        .collect();
    for second in recording.seconds.values() {
        let Some(row) = views::phase(&second.checkpoint_phase).and_then(|i| rows.get_mut(i)) else {
            continue;
        };
        row.seconds += 1;
        row.commits += second.commits;
        row.rollbacks += second.rollbacks;
        row.stalled += second.stalled_time;
        row.longest = most(row.longest, second.longest_transaction_time);
    }
    let mut all = Latency {
        name: "all".to_owned(),
        ..Latency::default()
    };
    for row in &rows {
        all.add(row);
    }
    rows.push(all);
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::value::At;
    use crate::views::timeline::Second;

    #[test]
    fn phases_are_kept_apart_and_added_up() {
        let mut recording = Recording::default();
        for (at, phase, commits) in [(0, "none", 10), (1, "syncing", 2), (2, "none", 20)] {
            let second = Second {
                checkpoint_phase: phase.to_owned(),
                commits,
                longest_transaction_time: Some(commits as f64),
                ..Second::default()
            };
            recording.seconds.insert(At(at), second);
        }
        let mut lengths = vec![0; histogram::BUCKETS];
        lengths[histogram::index(5_000_000)] = 99;
        lengths[histogram::index(80_000_000)] = 1;
        recording.transactions[0] = lengths;
        let rows = rows(&recording);
        assert_eq!(rows[0].rate(), Some(15.0));
        assert_eq!(rows[1].rate(), None);
        assert_eq!((rows[2].seconds, rows[2].longest), (1, Some(2.0)));
        let all = &rows[3];
        assert_eq!((all.seconds, all.commits, all.measured), (3, 32, 100));
        assert_eq!(all.longest, Some(20.0));
        let near = |share, ms: f64| {
            let found = all.percentile(share).unwrap();
            assert!((found / ms - 1.0).abs() < 0.0625, "{found} is not {ms}");
        };
        near(0.99, 5.0);
        near(0.999, 80.0);
        assert_eq!(rows[1].percentile(0.5), None);
    }
}
