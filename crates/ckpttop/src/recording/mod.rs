//! A recording: a file to which `ckpttop record` appends, and from which `ckpttop report` reads.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing: [`write`](mod@write) appends to the file, [`read`] reads it.
//! *Never:* changes the meaning of a key: a new one is added, a reader passes over what it does
//! not know.
//!
//! The file is text, a JSON object in each line:
//!
//! 1. A [`Header`] begins each recording; several may follow each other in one file.
//! 2. Then a [`Tick`] per look: what is new since the look before it. What has not changed is left
//!    out, so that an idle server costs next to nothing.
//! 3. A line is written at once and ends in a line feed. A line that was cut off, because the
//!    machine crashed or the disk was full, is passed over; nothing else is lost by it.

mod differences;
pub(crate) mod read;
pub(crate) mod write;

use crate::human::version;
use crate::snapshot::State;
use crate::value::At;
use crate::views::history::History;
use crate::views::stalls::Stall;
use crate::wait_rates::Key;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of this form.
const FORMAT: u64 = 1;

/// The server that is looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Server {
    pub(crate) system_identifier: Option<String>,
    pub(crate) port: Option<u64>,
    pub(crate) server_version_num: Option<u64>,
    /// When it made its segment: at its start, or after a crash.
    pub(crate) started_at: At,
}

impl Server {
    /// What it is called in a sentence.
    pub(crate) fn name(&self) -> String {
        let number = self.server_version_num.map(version);
        let version = number.map_or_else(String::new, |version| format!(" {version}"));
        match self.port {
            Some(port) => format!("PostgreSQL{version} on port {port}"),
            None => format!("PostgreSQL{version}"),
        }
    }
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    /// The version of the form.
    pub(crate) ckpttop_recording: u64,
    /// The version of the viewer that recorded.
    pub(crate) version: String,
    /// The segment's file, or the server and database asked.
    pub(crate) source: String,
    pub(crate) started_at: At,
    /// Seconds from look to look.
    pub(crate) interval: f64,
    /// The columns of `seconds`: those of `ckpt_stats_timeline`.
    pub(crate) seconds: Vec<String>,
}

/// A line: what is new since the one before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tick {
    /// When it was looked, by the server's clock.
    pub(crate) at: At,
    pub(crate) server_state: State,
    /// In the first line, and after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<Server>,
    /// Rows of `ckpt_stats_timeline`, the oldest first, without the names of the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) seconds: Vec<Vec<Value>>,
    /// Who waits for what, of waits that were not named before: they are numbered from 0 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) wait_names: Vec<Key>,
    /// Number of the wait, and how often it was found since the last line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waits: Vec<(usize, u64)>,
    /// Command, phase, how often it was done since the last line, and the time it took, in
    /// milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) commands: Vec<(String, String, u64, f64)>,
    /// Phase, bucket of the histogram, transactions that ended since the last line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) transactions: Vec<(String, Vec<(usize, u64)>)>,
    /// Rows of `ckpt_stats_history`: checkpoints that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) checkpoints: Vec<History>,
    /// Rows of `ckpt_stats_stalls`: those that have ended, and the one that is going on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) stalls: Vec<Stall>,
    /// The files that took longest to sync in the last checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<FileWork>,
}

/// What a checkpoint did to a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FileWork {
    pub(crate) path: String,
    pub(crate) syncs: u64,
    pub(crate) sync_time: f64,
    pub(crate) longest_sync_time: f64,
    pub(crate) buffers_written: u64,
    pub(crate) writeback_bytes: u64,
}
