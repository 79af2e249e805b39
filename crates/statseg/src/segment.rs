//! The segment in the server that made it: the handles of all writers.
//!
//! *Runs in:* the postmaster, which makes it, and all its children, which inherit the mapping.
//! *Reads and writes:* everything; which process may take which writer's handle is said at
//! each of them. Handles check nothing: two writers of one record garble its numbers, though
//! never the memory.
//! *Never:* removes the file on drop: children hold copies of it.

use crate::activity::ActivityWriter;
use crate::catalog::{Metric, MetricKind};
use crate::codes::{CheckpointPhase, SegmentState};
use crate::collected::{CollectedDatabase, CollectorState};
use crate::commit_windows::CommitWindowsWriter;
use crate::control::{CHECKPOINT_PHASE, METRICS_EPOCH, ResetBusy};
use crate::error::OsError;
use crate::files::FilesWriter;
use crate::in_flight::{Durability, Flushes, IN_FLIGHT_WORDS, InFlight};
use crate::layout::{Section, header};
use crate::mapping::Mapping;
use crate::observed::{Second, Stall};
use crate::parse::{Layout, Spot};
use crate::record::{RecordType, RecordWriter};
use crate::records::{
    Event, FlushState, History, MonitorState, Progress, SyncState, Takeover, Worker,
};
use crate::reset::{self, ResetTarget};
use crate::ring::RingWriter;
use crate::stale;
use crate::statistic::{COUNT, Counter, Gauge, Statistic};
use crate::steps::StepsWriter;
use crate::sync::Ordering;
use crate::view::View;
use crate::waits::WaitsWriter;
use rustix::fs::Stat;
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A segment of this server. The lock on its file lasts as long as any process of the server
/// has the segment.
#[derive(Debug)]
pub struct Segment {
    mapping: Mapping,
    layout: Layout,
    /// Holds the lock.
    _file: File,
    path: PathBuf,
    stat: Stat,
}

impl Segment {
    pub(crate) fn new(
        mapping: Mapping,
        layout: Layout,
        file: File,
        path: PathBuf,
        stat: Stat,
    ) -> Self {
        Self {
            mapping,
            layout,
            _file: file,
            path,
            stat,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the segment.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes
    }

    /// The generation it was made with.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.view().generation()
    }

    /// When it was made, in µs since 1970.
    #[must_use]
    pub fn created_at(&self) -> i64 {
        self.view().created_at()
    }

