//! The outputs without a screen: a look, a print, a pause.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* writes to standard output, or a file in the directory of --mmv.
//! *Never:* fails because the reader of a pipe has seen enough.

use crate::args::Args;
use crate::failure::{Failure, Result};
use crate::mmv::Mmv;
use crate::signals::Signals;
use crate::snapshot::{Snapshot, Source, Wants};
use crate::{json, openmetrics, text};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Instant;

/// Rows of the timeline in repeated looks.
const SECONDS: usize = 60;

/// Looks and prints until told to end.
pub(crate) fn run(source: &mut dyn Source, args: &Args, signals: &Signals) -> Result<()> {
    let mut next = Instant::now();
    let mut looks = 0u64;
    let wants = match args.looks() {
        Some(1) => Wants::ALL,
        // Who looks again and again has seen the older seconds.
        _ => Wants {
            timeline: SECONDS,
            ..Wants::ALL
        },
    };
    let mut mmv = args
        .mmv
        .as_ref()
        .map(|directory| Mmv::new(directory, args.looks().is_some()));
    while !signals.came() {
        let snapshot = source.look(wants)?;
        match &mut mmv {
            Some(mmv) => mmv.write(&snapshot)?,
            None => match print(&snapshot, args) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                Err(error) => return Err(Failure::io("write to standard output", &error)),
            },
        }
        looks += 1;
        if args.looks() == Some(looks) {
            break;
        }
        // In step with the clock, but without haste after a pause.
        next = (next + args.interval).max(Instant::now());
        signals.sleep_until(next);
    }
    Ok(())
}

fn print(snapshot: &Snapshot, args: &Args) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        json::write(snapshot, &mut out)?;
    } else if args.openmetrics {
        openmetrics::write(snapshot, &mut out)?;
    } else {
        text::write(snapshot, &mut out)?;
    }
    out.flush()
}
