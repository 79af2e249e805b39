//! What the server says of itself through its public functions and variables, as safe functions.
//!
//! *Runs in:* every process; mostly the monitor. *Reads and writes:* reads; writes
//! the two variables that say so.
//! *Never:* looks into private memory: that is [`crate::pgshim`]'s part.

use std::ffi::CStr;
use std::path::Path;

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
        position: wal_position(),
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

/// Insert position; in recovery the replay position.
pub(crate) fn wal_position() -> u64 {
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

/// Is a directory of a tablespace this major version's (relpath.h:TABLESPACE_VERSION_DIRECTORY)?
pub(crate) fn is_own_version(directory: &Path) -> bool {
    let major = pg_sys::PG_VERSION_NUM / 10_000;
    let name = directory.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(&format!("PG_{major}_")))
}

/// `log_checkpoints`, as this process has it.
pub(crate) fn logs_checkpoints() -> bool {
    // SAFETY: a plain bool, changed by a reload of this process only.
    unsafe { pg_sys::log_checkpoints }
}

/// Is what the server writes to relations to be synced, and through the page cache? With
/// fsync = off nobody cares when it is on the device; with direct I/O it is there already.
pub(crate) fn syncs_data() -> bool {
    // SAFETY: a plain bool, changed by a reload of this process only.
    let syncs = unsafe { pg_sys::enableFsync };
    syncs && !crate::compat::direct_data_io()
}

/// `checkpoint_flush_after` of this process, in blocks.
pub(crate) fn checkpoint_flush_after() -> i32 {
    // SAFETY: a plain int, changed by this process only.
    unsafe { pg_sys::checkpoint_flush_after }
}

/// Set it, until a reload does. Safe in a signal handler: bufmgr.c reads it as often as it writes, and a
/// change between two reads starts some writeback or none.
pub(crate) fn set_checkpoint_flush_after(blocks: i32) {
    // SAFETY: a plain int of this process.
    unsafe { pg_sys::checkpoint_flush_after = blocks };
}

/// The variable of `checkpoint_completion_target`, which paces this process's checkpoint.
pub(crate) fn pace_target() -> f64 {
    // SAFETY: a plain double, changed by this process only.
    unsafe { pg_sys::CheckPointCompletionTarget }
}

/// Set it, until a reload does. Safe in a signal handler: checkpointer.c reads it once per write.
pub(crate) fn set_pace_target(target: f64) {
    // SAFETY: a plain double of this process, aligned, so stored at once.
    unsafe { pg_sys::CheckPointCompletionTarget = target };
}

/// `data_sync_retry`: a failed writeback is an ERROR, not a PANIC (fd.c:data_sync_elevel).
pub(crate) fn retries_data_sync() -> bool {
    // SAFETY: a plain bool, set at server start.
    unsafe { pg_sys::data_sync_retry }
}

/// Does somebody want something of this process, the checkpointer? A request for a checkpoint, a
/// queue of sync requests that fills up, a shutdown, a barrier, a reload: each sets its latch, and
/// the last three a flag of their own.
pub(crate) fn is_wanted() -> bool {
    // SAFETY: a sig_atomic_t of this process.
    let shutdown = unsafe { pg_sys::ShutdownRequestPending != 0 };
    // SAFETY: likewise.
    let barrier = unsafe { pg_sys::ProcSignalBarrierPending != 0 };
    // SAFETY: likewise.
    let reload = unsafe { pg_sys::ConfigReloadPending != 0 };
    // SAFETY: a plain pointer of this process.
    let latch = unsafe { pg_sys::MyLatch };
    // SAFETY: the latch of this process, which it has as long as it runs.
    shutdown || barrier || reload || unsafe { (*latch).is_set != 0 }
}

/// From now on [`is_wanted`] tells of what is new, and of what has a flag. Who waits for a
/// checkpoint is seen by [`crate::pgshim::checkpoint_awaited`]. What else was asked for before is
/// not forgotten: the checkpointer looks for all of it before it waits
/// (checkpointer.c:CheckpointerMain).
pub(crate) fn forget_wants() {
    // SAFETY: a plain pointer of this process.
    let latch = unsafe { pg_sys::MyLatch };
    // SAFETY: the latch of this process, by its owner.
    unsafe { pg_sys::ResetLatch(latch) };
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

/// A place in the WAL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) timeline: u32,
    pub(crate) lsn: u64,
}

