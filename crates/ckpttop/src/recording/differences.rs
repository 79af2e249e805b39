//! From looks to lines: what is new in a snapshot since the one before.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* counts anything twice, or makes a difference across a restart or a reset: what a
//! count is then has all happened since.
//!
//! A snapshot may lack what was wanted: that of a remote server that was slow to answer. What is
//! not there is taken at the next look.

use super::{FileWork, Server, Tick};
use crate::snapshot::{Seen, Snapshot, Views, Wants};
use crate::value::At;
use crate::views::files::File;
use crate::views::timeline::Second;
use crate::views::{self, PHASES};
use crate::wait_rates::{Key, WaitRates};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Files that are kept of a checkpoint.
const FILES: usize = 20;
/// Rows of history and stalls that are asked for at a look, unless it is the first for a while.
const FEW: usize = 8;
/// Seconds after which more of them may be new.
const A_WHILE: f64 = 20.0;

/// What was seen already.
pub(super) struct Differences {
    /// Seconds from before the start that are taken; `None`: all there are.
    history: Option<u64>,
    /// The last look that brought views.
    looked_at: Option<At>,
    made_at: At,
    second: Option<At>,
    checkpoint: At,
    stall: At,
    waits: WaitRates,
    names: HashMap<Key, usize>,
    commands: HashMap<(String, String), (u64, f64)>,
    buckets: HashMap<(usize, usize), u64>,
    files: HashMap<String, File>,
    /// The tables of files are to be read.
    files_due: bool,
}

