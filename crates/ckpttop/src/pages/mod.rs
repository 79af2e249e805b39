//! The pages of the screen: one file each, from a snapshot to what is drawn.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* the frame that is being drawn.
//! *Never:* reads a segment or the clock: what a page shows is in its [`Context`].
//!
//! A new page is a file here with a `PAGE`, and a line in [`PAGES`]; its number key is its place.

mod checkpoints;
mod counters;
mod files;
pub(crate) mod frame;
mod overview;
mod progress;
pub(crate) mod table;

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
    pub(crate) rows: fn(&Views) -> usize,
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
pub(crate) static PAGES: [Page; 5] = [
    overview::PAGE,
    checkpoints::PAGE,
    progress::PAGE,
    files::PAGE,
    counters::PAGE,
];
