//! Every `ckptflush.*` setting: unit, range, description, typed getter.
//!
//! *Runs in:* the postmaster defines them, every process reads its own copy.
//! *Reads and writes:* the server's GUC tables, through pgrx.
//! *Never:* decides anything by a setting; that is done where the getter is called.
//!
//! docs/settings.md describes each with its cost; `ci/docs` holds the two against each other.

use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::time::Duration;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};
use pgrx::pg_sys;

pub(crate) mod assigned;

#[unsafe(link_section = "ckf_data")]
static ENABLED: GucSetting<bool> = GucSetting::<bool>::new(true);
static TRACK_SYNC: GucSetting<bool> = GucSetting::<bool>::new(true);
#[unsafe(link_section = "ckf_data")]
static TRACK_COMMANDS: GucSetting<bool> = GucSetting::<bool>::new(true);
static WAIT_SAMPLE_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(10);
static TIMELINE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(3600);
static SAMPLE_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(100);
static FLUSH: GucSetting<bool> = GucSetting::<bool>::new(true);
static FLUSH_SWEEP: GucSetting<bool> = GucSetting::<bool>::new(true);
static TARGET_DELAY: GucSetting<i32> = GucSetting::<i32>::new(20);
static SYNC_PACE_MAX: GucSetting<f64> = GucSetting::<f64>::new(0.1);
static COLLECTOR: GucSetting<bool> = GucSetting::<bool>::new(true);
static COLLECTOR_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(10);
static COLLECTOR_LAZY_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(3600);
static COLLECTOR_FSYNC: GucSetting<CollectorFsync> =
    GucSetting::<CollectorFsync>::new(CollectorFsync::Batch);
static COLLECTOR_IMPORT: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c""));
static HISTORY_SIZE: GucSetting<i32> = GucSetting::<i32>::new(1000);
static FILES_SIZE: GucSetting<i32> = GucSetting::<i32>::new(8192);
static SEGMENT_DIRECTORY: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"/dev/shm"));

static GROUP_COMMIT: GucSetting<bool> = GucSetting::<bool>::new(false);
#[unsafe(link_section = "ckf_data")]
static GROUP_COMMIT_READERS: GucSetting<Readers> = GucSetting::<Readers>::new(Readers::Commit);
static GROUP_COMMIT_SYNC_REP: GucSetting<bool> = GucSetting::<bool>::new(false);

/// What a session may be told of group commits that are not durable yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PostgresGucEnum)]
pub(crate) enum Readers {
    /// Anything.
    #[name = c"relaxed"]
    Relaxed,
    /// At the end of a transaction what it has seen is durable.
    #[name = c"commit"]
    Commit,
    /// What a statement returns is durable.
    #[name = c"statement"]
    Statement,
}

/// `ckptflush.group_commit`: locks are free before the flush.
pub(crate) fn group_commit() -> bool {
    GROUP_COMMIT.get()
}

/// `ckptflush.group_commit_readers`: what this session may be told.
pub(crate) fn group_commit_readers() -> Readers {
    GROUP_COMMIT_READERS.get()
}

/// Where it is kept, for C: the numbers of [`Readers`].
pub(crate) fn group_commit_readers_word() -> *const i32 {
    GROUP_COMMIT_READERS.as_ptr()
}

/// `ckptflush.group_commit_sync_rep`: before the answer of a synchronous standby, too.
pub(crate) fn group_commit_sync_rep() -> bool {
    GROUP_COMMIT_SYNC_REP.get()
}

/// `ckptflush.enabled`: the master switch.
#[inline]
pub(crate) fn enabled() -> bool {
    is_on(&ENABLED)
}

/// Where it is kept, for C.
pub(crate) fn enabled_word() -> *const bool {
    ENABLED.as_ptr()
}

/// `ckptflush.track_sync`: per-file fsync times.
pub(crate) fn track_sync() -> bool {
    TRACK_SYNC.get()
}

/// `ckptflush.track_commands`: times of parse, plan, execute and so on.
#[inline]
pub(crate) fn track_commands() -> bool {
    is_on(&TRACK_COMMANDS)
}

