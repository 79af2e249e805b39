//! The model against loads that are known: made of its own curve, and made page by page.

use super::*;

const MB: f64 = 1048576.0;

fn setting(timeout: f64, target: f64, max_wal_mb: f64) -> Setting {
    Setting {
        timeout,
        target,
        max_wal_bytes: max_wal_mb * MB,
        min_wal_bytes: 80.0 * MB,
        segment_bytes: 16.0 * MB,
    }
}

fn near(found: f64, expected: f64, share: f64) {
    assert!(
        (found - expected).abs() <= expected.abs() * share,
        "{found} is not {expected}"
    );
}

/// Changes of pages picked at random, each with a record of 300 bytes and at the first time an
/// image, and 10 fresh pages a second; without a random number: what is expected.
struct Pages {
    pages: f64,
    changes: f64,
}

impl Pages {
    fn touched(&self, t: f64) -> f64 {
        self.pages * (1.0 - (-self.changes * t / self.pages).exp())
    }

    fn wal(&self, t: f64) -> f64 {
        self.touched(t) * 8192.0 + self.changes * 300.0 * t + 10.0 * 8192.0 * t
    }

    /// By a checkpoint whose predecessor wrote for nine tenths of the interval: step by step, from
    /// one to the next, until it is the same again.
    fn written(&self, t: f64) -> f64 {
        let seen = |t: f64| self.touched(t) / self.pages;
        let since = (0..1000).map(|x| seen(t - 0.9 * t * (f64::from(x) + 0.5) / 1000.0));
        let since = since.sum::<f64>() / 1000.0;
        let mut dirty = seen(t);
        for _ in 0..100 {
            dirty = dirty * since + (1.0 - dirty) * seen(t);
        }
        self.pages * dirty + 10.0 * t
    }

    fn seconds(&self, interval: f64) -> Vec<Second> {
        (0..3 * interval as u32)
            .map(|i| {
                let age = f64::from(i) % interval;
                // The timeline is not even: every third second has some from the next.
                let noise = [1.2, 0.9, 0.9][i as usize % 3];
                Second {
                    age: age + 0.5,
                    wal_bytes: (self.wal(age + 1.0) - self.wal(age)) * noise,
                }
            })
            .collect()
    }

    fn cycles(&self, interval: f64) -> [Cycle; 3] {
        [Cycle {
            seconds: interval,
            write_seconds: 0.9 * interval,
            pages: self.written(interval),
        }; 3]
    }

    fn load(&self, interval: f64) -> Load {
        let (seconds, cycles) = (self.seconds(interval), self.cycles(interval));
        Load::measure(&seconds, &cycles, Images::Plain, 1e6).unwrap()
    }
}

#[test]
fn other_intervals_of_a_known_load_are_forecast() {
    for changes in [50.0, 300.0, 2000.0] {
        let known = Pages {
            pages: 40_000.0,
            changes,
        };
        let load = known.load(120.0);
        for interval in [30.0, 60.0, 120.0, 240.0, 480.0] {
            near(load.wal(interval), known.wal(interval), 0.15);
            near(
                load.pages(interval, 0.9 * interval),
                known.written(interval),
                0.15,
            );
        }
    }
}

#[test]
fn time_and_volume_begin_checkpoints() {
    let known = Pages {
        pages: 20_000.0,
        changes: 500.0,
    };
    let load = known.load(120.0);
    let timed = load.under(&setting(120.0, 0.9, 4096.0));
    assert!(!timed.by_wal);
    near(timed.interval, 120.0, 1e-9);
    near(timed.write_seconds, 108.0, 1e-9);
    near(
        timed.write_rate.unwrap(),
        known.written(120.0) * 8192.0 / 108.0,
        0.05,
    );
    near(timed.redo, known.wal(120.0) + known.wal(108.0), 0.05);
    near(timed.wal_rate, known.wal(120.0) / 120.0, 0.05);
    // 64 MB are four segments, of which 4 / 1.9 = 2 are between two checkpoints.
    let small = setting(120.0, 0.9, 64.0);
    near(small.volume(), 32.0 * MB, 1e-9);
    let often = load.under(&small);
    assert!(often.by_wal);
    near(known.wal(often.interval), 32.0 * MB, 0.1);
    assert!(often.write_seconds < 0.91 * often.interval);
    assert!(often.write_rate.unwrap() > 2.0 * timed.write_rate.unwrap());
    // As fast as it can, for how long nobody knows.
    let hasty = load.under(&setting(120.0, 0.0, 4096.0));
    assert_eq!(hasty.write_rate, None);
    assert!(hasty.pages > timed.pages && hasty.pages.is_finite());
}

