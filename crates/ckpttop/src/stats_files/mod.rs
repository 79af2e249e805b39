//! `ckpttop statsfile`: stats files as text or JSON, without a server.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* reads the files that it is told, writes to standard output.
//! *Never:* shows an entry of a file that is not verified to its last byte; keeps more than one
//! entry in memory beside the file.
//!
//! ```text
//! read     the bytes of a file, unless its header says that it is bad
//! summary  header, sections, databases: plain data
//! entries  the rows of a section, one after the other
//! text     tables of both; JSON is the same in one object per file
//! ```

mod entries;
mod read;
mod summary;
mod text;

use crate::args::StatsFiles;
use crate::failure::{Failure, Result};
use crate::signals::Signals;
use entries::Rows;
use read::{Contents, read};
use serde::{Serialize, Serializer};
use statsfile::{Envelope, Refused, StatsFile};
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::Path;
use summary::{Database, Section, Summary};

/// Prints the files. A bad one does not keep the others from being printed.
pub(crate) fn run(options: &StatsFiles, signals: &Signals) -> Result<()> {
    let mut out = BufWriter::new(Watched {
        out: io::stdout().lock(),
        signals,
    });
    let mut last = None;
    for path in &options.files {
        let looked = look(path, options, &mut out);
        let failure = match looked.and_then(|refused| flush(&mut out).map(|()| refused)) {
            Ok(None) => continue,
            Ok(Some(refused)) => refusal(path, &refused),
            Err(Failed::Read(error)) => {
                Failure::io(&format!("read stats file \"{}\"", path.display()), &error)
            }
            Err(Failed::Write(error)) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(Failed::Write(error)) => {
                return Err(Failure::io("write to standard output", &error));
            }
        };
        // The last one is what the program ends with.
        if let Some(previous) = last.replace(failure) {
            eprintln!("{previous}");
        }
    }
    last.map_or(Ok(()), Err)
}

/// Reading and writing fail for different files.
enum Failed {
    Read(io::Error),
    Write(io::Error),
}

/// Prints a file. Gives the reason if it is refused.
fn look(
    path: &Path,
    options: &StatsFiles,
    out: &mut dyn Write,
) -> std::result::Result<Option<Refused>, Failed> {
    let contents = read(path).map_err(Failed::Read)?;
    let (verified, refused) = match contents.verify() {
        Ok(file) => (Some(file), None),
        Err(refused) => (None, Some(refused)),
    };
    let document = Document {
        summary: Summary::new(path, &contents, refused.as_ref()),
        sections: Sections {
            file: verified.as_ref(),
            with_rows: !options.summary,
        },
        databases: verified.as_ref().map(Database::all),
    };
    let written = if options.json {
        serde_json::to_writer(&mut *out, &document)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        text::write(&document, out)
    };
    written.map(|()| refused).map_err(Failed::Write)
}

fn flush(out: &mut dyn Write) -> std::result::Result<(), Failed> {
    out.flush().map_err(Failed::Write)
}

fn refusal(path: &Path, refused: &Refused) -> Failure {
    let message = format!("stats file \"{}\" is refused", path.display());
    let failure = Failure::new(message).detail(refused.to_string());
    match refused {
        Refused::OtherFormat { .. } => {
            failure.hint("Use the viewer that was installed with the server's extension.")
        }
        _ => failure,
    }
}

impl Contents {
    fn verify(&self) -> std::result::Result<StatsFile<'_>, Refused> {
        match &self.refused {
            Some(refused) => Err(refused.clone()),
            None => StatsFile::verify(&self.bytes),
        }
    }

    /// The header, if it can be believed.
    fn envelope(&self) -> Option<Envelope> {
        Envelope::read(&self.bytes).ok()
    }
}

/// A file as JSON.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    summary: Summary,
    sections: Sections<'a>,
    databases: Option<Vec<Database>>,
}

/// The sections of a file; null if it is refused.
struct Sections<'a> {
    file: Option<&'a StatsFile<'a>>,
    with_rows: bool,
}

/// A section with its entries.
#[derive(Serialize)]
struct SectionWithRows<'a> {
    #[serde(flatten)]
    section: Section,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Rows<'a>>,
}

impl Serialize for Sections<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Some(file) = self.file else {
            return serializer.serialize_none();
        };
        serializer.collect_seq(file.sections().map(|section| SectionWithRows {
            section: Section::new(&section),
            rows: self.with_rows.then_some(Rows(section)),
        }))
    }
}

/// Standard output until a signal comes: a file may have a million rows.
struct Watched<'a> {
    out: StdoutLock<'a>,
    signals: &'a Signals,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.signals.came() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
