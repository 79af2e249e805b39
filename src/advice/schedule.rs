//! Rules about when checkpoints are begun and over how much time they are spread.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* judges checkpoints that somebody asked for.

use pacing::BLOCK_BYTES;
use pacing::outlook::Outlook;
use statseg::Cause;

use super::measured::{Checkpoint, Measured, mean, quantile};
use super::text::{MB, Setting, bytes, percent, round_up, seconds};
use super::{Advice, Severity};

/// A checkpoint of fewer pages costs nothing, whenever it is written.
const FEW_PAGES: f64 = 1000.0;
/// `checkpoint_timeout` is at most a day.
const DAY: f64 = 86_400.0;
/// Recovery replays so many bytes of WAL per second at least, where pages must be read for it from
/// an ordinary disk. A cached database is replayed several times as fast.
pub(crate) const REPLAY_BYTES: f64 = 32.0 * MB;
/// Recovery that takes longer is worth a word.
const LONG_RECOVERY: f64 = 600.0;

/// What the room of pg_wal allows `max_wal_size` to be.
fn most_wal(measured: &Measured) -> f64 {
    let room = measured.wal_disk.map(|(used, free)| 0.6 * (used + free));
    room.unwrap_or(f64::INFINITY)
}

/// The setting that doubles the interval between checkpoints, if there is room for it.
pub(super) fn longer_interval(measured: &Measured) -> Option<Setting> {
    let settings = &measured.settings;
    if measured.present().is_some_and(|now| now.by_wal) {
        let size = round_up(2.0 * settings.max_wal_bytes);
        return (size <= most_wal(measured)).then(|| Setting::size("max_wal_size", size));
    }
    let timeout = (2.0 * settings.timeout).min(DAY);
    (timeout > settings.timeout).then(|| Setting::time("checkpoint_timeout", timeout))
}

/// WAL begins most checkpoints, and would begin the next ones too.
pub(super) fn by_wal(measured: &Measured) -> Option<Advice> {
    let checkpoints = measured.automatic();
    let by_wal = checkpoints.iter().filter(|it| it.cause == Some(Cause::Wal));
    let count = by_wal.count();
    let load = measured.load?;
    let now = measured.present().filter(|now| now.by_wal)?;
    if count < 2 || 2 * count <= checkpoints.len() {
        return None;
    }
    let settings = &measured.settings;
    let wanted = load.max_wal_for(&settings.schedule());
    // No more than the disk has: what that means is another rule's part.
    let most = most_wal(measured);
    let size = if round_up(wanted) <= most {
        round_up(wanted)
    } else {
        most
    };
    let helps = size > 1.1 * settings.max_wal_bytes;
    let then = load.under(&pacing::outlook::Setting {
        max_wal_bytes: size,
        ..settings.schedule()
    });
    let expected_effect = if helps {
        format!(
            "A checkpoint every {} instead of every {}. WAL {} per second instead of {}, written \
             pages {} per second instead of {}. pg_wal may grow to {}, and recovery may have to \
             replay {}.",
            seconds(then.interval),
            seconds(now.interval),
            bytes(then.wal_rate),
            bytes(now.wal_rate),
            bytes(per_second(then.pages, then.interval)),
            bytes(per_second(now.pages, now.interval)),
            bytes(then.wal_disk),
            bytes(then.redo),
        )
    } else {
        format!(
            "max_wal_size should be {}, for which pg_wal has no room. More room for pg_wal would \
             help.",
            bytes(wanted)
        )
    };
    Some(Advice {
        topic: "max_wal_size",
        severity: Severity::Warning,
        finding: "WAL begins more checkpoints than checkpoint_timeout does".to_owned(),
        evidence: format!(
            "{count} of the last {} checkpoints were begun by WAL. max_wal_size = {} allows {} \
             between two; {} of WAL are written in checkpoint_timeout = {}.",
            checkpoints.len(),
            bytes(settings.max_wal_bytes),
            bytes(settings.schedule().volume()),
            bytes(load.wal(settings.timeout)),
            seconds(settings.timeout),
        ),
        suggestion: helps.then(|| {
            if size < most {
                Setting::size("max_wal_size", size)
            } else {
                Setting::size_at_most("max_wal_size", size)
            }
        }),
        expected_effect,
    })
}

