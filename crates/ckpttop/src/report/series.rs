//! What of a recording is plotted, by column.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* draws time where it did not pass: see [`commands`].

use super::grid::{Grid, How};
use crate::recording::read::{Passed, Recording};
use crate::value::At;
use crate::views::timeline::Second;
use std::collections::BTreeMap;

/// A value for each column; `None`: not known.
pub(super) type Values = Vec<Option<f64>>;

/// Who is one process, and always there: found once at each look of the monitor.
const SINGLE: [&str; 3] = ["checkpointer", "background writer", "walwriter"];
const CLIENT: &str = "client backend";
const SECOND: f64 = 1e6;

/// A figure of the timeline.
pub(super) fn seconds(
    recording: &Recording,
    grid: &Grid,
    how: How,
    figure: impl Fn(&Second) -> Option<f64>,
) -> Values {
    let rows = recording.seconds.values();
    grid.fill(how, rows.map(|row| (row.at, figure(row))))
}

/// Amounts of something over the time in which it was counted.
struct Amounts {
    grid: Grid,
    amounts: Vec<f64>,
    /// Seconds of each column that were looked at.
    covered: Vec<f64>,
}

impl Amounts {
    fn new(grid: &Grid) -> Self {
        Self {
            grid: *grid,
            amounts: vec![0.0; grid.columns],
            covered: vec![0.0; grid.columns],
        }
    }

    /// An amount that came up evenly between two moments.
    fn add(&mut self, from: At, to: At, amount: f64) {
        let width = self.grid.step * SECOND as i64;
        let begin = self.grid.from().0;
        let first = (from.0 - begin).div_euclid(width).max(0);
        let last = (to.0 - begin - 1).div_euclid(width);
        let length = (to.0 - from.0).max(1) as f64;
        for number in first..=last {
            let Some(index) = usize::try_from(number)
                .ok()
                .filter(|i| *i < self.amounts.len())
            else {
                break;
            };
            let start = begin + number * width;
            let overlap = (to.0.min(start + width) - from.0.max(start)).max(0) as f64;
            self.amounts[index] += amount * overlap / length;
            self.covered[index] += overlap / SECOND;
        }
    }

    /// The amount per second; `None` where less than half of a column was looked at.
    fn per_second(&self) -> Values {
        let enough = self.grid.step as f64 / 2.0;
        let columns = self.amounts.iter().zip(&self.covered);
        columns
            .map(|(amount, covered)| (*covered >= enough).then(|| amount / covered))
            .collect()
    }
}

/// The monitor publishes waits at the end of each second: looks in between have those of whole
/// seconds.
fn whole_seconds(passed: &Passed) -> (At, At) {
    let second = SECOND as i64;
    let down = |at: At| At(at.0 - at.0.rem_euclid(second));
    if passed.to.0 - passed.from.0 >= second * 9 / 10 && down(passed.from) < down(passed.to) {
        (down(passed.from), down(passed.to))
    } else {
        (passed.from, passed.to)
    }
}

/// How often the monitor looked.
fn looks(recording: &Recording, passed: &Passed) -> Option<f64> {
    let found = SINGLE.iter().map(|kind| {
        let of_kind = passed.waits.iter().filter(|(place, _)| {
            let key = recording.wait_keys.get(*place);
            key.is_some_and(|key| key.0 == *kind)
        });
        of_kind.map(|(_, samples)| *samples).sum::<u64>()
    });
    found
        .max()
        .filter(|looks| *looks > 0)
        .map(|looks| looks as f64)
}

/// Client backends by the type of what they wait for, on average; "running" without a wait.
pub(super) fn waits(recording: &Recording, grid: &Grid) -> BTreeMap<String, Values> {
    let mut types: BTreeMap<String, Amounts> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    for (kind, of, _) in &recording.wait_keys {
        let name = of.as_deref().unwrap_or("running");
        if kind == CLIENT && !names.contains(&name) {
            names.push(name);
        }
    }
    for name in &names {
        types.insert((*name).to_owned(), Amounts::new(grid));
    }
    for passed in &recording.passed {
        let Some(looks) = looks(recording, passed) else {
            continue;
        };
        let (from, to) = whole_seconds(passed);
        let length = (to.0 - from.0) as f64 / SECOND;
        for (name, amounts) in &mut types {
            let samples = passed.waits.iter().filter(|(place, _)| {
                let key = recording.wait_keys.get(*place);
                key.is_some_and(|(kind, of, _)| {
                    kind == CLIENT && of.as_deref().unwrap_or("running") == name
                })
            });
            let samples: u64 = samples.map(|(_, samples)| samples).sum();
            amounts.add(from, to, samples as f64 / looks * length);
        }
    }
    let values = types.into_iter();
    values.map(|(name, it)| (name, it.per_second())).collect()
}

