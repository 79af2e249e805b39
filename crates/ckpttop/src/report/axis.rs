//! Axes: from a value to its place, and where the numbers stand.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* returns a place that is no number, whatever the values are.

use super::grid::Grid;
use crate::human;
use crate::value::At;
use jiff::Timestamp;

/// What values are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// How many, and of what.
    Count(&'static str),
    /// Bytes; the text follows the unit.
    Bytes(&'static str),
    /// Milliseconds.
    Time,
}

impl Unit {
    /// A value in a sentence.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Count(_) if value >= 100.0 => human::count(value.round() as u64),
            Self::Count(_) if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count(_) => format!("{value:.1}"),
            Self::Bytes(per) => format!("{}{per}", human::bytes(value.max(0.0) as u64)),
            Self::Time => human::time(value),
        }
    }
}

/// The vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    /// Values with their texts.
    pub(super) ticks: Vec<(f64, String)>,
    /// The unit of the texts, if they do not name it themselves.
    pub(super) unit: String,
}

impl Scale {
    /// An axis from 0 to at least `most`.
    pub(super) fn linear(most: f64, unit: Unit) -> Self {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let (divisor, name) = match unit {
            Unit::Count(name) => (1.0, name.to_owned()),
            Unit::Time => (1.0, "ms".to_owned()),
            Unit::Bytes(per) => {
                let names = ["B", "kB", "MB", "GB", "TB", "PB"];
                let power = (most.log2() / 10.0).floor().clamp(0.0, 5.0);
                let name = names.get(power as usize).unwrap_or(&"B");
                (1024f64.powf(power), format!("{name}{per}"))
            }
        };
        let step = nice(most / divisor / 4.0);
        let whole = (most / divisor / step).ceil().max(1.0);
        let digits = usize::try_from((-step.log10().floor()).max(0.0) as i64).unwrap_or(0);
        let tick = |n: u32| {
            let value = f64::from(n) * step;
            (value * divisor, format!("{value:.digits$}"))
        };
        Self {
            log: false,
            low: 0.0,
            high: whole * step * divisor,
            ticks: (0..=whole as u32).map(tick).collect(),
            unit: name,
        }
    }

    /// A logarithmic axis of times with room for all values from `least` to `most`.
    pub(super) fn log(least: f64, most: f64) -> Self {
        let ordered = least > 0.0 && most >= least && most.is_finite();
        let (least, most) = if ordered { (least, most) } else { (1.0, 1.0) };
        let low = least.log10().floor().max(-6.0);
        let high = most.log10().ceil().clamp(low + 1.0, low + 15.0);
        let mut ticks = Vec::new();
        let few = high - low <= 2.0;
        for decade in low as i32..=high as i32 {
            for digit in [1.0, 2.0, 5.0] {
                let value = digit * 10f64.powi(decade);
                let shown = digit == 1.0 || few;
                if shown && value.log10() <= high + 1e-9 {
                    ticks.push((value, label(value)));
                }
            }
        }
        Self {
            log: true,
            low,
            high,
            ticks,
            unit: String::new(),
        }
    }

    /// Where a value stands: 0 at the bottom, 1 at the top, and not beyond.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.log {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// A round time, from milliseconds.
fn label(ms: f64) -> String {
    if ms < 0.999 {
        format!("{:.0} µs", ms * 1e3)
    } else if ms < 999.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{:.0} s", ms / 1e3)
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= step * 0.999);
    digit.unwrap_or(10.0) * power
}

/// Times below the plot: moments with their texts, about `wanted` of them.
pub(super) fn times(grid: &Grid, wanted: i64) -> Vec<(At, String)> {
    const STEPS: [i64; 16] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 10_800, 21_600, 43_200,
    ];
    const DAY: i64 = 86_400;
    let (from, to) = (grid.from().0, grid.to().0);
    let length = (to - from) / 1_000_000;
    let fits = |step: &&i64| length / **step <= wanted;
    let step = STEPS.iter().find(fits).copied();
    let step = step.unwrap_or((length / wanted / DAY + 1) * DAY) * 1_000_000;
    let form = match step / 1_000_000 {
        _ if length > 2 * DAY => "%m-%d %H:%M",
        ..60 => "%H:%M:%S",
        _ => "%H:%M",
    };
    let first = from + (step - from.rem_euclid(step)).rem_euclid(step);
    let mut ticks = Vec::new();
    let mut at = first;
    while at <= to {
        let text = Timestamp::from_microsecond(at).map(|at| at.strftime(form).to_string());
        ticks.push((At(at), text.unwrap_or_default()));
        at += step;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn numbers_are_round() {
        let scale = Scale::linear(213.0, Unit::Count("per second"));
        assert_eq!(texts(&scale), ["0", "100", "200", "300"]);
        assert_eq!(scale.place(150.0), 0.5);
        let scale = Scale::linear(0.35, Unit::Count(""));
        assert_eq!(texts(&scale), ["0.0", "0.1", "0.2", "0.3", "0.4"]);
        let scale = Scale::linear(30.0 * 1_048_576.0, Unit::Bytes("/s"));
        assert_eq!(
            (texts(&scale).last(), scale.unit.as_str()),
            (Some(&"30"), "MB/s")
        );
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                texts(&Scale::linear(odd, Unit::Bytes(""))).last(),
                Some(&"1.0")
            );
        }
    }

    #[test]
    fn decades_have_their_places() {
        let scale = Scale::log(0.3, 2500.0);
        assert_eq!(
            texts(&scale),
            ["100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]
        );
        assert!((scale.place(1.0) - 0.2).abs() < 1e-9);
        assert_eq!((scale.place(0.0), scale.place(1e9)), (0.0, 1.0));
        let scale = Scale::log(2.0, 40.0);
        assert_eq!(texts(&scale)[..3], ["1 ms", "2 ms", "5 ms"]);
        for (least, most) in [
            (0.0, 1.0),
            (f64::NAN, 1.0),
            (2.0, 1.0),
            (1.0, f64::INFINITY),
        ] {
            assert!(!Scale::log(least, most).ticks.is_empty());
        }
    }
}
