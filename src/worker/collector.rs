//! The worker `ckptflush collector`: [`crate::collector`] in the common skeleton.
//!
//! *Runs in:* that worker. *Reads and writes:* nothing itself.
//! *Never:* holds logic.

use std::time::Duration;

use pgrx::bgworkers::BackgroundWorker;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::Work;
use crate::collector::Collector;

pub(super) const NAME: &str = "ckptflush collector";

/// Row of `ckpt_stats_workers`.
const INDEX: usize = 2;

impl Work for Collector {
    fn round(&mut self) -> Duration {
        Collector::round(self)
    }

    fn suspend(&mut self) {
        Collector::suspend(self);
    }

    fn recover(&mut self) {
        Collector::recover(self);
    }
}

/// Entry point, named in the registration.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_collector_main(_argument: pg_sys::Datum) {
    super::run(INDEX, NAME, |segment| {
        BackgroundWorker::connect_worker_to_spi(None, None);
        Collector::start(segment)
    });
}
