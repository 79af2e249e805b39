//! Numbers as people read them on a screen.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* used where a program reads: there numbers are whole.

/// What stands for an unknown value.
pub(crate) const UNKNOWN: &str = "-";

/// Bytes, as pg_size_pretty has them, with a digit after the point where there is room.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut number = bytes as f64;
    let mut unit = 0;
    while number >= 1000.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && number < 100.0);
    format!("{number:.digits$} {}", UNITS[unit])
}

/// A number, with thousands shortened when it is long.
pub(crate) fn count(count: u64) -> String {
    match count {
        0..1_000_000 => count.to_string(),
        1_000_000..1_000_000_000 => format!("{:.2} M", count as f64 / 1e6),
        _ => format!("{:.2} G", count as f64 / 1e9),
    }
}

/// A length of time, from milliseconds.
pub(crate) fn time(ms: f64) -> String {
    let seconds = (ms / 1e3).round() as u64;
    if ms < 1.0 {
        format!("{:.0} µs", ms * 1e3)
    } else if ms < 100.0 {
        format!("{ms:.1} ms")
    } else if ms < 1e3 {
        format!("{ms:.0} ms")
    } else if ms < 100e3 {
        format!("{:.1} s", ms / 1e3)
    } else if seconds < 6000 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else if seconds < 48 * 3600 {
        format!("{} h {} min", seconds / 3600, seconds / 60 % 60)
    } else {
        format!("{} days", seconds / 86400)
    }
}

/// The server's version, from `server_version_num`.
pub(crate) fn version(number: u64) -> String {
    format!("{}.{}", number / 10000, number % 10000)
}

/// A wait, from the two columns of the views; a process without one runs, or wants to.
pub(crate) fn wait(kind: Option<&str>, event: Option<&str>) -> String {
    match (kind, event) {
        (Some(kind), Some(event)) => format!("{kind}/{event}"),
        _ => "running".to_owned(),
    }
}

/// A value that may be unknown.
pub(crate) fn known<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(8192), "8.0 kB");
        assert_eq!(bytes(130_039_808), "124 MB");
        assert_eq!(bytes(u64::MAX), "16384 PB");
        assert_eq!(count(999_999), "999999");
        assert_eq!(count(12_345_678), "12.35 M");
        assert_eq!(time(0.0074), "7 µs");
        assert_eq!(time(17_556.794), "17.6 s");
        assert_eq!(time(123_400.0), "2 min 3 s");
        assert_eq!(time(7_500_000.0), "2 h 5 min");
        assert_eq!(version(150_020), "15.20");
    }
}