/// How fast the checkpointer writes.
fn write_rate(outlook: &Outlook) -> String {
    outlook.write_rate.map_or_else(
        || "as fast as it can".to_owned(),
        |rate| format!("{} per second", bytes(rate)),
    )
}

/// Writing is crammed into a small part of the interval.
pub(super) fn low_target(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let checkpoints = measured.automatic();
    let pages = mean(checkpoints.iter().map(|it| it.pages))?;
    if settings.target >= 0.8 || checkpoints.len() < 2 || pages < FEW_PAGES {
        return None;
    }
    let now = measured.present()?;
    let then = measured.load?.under(&pacing::outlook::Setting {
        target: 0.9,
        ..settings.schedule()
    });
    let write = mean(checkpoints.iter().filter_map(|it| it.write))?;
    Some(Advice {
        topic: "checkpoint_completion_target",
        severity: if settings.target <= 0.5 {
            Severity::Warning
        } else {
            Severity::Info
        },
        finding: "checkpoints are written in a small part of the time between them".to_owned(),
        evidence: format!(
            "checkpoint_completion_target = {}. The last {} checkpoints wrote {} in {} on average, \
             of {} from one to the next.",
            settings.target,
            checkpoints.len(),
            bytes(pages * BLOCK_BYTES as f64),
            seconds(write),
            seconds(now.interval),
        ),
        suggestion: Some(Setting::new("checkpoint_completion_target", "0.9")),
        expected_effect: format!(
            "{} in the write phase instead of {}. pg_wal may grow to {}, and recovery may have to \
             replay {} instead of {}.",
            write_rate(&then),
            write_rate(&now),
            bytes(then.wal_disk),
            bytes(then.redo),
            bytes(now.redo),
        ),
    })
}

/// Nothing is left of the interval for fsyncs.
pub(super) fn high_target(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let pairs = measured.pairs();
    let left = quantile(pairs.iter().map(headroom).collect(), 0.5)?;
    let pages = mean(pairs.iter().map(|(one, _)| one.pages))?;
    if settings.target <= 0.95 || pairs.len() < 2 || pages < FEW_PAGES || left >= CLOSE {
        return None;
    }
    Some(Advice {
        topic: "checkpoint_completion_target",
        severity: Severity::Warning,
        finding: "checkpoints are spread over all of the time between them".to_owned(),
        evidence: format!(
            "checkpoint_completion_target = {}. In the median of the last {} checkpoints {} of the \
             interval was left when it was over.",
            settings.target,
            pairs.len(),
            percent(left.max(0.0)),
        ),
        suggestion: Some(Setting::new("checkpoint_completion_target", "0.9")),
        expected_effect: "A tenth of the interval is left for the fsyncs, and checkpoints no \
                          longer run into each other."
            .to_owned(),
    })
}

/// Less of the interval left than this is none.
const CLOSE: f64 = 0.02;

/// Share of the interval between the end of the one and the begin of the next.
fn headroom((one, next): &(&Checkpoint, &Checkpoint)) -> f64 {
    let interval = (next.started_at - one.started_at).max(f64::MIN_POSITIVE);
    (next.started_at - one.ended_at) / interval
}

