//! Where a backend's own numbers are in the segment, looked up once.
//!
//! *Runs in:* every client backend. *Reads and writes:* this process's memory; the handles are to
//! the backend's own slot. *Never:* allocates.
//!
//! A statement of a busy backend finds the caches filled by others: each place that has to be
//! looked up in the segment's directories again is a wait for memory.

use statseg::{
    ActivityWriter, CheckpointPhase, Command, Metric, PhaseGauge, Statistic, StepNumber,
    StepsWriter,
};

use crate::process::{self, ProcessCell};
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

/// Where times are put down first.
#[unsafe(link_section = "ckf_data")]
static STEPS: ProcessCell<Option<StepsWriter<'static>>> = ProcessCell::new(None);

/// Where they go when there is no room for more: the statistics by the numbers of the steps.
static OWN: ProcessCell<[Statistic<'static>; StepNumber::COUNT]> =
    ProcessCell::new([Statistic::NONE; StepNumber::COUNT]);

/// This process's; `None` when the library was not preloaded.
#[inline]
pub(super) fn place() -> Option<Place> {
    PLACE.get().or_else(find)
}

#[cold]
fn find() -> Option<Place> {
    let segment = shmem::segment()?;
    let slot = shmem::slot();
    let mut own = [Statistic::NONE; StepNumber::COUNT];
    for metric in Metric::ALL {
        if let Some(place) = metric.step().and_then(|step| own.get_mut(step.index())) {
            *place = segment.statistic_at(*metric, slot);
        }
    }
    OWN.set(own);
    STEPS.set(segment.steps(slot));
    let place = Place {
        phase: segment.view().phase_gauge(),
        activity: segment.activity(slot),
    };
    PLACE.set(Some(place));
    Some(place)
}

/// Has what the rest of a transaction writes to fetched, while the executor works.
#[inline]
pub(super) fn fetch(place: Place) {
    process::fetch(place.activity.first_word());
    if let Some(steps) = STEPS.get() {
        process::fetch(steps.next_word());
    }
}

/// Record how long a command took. After [`place`].
#[inline]
pub(super) fn command(command: Command, phase: CheckpointPhase, ns: u64) {
    record(StepNumber::command(command, phase), ns);
}

/// The same of a transaction.
#[inline]
pub(super) fn transaction(phase: CheckpointPhase, ns: u64) {
    record(StepNumber::transaction(phase), ns);
}

/// Once, for all who record: it is in the cache then.
#[inline(never)]
#[unsafe(link_section = "ckf_hot")]
fn record(number: StepNumber, ns: u64) {
    let statistic = |index| OWN.at(index).unwrap_or(Statistic::NONE);
    let act = |steps: &mut Option<StepsWriter<'static>>| {
        if let Some(steps) = steps {
            steps.record(number, ns, statistic);
        }
    };
    // SAFETY: nothing that is called here knows of STEPS.
    unsafe { STEPS.with(act) };
}
