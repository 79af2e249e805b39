//! The server's hooks that ckptflush takes, each chained to the one before it.
//!
//! *Runs in:* the postmaster installs them; the log hook and the ends of transactions run in every
//! process, the shared memory hook in the postmaster. *Reads and writes:* the hook pointers.
//! *Never:* does the work itself: it asks the room whose job it is.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::monitor::checkpointer::Heard;
use crate::pgshim::backends;
use crate::pgshim::commit::{self as transactions, Transactions};
use crate::process::{self, ProcessCell};
use crate::settings::assigned::Told;
use crate::{commit, flush, loglevel, monitor, observe, settings, shmem};

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
    settings::assigned::tell(Told {
        commands: backends::link_commands,
        readers: transactions::link_readers,
    });
    transactions::watch_transactions(&Transactions {
        enabled: settings::enabled_word(),
        depth: observe::commands::depth_word(),
        commits,
        prepares,
        committed,
        released,
        plain,
        plain_committed: observe::commits::plain,
        prepared,
        aborted,
    });
}

extern "C" fn commits() {
    observe::commits::begins();
    commit::begins();
}

/// One that commits nothing was not asked about before, and has to wait for others.
extern "C" fn plain() {
    observe::commits::begins();
    commit::begins_plain();
}

extern "C" fn prepares() {
    observe::commits::begins();
    commit::prepares();
}

/// What is not durable yet ends in [`released`].
extern "C" fn committed() -> i32 {
    let waits = commit::visible();
    if !waits {
        observe::commits::ends();
    }
    i32::from(waits)
}

extern "C" fn released() {
    commit::wait();
    observe::commits::ends();
}

extern "C" fn prepared() {
    observe::commits::ends();
}

extern "C" fn aborted() {
    commit::aborted();
    observe::commits::aborted();
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
