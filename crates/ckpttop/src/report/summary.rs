//! The numbers of a recording, in sentences.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* says what follows from the numbers: that is for who reads them.

use super::grid::Grid;
use super::latency::Latency;
use crate::human::{bytes, count, known, time};
use crate::recording::read::Recording;
use crate::value::At;
use crate::views::history::History;

/// The sentences.
pub(super) fn sentences(recording: &Recording, grid: &Grid, rows: &[Latency]) -> Vec<String> {
    let mut sentences = vec![when(recording, grid)];
    sentences.extend(checkpoints(recording));
    sentences.extend(throughput(rows));
    sentences.extend(latency(rows));
    sentences.push(stalls(recording));
    sentences.extend(device(recording));
    sentences.extend(absence(recording));
    sentences
}

fn ms_between(from: At, to: At) -> f64 {
    to.ms_since(from)
}

/// One of them, or several.
fn many(number: usize, one: &str, several: &str) -> String {
    match number {
        0 => format!("no {one}"),
        1 => format!("one {one}"),
        n => format!("{n} {several}"),
    }
}

fn when(recording: &Recording, grid: &Grid) -> String {
    let seconds = recording.seconds.len();
    let whole = ms_between(grid.from(), grid.to());
    let begun = recording.headers.first().map(|header| header.started_at);
    let before = begun.map_or(0.0, |begun| ms_between(grid.from(), begun));
    let history = if before >= 1000.0 {
        format!(
            ", the first {} from before the recording out of the server's timeline",
            time(before)
        )
    } else {
        String::new()
    };
    format!(
        "{} from {} to {} UTC{history}; {seconds} seconds were seen.",
        time(whole),
        grid.from().clock(),
        grid.to().clock()
    )
}

fn longest(rows: &[&History], figure: fn(&History) -> Option<f64>) -> Option<f64> {
    let times = rows.iter().filter_map(|row| figure(row));
    times.fold(None, |most: Option<f64>, time| {
        Some(most.unwrap_or(0.0).max(time))
    })
}

fn checkpoints(recording: &Recording) -> Option<String> {
    let rows: Vec<&History> = recording.checkpoints.values().collect();
    if rows.is_empty() {
        return Some("No checkpoint ended.".to_owned());
    }
    let buffers: u64 = rows.iter().filter_map(|row| row.buffers_written).sum();
    Some(format!(
        "{} ended, {} buffers were written; the longest write phase took {}, the longest sync phase \
         {}, the longest sync of a file {}.",
        sentence(&many(rows.len(), "checkpoint", "checkpoints")),
        count(buffers),
        known(longest(&rows, |row| row.write_time), time),
        known(longest(&rows, |row| row.sync_time), time),
        known(longest(&rows, |row| row.longest_sync_time), time),
    ))
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// A figure of each phase that was there: "a outside of checkpoints, b in write phases, ...".
fn by_phase(rows: &[Latency], show: impl Fn(&Latency) -> Option<String>) -> Option<String> {
    const WHERE: [&str; 3] = [
        "outside of checkpoints",
        "in write phases",
        "in sync phases",
    ];
    let parts: Vec<_> = rows
        .iter()
        .zip(WHERE)
        .filter_map(|(row, place)| Some(format!("{} {place}", show(row)?)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn throughput(rows: &[Latency]) -> Option<String> {
    let all = rows.last()?;
    let phases = by_phase(rows, |row| row.rate().map(|rate| format!("{rate:.0}")))?;
    Some(format!(
        "{} transactions were committed, {:.0} per second: {phases}.",
        count(all.commits),
        all.rate()?
    ))
}

fn latency(rows: &[Latency]) -> Option<String> {
    let of = |share: f64| {
        // Of fewer it is hardly more than the longest of them.
        let few = 1.0 / (1.0 - share);
        by_phase(rows, |row| {
            let time = row.percentile(share).map(time);
            time.filter(|_| row.measured as f64 >= few)
        })
    };
    let p99 = of(0.99)?;
    let p999 = of(0.999).map_or_else(String::new, |p999| format!("; 99.9 % at most {p999}"));
    let longest = known(rows.last()?.longest, time);
    Some(format!(
        "99 % of the transactions took at most {p99}{p999}. The longest took {longest}."
    ))
}

fn stalls(recording: &Recording) -> String {
    let rows = || recording.stalls.values();
    if rows().next().is_none() {
        return "There was no stall.".to_owned();
    }
    let whole: f64 = rows().map(|row| row.stalled_time).sum();
    let longest = rows().map(|row| row.stalled_time).fold(0.0, f64::max);
    let syncing = rows()
        .filter(|row| row.checkpoint_phase == "syncing")
        .count();
    let writing = rows()
        .filter(|row| row.checkpoint_phase == "writing")
        .count();
    format!(
        "There {} {}, {} in all, the longest {}; {writing} began in a write phase, {syncing} in a \
         sync phase.",
        if recording.stalls.len() == 1 {
            "was"
        } else {
            "were"
        },
        many(recording.stalls.len(), "stall", "stalls"),
        time(whole),
        time(longest)
    )
}

fn device(recording: &Recording) -> Option<String> {
    let rows = || recording.seconds.values();
    let written = rows().filter_map(|row| row.device_write_bytes);
    let known = written.clone().count();
    let sum: u64 = written.sum();
    let most = rows().filter_map(|row| row.device_write_bytes).max()?;
    let operations: u64 = rows().filter_map(|row| row.device_write_ops).sum();
    Some(format!(
        "The device wrote {} in {} operations, {}/s on average and {}/s at most.",
        bytes(sum),
        count(operations),
        bytes(sum / known.max(1) as u64),
        bytes(most)
    ))
}

fn absence(recording: &Recording) -> Option<String> {
    let away: f64 = recording
        .away
        .iter()
        .map(|(from, to)| ms_between(*from, *to))
        .sum();
    let restarts = recording
        .servers
        .len()
        .saturating_sub(recording.headers.len());
    let mut parts = Vec::new();
    if away > 0.0 {
        parts.push(format!(
            "For {} the server was away or did not move.",
            time(away)
        ));
    }
    if restarts > 0 {
        let restarts = many(restarts, "new start", "new starts");
        parts.push(format!("{} of the server.", sentence(&restarts)));
    }
    if recording.skipped > 0 {
        let lines = many(
            usize::try_from(recording.skipped).unwrap_or(usize::MAX),
            "line",
            "lines",
        );
        parts.push(format!(
            "{} of the recording could not be read.",
            sentence(&lines)
        ));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}