/// How much a count has grown; one that has shrunk was reset.
fn grown(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

/// Microseconds are enough.
fn short(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

impl Differences {
    pub(super) fn new(history: Option<u64>) -> Self {
        Self {
            history,
            looked_at: None,
            made_at: At::default(),
            second: None,
            checkpoint: At::default(),
            stall: At::default(),
            waits: WaitRates::default(),
            names: HashMap::new(),
            commands: HashMap::new(),
            buckets: HashMap::new(),
            files: HashMap::new(),
            files_due: true,
        }
    }

    /// What the next look shall bring.
    pub(super) fn wants(&self) -> Wants {
        let now = At::now();
        let passed = |then: At| now.ms_since(then) / 1e3;
        let rows = match self.looked_at {
            Some(then) if passed(then) < A_WHILE => FEW,
            _ => usize::MAX,
        };
        let seconds = match (self.second, self.history) {
            (Some(second), _) => passed(second) as usize + FEW,
            (None, Some(seconds)) => usize::try_from(seconds).unwrap_or(usize::MAX),
            (None, None) => usize::MAX,
        };
        Wants {
            history: rows,
            commands: true,
            waits: true,
            timeline: seconds,
            stalls: rows,
            histogram: true,
            files: self.files_due,
            counters: false,
        }
    }

    /// The line of a snapshot.
    pub(super) fn tick(&mut self, snapshot: &Snapshot) -> Tick {
        let seen = &snapshot.seen;
        let mut tick = Tick {
            at: seen.taken_at,
            server_state: seen.server_state,
            ..Tick::default()
        };
        let Some(views) = &snapshot.views else {
            return tick;
        };
        let first = self.looked_at.is_none();
        if first || views.info.started_at != self.made_at {
            tick.server = Some(server(seen, views));
            self.made_at = views.info.started_at;
            self.commands.clear();
            self.buckets.clear();
            self.files.clear();
        }
        if first {
            self.begin(views, seen.taken_at);
        }
        self.seconds(views, &mut tick);
        self.events(views, &mut tick);
        self.waits(views, first, &mut tick);
        self.commands(views, first, &mut tick);
        self.transactions(views, first, &mut tick);
        self.files(views, first, &mut tick);
        self.looked_at = Some(seen.taken_at);
        tick
    }

    /// Nothing that ended before the oldest second that is taken.
    fn begin(&mut self, views: &Views, now: At) {
        let oldest = views.timeline.iter().map(|row| row.at).min();
        let since = oldest.filter(|_| self.history != Some(0)).unwrap_or(now);
        self.checkpoint = since;
        self.stall = since;
        if self.history == Some(0) {
            self.second = Some(now);
        }
    }

    fn seconds(&mut self, views: &Views, tick: &mut Tick) {
        // The clock was set back: what is newest now is new.
        if let (Some(newest), Some(last)) = (views.timeline.first(), self.second)
            && newest.at < last
            && tick.at < last
        {
            self.second = Some(At(newest.at.0 - 1));
        }
        let last = self.second;
        let new = |row: &&Second| last.is_none_or(|last| row.at > last);
        for row in views.timeline.iter().rev().filter(new) {
            self.second = Some(row.at);
            if let Ok(Value::Object(columns)) = serde_json::to_value(row) {
                tick.seconds.push(columns.into_values().collect());
            }
        }
    }

    fn events(&mut self, views: &Views, tick: &mut Tick) {
        for row in views.history.iter().rev() {
            if row.ended_at > self.checkpoint {
                self.checkpoint = row.ended_at;
                self.files_due = true;
                tick.checkpoints.push(row.clone());
            }
        }
        for row in views.stalls.iter().rev() {
            if row.ongoing {
                tick.stalls.push(row.clone());
            } else if row.started_at > self.stall {
                self.stall = row.started_at;
                tick.stalls.push(row.clone());
            }
        }
    }

    fn waits(&mut self, views: &Views, first: bool, tick: &mut Tick) {
        if views.waits.is_empty() {
            return;
        }
        self.waits.push(views);
        for row in self.waits.rows() {
            let Some(samples) = row.grown.filter(|samples| *samples > 0 && !first) else {
                continue;
            };
            let next = self.names.len();
            let number = *self.names.entry(row.key.clone()).or_insert_with(|| {
                tick.wait_names.push(row.key.clone());
                next
            });
            tick.waits.push((number, samples));
        }
    }

    fn commands(&mut self, views: &Views, first: bool, tick: &mut Tick) {
        for row in &views.commands {
            let key = (row.command.clone(), row.checkpoint_phase.clone());
            let now = (row.count, row.total_time);
            let before = self.commands.insert(key, now).unwrap_or_default();
            let count = grown(row.count, before.0);
            if count > 0 && !first {
                let reset = row.count < before.0 || row.total_time < before.1;
                let time = row.total_time - if reset { 0.0 } else { before.1 };
                let (command, phase) = (row.command.clone(), row.checkpoint_phase.clone());
                tick.commands.push((command, phase, count, short(time)));
            }
        }
    }

    fn transactions(&mut self, views: &Views, first: bool, tick: &mut Tick) {
        let mut new: BTreeMap<String, Vec<(usize, u64)>> = BTreeMap::new();
        for row in &views.histogram {
            let word = row.name.rsplit('_').next().unwrap_or("");
            let Some(phase) = views::phase(word).filter(|phase| *phase < PHASES) else {
                continue;
            };
            let bucket = row.index();
            let before = self.buckets.insert((phase, bucket), row.count);
            let count = grown(row.count, before.unwrap_or(0));
            if count > 0 && !first {
                new.entry(word.to_owned())
                    .or_default()
                    .push((bucket, count));
            }
        }
        tick.transactions.extend(new);
    }

    fn files(&mut self, views: &Views, first: bool, tick: &mut Tick) {
        if views.files.is_empty() || !self.files_due {
            return;
        }
        // What this look found ended may not be in these tables yet.
        self.files_due = !tick.checkpoints.is_empty() && !first;
        let mut work: Vec<FileWork> = Vec::new();
        for row in &views.files {
            let before = self.files.insert(row.path.clone(), row.clone());
            // A row that has shrunk left its table meanwhile, and came back.
            let before = before.filter(|before| before.syncs <= row.syncs);
            let before = before.unwrap_or_default();
            let syncs = row.syncs - before.syncs;
            let sync_time = short((row.sync_time - before.sync_time).max(0.0));
            let last = row.last_sync_time.unwrap_or(0.0);
            work.push(FileWork {
                path: row.path.clone(),
                syncs,
                sync_time,
                longest_sync_time: if syncs == 1 { sync_time } else { short(last) },
                buffers_written: grown(row.buffers_written, before.buffers_written),
                writeback_bytes: grown(row.writeback_bytes, before.writeback_bytes),
            });
        }
        if !first {
            work.retain(|file| file.syncs > 0);
            work.sort_by(|a, b| b.sync_time.total_cmp(&a.sync_time));
            work.truncate(FILES);
            tick.files = work;
        }
    }
}

fn server(seen: &Seen, views: &Views) -> Server {
    Server {
        system_identifier: seen.system_identifier.clone(),
        port: seen.port,
        server_version_num: seen.server_version_num,
        started_at: views.info.started_at,
    }
}
