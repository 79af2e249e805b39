//! The stats segment's life in this server: created by the postmaster, inherited by fork,
//! created anew after a crash, removed at stop.
//!
//! *Runs in:* the postmaster creates and removes; every child reads the inherited mapping.
//! *Reads and writes:* one file in `ckptflush.segment_directory`.
//! *Never:* touches PostgreSQL's own shared memory, takes an LWLock, or knows what the
//! records in the segment mean.

use pgrx::pg_sys;
use pgrx::prelude::*;
use statseg::{Config, CreateError, FlushState, Segment, Takeover};

use crate::error::Message;
use crate::process::{self, ProcessCell, now_us};
use crate::{pgshim, server, settings};

#[unsafe(link_section = "ckf_data")]
static SEGMENT: ProcessCell<Option<&'static Segment>> = ProcessCell::new(None);
static GENERATION: ProcessCell<u64> = ProcessCell::new(0);
/// This process's number among the server's processes, asked for once.
static SLOT: ProcessCell<Option<usize>> = ProcessCell::new(None);

/// The segment of this server; `None` when the library was not preloaded.
pub(crate) fn segment() -> Option<&'static Segment> {
    SEGMENT.get()
}

/// The segment, for a SQL function: an error when the library was not preloaded.
pub(crate) fn require() -> &'static Segment {
    match SEGMENT.get() {
        Some(segment) => segment,
        None => {
            crate::error::not_preloaded().report(PgLogLevel::ERROR);
            unreachable!("ERROR does not return")
        }
    }
}

/// Which of the parts and slots for backends are this process's.
pub(crate) fn slot() -> usize {
    SLOT.get().unwrap_or_else(|| {
        let slot = pgshim::my_proc_number() as usize;
        SLOT.set(Some(slot));
        slot
    })
}

/// Create the segment. From the shared memory hook: at start, and again after a crash, when
/// `remove` has run before.
pub(crate) fn create() {
    // A standalone backend has no checkpointer to watch and nobody to show it to.
    if !process::is_postmaster() {
        return;
    }
    let generation = GENERATION.get() + 1;
    match statseg::create(&config(generation)) {
        Ok(segment) => {
            GENERATION.set(generation);
            // Children hold references until they exit, so it is given back by `remove` only.
            let segment: &Segment = Box::leak(Box::new(segment));
            pgshim::commit::set_in_flight(segment.in_flight_words());
            SEGMENT.set(Some(segment));
            // SAFETY: registers a function of this library, which stays loaded. Children
            // start with an empty list (ipc.c:on_exit_reset), so it runs here only.
            unsafe { pg_sys::on_shmem_exit(Some(remove), pg_sys::Datum::from(0)) };
        }
        Err(error) => refuse_to_start(&error),
    }
}

fn config(generation: u64) -> Config {
    // SAFETY: reads the control file's copy, loaded before shared memory is created.
    let system_identifier = unsafe { pg_sys::GetSystemIdentifier() };
    // SAFETY: a plain int set by the configuration file.
    let port = unsafe { pg_sys::PostPortNumber };
    Config {
        directory: settings::segment_directory(),
        file_name: format!("ckptflush.{port}.{system_identifier}"),
        generation,
        system_identifier,
        port: u16::try_from(port).unwrap_or(0),
        pg_version_num: pg_sys::PG_VERSION_NUM,
        history: settings::history_size(),
        files: settings::files_size(),
        backends: pgshim::process_count(),
        timeline: settings::timeline_size(),
        require_tmpfs: true,
    }
}

fn refuse_to_start(error: &CreateError) {
    Message {
        code: match error {
            CreateError::NoSpace { .. } => PgSqlErrorCode::ERRCODE_DISK_FULL,
            _ => PgSqlErrorCode::ERRCODE_CONFIG_FILE_ERROR,
        },
        primary: error.to_string(),
        detail: error.detail(),
        hint: error.hint(),
    }
    .report(PgLogLevel::FATAL);
}

/// At the end of the server, and before shared memory is made anew after a crash.
#[pg_guard]
unsafe extern "C-unwind" fn remove(_code: i32, _arg: pg_sys::Datum) {
    let Some(segment) = SEGMENT.get() else {
        return;
    };
    SEGMENT.set(None);
    pgshim::commit::set_in_flight(std::ptr::null());
    segment.mark_closed();
    if let Err(error) = segment.unlink() {
        // The next start finds a stale file of ours and replaces it.
        Message {
            code: PgSqlErrorCode::ERRCODE_IO_ERROR,
            primary: format!(
                "could not remove file \"{}\": {error}",
                segment.path().display()
            ),
            detail: None,
            hint: None,
        }
        .report(PgLogLevel::LOG);
    }
    // SAFETY: made by Box::leak in `create`; SEGMENT was its only holder in this process, and
    // the postmaster keeps no reference across calls.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(segment).cast_mut()) });
}

/// The flusher looks more often than this; if not, it hangs or is gone.
const FLUSHER_ALIVE_US: u64 = 1_000_000;

/// What the flusher is doing; as if it were off when it has not been heard of lately.
pub(crate) fn flusher(segment: &Segment) -> FlushState {
    let state = segment.flush_state().read().unwrap_or_default();
    // In the future it is as well when the clock was set back: its next one would come soon.
    if now_us().abs_diff(state.heartbeat_at) < FLUSHER_ALIVE_US {
        state
    } else {
        FlushState::default()
    }
}

/// Who starts the writeback of the running checkpoint. When checkpoints are not logged any more
/// the checkpointer does not hear of the end of one, and starts it itself.
pub(crate) fn takeover(segment: &Segment) -> Takeover {
    if server::logs_checkpoints() {
        segment.takeover().read().unwrap_or_default()
    } else {
        Takeover::default()
    }
}