/// A setting that each transaction asks for: pgrx looks first whether this is the process's only
/// thread, in memory that nobody else has in the cache.
#[inline]
fn is_on(setting: &GucSetting<bool>) -> bool {
    // SAFETY: a bool of this process, whose one thread is here (process.rs).
    unsafe { *setting.as_ptr() }
}

/// `ckptflush.wait_sample_interval`: time between two looks at all backends.
pub(crate) fn wait_sample_interval() -> Duration {
    Duration::from_millis(u64::try_from(WAIT_SAMPLE_INTERVAL.get()).unwrap_or(10))
}

/// `ckptflush.timeline_size`: seconds remembered.
pub(crate) fn timeline_size() -> u32 {
    u32::try_from(TIMELINE_SIZE.get()).unwrap_or(0)
}

/// `ckptflush.sample_interval`: time between two looks of the monitor.
pub(crate) fn sample_interval() -> Duration {
    Duration::from_millis(u64::try_from(SAMPLE_INTERVAL.get()).unwrap_or(100))
}

/// `ckptflush.flush`: the flusher starts writeback, of spread checkpoints instead of the
/// checkpointer.
pub(crate) fn flush() -> bool {
    FLUSH.get()
}

/// `ckptflush.flush_sweep`: of what others have written, too.
pub(crate) fn flush_sweep() -> bool {
    FLUSH_SWEEP.get()
}

/// `ckptflush.target_delay`: what a commit may find before it on the device, in seconds.
pub(crate) fn target_delay() -> f64 {
    f64::from(TARGET_DELAY.get()) / 1000.0
}

/// `ckptflush.sync_pace_max`: share of checkpoint_timeout that pauses between fsyncs may take.
pub(crate) fn sync_pace_max() -> f64 {
    SYNC_PACE_MAX.get()
}

/// Values of `ckptflush.collector_fsync`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PostgresGucEnum)]
pub(crate) enum CollectorFsync {
    /// Files are synced before they replace others, and the directory once for all of a round.
    #[name = c"batch"]
    Batch,
    /// The kernel writes them when it likes.
    #[name = c"off"]
    Off,
}

/// `ckptflush.collector`: statistics are kept in files, and restored after a crash.
pub(crate) fn collector() -> bool {
    COLLECTOR.get()
}

/// `ckptflush.collector_interval`: time between two looks at the databases.
pub(crate) fn collector_interval() -> Duration {
    Duration::from_secs(u64::try_from(COLLECTOR_INTERVAL.get()).unwrap_or(10))
}

/// `ckptflush.collector_lazy_interval`: how long changes may wait that nothing depends on.
pub(crate) fn collector_lazy_interval() -> Duration {
    Duration::from_secs(u64::try_from(COLLECTOR_LAZY_INTERVAL.get()).unwrap_or(3600))
}

/// `ckptflush.collector_fsync`: whether files are synced.
pub(crate) fn collector_fsync() -> CollectorFsync {
    COLLECTOR_FSYNC.get()
}

/// `ckptflush.collector_import`: where the former primary's files are at promotion; `None`: there
/// are none.
pub(crate) fn collector_import() -> Option<PathBuf> {
    let directory = COLLECTOR_IMPORT.get().unwrap_or_default();
    let directory = directory.to_string_lossy().into_owned();
    (!directory.is_empty()).then(|| PathBuf::from(directory))
}

/// `ckptflush.history_size`: checkpoints remembered.
pub(crate) fn history_size() -> u32 {
    u32::try_from(HISTORY_SIZE.get()).unwrap_or(0)
}

/// `ckptflush.files_size`: files remembered.
pub(crate) fn files_size() -> u32 {
    u32::try_from(FILES_SIZE.get()).unwrap_or(0)
}

/// `ckptflush.segment_directory`: where the stats segment is created.
pub(crate) fn segment_directory() -> PathBuf {
    let directory = SEGMENT_DIRECTORY.get().unwrap_or_default();
    PathBuf::from(directory.to_string_lossy().into_owned())
}