/// As soon as one is over, the next one begins.
pub(super) fn back_to_back(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let mut pairs = measured.pairs();
    pairs.truncate(5);
    let close = pairs.iter().filter(|pair| headroom(pair) < CLOSE).count();
    let pages = mean(pairs.iter().map(|(one, _)| one.pages))?;
    if pairs.len() < 3 || 2 * close <= pairs.len() || pages < FEW_PAGES {
        return None;
    }
    let suggestion = if settings.target > 0.95 {
        Some(Setting::new("checkpoint_completion_target", "0.9"))
    } else {
        longer_interval(measured)
    };
    let interval = mean(
        pairs
            .iter()
            .map(|(one, next)| next.started_at - one.started_at),
    )?;
    let total = mean(pairs.iter().map(|(one, _)| one.ended_at - one.started_at))?;
    Some(Advice {
        topic: "back_to_back",
        severity: Severity::Warning,
        finding: "checkpoints follow each other without a pause".to_owned(),
        evidence: format!(
            "{close} of the last {} checkpoints were over just before the next began: they took {} \
             on average, of {} from one to the next.",
            pairs.len(),
            seconds(total),
            seconds(interval),
        ),
        suggestion,
        expected_effect: "More time between the end of a checkpoint and the next. Pages that are \
                          changed often are written less often."
            .to_owned(),
    })
}

/// The file system of pg_wal cannot hold what the settings allow.
pub(super) fn disk_too_small(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let (used, free) = measured.wal_disk?;
    let room = used + free;
    let needed = measured.present().map_or(0.0, |now| now.wal_disk);
    if settings.max_wal_bytes.max(needed) <= 0.95 * room {
        return None;
    }
    let size = (0.6 * room / MB).floor() * MB;
    let smallest = 2.0 * settings.segment_bytes;
    Some(Advice {
        topic: "pg_wal_space",
        severity: if needed > room {
            Severity::Critical
        } else {
            Severity::Warning
        },
        finding: "pg_wal may fill its file system, at which the server stops".to_owned(),
        evidence: format!(
            "max_wal_size = {}, and this load needs {}. pg_wal has {}, and {} are free.",
            bytes(settings.max_wal_bytes),
            bytes(needed),
            bytes(used),
            bytes(free),
        ),
        suggestion: (smallest <= size && size < settings.max_wal_bytes)
            .then(|| Setting::size_at_most("max_wal_size", size)),
        expected_effect: "Checkpoints are begun before the space is used up. They are more \
                          frequent then; more room for pg_wal is better. What slots, archiving and \
                          wal_keep_size hold back comes on top."
            .to_owned(),
    })
}

/// Recovery after a crash would take long.
pub(super) fn recovery(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let now = measured.present()?;
    let time = now.redo / REPLAY_BYTES;
    if time < LONG_RECOVERY {
        return None;
    }
    let shorter = LONG_RECOVERY / time;
    let suggestion = if now.by_wal {
        let segments = shorter * settings.max_wal_bytes / settings.segment_bytes;
        Setting::size_at_most(
            "max_wal_size",
            segments.floor().max(2.0) * settings.segment_bytes,
        )
    } else {
        let timeout = (settings.timeout * shorter).max(30.0);
        Setting::time("checkpoint_timeout", (timeout / 30.0).floor() * 30.0)
    };
    Some(Advice {
        topic: "recovery_time",
        severity: Severity::Info,
        finding: "recovery after a crash may take long".to_owned(),
        evidence: format!(
            "Up to {} of WAL are written from a redo point to the end of the next checkpoint: {} at \
             {} per second.",
            bytes(now.redo),
            seconds(time),
            bytes(REPLAY_BYTES),
        ),
        suggestion: Some(suggestion),
        expected_effect: format!(
            "Recovery in about {}, for more WAL and more writes: see ckpt_stats_forecast(). Keep \
             the setting if that time does not matter, for example with a standby to switch to.",
            seconds(LONG_RECOVERY)
        ),
    })
}

/// Pages in so much time, as bytes per second.
fn per_second(pages: f64, seconds: f64) -> f64 {
    pages * BLOCK_BYTES as f64 / seconds
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "schedule_tests.rs"]
mod tests;
