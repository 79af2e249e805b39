//! How long one update of a statistic takes at worst, beside whatever else the machine does.
//!
//! `cargo bench -p statseg --bench latency [-- SECONDS]`, for example while `bench/lab/run` has a
//! disk saturated. "nothing" is the same loop without the update: the clock, and the scheduler,
//! which takes the processor away from both.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use hdrhistogram::Histogram;
use statseg::Metric;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::Dir;

/// The times between readings of the clock, with what is done between them.
fn times(length: Duration, mut step: impl FnMut(u64)) -> Histogram<u64> {
    let mut times = Histogram::<u64>::new(3).unwrap();
    let begun = Instant::now();
    let mut n = 1u64;
    while begun.elapsed() < length {
        let mut last = Instant::now();
        for _ in 0..1000 {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            step(n >> 24);
            let now = Instant::now();
            times
                .record(u64::try_from((now - last).as_nanos()).unwrap())
                .unwrap();
            // What the histogram takes is not counted.
            last = Instant::now();
        }
    }
    times
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let length = Duration::from_secs(seconds.unwrap_or(20));
    let dir = Dir::new();
    let segment = dir.create();
    println!("| between two readings of the clock | median, ns | p99 | p99.99 | longest | times |");
    println!("|---|---|---|---|---|---|");
    for round in 0..3 {
        let statistic = segment.statistic(Metric::FileSyncTime);
        for (name, times) in [
            ("nothing", times(length, |n| _ = black_box(n))),
            ("an update", times(length, |n| statistic.record(n))),
        ] {
            let [median, p99, p9999] = [0.5, 0.99, 0.9999].map(|q| times.value_at_quantile(q));
            let (longest, count) = (times.max(), times.len());
            println!("| {name}, {round} | {median} | {p99} | {p9999} | {longest} | {count} |");
        }
    }
}
