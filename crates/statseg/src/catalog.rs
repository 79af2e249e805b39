//! The catalog of metrics: every counter, gauge and statistic this version writes.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing.
//! *Never:* is needed to read a segment: the segment carries its own directory. It says what a
//! new segment gets, and lets the server's own code name a metric.

use crate::codes::{CheckpointPhase, Command};
use crate::histogram::BUCKETS;
use crate::statistic::{COUNTER_WORDS, STATISTIC_WORDS};
use crate::steps::StepNumber;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// Only grows; a reset takes it back to zero.
    Counter,
    /// The present value of something; a reset does not touch it.
    Gauge,
    /// Count, total, min, max and histogram of many values.
    Statistic,
}

impl MetricKind {
    /// The code as it stands in the segment.
    #[must_use]
    pub const fn code(self) -> u64 {
        match self {
            Self::Counter => 1,
            Self::Gauge => 2,
            Self::Statistic => 3,
        }
    }

    /// The kind of a code.
    #[must_use]
    pub const fn from_code(code: u64) -> Option<Self> {
        match code {
            1 => Some(Self::Counter),
            2 => Some(Self::Gauge),
            3 => Some(Self::Statistic),
            _ => None,
        }
    }

    /// The kind as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Statistic => "statistic",
        }
    }

    /// Words of such a metric in each slot and in the baseline.
    #[must_use]
    pub const fn words(self) -> usize {
        match self {
            Self::Counter | Self::Gauge => COUNTER_WORDS,
            Self::Statistic => STATISTIC_WORDS,
        }
    }

    /// Buckets of such a metric.
    #[must_use]
    pub const fn buckets(self) -> usize {
        match self {
            Self::Counter | Self::Gauge => 0,
            Self::Statistic => BUCKETS,
        }
    }
}

/// Whose slots a metric stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Written by the checkpointer.
    Checkpointer,
    /// Written by the monitor.
    Monitor,
    /// Written by the flusher.
    Flusher,
    /// Written by the collector.
    Collector,
    /// A slot for each process of the server, written by that process.
    Backends,
}

impl Group {
    /// Every group, in the order of their sections.
    pub const ALL: [Self; 5] = [
        Self::Checkpointer,
        Self::Monitor,
        Self::Flusher,
        Self::Collector,
        Self::Backends,
    ];

    /// The name of the section with the group's slots.
    #[must_use]
    pub const fn section(self) -> &'static str {
        match self {
            Self::Checkpointer => "checkpointer",
            Self::Monitor => "monitor",
            Self::Flusher => "flusher",
            Self::Collector => "collector",
            Self::Backends => "backends",
        }
    }
}

/// One metric of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricDef {
    /// Its name: at most 48 bytes.
    pub name: &'static str,
    /// Its unit: at most 16 bytes.
    pub unit: &'static str,
    /// What it is.
    pub kind: MetricKind,
    /// Whose slots it stands in.
    pub group: Group,
    /// What it means: at most 144 bytes.
    pub help: &'static str,
}

macro_rules! metrics {
    ($( $variant:ident $name:literal $kind:ident $group:ident $unit:literal $help:literal; )+) => {
        /// The metrics of the catalog; the number of each is its place in [`METRICS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Metric {
            $( #[doc = $help] $variant, )+
        }

        impl Metric {
            /// Every metric, in order.
            pub const ALL: &'static [Self] = &[$( Self::$variant ),+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();
        }

        /// What is known of each metric.
        pub static METRICS: [MetricDef; Metric::COUNT] = [$( MetricDef {
            name: $name,
            unit: $unit,
            kind: MetricKind::$kind,
            group: Group::$group,
            help: $help,
        } ),+];
    };
}

