//! Where a backend's own numbers are in the segment, looked up once.
//!
//! *Runs in:* every client backend. *Reads and writes:* this process's memory; the handles are to
//! the backend's own slot. *Never:* allocates.
//!
//! A statement of a busy backend finds the caches filled by others: each place that has to be
//! looked up in the segment's directories again is a wait for memory.

use statseg::{ActivityWriter, CheckpointPhase, Command, Metric, PhaseGauge, Statistic};

use crate::process::ProcessCell;
use crate::shmem;

/// What is not told apart by phase and command.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Where the checkpoints are.
    pub(super) phase: PhaseGauge<'static>,
    pub(super) activity: ActivityWriter<'static>,
}

#[unsafe(link_section = "ckf_data")]
static PLACE: ProcessCell<Option<Place>> = ProcessCell::new(None);

/// Statistics of a phase: of each command, and of transactions in place 0, which is no command's.
const COLUMNS: usize = 1 + Command::ALL.len();
const TRANSACTION: usize = 0;
const STATISTICS: usize = COLUMNS * CheckpointPhase::ALL.len();

#[unsafe(link_section = "ckf_data")]
static OWN: ProcessCell<[Statistic<'static>; STATISTICS]> =
    ProcessCell::new([Statistic::NONE; STATISTICS]);

/// This process's; `None` when the library was not preloaded.
#[inline]
pub(super) fn place() -> Option<Place> {
    PLACE.get().or_else(find)
}

#[cold]
fn find() -> Option<Place> {
    let segment = shmem::segment()?;
    let slot = shmem::slot();
    let mut own = [Statistic::NONE; STATISTICS];
    for (phase, _) in CheckpointPhase::ALL {
        let metrics = Command::ALL
            .iter()
            .map(|(command, _)| (column(*command), Metric::command(*command, *phase)))
            .chain([(TRANSACTION, Metric::transaction(*phase))]);
        for (column, metric) in metrics {
            own[index(column, *phase)] = segment.statistic_at(metric, slot);
        }
    }
    OWN.set(own);
    let place = Place {
        phase: segment.view().phase_gauge(),
        activity: segment.activity(slot),
    };
    PLACE.set(Some(place));
    Some(place)
}

/// Codes begin with 1.
#[inline]
fn column(command: Command) -> usize {
    command.code() as usize
}

#[inline]
fn index(column: usize, phase: CheckpointPhase) -> usize {
    (phase.code() as usize - 1) * COLUMNS + column
}

/// Record how long a command took. After [`place`].
#[inline]
pub(super) fn command(command: Command, phase: CheckpointPhase, ns: u64) {
    record(index(column(command), phase), ns);
}

/// The same of a transaction.
#[inline]
pub(super) fn transaction(phase: CheckpointPhase, ns: u64) {
    record(index(TRANSACTION, phase), ns);
}

/// Once, for all who record: it is in the cache then.
#[inline(never)]
#[unsafe(link_section = "ckf_hot")]
fn record(index: usize, ns: u64) {
    if let Some(statistic) = OWN.at(index) {
        statistic.record(ns);
    }
}
