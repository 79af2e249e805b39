//! Plain data of one look: what every output is made from.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing: [`crate::local`] and [`crate::remote`] fill it.
//! *Never:* refers to the segment: a snapshot stays as it was taken.

use crate::failure::Result;
use crate::value::At;
use crate::views::commands::Command;
use crate::views::counters::Counter;
use crate::views::files::File;
use crate::views::flush::Flush;
use crate::views::histogram::Bucket;
use crate::views::history::History;
use crate::views::info::Info;
use crate::views::progress::Progress;
use crate::views::stalls::Stall;
use crate::views::timeline::Second;
use crate::views::totals::Totals;
use crate::views::waits::Wait;
use crate::views::workers::Worker;
use serde::{Deserialize, Serialize};

/// How the server is, as far as it can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Its workers move.
    Running,
    /// It is there, and nothing moves.
    Still,
    /// Its workers do not work: they are switched off, or have ended.
    Unwatched,
    /// It is not there; the viewer waits for it.
    #[default]
    Waiting,
}

/// Where a snapshot comes from and when.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Seen {
    /// The version of the viewer.
    pub(crate) version: &'static str,
    /// The segment's file, or the server and database asked.
    pub(crate) source: String,
    /// When it was taken.
    pub(crate) taken_at: At,
    /// How the server is.
    pub(crate) server_state: State,
    /// Why the viewer waits.
    pub(crate) waiting_for: Option<String>,
    pub(crate) system_identifier: Option<String>,
    pub(crate) port: Option<u64>,
    pub(crate) server_version_num: Option<u64>,
    pub(crate) postmaster_pid: Option<u64>,
    /// When a worker of the server last moved.
    pub(crate) moved_at: Option<At>,
    /// For how long nothing has moved, in milliseconds.
    pub(crate) still_time: Option<f64>,
    /// Dirty bytes of relations in the kernel's page cache, as the sweep saw them.
    pub(crate) os_dirty_bytes: Option<u64>,
    /// Commits per second, from the last three tenths of a second.
    pub(crate) commits_per_second: Option<f64>,
}

/// The rows of all views, under their names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Views {
    #[serde(rename = "ckpt_stats_info")]
    pub(crate) info: Info,
    #[serde(rename = "ckpt_stats")]
    pub(crate) totals: Totals,
    #[serde(rename = "ckpt_stats_progress")]
    pub(crate) progress: Option<Progress>,
    #[serde(rename = "ckpt_stats_flush")]
    pub(crate) flush: Flush,
    #[serde(rename = "ckpt_stats_workers")]
    pub(crate) workers: Vec<Worker>,
    #[serde(rename = "ckpt_stats_history")]
    pub(crate) history: Vec<History>,
    #[serde(rename = "ckpt_stats_commands")]
    pub(crate) commands: Vec<Command>,
    #[serde(rename = "ckpt_stats_waits")]
    pub(crate) waits: Vec<Wait>,
    #[serde(rename = "ckpt_stats_timeline")]
    pub(crate) timeline: Vec<Second>,
    #[serde(rename = "ckpt_stats_stalls")]
    pub(crate) stalls: Vec<Stall>,
    #[serde(rename = "ckpt_stats_histogram", skip_serializing)]
    pub(crate) histogram: Vec<Bucket>,
    #[serde(rename = "ckpt_stats_files")]
    pub(crate) files: Vec<File>,
    #[serde(rename = "ckpt_stats_counters")]
    pub(crate) counters: Vec<Counter>,
}

/// One look.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Snapshot {
    #[serde(rename = "ckpttop")]
    pub(crate) seen: Seen,
    /// Nothing while the viewer waits for the server.
    #[serde(flatten)]
    pub(crate) views: Option<Views>,
}

/// What of the larger views is wanted: reading what nobody sees costs time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wants {
    /// The newest so many rows of the history.
    pub(crate) history: usize,
    /// The sums over all processes of what each command took.
    pub(crate) commands: bool,
    pub(crate) waits: bool,
    /// The newest so many seconds.
    pub(crate) timeline: usize,
    /// The newest so many past stalls; the one that is going on is always there.
    pub(crate) stalls: usize,
    /// The lengths of transactions, by bucket.
    pub(crate) histogram: bool,
    pub(crate) files: bool,
    pub(crate) counters: bool,
}

impl Wants {
    /// Everything that is printed.
    pub(crate) const ALL: Self = Self {
        history: usize::MAX,
        commands: true,
        waits: true,
        timeline: usize::MAX,
        stalls: usize::MAX,
        histogram: false,
        files: true,
        counters: true,
    };
    /// The small views only.
    pub(crate) const LITTLE: Self = Self {
        history: 0,
        commands: false,
        waits: false,
        timeline: 0,
        stalls: 0,
        histogram: false,
        files: false,
        counters: false,
    };
}

/// Something that can be looked at again and again.
pub(crate) trait Source {
    /// Takes a snapshot. Never waits for the server: when it is away, the snapshot says so.
    ///
    /// # Errors
    /// When waiting would not help.
    fn look(&mut self, wants: Wants) -> Result<Snapshot>;
}
