//! The background workers: registration, and the skeleton that all of them share.
//!
//! *Runs in:* the postmaster registers; the rest in the workers.
//! *Reads and writes:* the worker's row of the segment, the process's signal handlers.
//! *Never:* does a worker's own work. Only the collector connects, to no database: it sees the
//! shared catalogs.
//!
//! A worker attaches the segment, then loops: reload, look, wait. An error of one round is one
//! log line and a row in `ckpt_stats_workers`; the next round begins a second later. The order
//! of the set-up is that of autoprewarm.c.

mod collector;
mod flusher;
mod monitor;
mod status;
mod validator;

use std::time::Duration;

use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::pg_sys;
use pgrx::prelude::*;

use self::status::Status;
use crate::{server, settings, shmem};

/// After an error, and before the postmaster starts a worker again.
const PAUSE: Duration = Duration::from_secs(1);

/// Called from `_PG_init` while `shared_preload_libraries` is loaded.
pub(crate) fn register() {
    one(monitor::NAME, "ckptflush_monitor_main");
    one(flusher::NAME, "ckptflush_flusher_main");
    builder(collector::NAME, "ckptflush_collector_main")
        .enable_spi_access()
        // When core has restored or discarded the statistics, and catalogs can be read.
        .set_start_time(BgWorkerStartTime::ConsistentState)
        .load();
}

fn builder(name: &str, entry: &str) -> BackgroundWorkerBuilder {
    BackgroundWorkerBuilder::new(name)
        .set_type(name)
        .set_library("ckptflush")
        .set_function(entry)
        .set_restart_time(Some(PAUSE))
}

fn one(name: &str, entry: &str) {
    builder(name, entry)
        .enable_shmem_access(None)
        // At once: crash recovery ends with a checkpoint, and a standby begins with one.
        .set_start_time(BgWorkerStartTime::PostmasterStart)
        .load();
}

/// One kind of worker.
trait Work {
    /// Look once, and say how long to wait until the next look. May raise.
    fn round(&mut self) -> Duration;
    /// `ckptflush.enabled` was switched off: leave everything as if idle. The next round comes
    /// when it is switched on again.
    fn suspend(&mut self);
    /// A round has raised an error: give up what it held beside locks and wait events.
    fn recover(&mut self) {}
}

/// Attach, then run rounds until the server stops or the worker is terminated.
fn run<W: Work>(index: usize, name: &str, start: impl FnOnce(&'static statseg::Segment) -> W) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP | SignalWakeFlags::SIGTERM);
    let segment = shmem::require();
    let mut status = Status::starting(segment, index, name);
    let mut work = start(segment);
    let mut enabled = true;
    loop {
        if BackgroundWorker::sighup_received() {
            // SAFETY: rereads the configuration as every process does; errors unwind.
            unsafe { pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP) };
        }
        if enabled != settings::enabled() {
            enabled = settings::enabled();
            if !enabled {
                work.suspend();
                status.disabled();
            }
        }
        let pause = enabled.then(|| match attempt(&mut work) {
            Ok(pause) => {
                status.running();
                pause
            }
            Err(error) => {
                work.recover();
                status.failed(&error);
                PAUSE
            }
        });
        // False at SIGTERM and when the postmaster has died.
        if !BackgroundWorker::wait_latch(pause.map(whole_milliseconds)) {
            break;
        }
    }
    status.stopped();
    leave();
}

/// A latch waits for whole milliseconds: what is left of one would be no wait at all.
fn whole_milliseconds(pause: Duration) -> Duration {
    let nanoseconds = pause.as_nanos().div_ceil(1_000_000) * 1_000_000;
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// One round; an error is logged once and returned as text.
fn attempt<W: Work>(work: &mut W) -> Result<Duration, String> {
    let work = std::panic::AssertUnwindSafe(work);
    PgTryBuilder::new(move || {
        let work = work;
        Ok(work.0.round())
    })
    .catch_others(|error| {
        let report = match &error {
            pg_sys::panic::CaughtError::PostgresError(report)
            | pg_sys::panic::CaughtError::ErrorReport(report)
            | pg_sys::panic::CaughtError::RustPanic {
                ereport: report, ..
            } => report,
        };
        let text = report.message().to_owned();
        server::forget_error_state();
        ereport!(
            PgLogLevel::LOG,
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("could not complete a round of a ckptflush worker: {text}")
        );
        Err(text)
    })
    .execute()
}

/// Exit so that the postmaster does what is right: after a stop of the server nothing, after a
/// SIGTERM of somebody else a new start, which takes a code other than 0 (bgworker.h).
fn leave() {
    let code = i32::from(!server_is_stopping());
    // SAFETY: runs the exit callbacks and does not return.
    unsafe { pg_sys::proc_exit(code) };
}

/// postmaster.c:pmdie writes its state into the last line of postmaster.pid before it signals
/// any child. Without this a fast stop would log one more line than it does without us.
fn server_is_stopping() -> bool {
    match std::fs::read_to_string("postmaster.pid") {
        Ok(text) => text
            .lines()
            .last()
            .is_none_or(|line| line.trim() == "stopping"),
        // The data directory is gone.
        Err(_) => true,
    }
}
