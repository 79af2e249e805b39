//! The records of the segment, one struct each.
//!
//! *Runs in:* the writer named at each record; read by any process.
//! *Reads and writes:* nothing itself: the handles of [`crate::record`] do.
//! *Never:* moves a field: a new field goes to the end of its record.
//!
//! Moments (`_at`) are microseconds since 1970-01-01 UTC, durations (`_ns`) nanoseconds,
//! positions in the WAL plain 64-bit numbers. What is not known is absent, never -1 or 0.

use crate::codes::{Cause, EventKind, FlushMode, Kind, Outcome, Phase, WorkerState};
use crate::record::record;
use crate::text::Text;

record! {
    /// What the checkpointer tells the monitor, through the ring `events`.
    /// Writer: the checkpointer.
    pub struct Event {
        /// What happened.
        pub kind: EventKind,
        /// When.
        pub at: i64,
        /// A restartpoint, not a checkpoint.
        pub restartpoint: bool,
        /// PostgreSQL's checkpoint flags.
        pub flags: u64,
        /// The redo position.
        pub redo_lsn: u64,
        /// The checkpointer's process id.
        pub pid: u32,
        /// The checkpointer's number among the server's processes.
        pub proc_number: u32,
        /// Buffers written.
        pub buffers_written: Option<u64>,
        /// SLRU pages written.
        pub slru_written: Option<u64>,
        /// Begin of the checkpoint.
        pub start_at: Option<i64>,
        /// Begin of its write phase.
        pub write_start_at: Option<i64>,
        /// Begin of its sync phase.
        pub sync_start_at: Option<i64>,
        /// End of its sync phase.
        pub sync_end_at: Option<i64>,
        /// End of the checkpoint.
        pub end_at: Option<i64>,
        /// WAL files added.
        pub segs_added: Option<u64>,
        /// WAL files removed.
        pub segs_removed: Option<u64>,
        /// WAL files recycled.
        pub segs_recycled: Option<u64>,
        /// Files synced.
        pub files_synced: Option<u64>,
        /// The longest sync of a file.
        pub longest_sync_ns: Option<u64>,
        /// All syncs together.
        pub total_sync_ns: Option<u64>,
        /// WAL since the former checkpoint.
        pub distance_bytes: Option<u64>,
        /// PostgreSQL's estimate of it for the next one.
        pub estimate_bytes: Option<u64>,
        /// The file whose sync took longest.
        pub longest_sync_file: Option<Text<12>>,
    }
}

record! {
    /// The sync phase of the running checkpoint, as far as it is. Writer: the checkpointer.
    pub struct SyncState {
        /// Begin of the checkpoint this is about.
        pub start_at: i64,
        /// Files synced so far.
        pub files_done: u64,
        /// The time their syncs took together.
        pub sync_time_ns: u64,
        /// The longest of them.
        pub longest_ns: u64,
        /// The file it was.
        pub longest_file: Option<Text<12>>,
        /// The file synced last.
        pub last_file: Option<Text<12>>,
        /// When that was done.
        pub last_at: i64,
    }
}

record! {
    /// The running checkpoint. Writer: the monitor.
    pub struct Progress {
        /// Whether a checkpoint is running; if not, the rest is about the last one.
        pub active: bool,
        /// Its number in the history.
        pub checkpoint_id: u64,
        /// The checkpointer's process id.
        pub pid: u32,
        /// What it is.
        pub kind: Kind,
        /// Why it was begun.
        pub cause: Option<Cause>,
        /// What it is doing.
        pub phase: Phase,
        /// When it began.
        pub started_at: i64,
        /// The redo position.
        pub redo_lsn: Option<u64>,
        /// Buffers it has to write.
        pub buffers_total: Option<u64>,
        /// Buffers it has written.
        pub buffers_done: Option<u64>,
        /// Files it has to sync, an estimate.
        pub files_total_estimate: Option<u64>,
        /// Files it has synced.
        pub files_done: Option<u64>,
        /// The file it is at.
        pub current_file: Option<Text<12>>,
        /// Bytes per second it is writing.
        pub write_rate_bytes: Option<u64>,
        /// Bytes queued for writeback by us.
        pub queue_bytes: Option<u64>,
        /// Dirty bytes in the kernel's page cache.
        pub os_dirty_bytes: Option<u64>,
        /// Bytes the kernel is writing.
        pub os_writeback_bytes: Option<u64>,
        /// How long the sync phase will take.
        pub sync_forecast_ns: Option<u64>,
        /// When the write phase is planned to end.
        pub scheduled_end_at: Option<i64>,
        /// When the checkpoint will end.
        pub eta_at: Option<i64>,
        /// Whether it is on its schedule.
        pub on_schedule: Option<bool>,
        /// When this record was written.
        pub updated_at: i64,
    }
}

