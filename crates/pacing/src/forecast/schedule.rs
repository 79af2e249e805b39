//! When the write phase of a checkpoint will be over.
//!
//! *Runs in:* any process; the monitor worker and the views call it.
//! *Reads and writes:* its arguments only.
//! *Never:* reads a clock or a setting.

use super::{Pace, count};

/// The longest pause after a buffer: `postmaster/checkpointer.c:CheckpointWriteDelay` sleeps once
/// for 100 ms, however far ahead of its schedule the checkpoint is.
const NAP: f64 = 0.1;

/// Whether the checkpointer would find itself on schedule: `IsCheckpointOnSchedule` on the same
/// inputs. An immediate checkpoint does not ask; nothing to write counts as on schedule.
#[must_use]
pub fn on_schedule(pace: &Pace) -> bool {
    scaled_progress(pace) >= position(pace)
}

/// Whether it keeps to its schedule, seen from outside. The checkpointer asks [`on_schedule`]
/// right after a write, and "yes" is followed by a nap; so whoever looks at another moment finds
/// it just behind. This is false only when it is behind by more than the naps explain.
#[must_use]
pub fn keeps_schedule(pace: &Pace) -> bool {
    !lags(pace)
}

/// When the schedule alone says that the write phase shall end: the earlier of
/// `checkpoint_timeout` and the WAL of `max_wal_size`, each times the completion target. May lie
/// in the past. `None` when immediate.
#[must_use]
pub fn scheduled_end(pace: &Pace) -> Option<f64> {
    if pace.immediate {
        return None;
    }
    Some((pace.timeout * pace.completion_target).min(wal_end(pace)))
}

/// When the write phase is expected to end; never before `elapsed`.
///
/// - Immediate, or so far ahead of its schedule that it must have become so: by the speed lately.
/// - Behind schedule, by more than the naps explain: by the speed so far, but not before the
///   schedule, which the checkpointer waits for once it has caught up.
/// - Else the schedule; or earlier where the list is so short that a nap of 100 ms per buffer
///   does not fill the time.
///
/// Mere moments behind do not count, because the checkpointer is just behind its schedule each
/// time it has slept; an estimate that turns with each of them would flicker.
///
/// `None` when nothing can be said: no list; or nothing written yet and either immediate or past
/// the scheduled end.
#[must_use]
pub fn write_end(pace: &Pace) -> Option<f64> {
    if pace.total == 0 {
        return None;
    }
    let remaining = count(pace.total.saturating_sub(pace.done));
    if remaining <= 0.0 {
        return Some(pace.elapsed);
    }
    let by_speed = speed_end(pace, remaining);
    let Some(scheduled) = scheduled_end(pace).filter(|_| !hurries(pace)) else {
        return by_speed;
    };
    let by_naps = pace.elapsed + remaining * NAP;
    let end = match by_speed {
        Some(by_speed) if lags(pace) => by_speed.max(scheduled.min(by_naps)),
        // Slower than a nap per buffer and still on schedule: naps and slow writes.
        Some(by_speed) => scheduled.min(by_naps.max(by_speed)),
        None if scheduled > pace.elapsed => scheduled.min(by_naps),
        None => return None,
    };
    Some(end.max(pace.elapsed))
}

/// The completion target with which [`on_schedule`], which counts items, keeps a schedule that
/// counts cost: `items_at` is [`crate::curve::Curve::items_at`]. At the scheduled end it is the
/// true one again.
#[must_use]
pub fn target_by_cost(pace: &Pace, items_at: impl Fn(f64) -> f64) -> f64 {
    let target = pace.completion_target;
    if target <= 0.0 {
        return target;
    }
    // At the very beginning the quotient below is of two nothings.
    let share = (position(pace) / target).clamp(BEGINNING, 1.0);
    let items = items_at(share).clamp(share / SLOWEST, share * SLOWEST);
    target * share / items.min(1.0)
}

