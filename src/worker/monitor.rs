//! The worker `ckptflush monitor`: [`crate::monitor::watch`] and [`crate::observe::sampler`] in the
//! common skeleton.
//!
//! *Runs in:* that worker. *Reads and writes:* nothing itself.
//! *Never:* holds logic.

use std::time::{Duration, Instant};

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::Work;
use crate::monitor::watch::Monitor;
use crate::observe::sampler::Sampler;
use crate::settings;

pub(super) const NAME: &str = "ckptflush monitor";

/// A checkpoint writes in a burst first, up to a second behind its schedule: by how soon its list
/// is found, the pages of that burst are still in the pool.
const SOON: Duration = Duration::from_millis(10);

/// Row of `ckpt_stats_workers`.
const INDEX: usize = 0;

/// Two who look at the server, each at its own pace.
struct Watch {
    monitor: Monitor,
    next_poll: Instant,
    sampler: Sampler,
}

impl Watch {
    fn start(segment: &'static statseg::Segment) -> Self {
        Self {
            monitor: Monitor::start(segment),
            next_poll: Instant::now(),
            sampler: Sampler::start(segment),
        }
    }
}

impl Work for Watch {
    fn round(&mut self) -> Duration {
        let now = Instant::now();
        let poll = now >= self.next_poll || self.monitor.is_told();
        if poll {
            self.monitor.poll();
            let interval = settings::sample_interval();
            let soon = self.monitor.is_curious();
            self.next_poll = now + if soon { interval.min(SOON) } else { interval };
        }
        let pause = self.sampler.round(poll);
        pause.min(self.next_poll.saturating_duration_since(Instant::now()))
    }

    fn suspend(&mut self) {
        self.monitor.suspend();
        self.sampler.suspend();
        // On at the first round after it.
        self.next_poll = Instant::now();
    }
}

/// Entry point, named in the registration.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_monitor_main(_argument: pg_sys::Datum) {
    super::run(INDEX, NAME, Watch::start);
}
