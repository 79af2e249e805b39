//! The border to C: PostgreSQL's inner parts, as safe functions.
//!
//! *Runs in:* the checkpointer (log level, alarm, [`checkpoint_stats`], [`checkpoint_awaited`],
//! [`wake`]), any backend ([`my_proc_number`]), the postmaster ([`process_count`]), and the
//! workers (the rest).
//! *Reads and writes:* reads the server's shared memory, without a lock but for
//! [`core_counters`]; writes nothing of it but a latch in [`wake`].
//! *Never:* keeps state; lets a raw pointer out.
//!
//! With [`backends`] and [`commit`] the only place with `extern` blocks. The structs mirror
//! pgshim/pgshim.h.

use std::ffi::{CStr, c_char};

use pacing::frontier::{Flag, Item};

pub(crate) mod backends;
pub(crate) mod commit;
pub(crate) mod stats;

mod raw {
    use std::ffi::c_char;

    use super::{Checkpoint, CoreCounters, RawItem};

    // None of these can raise: they read memory, set an enum or a latch.
    unsafe extern "C" {
        pub(super) fn ckf_pool_size() -> i32;
        pub(super) fn ckf_pool_count_needed(unlogged: i32) -> u64;
        pub(super) fn ckf_pool_item(index: i32, item: *mut RawItem);
        pub(super) fn ckf_pool_flag(
            item: *const RawItem,
            database: *mut u32,
            permanent: *mut i32,
        ) -> i32;
        pub(super) fn ckf_pool_database(item: *const RawItem, database: *mut u32) -> i32;
        pub(super) fn ckf_checkpointer_wait() -> i32;
        pub(super) fn ckf_checkpointer_pid() -> i32;
        pub(super) fn ckf_my_proc_number() -> i32;
        pub(super) fn ckf_process_count() -> i32;
        pub(super) fn ckf_wake(proc_number: i32, pid: i32);
        pub(super) fn ckf_checkpoint_stats(stats: *mut Checkpoint);
        pub(super) fn ckf_set_log_level(level: *const c_char);
        pub(super) fn ckf_recount_segments();
        pub(super) fn ckf_alarm_is_left() -> i32;
        pub(super) fn ckf_checkpoint_awaited() -> i32;
    }

    // These are FATAL when the system refuses a timer: through `guarded` as well.
    unsafe extern "C-unwind" {
        pub(super) fn ckf_alarm_prepare(handler: unsafe extern "C-unwind" fn()) -> i32;
        pub(super) fn ckf_alarm_start(alarm: i32, interval_ms: i32);
        pub(super) fn ckf_alarm_stop(alarm: i32);
    }

    // These allocate or take a lock, so they may raise: call them through `guarded` only.
    unsafe extern "C-unwind" {
        pub(super) fn ckf_core_counters_now(counters: *mut CoreCounters);
        pub(super) fn ckf_control_file_redo(redo: *mut u64) -> i32;
        pub(super) fn ckf_relation_path(
            database: u32,
            tablespace: u32,
            relation: u32,
            fork: i32,
            segment: u32,
            target: *mut c_char,
            size: u64,
        );
    }
}

/// pgshim.h:ckf_item.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawItem {
    tablespace: u32,
    relation: u32,
    fork: i32,
    block: u32,
    buffer: i32,
}

/// `CheckpointStats` (xlog.h), moments as server timestamps (pgshim.h:ckf_checkpoint).
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) start_at: i64,
    pub(crate) write_at: i64,
    pub(crate) sync_at: i64,
    pub(crate) sync_end_at: i64,
    pub(crate) end_at: i64,
    pub(crate) buffers_written: i64,
    /// -1 before 18, where `buffers_written` includes it.
    pub(crate) slru_written: i64,
    pub(crate) segments_added: i64,
    pub(crate) segments_removed: i64,
    pub(crate) segments_recycled: i64,
    pub(crate) files_synced: i64,
    pub(crate) longest_sync_us: u64,
    pub(crate) total_sync_us: u64,
}

/// PostgreSQL's cumulative counters of the checkpointer (pgshim.h:ckf_core_counters).
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CoreCounters {
    pub(crate) timed: i64,
    pub(crate) requested: i64,
    pub(crate) write_time_ms: i64,
    pub(crate) sync_time_ms: i64,
    pub(crate) buffers_written: i64,
    /// -1 before 18.
    pub(crate) slru_written: i64,
}

/// Call C that may raise: the ERROR's jump is caught before it crosses a Rust frame, and goes on
/// as an unwind.
fn guarded<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: the closures of this file hold nothing that needs dropping.
    unsafe { pgrx::pg_sys::ffi::pg_guard_ffi_boundary(call) }
}

