//! The read side of a segment: everything in it, through one type.
//!
//! *Runs in:* any process, over its own segment or an attached one.
//! *Reads and writes:* reads only.
//! *Never:* uses a place that [`crate::parse`] has not checked.

use crate::activity::{ACTIVITY_WORDS, Activity, Ended};
use crate::catalog::{Group, Metric};
use crate::codes::{CheckpointPhase, SegmentState};
use crate::collected::{CollectedDatabase, CollectorState, DatabaseRequests};
use crate::commit_windows::{CommitWindows, Commits};
use crate::control::{
    CHECKPOINT_PHASE, FILES_EPOCH, HISTORY_FLOOR, STALLS_FLOOR, TIMELINE_FLOOR, WAITS_EPOCH,
};
use crate::files::FilesTable;
use crate::layout::{Section, header};
use crate::observed::{Second, Stall};
use crate::parse::{Layout, Spot, word};
use crate::record::{Record, RecordType};
use crate::records::{
    Event, FlushState, History, MonitorState, Progress, SyncState, Takeover, Worker,
};
use crate::reset::{self, ResetTimes};
use crate::ring::Ring;
use crate::statistic::{self, Slot};
use crate::steps::Steps;
use crate::sync::{AtomicU64, Ordering};
use crate::value::{MetricInfo, Value};
use crate::waits::Waits;

/// Where the checkpoints are, to be asked: one load. None is running where there is no such word.
#[derive(Clone, Copy, Debug)]
pub struct PhaseGauge<'a>(Option<&'a AtomicU64>);

impl PhaseGauge<'_> {
    /// Where they are.
    #[inline]
    #[must_use]
    pub fn phase(&self) -> CheckpointPhase {
        self.0
            .and_then(|word| CheckpointPhase::from_code(word.load(Ordering::Relaxed)))
            .unwrap_or_default()
    }
}

/// The read side of a segment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    words: &'a [AtomicU64],
    layout: &'a Layout,
}

impl<'a> View<'a> {
    #[inline]
    pub(crate) fn new(words: &'a [AtomicU64], layout: &'a Layout) -> Self {
        Self { words, layout }
    }

    /// The version of the layout.
    #[must_use]
    pub fn layout_version(&self) -> u64 {
        word(self.words, header::VERSION)
    }

    /// The generation: grows with every segment the server makes.
    #[must_use]
    pub fn generation(&self) -> u64 {
        word(self.words, header::GENERATION)
    }

