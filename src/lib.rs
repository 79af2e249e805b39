//! ckptflush: watch, smooth and measure PostgreSQL checkpoints.
//!
//! *Runs in:* the postmaster (`_PG_init`); every process inherits the library by fork.
//! *Reads and writes:* settings, hooks and worker registrations of the server.
//! *Never:* does work of its own; this file is the map.
//!
//! Data flows one way. Hooks write what happened into the stats segment; workers watch the
//! server and write what they saw there; views turn a consistent copy of it into rows.
//!
//! ```text
//!   checkpointer ── hooks ── monitor::checkpointer ──┐ events, sync times
//!                                                    ▼
//!   ckptflush monitor ── worker ── monitor::watch ─► shmem ─► statseg (the stats segment)
//!        │ reads buffer headers through pgshim        │
//!        └ progress and ETA by pacing (pure)          └─► views ─► ckpt_stats*
//! ```
//!
//! One checkpoint on a time line, and who writes which record when:
//!
//! ```text
//!   "starting" logged   list sorted      writes done      fsyncs done    "complete" logged
//!   │ event: start      │                │ sync_state and │              │ event: complete
//!   │ (checkpointer)    │                │ files_synced,  │              │ (checkpointer)
//!   ▼                   ▼                ▼ each fsync     ▼              ▼
//!   ├── preparing ──────┼── writing ─────┼── syncing ─────┼─ finishing ──┤
//!       progress: one record, rewritten by the monitor at every poll     └ history, counters
//!                           files_written: once a second                   (monitor)
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`settings`] | every `ckptflush.*` setting |
//! | [`hooks`] | the server's hooks that are taken, and their chaining |
//! | [`shmem`] | the stats segment's life in this server |
//! | [`monitor`] | checkpoints: begin, progress, per-file syncs, end |
//! | [`worker`] | registration and skeleton of the background workers |
//! | [`views`] | one file per view: snapshot to rows |
//! | [`pgshim`] | the border to C: PostgreSQL's inner parts |
//! | [`server`] | the server's public functions and variables, made safe |
//! | [`mod@error`], [`process`] | small helpers |

// A server loads this library, no crate links it: its documentation is for those who read on.
#![allow(rustdoc::private_intra_doc_links)]

mod error;
mod hooks;
mod monitor;
mod pgshim;
mod process;
mod server;
mod settings;
mod shmem;
mod views;
mod worker;

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
