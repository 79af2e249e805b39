//! The histogram against its definition and against an independent implementation.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use hdrhistogram::Histogram;
use proptest::prelude::*;
use statseg::histogram::{BUCKETS, LIMIT, bounds, index, percentile, representative};

#[test]
fn the_buckets_cover_all_numbers_without_gap_or_overlap() {
    assert_eq!(bounds(0), (0, 0));
    for bucket in 1..BUCKETS {
        assert_eq!(
            bounds(bucket).0,
            bounds(bucket - 1).1 + 1,
            "bucket {bucket}"
        );
    }
    assert_eq!(bounds(BUCKETS - 1).1, u64::MAX);
    assert_eq!(index(LIMIT - 1), BUCKETS - 1);
    assert_eq!(index(LIMIT), BUCKETS - 1);
    assert_eq!(index(u64::MAX), BUCKETS - 1);
    for bucket in 0..BUCKETS {
        let (low, high) = bounds(bucket);
        assert_eq!((index(low), index(high)), (bucket, bucket));
    }
}

#[test]
fn the_range_is_the_one_promised() {
    let (microsecond, hour) = (1_000, 3_600_000_000_000);
    assert!(hour < LIMIT);
    for value in [microsecond, hour] {
        let (low, high) = bounds(index(value));
        assert!((high - low) as f64 <= value as f64 / 8.0);
    }
}

#[test]
fn nothing_recorded_has_no_percentile() {
    assert_eq!(percentile(&[], 0.5, None, None), None);
    assert_eq!(percentile(&[0; BUCKETS], 0.5, Some(1), Some(2)), None);
}

#[test]
fn numbers_of_a_foreign_segment_do_no_harm() {
    let absurd = [u64::MAX; BUCKETS];
    for q in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -1.0,
        0.0,
        1.0,
        2.0,
    ] {
        assert!(percentile(&absurd, q, Some(9), Some(3)).is_some());
    }
    // More buckets than there are.
    assert!(percentile(&[1; 1000], 1.0, None, None).is_some());
}

#[test]
fn one_value_is_exact() {
    for value in [0, 7, 8, 1_000_003, LIMIT * 3] {
        let mut buckets = vec![0; BUCKETS];
        buckets[index(value)] = 5;
        for q in [0.0, 0.5, 1.0] {
            assert_eq!(
                percentile(&buckets, q, Some(value), Some(value)),
                Some(value)
            );
        }
    }
}

fn value() -> impl Strategy<Value = u64> {
    // Every octave alike: a plain range would test large numbers only.
    (0..42u32, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1) | 1 << bits >> 1)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_representative_is_within_a_sixteenth(value in value()) {
        let (low, high) = bounds(index(value));
        prop_assert!(low <= value && value <= high);
        let error = representative(index(value)).abs_diff(value);
        prop_assert!(error * 16 <= value, "{value}: {error}");
    }

    #[test]
    fn percentiles_agree_with_hdrhistogram(
        values in prop::collection::vec(value(), 1..500),
        q in prop_oneof![0.0..=1.0f64, Just(0.0), Just(0.5), Just(0.99), Just(0.999), Just(1.0)],
    ) {
        let mut theirs = Histogram::<u64>::new_with_bounds(1, LIMIT, 3).unwrap();
        let mut ours = vec![0; BUCKETS];
        for value in &values {
            theirs.record(*value).unwrap();
            ours[index(*value)] += 1;
        }
        let (min, max) = (values.iter().min().copied(), values.iter().max().copied());
        let found = percentile(&ours, q, min, max).unwrap();
        let expected = theirs.value_at_quantile(q);
        // Half a bucket of ours (6.25 %) and one of theirs (3 digits: 0.1 %).
        let allowed = expected as f64 * (0.0625 + 0.001) + 1.0;
        prop_assert!(
            (found as f64 - expected as f64).abs() <= allowed,
            "{found}, expected {expected}"
        );
    }

    #[test]
    fn percentiles_grow(values in prop::collection::vec(value(), 1..100)) {
        let mut buckets = vec![0; BUCKETS];
        for value in &values {
            buckets[index(*value)] += 1;
        }
        let (min, max) = (values.iter().min().copied(), values.iter().max().copied());
        let all: Vec<u64> =
            (0..=20).map(|i| percentile(&buckets, f64::from(i) / 20.0, min, max).unwrap()).collect();
        prop_assert!(all.is_sorted(), "{all:?}");
        prop_assert!(all[0] >= min.unwrap() && all[20] <= max.unwrap());
    }
}
