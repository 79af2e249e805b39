//! Servers for the tests of the rules.

use pacing::outlook::{self, Images, Load};
use statseg::{Cause, CheckpointPhase};

use super::Advice;
use super::measured::{
    Checkpoint, Commits, Files, Measured, Second, Settings, SyncedFile, Writes, cycles,
};
use super::text::MB;

/// Checkpoints every five minutes that have nothing to do, and nobody is there.
pub(super) fn idle() -> Measured {
    let second = Second {
        device: Some((3.0, 20_000.0, 0.0)),
        ..Second::default()
    };
    Measured {
        checkpoints: (0..8).map(|place| checkpoint(place, 300.0, 3.0)).collect(),
        load: load(0.0, 0.0, 3.0),
        seconds: vec![second; 3600],
        sweep: true,
        ..Measured::default()
    }
}

/// 500 commits per second with a fast device and room for everything.
pub(super) fn busy() -> Measured {
    let second = |place: u32| Second {
        phase: if place % 300 < 270 {
            CheckpointPhase::Writing
        } else {
            CheckpointPhase::None
        },
        commits: 500.0,
        active: 2.0,
        p99: Some(0.004),
        wal_bytes: 0.5 * MB,
        writeback_bytes: 0.8 * MB,
        device: Some((
            600.0 + f64::from(place % 50),
            1.5 * MB,
            f64::from(place % 2),
        )),
        ..Second::default()
    };
    Measured {
        settings: Settings::default(),
        checkpoints: (0..8)
            .map(|place| checkpoint(place, 300.0, 8000.0))
            .collect(),
        load: load(0.5 * MB, 0.6 * MB, 8000.0),
        seconds: (0..3600).map(second).collect(),
        files: Files {
            worst: vec![SyncedFile {
                name: "accounts, base/5/1000".to_owned(),
                syncs: 10,
                total: 20.0,
            }],
            typical_shortest: Some(0.0002),
        },
        commits: Commits {
            flushes: 1_000_000,
            flush_median: Some(0.0008),
        },
        writes: Some(Writes {
            seconds: 3600.0,
            checkpoints: 96_000.0,
            bgwriter: 1000.0,
            backends: 2000.0,
            allocated: 50_000.0,
            stopped: 0.0,
        }),
        wal_disk: Some((1000.0 * MB, 100_000.0 * MB)),
        sweep: true,
        clock_ns: Some(25.0),
        sampling: Some(0.004),
        ..Measured::default()
    }
}

/// Begun by time, so many seconds after the one before; the first is the newest.
pub(super) fn checkpoint(place: u32, interval: f64, pages: f64) -> Checkpoint {
    let started_at = 1e9 - f64::from(place) * interval;
    Checkpoint {
        id: u64::from(100 - place),
        cause: Some(Cause::Timed),
        started_at,
        ended_at: started_at + 0.91 * interval,
        pages,
        write: Some(0.9 * interval),
        sync: Some(0.05),
        files: Some(40.0),
        longest_sync: Some(0.01),
        longest_file: None,
        stalled: 0.0,
    }
}

/// WAL at a constant rate and a surge that fades within half a minute, both bytes per second.
pub(super) fn load(rate: f64, surge: f64, pages: f64) -> Option<Load> {
    let seconds: Vec<_> = (0..300)
        .map(|age| outlook::Second {
            age: f64::from(age),
            wal_bytes: rate + surge * (-f64::from(age) / 30.0).exp(),
        })
        .collect();
    let checkpoints: Vec<_> = (0..8)
        .map(|place| checkpoint(place, 300.0, pages))
        .collect();
    Load::measure(
        &seconds,
        &cycles(&checkpoints, 300.0),
        Images::Plain,
        16384.0,
    )
}

/// The statement of a row that must be there.
pub(super) fn statement(advice: Option<Advice>) -> String {
    advice.unwrap().suggestion().unwrap()
}
