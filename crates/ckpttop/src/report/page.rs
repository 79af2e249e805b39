//! The page: head, summary, plots and tables in their order.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* is not also well-formed XML: every element is closed, so that any tool reads it.

use super::grid::Grid;
use super::html::escape;
use super::{figures, latency, summary, tables};
use crate::recording::read::Recording;
use crate::value::At;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn page(recording: &Recording, grid: &Grid) -> String {
    let rows = latency::rows(recording);
    let title = title(recording);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{0}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n<p class=\"summary\">",
        escape(&title)
    );
    out += &escape(&summary::sentences(recording, grid, &rows).join(" "));
    out.push_str("</p>\n");
    let marks = figures::marks(recording);
    for plot in figures::all(recording, grid) {
        out += &plot.figure(grid, &marks);
        if plot.id == "latency" {
            section(
                &mut out,
                "Inside and outside of checkpoints",
                "Percentiles are of the transactions that ended while it was recorded, within 6.25 \
                 %; the other numbers are of all seconds.",
                &tables::latency(&rows),
            );
        }
    }
    sections(&mut out, recording);
    out += &footer(recording);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// The tables below the plots.
fn sections(out: &mut String, recording: &Recording) {
    for (title, caption, table) in [
        (
            "Commands",
            "What client backends did while it was recorded, and its mean time by phase. Idle is \
             waiting for the client.",
            tables::commands(recording),
        ),
        (
            "Waits",
            "What processes were found in most while it was recorded, with the share of the time of \
             their type. Those that sleep, or wait for a client, are left out.",
            tables::waits(recording),
        ),
        (
            "Checkpoints",
            "P99 is of the transactions that ended while it ran, p99 before it of those between the \
             checkpoint before and this one.",
            tables::checkpoints(recording),
        ),
        (
            "Stalls",
            "Times in which backends were at work and none committed. Times of the day are UTC.",
            tables::stalls(recording),
        ),
        (
            "Slowest files",
            "What the checkpoints that ended while it was recorded did to them.",
            tables::files(recording),
        ),
    ] {
        section(out, title, caption, &table);
    }
}

fn title(recording: &Recording) -> String {
    let server = recording.servers.last();
    let name = server.map_or_else(|| "a server".to_owned(), |(_, server)| server.name());
    let date = recording.seconds.keys().next().map(|at| day(*at));
    format!("Checkpoints of {name}, {}", date.unwrap_or_default())
}

/// The date of a moment, UTC.
fn day(at: At) -> String {
    at.to_string().chars().take(10).collect()
}

fn section(out: &mut String, title: &str, caption: &str, table: &str) {
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "<section>\n<h2>{}</h2>\n{table}<p class=\"caption\">{}</p>\n</section>\n",
        escape(title),
        escape(caption)
    );
}

/// Where it comes from.
fn footer(recording: &Recording) -> String {
    let mut lines: Vec<String> = Vec::new();
    for header in &recording.headers {
        lines.push(format!(
            "Recorded by ckpttop {} from {} on, every {} s, of {}.",
            header.version, header.started_at, header.interval, header.source
        ));
    }
    let server = recording.servers.last().map(|(_, server)| server);
    if let Some(identifier) = server.and_then(|server| server.system_identifier.as_ref()) {
        lines.push(format!("System identifier {identifier}."));
    }
    lines.push(format!("Report by ckpttop {}.", env!("CARGO_PKG_VERSION")));
    let lines: Vec<_> = lines.iter().map(|line| escape(line)).collect();
    format!("<footer>{}</footer>\n", lines.join("<br/>\n"))
}
