//! `ckpt_stats_histogram`: the filled buckets of every statistic.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the metrics.
//! *Never:* shows an empty bucket.

use statseg::{Segment, histogram};

use super::counters::Unit;
use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let view = segment.view();
    for metric in view.metrics() {
        let unit = Unit::of(metric.unit);
        let value = view.value(&metric);
        let filled = value
            .buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        for (index, count) in filled {
            let (low, high) = histogram::bounds(index);
            rows.push([
                Field::text(metric.name),
                Field::from(unit.scale(low as f64)),
                Field::from(unit.scale(high as f64)),
                Field::count(*count),
            ]);
        }
    }
}
