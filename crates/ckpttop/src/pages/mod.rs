//! The pages of the screen: one file each, from a snapshot to what is drawn.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* the frame that is being drawn.
//! *Never:* reads a segment or the clock: what a page shows is in its [`Context`].
//!
//! A new page is a file here with a `PAGE`, and a line in [`PAGES`]; its number key is its place.

mod checkpoints;
mod commands;
mod counters;
mod files;
pub(crate) mod frame;
mod overview;
mod progress;
mod spark;
mod stalls;
pub(crate) mod table;
mod timeline;
mod waits;

use crate::rates::Rates;
use crate::snapshot::{Seen, Views, Wants};
use ratatui::Frame;
use ratatui::layout::Rect;

/// A page.
pub(crate) struct Page {
    /// Its name.
    pub(crate) title: &'static str,
    /// What it shows, for the help.
    pub(crate) help: &'static str,
    /// What of the large views it needs.
    pub(crate) wants: Wants,
    /// Rows that can be scrolled through.
    pub(crate) rows: fn(&Views, &Rates) -> usize,
    /// Draws it.
    pub(crate) draw: fn(&mut Frame<'_>, Rect, &Context<'_>),
}

/// What a page is drawn from.
pub(crate) struct Context<'a> {
    pub(crate) seen: &'a Seen,
    pub(crate) views: &'a Views,
    pub(crate) rates: &'a Rates,
    /// Rows above the first that is shown.
    pub(crate) down: usize,
    /// Columns before the first that is shown.
    pub(crate) right: usize,
}

/// All pages, in the order of their keys.
pub(crate) static PAGES: [Page; 9] = [
    overview::PAGE,
    checkpoints::PAGE,
    progress::PAGE,
    files::PAGE,
    commands::PAGE,
    waits::PAGE,
    timeline::PAGE,
    stalls::PAGE,
    counters::PAGE,
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshot;
    use crate::views::history::History;
    use crate::views::progress::Progress;
    use crate::views::workers::Worker;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn views() -> Views {
        Views {
            progress: Some(Progress {
                phase: "writing buffers".to_owned(),
                buffers_done: Some(u64::MAX),
                buffers_total: Some(1),
                bytes_done: Some(u64::MAX),
                ..Progress::default()
            }),
            history: (1..=50)
                .map(|checkpoint_id| History {
                    checkpoint_id,
                    ..History::default()
                })
                .collect(),
            workers: vec![Worker::default(); 4],
            ..Views::default()
        }
    }

    /// What a page shows of these views on a screen of this size.
    fn drawn(
        page: &Page,
        views: &Views,
        size: (u16, u16),
        (down, right): (usize, usize),
    ) -> String {
        let snapshot = Snapshot::default();
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        let context = Context {
            seen: &snapshot.seen,
            views,
            rates: &Rates::default(),
            down,
            right,
        };
        terminal
            .draw(|frame| (page.draw)(frame, frame.area(), &context))
            .unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn every_page_fits_every_screen() {
        let (full, empty) = (views(), Views::default());
        for page in &PAGES {
            for size in [(1, 1), (3, 40), (200, 2), (80, 24), (500, 200)] {
                for scrolled in [(0, 0), (3, 2), (usize::MAX, usize::MAX)] {
                    drawn(page, &full, size, scrolled);
                    drawn(page, &empty, size, scrolled);
                }
            }
        }
    }

    #[test]
    fn tables_scroll_both_ways_and_keep_their_first_column() {
        let views = views();
        let at = |scrolled| drawn(&checkpoints::PAGE, &views, (40, 4), scrolled);
        let first = at((0, 0));
        assert!(first.contains("id kind cause"), "{first}");
        assert!(
            first.contains("\" 1 ") && first.contains("\" 3 "),
            "{first}"
        );
        let moved = at((46, 2));
        assert!(moved.contains("id result"), "{moved}");
        assert!(
            moved.contains("\"47 ") && !moved.contains("\"50 "),
            "{moved}"
        );
    }
}
