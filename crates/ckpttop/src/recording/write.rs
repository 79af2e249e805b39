//! `ckpttop record`: a look, a line, a pause.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* appends to the recording.
//! *Never:* holds a line back: what was seen before a crash is in the file. Nor does it wait for
//! the disk: a recording is not worth an fsync per second beside a server that has trouble with
//! them.

use super::differences::Differences;
use super::{FORMAT, Header};
use crate::args::Record;
use crate::failure::{Failure, Result};
use crate::signals::Signals;
use crate::snapshot::{Seen, Source};
use crate::value::At;
use crate::views::timeline::Second;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The monitor closes a second at its end; a look this much later, in microseconds, finds it.
const AFTER_SECOND: i64 = 300_000;
const SECOND: i64 = 1_000_000;

/// Records until told to end.
pub(crate) fn run(source: &mut dyn Source, options: &Record, signals: &Signals) -> Result<()> {
    let mut file = Recorder::open(&options.file)?;
    let end = options.duration.map(|duration| Instant::now() + duration);
    let mut differences = Differences::new(options.history);
    let mut next = Instant::now();
    let mut looks = 0u64;
    while !signals.came() {
        let snapshot = source.look(differences.wants())?;
        if looks == 0 {
            file.write(&header(&snapshot.seen, options.interval))?;
        }
        file.write(&differences.tick(&snapshot))?;
        looks += 1;
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        next = (next + options.interval).max(Instant::now());
        if looks == 1 {
            next = in_step(next, options.interval);
        }
        signals.sleep_until(end.map_or(next, |end| next.min(end)));
    }
    Ok(())
}

fn header(seen: &Seen, interval: Duration) -> Header {
    let columns = match serde_json::to_value(Second::default()) {
        Ok(serde_json::Value::Object(columns)) => columns.keys().cloned().collect(),
        _ => Vec::new(),
    };
    Header {
        ckpttop_recording: FORMAT,
        version: seen.version.to_owned(),
        source: seen.source.clone(),
        started_at: seen.taken_at,
        interval: interval.as_secs_f64(),
        seconds: columns,
    }
}

/// The moment in step with the seconds of the clock, if the interval is one of whole seconds: so
/// each line has the same seconds of the server's timeline, and its waits are of these seconds.
fn in_step(next: Instant, interval: Duration) -> Instant {
    if interval.subsec_nanos() > 0 {
        return next;
    }
    let ahead = next.saturating_duration_since(Instant::now());
    let at = At::now().0 + i64::try_from(ahead.as_micros()).unwrap_or(0);
    let wait = (AFTER_SECOND - at).rem_euclid(SECOND);
    next + Duration::from_micros(u64::try_from(wait).unwrap_or(0))
}

/// The file of a recording, open for appending.
struct Recorder {
    file: File,
    name: String,
}

impl Recorder {
    fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |error| Failure::io(&format!("open recording \"{name}\""), &error);
        let mut options = File::options();
        let options = options.read(true).append(true).create(true);
        let mut file = options.open(path).map_err(failed)?;
        let cut = match last_byte(&mut file).map_err(failed)? {
            None => false,
            Some(last) => {
                if !begins_as_recording(&mut file).map_err(failed)? {
                    return Err(Failure::new(format!(
                        "file \"{name}\" exists and is not a recording"
                    ))
                    .hint("Name another file, or remove this one."));
                }
                last != b'\n'
            }
        };
        let mut recorder = Self { file, name };
        if cut {
            recorder.append(b"\n")?;
        }
        Ok(recorder)
    }

    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| Failure::new(format!("could not form a line: {error}")))?;
        text.push(b'\n');
        self.append(&text)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| Failure::io(&format!("write to \"{}\"", self.name), &error))
    }
}

/// The last byte; `None` of an empty file, or of one that is no file: a pipe.
fn last_byte(file: &mut File) -> std::io::Result<Option<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(Some(last[0]))
}

fn begins_as_recording(file: &mut File) -> std::io::Result<bool> {
    let begin = br#"{"ckpttop_recording":"#;
    let mut found = Vec::new();
    file.rewind()?;
    let most = u64::try_from(begin.len()).unwrap_or(0);
    Read::by_ref(file).take(most).read_to_end(&mut found)?;
    Ok(found == begin)
}
