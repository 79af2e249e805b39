//! The records of what was observed of the backends: seconds, stalls, waits.
//!
//! *Runs in:* the monitor writes; read by any process.
//! *Reads and writes:* nothing itself: the handles of [`crate::record`] do.
//! *Never:* moves a field: a new field goes to the end of its record. Units as in
//! [`crate::records`].

use crate::codes::CheckpointPhase;
use crate::record::record;
use crate::text::Text;

record! {
    /// One second, in the ring `timeline`. Writer: the monitor.
    pub struct Second {
        /// When it began.
        pub at: i64,
        /// The checkpoint that was running at its end.
        pub checkpoint_id: Option<u64>,
        /// What that one was doing.
        pub phase: CheckpointPhase,
        /// Transactions committed.
        pub commits: u64,
        /// Transactions rolled back.
        pub rollbacks: u64,
        /// Client backends that were not waiting for their client, on average.
        pub active_backends: u64,
        /// Time in which active backends committed nothing.
        pub stalled_ns: u64,
        /// The longest transaction that ended.
        pub longest_transaction_ns: Option<u64>,
        /// 99 % of the transactions that ended took at most this.
        pub transaction_p99_ns: Option<u64>,
        /// Buffers the checkpoint wrote.
        pub buffers_written: Option<u64>,
        /// Bytes our writeback issued.
        pub writeback_bytes: u64,
        /// Dirty bytes in the kernel's page cache.
        pub os_dirty_bytes: Option<u64>,
        /// Bytes the kernel was writing.
        pub os_writeback_bytes: Option<u64>,
        /// WAL written or replayed.
        pub wal_bytes: Option<u64>,
        /// Writes the data directory's device finished.
        pub device_write_ops: Option<u64>,
        /// Bytes they had.
        pub device_write_bytes: Option<u64>,
        /// Requests in flight there at its end.
        pub device_in_flight: Option<u64>,
    }
}

record! {
    /// A time in which active backends committed nothing: the running one in `stall`, the past
    /// ones in the ring `stalls`. Writer: the monitor.
    pub struct Stall {
        /// When it began: the last commit before it.
        pub started_at: i64,
        /// How long it took, so far.
        pub stalled_ns: u64,
        /// It is not over yet.
        pub ongoing: bool,
        /// The checkpoint that was running.
        pub checkpoint_id: Option<u64>,
        /// What that one was doing when the stall began.
        pub phase: CheckpointPhase,
        /// The file it was syncing.
        pub current_file: Option<Text<12>>,
        /// Client backends that were not waiting for their client, at most.
        pub active_backends: u64,
        /// Commits per second in the ten seconds before.
        pub commits_before: u64,
        /// The type of the wait that client backends were found in most.
        pub top_wait_type: Option<Text<2>>,
        /// The wait itself.
        pub top_wait_event: Option<Text<8>>,
    }
}

record! {
    /// One wait of one type of backend, in the table `waits`. Writer: the monitor. A row with
    /// another epoch than that of "control" is empty.
    pub struct WaitRow {
        /// The epoch of the table in which the samples were taken.
        pub epoch: u64,
        /// The type of backend.
        pub backend_type: Text<4>,
        /// The type of the wait; absent: the backend was not waiting.
        pub wait_type: Option<Text<2>>,
        /// The wait.
        pub wait_event: Option<Text<8>>,
        /// Samples while no checkpoint ran.
        pub samples_none: u64,
        /// Samples in a write phase.
        pub samples_writing: u64,
        /// Samples in a sync phase.
        pub samples_syncing: u64,
    }
}