/// What the checkpointer waits for (pgshim.h:ckf_wait).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Working, or a wait that says nothing of the phase.
    Other,
    /// Its main loop: no checkpoint runs.
    Idle,
    Writing,
    Syncing,
    Finishing,
    /// There is no checkpointer.
    Absent,
}

/// The checkpointer's own sorted work list, `CkptBufferIds`, with the buffers it names.
#[derive(Clone, Copy)]
pub(crate) struct WorkList {
    /// This checkpoint writes pages of unlogged relations too (bufmgr.c:BufferSync). If it does
    /// not, a flag on such a page is a leftover of one that did.
    unlogged: bool,
    /// Entries of the list and buffers of the pool; both are NBuffers.
    size: i32,
}

impl WorkList {
    pub(crate) fn new(unlogged: bool) -> Self {
        // SAFETY: reads two globals that are set before any child is forked.
        let size = unsafe { raw::ckf_pool_size() };
        Self { unlogged, size }
    }

    /// How many buffers are marked for the running checkpoint: one pass over all headers
    /// (1 ms at 4 GB of shared_buffers), so a few times per checkpoint.
    pub(crate) fn count_needed(&self) -> usize {
        // SAFETY: reads buffer headers, which exist as long as the process.
        let needed = unsafe { raw::ckf_pool_count_needed(i32::from(self.unlogged)) };
        usize::try_from(needed).unwrap_or(usize::MAX)
    }

    /// Database of the item's page, 0 for a shared relation; `None` if the buffer holds another
    /// page by now. The list has none.
    pub(crate) fn database(&self, item: &Item) -> Option<u32> {
        let item = RawItem::from(item);
        let mut database = 0;
        // SAFETY: two valid pointers; the C side checks the buffer number.
        let found = unsafe { raw::ckf_pool_database(&raw const item, &raw mut database) };
        (found != 0).then_some(database)
    }
}

impl From<&Item> for RawItem {
    fn from(item: &Item) -> Self {
        Self {
            tablespace: item.tablespace,
            relation: item.relation,
            fork: item.fork,
            block: item.block,
            buffer: item.buffer,
        }
    }
}

impl pacing::frontier::Pool for WorkList {
    fn capacity(&self) -> usize {
        usize::try_from(self.size).unwrap_or(0)
    }

    fn item(&self, index: usize) -> Item {
        let mut item = RawItem::default();
        let index = i32::try_from(index).unwrap_or(i32::MAX).min(self.size - 1);
        // SAFETY: the list has `size` entries, and there are some: a server has buffers.
        unsafe { raw::ckf_pool_item(index, &raw mut item) };
        Item {
            tablespace: item.tablespace,
            relation: item.relation,
            fork: item.fork,
            block: item.block,
            buffer: item.buffer,
        }
    }

    fn flag(&self, item: &Item) -> Flag {
        let item = RawItem::from(item);
        let (mut database, mut permanent) = (0, 0);
        // SAFETY: three valid pointers; the C side checks the buffer number.
        let flag =
            unsafe { raw::ckf_pool_flag(&raw const item, &raw mut database, &raw mut permanent) };
        match flag {
            1 if permanent == 0 && !self.unlogged => Flag::Clear,
            1 => Flag::Needed {
                database,
                permanent: permanent != 0,
            },
            2 => Flag::Unknown,
            _ => Flag::Clear,
        }
    }
}

/// What the checkpointer waits for at this moment.
pub(crate) fn checkpointer_wait() -> Wait {
    // SAFETY: reads one word of a PGPROC, which is never unmapped.
    match unsafe { raw::ckf_checkpointer_wait() } {
        1 => Wait::Idle,
        2 => Wait::Writing,
        3 => Wait::Syncing,
        4 => Wait::Finishing,
        5 => Wait::Absent,
        _ => Wait::Other,
    }
}

/// The checkpointer's pid; 0 when there is none.
pub(crate) fn checkpointer_pid() -> u32 {
    // SAFETY: as checkpointer_wait.
    let pid = unsafe { raw::ckf_checkpointer_pid() };
    u32::try_from(pid).unwrap_or(0)
}

