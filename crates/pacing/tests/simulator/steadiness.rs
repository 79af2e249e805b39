//! At a constant load the rate is constant: nothing swings.
//!
//! Measured from two seconds after the beginning, when a disk is known, through four fifths of the
//! write phase, for towards its end the rate rises: the last pages are to be out a margin before
//! the moment they come. The highest rate against the lowest, in pages, and what reached the disk
//! in each second against the mean.

use proptest::prelude::*;

use crate::cases::{Case, ORDINARY, cases, config, disks};
use crate::disk::Shape;
use crate::world::{Outcome, PLANNED, Scenario, page, run};

const SETTLED: f64 = 2.0;
/// Margins before the end of the phase.
const ENDING: f64 = 5.0;
/// The rate: highest over lowest.
const RATE: f64 = 1.35;
/// Bytes in a second: from the mean.
const BYTES: f64 = 0.25;

/// The highest rate over the lowest, and the largest deviation of a second's bytes from the mean.
fn swing(scenario: &Scenario, outcome: &Outcome) -> (f64, f64) {
    let span = SETTLED..scenario.phase - ENDING * scenario.margin();
    let notes: Vec<_> = outcome
        .notes
        .iter()
        .filter(|note| span.contains(&note.at))
        .collect();
    // In pages: a model that gets better changes what a page costs, and the rate with it.
    let rates = notes
        .iter()
        .map(|note| note.rate / note.device.cost(page()));
    let highest = rates.clone().fold(0.0, f64::max);
    let lowest = rates.fold(f64::INFINITY, f64::min);
    let seconds: Vec<f64> = notes
        .windows(11)
        .map(|second| second[10].landed - second[0].landed)
        .collect();
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let most = seconds
        .iter()
        .map(|bytes| (bytes / mean - 1.0).abs())
        .fold(0.0, f64::max);
    (highest / lowest, most)
}

fn is_steady(scenario: &Scenario) -> Result<(), String> {
    let (rate, bytes) = swing(scenario, &run(scenario, PLANNED));
    if rate <= RATE && bytes <= BYTES {
        Ok(())
    } else {
        Err(format!("rate {rate}, bytes {bytes}"))
    }
}

/// All pages random: what reaches the disk is as even as what it costs.
fn even(case: Case) -> Case {
    Case {
        sequential: 0.0,
        phase: 15.0,
        ..case
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_constant_load_is_issued_at_a_constant_rate(
        case in cases(disks(100.0..100e3, &[Shape::Sum, Shape::Larger, Shape::Capped]), 0.6, 0.9)
    ) {
        let case = even(Case { work: case.work.max(0.2), ..case });
        prop_assert_eq!(is_steady(&case.warm()), Ok(()));
    }
}

#[test]
fn the_check_finds_who_swings() {
    let case = even(ORDINARY);
    assert_eq!(is_steady(&case.warm()), Ok(()));
    // A target below what a commit takes beside one page: the brake hunts.
    let nervous = Scenario {
        target_delay: 0.0001,
        commits_per_second: 150.0,
        ..case.warm()
    };
    assert!(is_steady(&nervous).is_err());
}
