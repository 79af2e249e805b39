//! Planned writeback: what checkpoints, the bgwriter and backends have written to the page cache
//! is put on the device in time and evenly, so that neither an fsync nor the kernel does it in a
//! burst.
//!
//! *Runs in:* the flusher worker ([`flusher`]) and the checkpointer ([`checkpointer`]).
//! *Reads and writes:* the segment's `flush_state` and `files_flushed` (flusher), `takeover`
//! (checkpointer); data files, by the calls of [`crate::kernel`] only.
//! *Never:* calls fsync or waits for writeback; relies on being there: without the flusher
//! PostgreSQL's own flush settings hold.
//!
//! ```text
//!   work list ─ following ──┐ pages written        ┌─ device counters
//!                           ▼                      ▼
//!   page cache ─ sweep ──► queue ─► plan ─► lane ─► sync_file_range
//!                           (deadlines)      ▲
//!                                            └─ brake: commits' mean time
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | [`flusher`] | the worker's round |
//! | `following` | the checkpoint's list: what is written, what is to come |
//! | `sweep` | what is dirty beside it |
//! | `due` | when a page must be out |
//! | `lane` | one device: issues, what is in flight, what it can do |
//! | `files` | the files by number |
//! | [`checkpointer`] | takeover, and the pauses between fsyncs |
//! | `alarm` | the checkpointer's look at the flusher in its write phase |

mod alarm;
pub(crate) mod checkpointer;
mod due;
mod files;
pub(crate) mod flusher;
mod following;
mod lane;
mod sweep;

use statseg::{CommitWindows, Segment};

use crate::process::now_us;

/// The last full tenth of a second.
fn last_commit_window() -> u64 {
    CommitWindows::number(now_us()).saturating_sub(1)
}

/// The mean commit in it, in seconds; `None` if there was none.
///
/// The mean, and not the shortest as queue management in networks has it: where a volume's cap is
/// dealt out in slices, the first commits of a slice pass at once however long the queue was.
fn mean_commit(segment: &Segment) -> Option<f64> {
    let commits = segment.view().commits(last_commit_window());
    Some(commits.mean_ns()? as f64 / 1e9)
}
