//! What commits wait for because of us stays within twice the target.
//!
//! Measured is the 99th percentile of all commits of the write phase, less what it is on the same
//! disk with nobody but the commits. A commit is two operations, one after the other, and each may
//! find before it what the gate lets through, which takes the target. Where a single issue takes
//! longer than that, because two pages or a run of 256 kB always go, it is what four of them take:
//! a commit may have to wait for the flush of the commit before. A disk of 50 operations a second
//! has no better to give.

use pacing::device::Device;
use proptest::prelude::*;

use crate::cases::{Case, MOST_PAGES, cases, config, disks};
use crate::checkpoint::{BLOCK, pages};
use crate::disk::{Ability, Shape};
use crate::world::{FOLLOWER, Faults, PLANNED, Policy, SOUND, Scenario, run};

/// The longest single issue: two pages, or a run that is not cut any further.
fn grain(scenario: &Scenario) -> f64 {
    let disk = &scenario.disk;
    let run = (4.0 * disk.bytes / disk.operations).min(262_144.0);
    disk.time(run).max(2.0 * disk.time(BLOCK))
}

/// What the bound is exceeded by, in seconds.
fn excess(scenario: &Scenario, policy: Policy) -> f64 {
    let alone = run(scenario, Policy::Nobody).p99();
    let beside = run(scenario, policy).percentile(99.0, 0.0, scenario.phase);
    // A volume with a cap looks idle below it, is taken for twice as fast, and given twice as much.
    let gates = if scenario.disk.shape == Shape::Capped {
        4.0
    } else {
        2.0
    };
    beside - alone - (gates * scenario.target_delay).max(4.0 * grain(scenario))
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn commits_wait_no_longer_than_promised(
        case in cases(disks(50.0..500e3, &[Shape::Sum, Shape::Larger, Shape::Capped]), 0.6, 0.9)
    ) {
        let scenario = case.warm();
        prop_assume!(scenario.share() < 0.9);
        let excess = excess(&scenario, PLANNED);
        prop_assert!(excess <= 0.0, "{} ms too long", excess * 1e3);
    }
}

fn busy(operations: f64) -> Scenario {
    let disk = Ability {
        operations,
        bytes: operations * 51_200.0,
        shape: Shape::Sum,
    };
    let case = Case {
        disk,
        slots: usize::MAX,
        work: 0.6,
        sequential: 0.5,
        commits: 0.2,
        phase: 10.0,
        seed: 1,
        most_pages: MOST_PAGES,
    };
    case.warm()
}

#[test]
fn the_check_finds_who_makes_them_wait() {
    for operations in [400.0, 3000.0] {
        let scenario = busy(operations);
        assert!(excess(&scenario, PLANNED) <= 0.0);
        assert!(excess(&scenario, Policy::Core) > 0.0);
        // As fast as it can, by a model that is still to be learned; with the gate and without.
        let cold = Scenario {
            model: Device::new(),
            ..scenario
        };
        assert!(excess(&cold, FOLLOWER) > 0.0);
        let reckless = Policy::Lane(Faults {
            no_gate: true,
            no_brake: true,
            no_learning: true,
            later: -1000.0,
            ..SOUND
        });
        assert!(excess(&cold, reckless) > 0.0);
    }
}

/// A device that never shows its limit, as where nothing counts its queue: only commits tell.
#[test]
fn the_brake_is_the_last_defence() {
    let unseen = Faults {
        no_learning: true,
        ..SOUND
    };
    let unbraked = Faults {
        no_brake: true,
        ..unseen
    };
    let right = busy(3000.0);
    let wrong = Scenario {
        model: Device::with(right.disk.operations * 4.0, right.disk.bytes * 4.0),
        pages: pages(25_000, 0, 1),
        ..right
    };
    let median = |faults| run(&wrong, Policy::Lane(faults)).percentile(50.0, 1.0, 9.0);
    let (with, without) = (median(unseen), median(unbraked));
    assert!(with < 0.75 * without, "{with} {without}");
}

/// Of a device that nothing is known of, how long what was issued takes is all there is to go by.
#[test]
fn the_gate_holds_where_nothing_is_known() {
    let hasty = Faults {
        no_learning: true,
        no_brake: true,
        later: -1000.0,
        ..SOUND
    };
    let ungated = Faults {
        no_gate: true,
        ..hasty
    };
    for operations in [400.0, 3000.0] {
        let scenario = Scenario {
            model: Device::new(),
            ..busy(operations)
        };
        let p99 = |faults| run(&scenario, Policy::Lane(faults)).p99();
        let (with, without) = (p99(hasty), p99(ungated));
        assert!(with < 0.6 * without, "{with} {without}");
    }
}
