//! How much writeback may be in flight: what a commit finds before it on the device because of us.
//!
//! *Runs in:* any process; the flusher calls it. *Reads and writes:* its own state.
//! *Never:* closes for good: two pages always go.

use crate::BLOCK_BYTES;
use crate::device::{Device, Load};
use crate::queue::Limit;

const BLOCK: f64 = BLOCK_BYTES as f64;
const LEAST_PAGES: f64 = 2.0;
const FIRST_PAGES: f64 = 8.0;
const MOST_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// A run of that many times the size at which bytes cost as much as the operation costs at most
/// a quarter more than one that is not cut.
const LEAST_CROSSOVERS: f64 = 4.0;
/// Core's own chunk.
const MOST_OF_LEAST: f64 = 262_144.0;

/// The gate of one device.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// What may be in flight on a device whose abilities are not known, in pages.
    pages: f64,
    target: f64,
    /// The gate was the limit since the last change: more could have been in flight.
    reached: bool,
    /// What was in flight when it was asked last, what has drained since, and what it gave.
    before: Load,
    drained: Load,
    given: Option<Limit>,
}

impl Gate {
    /// Nearly closed, with the time that what is in flight may take, in seconds.
    #[must_use]
    pub fn new(target: f64) -> Self {
        Self {
            pages: FIRST_PAGES,
            target,
            reached: false,
            before: Load::default(),
            drained: Load::default(),
            given: None,
        }
    }

    /// The time that what is in flight may take, in seconds.
    pub fn set_target(&mut self, target: f64) {
        self.target = target;
    }

    /// An issue was on the device after so many seconds. Opens and closes the gate while the
    /// device's abilities are not known.
    pub fn drained(&mut self, seconds: f64, issued: Load) {
        self.drained += issued;
        if seconds > 2.0 * self.target {
            self.pages = (self.pages / 2.0).max(LEAST_PAGES);
            self.reached = false;
        } else if seconds < self.target / 2.0 && self.reached {
            self.pages = (self.pages * 2.0).min(MOST_BYTES / BLOCK);
            self.reached = false;
        }
    }

    /// What may be issued in addition to what is in flight.
    pub fn room(&mut self, device: &Device, in_flight: Load) -> Limit {
        self.note_use(in_flight);
        let (operations, bytes) = if device.known() {
            let least = pieces(device).min(MOST_OF_LEAST);
            (
                self.target * device.operations_per_second(),
                (self.target * device.bytes_per_second()).max(least),
            )
        } else {
            // The block layer may cut a run, but does not make a run of pieces.
            (self.pages, (self.pages * BLOCK).max(MOST_OF_LEAST))
        };
        let room = Limit {
            operations: operations.max(LEAST_PAGES) - in_flight.operations,
            bytes: bytes.clamp(LEAST_PAGES * BLOCK, MOST_BYTES) - in_flight.bytes,
        };
        if room.operations <= 0.0 || room.bytes <= 0.0 {
            self.reached = true;
        }
        self.given = Some(room);
        room
    }

    /// All that was given was used, though it may have drained since: on a fast device the gate
    /// is never seen shut.
    fn note_use(&mut self, in_flight: Load) {
        let used = in_flight + self.drained - self.before;
        if let Some(given) = self.given
            && (used.operations >= given.operations || used.bytes >= given.bytes)
        {
            self.reached = true;
        }
        self.before = in_flight;
        self.drained = Load::default();
    }
}

/// Bytes of a run below which cutting it costs the device more than it spares the commits.
fn pieces(device: &Device) -> f64 {
    LEAST_CROSSOVERS * device.bytes_per_second() / device.operations_per_second()
}

/// Bytes of a single issue at most: what is due for the next moments is not to go out at once only
/// because it is one run. Without haste core's chunk, so that no commit is worse off than with it;
/// else what the device does nearly as well as a longer one.
pub(crate) fn largest_piece(device: &Device, haste: bool) -> f64 {
    if haste {
        pieces(device).max(MOST_OF_LEAST)
    } else {
        MOST_OF_LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pages: f64) -> Load {
        Load {
            operations: pages,
            bytes: pages * BLOCK,
        }
    }

    #[test]
    fn opens_by_fast_drains_and_closes_by_slow_ones() {
        let device = Device::new();
        let mut gate = Gate::new(0.02);
        assert!((gate.room(&device, Load::default()).operations - 8.0).abs() < 1e-9);
        gate.drained(0.001, load(1.0));
        assert!(
            gate.room(&device, Load::default()).operations < 9.0,
            "not asked for"
        );
        for _ in 0..3 {
            gate.room(&device, load(1e6));
            gate.drained(0.001, load(1.0));
        }
        assert!((gate.room(&device, Load::default()).operations - 64.0).abs() < 1e-9);
        for _ in 0..10 {
            gate.drained(0.1, load(1.0));
        }
        assert!((gate.room(&device, Load::default()).operations - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_known_device_is_given_what_it_does_in_the_time() {
        let mut gate = Gate::new(0.02);
        let slow = Device::with(400.0, 20e6);
        let room = gate.room(&slow, load(3.0));
        assert!((room.operations - 5.0).abs() < 1e-9);
        let slowest = Device::with(10.0, 1e5);
        let room = gate.room(&slowest, Load::default());
        assert!((room.operations - 2.0).abs() < 1e-9);
        assert!((room.bytes - 40_000.0).abs() < 1e-9, "four crossovers");
        let seeks = Device::with(100.0, 1e7);
        assert!((gate.room(&seeks, Load::default()).bytes - 262_144.0).abs() < 1e-9);
        let fast = Device::with(1e6, 1e11);
        assert!((gate.room(&fast, Load::default()).bytes - MOST_BYTES).abs() < 1e-9);
    }
    #[test]
    fn a_gate_that_is_never_seen_shut_opens_by_what_is_used() {
        let device = Device::new();
        let mut gate = Gate::new(0.02);
        for _ in 0..3 {
            let room = gate.room(&device, Load::default());
            gate.drained(0.001, load(room.operations));
            // All had landed before it was asked again.
            gate.room(&device, Load::default());
            gate.drained(0.001, load(1.0));
        }
        assert!((gate.room(&device, Load::default()).operations - 64.0).abs() < 1e-9);
    }
}