/// Share of the schedule from which on its parts are told apart.
const BEGINNING: f64 = 1e-3;
/// Items are written so many times slower or faster than evenly, at most.
const SLOWEST: f64 = 100.0;

/// Progress as the schedule measures it: `completion_target` when all is written.
fn scaled_progress(pace: &Pace) -> f64 {
    if pace.total == 0 {
        return f64::INFINITY;
    }
    count(pace.done.min(pace.total)) / count(pace.total) * pace.completion_target
}

/// How much of the time, or of the WAL, to the next checkpoint is used up: the larger of the two.
fn position(pace: &Pace) -> f64 {
    (pace.elapsed / pace.timeout).max(wal_position(pace))
}

/// How much of the WAL to the next checkpoint is used up.
fn wal_position(pace: &Pace) -> f64 {
    count(pace.wal_since_start) / wal_room(pace)
}

/// Bytes of WAL that start the next checkpoint.
fn wal_room(pace: &Pace) -> f64 {
    count(pace.wal_segment_size) * f64::from(pace.checkpoint_segments)
}

/// When the WAL reaches the completion target's share of its room, or did.
fn wal_end(pace: &Pace) -> f64 {
    let used = count(pace.wal_since_start);
    let allowed = wal_room(pace) * pace.completion_target;
    let average = used / pace.elapsed;
    let rate = match pace.wal_rate {
        Some(lately) if used < allowed => lately,
        // What lies behind is told by the average.
        _ => average,
    };
    if rate > 0.0 && rate.is_finite() {
        pace.elapsed + (allowed - used) / rate
    } else {
        f64::INFINITY
    }
}

/// When all is written at the speed so far. Nothing written lately is a stall and tells nothing,
/// so then too the average has to serve.
fn speed_end(pace: &Pace, remaining: f64) -> Option<f64> {
    let average = count(pace.done) / pace.elapsed;
    let rate = pace
        .write_rate
        .filter(|rate| *rate > 0.0)
        .unwrap_or(average);
    (rate > 0.0 && rate.is_finite()).then(|| pace.elapsed + remaining / rate)
}

/// Whether the checkpoint is ahead of its schedule by more than a nap after every buffer allows:
/// then it does not nap, because somebody has asked for an immediate one meanwhile
/// (`postmaster/checkpointer.c:ImmediateCheckpointRequested`, which is private to it).
fn hurries(pace: &Pace) -> bool {
    let margin = (2.0 / count(pace.total)).max(0.02) * pace.completion_target;
    scaled_progress(pace) > position(pace) + margin
}

/// Whether the checkpoint is further behind its schedule than the naps explain: behind already
/// where the schedule was two naps ago (one that it slept, and one between two looks at it).
fn lags(pace: &Pace) -> bool {
    let two_naps_ago = (1.0 - 2.0 * NAP / pace.elapsed).max(0.0);
    scaled_progress(pace) < position(pace) * two_naps_ago
}

#[cfg(test)]
mod tests {
    use super::super::testing::{QUARTER, close};
    use super::*;

    #[test]
    fn the_schedule_is_the_earlier_of_time_and_wal() {
        assert!(on_schedule(&QUARTER));
        close(scheduled_end(&QUARTER), 270.0);
        close(write_end(&QUARTER), 270.0);
        let busy = Pace {
            wal_since_start: 2880 << 20,
            done: 5000,
            ..QUARTER
        };
        assert!(on_schedule(&busy));
        close(scheduled_end(&busy), 135.0);
        // The burst of full-page images is over: the WAL will not need all of its room.
        let calmed = Pace {
            wal_rate: Some(1e6),
            ..busy
        };
        close(scheduled_end(&calmed), 270.0);
        let idle = Pace {
            wal_rate: Some(0.0),
            ..busy
        };
        close(scheduled_end(&idle), 270.0);
        let used_up = Pace {
            wal_since_start: 11520 << 20,
            ..idle
        };
        close(scheduled_end(&used_up), 33.75);
        assert_eq!(
            scheduled_end(&Pace {
                immediate: true,
                ..busy
            }),
            None
        );
    }

