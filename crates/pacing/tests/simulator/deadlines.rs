//! All of a checkpoint is on the disk by its deadline, where the disk can do it.
//!
//! "Can": the flusher's part is below the share it takes of a device (0.7), cut runs included,
//! and with the commits' below 0.9. The deadline is the end of the write phase, for its last pages
//! come then; half a second and four operations more are given to those.

use proptest::prelude::*;

use crate::cases::{Case, ORDINARY, cases, config, disks};
use crate::checkpoint::BLOCK;
use crate::disk::Shape;
use crate::world::{FOLLOWER, Faults, PLANNED, Policy, SOUND, Scenario, run};

const GRACE: f64 = 0.5;

/// Seconds too late; below zero is in time.
fn lateness(scenario: &Scenario, policy: Policy) -> f64 {
    let grace = GRACE + 4.0 * scenario.disk.time(2.0 * BLOCK);
    run(scenario, policy).over - scenario.phase - grace
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_known_disk_is_given_all_in_time(
        case in cases(disks(50.0..500e3, &[Shape::Sum, Shape::Larger, Shape::Capped]), 0.55, 0.85)
    ) {
        prop_assert!(lateness(&case.warm(), PLANNED) <= 0.0);
    }

    #[test]
    fn so_is_one_that_nothing_is_known_of(
        case in cases(disks(50.0..500e3, &[Shape::Sum, Shape::Larger, Shape::Capped]), 0.4, 0.7)
    ) {
        prop_assert!(lateness(&case.cold(), PLANNED) <= 0.0);
    }
}

/// An ordinary slow disk, half busy.
fn ordinary() -> Scenario {
    let case = Case {
        sequential: 0.3,
        ..ORDINARY
    };
    case.warm()
}

#[test]
fn the_check_finds_who_is_late() {
    assert!(lateness(&ordinary(), PLANNED) <= 0.0);
    assert!(lateness(&ordinary(), FOLLOWER) <= 0.0);
    let late = Policy::Lane(Faults {
        later: 2.0,
        ..SOUND
    });
    assert!(lateness(&ordinary(), late) > 0.0);
}
