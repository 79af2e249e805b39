//! The numbers that advice and forecasts go by, gathered.
//!
//! *Runs in:* the backend that queries.
//! *Reads and writes:* reads the stats segment, PostgreSQL's own statistics and settings, and what
//! the kernel says of the machine and of pg_wal.
//! *Never:* judges: that is [`crate::advice`]'s part.

use std::path::Path;
use std::time::Instant;

use pacing::outlook::{self, Images, Load};
use statseg::{CheckpointPhase, FileKey, FlushMode, Metric, Segment};

use crate::advice::{
    Checkpoint, Commits, Files, GroupCommit, LATEST, Measured, RECENT, Second, Settings, Stall,
    SyncedFile, Writes, cycles,
};
use crate::{kernel, pgshim, process, server, shmem};

/// Seconds of the timeline that the rules look at, and those the load is fitted to: an hour, and
/// four. With a longer timeline the answer would take seconds.
const NEWEST: usize = 3600;
const FITTED: usize = 4 * NEWEST;
/// Where checkpoints are frequent, all of so many seconds count.
const SHORTLY: f64 = 120.0;
/// Checkpoints among which the newest that the server began are found.
const CHECKPOINTS: usize = 1000;
/// Files whose names are looked up.
const NAMED_FILES: usize = 5;

/// All of it.
pub(super) fn gather(segment: &'static Segment) -> Measured {
    let settings = settings();
    let checkpoints: Vec<_> = history(segment);
    let view = segment.view();
    let flush = view.read(Metric::WalFlushNone);
    let state = shmem::flusher(segment);
    let sampling = view.read(Metric::SampleTime).mean();
    Measured {
        load: load(segment, &checkpoints, &settings),
        checkpoints,
        seconds: seconds(segment),
        stalls: stalls(segment),
        files: files(segment),
        commits: Commits {
            flushes: flush.count,
            flush_median: flush.percentile(0.5).map(|ns| ns as f64 / 1e9),
        },
        writes: Some(writes()),
        wal_disk: kernel::free_bytes(Path::new("pg_wal"))
            .ok()
            .map(|free| (wal_files() * settings.segment_bytes, free)),
        sweep: state.mode != FlushMode::Off && state.os_dirty_bytes.is_some(),
        clock_ns: Some(clock_ns()),
        sampling: sampling.map(|ns| ns / 1e9 / settings.wait_sample_interval),
        group_commit: Some(group_commit(segment)),
        settings,
    }
}

/// The server's settings, not this session's.
pub(super) fn settings() -> Settings {
    let number = |name| server::setting(name).and_then(|text| text.parse::<f64>().ok());
    let count = |name| server::setting(name).and_then(|text| text.parse::<u32>().ok());
    let is_on = |name| server::setting(name).as_deref() == Some("on");
    let default = Settings::default();
    let megabytes = |name| number(name).map(|it| it * 1_048_576.0);
    Settings {
        timeout: number(c"checkpoint_timeout").unwrap_or(default.timeout),
        target: number(c"checkpoint_completion_target").unwrap_or(default.target),
        max_wal_bytes: megabytes(c"max_wal_size").unwrap_or(default.max_wal_bytes),
        min_wal_bytes: megabytes(c"min_wal_size").unwrap_or(default.min_wal_bytes),
        segment_bytes: number(c"wal_segment_size").unwrap_or(default.segment_bytes),
        log_checkpoints: is_on(c"log_checkpoints"),
        checkpoint_flush_after: count(c"checkpoint_flush_after").unwrap_or(0),
        backend_flush_after: count(c"backend_flush_after").unwrap_or(0),
        bgwriter_flush_after: count(c"bgwriter_flush_after").unwrap_or(0),
        bgwriter_lru_maxpages: count(c"bgwriter_lru_maxpages").unwrap_or(0),
        bgwriter_delay: number(c"bgwriter_delay").unwrap_or(0.0) / 1e3,
        commit_delay: number(c"commit_delay").unwrap_or(0.0) / 1e6,
        commit_siblings: number(c"commit_siblings").unwrap_or(0.0),
        pool_pages: number(c"shared_buffers").unwrap_or(default.pool_pages),
        full_page_writes: is_on(c"full_page_writes"),
        compresses_images: server::setting(c"wal_compression").is_some_and(|it| it != "off"),
        track_io_timing: is_on(c"track_io_timing"),
        track_wal_io_timing: is_on(c"track_wal_io_timing"),
        enabled: is_on(c"ckptflush.enabled"),
        flush: is_on(c"ckptflush.flush") && is_on(c"ckptflush.enabled"),
        flush_sweep: is_on(c"ckptflush.flush_sweep"),
        sync_pace_max: number(c"ckptflush.sync_pace_max").unwrap_or(default.sync_pace_max),
        wait_sample_interval: number(c"ckptflush.wait_sample_interval").unwrap_or(10.0) / 1e3,
        memory_bytes: kernel::memory_bytes(),
    }
}