/// Define all settings; afterwards no other `ckptflush.*` name is accepted.
pub(crate) fn define() {
    define_switches();
    define_observation();
    define_flush();
    define_group_commit();
    define_collector();
    // A setting that sizes shared memory can be defined only while it can still take effect
    // (guc.c:init_custom_variable refuses it afterwards).
    if crate::process::preloading() {
        define_sizes();
    }
    // SAFETY: takes a C string and copies it; allocates, so it may raise, which pgrx guards.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"ckptflush".as_ptr()) };
}

fn define_switches() {
    // SAFETY: the hook cannot panic: it sets pointers, and two words of this process.
    unsafe {
        GucRegistry::define_bool_guc_with_hooks(
            c"ckptflush.enabled",
            c"Enables all activity of ckptflush.",
            c"When off, no checkpoint is watched and the background workers sleep; what was \
              collected stays readable.",
            &ENABLED,
            GucContext::Sighup,
            GucFlags::default(),
            None,
            Some(assigned::enabled_assigned),
            None,
        );
    }
    GucRegistry::define_bool_guc(
        c"ckptflush.track_sync",
        c"Records the time of each file's fsync in a checkpoint.",
        c"Needs log_checkpoints. Costs one formatted message per file and checkpoint.",
        &TRACK_SYNC,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"ckptflush.sample_interval",
        c"Sets the time between two looks at a running checkpoint.",
        c"Also the precision of begin and end when log_checkpoints is off.",
        &SAMPLE_INTERVAL,
        10,
        10_000,
        GucContext::Sighup,
        GucFlags::UNIT_MS,
    );
}

fn define_observation() {
    // SAFETY: as above.
    unsafe {
        GucRegistry::define_bool_guc_with_hooks(
            c"ckptflush.track_commands",
            c"Records the time of parsing, planning, executing and committing.",
            c"Costs less than a microsecond per statement.",
            &TRACK_COMMANDS,
            GucContext::Suset,
            GucFlags::default(),
            None,
            Some(assigned::track_commands_assigned),
            None,
        );
    }
    GucRegistry::define_int_guc(
        c"ckptflush.wait_sample_interval",
        c"Sets the time between two looks at what all processes wait for.",
        c"Also the precision of stalls. While no client is at work, 100 ms at least.",
        &WAIT_SAMPLE_INTERVAL,
        5,
        1000,
        GucContext::Sighup,
        GucFlags::UNIT_MS,
    );
}

