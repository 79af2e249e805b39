//! Numbers as words, and settings as statements.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its arguments only.
//! *Never:* writes a value that the server would refuse or round.

use std::fmt::Write as _;

/// A setting and the value it shall have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    name: &'static str,
    value: String,
}

impl Setting {
    pub(super) fn new(name: &'static str, value: impl ToString) -> Self {
        let value = value.to_string();
        Self { name, value }
    }

    /// `max_wal_size` and the like, as [`round_up`] leaves it.
    pub(super) fn size(name: &'static str, bytes: f64) -> Self {
        let megabytes = round_up(bytes) / MB;
        if megabytes > 4096.0 {
            Self::new(name, format!("{:.0}GB", megabytes / 1024.0))
        } else {
            Self::new(name, format!("{megabytes:.0}MB"))
        }
    }

    /// The same where it must not be more.
    pub(super) fn size_at_most(name: &'static str, bytes: f64) -> Self {
        Self::new(name, format!("{:.0}MB", (bytes / MB).floor()))
    }

    /// Seconds, or minutes where they are whole.
    pub(super) fn time(name: &'static str, seconds: f64) -> Self {
        let seconds = seconds.round();
        if seconds >= 60.0 && seconds % 60.0 == 0.0 {
            Self::new(name, format!("{:.0}min", seconds / 60.0))
        } else {
            Self::new(name, format!("{seconds:.0}s"))
        }
    }

    /// The values are numbers, units and words: nothing to escape.
    pub(super) fn statement(&self) -> String {
        format!("ALTER SYSTEM SET {} = '{}';", self.name, self.value)
    }
}

pub(super) const MB: f64 = 1_048_576.0;

/// Whole megabytes. Above four gigabytes whole ones: who reads it shall not look for a meaning in
/// its digits.
pub(super) fn round_up(bytes: f64) -> f64 {
    let megabytes = (bytes / MB).ceil();
    if megabytes > 4096.0 {
        (megabytes / 1024.0).ceil() * 1024.0 * MB
    } else {
        megabytes * MB
    }
}

/// `12.3 MB`.
pub(super) fn bytes(number: f64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut value = number / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", digits(value), units[unit])
}

/// `250 ms`, `12.3 s`, `5.0 min`.
pub(super) fn seconds(number: f64) -> String {
    if number < 1.0 {
        format!("{} ms", digits(number * 1e3))
    } else if number < 120.0 {
        format!("{} s", digits(number))
    } else {
        format!("{} min", digits(number / 60.0))
    }
}

/// `12 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// Two or three digits that count.
fn digits(value: f64) -> String {
    if value >= 99.95 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 0.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Names, the first so many of them.
pub(super) fn list(names: impl Iterator<Item = String>, most: usize) -> String {
    let mut text = String::new();
    for (place, name) in names.take(most).enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        // Writing to a String does not fail.
        let _ = write!(text, "{comma}{name}");
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_or_three_digits() {
        assert_eq!(bytes(0.0), "0 kB");
        assert_eq!(bytes(12.34 * MB), "12.3 MB");
        assert_eq!(bytes(1500.0 * MB), "1.5 GB");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(0.0004), "0.40 ms");
        assert_eq!(seconds(27.04), "27.0 s");
        assert_eq!(seconds(300.0), "5.0 min");
        assert_eq!(percent(0.123), "12.3 %");
        assert_eq!(percent(0.0012), "0.12 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn values_are_whole() {
        let size = |bytes| Setting::size("max_wal_size", bytes).statement();
        assert_eq!(size(80.0 * MB), "ALTER SYSTEM SET max_wal_size = '80MB';");
        assert_eq!(size(79.5 * MB), "ALTER SYSTEM SET max_wal_size = '80MB';");
        assert_eq!(size(4097.0 * MB), "ALTER SYSTEM SET max_wal_size = '5GB';");
        let time = |seconds| Setting::time("checkpoint_timeout", seconds).statement();
        assert_eq!(time(90.0), "ALTER SYSTEM SET checkpoint_timeout = '90s';");
        assert_eq!(
            time(600.2),
            "ALTER SYSTEM SET checkpoint_timeout = '10min';"
        );
    }

    #[test]
    fn lists_are_cut() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(names.clone().into_iter(), 2), "a, b");
        assert_eq!(list(names.into_iter().take(0), 2), "");
    }
}
