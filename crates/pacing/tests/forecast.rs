//! Simulated checkpoints, forecast at every moment and compared with what came.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
#![allow(clippy::cast_possible_truncation)]

use pacing::forecast::{
    Pace, Phase, Prior, SyncProgress, end, on_schedule, scheduled_end, write_end,
};
use proptest::prelude::*;

/// A checkpoint to simulate; times in seconds.
struct Model {
    buffers: u64,
    timeout: f64,
    target: f64,
    immediate: bool,
    /// Before the first buffer.
    preparing: f64,
    /// What the write of buffer i takes.
    write: fn(&Model, u64) -> f64,
    cost: f64,
    /// Used WAL after so many seconds, as a share of the room.
    wal: fn(&Model, f64) -> f64,
    wal_share: f64,
}

const SEGMENT: u64 = 16 << 20;
const SEGMENTS: i32 = 64;
const ROOM: f64 = (SEGMENT * 64) as f64;

impl Model {
    /// Time-driven on a fast disk: the WAL uses half of its room in the whole interval.
    fn spread(buffers: u64, timeout: f64, target: f64) -> Self {
        Model {
            buffers,
            timeout,
            target,
            immediate: false,
            preparing: 0.0,
            write: |model, _| model.cost,
            cost: 20e-6,
            wal: |model, time| model.wal_share * time / model.timeout,
            wal_share: 0.5,
        }
    }

    fn pace(&self, elapsed: f64, done: u64) -> Pace {
        Pace {
            immediate: self.immediate,
            elapsed,
            done,
            total: self.buffers,
            write_rate: None,
            completion_target: self.target,
            timeout: self.timeout,
            wal_since_start: ((self.wal)(self, elapsed) * ROOM) as u64,
            wal_rate: None,
            wal_segment_size: SEGMENT,
            checkpoint_segments: SEGMENTS,
        }
    }

    /// The loop of `BufferSync`: write one, then sleep 100 ms if on schedule. What a poll every
    /// 100 ms sees, and when the last buffer was written.
    fn run(&self) -> (Vec<Pace>, f64) {
        let mut polls = Vec::new();
        let mut now = self.preparing;
        let mut next_poll = 0.1;
        for buffer in 0..self.buffers {
            now += (self.write)(self, buffer);
            let here = self.pace(now, buffer + 1);
            while next_poll < now {
                polls.push(self.pace(next_poll, buffer));
                next_poll += 0.1;
            }
            // core's own words, not the function under test
            let progress = (buffer + 1) as f64 / self.buffers as f64 * self.target;
            let late = progress < (self.wal)(self, now) || progress < now / self.timeout;
            assert!(
                late != on_schedule(&here)
                    || (progress - now / self.timeout).abs() < 1e-6
                    || (progress - (self.wal)(self, now)).abs() < 1e-6
            );
            if !self.immediate && !late && buffer + 1 < self.buffers {
                now += 0.1;
            }
        }
        (polls, now)
    }
}

/// The poll nearest to `share` of the length, with the rates over the quarter before it.
fn poll_at(polls: &[Pace], length: f64, share: f64) -> Pace {
    let at = |time: f64| {
        polls
            .iter()
            .rfind(|p| p.elapsed <= time)
            .unwrap_or(&polls[0])
    };
    let mut pace = *at(length * share);
    let before = at(pace.elapsed * 0.75);
    let seconds = pace.elapsed - before.elapsed;
    if seconds > 0.0 {
        let per_second = |now: u64, then: u64| Some((now - then) as f64 / seconds);
        if pace.done - before.done >= 20 {
            pace.write_rate = per_second(pace.done, before.done);
        }
        pace.wal_rate = per_second(pace.wal_since_start, before.wal_since_start);
    }
    pace
}

/// The error of the forecast at `share` of the length, as a share of the length.
fn error_at(model: &Model, share: f64, rates: bool) -> f64 {
    let (polls, length) = model.run();
    let mut pace = poll_at(&polls, length, share);
    if !rates {
        pace.write_rate = None;
        pace.wal_rate = None;
    }
    (write_end(&pace).unwrap() - length) / length
}