record! {
    /// One checkpoint, finished or failed, in the ring `history`. Writer: the monitor.
    pub struct History {
        /// Its number.
        pub checkpoint_id: u64,
        /// What it was.
        pub kind: Kind,
        /// Why it was begun.
        pub cause: Option<Cause>,
        /// How it ended.
        pub outcome: Outcome,
        /// When it began.
        pub started_at: i64,
        /// When it ended.
        pub ended_at: i64,
        /// The redo position.
        pub redo_lsn: Option<u64>,
        /// Buffers written.
        pub buffers_written: Option<u64>,
        /// SLRU pages written.
        pub slru_written: Option<u64>,
        /// Length of the write phase.
        pub write_ns: Option<u64>,
        /// Length of the sync phase.
        pub sync_ns: Option<u64>,
        /// Length of the whole.
        pub total_ns: Option<u64>,
        /// Files synced.
        pub files_synced: Option<u64>,
        /// The longest sync of a file.
        pub longest_sync_ns: Option<u64>,
        /// The file it was.
        pub longest_sync_file: Option<Text<12>>,
        /// The average sync of a file.
        pub average_sync_ns: Option<u64>,
        /// WAL files added.
        pub wal_added: Option<u64>,
        /// WAL files removed.
        pub wal_removed: Option<u64>,
        /// WAL files recycled.
        pub wal_recycled: Option<u64>,
        /// WAL since the former checkpoint.
        pub distance_bytes: Option<u64>,
        /// PostgreSQL's estimate of it for the next one.
        pub estimate_bytes: Option<u64>,
        /// Bytes our writeback issued meanwhile.
        pub writeback_bytes: Option<u64>,
        /// Pauses we made between syncs.
        pub sync_pause_ns: Option<u64>,
        /// Transactions committed meanwhile.
        pub commits: Option<u64>,
        /// Time in which active backends committed nothing.
        pub stalled_ns: Option<u64>,
        /// The longest transaction meanwhile.
        pub longest_transaction_ns: Option<u64>,
        /// 99 % of the transactions meanwhile took at most this.
        pub transaction_p99_ns: Option<u64>,
        /// 99.9 % of the transactions meanwhile took at most this.
        pub transaction_p999_ns: Option<u64>,
        /// 99 % of the transactions since the former checkpoint took at most this.
        pub outside_p99_ns: Option<u64>,
        /// 99.9 % of the transactions since the former checkpoint took at most this.
        pub outside_p999_ns: Option<u64>,
    }
}

record! {
    /// One background worker. Writer: that worker (a worker that is not running: the
    /// postmaster's successor of it). A record with an empty name is not in use.
    pub struct Worker {
        /// Its name.
        pub name: Text<4>,
        /// Its process id.
        pub pid: Option<u32>,
        /// What it is doing.
        pub state: WorkerState,
        /// How often it was started again.
        pub restarts: u64,
        /// Its last error.
        pub last_error: Option<Text<24>>,
        /// When that was.
        pub last_error_at: Option<i64>,
        /// When it last did something.
        pub last_active_at: Option<i64>,
    }
}

