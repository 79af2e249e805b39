//! When a running checkpoint will be over, from its progress and the checkpointer's schedule.
//!
//! *Runs in:* any process; the monitor worker and the views call it.
//! *Reads and writes:* its arguments only.
//! *Never:* reads a clock or a setting: every number is given in [`Pace`], [`Prior`] and
//! [`SyncProgress`].
//!
//! All times are seconds since the start of the checkpoint (`ckpt_start_time`), unless they are
//! said to be durations. Paths are below PostgreSQL's `src/backend`.

mod schedule;

pub use schedule::{keeps_schedule, on_schedule, scheduled_end, target_by_cost, write_end};

/// How much more or fewer files than last time may scale the expected sync time. A single large
/// file can take as long as many small ones, so beyond this the number of files says nothing.
const MAX_SCALE: f64 = 4.0;

/// The inputs of `postmaster/checkpointer.c:IsCheckpointOnSchedule`, and the progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The checkpointer does not pace itself: `CHECKPOINT_IMMEDIATE`, a shutdown, or an immediate
    /// checkpoint is waiting for this one to end.
    pub immediate: bool,
    /// Seconds since the start. Core counts from a whole second (`ckpt_start_time` is a
    /// `pg_time_t`), so truncate the start to agree with it.
    pub elapsed: f64,
    /// Items of the work list that are done.
    pub done: u64,
    /// Items of the work list; 0 if it is not known (yet).
    pub total: u64,
    /// Items per second lately, say over the last quarter of the write phase, if those were 20 or
    /// more (fewer say little); `None`: the average since the start. The average is too low where
    /// the start was slow (the SLRUs are written before the list is made), and where a paced
    /// checkpoint has become immediate.
    pub write_rate: Option<f64>,
    /// `checkpoint_completion_target`, 0 to 1.
    pub completion_target: f64,
    /// `checkpoint_timeout` in seconds.
    pub timeout: f64,
    /// Bytes of WAL since the start: the insert position, in recovery the replay position, less
    /// the same at the start (`ckpt_start_recptr`). Not the distance from the redo pointer: that
    /// of a restartpoint lies far back.
    pub wal_since_start: u64,
    /// Bytes of WAL per second lately, over the same time; `None`: the average since the start.
    /// The average is too high for most of a checkpoint, because full-page images come mostly at
    /// its beginning, and too low when a load sets in.
    pub wal_rate: Option<f64>,
    /// `wal_segment_size` in bytes.
    pub wal_segment_size: u64,
    /// `CheckPointSegments`: segments of WAL that start the next checkpoint.
    pub checkpoint_segments: i32,
}

/// Where the checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Started, the work list is not known yet.
    Preparing,
    /// Writing buffers.
    Writing,
    /// Syncing files.
    Syncing,
    /// Files are synced: WAL record, control file, removal of old segments.
    Finishing,
}

/// What the sync phase took last time, or on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Duration in seconds.
    pub seconds: f64,
    /// Files synced (`ckpt_sync_rels`).
    pub files: u64,
}

/// The sync phase of this checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SyncProgress {
    /// Estimated number of files to sync. The true one is private to the checkpointer
    /// (`storage/sync/sync.c:pendingOps`).
    pub files_total: Option<u64>,
    /// Files synced so far.
    pub files_done: u64,
    /// Duration of the phase so far in seconds; 0 before it.
    pub elapsed: f64,
}

/// When the whole checkpoint is expected to end; never before `elapsed`.
///
/// Until the sync phase begins this is [`write_end`] and the prior's duration, scaled by the
/// number of files where both are known, fourfold at most. With no prior the sync phase counts
/// as nothing, and the answer is a lower bound. In the sync phase each remaining file costs what
/// the files so far did, or what the prior says; this phase's own average gets the weight of the
/// share of files done. `None` when nothing can be said.
#[must_use]
pub fn end(pace: &Pace, phase: Phase, prior: Option<&Prior>, sync: &SyncProgress) -> Option<f64> {
    match phase {
        Phase::Preparing => None,
        Phase::Writing => {
            write_end(pace).map(|end| end + prior.map_or(0.0, |prior| expected_sync(prior, sync)))
        }
        Phase::Syncing => remaining_sync(prior, sync).map(|remaining| pace.elapsed + remaining),
        Phase::Finishing => Some(pace.elapsed),
    }
}

