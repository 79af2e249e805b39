//! The log-linear histogram: which bucket a value falls into, and what a bucket stands for.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* allocates, panics on numbers from a foreign segment.
//!
//! Values below 8 have a bucket each. Above, each octave (from one power of two to the next)
//! has 8 buckets of equal width, so a bucket is at most an eighth of its lower bound wide, and
//! its middle is at most 1/16 = 6.25 % away from any value in it. 320 buckets reach to 2^42:
//! in nanoseconds 73 minutes. Larger values are counted in the last bucket.

/// Sub-buckets per octave, as a power of two.
const SUB_BITS: u32 = 3;
const SUBS: u64 = 1 << SUB_BITS;

/// The number of buckets.
#[cfg(not(loom))]
pub const BUCKETS: usize = 320;
/// The number of buckets in a model: what loom explores grows with every word.
#[cfg(loom)]
pub const BUCKETS: usize = 1;

/// The first value that has no bucket of its own any more: it falls into the last one.
pub const LIMIT: u64 = 1 << 42;

/// The bucket of a value.
#[inline]
#[must_use]
pub const fn index(value: u64) -> usize {
    let bucket = if value < SUBS {
        value as usize
    } else {
        // value >= 8, so the shift is between 0 and 60.
        let shift = value.ilog2() - SUB_BITS;
        shift as usize * SUBS as usize + (value >> shift) as usize
    };
    if bucket < BUCKETS {
        bucket
    } else {
        BUCKETS - 1
    }
}

/// The smallest and the largest value of a bucket, both inclusive; the last one is open-ended.
#[must_use]
pub const fn bounds(bucket: usize) -> (u64, u64) {
    let (low, high) = nominal(bucket);
    if bucket + 1 >= BUCKETS {
        (low, u64::MAX)
    } else {
        (low, high)
    }
}

/// What a bucket stands for: its middle.
#[must_use]
pub const fn representative(bucket: usize) -> u64 {
    let (low, high) = nominal(bucket);
    low + (high - low) / 2
}

/// The bounds of a bucket as if it were not the last one.
const fn nominal(bucket: usize) -> (u64, u64) {
    let bucket = if bucket < BUCKETS {
        bucket as u64
    } else {
        BUCKETS as u64 - 1
    };
    if bucket < SUBS {
        return (bucket, bucket);
    }
    let shift = bucket / SUBS - 1;
    let sub = bucket % SUBS + SUBS;
    (sub << shift, ((sub + 1) << shift) - 1)
}

/// The value below or at which the share `q` (0 to 1) of all values lies; `None` if there are
/// none. `min` and `max`, where known, bound the answer: with one value it is exact.
#[must_use]
pub fn percentile(buckets: &[u64], q: f64, min: Option<u64>, max: Option<u64>) -> Option<u64> {
    let total = buckets.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    if total == 0 {
        return None;
    }
    // The conversion saturates, so a NaN or a q beyond 1 gives the first or the last value.
    let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
    let mut seen = 0u64;
    let mut found = BUCKETS - 1;
    for (bucket, n) in buckets.iter().enumerate() {
        seen = seen.saturating_add(*n);
        if seen >= rank {
            found = bucket;
            break;
        }
    }
    let mut value = representative(found);
    if found + 1 >= BUCKETS {
        // The open-ended bucket: its largest value says more than its nominal middle.
        value = max.unwrap_or(value);
    }
    // Not clamp(): min and max come from the segment, and clamp panics when min > max.
    Some(value.max(min.unwrap_or(0)).min(max.unwrap_or(u64::MAX)))
}