fn define_flush() {
    GucRegistry::define_bool_guc(
        c"ckptflush.flush",
        c"Lets the flusher worker start the writeback of what was written, in time and evenly.",
        c"Spread checkpoints leave their writeback to it: checkpoint_flush_after is then 0 in the \
          checkpointer. When off, or while the flusher is away, PostgreSQL's own settings hold.",
        &FLUSH,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"ckptflush.flush_sweep",
        c"Lets the flusher look for dirty pages that others than the checkpointer have written.",
        c"Needs cachestat (Linux 6.5). Costs about a microsecond per file and second, and up to \
          12 ms per gigabyte of changed files.",
        &FLUSH_SWEEP,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"ckptflush.target_delay",
        c"Sets the time that a commit may wait on the device because of the flusher.",
        c"No more writeback is in flight than the device does in this time, and while commits \
          take longer than this the flusher slows down.",
        &TARGET_DELAY,
        1,
        1000,
        GucContext::Sighup,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_float_guc(
        c"ckptflush.sync_pace_max",
        c"Sets the share of checkpoint_timeout that pauses between a checkpoint's fsyncs may take.",
        c"The checkpointer pauses only while commits are slow, or writeback is behind. Zero \
          disables the pauses.",
        &SYNC_PACE_MAX,
        0.0,
        0.5,
        GucContext::Sighup,
        GucFlags::default(),
    );
}

fn define_group_commit() {
    GucRegistry::define_bool_guc(
        c"ckptflush.group_commit",
        c"Releases a commit's locks before its WAL record is flushed.",
        c"The client is told of the commit when it is durable, as ever. Others may see it before: \
          ckptflush.group_commit_readers says which.",
        &GROUP_COMMIT,
        GucContext::Suset,
        GucFlags::default(),
    );
    // SAFETY: as above.
    unsafe {
        GucRegistry::define_enum_guc_with_hooks(
            c"ckptflush.group_commit_readers",
            c"Sets when a session waits until what it has read is durable.",
            c"\"relaxed\": never; \"commit\": at the end of its transaction; \"statement\": before a \
              statement returns rows.",
            &GROUP_COMMIT_READERS,
            GucContext::Userset,
            GucFlags::default(),
            None,
            Some(assigned::readers_assigned),
            None,
        );
    }
    GucRegistry::define_bool_guc(
        c"ckptflush.group_commit_sync_rep",
        c"Releases a commit's locks before synchronous standbys have answered, too.",
        c"When off, a commit that waits for synchronous standbys is none of group commit's.",
        &GROUP_COMMIT_SYNC_REP,
        GucContext::Suset,
        GucFlags::default(),
    );
}

fn define_collector() {
    GucRegistry::define_bool_guc(
        c"ckptflush.collector",
        c"Keeps the cumulative statistics in files, and restores them after a crash.",
        c"One file for each database, written when its statistics change.",
        &COLLECTOR,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"ckptflush.collector_interval",
        c"Sets the time between two looks at the statistics of all databases.",
        c"What a crash loses is not older than this, as far as autovacuum depends on it.",
        &COLLECTOR_INTERVAL,
        1,
        3600,
        GucContext::Sighup,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_int_guc(
        c"ckptflush.collector_lazy_interval",
        c"Sets how long statistics may wait to be written on which autovacuum does not depend.",
        c"Counters of blocks, scans and transactions, and those of the whole cluster.",
        &COLLECTOR_LAZY_INTERVAL,
        1,
        86_400,
        GucContext::Sighup,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_enum_guc(
        c"ckptflush.collector_fsync",
        c"Sets whether statistics files are synced when they are written.",
        c"Only a crash of the machine makes a difference: without, a file may be found damaged           after one, and its statistics start anew.",
        &COLLECTOR_FSYNC,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"ckptflush.collector_import",
        c"Sets the directory with the former primary's statistics files, read at promotion.",
        c"A standby does not know the numbers of dead rows, so autovacuum would be blind after a           failover.",
        &COLLECTOR_IMPORT,
        GucContext::Sighup,
        GucFlags::SUPERUSER_ONLY,
    );
}

fn define_sizes() {
    int_at_start(
        c"ckptflush.history_size",
        c"Sets the number of checkpoints that ckpt_stats_history remembers.",
        c"Each takes about 400 bytes of the stats segment.",
        &HISTORY_SIZE,
        16,
        1_000_000,
    );
    int_at_start(
        c"ckptflush.files_size",
        c"Sets the number of files that ckpt_stats_files remembers.",
        c"Each takes about 768 bytes of the stats segment; the files used least recently \
          are forgotten first.",
        &FILES_SIZE,
        64,
        4_000_000,
    );
    int_at_start(
        c"ckptflush.timeline_size",
        c"Sets the number of seconds that ckpt_stats_timeline remembers.",
        c"Each takes 192 bytes of the stats segment.",
        &TIMELINE_SIZE,
        60,
        1_000_000,
    );
    GucRegistry::define_string_guc(
        c"ckptflush.segment_directory",
        c"Sets the directory in which the stats segment is created.",
        c"It must be on tmpfs: a mapped page of a disk file stalls its writer while it is \
          written back.",
        &SEGMENT_DIRECTORY,
        GucContext::Postmaster,
        GucFlags::SUPERUSER_ONLY,
    );
}

/// A number that sizes the segment: fixed at server start.
fn int_at_start(
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
    min: i32,
    max: i32,
) {
    GucRegistry::define_int_guc(
        name,
        short,
        long,
        setting,
        min,
        max,
        GucContext::Postmaster,
        GucFlags::default(),
    );
}