metrics! {
    NumTimed "num_timed" Counter Monitor "count"
        "Checkpoints begun because checkpoint_timeout had passed";
    NumRequested "num_requested" Counter Monitor "count"
        "Checkpoints begun because of WAL volume or on request";
    NumDone "num_done" Counter Monitor "count" "Checkpoints completed";
    NumFailed "num_failed" Counter Monitor "count" "Checkpoints and restartpoints that failed";
    RestartpointsTimed "restartpoints_timed" Counter Monitor "count"
        "Restartpoints begun because checkpoint_timeout had passed";
    RestartpointsReq "restartpoints_req" Counter Monitor "count"
        "Restartpoints begun because of WAL volume or on request";
    RestartpointsDone "restartpoints_done" Counter Monitor "count" "Restartpoints completed";
    BuffersWritten "buffers_written" Counter Monitor "count"
        "Buffers written by checkpoints and restartpoints";
    SlruWritten "slru_written" Counter Monitor "count"
        "SLRU pages written by checkpoints and restartpoints";
    FilesSynced "files_synced" Counter Monitor "count"
        "Files synced by checkpoints and restartpoints";
    FilesEvicted "files_evicted" Counter Monitor "count"
        "Files that left the table of written files for want of room";
    EventsLost "events_lost" Counter Monitor "count"
        "Events of the checkpointer the monitor came too late for";
    WriteTime "write_time" Counter Monitor "ns" "Time in write phases";
    SyncTime "sync_time" Counter Monitor "ns" "Time in sync phases";
    CheckpointWriteTime "checkpoint_write_time" Statistic Monitor "ns"
        "Length of the write phase of a checkpoint";
    CheckpointSyncTime "checkpoint_sync_time" Statistic Monitor "ns"
        "Length of the sync phase of a checkpoint";
    CheckpointTotalTime "checkpoint_total_time" Statistic Monitor "ns"
        "Length of a checkpoint";
    CheckpointLongestSyncTime "checkpoint_longest_sync_time" Statistic Monitor "ns"
        "The longest sync of a file in a checkpoint";
    CheckpointBuffers "checkpoint_buffers" Statistic Monitor "count"
        "Buffers written by a checkpoint";
    CheckpointDistance "checkpoint_distance" Statistic Monitor "bytes"
        "WAL between two checkpoints";
    MonitorPollTime "monitor_poll_time" Statistic Monitor "ns"
        "Time the monitor worked at one poll";
    CheckpointPhase "checkpoint_phase" Gauge Monitor "code"
        "Where the checkpoints are: 1 none is running, 2 writing, 3 syncing";
    Stalls "stalls" Counter Monitor "count"
        "Times in which active backends committed nothing";
    StalledTime "stalled_time" Counter Monitor "ns"
        "Time in which active backends committed nothing";
    WaitsLost "waits_lost" Counter Monitor "count"
        "Samples of waits that found no room in the table";
    SampleTime "sample_time" Statistic Monitor "ns"
        "Time the monitor worked to sample all backends once";
    FlushLockTime "flush_lock_time" Counter Monitor "ns"
        "Time that processes waited for a row whose owner only waited for its flush or its standby";
    WritebackBytes "writeback_bytes" Counter Flusher "bytes"
        "Bytes of dirty pages whose writeback the flusher started";
    WritebackCalls "writeback_calls" Counter Flusher "count"
        "Requests with which the flusher started writeback";
    DeadlinesMissed "deadlines_missed" Counter Flusher "count"
        "Times that writeback fell more than two seconds behind its deadline";
    FlushFilesEvicted "flush_files_evicted" Counter Flusher "count"
        "Files that left the table of flushed files for want of room";
    FlushRoundTime "flush_round_time" Statistic Flusher "ns"
        "Time the flusher worked in one round";
    CollectorCheckTime "collector_check_time" Statistic Collector "ns"
        "Looking for databases whose statistics have changed";
    CollectorSearchTime "collector_search_time" Statistic Collector "ns"
        "Searching for new entries of the statistics";
    CollectorWriteTime "collector_write_time" Statistic Collector "ns"
        "Copying and writing the statistics of one database";
    CollectorCycleTime "collector_cycle_time" Statistic Collector "ns"
        "A round of the collector in which something was written";
    CollectorFiles "collector_files" Counter Collector "count"
        "Statistics files written";
    CollectorBytes "collector_bytes" Counter Collector "bytes"
        "Bytes of statistics files written";
    CollectorEntries "collector_entries" Gauge Collector "count"
        "Entries of the statistics that the last search has found";
    CollectorRestoreTime "collector_restore_time" Gauge Collector "ns"
        "Time that restoring the statistics took";
    SyncPauseTime "sync_pause_time" Counter Checkpointer "ns"
        "Pauses of the checkpointer between syncs of files";
    FileSyncTime "file_sync_time" Statistic Checkpointer "ns"
        "Time one sync of a file took in a checkpoint";
    SyncFilesEvicted "sync_files_evicted" Counter Checkpointer "count"
        "Files that left the table of synced files for want of room";
    ParseNone "parse_time_none" Statistic Backends "ns"
        "Parsing and analyzing a statement, while no checkpoint ran";
    ParseWriting "parse_time_writing" Statistic Backends "ns"
        "Parsing and analyzing a statement, in a checkpoint's write phase";
    ParseSyncing "parse_time_syncing" Statistic Backends "ns"
        "Parsing and analyzing a statement, in a checkpoint's sync phase";
    PlanNone "plan_time_none" Statistic Backends "ns"
        "Planning a statement, while no checkpoint ran";
    PlanWriting "plan_time_writing" Statistic Backends "ns"
        "Planning a statement, in a checkpoint's write phase";
    PlanSyncing "plan_time_syncing" Statistic Backends "ns"
        "Planning a statement, in a checkpoint's sync phase";
    BindNone "bind_time_none" Statistic Backends "ns"
        "Binding parameters of a prepared statement, and starting it, while no checkpoint ran";
    BindWriting "bind_time_writing" Statistic Backends "ns"
        "Binding parameters of a prepared statement, and starting it, in a checkpoint's write phase";
    BindSyncing "bind_time_syncing" Statistic Backends "ns"
        "Binding parameters of a prepared statement, and starting it, in a checkpoint's sync phase";
    ExecuteNone "execute_time_none" Statistic Backends "ns"
        "Executing a planned statement, while no checkpoint ran";
    ExecuteWriting "execute_time_writing" Statistic Backends "ns"
        "Executing a planned statement, in a checkpoint's write phase";
    ExecuteSyncing "execute_time_syncing" Statistic Backends "ns"
        "Executing a planned statement, in a checkpoint's sync phase";
    UtilityNone "utility_time_none" Statistic Backends "ns"
        "Executing a utility statement, while no checkpoint ran";
    UtilityWriting "utility_time_writing" Statistic Backends "ns"
        "Executing a utility statement, in a checkpoint's write phase";
    UtilitySyncing "utility_time_syncing" Statistic Backends "ns"
        "Executing a utility statement, in a checkpoint's sync phase";
    CommitNone "commit_time_none" Statistic Backends "ns"
        "Committing, but for the WAL flush, while no checkpoint ran";
    CommitWriting "commit_time_writing" Statistic Backends "ns"
        "Committing, but for the WAL flush, in a checkpoint's write phase";
    CommitSyncing "commit_time_syncing" Statistic Backends "ns"
        "Committing, but for the WAL flush, in a checkpoint's sync phase";
    WalFlushNone "wal_flush_time_none" Statistic Backends "ns"
        "Making a commit durable: its record, the WAL flush, the synchronous standby, while no checkpoint ran";
    WalFlushWriting "wal_flush_time_writing" Statistic Backends "ns"
        "Making a commit durable: its record, the WAL flush, the synchronous standby, in a checkpoint's write phase";
    WalFlushSyncing "wal_flush_time_syncing" Statistic Backends "ns"
        "Making a commit durable: its record, the WAL flush, the synchronous standby, in a checkpoint's sync phase";
    IdleNone "idle_time_none" Statistic Backends "ns"
        "Waiting for the client, while no checkpoint ran";
    IdleWriting "idle_time_writing" Statistic Backends "ns"
        "Waiting for the client, in a checkpoint's write phase";
    IdleSyncing "idle_time_syncing" Statistic Backends "ns"
        "Waiting for the client, in a checkpoint's sync phase";
    TransactionNone "transaction_time_none" Statistic Backends "ns"
        "From the begin of a transaction to its end, while no checkpoint ran";
    TransactionWriting "transaction_time_writing" Statistic Backends "ns"
        "From the begin of a transaction to its end, in a checkpoint's write phase";
    TransactionSyncing "transaction_time_syncing" Statistic Backends "ns"
        "From the begin of a transaction to its end, in a checkpoint's sync phase";
    GroupCommits "group_commits" Counter Backends "count"
        "Commits whose locks were free before their record was flushed";
    GroupSkippedAsynchronous "group_commits_skipped_asynchronous" Counter Backends "count"
        "Commits that wait for no flush anyway: synchronous_commit is off";
    GroupSkippedRemoteApply "group_commits_skipped_remote_apply" Counter Backends "count"
        "Commits that kept their locks: synchronous_commit is remote_apply";
    GroupSkippedStandby "group_commits_skipped_standby" Counter Backends "count"
        "Commits that kept their locks because they wait for a synchronous standby";
    GroupSkippedTwoPhase "group_commits_skipped_two_phase" Counter Backends "count"
        "Transactions that were prepared for a two-phase commit";
    GroupSkippedUnlogged "group_commits_skipped_unlogged" Counter Backends "count"
        "Commits that wait for no flush anyway: they wrote to temporary or unlogged tables only";
    GroupSkippedBackground "group_commits_skipped_background" Counter Backends "count"
        "Commits of processes that serve no client";
    GroupSkippedFsync "group_commits_skipped_fsync" Counter Backends "count"
        "Commits that wait for no flush anyway: fsync is off";
    GroupFlushes "group_commit_flushes" Counter Backends "count"
        "Flushes that a group commit has waited for";
    GroupFollowers "group_commit_followers" Counter Backends "count"
        "Group commits served by a flush that another one has come back from first";
    GroupFlushedBefore "group_commit_flushed_before" Counter Backends "count"
        "Group commits that were flushed already when they were to wait";
    GroupSize "group_commit_size" Statistic Backends "count"
        "Group commits served by a flush";
    GroupFlushTime "group_commit_flush_time" Statistic Backends "ns"
        "Time a flush took for the first group commit that came back from it";
    GroupWaitTime "group_commit_wait_time" Statistic Backends "ns"
        "Time a group commit waited, without locks, until it was durable";
    GroupReaderWaitTime "group_commit_reader_wait_time" Statistic Backends "ns"
        "Time a reader waited until what it had seen was durable";
}