/// What group commit would save, or has saved, since the counters were reset.
fn group_commit(segment: &Segment) -> GroupCommit {
    let view = segment.view();
    let phases = CheckpointPhase::ALL.iter();
    let busy: u64 = phases
        .map(|(phase, _)| view.read(Metric::transaction(*phase)).total)
        .sum();
    GroupCommit {
        on: server::setting(c"ckptflush.group_commit").as_deref() == Some("on"),
        waited: view.read(Metric::FlushLockTime).count as f64 / 1e9,
        busy: busy as f64 / 1e9,
    }
}

/// PostgreSQL's own counters, since the first of them was reset.
fn writes() -> Writes {
    let counted = server::page_writes();
    let since = process::now_us() - counted.reset_at;
    Writes {
        seconds: since as f64 / 1e6,
        checkpoints: pgshim::core_counters().buffers_written as f64,
        bgwriter: counted.bgwriter as f64,
        backends: counted.backends as f64,
        allocated: counted.allocated as f64,
        stopped: counted.stopped as f64,
    }
}

/// Completed checkpoints, the newest first.
pub(super) fn history(segment: &Segment) -> Vec<Checkpoint> {
    let history = segment.history();
    let rows = history.newest(CHECKPOINTS);
    rows.filter_map(|(_, row)| Checkpoint::new(&row)).collect()
}

/// The load of the newest checkpoints.
pub(super) fn load(
    segment: &Segment,
    checkpoints: &[Checkpoint],
    settings: &Settings,
) -> Option<Load> {
    let running = segment.progress().read().ok().filter(|it| it.active);
    let running = running.map(|it| it.started_at as f64 / 1e6);
    // The newest first.
    let begins: Vec<f64> = running
        .into_iter()
        .chain(checkpoints.iter().map(|it| it.started_at))
        .collect();
    let newest = begins.first().copied()?;
    let old = |(place, begin): (usize, &f64)| place >= 2 * RECENT && newest - begin > SHORTLY;
    let kept = begins.iter().enumerate().position(old);
    let begins = begins.get(..kept.unwrap_or(begins.len()))?;
    let timeline = segment.timeline();
    let seconds: Vec<_> = timeline
        .newest(FITTED)
        .filter_map(|(_, second)| {
            let middle = second.at as f64 / 1e6 + 0.5;
            let begin = begins.iter().find(|begin| **begin <= middle)?;
            Some(outlook::Second {
                age: middle - begin,
                wal_bytes: second.wal_bytes? as f64,
            })
        })
        .filter(|second| second.age <= LATEST * settings.timeout)
        .collect();
    let images = match (settings.full_page_writes, settings.compresses_images) {
        (false, _) => Images::Absent,
        (true, true) => Images::Compressed,
        (true, false) => Images::Plain,
    };
    let cycles = cycles(checkpoints, settings.timeout);
    Load::measure(&seconds, &cycles, images, settings.pool_pages)
}