    /// The size of the segment.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes
    }

    /// The system identifier of the cluster.
    #[must_use]
    pub fn system_identifier(&self) -> u64 {
        word(self.words, header::SYSTEM_IDENTIFIER)
    }

    /// The server's port.
    #[must_use]
    pub fn port(&self) -> u64 {
        word(self.words, header::PORT)
    }

    /// The server's version, as in `server_version_num`.
    #[must_use]
    pub fn pg_version_num(&self) -> u64 {
        word(self.words, header::PG_VERSION_NUM)
    }

    /// The postmaster's process id.
    #[must_use]
    pub fn postmaster_pid(&self) -> u64 {
        word(self.words, header::PID)
    }

    /// When the segment was made, in µs since 1970.
    #[must_use]
    pub fn created_at(&self) -> i64 {
        word(self.words, header::CREATED_AT).cast_signed()
    }

    /// Whether the server still uses the segment, as far as it told.
    #[must_use]
    pub fn state(&self) -> Option<SegmentState> {
        SegmentState::from_code(word(self.words, header::STATE))
    }

    /// Every metric of the segment, known to this version or not, in the order of its
    /// directory.
    pub fn metrics(&self) -> impl Iterator<Item = MetricInfo<'a>> + use<'a> {
        self.layout
            .metrics
            .iter()
            .enumerate()
            .map(|(index, metric)| MetricInfo {
                name: metric.name.as_str(),
                unit: metric.unit.as_str(),
                help: metric.help.as_str(),
                kind: metric.spot.kind,
                group: metric.group.as_str(),
                index,
            })
    }

    /// The value of a metric of [`View::metrics`].
    #[must_use]
    pub fn value(&self, metric: &MetricInfo<'_>) -> Value {
        let entry = self.layout.metrics.get(metric.index);
        entry
            .map(|entry| self.value_at(&entry.spot))
            .unwrap_or_default()
    }

    /// The value of a metric of the catalog; nothing if the segment does not have it.
    #[must_use]
    pub fn read(&self, metric: Metric) -> Value {
        self.layout
            .spot(metric)
            .map(|spot| self.value_at(spot))
            .unwrap_or_default()
    }

    /// What was ever recorded for a metric of the catalog, whatever was reset; without min and
    /// max. It only grows: a difference of two is what was recorded between them.
    #[must_use]
    pub fn recorded(&self, metric: Metric) -> Value {
        let Some(spot) = self.layout.spot(metric) else {
            return Value::default();
        };
        let sum = statistic::recorded(self.slots(spot), spot.kind.words());
        (sum, spot.kind).into()
    }

    /// Where the checkpoints are.
    #[inline]
    #[must_use]
    pub fn checkpoint_phase(&self) -> CheckpointPhase {
        self.phase_gauge().phase()
    }

    /// The same, its place looked up, for who asks again and again.
    #[inline]
    #[must_use]
    pub fn phase_gauge(&self) -> PhaseGauge<'a> {
        PhaseGauge(self.control().get(CHECKPOINT_PHASE))
    }

    fn value_at(&self, spot: &Spot) -> Value {
        let sum = statistic::read(&self.slots(spot), self.baseline(spot), spot.kind.words());
        (sum, spot.kind).into()
    }

    /// The running checkpoint.
    #[must_use]
    pub fn progress(&self) -> Record<'a, Progress> {
        self.record(&self.layout.sections.progress, 0)
    }

    /// The sync phase of the running checkpoint.
    #[must_use]
    pub fn sync_state(&self) -> Record<'a, SyncState> {
        self.record(&self.layout.sections.sync_state, 0)
    }

    /// What the monitor remembers.
    #[must_use]
    pub fn monitor_state(&self) -> Record<'a, MonitorState> {
        self.record(&self.layout.sections.monitor_state, 0)
    }

    /// What the flusher does.
    #[must_use]
    pub fn flush_state(&self) -> Record<'a, FlushState> {
        self.record(&self.layout.sections.flush_state, 0)
    }

    /// Who starts the writeback of the running checkpoint.
    #[must_use]
    pub fn takeover(&self) -> Record<'a, Takeover> {
        self.record(&self.layout.sections.takeover, 0)
    }

    /// A background worker. Beyond [`View::worker_count`] there is nothing to read.
    #[must_use]
    pub fn worker(&self, index: usize) -> Record<'a, Worker> {
        self.record(&self.layout.sections.workers, index)
    }

    /// How many workers there is room for.
    #[must_use]
    pub fn worker_count(&self) -> usize {
        self.layout.sections.workers.count
    }

    /// What the checkpointer told the monitor.
    #[must_use]
    pub fn events(&self) -> Ring<'a, Event> {
        self.ring(&self.layout.sections.events, None)
    }

    /// Past checkpoints.
    #[must_use]
    pub fn history(&self) -> Ring<'a, History> {
        self.ring(
            &self.layout.sections.history,
            self.control().get(HISTORY_FLOOR),
        )
    }

    /// The files the checkpointer synced.
    #[must_use]
    pub fn files_synced(&self) -> FilesTable<'a> {
        self.table(&self.layout.sections.files_synced)
    }

    /// The files checkpoints wrote to.
    #[must_use]
    pub fn files_written(&self) -> FilesTable<'a> {
        self.table(&self.layout.sections.files_written)
    }

    /// The commits of one backend.
    #[inline]
    #[must_use]
    pub fn commit_windows(&self, backend: usize) -> CommitWindows<'a> {
        CommitWindows::new(self.part(&self.layout.sections.commit_windows, backend))
    }

    /// The commits of all backends in a window of a tenth of a second.
    #[must_use]
    pub fn commits(&self, window: u64) -> Commits {
        let backends = 0..self.layout.sections.commit_windows.count;
        Commits::sum(backends.filter_map(|backend| self.commit_windows(backend).commits(window)))
    }

    /// What one process has done.
    #[inline]
    #[must_use]
    pub fn activity(&self, process: usize) -> Activity<'a> {
        Activity::new(self.part(&self.layout.sections.activity, process))
    }

    /// Transactions ended by all processes since the segment was made.
    #[must_use]
    pub fn ended(&self) -> Ended {
        self.activities()
            .fold(Ended::default(), |sum, part| sum + part.ended())
    }

    /// The longest transaction of all processes that ended in a second (since 1970).
    #[must_use]
    pub fn longest_transaction(&self, second: u64) -> Option<u64> {
        self.activities()
            .filter_map(|part| part.longest(second))
            .max()
    }

    fn activities(&self) -> impl Iterator<Item = Activity<'a>> + use<'a> {
        let view = *self;
        (0..view.layout.sections.activity.count).map(move |process| view.activity(process))
    }

    /// The last seconds.
    #[must_use]
    pub fn timeline(&self) -> Ring<'a, Second> {
        let floor = self.control().get(TIMELINE_FLOOR);
        self.ring(&self.layout.sections.timeline, floor)
    }

    /// The stall that is going on; if none is, the last one.
    #[must_use]
    pub fn stall(&self) -> Record<'a, Stall> {
        self.record(&self.layout.sections.stall, 0)
    }

    /// Past stalls.
    #[must_use]
    pub fn stalls(&self) -> Ring<'a, Stall> {
        let floor = self.control().get(STALLS_FLOOR);
        self.ring(&self.layout.sections.stalls, floor)
    }

    /// What backends were found waiting for.
    #[must_use]
    pub fn waits(&self) -> Waits<'a> {
        let section = &self.layout.sections.waits;
        let words = self.section(section).get(..section.stride * section.count);
        Waits::new(
            words.unwrap_or(&[]),
            section.stride,
            self.control().get(WAITS_EPOCH),
        )
    }

    /// The words of group commits.
    #[inline]
    pub(crate) fn group_commit(&self) -> &'a [AtomicU64] {
        self.part(&self.layout.sections.group_commit, 0)
    }

    /// The collector.
    #[must_use]
    pub fn collector_state(&self) -> Record<'a, CollectorState> {
        self.record(&self.layout.sections.collector_state, 0)
    }

    /// Databases there is room for.
    #[must_use]
    pub fn database_count(&self) -> usize {
        self.layout.sections.databases.count
    }

    /// A database whose statistics the collector keeps.
    #[must_use]
    pub fn database(&self, index: usize) -> Record<'a, CollectedDatabase> {
        self.record(&self.layout.sections.databases, index)
    }

    /// What was asked of the collector about the database of that row. Any process of the server
    /// may ask.
    #[must_use]
    pub fn database_requests(&self, index: usize) -> DatabaseRequests<'a> {
        DatabaseRequests::new(self.part(&self.layout.sections.database_requests, index))
    }

    /// The files the flusher started writeback for.
    #[must_use]
    pub fn files_flushed(&self) -> FilesTable<'a> {
        self.table(&self.layout.sections.files_flushed)
    }

    /// When what was reset last.
    #[must_use]
    pub fn reset_times(&self) -> ResetTimes {
        reset::times(self.control())
    }

    pub(crate) fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The words of a section; none if the file was found shorter meanwhile.
    fn section(&self, section: &Section) -> &'a [AtomicU64] {
        let words: &'a [AtomicU64] = self.words;
        words
            .get(section.offset..section.offset + section.words)
            .unwrap_or(&[])
    }

    /// The words of part `index` of a section; none beyond its parts.
    pub(crate) fn part(&self, section: &Section, index: usize) -> &'a [AtomicU64] {
        if index >= section.count {
            return &[];
        }
        let start = section.kind.prefix() + index * section.stride;
        self.section(section)
            .get(start..start + section.stride)
            .unwrap_or(&[])
    }

    pub(crate) fn control(&self) -> &'a [AtomicU64] {
        self.section(&self.layout.sections.control)
    }

    fn record<T: RecordType>(&self, section: &Section, index: usize) -> Record<'a, T> {
        Record::new(self.part(section, index))
    }

    fn ring<T: RecordType>(&self, section: &Section, floor: Option<&'a AtomicU64>) -> Ring<'a, T> {
        Ring::new(self.section(section), section.stride, section.count, floor)
    }

    fn table(&self, section: &Section) -> FilesTable<'a> {
        let words = self.section(section).get(..section.stride * section.count);
        FilesTable::new(
            words.unwrap_or(&[]),
            section.stride,
            self.control().get(FILES_EPOCH),
        )
    }

    /// The words of a metric in one slot; none beyond the slots.
    #[inline]
    pub(crate) fn slot(&self, spot: &Spot, slot: usize) -> &'a [AtomicU64] {
        if slot >= spot.slots {
            return &[];
        }
        let start = spot.first + slot * spot.stride;
        self.words
            .get(start..start + spot.kind.words())
            .unwrap_or(&[])
    }

    /// A metric in all slots.
    pub(crate) fn slots(&self, spot: &Spot) -> impl Iterator<Item = Slot<'a>> + Clone + use<'a> {
        let (view, spot) = (*self, *spot);
        (0..spot.slots).map(move |slot| Slot {
            words: view.slot(&spot, slot),
            steps: spot
                .step
                .and_then(|step| Steps::new(view.steps(slot), step)),
        })
    }

    /// The words of the last steps of a process.
    pub(crate) fn steps(&self, process: usize) -> &'a [AtomicU64] {
        let part = self.part(&self.layout.sections.activity, process);
        part.get(ACTIVITY_WORDS..).unwrap_or(&[])
    }

    /// The words of a metric in the baseline.
    #[inline]
    pub(crate) fn baseline(&self, spot: &Spot) -> &'a [AtomicU64] {
        self.words
            .get(spot.baseline..spot.baseline + spot.kind.words())
            .unwrap_or(&[])
    }

    /// Slots a group has in this segment, and 0 for a group it does not know.
    #[must_use]
    pub fn slot_count(&self, group: Group) -> usize {
        let metric = self
            .layout
            .metrics
            .iter()
            .find(|m| m.group.as_str() == group.section());
        metric.map_or(0, |metric| metric.spot.slots)
    }
}
