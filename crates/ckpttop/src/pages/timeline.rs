//! The page of seconds: `ckpt_stats_timeline`, the newest first, and how it went.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* reads all seconds that the server keeps: ten minutes are enough to scroll through.

use super::table::{self, Column};
use super::{Context, Page, spark};
use crate::human::{bytes, count, known, time};
use crate::snapshot::Wants;
use crate::views::timeline::Second;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// Rows that are read.
const SECONDS: usize = 600;
/// Lines above the table: the figures and an empty one.
const ABOVE: usize = FIGURES.len() + 1;

pub(super) const PAGE: Page = Page {
    title: "timeline",
    help: "second by second, the newest first",
    wants: Wants {
        timeline: SECONDS,
        ..Wants::LITTLE
    },
    rows: |views, _| views.timeline.len() + ABOVE,
    draw,
};

/// A figure: its name, its value as a whole number, and how that is shown.
type Figure = (&'static str, fn(&Second) -> Option<u64>, fn(u64) -> String);

const FIGURES: [Figure; 4] = [
    ("commits/s", |r| Some(r.commits), count),
    ("p99 of transactions", |r| us(r.transaction_p99_time), ms),
    ("stalled", |r| us(Some(r.stalled_time)), ms),
    ("written to the device/s", |r| r.device_write_bytes, bytes),
];

fn us(ms: Option<f64>) -> Option<u64> {
    ms.map(|ms| (ms * 1e3).round() as u64)
}

fn ms(us: u64) -> String {
    time(us as f64 / 1e3)
}

const COLUMNS: [Column<Second>; 17] = [
    Column::word("second", |r| r.at.clock()),
    Column::number("commits", |r| count(r.commits)),
    Column::number("p99", |r| known(r.transaction_p99_time, time)),
    Column::number("longest", |r| known(r.longest_transaction_time, time)),
    Column::number("stalled", |r| time(r.stalled_time)),
    Column::word("phase", |r| r.checkpoint_phase.clone()),
    Column::number("active", |r| count(r.active_backends)),
    Column::number("dev writes", |r| known(r.device_write_ops, count)),
    Column::number("dev bytes", |r| known(r.device_write_bytes, bytes)),
    Column::number("in flight", |r| known(r.device_in_flight, count)),
    Column::number("dirty", |r| known(r.os_dirty_bytes, bytes)),
    Column::number("under writeback", |r| known(r.os_writeback_bytes, bytes)),
    Column::number("WAL", |r| known(r.wal_bytes, bytes)),
    Column::number("buffers", |r| known(r.buffers_written, count)),
    Column::number("writeback started", |r| bytes(r.writeback_bytes)),
    Column::number("rollbacks", |r| count(r.rollbacks)),
    Column::number("checkpoint", |r| {
        known(r.checkpoint_id, |id| id.to_string())
    }),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    let above = u16::try_from(ABOVE).unwrap_or(0);
    let [figures, table] =
        Layout::vertical([Constraint::Length(above), Constraint::Min(0)]).areas(area);
    let lines = Layout::vertical([Constraint::Length(1); ABOVE]).split(figures);
    let rows = &context.views.timeline;
    for ((name, figure, show), line) in FIGURES.iter().zip(lines.iter()) {
        let newest = rows.iter().take(spark::room(*line));
        let mut data: Vec<u64> = newest.map(|row| figure(row).unwrap_or(0)).collect();
        data.reverse();
        let value = known(rows.first().and_then(figure), show);
        spark::draw(frame, *line, name, &value, data);
    }
    table::draw(frame, table, rows, &COLUMNS, context);
}
