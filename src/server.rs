//! What the server says of itself through its public functions and variables, as safe functions.
//!
//! *Runs in:* every process; mostly the monitor. *Reads and writes:* reads; writes nothing.
//! *Never:* looks into private memory: that is [`crate::pgshim`]'s part.

use pgrx::pg_sys;

/// Inputs of checkpointer.c:IsCheckpointOnSchedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Insert position; in recovery the replay position.
    pub(crate) position: u64,
    pub(crate) wal_segment_bytes: u64,
    pub(crate) checkpoint_segments: i32,
    /// checkpoint_timeout, seconds.
    pub(crate) timeout: i32,
    pub(crate) completion_target: f64,
}

/// The settings and positions that a checkpoint's pace depends on, as they are now.
pub(crate) fn pace() -> Pace {
    Pace {
        position: position(),
        // SAFETY: a plain int, set before any child is forked.
        wal_segment_bytes: u64::try_from(unsafe { pg_sys::wal_segment_size }).unwrap_or(0),
        // SAFETY: a plain int, changed by a reload of this process only.
        checkpoint_segments: unsafe { pg_sys::CheckPointSegments },
        // SAFETY: likewise.
        timeout: unsafe { pg_sys::CheckPointTimeout },
        // SAFETY: a plain double, likewise.
        completion_target: unsafe { pg_sys::CheckPointCompletionTarget },
    }
}

fn position() -> u64 {
    if in_recovery() {
        // SAFETY: the timeline is not wanted.
        unsafe { pg_sys::GetXLogReplayRecPtr(std::ptr::null_mut()) }
    } else {
        // SAFETY: reads shared memory under a spinlock.
        unsafe { pg_sys::GetInsertRecPtr() }
    }
}

/// Is the server in recovery: a standby, or after a crash?
pub(crate) fn in_recovery() -> bool {
    // SAFETY: reads one word of shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Redo pointer of the running or last checkpoint. Allowed in a critical section: it reads one
/// word under a spinlock (xlog.c:GetRedoRecPtr).
pub(crate) fn redo_pointer() -> u64 {
    // SAFETY: as said.
    unsafe { pg_sys::GetRedoRecPtr() }
}

/// `log_checkpoints`, as this process has it.
pub(crate) fn logs_checkpoints() -> bool {
    // SAFETY: a plain bool, changed by a reload of this process only.
    unsafe { pg_sys::log_checkpoints }
}

/// Release what an ERROR outside a transaction may have left, as far as a worker without
/// relations can hold it (bgwriter.c:BackgroundWriterMain).
pub(crate) fn forget_error_state() {
    // SAFETY: for a process without a transaction, after an error was caught.
    unsafe { pg_sys::LWLockReleaseAll() };
    // SAFETY: likewise.
    unsafe { pg_sys::ConditionVariableCancelSleep() };
    // SAFETY: likewise.
    unsafe { pg_sys::pgstat_report_wait_end() };
}