/// Up to where the WAL is on disk; in recovery the replay position.
pub(crate) fn position() -> Position {
    let mut timeline = 0;
    let lsn = if in_recovery() {
        // SAFETY: a valid pointer.
        unsafe { pg_sys::GetXLogReplayRecPtr(&raw mut timeline) }
    } else {
        // SAFETY: a valid pointer; not in recovery, to which no server returns.
        unsafe { pg_sys::GetFlushRecPtr(&raw mut timeline) }
    };
    Position { timeline, lsn }
}

/// PostgreSQL's major version.
pub(crate) fn major() -> u32 {
    pg_sys::PG_VERSION_NUM / 10_000
}

/// The version of the structs of the statistics (pgstat.h).
pub(crate) fn stats_format() -> u32 {
    pg_sys::PGSTAT_FILE_FORMAT_ID
}

/// The version of the catalogs (catversion.h).
pub(crate) fn catalog_version() -> u32 {
    pg_sys::CATALOG_VERSION_NO
}

/// Of the cluster, given by initdb.
pub(crate) fn system_identifier() -> u64 {
    // SAFETY: reads the control file's copy in shared memory.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// When the postmaster was started, as a server timestamp.
pub(crate) fn started_at() -> i64 {
    // SAFETY: a plain variable, set before any child is forked.
    unsafe { pg_sys::PgStartTime }
}

/// End a transaction that an error has left behind, if there is one.
pub(crate) fn abort_transaction() {
    // SAFETY: may be called at any time outside of a critical section (xact.c).
    unsafe { pg_sys::AbortOutOfAnyTransaction() };
}

/// A setting as the server has it, not as this session may have changed it: a number in its base
/// unit, or a word. `None` if it has no value. The name must be one of a setting that everybody may
/// see.
pub(crate) fn setting(name: &CStr) -> Option<String> {
    // SAFETY: a zero-terminated name; the answer lives until the next call.
    let value = unsafe { pg_sys::GetConfigOptionResetString(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, zero-terminated, copied at once.
    let value = unsafe { CStr::from_ptr(value) };
    Some(value.to_string_lossy().into_owned())
}

/// Name of the relation with this file, if it is one of this backend's database. In a transaction
/// only.
pub(crate) fn relation_name(database: u32, tablespace: u32, file: u32) -> Option<String> {
    // SAFETY: a plain Oid of this process, set when it chose its database.
    let this = unsafe { pg_sys::MyDatabaseId };
    if database != this.to_u32() {
        return None;
    }
    let arguments = [
        Some(pg_sys::Datum::from(tablespace)),
        Some(pg_sys::Datum::from(file)),
    ];
    // SAFETY: the function takes two Oids and returns one, or NULL (dbsize.c).
    let found: Option<pg_sys::Oid> =
        unsafe { pgrx::direct_function_call(pg_sys::pg_filenode_relation, &arguments) };
    // SAFETY: a look-up in the system cache, inside a transaction; the answer is palloc'd or null.
    let name = unsafe { pg_sys::get_rel_name(found?) };
    if name.is_null() {
        return None;
    }
    // SAFETY: not null, zero-terminated.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned())
}

/// Pages written by others than the checkpointer, by PostgreSQL's cumulative statistics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageWrites {
    /// Since when, in µs since 1970: the older of two resets, so that a rate is rather too low.
    pub(crate) reset_at: i64,
    pub(crate) bgwriter: i64,
    pub(crate) backends: i64,
    pub(crate) allocated: i64,
    /// Rounds of the background writer that ended at its limit.
    pub(crate) stopped: i64,
}

/// As they are now.
pub(crate) fn page_writes() -> PageWrites {
    // SAFETY: takes a snapshot, and may raise; in a backend.
    let bgwriter = unsafe { pg_sys::pgstat_fetch_stat_bgwriter() };
    // SAFETY: never null; lives as long as the transaction.
    let bgwriter = unsafe { *bgwriter };
    let (backends, reset_at) = crate::compat::backend_writes();
    PageWrites {
        reset_at: crate::process::unix_us(reset_at.min(bgwriter.stat_reset_timestamp)),
        bgwriter: bgwriter.buf_written_clean,
        backends,
        allocated: bgwriter.buf_alloc,
        stopped: bgwriter.maxwritten_clean,
    }
}
