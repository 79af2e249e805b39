//! Checkpoints: begin, progress, per-file syncs, end.
//!
//! *Runs in:* the checkpointer ([`checkpointer`]: told by its own log records) and the monitor
//! worker ([`watch`]: looks every `ckptflush.sample_interval`).
//! *Reads and writes:* the segment's events, sync state and synced files (checkpointer);
//! progress, history, written files and the counters (monitor).
//! *Never:* holds up the checkpointer: it does not wait for the monitor, and loses nothing when
//! the monitor is away for as many events as the ring has room for.
//!
//! | file | what it does |
//! |---|---|
//! | [`checkpointer`] | log records of the checkpointer into events and sync times |
//! | `message` | pure: what a record says |
//! | [`watch`] | the monitor: from events and wait events to begin and end |
//! | `written` | buffers written per file |
//! | `progress` | phase and forecast of the running checkpoint |
//! | `ended` | a finished checkpoint: history row and counters |

pub(crate) mod checkpointer;
mod ended;
mod message;
mod progress;
pub(crate) mod watch;
mod written;
