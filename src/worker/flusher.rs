//! The worker `ckptflush flusher`: [`crate::flush::flusher`] in the common skeleton.
//!
//! *Runs in:* that worker. *Reads and writes:* nothing itself.
//! *Never:* holds logic.

use std::time::Duration;

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::Work;
use crate::flush::flusher::Flusher;

pub(super) const NAME: &str = "ckptflush flusher";

/// Row of `ckpt_stats_workers`.
const INDEX: usize = 1;

impl Work for Flusher {
    fn round(&mut self) -> Duration {
        Flusher::round(self)
    }

    fn suspend(&mut self) {
        Flusher::suspend(self);
    }
}

/// Entry point, named in the registration.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_flusher_main(_argument: pg_sys::Datum) {
    super::run(INDEX, NAME, Flusher::start);
}
