//! Values that the views have and Rust has not: moments and positions in the WAL.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* shows what is not known as a number: that is an `Option`.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment, in microseconds since 1970-01-01 UTC, as the segment has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At(pub(crate) i64);

impl At {
    /// The present.
    pub(crate) fn now() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
    }

    /// Milliseconds from then to here; 0 when it lies ahead.
    pub(crate) fn ms_since(self, then: Self) -> f64 {
        (self.0.saturating_sub(then.0)).max(0) as f64 / 1e3
    }

    fn timestamp(self) -> Timestamp {
        Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::MAX)
    }

    /// The time of the day, UTC.
    pub(crate) fn clock(self) -> String {
        self.timestamp().strftime("%H:%M:%S").to_string()
    }
}

/// ISO 8601, UTC, microseconds.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.timestamp())
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at: Timestamp = text.parse().map_err(de::Error::custom)?;
        Ok(Self(at.as_microsecond()))
    }
}

/// A position in the WAL, shown as PostgreSQL does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lsn(pub(crate) u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl Serialize for Lsn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lsn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (high, low) = text.split_once('/').unwrap_or_default();
        match (u32::from_str_radix(high, 16), u32::from_str_radix(low, 16)) {
            (Ok(high), Ok(low)) => Ok(Self(u64::from(high) << 32 | u64::from(low))),
            _ => Err(de::Error::custom(format!("invalid pg_lsn \"{text}\""))),
        }
    }
}

/// Milliseconds of the nanoseconds of the segment, as the views show times.
pub(crate) fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_positions_come_back() {
        let at = At(1_763_715_600_123_456);
        let text = serde_json::to_string(&at).unwrap();
        assert_eq!(text, "\"2025-11-21T09:00:00.123456Z\"");
        assert_eq!(serde_json::from_str::<At>(&text).unwrap(), at);
        // As PostgreSQL writes it into JSON.
        let server = "\"2025-11-21T09:00:00.123456+00:00\"";
        assert_eq!(serde_json::from_str::<At>(server).unwrap(), at);
        let whole = "\"2025-11-21T09:00:00+00:00\"";
        assert_eq!(
            serde_json::from_str::<At>(whole).unwrap(),
            At(1_763_715_600_000_000)
        );
        let lsn = Lsn(0x1C_0000_00FF);
        assert_eq!(serde_json::to_string(&lsn).unwrap(), "\"1C/FF\"");
        assert_eq!(serde_json::from_str::<Lsn>("\"1C/FF\"").unwrap(), lsn);
        assert!(serde_json::from_str::<Lsn>("\"1C\"").is_err());
    }

    #[test]
    fn what_lies_ahead_is_no_time_ago() {
        assert_eq!(At(5_000).ms_since(At(2_000)), 3.0);
        assert_eq!(At(2_000).ms_since(At(5_000)), 0.0);
    }
}
