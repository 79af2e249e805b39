//! A recording read back: what it says of each thing, wherever it stands in the file.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* reads the file.
//! *Never:* fails because of a line that was cut off, or that a later version wrote.

use super::{FORMAT, FileWork, Header, Server, Tick};
use crate::failure::{Failure, Result};
use crate::snapshot::State;
use crate::value::At;
use crate::views::history::History;
use crate::views::stalls::Stall;
use crate::views::timeline::Second;
use crate::views::{self, PHASES};
use crate::wait_rates::Key;
use serde_json::{Map, Value};
use statseg::histogram::BUCKETS;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What was counted between two looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) from: At,
    pub(crate) to: At,
    /// Place in [`Recording::wait_keys`], and how often it was found.
    pub(crate) waits: Vec<(usize, u64)>,
    /// Command, phase, how often, and the time it took in milliseconds.
    pub(crate) commands: Vec<(String, String, u64, f64)>,
}

/// A recording.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// Of each recording in the file.
    pub(crate) headers: Vec<Header>,
    /// Each start of the server, as it was noticed.
    pub(crate) servers: Vec<(At, Server)>,
    pub(crate) seconds: BTreeMap<At, Second>,
    /// By their start.
    pub(crate) checkpoints: BTreeMap<At, History>,
    /// By their start.
    pub(crate) stalls: BTreeMap<At, Stall>,
    pub(crate) passed: Vec<Passed>,
    pub(crate) wait_keys: Vec<Key>,
    /// Transactions by phase and length, while it was recorded.
    pub(crate) transactions: [Vec<u64>; PHASES],
    /// By path: what all checkpoints together did to it.
    pub(crate) files: BTreeMap<String, FileWork>,
    /// From when to when nothing moved, or there was no server.
    pub(crate) away: Vec<(At, At)>,
    /// Lines that could not be read.
    pub(crate) skipped: u64,
}

/// What the lines so far are needed for to read the next ones.
#[derive(Default)]
struct Reader {
    recording: Recording,
    columns: Vec<String>,
    /// The numbers of this recording's waits are places in it; it holds places of all.
    names: Vec<usize>,
    places: HashMap<Key, usize>,
    last: Option<At>,
}

/// Reads a recording.
pub(crate) fn read(path: &Path) -> Result<Recording> {
    let name = path.display();
    let failed = |error| Failure::io(&format!("read recording \"{name}\""), &error);
    let file = File::open(path)
        .map_err(|error| Failure::io(&format!("open recording \"{name}\""), &error))?;
    let mut reader = Reader::default();
    for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(failed)?;
        if let Some(header) = header(&line) {
            reader.header(header)?;
        } else if number == 0 {
            return Err(Failure::new(format!("\"{name}\" is not a recording"))
                .hint("Make one with \"ckpttop record FILE\"."));
        } else if let Ok(tick) = serde_json::from_slice::<Tick>(&line) {
            reader.tick(tick);
        } else if !line.is_empty() {
            reader.recording.skipped += 1;
        }
    }
    if reader.recording.headers.is_empty() {
        return Err(Failure::new(format!("\"{name}\" is empty")));
    }
    Ok(reader.recording)
}

fn header(line: &[u8]) -> Option<Header> {
    let begins = line.starts_with(br#"{"ckpttop_recording""#);
    serde_json::from_slice(line).ok().filter(|_| begins)
}

impl Reader {
    fn header(&mut self, header: Header) -> Result<()> {
        if header.ckpttop_recording != FORMAT {
            return Err(Failure::new(format!(
                "the recording has form {}, expected {FORMAT}",
                header.ckpttop_recording
            ))
            .hint("Use the viewer that made it."));
        }
        self.columns = header.seconds.clone();
        self.names.clear();
        self.last = None;
        self.recording.headers.push(header);
        Ok(())
    }

    fn tick(&mut self, tick: Tick) {
        let last = self.last.replace(tick.at);
        if let Some(server) = tick.server {
            self.recording.servers.push((tick.at, server));
        }
        for row in tick.seconds {
            self.second(row);
        }
        for name in tick.wait_names {
            let next = self.recording.wait_keys.len();
            let place = *self.places.entry(name.clone()).or_insert(next);
            if place == next {
                self.recording.wait_keys.push(name);
            }
            self.names.push(place);
        }
        let into = &mut self.recording;
        let checkpoints = tick.checkpoints.into_iter();
        into.checkpoints
            .extend(checkpoints.map(|row| (row.started_at, row)));
        let stalls = tick.stalls.into_iter();
        into.stalls.extend(stalls.map(|row| (row.started_at, row)));
        for (phase, buckets) in tick.transactions {
            let Some(phase) = views::phase(&phase) else {
                continue;
            };
            let sums = &mut into.transactions[phase];
            sums.resize(BUCKETS, 0);
            for (bucket, count) in buckets {
                if let Some(sum) = sums.get_mut(bucket) {
                    *sum += count;
                }
            }
        }
        for file in tick.files {
            add(&mut into.files, file);
        }
        let Some(from) = last.filter(|last| *last < tick.at) else {
            return;
        };
        if matches!(tick.server_state, State::Still | State::Waiting) {
            match into.away.last_mut() {
                Some((_, to)) if *to == from => *to = tick.at,
                _ => into.away.push((from, tick.at)),
            }
        }
        let waits = tick.waits.into_iter();
        into.passed.push(Passed {
            from,
            to: tick.at,
            waits: waits
                .filter_map(|(number, samples)| Some((*self.names.get(number)?, samples)))
                .collect(),
            commands: tick.commands,
        });
    }

    /// A row of the timeline, under the columns of the header.
    fn second(&mut self, row: Vec<Value>) {
        let columns: Map<String, Value> = self.columns.iter().cloned().zip(row).collect();
        match serde_json::from_value::<Second>(Value::Object(columns)) {
            Ok(second) => {
                self.recording.seconds.insert(second.at, second);
            }
            Err(_) => self.recording.skipped += 1,
        }
    }
}

fn add(files: &mut BTreeMap<String, FileWork>, new: FileWork) {
    let sum = files.entry(new.path.clone()).or_default();
    sum.path = new.path;
    sum.syncs += new.syncs;
    sum.sync_time += new.sync_time;
    sum.longest_sync_time = sum.longest_sync_time.max(new.longest_sync_time);
    sum.buffers_written += new.buffers_written;
    sum.writeback_bytes += new.writeback_bytes;
}
