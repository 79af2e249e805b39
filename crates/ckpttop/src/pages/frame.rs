//! What stands around a page: the server, the state it is in, the names of the pages; the help.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* lets a page hide that the server does not move.

use super::PAGES;
use crate::human::{known, time, version};
use crate::snapshot::{Seen, State};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The first line: which server, when.
pub(crate) fn server(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let mut line = format!("ckpttop {}", seen.version);
    if let Some(number) = seen.server_version_num {
        line += &format!("   PostgreSQL {}", version(number));
    }
    if let Some(port) = seen.port {
        line += &format!(", port {port}");
    }
    if let Some(pid) = seen.postmaster_pid {
        line += &format!(", PID {pid}");
    }
    line += &format!("   {} UTC", seen.taken_at.clock());
    frame.render_widget(Line::styled(line, REVERSED).style(REVERSED), area);
}

/// The second line: how the server is, loud when it is not well.
pub(crate) fn state(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let still = known(seen.still_time, time);
    let (text, color) = match seen.server_state {
        State::Running => (format!("running   {}", seen.source), Color::Green),
        State::Still => (
            format!("nothing has moved for {still}: the server hangs, or is stopped"),
            Color::Red,
        ),
        State::Unwatched => (
            format!("the workers of ckptflush have not worked for {still}"),
            Color::Yellow,
        ),
        State::Waiting => {
            let why = seen.waiting_for.as_deref().unwrap_or(&seen.source);
            (format!("waiting for the server: {why}"), Color::Yellow)
        }
    };
    let style = Style::new().fg(color).add_modifier(Modifier::BOLD);
    let text = Paragraph::new(text).style(style).wrap(Wrap { trim: true });
    frame.render_widget(text, area);
}

/// The last line: the pages and the keys.
pub(crate) fn pages(frame: &mut Frame<'_>, area: Rect, present: usize) {
    let line = |all: bool| {
        let mut spans = Vec::new();
        for (index, page) in PAGES.iter().enumerate() {
            let (style, named) = if index == present {
                (REVERSED, true)
            } else {
                (Style::new(), all)
            };
            let title = if named { page.title } else { "" };
            let name = format!("{} {title}", index + 1);
            spans.push(Span::styled(format!(" {} ", name.trim_end()), style));
        }
        spans.push(Span::raw("  ? help  q quit"));
        Line::from(spans)
    };
    // On a narrow screen the numbers, and the name of the present page.
    let fits = line(true).width() <= usize::from(area.width);
    frame.render_widget(line(fits), area);
}

/// The help, over everything.
pub(crate) fn help(frame: &mut Frame<'_>) {
    let mut lines: Vec<Line<'_>> = PAGES
        .iter()
        .enumerate()
        .map(|(index, page)| Line::from(format!("{:12} {}: {}", index + 1, page.title, page.help)))
        .collect();
    for (keys, what) in [
        ("Tab, S-Tab", "next page, former page"),
        ("Up, Down", "scroll; also k, j, PgUp, PgDn, Home, End"),
        ("Left, Right", "scroll through the columns; also h, l"),
        ("?", "this help; any key leaves it"),
        ("q, Ctrl-C", "quit"),
    ] {
        lines.push(Line::from(format!("{keys:12} {what}")));
    }
    lines.push(Line::from(""));
    lines.push(Line::from("Times of the day are UTC. \"-\" is not known."));
    let area = frame.area();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}
