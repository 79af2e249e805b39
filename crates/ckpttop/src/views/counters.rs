//! `ckpt_stats_counters`: every metric of the segment, with its percentiles.
//!
//! *Runs in:* the viewer. *Reads and writes:* reads the metrics.
//! *Never:* knows a metric by name: the segment describes itself.

use serde::{Deserialize, Serialize};
use statseg::{METRICS, MetricInfo, MetricKind, Value, View};

/// A row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counter {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) count: Option<u64>,
    pub(crate) total: f64,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) mean: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) p90: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) p999: Option<f64>,
    pub(crate) description: String,
    /// What the segment says it is; SQL does not.
    #[serde(skip)]
    kind: Option<MetricKind>,
}

impl Counter {
    /// All rows of a segment.
    pub(crate) fn read(view: View<'_>) -> Vec<Self> {
        let metrics = view.metrics();
        metrics.map(|m| Self::of(&m, &view.value(&m))).collect()
    }

    /// What it is. Of a row from SQL with a name that this version does not know: a statistic if
    /// it has a percentile.
    pub(crate) fn kind(&self) -> MetricKind {
        let known = METRICS.iter().find(|def| def.name == self.name);
        self.kind
            .or(known.map(|def| def.kind))
            .unwrap_or(match self.p50 {
                Some(_) => MetricKind::Statistic,
                None => MetricKind::Counter,
            })
    }

    fn of(metric: &MetricInfo<'_>, value: &Value) -> Self {
        // Times in milliseconds, as everywhere in SQL.
        let (unit, divisor) = match metric.unit {
            "ns" => ("ms", 1e6),
            unit => (unit, 1.0),
        };
        let scaled = |number: u64| number as f64 / divisor;
        // A counter is a sum, its count is the number that was counted.
        let statistic = metric.kind == MetricKind::Statistic;
        let only = |number: Option<u64>| number.filter(|_| statistic).map(scaled);
        Self {
            name: metric.name.to_owned(),
            unit: unit.to_owned(),
            count: (statistic || divisor == 1.0).then_some(value.count),
            total: scaled(if statistic { value.total } else { value.count }),
            min: only(value.min),
            max: only(value.max),
            mean: value.mean().filter(|_| statistic).map(|m| m / divisor),
            p50: only(value.percentile(0.5)),
            p90: only(value.percentile(0.9)),
            p99: only(value.percentile(0.99)),
            p999: only(value.percentile(0.999)),
            description: metric.help.to_owned(),
            kind: Some(metric.kind),
        }
    }
}
