//! Properties that the forecast of settings must have for every load.

use pacing::outlook::{Cycle, Images, Load, Outlook, Second, Setting};
use proptest::prelude::*;

const MB: f64 = 1048576.0;

/// Any seconds and cycles, sensible or not.
fn load() -> impl Strategy<Value = Load> {
    let second =
        (0.0..2000.0, 0.0..500.0 * MB).prop_map(|(age, wal_bytes)| Second { age, wal_bytes });
    let cycle = (1.0..3600.0, 0.0..1.0, 0.0..1e6).prop_map(|(seconds, share, pages)| Cycle {
        seconds,
        write_seconds: seconds * share,
        pages,
    });
    let images = prop_oneof![
        Just(Images::Plain),
        Just(Images::Compressed),
        Just(Images::Absent)
    ];
    let parts = (
        prop::collection::vec(second, 10..200),
        prop::collection::vec(cycle, 1..20),
        images,
        16.0..1e7,
    );
    parts.prop_filter_map("no load", |(seconds, cycles, images, pool)| {
        Load::measure(&seconds, &cycles, images, pool)
    })
}

fn setting() -> impl Strategy<Value = Setting> {
    (30.0..86400.0, 0.0..=1.0, 2.0..65536.0).prop_map(|(timeout, target, segments)| Setting {
        timeout,
        target,
        max_wal_bytes: f64::floor(segments) * 16.0 * MB,
        min_wal_bytes: 80.0 * MB,
        segment_bytes: 16.0 * MB,
    })
}

fn numbers(it: &Outlook) -> [f64; 7] {
    [
        it.interval,
        it.write_seconds,
        it.pages,
        it.write_rate.unwrap_or(0.0),
        it.wal_rate,
        it.wal_disk,
        it.redo,
    ]
}

/// Not above, but for what bisection leaves.
fn at_most(one: f64, other: f64) -> bool {
    one <= other * (1.0 + 1e-6) + 1e-6
}

proptest! {
    #[test]
    fn every_number_is_one(load in load(), setting in setting()) {
        let it = load.under(&setting);
        for number in numbers(&it) {
            prop_assert!(number.is_finite() && number >= 0.0, "{it:?}");
        }
        prop_assert!(it.write_seconds <= it.interval && it.interval <= setting.timeout);
    }

    #[test]
    fn time_passes_and_wal_and_pages_grow(
        load in load(), t in 0.0..1e5, more in 0.0..1e5, share in 0.0..=1.0,
    ) {
        let pages = |t: f64| load.pages(t, share * t);
        prop_assert!(at_most(load.wal(t), load.wal(t + more)));
        prop_assert!(at_most(pages(t), pages(t + more)));
        // Longer intervals are cheaper: WAL and pages per second fall.
        let (short, long) = (t + 1.0, t + 1.0 + more);
        prop_assert!(at_most(load.wal(long) / long, load.wal(short) / short));
        prop_assert!(at_most(pages(long) / long, pages(short) / short));
    }

    #[test]
    fn reaching_is_the_inverse_of_the_wal(load in load(), bytes in 1.0..1e12) {
        let t = load.wal_reaches(bytes);
        if t.is_finite() {
            prop_assert!((load.wal(t) - bytes).abs() <= bytes * 1e-3 + 1.0);
        } else {
            prop_assert!(load.wal(1e9) <= bytes);
        }
    }

    #[test]
    fn a_longer_timeout_means_fewer_checkpoints_and_more_to_replay(
        load in load(), setting in setting(), factor in 1.0..10.0,
    ) {
        let longer = Setting { timeout: setting.timeout * factor, ..setting };
        let (one, other) = (load.under(&setting), load.under(&longer));
        prop_assert!(at_most(one.interval, other.interval));
        if !other.by_wal {
            prop_assert!(at_most(one.pages, other.pages));
        }
        prop_assert!(at_most(one.redo, other.redo));
        prop_assert!(at_most(other.wal_rate, one.wal_rate));
        if !other.by_wal && other.write_seconds >= setting.target * longer.timeout * 0.999 {
            let rate = |it: &Outlook| it.write_rate.unwrap_or(f64::INFINITY);
            prop_assert!(at_most(rate(&other), rate(&one)));
        }
    }

    #[test]
    fn more_wal_means_fewer_checkpoints(load in load(), setting in setting(), factor in 1.0..10.0) {
        let more = Setting { max_wal_bytes: setting.max_wal_bytes * factor, ..setting };
        let (one, other) = (load.under(&setting), load.under(&more));
        prop_assert!(at_most(one.interval, other.interval));
        prop_assert!(at_most(one.wal_disk, other.wal_disk));
        prop_assert!(one.by_wal || !other.by_wal);
    }

    #[test]
    fn the_advised_size_is_enough(load in load(), setting in setting()) {
        let there = Setting { max_wal_bytes: load.max_wal_for(&setting), ..setting };
        prop_assert!(!load.under(&there).by_wal);
    }
}