    /// The read side.
    #[inline]
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(self.mapping.words(), &self.layout)
    }

    /// Tells readers that the server does not use the segment any more. For the postmaster.
    pub fn mark_closed(&self) {
        if let Some(state) = self.mapping.words().get(header::STATE) {
            state.store(SegmentState::Closed.code(), Ordering::Release);
        }
    }

    /// Removes the file, if it still is the one this segment was made in. For the postmaster.
    /// Who has it mapped keeps it.
    ///
    /// # Errors
    /// The error of the operating system; that the file is gone is none.
    pub fn unlink(&self) -> Result<(), OsError> {
        if !stale::is_same_file(&self.path, &self.stat) {
            return Ok(());
        }
        match rustix::fs::unlink(&self.path) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// A counter in the only slot of its group.
    #[inline]
    #[must_use]
    pub fn counter(&self, metric: Metric) -> Counter<'_> {
        self.counter_at(metric, 0)
    }

    /// A counter in the slot of the calling process.
    #[inline]
    #[must_use]
    pub fn counter_at(&self, metric: Metric, slot: usize) -> Counter<'_> {
        let spot = self.spot(metric, MetricKind::Counter);
        Counter(spot.and_then(|spot| self.view().slot(spot, slot).get(COUNT)))
    }

    /// A gauge in the only slot of its group.
    #[inline]
    #[must_use]
    pub fn gauge(&self, metric: Metric) -> Gauge<'_> {
        self.gauge_at(metric, 0)
    }

    /// A gauge in the slot of the calling process.
    #[inline]
    #[must_use]
    pub fn gauge_at(&self, metric: Metric, slot: usize) -> Gauge<'_> {
        let spot = self.spot(metric, MetricKind::Gauge);
        Gauge(spot.and_then(|spot| self.view().slot(spot, slot).get(COUNT)))
    }

    /// A statistic in the only slot of its group.
    #[inline]
    #[must_use]
    pub fn statistic(&self, metric: Metric) -> Statistic<'_> {
        self.statistic_at(metric, 0)
    }

    /// A statistic in the slot of the calling process.
    #[inline]
    #[must_use]
    pub fn statistic_at(&self, metric: Metric, slot: usize) -> Statistic<'_> {
        let Some(spot) = self.spot(metric, MetricKind::Statistic) else {
            return Statistic(None);
        };
        let view = self.view();
        Statistic::new(view.slot(spot, slot), view.control().get(METRICS_EPOCH))
    }

    /// The place of a metric. A metric of another kind is a mistake that tests find; in a
    /// server it must not panic, for the caller may be in a critical section.
    #[inline]
    fn spot(&self, metric: Metric, kind: MetricKind) -> Option<&Spot> {
        let spot = self.layout.spot(metric).filter(|spot| spot.kind == kind);
        debug_assert!(spot.is_some(), "{metric:?} is not a {}", kind.as_str());
        spot
    }

    /// The running checkpoint. Writer: the monitor.
    #[must_use]
    pub fn progress(&self) -> RecordWriter<'_, Progress> {
        self.record(&self.layout.sections.progress, 0)
    }

    /// The sync phase of the running checkpoint. Writer: the checkpointer.
    #[must_use]
    pub fn sync_state(&self) -> RecordWriter<'_, SyncState> {
        self.record(&self.layout.sections.sync_state, 0)
    }

    /// What the monitor remembers. Writer: the monitor.
    #[must_use]
    pub fn monitor_state(&self) -> RecordWriter<'_, MonitorState> {
        self.record(&self.layout.sections.monitor_state, 0)
    }

    /// What the flusher does. Writer: the flusher.
    #[must_use]
    pub fn flush_state(&self) -> RecordWriter<'_, FlushState> {
        self.record(&self.layout.sections.flush_state, 0)
    }

    /// Who starts the writeback of the running checkpoint. Writer: the checkpointer.
    #[must_use]
    pub fn takeover(&self) -> RecordWriter<'_, Takeover> {
        self.record(&self.layout.sections.takeover, 0)
    }

    /// A background worker. Writer: that worker. Beyond [`View::worker_count`] nothing is
    /// written.
    #[must_use]
    pub fn worker(&self, index: usize) -> RecordWriter<'_, Worker> {
        self.record(&self.layout.sections.workers, index)
    }

    /// What the checkpointer tells the monitor. Writer: the checkpointer.
    #[must_use]
    pub fn events(&self) -> RingWriter<'_, Event> {
        RingWriter::new(self.view().events())
    }

    /// Past checkpoints. Writer: the monitor.
    #[must_use]
    pub fn history(&self) -> RingWriter<'_, History> {
        RingWriter::new(self.view().history())
    }

    /// The files the checkpointer synced. Writer: the checkpointer.
    #[must_use]
    pub fn files_synced(&self) -> FilesWriter<'_> {
        FilesWriter::new(self.view().files_synced())
    }

    /// The files checkpoints wrote to. Writer: the monitor.
    #[must_use]
    pub fn files_written(&self) -> FilesWriter<'_> {
        FilesWriter::new(self.view().files_written())
    }

    /// The files the flusher started writeback for. Writer: the flusher.
    #[must_use]
    pub fn files_flushed(&self) -> FilesWriter<'_> {
        FilesWriter::new(self.view().files_flushed())
    }

    /// The commits of one backend, by its number among the server's processes. Writer: that
    /// backend.
    #[inline]
    #[must_use]
    pub fn commit_windows(&self, backend: usize) -> CommitWindowsWriter<'_> {
        CommitWindowsWriter::new(self.view().commit_windows(backend))
    }

    /// What one process has done, by its number among the server's processes. Writer: that
    /// process.
    #[inline]
    #[must_use]
    pub fn activity(&self, process: usize) -> ActivityWriter<'_> {
        ActivityWriter::new(self.view().activity(process))
    }

    /// The last steps of one process, by its number among the server's processes. Writer: that
    /// process.
    #[must_use]
    pub fn steps(&self, process: usize) -> Option<StepsWriter<'_>> {
        let view = self.view();
        StepsWriter::new(view.steps(process), view.control().get(METRICS_EPOCH))
    }

    /// Where the checkpoints are, for everybody who counts by it. Writer: the monitor.
    pub fn set_checkpoint_phase(&self, phase: CheckpointPhase) {
        self.gauge(Metric::CheckpointPhase).set(phase.code());
        Gauge(self.view().control().get(CHECKPOINT_PHASE)).set(phase.code());
    }

    /// The timeline. Writer: the monitor.
    #[must_use]
    pub fn timeline(&self) -> RingWriter<'_, Second> {
        RingWriter::new(self.view().timeline())
    }

    /// The stall that is going on. Writer: the monitor.
    #[must_use]
    pub fn stall(&self) -> RecordWriter<'_, Stall> {
        self.record(&self.layout.sections.stall, 0)
    }

    /// Past stalls. Writer: the monitor.
    #[must_use]
    pub fn stalls(&self) -> RingWriter<'_, Stall> {
        RingWriter::new(self.view().stalls())
    }

    /// What backends were found waiting for. Writer: the monitor.
    #[must_use]
    pub fn waits(&self) -> WaitsWriter<'_> {
        WaitsWriter::new(self.view().waits())
    }

    /// Group commits that are on their way to a kind of durability. Writers: all backends that
    /// commit.
    #[inline]
    #[must_use]
    pub fn in_flight(&self, what: Durability) -> Option<InFlight<'_>> {
        InFlight::new(self.view().group_commit(), what)
    }

    /// The words of all of [`Segment::in_flight`], for C: while nobody has ever announced a commit,
    /// all four are 0. Null if they are not there.
    #[must_use]
    pub fn in_flight_words(&self) -> *const u64 {
        let words = self.view().group_commit().get(..IN_FLIGHT_WORDS);
        words.map_or(std::ptr::null(), |words| words.as_ptr().cast())
    }

    /// The flushes that have served group commits. Writers: all backends that commit.
    #[inline]
    #[must_use]
    pub fn flushes(&self) -> Option<Flushes<'_>> {
        Flushes::new(self.view().group_commit())
    }

    /// The collector. Writer: the collector.
    #[must_use]
    pub fn collector_state(&self) -> RecordWriter<'_, CollectorState> {
        self.record(&self.layout.sections.collector_state, 0)
    }

    /// A database whose statistics are kept. Writer: the collector. Beyond
    /// [`View::database_count`] nothing is written.
    #[must_use]
    pub fn database(&self, index: usize) -> RecordWriter<'_, CollectedDatabase> {
        self.record(&self.layout.sections.databases, index)
    }

    /// Resets. For any process of the server; no writer is disturbed.
    ///
    /// # Errors
    /// [`ResetBusy`] when another process is resetting and does not finish in time.
    pub fn reset(&self, what: ResetTarget, pid: u32, now_unix_us: i64) -> Result<(), ResetBusy> {
        reset::reset(self.view(), what, pid, now_unix_us)
    }

    fn record<T: RecordType>(&self, section: &Section, index: usize) -> RecordWriter<'_, T> {
        RecordWriter::new(self.view().part(section, index))
    }
}
