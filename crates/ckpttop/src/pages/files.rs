//! The page of files: `ckpt_stats_files`, the longest sync time first.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* leaves out a column of the view.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{UNKNOWN, bytes, count, known, time};
use crate::snapshot::Wants;
use crate::views::files::File;
use ratatui::Frame;
use ratatui::layout::Rect;

pub(super) const PAGE: Page = Page {
    title: "files",
    help: "files that checkpoints wrote and synced, the longest sync time first",
    wants: Wants {
        files: true,
        ..Wants::LITTLE
    },
    rows: |views, _| views.files.len(),
    draw,
};

fn number(number: Option<u32>) -> String {
    known(number, |number| number.to_string())
}

const COLUMNS: [Column<File>; 14] = [
    Column::word("path", |r| r.path.clone()),
    Column::number("syncs", |r| count(r.syncs)),
    Column::number("sync time", |r| time(r.sync_time)),
    Column::number("max sync", |r| known(r.max_sync_time, time)),
    Column::number("last sync", |r| known(r.last_sync_time, time)),
    Column::number("min sync", |r| known(r.min_sync_time, time)),
    Column::number("buffers", |r| count(r.buffers_written)),
    Column::number("writeback", |r| bytes(r.writeback_bytes)),
    Column::number("dirty", |r| known(r.os_dirty_bytes, bytes)),
    Column::number("database", |r| number(r.database)),
    Column::number("tablespace", |r| number(r.tablespace)),
    Column::number("relfilenode", |r| number(r.relfilenode)),
    Column::word("fork", |r| {
        r.fork.clone().unwrap_or_else(|| UNKNOWN.to_owned())
    }),
    Column::number("segment", |r| number(r.segment)),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    table::draw(frame, area, &context.views.files, &COLUMNS, context);
}
