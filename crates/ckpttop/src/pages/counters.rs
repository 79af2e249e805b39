//! The page of metrics: `ckpt_stats_counters`.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* knows a metric by name: the segment describes itself.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{bytes, count, known, time};
use crate::snapshot::Wants;
use crate::views::counters::Counter;
use ratatui::Frame;
use ratatui::layout::Rect;

pub(super) const PAGE: Page = Page {
    title: "counters",
    help: "all metrics, with their percentiles",
    wants: Wants {
        counters: true,
        ..Wants::LITTLE
    },
    rows: |views, _| views.counters.len(),
    draw,
};

/// A number in the unit of its metric.
fn show(row: &Counter, number: Option<f64>) -> String {
    known(number, |number| match row.unit.as_str() {
        "ms" => time(number),
        "bytes" => bytes(number as u64),
        _ if number.fract() == 0.0 => count(number as u64),
        _ => format!("{number:.1}"),
    })
}

const COLUMNS: [Column<Counter>; 12] = [
    Column::word("name", |r| r.name.clone()),
    Column::number("count", |r| known(r.count, count)),
    Column::number("total", |r| show(r, Some(r.total))),
    Column::number("mean", |r| show(r, r.mean)),
    Column::number("p50", |r| show(r, r.p50)),
    Column::number("p90", |r| show(r, r.p90)),
    Column::number("p99", |r| show(r, r.p99)),
    Column::number("p99.9", |r| show(r, r.p999)),
    Column::number("min", |r| show(r, r.min)),
    Column::number("max", |r| show(r, r.max)),
    Column::word("unit", |r| r.unit.clone()),
    Column::word("description", |r| r.description.clone()),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    table::draw(frame, area, &context.views.counters, &COLUMNS, context);
}
