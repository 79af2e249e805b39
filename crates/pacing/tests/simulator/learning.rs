//! A wrong model, and a disk that becomes another one, are corrected within two seconds.
//!
//! Wrong by four times, either way, while there is work enough to tell: a wrong model of an idle
//! disk does no harm, and nothing shows it. Corrected: a page is costed within half and one and a
//! half times of what it takes.

use pacing::device::Device;
use proptest::prelude::*;

use crate::cases::{Case, ORDINARY, cases, config, disks};
use crate::disk::{Ability, Shape};
use crate::world::{Faults, PLANNED, Policy, SOUND, Scenario, page, run};

const WITHIN: f64 = 2.0;
const CHANGE: f64 = 6.0;
const RIGHT: std::ops::RangeInclusive<f64> = 0.6..=1.6;

/// What a page is thought to cost at that moment, over what it takes.
fn error(scenario: &Scenario, truth: &Ability, policy: Policy, at: f64) -> f64 {
    let outcome = run(scenario, policy);
    let note = outcome.notes.iter().find(|note| note.at >= at).unwrap();
    note.device.cost(page()) / truth.time(page().bytes)
}

/// Busy: all pages random.
fn busy(case: Case, work: f64) -> Case {
    Case {
        sequential: 0.0,
        phase: 12.0,
        work,
        commits: 0.1,
        // It must be busy all the time.
        most_pages: 1e6,
        ..case
    }
}

fn slow_or_fast() -> impl Strategy<Value = Case> {
    cases(disks(100.0..2000.0, &[Shape::Sum, Shape::Larger]), 0.6, 0.8)
}

proptest! {
    #![proptest_config(config(30))]

    /// Four times too slow, and held back by it: the disk is not saturated and shows no limit.
    #[test]
    fn a_model_that_is_too_slow_is_corrected(case in slow_or_fast()) {
        let case = busy(case, 0.6);
        let truth = case.disk;
        let scenario = Scenario { model: believed(&case.disk, 0.25), ..case.warm() };
        let error = error(&scenario, &truth, PLANNED, WITHIN);
        prop_assert!(RIGHT.contains(&error), "{error}");
    }

    /// Four times too fast, on a disk that is asked for more than it does.
    #[test]
    fn a_model_that_is_too_fast_is_corrected(case in slow_or_fast()) {
        let case = busy(case, 1.2);
        let truth = case.disk;
        let scenario = Scenario { model: believed(&truth, 4.0), ..case.warm() };
        let error = error(&scenario, &truth, PLANNED, WITHIN);
        prop_assert!(RIGHT.contains(&error), "{error}");
    }

    /// A volume out of credits, in the middle of a checkpoint.
    #[test]
    fn a_disk_that_slows_down_is_learned_anew(case in slow_or_fast()) {
        let case = busy(case, 0.5);
        let truth = case.disk.faster(0.25);
        let scenario = Scenario { change: Some((CHANGE, truth)), ..case.warm() };
        let error = error(&scenario, &truth, PLANNED, CHANGE + WITHIN);
        prop_assert!(RIGHT.contains(&error), "{error}");
    }

    /// And one that gets faster, while what was not done is waiting.
    #[test]
    fn a_disk_that_speeds_up_is_learned_anew(case in slow_or_fast()) {
        let case = busy(case, 2.5);
        let truth = case.disk.faster(4.0);
        let scenario = Scenario { change: Some((CHANGE, truth)), ..case.warm() };
        let error = error(&scenario, &truth, PLANNED, CHANGE + WITHIN);
        prop_assert!(RIGHT.contains(&error), "{error}");
    }
}

fn believed(truth: &Ability, factor: f64) -> Device {
    Device::with(truth.operations * factor, truth.bytes * factor)
}

#[test]
fn the_check_finds_who_does_not_learn() {
    let case = Case {
        work: 0.6,
        commits: 0.1,
        phase: 12.0,
        ..ORDINARY
    };
    let truth = case.disk;
    let scenario = Scenario {
        model: believed(&truth, 0.25),
        ..case.warm()
    };
    assert!(RIGHT.contains(&error(&scenario, &truth, PLANNED, WITHIN)));
    let blind = Policy::Lane(Faults {
        no_learning: true,
        ..SOUND
    });
    assert!(!RIGHT.contains(&error(&scenario, &truth, blind, WITHIN)));
}
