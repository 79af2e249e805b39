//! A table that scrolls: the form of most pages.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* the frame that is being drawn.
//! *Never:* formats a row that is not seen.

use super::Context;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

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
///
/// Not ratatui's `Table`: it solves equations for the widths, which costs more than all the rest.
pub(crate) fn draw<T>(
    frame: &mut Frame<'_>,
    area: Rect,
    rows: &[T],
    columns: &[Column<T>],
    context: &Context<'_>,
) {
    let room = usize::from(area.height).saturating_sub(1);
    let seen = || rows.iter().skip(context.down).take(room);
    let away = context.right.min(columns.len().saturating_sub(1));
    let mut lines = vec![String::new(); seen().count() + 1];
    let mut used = 0;
    for (index, column) in columns.iter().enumerate() {
        if index > 0 && index <= away {
            continue;
        }
        let cells: Vec<String> = std::iter::once(column.head.to_owned())
            .chain(seen().map(column.show))
            .collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max();
        let width = width.unwrap_or(0);
        // What does not fit is to be scrolled to, not cut; but the first column always stands.
        if used > 0 && used + width > usize::from(area.width) {
            break;
        }
        used += width + 1;
        for (line, cell) in lines.iter_mut().zip(&cells) {
            *line += &if column.number {
                format!("{cell:>width$} ")
            } else {
                format!("{cell:width$} ")
            };
        }
    }
    let mut style = Style::new().add_modifier(Modifier::BOLD);
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        let width = usize::from(area.width);
        frame
            .buffer_mut()
            .set_stringn(area.x, y, line, width, style);
        style = Style::new();
    }
}