#[test]
fn the_advised_size_lets_time_begin_checkpoints() {
    let load = Pages {
        pages: 20_000.0,
        changes: 500.0,
    }
    .load(120.0);
    for target in [0.1, 0.5, 0.9, 1.0] {
        for timeout in [30.0, 300.0, 3600.0] {
            let small = setting(timeout, target, 64.0);
            let advised = load.max_wal_for(&small);
            near(advised % small.segment_bytes, 0.0, 1e-9);
            let there = Setting {
                max_wal_bytes: advised,
                ..small
            };
            assert!(!load.under(&there).by_wal, "{target} {timeout}");
        }
    }
}

#[test]
fn what_the_wal_does_not_tell_is_taken_from_what_was_written() {
    let known = Pages {
        pages: 40_000.0,
        changes: 300.0,
    };
    let (seconds, cycles) = (known.seconds(120.0), known.cycles(120.0));
    let as_measured = known.written(120.0);
    for images in [Images::Plain, Images::Compressed, Images::Absent] {
        let load = Load::measure(&seconds, &cycles, images, 1e6).unwrap();
        near(load.pages(120.0, 108.0), as_measured, 0.02);
    }
    let absent = Load::measure(&seconds, &cycles, Images::Absent, 1e6).unwrap();
    near(absent.pages(240.0, 216.0), 2.0 * as_measured, 1e-9);
    let pool = Load::measure(&seconds, &cycles, Images::Plain, 5000.0).unwrap();
    near(pool.pages(480.0, 432.0), 5000.0, 1e-9);
}

#[test]
fn checkpoints_on_top_of_each_other_show_the_rate_only() {
    let seconds: Vec<_> = (0..60)
        .map(|i| Second {
            age: 0.2 * f64::from(i % 2),
            wal_bytes: 10.0 * MB,
        })
        .collect();
    let cycle = Cycle {
        seconds: 0.4,
        write_seconds: 0.3,
        pages: 100.0,
    };
    let load = Load::measure(&seconds, &[cycle], Images::Plain, 1e6).unwrap();
    near(load.wal(300.0), 3000.0 * MB, 1e-6);
    near(load.pages(4.0, 3.0), 1000.0, 1e-6);
}

#[test]
fn nothing_measured_is_no_load() {
    let second = Second {
        age: 1.0,
        wal_bytes: 1.0,
    };
    let cycle = Cycle {
        seconds: 60.0,
        write_seconds: 54.0,
        pages: 1.0,
    };
    let measure =
        |seconds: &[Second], cycles: &[Cycle]| Load::measure(seconds, cycles, Images::Plain, 1e6);
    assert_eq!(measure(&[], &[cycle]), None);
    assert_eq!(measure(&[second; 9], &[cycle]), None);
    assert_eq!(measure(&[second; 20], &[]), None);
    // An idle server: nothing is ever reached.
    let idle = [Second {
        wal_bytes: 0.0,
        ..second
    }; 20];
    let outlook = measure(&idle, &[cycle])
        .unwrap()
        .under(&setting(300.0, 0.9, 64.0));
    assert!(!outlook.by_wal);
    near(outlook.interval, 300.0, 1e-9);
    // Less than min_wal_size: the larger one rules.
    near(outlook.wal_disk, 80.0 * MB, 1e-9);
}
