//! Which disks and loads the properties are held against.
//!
//! *Reads and writes:* nothing. *Never:* runs anything.

use pacing::device::Device;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::checkpoint::{BLOCK, pages};
use crate::disk::{Ability, Shape};
use crate::world::Scenario;

/// What a case is made of; shares are of the disk's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) disk: Ability,
    pub(crate) slots: usize,
    /// Of the checkpoint, while its write phase lasts.
    pub(crate) work: f64,
    /// Part of that which is written in one piece.
    pub(crate) sequential: f64,
    pub(crate) commits: f64,
    pub(crate) phase: f64,
    pub(crate) seed: u64,
    pub(crate) most_pages: f64,
}

/// More pages tell no more, and take their time.
pub(crate) const MOST_PAGES: f64 = 12_000.0;
/// More commits neither.
const MOST_COMMITS: f64 = 1000.0;

const ENOUGH_COMMITS: f64 = 400.0;

/// A slow disk with 400 operations or 20 MB per second, half busy with random pages for ten seconds.
pub(crate) const ORDINARY: Case = Case {
    disk: Ability {
        operations: 400.0,
        bytes: 20e6,
        shape: Shape::Sum,
    },
    slots: usize::MAX,
    work: 0.5,
    sequential: 0.0,
    commits: 0.2,
    phase: 10.0,
    seed: 1,
    most_pages: MOST_PAGES,
};

impl Case {
    /// A flusher that knows the disk.
    pub(crate) fn warm(&self) -> Scenario {
        let model = Device::with(self.disk.operations, self.disk.bytes);
        Scenario {
            model,
            ..self.cold()
        }
    }

    /// A flusher that knows nothing.
    pub(crate) fn cold(&self) -> Scenario {
        let disk = self.disk;
        let per_second = self.commits / (disk.time(BLOCK) + disk.time(0.0));
        // Of fewer commits the 99th percentile is the longest, which is chance.
        let phase = self.phase.max(ENOUGH_COMMITS / per_second);
        let seconds = self.work * phase;
        let random = seconds * (1.0 - self.sequential) / disk.time(BLOCK);
        let sequential = seconds * self.sequential / disk.time(64.0 * BLOCK) * 64.0;
        Scenario {
            disk,
            slots: self.slots,
            change: None,
            commits_per_second: per_second.min(MOST_COMMITS),
            pages: pages(
                random.min(self.most_pages) as usize,
                sequential.min(self.most_pages) as u32,
                self.seed,
            ),
            phase,
            rest: 3.0,
            target_delay: 0.02,
            model: Device::new(),
            seed: self.seed,
        }
    }
}

/// Operations per second, evenly over the orders of magnitude; and the size at which bytes cost
/// as much as the operation.
pub(crate) fn disks(
    operations: std::ops::Range<f64>,
    shapes: &'static [Shape],
) -> impl Strategy<Value = Ability> {
    let exponents = operations.start.log10()..operations.end.log10();
    (exponents, 15.0..20.0, prop::sample::select(shapes)).prop_map(|(exponent, size, shape)| {
        let operations = 10_f64.powf(exponent);
        Ability {
            operations,
            bytes: operations * 2_f64.powf(size),
            shape,
        }
    })
}

/// Cases for a disk, with a share of checkpoint and commits below these.
pub(crate) fn cases(
    disk: impl Strategy<Value = Ability>,
    work: f64,
    all: f64,
) -> impl Strategy<Value = Case> {
    let slots = prop_oneof![Just(usize::MAX), 16_usize..256];
    (
        (disk, slots, 0.05..work, 0.05..0.3, any::<u32>()),
        prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        6.0..15.0,
    )
        .prop_map(
            move |((disk, slots, work, commits, seed), sequential, phase)| Case {
                disk,
                slots,
                work,
                sequential,
                commits: f64::min(commits, all - work),
                phase,
                seed: u64::from(seed),
                most_pages: MOST_PAGES,
            },
        )
}

/// So many cases, always the same ones: a check of other people's changes must not fail by chance.
/// With PROPTEST_CASES as many as it says, and others each time: to look for what is left.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        config
    } else {
        ProptestConfig {
            cases,
            rng_seed: RngSeed::Fixed(1),
            ..config
        }
    }
}
