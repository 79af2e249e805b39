//! The screen: ticks, keys, and the page that is shown.
//!
//! *Runs in:* the viewer, on a terminal.
//! *Reads and writes:* the terminal.
//! *Never:* leaves the terminal as it needs it: it is restored at the end, after an error, after
//! a signal ([`Signals`] end the loop), and in a panic (the hook of `ratatui::try_init`).

use crate::failure::{Failure, Result};
use crate::find::Found;
use crate::human::version;
use crate::pages::{Context, PAGES, Page, frame};
use crate::rates::Rates;
use crate::signals::{SLICE, Signals};
use crate::snapshot::{Snapshot, Source, Views, Wants};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use ratatui::widgets::{List, ListState, Paragraph};
use ratatui::{DefaultTerminal, Frame};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Rows of the timeline that may be new since the look before.
const NEW_SECONDS: usize = 8;

/// Gives the terminal to `work` and takes it back.
fn with_terminal<T>(
    signals: &Signals,
    work: impl FnOnce(&mut DefaultTerminal) -> Result<T>,
) -> Result<T> {
    if !io::stdout().is_terminal() {
        return Err(Failure::new("standard output is not a terminal")
            .hint("Use --batch, --json or --once to write to a file or a pipe."));
    }
    signals.insist();
    let mut terminal = ratatui::try_init().map_err(|error| terminal_failed(&error))?;
    let result = work(&mut terminal);
    ratatui::restore();
    result
}

fn terminal_failed(error: &io::Error) -> Failure {
    Failure::io("use the terminal", error)
}

/// Shows the source until the user leaves, a signal comes, or `count` looks were shown.
pub(crate) fn run(
    source: &mut dyn Source,
    interval: Duration,
    count: Option<u64>,
    signals: &Signals,
) -> Result<()> {
    with_terminal(signals, |terminal| {
        let mut screen = Screen::default();
        while !signals.came() {
            let next = Instant::now() + interval;
            screen.look(source)?;
            screen.rates.push(&screen.snapshot);
            screen.ticks += 1;
            if !screen.until(next, source, terminal, signals)? || count == Some(screen.ticks) {
                break;
            }
        }
        Ok(())
    })
}

/// Everything the screen remembers.
#[derive(Default)]
struct Screen {
    snapshot: Snapshot,
    rates: Rates,
    /// Looks that were not for a key.
    ticks: u64,
    page: usize,
    down: usize,
    right: usize,
    help: bool,
    /// Rows that the page has room for.
    room: usize,
    /// Another page was chosen, which may want more than was read.
    stale: bool,
}

