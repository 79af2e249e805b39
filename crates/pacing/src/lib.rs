//! How far a running checkpoint has come, and when it will be over, as pure functions.
//!
//! *Runs in:* any process; the monitor worker calls it.
//! *Reads and writes:* its arguments only; what belongs to PostgreSQL arrives through the
//! [`frontier::Pool`] trait and the [`forecast::Pace`] record.
//! *Never:* a clock, a file, a lock, shared memory, or a PostgreSQL header. Everything here can
//! be driven by a simulator, and is.
//!
//! - [`frontier`]: finds the checkpointer's own work list and follows it item by item.
//! - [`forecast`]: turns that progress and the checkpointer's schedule into an expected end.

#![forbid(unsafe_code)]

pub mod forecast;
pub mod frontier;
