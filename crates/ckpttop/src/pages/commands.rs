//! The page of commands: `ckpt_stats_commands`, the three phases side by side.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* adds phases up: that they differ is what is of interest.

use super::table::{self, Column};
use super::{Context, Page};
use crate::human::{count, known, time};
use crate::snapshot::{Views, Wants};
use crate::views::commands::Command;
use crate::views::{self, PHASES};
use ratatui::Frame;
use ratatui::layout::Rect;

pub(super) const PAGE: Page = Page {
    title: "commands",
    help: "what client backends spent their time with: no checkpoint, writing, syncing",
    wants: Wants {
        commands: true,
        ..Wants::LITTLE
    },
    rows: |views, _| lines(views).len(),
    draw,
};

/// A command in its phases.
struct Row {
    command: String,
    phases: [Command; PHASES],
}

fn lines(views: &Views) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for command in &views.commands {
        let Some(phase) = views::phase(&command.checkpoint_phase) else {
            continue;
        };
        let known = rows.iter().position(|row| row.command == command.command);
        let index = known.unwrap_or(rows.len());
        if known.is_none() {
            rows.push(Row {
                command: command.command.clone(),
                phases: Default::default(),
            });
        }
        rows[index].phases[phase] = command.clone();
    }
    rows
}

const COLUMNS: [Column<Row>; 13] = [
    Column::word("command", |r| r.command.clone()),
    Column::number("mean: none", |r| known(r.phases[0].mean_time, time)),
    Column::number("writing", |r| known(r.phases[1].mean_time, time)),
    Column::number("syncing", |r| known(r.phases[2].mean_time, time)),
    Column::number("p99: none", |r| known(r.phases[0].p99_time, time)),
    Column::number("writing", |r| known(r.phases[1].p99_time, time)),
    Column::number("syncing", |r| known(r.phases[2].p99_time, time)),
    Column::number("max: none", |r| known(r.phases[0].max_time, time)),
    Column::number("writing", |r| known(r.phases[1].max_time, time)),
    Column::number("syncing", |r| known(r.phases[2].max_time, time)),
    Column::number("count: none", |r| count(r.phases[0].count)),
    Column::number("writing", |r| count(r.phases[1].count)),
    Column::number("syncing", |r| count(r.phases[2].count)),
];

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    table::draw(frame, area, &lines(context.views), &COLUMNS, context);
}