impl Screen {
    fn page(&self) -> &'static Page {
        PAGES.get(self.page).unwrap_or(&PAGES[0])
    }

    fn look(&mut self, source: &mut dyn Source) -> Result<()> {
        // What is long to read, or to add up, is read at every third look.
        let spare = !self.stale && !self.ticks.is_multiple_of(3);
        let mut wants = self.page().wants;
        let all = wants;
        if spare {
            (wants.files, wants.commands, wants.counters) = (false, false, false);
            wants.timeline = wants.timeline.min(NEW_SECONDS);
        }
        let mut snapshot = source.look(wants)?;
        // While the server is away, what it showed last stays.
        let former = self.snapshot.views.take();
        match (&mut snapshot.views, former) {
            (Some(views), Some(former)) if spare => keep(views, former, all),
            (views @ None, former) => *views = former,
            _ => {}
        }
        self.snapshot = snapshot;
        if let Some(views) = self.snapshot.views.as_ref().filter(|_| wants.waits) {
            self.rates.waits.push(views);
        }
        self.stale = false;
        Ok(())
    }

    /// Draws and heeds keys until `end`; false: quit.
    fn until(
        &mut self,
        end: Instant,
        source: &mut dyn Source,
        terminal: &mut DefaultTerminal,
        signals: &Signals,
    ) -> Result<bool> {
        let failed = |error: io::Error| terminal_failed(&error);
        terminal.draw(|frame| self.draw(frame)).map_err(failed)?;
        while !signals.came() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            if !event::poll(left.min(SLICE)).map_err(failed)? {
                continue;
            }
            match event::read().map_err(failed)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if !self.key(key) {
                        return Ok(false);
                    }
                    // Only to fill the page: it is not a tick, and makes no rates.
                    if self.stale {
                        self.look(source)?;
                    }
                }
                Event::Resize(..) => {}
                _ => continue,
            }
            terminal.draw(|frame| self.draw(frame)).map_err(failed)?;
        }
        Ok(true)
    }

    /// Heeds a key; false: quit.
    fn key(&mut self, key: KeyEvent) -> bool {
        if is_quit(key) {
            return false;
        }
        if self.help {
            self.help = false;
            return true;
        }
        let pages = PAGES.len();
        match key.code {
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char(digit @ '1'..='9') => {
                let page = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0);
                if page < pages {
                    self.turn_to(page);
                }
            }
            KeyCode::Tab => self.turn_to((self.page + 1) % pages),
            KeyCode::BackTab => self.turn_to((self.page + pages - 1) % pages),
            KeyCode::Up | KeyCode::Char('k') => self.down = self.down.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::PageUp => self.down = self.down.saturating_sub(10),
            KeyCode::PageDown => self.scroll(10),
            KeyCode::Home => self.down = 0,
            KeyCode::End => self.scroll(usize::MAX),
            KeyCode::Left | KeyCode::Char('h') => self.right = self.right.saturating_sub(1),
            KeyCode::Right | KeyCode::Char('l') => self.right = (self.right + 1).min(64),
            _ => {}
        }
        true
    }

    fn scroll(&mut self, rows: usize) {
        self.down = self.down.saturating_add(rows).min(self.last_row());
    }

    /// The first row of the last screenful.
    fn last_row(&self) -> usize {
        let views = self.snapshot.views.as_ref();
        let rows = views.map_or(0, |views| (self.page().rows)(views, &self.rates));
        rows.saturating_sub(self.room.max(1))
    }

    fn turn_to(&mut self, page: usize) {
        (self.page, self.down, self.right, self.stale) = (page, 0, 0, true);
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        if self.help {
            return frame::help(frame);
        }
        let [server, state, body, pages] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(2),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        // The first line is the head of the table.
        self.room = usize::from(body.height).saturating_sub(1);
        self.down = self.down.min(self.last_row());
        let seen = &self.snapshot.seen;
        frame::server(frame, server, seen);
        frame::state(frame, state, seen);
        frame::pages(frame, pages, self.page);
        match &self.snapshot.views {
            Some(views) => {
                let context = Context {
                    seen,
                    views,
                    rates: &self.rates,
                    down: self.down,
                    right: self.right,
                };
                (self.page().draw)(frame, body, &context);
            }
            None => frame.render_widget(Paragraph::new("nothing was seen of it yet"), body),
        }
    }
}

/// Keeps of the former views what this look has not read.
fn keep(views: &mut Views, former: Views, wants: Wants) {
    if wants.files {
        views.files = former.files;
    }
    if wants.commands {
        views.commands = former.commands;
    }
    if wants.counters {
        views.counters = former.counters;
    }
    let oldest = views.timeline.last().map(|row| row.at);
    let older = former.timeline.into_iter();
    views
        .timeline
        .extend(older.filter(|row| oldest.is_none_or(|oldest| row.at < oldest)));
    views.timeline.truncate(wants.timeline);
}

/// Whether this key ends the program.
fn is_quit(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// Lets the user pick a server; `None`: none.
pub(crate) fn choose(servers: &[Found], signals: &Signals) -> Result<Option<PathBuf>> {
    with_terminal(signals, |terminal| {
        let mut state = ListState::default().with_selected(Some(0));
        let failed = |error: io::Error| terminal_failed(&error);
        let mut draw = |state: &mut ListState| {
            let drawn = terminal.draw(|frame| list(frame, servers, state));
            drawn.map(|_| ()).map_err(failed)
        };
        draw(&mut state)?;
        while !signals.came() {
            if !event::poll(SLICE).map_err(failed)? {
                continue;
            }
            if let Event::Key(key) = event::read().map_err(failed)? {
                match key.code {
                    _ if is_quit(key) => return Ok(None),
                    KeyCode::Esc => return Ok(None),
                    KeyCode::Up | KeyCode::Char('k') => state.select_previous(),
                    KeyCode::Down | KeyCode::Char('j') => state.select_next(),
                    KeyCode::Enter => {
                        let chosen = state.selected().and_then(|index| servers.get(index));
                        return Ok(chosen.map(|found| found.path.clone()));
                    }
                    _ => {}
                }
            }
            draw(&mut state)?;
        }
        Ok(None)
    })
}

fn list(frame: &mut Frame<'_>, servers: &[Found], state: &mut ListState) {
    let [head, body] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(0)]).areas(frame.area());
    frame.render_widget(
        Line::from("several servers are running: Up, Down and Enter to choose, q to quit"),
        head,
    );
    let items = servers.iter().map(|found| {
        format!(
            "port {:5}   PostgreSQL {}   PID {}   system identifier {}",
            found.port,
            version(found.server_version_num),
            found.postmaster_pid,
            found.system_identifier,
        )
    });
    let list = List::new(items).highlight_symbol("> ");
    frame.render_stateful_widget(list, body, state);
}