/// The largest error from a tenth of the length on, at every poll.
fn largest_error(model: &Model) -> f64 {
    let (polls, length) = model.run();
    polls
        .iter()
        .filter(|p| p.elapsed > length * 0.1)
        .map(|p| {
            let with_rates = poll_at(&polls, p.elapsed, 1.0);
            [*p, with_rates]
                .iter()
                .map(|p| ((write_end(p).unwrap() - length) / length).abs())
                .fold(0.0, f64::max)
        })
        .fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn time_driven(buffers in 1000..30_000_u64, timeout in 30.0..120.0, target in 0.3..1.0) {
        let model = Model::spread(buffers, timeout, target);
        prop_assert!(error_at(&model, 0.25, true).abs() < 0.05);
        prop_assert!(largest_error(&model) < 0.15);
    }

    /// Too few buffers to fill the time: a nap after each. With fewer than 20 one buffer, or one
    /// poll, is more than the tolerance.
    #[test]
    fn short_list(buffers in 20..200_u64, cost in 0.0..0.05) {
        let model = Model { cost, ..Model::spread(buffers, 300.0, 0.9) };
        prop_assert!(error_at(&model, 0.25, true).abs() < 0.15);
        prop_assert!(error_at(&model, 0.25, false).abs() < 0.15);
    }

    #[test]
    fn wal_driven(buffers in 3000..30_000_u64, wal_share in 1.5..5.0) {
        let model = Model { wal_share, ..Model::spread(buffers, 120.0, 0.9) };
        prop_assert!(error_at(&model, 0.25, true).abs() < 0.1);
        prop_assert!(largest_error(&model) < 0.15);
    }

    /// The disk needs about as long as the schedule gives, or longer.
    #[test]
    fn slow_disk(buffers in 3000..30_000_u64, factor in 0.5..4.0, preparing in 0.0..3.0) {
        let cost = factor * 54.0 / buffers as f64;
        let model = Model { cost, preparing, ..Model::spread(buffers, 60.0, 0.9) };
        prop_assert!(error_at(&model, 0.25, true).abs() < 0.1);
        let immediate = Model { immediate: true, ..model };
        prop_assert!(error_at(&immediate, 0.25, true).abs() < 0.1);
    }

    /// A long preparation puts the checkpoint behind; it catches up at once.
    #[test]
    fn long_preparation(preparing in 1.0..15.0) {
        let model = Model { preparing, cost: 1e-4, ..Model::spread(10_000, 60.0, 0.9) };
        prop_assert!(error_at(&model, 0.28, true).abs() < 0.05);
    }

    #[test]
    fn never_before_now_and_over_when_all_is_done(
        elapsed in 0.0..1000.0, done in 0..2000_u64, total in 0..2000_u64,
        target in 0.0..=1.0, wal in any::<u32>(), immediate: bool,
        write_rate in prop::option::of(0.0..1e4), wal_rate in prop::option::of(0.0..1e9),
    ) {
        let model = Model { immediate, ..Model::spread(total, 300.0, target) };
        let pace = Pace {
            wal_since_start: u64::from(wal), write_rate, wal_rate, ..model.pace(elapsed, done)
        };
        let found = write_end(&pace);
        prop_assert!(found.is_none_or(|end| end >= elapsed && end.is_finite()), "{:?}", found);
        prop_assert_eq!(found.is_none() && total > 0 && done > 0 && elapsed > 0.0, false);
        if total > 0 && done >= total {
            prop_assert_eq!(found, Some(elapsed));
        }
        prop_assert_eq!(scheduled_end(&pace).is_none(), immediate);
        prop_assert!(scheduled_end(&pace).is_none_or(f64::is_finite));
    }
}

/// Full-page images: most of the WAL comes in the first part.
#[test]
fn a_burst_of_wal_at_the_start() {
    let model = Model {
        wal: |model, time| {
            let part = time / model.timeout;
            model.wal_share * (0.4 * part + 0.6 * (1.0 - (-part / 0.15).exp()))
        },
        ..Model::spread(20_000, 100.0, 0.9)
    };
    let lately = error_at(&model, 0.25, true);
    assert!(lately.abs() < 0.15, "{lately}");
    let average = error_at(&model, 0.25, false);
    assert!(
        average < -0.15,
        "the rate lately is there for a reason: {average}"
    );
}

/// The load grows all the time: the WAL ends it, and sooner than its average says.
#[test]
fn wal_that_accelerates() {
    let model = Model {
        wal: |model, time| {
            let part = time / model.timeout;
            model.wal_share * (part + part * part)
        },
        wal_share: 1.2,
        ..Model::spread(20_000, 100.0, 0.9)
    };
    let lately = error_at(&model, 0.25, true);
    assert!((0.0..0.3).contains(&lately), "{lately}");
    assert!(error_at(&model, 0.25, false) > lately);
    assert!(error_at(&model, 0.75, true).abs() < 0.1);
}

/// The whole checkpoint, sync phase included, from a quarter on.
#[test]
fn the_sync_phase_is_part_of_it() {
    let model = Model::spread(5000, 60.0, 0.9);
    let (polls, writes) = model.run();
    let length = writes + 9.0;
    let prior = Prior {
        seconds: 6.0,
        files: 200,
    };
    let files = |files_done, elapsed| SyncProgress {
        files_total: Some(300),
        files_done,
        elapsed,
    };
    let quarter = poll_at(&polls, length, 0.25);
    let found = end(&quarter, Phase::Writing, Some(&prior), &files(0, 0.0)).unwrap();
    assert!(
        (found - length).abs() < 0.02 * length,
        "{found} of {length}"
    );
    let blind = end(&quarter, Phase::Writing, None, &files(0, 0.0)).unwrap();
    assert!(
        (blind - length).abs() < 0.15 * length,
        "{blind} of {length}"
    );

    let syncing = model.pace(writes + 3.0, 5000);
    let found = end(&syncing, Phase::Syncing, Some(&prior), &files(100, 3.0)).unwrap();
    assert!((found - length).abs() < 0.01, "{found} of {length}");
}