    #[test]
    fn a_schedule_by_cost_is_kept_by_items() {
        // The first tenth of the items costs half of all.
        let items_at = |share: f64| {
            if share < 0.5 {
                share / 5.0
            } else {
                0.1 + (share - 0.5) * 1.8
            }
        };
        let at = |elapsed: f64, done| {
            let pace = Pace {
                elapsed,
                done,
                wal_since_start: 0,
                ..QUARTER
            };
            let completion_target = target_by_cost(&pace, items_at);
            on_schedule(&Pace {
                completion_target,
                ..pace
            })
        };
        // A quarter of 270 s: a twentieth of the items.
        assert!(at(67.5, 501) && !at(67.5, 499));
        assert!(at(135.0, 1001) && !at(135.0, 999));
        assert!(at(202.5, 5501) && !at(202.5, 5499));
        assert!(at(269.9, 10_000) && !at(269.9, 9_900));
        assert!(at(0.0, 0), "nothing is asked for at once");
        assert!(at(0.1, 10));
    }

    #[test]
    fn one_item_less_is_behind_but_does_not_move_the_estimate() {
        let hair = Pace {
            done: 2499,
            ..QUARTER
        };
        assert!(!on_schedule(&hair));
        assert!(keeps_schedule(&hair));
        close(write_end(&hair), 270.0);
        let overdue = Pace {
            elapsed: 270.1,
            done: 9999,
            ..QUARTER
        };
        close(write_end(&overdue), 270.1);
    }

    #[test]
    fn ahead_of_schedule_the_speed_decides_too() {
        // A tenth of the time after a quarter of the work: somebody waits for it to end.
        let hurried = Pace {
            elapsed: 30.0,
            write_rate: Some(500.0),
            ..QUARTER
        };
        close(write_end(&hurried), 45.0);
        // A single buffer ahead is what a nap makes.
        let hair = Pace {
            done: 2501,
            ..QUARTER
        };
        close(write_end(&hair), 270.0);
    }

    #[test]
    fn behind_schedule_the_speed_decides() {
        let slow = Pace {
            done: 1250,
            ..QUARTER
        };
        assert!(!keeps_schedule(&slow));
        close(write_end(&slow), 540.0);
        // It was slow, and is fast enough now to catch up with the schedule.
        let recovered = Pace {
            write_rate: Some(500.0),
            ..slow
        };
        close(write_end(&recovered), 270.0);
        let stalled = Pace {
            write_rate: Some(0.0),
            ..slow
        };
        close(write_end(&stalled), 540.0);
        close(
            write_end(&Pace {
                immediate: true,
                ..recovered
            }),
            67.5 + 17.5,
        );
    }

    #[test]
    fn a_short_list_is_written_at_a_nap_per_buffer() {
        let short = Pace {
            elapsed: 2.5,
            done: 25,
            total: 100,
            wal_since_start: 0,
            ..QUARTER
        };
        close(write_end(&short), 10.0);
        close(
            write_end(&Pace {
                elapsed: 0.0,
                done: 0,
                ..short
            }),
            10.0,
        );
    }

    #[test]
    fn nothing_can_be_said_without_a_list_or_a_speed() {
        assert_eq!(
            write_end(&Pace {
                total: 0,
                done: 0,
                ..QUARTER
            }),
            None
        );
        let unmoved = Pace { done: 0, ..QUARTER };
        close(write_end(&unmoved), 270.0);
        assert_eq!(
            write_end(&Pace {
                immediate: true,
                ..unmoved
            }),
            None
        );
        assert_eq!(
            write_end(&Pace {
                elapsed: 271.0,
                ..unmoved
            }),
            None
        );
        close(
            write_end(&Pace {
                done: 10000,
                ..QUARTER
            }),
            67.5,
        );
    }
}
