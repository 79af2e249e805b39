//! ckpttop: a viewer of the stats segment of ckptflush.
//!
//! *Runs in:* a process of its own, of the user that runs the server, or of anybody with --dsn.
//! *Reads and writes:* reads a stats segment, the SQL views, or stats files; writes to the terminal
//! or to standard output, and with --mmv one file.
//! *Never:* waits for a server, changes anything in it.
//!
//! ```text
//! args ── what to do
//! find ── which segment         local ─┐ views/  one file per SQL view: its columns
//!                               remote ┴─ snapshot   plain data of one look
//!                                            │
//!          rates (differences) ── pages/, ui ┤ on the terminal; keys
//!                                            ├ text, json          views, as they are
//!                                            ├ metrics ── openmetrics, mmv
//!                                            └ recording/ ── report/   what is new, line by line;
//!                                                             a page of HTML made of it
//! stats_files ── what is in stats files, of no server
//! failure, value, human, signals, wait_rates ── what all of them use
//! ```

#![forbid(unsafe_code)]

mod args;
mod failure;
mod find;
mod human;
mod json;
mod local;
mod metrics;
mod mmv;
mod openmetrics;
mod pages;
mod print;
mod rates;
mod recording;
mod remote;
mod report;
mod signals;
mod snapshot;
mod stats_files;
mod text;
mod ui;
mod value;
mod views;
mod wait_rates;

use crate::args::{Args, Command, Server};
use crate::failure::Result;
use crate::local::Local;
use crate::remote::Remote;
use crate::signals::Signals;
use crate::snapshot::Source;
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    match Signals::new().and_then(|signals| run(&args, &signals).map(|()| signals)) {
        Ok(signals) => signals.end(),
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args, signals: &Signals) -> Result<()> {
    let (server, interactive) = match &args.command {
        Some(Command::Report(options)) => return report::run(options),
        Some(Command::StatsFile(options)) => return stats_files::run(options, signals),
        Some(Command::Record(options)) => (&options.server, false),
        None => (&args.server, args.interactive()),
    };
    let Some(mut source) = source(server, interactive, signals)? else {
        return Ok(());
    };
    if let Some(Command::Record(options)) = &args.command {
        recording::write::run(source.as_mut(), options, signals)
    } else if interactive {
        ui::run(source.as_mut(), args.interval, args.count, signals)
    } else {
        print::run(source.as_mut(), args, signals)
    }
}

/// What to look at; `None` when the user was asked, and left.
fn source<'a>(
    server: &Server,
    interactive: bool,
    signals: &'a Signals,
) -> Result<Option<Box<dyn Source + 'a>>> {
    if let Some(path) = &server.segment {
        return Ok(Some(Box::new(Local::new(path)?)));
    }
    if let Some(conninfo) = &server.dsn {
        let remote = Remote::new(conninfo, interactive, signals)?;
        return Ok(remote.map(|remote| Box::new(remote) as Box<dyn Source>));
    }
    let directory = server.directory.as_deref();
    let directory = directory.unwrap_or(Path::new(find::DIRECTORY));
    let findings = find::look(directory, server.port)?;
    let chosen = match findings.running.as_slice() {
        [] => return Err(findings.nothing(directory, server.port)),
        [one] => one.path.clone(),
        _ if interactive => match ui::choose(&findings.running, signals)? {
            Some(path) => path,
            None => return Ok(None),
        },
        _ => return Err(findings.several()),
    };
    Ok(Some(Box::new(Local::new(&chosen)?)))
}
