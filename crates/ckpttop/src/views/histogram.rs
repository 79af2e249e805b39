//! `ckpt_stats_histogram`: the filled buckets of the lengths of transactions. Not printed:
//! [`crate::recording`] makes percentiles of any time from their differences.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the backends' slots.
//! *Never:* has an empty bucket, or one of another metric.

use crate::value::ms;
use serde::{Deserialize, Serialize};
use statseg::{CheckpointPhase, Metric, View, histogram};

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    pub(crate) bucket_low: f64,
    pub(crate) bucket_high: f64,
    pub(crate) count: u64,
}

impl Bucket {
    /// The rows of a segment.
    pub(crate) fn read(view: View<'_>) -> Vec<Self> {
        let phases = CheckpointPhase::ALL.iter();
        let rows = phases.flat_map(|(phase, _)| {
            let metric = Metric::transaction(*phase);
            let buckets = view.read(metric).buckets.into_iter().enumerate();
            let filled = buckets.filter(|(_, count)| *count > 0);
            filled.map(move |(index, count)| {
                let (low, high) = histogram::bounds(index);
                Self {
                    name: metric.def().name.to_owned(),
                    bucket_low: ms(low),
                    bucket_high: ms(high),
                    count,
                }
            })
        });
        rows.collect()
    }

    /// The number of the bucket.
    pub(crate) fn index(&self) -> usize {
        histogram::index((self.bucket_low * 1e6).round() as u64)
    }
}
