//! A figure in a line: its name, the newest value, and how it was.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* shows an axis: the line says more or less, the number how much.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Stylize};
use ratatui::text::Line;
use ratatui::widgets::Sparkline;

/// Columns of the name and the number; the rest is the line.
const LABEL: u16 = 34;

/// How many values there is room for.
pub(super) fn room(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(LABEL))
}

/// Draws values, the newest last.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, name: &str, value: &str, data: Vec<u64>) {
    let [label, spark] =
        Layout::horizontal([Constraint::Length(LABEL), Constraint::Min(0)]).areas(area);
    frame.render_widget(Line::from(format!("{name:23} {value:>9}")), label);
    let line = Sparkline::default().data(data).fg(Color::Cyan);
    frame.render_widget(line, spark);
}
