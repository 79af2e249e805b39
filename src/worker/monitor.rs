//! The worker `ckptflush monitor`: [`crate::monitor::watch`] in the common skeleton.
//!
//! *Runs in:* that worker. *Reads and writes:* nothing itself.
//! *Never:* holds logic.

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::Work;
use crate::monitor::watch::Monitor;

pub(super) const NAME: &str = "ckptflush monitor";

/// Row of `ckpt_stats_workers`.
const INDEX: usize = 0;

impl Work for Monitor {
    fn round(&mut self) {
        self.poll();
    }

    fn suspend(&mut self) {
        Monitor::suspend(self);
    }

    fn resume(&mut self) {
        self.resume_watching();
    }
}

/// Entry point, named in the registration.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_monitor_main(_argument: pg_sys::Datum) {
    super::run(INDEX, NAME, Monitor::start);
}
