//! The columns of a plot: which part of the time each stands for, and how values of seconds
//! become the value of a column.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* puts a value where nothing was seen: such a column stays empty.

use crate::recording::read::Recording;
use crate::value::At;

const SECOND: i64 = 1_000_000;
/// Columns that a plot has room for.
const MOST: i64 = 840;
/// Seconds that a column may have.
const STEPS: [i64; 15] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
];

/// How seconds become a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum How {
    Mean,
    Max,
    Min,
}

/// The time of a recording, in columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// Where the first column begins, in seconds since 1970.
    start: i64,
    /// Seconds of a column.
    pub(super) step: i64,
    pub(super) columns: usize,
}

impl Grid {
    /// The time in which something was seen; `None`: nothing was.
    pub(super) fn of(recording: &Recording) -> Option<Self> {
        let seconds = || recording.seconds.keys().map(|at| at.0 / SECOND);
        let first = seconds().min()?;
        let last = seconds().max()?;
        Some(Self::new(first, last + 1))
    }

    fn new(from: i64, to: i64) -> Self {
        let fits = |step: &&i64| (to - from) / **step < MOST;
        let longest = STEPS[STEPS.len() - 1];
        let step = STEPS.iter().find(fits).copied();
        let step = step.unwrap_or_else(|| ((to - from) / MOST / longest + 1) * longest);
        let start = from - from.rem_euclid(step);
        let columns = (to - start + step - 1) / step;
        Self {
            start,
            step,
            columns: usize::try_from(columns).unwrap_or(0).max(1),
        }
    }

    /// The column of a moment.
    pub(super) fn column(&self, at: At) -> Option<usize> {
        let column = usize::try_from((at.0 - self.start * SECOND).div_euclid(self.step * SECOND));
        column.ok().filter(|column| *column < self.columns)
    }

    /// When the first column begins.
    pub(super) fn from(&self) -> At {
        At(self.start * SECOND)
    }

    /// When the last one ends.
    pub(super) fn to(&self) -> At {
        let columns = i64::try_from(self.columns).unwrap_or(0);
        At((self.start + columns * self.step) * SECOND)
    }

    /// Where a moment lies: 0 at the begin, 1 at the end, and not beyond.
    pub(super) fn share(&self, at: At) -> f64 {
        let whole = (self.to().0 - self.from().0) as f64;
        ((at.0 - self.from().0) as f64 / whole).clamp(0.0, 1.0)
    }

    /// Columns made of values of moments.
    pub(super) fn fill(
        &self,
        how: How,
        values: impl Iterator<Item = (At, Option<f64>)>,
    ) -> Vec<Option<f64>> {
        let mut columns: Vec<(f64, f64)> = vec![(0.0, 0.0); self.columns];
        for (at, value) in values {
            if let (Some(column), Some(value)) = (self.column(at), value) {
                let (count, sum) = &mut columns[column];
                *sum = match how {
                    How::Mean => *sum + value,
                    _ if *count == 0.0 => value,
                    How::Max => sum.max(value),
                    How::Min => sum.min(value),
                };
                *count += 1.0;
            }
        }
        let value = |(count, sum): (f64, f64)| {
            let divisor = if how == How::Mean { count } else { 1.0 };
            (count > 0.0).then(|| sum / divisor)
        };
        columns.into_iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_columns() {
        let grid = Grid::new(100, 110);
        assert_eq!((grid.step, grid.columns), (1, 10));
        let at = |second: i64| At(second * SECOND + 5);
        assert_eq!(
            (
                grid.column(at(99)),
                grid.column(at(109)),
                grid.column(at(110))
            ),
            (None, Some(9), None)
        );
        let values = [(at(100), Some(1.0)), (at(102), None), (at(109), Some(4.0))];
        let filled = grid.fill(How::Mean, values.into_iter());
        assert_eq!(
            (filled[0], filled[2], filled[9]),
            (Some(1.0), None, Some(4.0))
        );
        assert_eq!(grid.share(At(105 * SECOND)), 0.5);
        assert_eq!(grid.share(At(0)), 0.0);
    }

    #[test]
    fn a_long_time_has_longer_columns() {
        let day = Grid::new(0, 86_400);
        assert_eq!((day.step, day.columns), (120, 720));
        let year = Grid::new(0, 365 * 86_400);
        assert!(year.columns <= 841 && year.columns > 400, "{year:?}");
        let grid = Grid::new(0, 1000);
        assert_eq!(grid.step, 2);
        let values = || [(At(0), Some(1.0)), (At(SECOND), Some(3.0))].into_iter();
        let of = |how| grid.fill(how, values())[0];
        assert_eq!(
            [of(How::Mean), of(How::Max), of(How::Min)],
            [Some(2.0), Some(3.0), Some(1.0)]
        );
    }
}