/// What is left of the sync phase, in seconds: all of it, before it has begun. `None` when no
/// phase before says anything, nor this one.
#[must_use]
pub fn sync_left(prior: Option<&Prior>, sync: &SyncProgress) -> Option<f64> {
    if sync.files_done == 0 {
        prior.map(|prior| expected_sync(prior, sync))
    } else {
        remaining_sync(prior, sync)
    }
}

/// Duration of a sync phase that has not begun.
fn expected_sync(prior: &Prior, sync: &SyncProgress) -> f64 {
    match sync.files_total {
        Some(files) if files > 0 && prior.files > 0 => {
            let scale = count(files) / count(prior.files);
            prior.seconds * scale.clamp(1.0 / MAX_SCALE, MAX_SCALE)
        }
        _ => prior.seconds,
    }
}

/// What is left of a sync phase that has begun.
fn remaining_sync(prior: Option<&Prior>, sync: &SyncProgress) -> Option<f64> {
    let total = count(sync.files_total.or(prior.map(|prior| prior.files))?);
    let done = count(sync.files_done);
    let remaining = total - done;
    if remaining <= 0.0 {
        return Some(0.0);
    }
    let here = (done > 0.0).then(|| sync.elapsed / done);
    let before = prior.map(|prior| expected_sync(prior, sync) / total);
    let share = done / total;
    let per_file = match (here, before) {
        (Some(here), Some(before)) => here * share + before * (1.0 - share),
        (one, other) => one.or(other)?,
    };
    Some(remaining * per_file)
}

/// Counts here are far below 2^53.
#[allow(clippy::cast_precision_loss)]
fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing {
    use super::Pace;

    /// A quarter of five minutes at target 0.9 (270 s), on schedule, with half the WAL allowed.
    pub(crate) const QUARTER: Pace = Pace {
        immediate: false,
        elapsed: 67.5,
        done: 2500,
        total: 10000,
        write_rate: None,
        completion_target: 0.9,
        timeout: 300.0,
        wal_since_start: 720 << 20,
        wal_rate: None,
        wal_segment_size: 16 << 20,
        checkpoint_segments: 400,
    };

    pub(crate) fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{QUARTER, close};
    use super::*;

    #[test]
    fn before_the_sync_phase_the_prior_is_added() {
        let prior = Prior {
            seconds: 6.0,
            files: 30,
        };
        let at = |files_total| {
            let sync = SyncProgress {
                files_total,
                ..SyncProgress::default()
            };
            end(&QUARTER, Phase::Writing, Some(&prior), &sync)
        };
        close(at(None), 276.0);
        close(at(Some(60)), 282.0);
        close(at(Some(3000)), 294.0);
        close(
            end(&QUARTER, Phase::Writing, None, &SyncProgress::default()),
            270.0,
        );
        assert_eq!(
            end(
                &QUARTER,
                Phase::Preparing,
                Some(&prior),
                &SyncProgress::default()
            ),
            None
        );
        close(
            end(
                &QUARTER,
                Phase::Finishing,
                Some(&prior),
                &SyncProgress::default(),
            ),
            67.5,
        );
    }

    #[test]
    fn in_the_sync_phase_files_done_outweigh_the_prior_by_and_by() {
        let prior = Prior {
            seconds: 6.0,
            files: 30,
        };
        let at = |files_done, elapsed, prior: Option<&Prior>| {
            let sync = SyncProgress {
                files_total: Some(60),
                files_done,
                elapsed,
            };
            end(&QUARTER, Phase::Syncing, prior, &sync)
        };
        close(at(0, 0.0, Some(&prior)), 67.5 + 12.0);
        // Half done at 0.4 s each, the prior says 0.2.
        close(at(30, 12.0, Some(&prior)), 67.5 + 30.0 * 0.3);
        close(at(30, 12.0, None), 67.5 + 30.0 * 0.4);
        close(at(61, 12.0, None), 67.5);
        assert_eq!(at(0, 0.0, None), None);
        assert_eq!(
            end(&QUARTER, Phase::Syncing, None, &SyncProgress::default()),
            None
        );
    }
}
