//! The numbers that the rules go by: measured ones from the stats segment, and settings.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* nothing.
//! *Never:* reads the segment: the view fills it in. Times are seconds, sizes bytes.

use pacing::outlook::{Cycle, Load, Outlook};
use statseg::{Cause, CheckpointPhase, History, Outcome};

use super::text::Setting;

/// Checkpoints that are looked at.
pub(crate) const RECENT: usize = 10;
/// A checkpoint that comes later than so many timeouts after the one before: some were skipped.
pub(crate) const LATEST: f64 = 1.5;

/// All that the rules know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) settings: Settings,
    /// Completed ones, the newest first.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// What they and the WAL say of the load.
    pub(crate) load: Option<Load>,
    /// The timeline.
    pub(crate) seconds: Vec<Second>,
    pub(crate) stalls: Vec<Stall>,
    pub(crate) files: Files,
    pub(crate) commits: Commits,
    pub(crate) writes: Option<Writes>,
    /// Bytes that `pg_wal` has now, and bytes that are free where it is.
    pub(crate) wal_disk: Option<(f64, f64)>,
    /// The sweep sees what is dirty in the kernel's page cache.
    pub(crate) sweep: bool,
    /// One reading of the clock, in nanoseconds.
    pub(crate) clock_ns: Option<f64>,
    /// Share of a CPU that looking at all processes takes.
    pub(crate) sampling: Option<f64>,
    /// What giving back locks before the flush would gain, where that is measured.
    pub(crate) group_commit: Option<GroupCommit>,
}

/// Settings of the server, in base units: seconds, bytes, pages.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) timeout: f64,
    pub(crate) target: f64,
    pub(crate) max_wal_bytes: f64,
    pub(crate) min_wal_bytes: f64,
    pub(crate) segment_bytes: f64,
    pub(crate) log_checkpoints: bool,
    pub(crate) checkpoint_flush_after: u32,
    pub(crate) backend_flush_after: u32,
    pub(crate) bgwriter_flush_after: u32,
    pub(crate) bgwriter_lru_maxpages: u32,
    pub(crate) bgwriter_delay: f64,
    pub(crate) commit_delay: f64,
    pub(crate) commit_siblings: f64,
    pub(crate) pool_pages: f64,
    pub(crate) full_page_writes: bool,
    pub(crate) compresses_images: bool,
    pub(crate) track_io_timing: bool,
    pub(crate) track_wal_io_timing: bool,
    /// Of the library as a whole.
    pub(crate) enabled: bool,
    /// Of the flusher, with the library on.
    pub(crate) flush: bool,
    pub(crate) flush_sweep: bool,
    pub(crate) sync_pace_max: f64,
    pub(crate) wait_sample_interval: f64,
    /// Of the machine, or of the container.
    pub(crate) memory_bytes: Option<f64>,
}

/// PostgreSQL's defaults, and ours.
impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: 300.0,
            target: 0.9,
            max_wal_bytes: 1024.0 * 1_048_576.0,
            min_wal_bytes: 80.0 * 1_048_576.0,
            segment_bytes: 16.0 * 1_048_576.0,
            log_checkpoints: true,
            checkpoint_flush_after: 32,
            backend_flush_after: 0,
            bgwriter_flush_after: 64,
            bgwriter_lru_maxpages: 100,
            bgwriter_delay: 0.2,
            commit_delay: 0.0,
            commit_siblings: 5.0,
            pool_pages: 16384.0,
            full_page_writes: true,
            compresses_images: false,
            track_io_timing: false,
            track_wal_io_timing: false,
            enabled: true,
            flush: true,
            flush_sweep: true,
            sync_pace_max: 0.1,
            wait_sample_interval: 0.01,
            memory_bytes: None,
        }
    }
}

impl Settings {
    /// Why there is no flusher, as evidence.
    pub(super) fn flush_off(&self) -> &'static str {
        if self.enabled {
            "ckptflush.flush = off"
        } else {
            "ckptflush.enabled = off"
        }
    }

    /// What switches it on.
    pub(super) fn flush_on(&self) -> Option<Setting> {
        let name = if self.enabled {
            "ckptflush.flush"
        } else {
            "ckptflush.enabled"
        };
        (!self.flush).then(|| Setting::new(name, "on"))
    }
}

