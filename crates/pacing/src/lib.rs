//! What checkpoints are watched and paced by, as pure functions: how far one has come, when it will
//! be over, and when which page is put on the device.
//!
//! *Runs in:* any process; the monitor, the flusher and the checkpointer call it.
//! *Reads and writes:* its arguments only; what belongs to PostgreSQL or the kernel arrives
//! through the [`frontier::Pool`] and [`lane::Kernel`] traits and records such as
//! [`forecast::Pace`].
//! *Never:* a clock, a file, a lock, shared memory, or a PostgreSQL header. Everything here can
//! be driven by a simulator, and is.
//!
//! What the flusher goes by:
//!
//! - [`queue`]: what waits for writeback, by deadline.
//! - [`device`]: what the device can do, learned from what it did.
//! - [`plan`]: how fast to issue; its [`gate`] says how much at once, its [`brake`] minds commits.
//! - [`lane`]: all of these together, for one device.
//! - [`curve`]: how much of the work list shall be written by when, by cost.
//! - [`sync`]: pauses between two fsyncs of the checkpointer.
//!
//! And the monitor:
//!
//! - [`frontier`]: finds the checkpointer's own work list and follows it item by item.
//! - [`forecast`]: turns that progress and the checkpointer's schedule into an expected end.
//!
//! And whoever asks what other settings would do:
//!
//! - [`outlook`]: checkpoints of the measured load, under a setting.

#![forbid(unsafe_code)]

pub mod brake;
pub mod curve;
pub mod device;
pub mod forecast;
pub mod frontier;
pub mod gate;
pub mod lane;
pub mod outlook;
pub mod plan;
pub mod queue;
pub mod sync;

/// A block of PostgreSQL: BLCKSZ, to which the extension holds it when it is compiled.
pub const BLOCK_BYTES: u64 = 8192;