record! {
    /// What the monitor must remember when it is started again. Writer: the monitor.
    pub struct MonitorState {
        /// The number of the next checkpoint.
        pub next_checkpoint_id: u64,
        /// The last event it has worked off.
        pub events_seen: u64,
        /// The redo position it saw last.
        pub last_redo_lsn: u64,
        /// Length of the former sync phase.
        pub previous_sync_ns: u64,
        /// Files the former checkpoint synced.
        pub previous_files: u64,
        /// The monitor's number among the server's processes, for setting its latch.
        pub proc_number: Option<u32>,
        /// The monitor's process id.
        pub pid: Option<u32>,
    }
}

record! {
    /// What the flusher does, and that it is there. Writer: the flusher.
    pub struct FlushState {
        /// What it is doing.
        pub mode: FlushMode,
        /// When it was last seen at work.
        pub heartbeat_at: i64,
        /// Whether a checkpoint may leave its writeback to it.
        pub willing: bool,
        /// Its number among the server's processes, for setting its latch.
        pub proc_number: Option<u32>,
        /// Its process id.
        pub pid: Option<u32>,
        /// Bytes that wait for writeback.
        pub queue_bytes: u64,
        /// The time the device will need for them.
        pub queue_cost_ns: u64,
        /// The part of it that is due now.
        pub due_cost_ns: u64,
        /// Bytes issued and not yet on the device.
        pub in_flight_bytes: u64,
        /// Operations per second the device can do, if that was seen.
        pub device_operations: Option<u64>,
        /// Bytes per second the device can do, if that was seen.
        pub device_bytes: Option<u64>,
        /// Bytes per second issued in the last second.
        pub rate_bytes: u64,
        /// The completion target with which the checkpointer, which counts pages, writes evenly
        /// by cost at this moment, in millionths; absent: the user's.
        pub target_ppm: Option<u64>,
        /// The mean commit of the last tenth of a second, if there was one.
        pub commit_mean_ns: Option<u64>,
        /// When the first of what waits is due.
        pub deadline_at: Option<i64>,
        /// Files the sweep knows.
        pub sweep_files: u64,
        /// The time its last full round worked.
        pub sweep_ns: u64,
        /// Dirty bytes the sweep found in the kernel's page cache.
        pub os_dirty_bytes: Option<u64>,
        /// Bytes the sweep found being written by the kernel.
        pub os_writeback_bytes: Option<u64>,
    }
}

record! {
    /// Who starts the writeback of the running checkpoint. Writer: the checkpointer.
    pub struct Takeover {
        /// The flusher; if not, the checkpointer itself.
        pub active: bool,
        /// Begin of the checkpoint this is about.
        pub started_at: i64,
        /// The checkpoint writes pages of unlogged relations too.
        pub unlogged: bool,
        /// It is in its sync phase.
        pub syncing: bool,
    }
}

record! {
    /// One file in the tables `files_synced` (writer: the checkpointer), `files_written`
    /// (writer: the monitor) and `files_flushed` (writer: the flusher). Its id word holds the
    /// epoch of the table.
    pub struct FileRow {
        /// Hash of the key: chooses the set of ways, and finds quickly what is not here.
        pub key_hash: u64,
        /// Grows with every use; the smallest of a full set is replaced.
        pub last_used: u64,
        /// A file of a relation, known by the next five fields; else by its path.
        pub relation: bool,
        /// Object identifier of the tablespace.
        pub tablespace: u32,
        /// Object identifier of the database.
        pub database: u32,
        /// The relation's file number.
        pub relfilenode: u32,
        /// Number of the fork.
        pub fork: u32,
        /// Number of the segment file.
        pub segment: u32,
        /// Path below the data directory.
        pub path: Text<12>,
        /// Buffers written to it.
        pub buffers_written: u64,
        /// Bytes our writeback issued for it.
        pub writeback_bytes: u64,
        /// How often it was synced.
        pub syncs: u64,
        /// All syncs together.
        pub sync_total_ns: u64,
        /// The shortest sync.
        pub sync_min_ns: Option<u64>,
        /// The longest sync.
        pub sync_max_ns: Option<u64>,
        /// The last sync.
        pub sync_last_ns: Option<u64>,
        /// Dirty bytes of it that the last sweep found in the kernel's page cache.
        pub os_dirty_bytes: Option<u64>,
    }
}