/// A completed checkpoint or restartpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) id: u64,
    pub(crate) cause: Option<Cause>,
    /// Seconds since 1970.
    pub(crate) started_at: f64,
    pub(crate) ended_at: f64,
    pub(crate) pages: f64,
    pub(crate) write: Option<f64>,
    /// Without our pauses.
    pub(crate) sync: Option<f64>,
    pub(crate) files: Option<f64>,
    pub(crate) longest_sync: Option<f64>,
    pub(crate) longest_file: Option<String>,
    pub(crate) stalled: f64,
}

/// A second of the timeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Second {
    pub(crate) phase: CheckpointPhase,
    pub(crate) commits: f64,
    pub(crate) active: f64,
    pub(crate) stalled: f64,
    pub(crate) p99: Option<f64>,
    pub(crate) wal_bytes: f64,
    pub(crate) writeback_bytes: f64,
    /// Writes of the device, their bytes, and what was in flight at the end.
    pub(crate) device: Option<(f64, f64, f64)>,
}

/// A stall and what was waited for most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stall {
    pub(crate) seconds: f64,
    pub(crate) wait_event: String,
}

/// Files that were synced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Those whose syncs took longest together, first.
    pub(crate) worst: Vec<SyncedFile>,
    /// The median, over the files, of each one's shortest sync.
    pub(crate) typical_shortest: Option<f64>,
}

/// One of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncedFile {
    /// Relation and path, or only that.
    pub(crate) name: String,
    pub(crate) syncs: u64,
    pub(crate) total: f64,
}

/// Making commits durable while no checkpoint ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    pub(crate) flushes: u64,
    pub(crate) flush_median: Option<f64>,
}

/// Who wrote pages, by PostgreSQL's own counters since they were reset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    pub(crate) seconds: f64,
    pub(crate) checkpoints: f64,
    pub(crate) bgwriter: f64,
    pub(crate) backends: f64,
    pub(crate) allocated: f64,
    /// Rounds of the background writer that ended at `bgwriter_lru_maxpages`.
    pub(crate) stopped: f64,
}

/// Group commit's own figures.
#[derive(Clone, Debug)]
pub(crate) struct GroupCommit {
    pub(crate) on: bool,
    /// Seconds of all transactions together: waiting for a lock whose holder only waited for its
    /// flush, and in all.
    pub(crate) waited: f64,
    pub(crate) busy: f64,
}

impl Checkpoint {
    /// From a row of the history; `None` if it did not complete.
    pub(crate) fn new(row: &History) -> Option<Self> {
        if row.outcome != Outcome::Completed {
            return None;
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        let pause = row.sync_pause_ns.unwrap_or(0);
        Some(Self {
            id: row.checkpoint_id,
            cause: row.cause,
            started_at: row.started_at as f64 / 1e6,
            ended_at: row.ended_at as f64 / 1e6,
            pages: row.buffers_written.unwrap_or(0) as f64,
            write: row.write_ns.map(seconds),
            sync: row.sync_ns.map(|ns| seconds(ns.saturating_sub(pause))),
            files: row.files_synced.map(|files| files as f64),
            longest_sync: row.longest_sync_ns.map(seconds),
            longest_file: row.longest_sync_file.map(|file| file.as_str().to_owned()),
            stalled: row.stalled_ns.map_or(0.0, seconds),
        })
    }

    /// Begun by the server itself, by time or WAL: those are spread.
    pub(crate) fn is_automatic(&self) -> bool {
        matches!(self.cause, Some(Cause::Timed | Cause::Wal))
    }
}

impl Measured {
    /// The newest checkpoints that the server began by itself.
    pub(crate) fn automatic(&self) -> Vec<&Checkpoint> {
        let automatic = self.checkpoints.iter().filter(|it| it.is_automatic());
        automatic.take(RECENT).collect()
    }

