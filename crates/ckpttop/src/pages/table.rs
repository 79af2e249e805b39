//! A table that scrolls: the form of most pages.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* the frame that is being drawn.
//! *Never:* formats a row that is not seen.

use super::Context;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table};

/// A column of rows of some type.
pub(crate) struct Column<T> {
    pub(crate) head: &'static str,
    pub(crate) show: fn(&T) -> String,
    /// Numbers stand at the right.
    pub(crate) number: bool,
}

impl<T> Column<T> {
    /// A column of words.
    pub(crate) const fn word(head: &'static str, show: fn(&T) -> String) -> Self {
        Self {
            head,
            show,
            number: false,
        }
    }

    /// A column of numbers.
    pub(crate) const fn number(head: &'static str, show: fn(&T) -> String) -> Self {
        Self {
            head,
            show,
            number: true,
        }
    }
}

/// Draws the rows and columns that the context has scrolled to. The first column always stays.
pub(crate) fn draw<T>(
    frame: &mut Frame<'_>,
    area: Rect,
    rows: &[T],
    columns: &[Column<T>],
    context: &Context<'_>,
) {
    let height = usize::from(area.height).saturating_sub(1);
    let seen: Vec<&T> = rows.iter().skip(context.down).take(height).collect();
    let away = context.right.min(columns.len().saturating_sub(1));
    let columns: Vec<&Column<T>> = columns
        .iter()
        .enumerate()
        .filter(|(index, _)| *index == 0 || *index > away)
        .map(|(_, column)| column)
        .collect();
    let texts: Vec<Vec<String>> = seen
        .iter()
        .map(|row| columns.iter().map(|column| (column.show)(row)).collect())
        .collect();
    let widths: Vec<u16> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = texts.iter().filter_map(|row| row.get(index));
            let width = cells
                .map(|cell| cell.chars().count())
                .fold(column.head.len(), usize::max);
            u16::try_from(width).unwrap_or(u16::MAX)
        })
        .collect();
    let heads = columns.iter().map(|column| cell(column.head, column));
    let head = Row::new(heads).style(Style::new().add_modifier(Modifier::BOLD));
    let body = texts.iter().map(|row| {
        let cells = row.iter().zip(&columns);
        Row::new(cells.map(|(text, column)| cell(text, column)))
    });
    let fitting = fitting(&widths, area.width);
    let widths = widths.into_iter().take(fitting).map(Constraint::Length);
    frame.render_widget(Table::new(body, widths).header(head), area);
}

/// How many columns there is room for: what does not fit is to be scrolled to, not squeezed.
fn fitting(widths: &[u16], room: u16) -> usize {
    let mut used = 0u16;
    let fit = widths.iter().take_while(|width| {
        let begin = used;
        used = used.saturating_add(**width).saturating_add(1);
        begin.saturating_add(**width) <= room
    });
    // At least the first, cut.
    fit.count().max(1)
}

fn cell<T>(text: &str, column: &Column<T>) -> Cell<'static> {
    let text = Text::raw(text.to_owned());
    Cell::new(if column.number {
        text.alignment(Alignment::Right)
    } else {
        text
    })
}
