//! ckptflush: watch, smooth and measure PostgreSQL checkpoints.
//!
//! *Runs in:* the postmaster (`_PG_init`); every process inherits the library by fork.
//! *Reads and writes:* settings, hooks and worker registrations of the server.
//! *Never:* does work of its own; this file is the map.
//!
//! Data flows one way. Hooks write what happened into the stats segment; workers watch the
//! server, write what they saw there, and start writeback; views turn a consistent copy of the
//! segment into rows.
//!
//! ```text
//!   backends ────── hooks ─┬ observe::commits ───────┐ times of commits
//!                          ├ commit ─────────────────┤ what is not durable yet; waits for it
//!   checkpointer ── hooks ─┬ monitor::checkpointer ──┤ events, sync times
//!                          └ flush::checkpointer ────┤ takeover; pauses between fsyncs
//!                                                    ▼
//!   ckptflush monitor ── worker ── monitor::watch ─► shmem ─► statseg (the stats segment)
//!   ckptflush flusher ── worker ── flush::flusher ─►  │
//!        │ both follow the worklist through pgshim    ├─► views ─► ckpt_stats*
//!        └ all that decides is in pacing (pure); the flusher's writeback goes out by kernel
//!   ckptflush collector ── worker ── collector ───────┘ and files, by statsfile (pure)
//! ```
//!
//! One checkpoint on a time line, and who writes which record when:
//!
//! ```text
//!   "starting" logged   list sorted      writes done      fsyncs done    "complete" logged
//!   │ event: start;     │                │ sync_state and │              │ event: complete;
//!   │ takeover          │                │ files_synced,  │              │ takeover
//!   ▼ (checkpointer)    ▼                ▼ each fsync     ▼              ▼ (checkpointer)
//!   ├── preparing ──────┼── writing ─────┼── syncing ─────┼─ finishing ──┤
//!       progress: one record, rewritten by the monitor at every poll     └ history, counters
//!                           files_written: once a second                   (monitor)
//!       flush_state: at every round; files_flushed: once a second (flusher, always)
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`settings`] | every `ckptflush.*` setting |
//! | [`hooks`] | the server's hooks that are taken, and their chaining |
//! | [`shmem`] | the stats segment's life in this server |
//! | [`monitor`] | checkpoints: begin, progress, per-file syncs, end |
//! | [`flush`] | planned writeback: the flusher, and its part in the checkpointer |
//! | [`collector`] | cumulative statistics: in files, and back after a crash |
//! | [`observe`] | what backends do: their commits |
//! | [`commit`] | group commit: locks are free before the flush |
//! | [`advice`] | what the measurements say to change: pure rules |
//! | [`worker`] | registration and skeleton of the background workers |
//! | [`views`] | one file per view: snapshot to rows |
//! | [`worklist`] | the checkpointer's work list, followed |
//! | [`kernel`] | the border to the kernel: page cache, writeback, device counters |
//! | [`pgshim`] | the border to C: PostgreSQL's inner parts |
//! | [`server`] | the server's public functions and variables, made safe |
//! | [`compat`] | differences between majors |
//! | [`loglevel`], [`relfile`] | the checkpointer's log level; which file a path names |
//! | [`mod@error`], [`process`] | small helpers |

// A server loads this library, no crate links it: its documentation is for those who read on.
#![allow(rustdoc::private_intra_doc_links)]

mod advice;
mod collector;
mod commit;
mod compat;
mod error;
mod flush;
mod hooks;
mod kernel;
mod loglevel;
mod monitor;
mod observe;
mod pgshim;
mod process;
mod relfile;
mod server;
mod settings;
mod shmem;
mod views;
mod worker;
mod worklist;

use pgrx::prelude::*;

pgrx::pg_module_magic!(name, version);

/// Called once, when the library is loaded. By `shared_preload_libraries` it runs in the
/// postmaster and sets everything up; loaded later (`LOAD`, a function call) it defines the
/// settings only, and every view answers that the library must be preloaded.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    settings::define();
    if !process::preloading() {
        return;
    }
    hooks::install();
    worker::register();
}