/// Client backends by command, on average: the time of the commands by the time that passed.
///
/// A command is counted when it ends. What took longer than a column is put into the columns
/// before, too: no column has more backends than were found there. Without that, the end of a
/// stall would show its whole length in one moment.
pub(super) fn commands(recording: &Recording, grid: &Grid) -> BTreeMap<String, Values> {
    let mut sums: BTreeMap<String, Amounts> = BTreeMap::new();
    for passed in &recording.passed {
        for (command, ..) in &passed.commands {
            if !sums.contains_key(command) {
                sums.insert(command.clone(), Amounts::new(grid));
            }
        }
    }
    for passed in &recording.passed {
        for (command, amounts) in &mut sums {
            let own = passed.commands.iter().filter(|row| row.0 == *command);
            let ms: f64 = own.map(|row| row.3).sum();
            amounts.add(passed.from, passed.to, ms / 1e3);
        }
    }
    let mut values: BTreeMap<String, Values> = sums
        .into_iter()
        .map(|(name, amounts)| (name, amounts.per_second()))
        .collect();
    level(&mut values, &clients(&waits(recording, grid), grid));
    values
}

/// Client backends that were found, waiting or not.
fn clients(waits: &BTreeMap<String, Values>, grid: &Grid) -> Values {
    let sum = |column: usize| {
        let found = waits.values().filter_map(|values| values[column]);
        found.fold(None, |sum: Option<f64>, value| {
            Some(sum.unwrap_or(0.0) + value)
        })
    };
    (0..grid.columns).map(sum).collect()
}

/// Moves what a column has too much to the columns before it.
fn level(commands: &mut BTreeMap<String, Values>, room: &Values) {
    let mut over: BTreeMap<String, f64> = BTreeMap::new();
    for column in (0..room.len()).rev() {
        let with_over = |name: &String, values: &Values| {
            values[column].map(|own| own + over.get(name).copied().unwrap_or(0.0))
        };
        let whole: BTreeMap<String, Option<f64>> = commands
            .iter()
            .map(|(name, values)| (name.clone(), with_over(name, values)))
            .collect();
        let sum: f64 = whole.values().flatten().sum();
        let Some(room) = room[column].filter(|_| sum > 0.0) else {
            continue;
        };
        let fits = (room / sum).min(1.0);
        for (name, values) in commands.iter_mut() {
            if let Some(whole) = whole.get(name).copied().flatten() {
                values[column] = Some(whole * fits);
                over.insert(name.clone(), whole * (1.0 - fits));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Recording {
        let key = |kind: &str, of: Option<&str>| {
            let of = of.map(str::to_owned);
            (kind.to_owned(), of.clone(), of)
        };
        let mut recording = Recording {
            wait_keys: vec![
                key("checkpointer", Some("Activity")),
                key(CLIENT, None),
                key(CLIENT, Some("LWLock")),
            ],
            ..Recording::default()
        };
        for second in 0..4i64 {
            let at = |second: i64| At(second * 1_000_000 + 300_000);
            recording
                .seconds
                .insert(At(second * 1_000_000), Second::default());
            // Two clients that wait; in the last second the whole time is counted.
            let time = if second == 3 { 7800.0 } else { 0.0 };
            recording.passed.push(Passed {
                from: at(second),
                to: at(second + 1),
                waits: vec![(0, 100), (1, 50), (2, 150)],
                commands: vec![("wal_flush".to_owned(), "none".to_owned(), 2, time)],
            });
        }
        recording
    }

    #[test]
    fn samples_become_backends() {
        let recording = recording();
        let grid = Grid::of(&recording).unwrap_or_else(|| unreachable!());
        let waits = waits(&recording, &grid);
        assert_eq!(waits["running"], vec![Some(0.5); 4]);
        assert_eq!(waits["LWLock"], vec![Some(1.5); 4]);
    }

    #[test]
    fn a_long_command_is_put_where_it_was() {
        let recording = recording();
        let grid = Grid::of(&recording).unwrap_or_else(|| unreachable!());
        let commands = commands(&recording, &grid);
        let sum: f64 = commands["wal_flush"].iter().flatten().sum();
        let most = commands["wal_flush"]
            .iter()
            .flatten()
            .fold(0.0, |a: f64, b| a.max(*b));
        assert!(most <= 2.0 + 1e-9, "{commands:?}");
        // All of it but for the part that was counted after the last second.
        assert!((sum - 0.7 * 7.8).abs() < 1e-9, "{commands:?}");
    }
}
