//! The worker `ckptflush monitor`: [`crate::monitor::watch`] in the common skeleton.
//!
//! *Runs in:* that worker. *Reads and writes:* nothing itself.
//! *Never:* holds logic.

use std::time::Duration;

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::Work;
use crate::monitor::watch::Monitor;
use crate::settings;

pub(super) const NAME: &str = "ckptflush monitor";

/// A checkpoint writes in a burst first, up to a second behind its schedule: by how soon its list
/// is found, the pages of that burst are still in the pool.
const SOON: Duration = Duration::from_millis(10);

/// Row of `ckpt_stats_workers`.
const INDEX: usize = 0;

impl Work for Monitor {
    fn round(&mut self) -> Duration {
        self.poll();
        if self.is_curious() {
            settings::sample_interval().min(SOON)
        } else {
            settings::sample_interval()
        }
    }

    fn suspend(&mut self) {
        Monitor::suspend(self);
    }
}

/// Entry point, named in the registration.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_monitor_main(_argument: pg_sys::Datum) {
    super::run(INDEX, NAME, Monitor::start);
}
