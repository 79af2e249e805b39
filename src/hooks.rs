//! The server's hooks that ckptflush takes, each chained to the one before it.
//!
//! *Runs in:* the postmaster installs them; the log hook and the ends of transactions run in every
//! process, the shared memory hook in the postmaster. *Reads and writes:* the hook pointers.
//! *Never:* does the work itself: it asks the room whose job it is.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::monitor::checkpointer::Heard;
use crate::pgshim::commit as transactions;
use crate::process::{self, ProcessCell};
use crate::{commit, flush, loglevel, monitor, observe, shmem};

static PREVIOUS_LOG: ProcessCell<pg_sys::emit_log_hook_type> = ProcessCell::new(None);
static PREVIOUS_SHMEM: ProcessCell<pg_sys::shmem_startup_hook_type> = ProcessCell::new(None);

/// Called from `_PG_init` while `shared_preload_libraries` is loaded.
pub(crate) fn install() {
    // SAFETY: hook pointers are plain globals of this single-threaded process.
    PREVIOUS_LOG.set(unsafe { pg_sys::emit_log_hook });
    // SAFETY: as above.
    PREVIOUS_SHMEM.set(unsafe { pg_sys::shmem_startup_hook });
    // SAFETY: as above; the functions live as long as the library, which is never unloaded.
    unsafe { pg_sys::emit_log_hook = Some(emit_log) };
    // SAFETY: as above.
    unsafe { pg_sys::shmem_startup_hook = Some(shmem_startup) };
    observe::commits::install();
    observe::commands::install();
    commit::install();
    // SAFETY: registers a function of this library, which is never unloaded.
    unsafe { pg_sys::RegisterXactCallback(Some(transaction), std::ptr::null_mut()) };
    transactions::watch_release(locks_released);
}

/// xact.c calls this at the ends of transactions. Nothing below raises: after the commit record
/// an ERROR would be a PANIC.
#[pg_guard]
unsafe extern "C-unwind" fn transaction(
    event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_PRE_COMMIT => {
            observe::commits::begins();
            commit::begins();
        }
        pg_sys::XactEvent::XACT_EVENT_PRE_PREPARE => {
            observe::commits::begins();
            commit::prepares();
        }
        // What is not durable yet ends in `locks_released`.
        pg_sys::XactEvent::XACT_EVENT_COMMIT if commit::visible() => {}
        pg_sys::XactEvent::XACT_EVENT_COMMIT | pg_sys::XactEvent::XACT_EVENT_PREPARE => {
            observe::commits::ends();
        }
        pg_sys::XactEvent::XACT_EVENT_ABORT => {
            commit::aborted();
            observe::commits::aborted();
        }
        _ => {}
    }
}

/// resowner.c: a committed transaction has released its locks; its client knows nothing yet.
extern "C" fn locks_released() {
    if commit::wait() {
        observe::commits::ends();
    }
}

/// elog.c:EmitErrorReport calls this for every record on its way to the server's log.
///
/// Everywhere but in the checkpointer it costs two loads. In the checkpointer it may run in a
/// critical section (xlog.c:LogCheckpointStart): nothing below raises or takes a lock. It pauses
/// in one place, between two fsyncs.
#[pg_guard]
unsafe extern "C-unwind" fn emit_log(record: *mut pg_sys::ErrorData) {
    if process::is_checkpointer() {
        // SAFETY: elog.c hands out its own record, valid and unshared during the call.
        if let Some(record) = unsafe { record.as_mut() } {
            // Ours to swallow if the level was set before this record was let through.
            let raised = loglevel::follow_user();
            match monitor::checkpointer::observe(record) {
                Heard::Started { spread, unlogged } => {
                    flush::checkpointer::started(spread, unlogged);
                }
                Heard::Synced { ns } => flush::checkpointer::synced(ns),
                Heard::Ended => flush::checkpointer::ended(),
                Heard::Nothing => {}
            }
            if raised && !loglevel::user_sees(record.elevel) {
                // Only we asked for this record. Nobody else may see it.
                record.output_to_server = false;
                return;
            }
        }
    }
    if let Some(previous) = PREVIOUS_LOG.get() {
        // SAFETY: the hook that was installed before us, called as core would.
        #[allow(ffi_unwind_calls)]
        unsafe {
            previous(record);
        }
    }
}

/// ipci.c:CreateSharedMemoryAndSemaphores calls this at start and after a crash.
#[pg_guard]
unsafe extern "C-unwind" fn shmem_startup() {
    if let Some(previous) = PREVIOUS_SHMEM.get() {
        // SAFETY: as in emit_log.
        #[allow(ffi_unwind_calls)]
        unsafe {
            previous();
        }
    }
    shmem::create();
}
