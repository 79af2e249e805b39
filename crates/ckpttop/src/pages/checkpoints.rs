//! The page of past checkpoints: `ckpt_stats_history`.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* leaves out a column of the view.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{UNKNOWN, bytes, count, known, time};
use crate::snapshot::Wants;
use crate::views::history::History;
use ratatui::Frame;
use ratatui::layout::Rect;

pub(super) const PAGE: Page = Page {
    title: "checkpoints",
    help: "past checkpoints, the newest first",
    wants: Wants {
        history: usize::MAX,
        ..Wants::LITTLE
    },
    rows: |views, _| views.history.len(),
    draw,
};

fn word(text: Option<&String>) -> String {
    text.map_or_else(|| UNKNOWN.to_owned(), Clone::clone)
}

const COLUMNS: [Column<History>; 30] = [
    Column::number("id", |r| r.checkpoint_id.to_string()),
    Column::word("kind", |r| r.kind.clone()),
    Column::word("cause", |r| word(r.cause.as_ref())),
    Column::word("result", |r| r.result.clone()),
    Column::word("started", |r| r.started_at.clock()),
    Column::number("total", |r| known(r.total_time, time)),
    Column::number("buffers", |r| known(r.buffers_written, count)),
    Column::number("write", |r| known(r.write_time, time)),
    Column::number("sync", |r| known(r.sync_time, time)),
    Column::number("files", |r| known(r.files_synced, count)),
    Column::number("longest sync", |r| known(r.longest_sync_time, time)),
    Column::word("longest sync file", |r| word(r.longest_sync_file.as_ref())),
    Column::number("average sync", |r| known(r.average_sync_time, time)),
    Column::number("distance", |r| known(r.distance_bytes, bytes)),
    Column::number("estimate", |r| known(r.estimate_bytes, bytes)),
    Column::number("writeback", |r| known(r.writeback_bytes, bytes)),
    Column::number("sync pause", |r| known(r.sync_pause_time, time)),
    Column::number("slru", |r| known(r.slru_written, count)),
    Column::number("WAL added", |r| known(r.wal_added, count)),
    Column::number("removed", |r| known(r.wal_removed, count)),
    Column::number("recycled", |r| known(r.wal_recycled, count)),
    Column::word("ended", |r| r.ended_at.clock()),
    Column::word("redo lsn", |r| known(r.redo_lsn, |lsn| lsn.to_string())),
    Column::number("commits", |r| known(r.commits, count)),
    Column::number("stalled", |r| known(r.stalled_time, time)),
    Column::number("longest transaction", |r| {
        known(r.longest_transaction_time, time)
    }),
    Column::number("p99", |r| known(r.transaction_p99_time, time)),
    Column::number("p99.9", |r| known(r.transaction_p999_time, time)),
    Column::number("p99 outside", |r| known(r.outside_p99_time, time)),
    Column::number("p99.9 outside", |r| known(r.outside_p999_time, time)),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    table::draw(frame, area, &context.views.history, &COLUMNS, context);
}
