//! The value of a metric as a reader gets it, and what can be computed from it.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* holds a reference into the segment: a value stays as it was read.

use crate::catalog::MetricKind;
use crate::histogram;
use crate::statistic::Sum;

/// A metric of a segment, as its directory describes it.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its unit: `count`, `bytes`, `ns`, or what a later version adds.
    pub unit: &'a str,
    /// What it means.
    pub help: &'a str,
    /// What it is.
    pub kind: MetricKind,
    /// The name of the section with its slots.
    pub group: &'a str,
    /// Its place in the directory.
    pub(crate) index: usize,
}

/// The value of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// How many values were recorded; of a counter or gauge: the value.
    pub count: u64,
    /// Their sum; 0 for a counter or gauge.
    pub total: u64,
    /// The smallest since the last reset; `None` when none is known.
    pub min: Option<u64>,
    /// The largest since the last reset; `None` when none is known.
    pub max: Option<u64>,
    /// How many values fell into each bucket; empty for a counter or gauge. The sum may be a
    /// little behind `count`: a value is counted first and put into its bucket next.
    pub buckets: Vec<u64>,
    /// Some words were read in the middle of an update, and its writer did not finish it while
    /// this reader waited: count and total may be one value apart.
    pub torn: bool,
}

impl Value {
    /// The value at or below which the share `q` (0 to 1) of all values lies.
    #[must_use]
    pub fn percentile(&self, q: f64) -> Option<u64> {
        histogram::percentile(&self.buckets, q, self.min, self.max)
    }

    /// The mean of all values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / self.count as f64)
    }
}

impl From<(Sum, MetricKind)> for Value {
    fn from((sum, kind): (Sum, MetricKind)) -> Self {
        let Sum {
            count,
            total,
            min,
            max,
            buckets,
            torn,
        } = sum;
        match kind {
            MetricKind::Statistic => Self {
                count,
                total,
                min,
                max,
                buckets,
                torn,
            },
            MetricKind::Counter | MetricKind::Gauge => Self {
                count,
                torn,
                ..Self::default()
            },
        }
    }
}