    /// The newest pairs of such checkpoints that follow each other, older one first.
    pub(crate) fn pairs(&self) -> Vec<(&Checkpoint, &Checkpoint)> {
        let next = self.checkpoints.iter();
        let pairs = next.clone().skip(1).zip(next);
        pairs
            .filter(|(one, next)| one.id + 1 == next.id)
            .filter(|(one, next)| one.is_automatic() && next.is_automatic())
            .take(RECENT)
            .collect()
    }

    /// What the load does under the settings as they are.
    pub(crate) fn present(&self) -> Option<Outlook> {
        Some(self.load?.under(&self.settings.schedule()))
    }
}

impl Settings {
    pub(crate) fn schedule(&self) -> pacing::outlook::Setting {
        pacing::outlook::Setting {
            timeout: self.timeout,
            target: self.target,
            max_wal_bytes: self.max_wal_bytes,
            min_wal_bytes: self.min_wal_bytes,
            segment_bytes: self.segment_bytes,
        }
    }
}

/// Intervals and pages of the newest automatic checkpoints, for [`Load::measure`]: whatever
/// began the one before. `checkpoints` as in [`Measured`]. Those that are much longer than
/// `checkpoint_timeout` are left out: the server was idle, and skipped some.
pub(crate) fn cycles(checkpoints: &[Checkpoint], timeout: f64) -> Vec<Cycle> {
    let pairs = checkpoints.iter().skip(1).zip(checkpoints);
    pairs
        .filter(|(one, next)| one.id + 1 == next.id && next.is_automatic())
        .map(|(one, next)| Cycle {
            seconds: next.started_at - one.started_at,
            write_seconds: one.write.unwrap_or(0.0),
            pages: next.pages,
        })
        .filter(|cycle| cycle.seconds > 0.0 && cycle.seconds <= LATEST * timeout)
        .take(RECENT)
        .collect()
}

/// The mean; `None` of nothing.
pub(crate) fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = numbers.fold((0.0, 0.0), |(count, sum), it| (count + 1.0, sum + it));
    (count > 0.0).then(|| sum / count)
}

/// The value at or below which that share lies; `None` of nothing.
pub(crate) fn quantile(mut numbers: Vec<f64>, share: f64) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)?;
    let place = (last as f64 * share).round() as usize;
    numbers.get(place).copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(id: u64, cause: Cause, start_s: i64) -> History {
        History {
            checkpoint_id: id,
            cause: Some(cause),
            outcome: Outcome::Completed,
            started_at: start_s * 1_000_000,
            ended_at: (start_s + 27) * 1_000_000,
            sync_ns: Some(3_000_000_000),
            sync_pause_ns: Some(1_000_000_000),
            buffers_written: Some(100),
            ..History::default()
        }
    }

    #[test]
    fn what_the_server_began_by_itself_counts() {
        let rows = [
            row(7, Cause::Timed, 160),
            row(6, Cause::Wal, 130),
            row(5, Cause::Requested, 120),
            row(3, Cause::Timed, 60),
            row(2, Cause::Timed, 30),
        ];
        let checkpoints: Vec<_> = rows.iter().filter_map(Checkpoint::new).collect();
        assert_eq!(checkpoints[0].sync, Some(2.0), "less the pauses");
        let found: Vec<_> = cycles(&checkpoints, 300.0)
            .iter()
            .map(|it| it.seconds)
            .collect();
        assert_eq!(found, [30.0, 10.0, 30.0]);
        assert_eq!(cycles(&checkpoints, 15.0).len(), 1, "the server was idle");
        let measured = Measured {
            checkpoints,
            ..Measured::default()
        };
        let pairs = measured.pairs();
        let found: Vec<_> = pairs.iter().map(|(one, next)| (one.id, next.id)).collect();
        assert_eq!(found, [(6, 7), (2, 3)]);
        assert_eq!(measured.automatic().len(), 4);
        let failed = History {
            outcome: Outcome::Failed,
            ..rows[0]
        };
        assert_eq!(Checkpoint::new(&failed), None);
    }

    #[test]
    fn means_and_quantiles_of_nothing_are_none() {
        assert_eq!(mean(std::iter::empty()), None);
        assert_eq!(quantile(vec![], 0.5), None);
        assert_eq!(mean([1.0, 2.0].into_iter()), Some(1.5));
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 1.0), Some(3.0));
    }
}
