//! The page of the running checkpoint: every column of `ckpt_stats_progress`.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* shows a checkpoint that has ended.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{UNKNOWN, bytes, known, time};
use crate::snapshot::Wants;
use crate::views::progress::Progress;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

pub(super) const PAGE: Page = Page {
    title: "progress",
    help: "the running checkpoint, with all that is known of it",
    wants: Wants::LITTLE,
    rows: |views, _| views.progress.as_ref().map_or(0, |row| lines(row).len()),
    draw,
};

type Line = (&'static str, String);

const COLUMNS: [Column<Line>; 2] = [
    Column::word("column", |line| line.0.to_owned()),
    Column::word("value", |line| line.1.clone()),
];

fn lines(row: &Progress) -> Vec<Line> {
    let number = |number: Option<u64>| known(number, |number| number.to_string());
    let size = |size: Option<u64>| known(size, |size| format!("{size} ({})", bytes(size)));
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let on_schedule = known(row.on_schedule, |on| {
        if on { "yes" } else { "no" }.to_owned()
    });
    vec![
        ("checkpoint_id", row.checkpoint_id.to_string()),
        ("pid", row.pid.to_string()),
        ("kind", row.kind.clone()),
        ("cause", word(&row.cause)),
        ("phase", row.phase.clone()),
        ("started_at", row.started_at.to_string()),
        ("elapsed_time", time(row.elapsed_time)),
        ("redo_lsn", known(row.redo_lsn, |lsn| lsn.to_string())),
        ("buffers_total", number(row.buffers_total)),
        ("buffers_done", number(row.buffers_done)),
        ("bytes_total", size(row.bytes_total)),
        ("bytes_done", size(row.bytes_done)),
        ("files_total_estimate", number(row.files_total_estimate)),
        ("files_done", number(row.files_done)),
        ("current_file", word(&row.current_file)),
        ("write_rate_bytes", size(row.write_rate_bytes)),
        ("queue_bytes", size(row.queue_bytes)),
        ("os_dirty_bytes", size(row.os_dirty_bytes)),
        ("os_writeback_bytes", size(row.os_writeback_bytes)),
        ("sync_forecast_time", known(row.sync_forecast_time, time)),
        (
            "scheduled_end_at",
            known(row.scheduled_end_at, |at| at.to_string()),
        ),
        ("eta_at", known(row.eta_at, |at| at.to_string())),
        ("on_schedule", on_schedule),
    ]
}

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    match &context.views.progress {
        Some(row) => table::draw(frame, area, &lines(row), &COLUMNS, context),
        None => frame.render_widget(Paragraph::new("no checkpoint is running"), area),
    }
}
