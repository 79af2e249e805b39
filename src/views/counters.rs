//! `ckpt_stats_counters`: every statistic of the segment, with its percentiles.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the metrics.
//! *Never:* knows a metric by name: the segment describes itself.

use statseg::{MetricKind, Segment};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let view = segment.view();
    for metric in view.metrics() {
        let value = view.value(&metric);
        let unit = Unit::of(metric.unit);
        let number = |number: Option<u64>| Field::from(number.map(|n| unit.scale(n as f64)));
        // A counter is a sum, its count is the number that was counted.
        let statistic = metric.kind == MetricKind::Statistic;
        let total = if statistic { value.total } else { value.count };
        let percentile = |q| number(value.percentile(q).filter(|_| statistic));
        rows.push([
            Field::text(metric.name),
            Field::text(unit.name),
            if unit.divisor > 1.0 && !statistic {
                Field::NULL
            } else {
                Field::count(value.count)
            },
            number(Some(total)),
            number(value.min.filter(|_| statistic)),
            number(value.max.filter(|_| statistic)),
            Field::from(
                value
                    .mean()
                    .filter(|_| statistic)
                    .map(|mean| unit.scale(mean)),
            ),
            percentile(0.5),
            percentile(0.9),
            percentile(0.99),
            percentile(0.999),
            Field::text(metric.help),
        ]);
    }
}

/// How a unit of the segment is shown: times in milliseconds, as everywhere in SQL.
pub(super) struct Unit<'a> {
    pub(super) name: &'a str,
    divisor: f64,
}

impl<'a> Unit<'a> {
    pub(super) fn of(unit: &'a str) -> Self {
        match unit {
            "ns" => Self {
                name: "ms",
                divisor: 1e6,
            },
            name => Self { name, divisor: 1.0 },
        }
    }

    pub(super) fn scale(&self, number: f64) -> f64 {
        number / self.divisor
    }
}