/// This process's number among the server's PGPROCs, for [`wake`].
pub(crate) fn my_proc_number() -> u32 {
    // SAFETY: called by workers and by committing backends, which have a PGPROC.
    let number = unsafe { raw::ckf_my_proc_number() };
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// How many processes the server may have at once, at most: the numbers of [`my_proc_number`]
/// are below. Known when shared memory is made.
pub(crate) fn process_count() -> u32 {
    // SAFETY: reads two ints that are set before shared memory is made.
    let count = unsafe { raw::ckf_process_count() };
    u32::try_from(count).unwrap_or(0)
}

/// Set the latch of the process `pid` with that proc number; nothing if it is gone.
pub(crate) fn wake(proc_number: u32, pid: u32) {
    let (Ok(number), Ok(pid)) = (i32::try_from(proc_number), i32::try_from(pid)) else {
        return;
    };
    // SAFETY: the C side checks the range; SetLatch may be called from anywhere (latch.h).
    unsafe { raw::ckf_wake(number, pid) };
}

/// The figures of the checkpoint that has just ended. In the checkpointer only: elsewhere the
/// variable is empty.
pub(crate) fn checkpoint_stats() -> Checkpoint {
    let mut stats = Checkpoint::default();
    // SAFETY: a valid pointer to the mirrored struct.
    unsafe { raw::ckf_checkpoint_stats(&raw mut stats) };
    stats
}

/// PostgreSQL's own counters, as last published by the checkpointer.
pub(crate) fn core_counters() -> CoreCounters {
    let mut counters = CoreCounters::default();
    // SAFETY: a valid pointer to the mirrored struct.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_core_counters_now(&raw mut counters) });
    counters
}

/// Redo pointer of the last completed checkpoint or restartpoint, by the control file; `None`
/// when the file was being written and its checksum does not fit.
pub(crate) fn control_file_redo() -> Option<u64> {
    let mut redo = 0;
    // SAFETY: a valid pointer.
    #[allow(ffi_unwind_calls)]
    let found = guarded(|| unsafe { raw::ckf_control_file_redo(&raw mut redo) });
    (found != 0).then_some(redo)
}

/// Let this process log at `level`, `None`: at the user's own. See pgshim.c for why a reload
/// neither ends nor hides it.
pub(crate) fn set_log_level(level: Option<&'static CStr>) {
    let value = level.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: sets one enum of this process; the string is zero-terminated.
    unsafe { raw::ckf_set_log_level(value) };
}

/// Compute the segments of WAL to the next checkpoint anew, from the settings as they are.
pub(crate) fn recount_segments() {
    // SAFETY: arithmetic on settings of this process.
    unsafe { raw::ckf_recount_segments() };
}

/// A timer of this process, which has no other one: the checkpointer.
#[derive(Clone, Copy)]
pub(crate) struct Alarm(i32);

impl Alarm {
    /// Once per process.
    ///
    /// # Safety
    /// `handler` runs as a signal handler, between any two instructions of this process: it may
    /// only do what is safe there, and must not unwind.
    #[allow(ffi_unwind_calls)]
    pub(crate) unsafe fn prepare(handler: unsafe extern "C-unwind" fn()) -> Self {
        // SAFETY: the caller's promise; timeout.c has room for more timers than core and we use.
        let number = guarded(|| unsafe { raw::ckf_alarm_prepare(handler) });
        Self(number)
    }

    /// Ring every so many milliseconds, until [`Alarm::stop`].
    #[allow(ffi_unwind_calls)]
    pub(crate) fn start(self, interval_ms: i32) {
        // SAFETY: the number is one that timeout.c gave.
        guarded(|| unsafe { raw::ckf_alarm_start(self.0, interval_ms) });
    }

    /// Will a stopped one ring once more, and set the latch?
    pub(crate) fn is_left() -> bool {
        // SAFETY: reads the timer of this process.
        unsafe { raw::ckf_alarm_is_left() != 0 }
    }

    /// No more from here on; but see [`Alarm::is_left`].
    #[allow(ffi_unwind_calls)]
    pub(crate) fn stop(self) {
        // SAFETY: as above.
        guarded(|| unsafe { raw::ckf_alarm_stop(self.0) });
    }
}

/// Does somebody wait for a checkpoint to begin, while this process is in another one? One look at
/// every process of the server.
pub(crate) fn checkpoint_awaited() -> bool {
    // SAFETY: reads one word of each PGPROC; they are never unmapped.
    unsafe { raw::ckf_checkpoint_awaited() != 0 }
}

/// Longest path below the data directory: tablespace, version directory, database, file.
const PATH_BYTES: usize = 128;

/// Path of one segment file of a relation, relative to the data directory.
pub(crate) fn relation_path(
    database: u32,
    tablespace: u32,
    relation: u32,
    fork: i32,
    segment: u32,
) -> String {
    let mut path = [0 as c_char; PATH_BYTES];
    let target = path.as_mut_ptr();
    // SAFETY: the C side writes at most PATH_BYTES and ends with a zero byte.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe {
        let size = PATH_BYTES as u64;
        raw::ckf_relation_path(database, tablespace, relation, fork, segment, target, size);
    });
    // SAFETY: zero-terminated, see above.
    let path = unsafe { CStr::from_ptr(path.as_ptr()) };
    path.to_string_lossy().into_owned()
}
