//! How long a device takes to answer, which shows a cap that its being busy does not.
//!
//! *Runs in:* any process. *Reads and writes:* its own state.
//! *Never:* says how much the device can do.

use super::Sample;

/// Requests of a window that tell how long one takes, at least.
const ANSWER_OF: f64 = 4.0;
/// What the shortest was is forgotten after so long, or twice that.
const ANSWER_EPOCH: f64 = 120.0;
/// Throttled: a request takes so many times as long as alone, and at least so long; ...
const THROTTLED: f64 = 10.0;
const LEAST_ANSWER: f64 = 1e-3;
/// ... the device is so many times as busy as the requests alone would make it; ...
const THROTTLED_BUSY: f64 = 3.0;
const LEAST_BUSY: f64 = 0.25;
/// ... and there was a queue.
const THROTTLED_QUEUE: f64 = 1.0;

/// How long a request takes where none waits for another: by that a cap is known. A volume that
/// is dealt out its time in slices is idle at the end of each and busy at the begin of the next,
/// so it is never saturated to the eye; but requests take many times as long as it needs for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// The shortest mean time of this epoch and of the one before, in seconds.
    shortest: [f64; 2],
    age: f64,
}

impl Answer {
    pub(super) const NEW: Self = Self {
        shortest: [f64::INFINITY; 2],
        age: 0.0,
    };

    /// Does a window of the device show that it is throttled?
    pub(super) fn is_throttled(&mut self, window: &Sample) -> bool {
        self.age += window.seconds;
        if self.age > ANSWER_EPOCH {
            self.age = 0.0;
            self.shortest = [f64::INFINITY, self.shortest[0]];
        }
        if window.done.operations < ANSWER_OF {
            return false;
        }
        let takes = window.queued * window.seconds / window.done.operations;
        self.shortest[0] = self.shortest[0].min(takes);
        let alone = self.shortest[0].min(self.shortest[1]);
        let needed = alone * window.done.operations / window.seconds;
        window.queued >= THROTTLED_QUEUE
            && window.busy >= (THROTTLED_BUSY * needed).max(LEAST_BUSY)
            && takes >= (THROTTLED * alone).max(LEAST_ANSWER)
    }
}
