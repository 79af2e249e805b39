//! What is shown: one file per SQL view, each a struct with the view's columns and the way to
//! fill it from a segment.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* reads the segment.
//! *Never:* has a column that the SQL view has not, or in another order: a test holds the names
//! against the install script. `src/views/` of the extension is the other side of each file.
//!
//! A new view is a file here, a field of [`crate::snapshot::Snapshot`], and, if it is worth one,
//! a page.

pub(crate) mod commands;
pub(crate) mod counters;
pub(crate) mod files;
pub(crate) mod flush;
pub(crate) mod histogram;
pub(crate) mod history;
pub(crate) mod info;
pub(crate) mod progress;
pub(crate) mod stalls;
pub(crate) mod timeline;
pub(crate) mod totals;
pub(crate) mod waits;
pub(crate) mod workers;

use crate::value::ms;
use statseg::{CheckpointPhase, Text};

/// How many phases there are.
pub(crate) const PHASES: usize = CheckpointPhase::ALL.len();

/// The place of a phase among all, from its word.
pub(crate) fn phase(word: &str) -> Option<usize> {
    let mut all = CheckpointPhase::ALL.iter();
    all.position(|(phase, _)| phase.as_str() == word)
}

/// Milliseconds of nanoseconds, if known.
fn time(ns: Option<u64>) -> Option<f64> {
    ns.map(ms)
}

/// A text of the segment, if there is one.
fn text<const N: usize>(text: Option<Text<N>>) -> Option<String> {
    text.map(|text| text.as_str().to_owned())
}
