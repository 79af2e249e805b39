//! Slows writeback down while commits wait.
//!
//! *Runs in:* any process; the flusher calls it. *Reads and writes:* its own state.
//! *Never:* brakes for what commits take without us, or for one slow tenth of a second: a queue
//! that stands is one that is still there in the next (Nichols and Jacobson, Controlling Queue
//! Delay, 2012). Unlike there, a tenth of a second is judged by its mean: where a volume's cap is
//! dealt out in slices, the first commits of a slice pass at once, however long the queue was.

/// So many windows in a row, at least and at most: a queue that stands.
const STANDING: (f64, f64) = (2.0, 10.0);
/// Windows in a row, by what a commit takes by itself: in a tenth of a second a slow disk answers
/// one or two, and the shorter of two says nothing of a queue.
const STANDING_PER_SECOND: f64 = 200.0;
/// Per window of a tenth of a second.
const SLOWER: f64 = 0.7;
const FASTER: f64 = 1.25;
/// Where nobody commits there is nobody to wait for, as far as we know.
const UNKNOWN: f64 = 1.1;
const LEAST: f64 = 0.1;
/// Windows after which what commits take by themselves is measured anew.
const EPOCH: u32 = 100;

/// The brake of one device.
#[derive(Clone, Copy, Debug)]
pub struct Brake {
    target: f64,
    factor: f64,
    above: u32,
    /// The shortest mean of this epoch and of the one before.
    bases: [f64; 2],
    windows: u32,
}

impl Brake {
    /// Free, with the time that a commit may wait, in seconds.
    #[must_use]
    pub fn new(target: f64) -> Self {
        Self {
            target,
            factor: 1.0,
            above: 0,
            bases: [f64::INFINITY; 2],
            windows: 0,
        }
    }

    /// The time that a commit may wait, in seconds.
    pub fn set_target(&mut self, target: f64) {
        self.target = target;
    }

    /// The mean commit of a window of a tenth of a second, in seconds; `None` if there was none.
    pub fn commit_window(&mut self, mean: Option<f64>) {
        let base = self.base(mean);
        // What a commit takes by itself is not our doing: a slow disk would be braked for ever,
        // and its deadlines be lost. So the target is counted from there.
        let bearable = base + self.target.max(base);
        let standing = (base * STANDING_PER_SECOND).clamp(STANDING.0, STANDING.1);
        match mean {
            Some(time) if time > bearable => {
                self.above += 1;
                if f64::from(self.above) >= standing {
                    self.factor *= SLOWER;
                }
            }
            Some(_) => {
                self.above = 0;
                self.factor *= FASTER;
            }
            None => {
                self.above = 0;
                self.factor *= UNKNOWN;
            }
        }
        self.factor = self.factor.clamp(LEAST, 1.0);
    }

    /// What commits take by themselves: the shortest mean of the last ten seconds or twenty. What that
    /// was is forgotten in time, for a queue that stands in spite of the brake is not ours.
    fn base(&mut self, mean: Option<f64>) -> f64 {
        self.windows += 1;
        if self.windows >= EPOCH {
            self.windows = 0;
            self.bases = [f64::INFINITY, self.bases[0]];
        }
        if let Some(time) = mean {
            self.bases[0] = self.bases[0].min(time);
        }
        let base = self.bases[0].min(self.bases[1]);
        if base.is_finite() { base } else { 0.0 }
    }

    /// By what the planned rate is to be multiplied: 0.1 to 1.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_window_is_forgiven() {
        let mut brake = Brake::new(0.02);
        brake.commit_window(Some(0.5));
        brake.commit_window(Some(0.01));
        brake.commit_window(Some(0.5));
        assert!(brake.factor() >= 1.0);
    }

    #[test]
    fn a_standing_queue_slows_and_its_end_frees() {
        let mut brake = Brake::new(0.02);
        brake.commit_window(Some(0.01));
        for _ in 0..20 {
            brake.commit_window(Some(0.05));
        }
        assert!((brake.factor() - 0.1).abs() < 1e-9);
        for _ in 0..11 {
            brake.commit_window(Some(0.01));
        }
        assert!(brake.factor() >= 1.0, "free again in about a second");
        for _ in 0..20 {
            brake.commit_window(Some(0.05));
        }
        for _ in 0..25 {
            brake.commit_window(None);
        }
        assert!(brake.factor() >= 1.0);
    }
    #[test]
    fn a_disk_that_is_slow_by_itself_is_not_braked_for_it() {
        let mut brake = Brake::new(0.02);
        for _ in 0..50 {
            brake.commit_window(Some(0.05));
            brake.commit_window(Some(0.09));
        }
        assert!(brake.factor() >= 1.0);
        for _ in 0..20 {
            brake.commit_window(Some(0.2));
        }
        assert!(brake.factor() < 0.2, "four times as long is a queue");
    }

    #[test]
    fn a_queue_that_braking_does_not_end_is_not_ours() {
        let mut brake = Brake::new(0.02);
        brake.commit_window(Some(0.005));
        for _ in 0..50 {
            brake.commit_window(Some(0.06));
        }
        assert!(brake.factor() < 0.2);
        for _ in 0..200 {
            brake.commit_window(Some(0.06));
        }
        assert!(brake.factor() >= 1.0);
    }
}
