//! The page of waits: `ckpt_stats_waits`, what was found most since the last look first.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* leaves out a wait that was ever found.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{UNKNOWN, count, known, wait};
use crate::snapshot::Wants;
use crate::wait_rates::Found;
use ratatui::Frame;
use ratatui::layout::Rect;

pub(super) const PAGE: Page = Page {
    title: "waits",
    help: "what processes wait for; most since the last look first, with its share of their time",
    wants: Wants {
        waits: true,
        ..Wants::LITTLE
    },
    rows: |_, rates| rates.waits.rows().len(),
    draw,
};

const COLUMNS: [Column<Found>; 7] = [
    Column::word("wait", |r| wait(r.key.1.as_deref(), r.key.2.as_deref())),
    Column::word("backend type", |r| r.key.0.clone()),
    Column::number("samples", |r| known(r.grown, count)),
    Column::number("share", |r| {
        r.share
            .map_or_else(|| UNKNOWN.to_owned(), |s| format!("{:.1} %", s * 100.0))
    }),
    Column::number("all: none", |r| count(r.samples[0])),
    Column::number("writing", |r| count(r.samples[1])),
    Column::number("syncing", |r| count(r.samples[2])),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    table::draw(frame, area, context.rates.waits.rows(), &COLUMNS, context);
}
