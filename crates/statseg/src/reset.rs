//! Resets: what may be reset, and how, without disturbing any writer.
//!
//! *Runs in:* any backend.
//! *Reads and writes:* baselines and the section "control", under the reset lock.
//! *Never:* touches a slot, a ring or a table: their writers go on undisturbed.

use crate::catalog::MetricKind;
use crate::control::{
    COUNTERS_RESET_AT, FILES_EPOCH, FILES_RESET_AT, HISTORY_FLOOR, HISTORY_RESET_AT, LOCK,
    METRICS_EPOCH, ResetBusy, ResetGuard, STALLS_FLOOR, TIMELINE_FLOOR, TIMELINE_RESET_AT,
    WAITS_EPOCH, WAITS_RESET_AT,
};
use crate::statistic;
use crate::sync::{AtomicU64, Ordering};
use crate::view::View;

/// What to reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetTarget {
    /// All of the following.
    All,
    /// Counters and statistics.
    Counters,
    /// The history of checkpoints.
    History,
    /// The tables of files.
    Files,
    /// The table of waits.
    Waits,
    /// The timeline and the stalls.
    Timeline,
}

/// When what was reset last, in µs since 1970; `None`: never since the segment was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResetTimes {
    /// Counters and statistics.
    pub counters: Option<i64>,
    /// The history of checkpoints.
    pub history: Option<i64>,
    /// The tables of files.
    pub files: Option<i64>,
    /// The table of waits.
    pub waits: Option<i64>,
    /// The timeline and the stalls.
    pub timeline: Option<i64>,
}

/// Resets; the words of `view` must be writable.
pub(crate) fn reset(
    view: View<'_>,
    what: ResetTarget,
    pid: u32,
    now_unix_us: i64,
) -> Result<(), ResetBusy> {
    let control = view.control();
    let Some(lock) = control.get(LOCK) else {
        return Ok(());
    };
    let _guard = ResetGuard::take(lock, pid)?;
    let set = |word: usize, value: u64| {
        if let Some(word) = control.get(word) {
            word.store(value, Ordering::Relaxed);
        }
    };
    let all = what == ResetTarget::All;
    if all || what == ResetTarget::Counters {
        rebase_metrics(view);
        set(COUNTERS_RESET_AT, now_unix_us.cast_unsigned());
    }
    if all || what == ResetTarget::History {
        set(HISTORY_FLOOR, view.history().head());
        set(HISTORY_RESET_AT, now_unix_us.cast_unsigned());
    }
    let next = |word: usize| {
        let epoch = control.get(word).map_or(0, |w| w.load(Ordering::Relaxed));
        set(word, epoch.wrapping_add(1));
    };
    if all || what == ResetTarget::Files {
        next(FILES_EPOCH);
        set(FILES_RESET_AT, now_unix_us.cast_unsigned());
    }
    if all || what == ResetTarget::Waits {
        next(WAITS_EPOCH);
        set(WAITS_RESET_AT, now_unix_us.cast_unsigned());
    }
    if all || what == ResetTarget::Timeline {
        set(TIMELINE_FLOOR, view.timeline().head());
        set(STALLS_FLOOR, view.stalls().head());
        set(TIMELINE_RESET_AT, now_unix_us.cast_unsigned());
    }
    Ok(())
}

fn rebase_metrics(view: View<'_>) {
    let Some(epoch) = view.control().get(METRICS_EPOCH) else {
        return;
    };
    let epoch = statistic::next_epoch(epoch);
    for spot in view.layout().spots() {
        if spot.kind != MetricKind::Gauge {
            let (slots, baseline) = (view.slots(spot), view.baseline(spot));
            statistic::rebase(slots, baseline, spot.kind.words(), epoch);
        }
    }
}

/// Reads the moments of the last resets.
pub(crate) fn times(control: &[AtomicU64]) -> ResetTimes {
    let at = |word: usize| {
        let at = control.get(word)?.load(Ordering::Relaxed).cast_signed();
        (at != 0).then_some(at)
    };
    ResetTimes {
        counters: at(COUNTERS_RESET_AT),
        history: at(HISTORY_RESET_AT),
        files: at(FILES_RESET_AT),
        waits: at(WAITS_RESET_AT),
        timeline: at(TIMELINE_RESET_AT),
    }
}
