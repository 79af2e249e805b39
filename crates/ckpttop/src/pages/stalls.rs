//! The page of stalls: `ckpt_stats_stalls`.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* leaves out a column of the view.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{UNKNOWN, count, known, time, wait};
use crate::snapshot::Wants;
use crate::views::stalls::Stall;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

pub(super) const PAGE: Page = Page {
    title: "stalls",
    help: "times in which backends were at work and none committed, the newest first",
    wants: Wants {
        stalls: usize::MAX,
        ..Wants::LITTLE
    },
    rows: |views, _| views.stalls.len(),
    draw,
};

const COLUMNS: [Column<Stall>; 9] = [
    Column::word("started", |r| r.started_at.clock()),
    Column::number("length", |r| time(r.stalled_time)),
    Column::word("ongoing", |r| if r.ongoing { "yes" } else { "" }.to_owned()),
    Column::number("checkpoint", |r| {
        known(r.checkpoint_id, |id| id.to_string())
    }),
    Column::word("phase", |r| r.checkpoint_phase.clone()),
    Column::word("top wait", |r| {
        let kind = r.top_wait_event_type.as_deref();
        wait(kind, r.top_wait_event.as_deref())
    }),
    Column::number("backends", |r| count(r.active_backends)),
    Column::number("commits/s before", |r| count(r.commits_before)),
    Column::word("file", |r| {
        r.current_file.clone().unwrap_or_else(|| UNKNOWN.to_owned())
    }),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    if context.views.stalls.is_empty() {
        frame.render_widget(Paragraph::new("no stall was seen"), area);
    } else {
        table::draw(frame, area, &context.views.stalls, &COLUMNS, context);
    }
}