fn seconds(segment: &Segment) -> Vec<Second> {
    let timeline = segment.timeline();
    let seconds = timeline.newest(NEWEST);
    seconds
        .map(|(_, second)| Second {
            phase: second.phase,
            commits: second.commits as f64,
            active: second.active_backends as f64,
            stalled: second.stalled_ns as f64 / 1e9,
            p99: second.transaction_p99_ns.map(|ns| ns as f64 / 1e9),
            wal_bytes: second.wal_bytes.unwrap_or(0) as f64,
            writeback_bytes: second.writeback_bytes as f64,
            device: second
                .device_write_ops
                .zip(second.device_write_bytes)
                .zip(second.device_in_flight)
                .map(|((ops, bytes), in_flight)| (ops as f64, bytes as f64, in_flight as f64)),
        })
        .collect()
}

fn stalls(segment: &Segment) -> Vec<Stall> {
    let past = segment.stalls();
    let stalls = past.newest(past.capacity());
    stalls
        .map(|(_, stall)| Stall {
            seconds: stall.stalled_ns as f64 / 1e9,
            wait_event: stall
                .top_wait_event
                .map_or_else(String::new, |event| event.as_str().to_owned()),
        })
        .collect()
}

fn files(segment: &Segment) -> Files {
    let mut files: Vec<_> = segment.view().files_synced().iter().collect();
    files.retain(|file| file.stats.syncs > 0);
    files.sort_by_key(|file| std::cmp::Reverse(file.stats.sync_total_ns));
    let worst = files.iter().take(NAMED_FILES).map(|file| SyncedFile {
        name: name(&file.key, file.path.as_str()),
        syncs: file.stats.syncs,
        total: file.stats.sync_total_ns as f64 / 1e9,
    });
    let worst = worst.collect();
    let mut shortest: Vec<_> = files.iter().filter_map(|it| it.stats.sync_min_ns).collect();
    shortest.sort_unstable();
    let median = shortest.get(shortest.len() / 2);
    Files {
        worst,
        typical_shortest: median.map(|ns| *ns as f64 / 1e9),
    }
}

/// Path, and before it the relation, if it is one of this database.
fn name(key: &FileKey, path: &str) -> String {
    let relation = match *key {
        FileKey::Relation {
            tablespace,
            database,
            relfilenode,
            ..
        } => server::relation_name(database, tablespace, relfilenode),
        FileKey::Path => None,
    };
    relation.map_or_else(|| path.to_owned(), |name| format!("{name}, {path}"))
}

/// Files of WAL that are there: their names are 24 hexadecimal digits.
fn wal_files() -> f64 {
    let Ok(entries) = std::fs::read_dir("pg_wal") else {
        return 0.0;
    };
    let is_wal = |name: &[u8]| name.len() == 24 && name.iter().all(u8::is_ascii_hexdigit);
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter(|name| is_wal(name.as_encoded_bytes())).count() as f64
}

/// What one reading of the clock takes, at best.
fn clock_ns() -> f64 {
    const READINGS: u32 = 64;
    let batch = |_| {
        let begin = Instant::now();
        for _ in 1..READINGS {
            std::hint::black_box(Instant::now());
        }
        begin.elapsed().as_nanos() as f64 / f64::from(READINGS)
    };
    (0..5).map(batch).fold(f64::INFINITY, f64::min)
}

/// What the device can do, where that was seen, and the writes that a page of a checkpoint makes
/// there: operations per second, bytes per second, operations per page.
pub(super) fn device(segment: &Segment) -> (Option<f64>, Option<f64>, f64) {
    let state = shmem::flusher(segment);
    let timeline = segment.timeline();
    let writing = timeline.newest(NEWEST).filter_map(|(_, it)| {
        let pages = it.buffers_written.filter(|pages| *pages > 0)?;
        let ops = it.device_write_ops?;
        (it.phase == CheckpointPhase::Writing).then_some((ops as f64, pages as f64))
    });
    let (ops, pages) = writing.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let per_page = if pages > 0.0 { ops / pages } else { 1.0 };
    (
        state.device_operations.map(|it| it as f64),
        state.device_bytes.map(|it| it as f64),
        per_page.min(1.0),
    )
}
