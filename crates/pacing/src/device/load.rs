//! What a device is given and what it was seen to do.
//!
//! *Runs in:* any process. *Reads and writes:* its arguments only.
//! *Never:* holds less than nothing.

use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Operations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Requests as the device sees them: after merging.
    pub operations: f64,
    /// Bytes they carry.
    pub bytes: f64,
}

impl Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Never below nothing: sums of many small numbers drift.
impl Sub for Load {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            operations: (self.operations - other.operations).max(0.0),
            bytes: (self.bytes - other.bytes).max(0.0),
        }
    }
}

impl SubAssign for Load {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// What a device did in a span of time: all of it, commits and reads too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Length of the span.
    pub seconds: f64,
    /// Share of it with something in flight, 0 to 1.
    pub busy: f64,
    /// Mean number of requests in flight.
    pub queued: f64,
    /// What was completed.
    pub done: Load,
}