impl Metric {
    /// Time that commands of a kind took in a phase of the checkpoints.
    #[inline]
    #[must_use]
    pub const fn command(command: Command, phase: CheckpointPhase) -> Self {
        // Both number from 1 without a gap; a test holds the names against it.
        Self::ALL[Self::ParseNone as usize + (command.code() as usize - 1) * PHASES + place(phase)]
    }

    /// Length of transactions in a phase of the checkpoints.
    #[inline]
    #[must_use]
    pub const fn transaction(phase: CheckpointPhase) -> Self {
        Self::ALL[Self::TransactionNone as usize + place(phase)]
    }

    /// Its number, if it is one of those that are first recorded as steps.
    #[must_use]
    pub fn step(self) -> Option<StepNumber> {
        let first = Self::ParseNone as usize;
        let index = (self as usize).checked_sub(first);
        index
            .filter(|index| *index < StepNumber::COUNT)
            .map(StepNumber::from_index)
    }

    /// What is known of the metric.
    #[must_use]
    pub fn def(self) -> &'static MetricDef {
        &METRICS[self as usize]
    }
}

/// Metrics of a command, one for each phase.
const PHASES: usize = CheckpointPhase::ALL.len();

const fn place(phase: CheckpointPhase) -> usize {
    phase.code() as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_phases_have_their_metrics() {
        for (phase, _) in CheckpointPhase::ALL {
            for (command, _) in Command::ALL {
                let metric = Metric::command(*command, *phase).def();
                assert_eq!(metric.name, format!("{command}_time_{phase}"));
                let step = Metric::command(*command, *phase).step();
                assert_eq!(step, Some(StepNumber::command(*command, *phase)));
            }
            let metric = Metric::transaction(*phase).def();
            assert_eq!(metric.name, format!("transaction_time_{phase}"));
            let step = Metric::transaction(*phase).step();
            assert_eq!(step, Some(StepNumber::transaction(*phase)));
        }
        let steps = Metric::ALL.iter().filter(|metric| metric.step().is_some());
        assert_eq!(steps.count(), StepNumber::COUNT);
    }

    #[test]
    fn every_metric_fits_its_place_in_the_directory() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert_eq!(Metric::ALL[i] as usize, i);
            assert_eq!(Metric::ALL[i].def(), metric);
            assert!((1..=48).contains(&metric.name.len()), "{}", metric.name);
            assert!((1..=16).contains(&metric.unit.len()), "{}", metric.name);
            assert!((1..=144).contains(&metric.help.len()), "{}", metric.name);
            assert!(!metric.help.ends_with('.'), "{}", metric.name);
            let same_name = METRICS.iter().filter(|m| m.name == metric.name).count();
            assert_eq!(same_name, 1, "{}", metric.name);
        }
    }

    #[test]
    fn kinds_have_codes() {
        for kind in [
            MetricKind::Counter,
            MetricKind::Gauge,
            MetricKind::Statistic,
        ] {
            assert_eq!(MetricKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(MetricKind::from_code(0), None);
    }
}
