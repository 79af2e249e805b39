//! Commits are never worse off than with checkpoint_flush_after = 256kB, on any disk.
//!
//! The same pages, the same commits, the same disk, below three quarters of its time. The flusher
//! knows the disk, or begins knowing nothing and has two seconds to learn. The 99th percentile may
//! be 15 % and three operations higher: where core's chunks are so few that they do not reach into
//! that percentile, pages spread evenly meet more commits, each for a page's time; and a slow disk's
//! runs are cut shorter than core's, which costs it some percent.

use proptest::prelude::*;

use crate::cases::{Case, ORDINARY, cases, config, disks};
use crate::checkpoint::BLOCK;
use crate::disk::Shape;
use crate::world::{Faults, PLANNED, Policy, Scenario, run};

/// Learned by then.
const LEARNED: f64 = 2.0;

/// What we are worse by from a moment on, in seconds, beyond what is tolerated.
fn worse(scenario: &Scenario, policy: Policy, from: f64) -> f64 {
    let p99 = |policy| run(scenario, policy).percentile(99.0, from, f64::INFINITY);
    p99(policy) - 1.15 * p99(Policy::Core) - 3.0 * scenario.disk.time(BLOCK)
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn a_flusher_that_knows_the_disk_is_never_worse(
        case in cases(disks(50.0..500e3, &[Shape::Sum, Shape::Larger, Shape::Capped]), 0.5, 0.75)
    ) {
        prop_assert!(worse(&case.warm(), PLANNED, 0.0) <= 0.0);
    }

    #[test]
    fn nor_is_one_that_has_to_learn_it(
        case in cases(disks(50.0..500e3, &[Shape::Sum, Shape::Larger, Shape::Capped]), 0.5, 0.75)
    ) {
        prop_assert!(worse(&case.cold(), PLANNED, LEARNED) <= 0.0);
    }
}

#[test]
fn the_check_finds_who_is_worse() {
    let case = Case {
        work: 0.4,
        ..ORDINARY
    };
    assert!(worse(&case.cold(), PLANNED, LEARNED) <= 0.0);
    // Put off beyond the end of the phase, then thrown out.
    let hoard = Policy::Lane(Faults {
        no_gate: true,
        no_learning: true,
        no_forecast: true,
        no_brake: true,
        later: 1.0,
    });
    assert!(worse(&case.cold(), hoard, LEARNED) > 0.0);
}
