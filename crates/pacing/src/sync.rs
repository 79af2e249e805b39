//! Pauses between two fsyncs of the checkpointer: each is a flush of the device that commits
//! queue behind.
//!
//! *Runs in:* any process; the checkpointer's log hook calls it.
//! *Reads and writes:* its own state. *Never:* allocates; exceeds what it was allowed in all.

/// Adjustments follow the commits' windows of a tenth of a second.
const ADJUST_EVERY: f64 = 0.1;
/// Bounds of the pause, in times of the fsync before it.
const MOST: f64 = 8.0;
const LEAST: f64 = 0.125;
/// The first step from no pause at all: half of the device for the fsyncs.
const FIRST: f64 = 1.0;
/// The longest single pause: who wants something of the checkpointer waits no longer for it.
const LONGEST: f64 = 0.1;
/// One nap while writeback is behind.
const NAP: f64 = 0.05;
/// Less than this waits for nobody.
const BACKLOG: f64 = 0.01;

/// The pauses of one checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct SyncPace {
    left: f64,
    /// Seconds of pause per second of fsync.
    share: f64,
    adjusted: f64,
}

impl SyncPace {
    /// With what all pauses together may take, in seconds.
    #[must_use]
    pub fn new(allowance: f64) -> Self {
        Self {
            left: allowance,
            share: 0.0,
            adjusted: f64::NEG_INFINITY,
        }
    }

    /// How long to pause before the next fsync, in seconds.
    ///
    /// `synced`: the time of the fsync before, 0 when that was paid for. `mean`: the mean commit
    /// of the last tenth of a second. `files_left`: as far as is known. `backlog`: what of
    /// the checkpoint's pages is still to be issued, in seconds of the device: an fsync would
    /// write it in one burst.
    pub fn pause(
        &mut self,
        now: f64,
        synced: f64,
        mean: Option<f64>,
        target_delay: f64,
        files_left: Option<u64>,
        backlog: f64,
    ) -> f64 {
        self.adjust(now, mean, target_delay);
        let wanted = if backlog > BACKLOG {
            backlog.min(NAP)
        } else {
            let share = synced * self.share;
            match files_left {
                // Twice its part: some need none.
                Some(files) if files > 1 => share.min(2.0 * self.left / files as f64),
                _ => share,
            }
        };
        let pause = wanted.min(self.left).clamp(0.0, LONGEST);
        self.left -= pause;
        pause
    }

    fn adjust(&mut self, now: f64, mean: Option<f64>, target_delay: f64) {
        if now - self.adjusted < ADJUST_EVERY {
            return;
        }
        self.adjusted = now;
        self.share = match mean {
            Some(time) if time > target_delay => (self.share * 1.5).clamp(FIRST, MOST),
            _ if self.share < LEAST => 0.0,
            _ => self.share * 0.8,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_slow_commits_there_is_no_pause() {
        let mut pace = SyncPace::new(3.0);
        for i in 0..100 {
            let pause = pace.pause(f64::from(i) * 0.01, 0.01, Some(0.005), 0.02, None, 0.0);
            assert!(pause <= 0.0);
        }
    }

    #[test]
    fn pauses_grow_while_commits_are_slow_and_end_afterwards() {
        let mut pace = SyncPace::new(30.0);
        let mut now = 0.0;
        let mut last = 0.0;
        for _ in 0..20 {
            now += 0.2;
            last = pace.pause(now, 0.01, Some(0.05), 0.02, None, 0.0);
        }
        assert!((last - 0.08).abs() < 1e-9);
        for _ in 0..30 {
            now += 0.2;
            last = pace.pause(now, 0.01, Some(0.005), 0.02, None, 0.0);
        }
        assert!(last <= 0.0);
    }

    #[test]
    fn all_pauses_together_are_bounded() {
        let mut pace = SyncPace::new(1.0);
        let mut sum = 0.0;
        for i in 0..1000 {
            sum += pace.pause(f64::from(i), 1.0, Some(1.0), 0.02, None, f64::from(i % 2));
        }
        assert!(sum <= 1.0 + 1e-9);
    }

    #[test]
    fn the_allowance_lasts_for_all_files() {
        let mut pace = SyncPace::new(3.0);
        let mut paused = 0;
        for i in 0..3000_u64 {
            let now = i as f64 * 0.004;
            if pace.pause(now, 0.004, Some(0.05), 0.02, Some(3000 - i), 0.0) > 1e-5 {
                paused += 1;
            }
        }
        assert!(paused > 2500, "{paused}");
    }
}
