//! The stats segment of ckptflush: a file on tmpfs in which the server counts and from which
//! anybody with the right to read the file reads, without a lock on either side.
//!
//! *Runs in:* the postmaster (creates), the checkpointer, workers and backends (write), any
//! process (reads).
//! *Reads and writes:* the segment's file and mapping, nothing else.
//! *Never:* knows PostgreSQL, blocks a writer, trusts a file it reads.
//!
//! ```text
//! create ── stale, build, layout      attach ── parse
//!    └─ Segment (writers' handles)       └─ Reader
//!          └─────────── View (everything to be read) ───────┘
//!    catalog, statistic, histogram, value    counters, gauges, statistics
//!    record, field, codes, text              records, each with one writer
//!    records, observed                       of the server; of its backends
//!    ring, files, file_key                   the last so many; a table of files
//!    commit_windows                          the commits of each tenth of a second
//!    in_flight                               group commits that are visible, not yet durable
//!    activity                                transactions ended, process by process
//!    steps                                   what is not in the statistics of a process yet
//!    waits                                   what backends were found waiting for
//!    collected                               databases whose statistics are kept, and requests
//!    control, reset                          resets, by baseline, floor and epoch
//!    seqlock, sync                           the one protocol below them all
//!    mapping                                 the only unsafe code
//!    model                                   for the model checker only
//! ```
//!
//! The layout is described to the byte in docs/segment-layout.md.

// A model uses the protocols only, and leaves the rest of the crate unused.
#![cfg_attr(loom, allow(dead_code))]

mod activity;
pub mod catalog;
mod codes;
mod collected;
mod commit_windows;
mod control;
mod error;
mod field;
mod file_key;
mod files;
pub mod histogram;
mod in_flight;
mod layout;
mod observed;
mod parse;
mod record;
mod records;
mod reset;
mod ring;
mod seqlock;
mod statistic;
mod steps;
mod sync;
mod text;
mod value;
mod view;
mod waits;

#[cfg(not(loom))]
mod attach;
mod build;
#[cfg(not(loom))]
mod create;
#[cfg(not(loom))]
mod mapping;
#[cfg(loom)]
pub mod model;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod stale;

pub use activity::{Activity, ActivityWriter, Ended};
#[cfg(not(loom))]
pub use attach::{Reader, attach};
pub use catalog::{Group, METRICS, Metric, MetricDef, MetricKind};
pub use codes::{
    Cause, CheckpointPhase, Command, EventKind, FlushMode, Kind, Outcome, Phase, SegmentState,
    WorkerState,
};
pub use collected::{CollectedDatabase, CollectorState, DatabaseRequests};
pub use commit_windows::{CommitWindows, CommitWindowsWriter, Commits};
pub use control::ResetBusy;
#[cfg(not(loom))]
pub use create::create;
pub use error::{AttachError, CreateError, Foreign, OsError};
pub use field::{Field, FieldType};
pub use file_key::{FileEntry, FileKey, FileStats};
pub use files::{FilesTable, FilesWriter, Placement};
pub use in_flight::{Durability, Flushes, InFlight, Served};
pub use layout::{Config, HEADER_BYTES, LAYOUT_VERSION, MAGIC, required_bytes};
pub use observed::{Second, Stall, WaitRow};
pub use record::{Record, RecordType, RecordWriter};
pub use records::{
    Event, FileRow, FlushState, History, MonitorState, Progress, SyncState, Takeover, Worker,
};
pub use reset::{ResetTarget, ResetTimes};
pub use ring::{Ring, RingWriter};
#[cfg(not(loom))]
pub use segment::Segment;
pub use seqlock::Torn;
pub use statistic::{COUNTER_WORDS, Counter, Gauge, STATISTIC_WORDS, Statistic};
pub use steps::{STEPS_WORDS, StepNumber, StepsWriter};
pub use text::Text;
pub use value::{MetricInfo, Value};
pub use view::{PhaseGauge, View};
pub use waits::{WaitKey, Waits, WaitsWriter};
