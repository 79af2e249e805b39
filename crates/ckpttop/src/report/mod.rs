//! `ckpttop report`: a recording as one page of HTML, with plots.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* reads a recording, writes one file or standard output.
//! *Never:* refers to anything outside the page: it is read without a network, without a script,
//! and years later.
//!
//! ```text
//! recording::read ── grid      seconds put into the columns of a plot
//!                  ├ series    what of the recording is plotted, by column
//!                  ├ figures   which plots there are ── plot ── axis, path: SVG
//!                  ├ latency   lengths of transactions inside and outside checkpoints
//!                  ├ summary   the numbers in sentences
//!                  └ tables
//! page: all of it in HTML, with style.css in it
//! ```
//!
//! The SVG is made by hand and not by `plotters`: that writes colours into each element, and here
//! they must change with the reader's theme and on paper, by CSS.

mod axis;
mod figures;
mod grid;
mod html;
mod latency;
mod page;
mod path;
mod plot;
mod series;
mod summary;
mod tables;

use crate::args::Report;
use crate::failure::{Failure, Result};
use crate::recording::read;
use std::io::{self, ErrorKind, Write};

/// Writes the report.
pub(crate) fn run(options: &Report) -> Result<()> {
    let recording = read::read(&options.file)?;
    let Some(grid) = grid::Grid::of(&recording) else {
        return Err(Failure::new(format!(
            "there is not a second in recording \"{}\"",
            options.file.display()
        ))
        .hint("The timeline of the server fills while \"ckptflush.enabled\" is on."));
    };
    let page = page::page(&recording, &grid);
    match &options.output {
        Some(path) => std::fs::write(path, page)
            .map_err(|error| Failure::io(&format!("write to \"{}\"", path.display()), &error)),
        None => match io::stdout().lock().write_all(page.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::io("write to standard output", &error))
            }
            _ => Ok(()),
        },
    }
}
