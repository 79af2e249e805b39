//! Finds the segments of the servers on this machine, and chooses one.
//!
//! *Runs in:* the viewer, once at its start.
//! *Reads and writes:* lists a directory; reads the headers of the segments in it.
//! *Never:* guesses: with several servers the user chooses.

use crate::failure::{Failure, Result};
use statseg::{AttachError, SegmentState, attach};
use std::path::{Path, PathBuf};

/// Where servers put their segments unless told otherwise.
pub(crate) const DIRECTORY: &str = "/dev/shm";
const PREFIX: &str = "ckptflush.";

/// A running server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) port: u64,
    pub(crate) system_identifier: u64,
    pub(crate) server_version_num: u64,
    pub(crate) postmaster_pid: u64,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Running servers, by port.
    pub(crate) running: Vec<Found>,
    /// Segments that no server uses any more.
    ended: usize,
    /// The first that could not be attached.
    refused: Option<AttachError>,
}

/// Looks through a directory; only at the segment of this port, if one is given.
pub(crate) fn look(directory: &Path, port: Option<u16>) -> Result<Findings> {
    let failed = |error| {
        Failure::io(
            &format!("open directory \"{}\"", directory.display()),
            &error,
        )
    };
    let mut findings = Findings::default();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if is_segment(&entry.file_name().to_string_lossy(), port) {
            findings.add(entry.path());
        }
    }
    findings
        .running
        .sort_by(|a, b| (a.port, &a.path).cmp(&(b.port, &b.path)));
    Ok(findings)
}

/// Whether this is the name of a segment: ckptflush.PORT.SYSTEM_IDENTIFIER.
fn is_segment(name: &str, port: Option<u16>) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|n| n.split_once('.'));
    let Some((found, identifier)) = parts else {
        return false;
    };
    let found: Option<u16> = found.parse().ok();
    identifier.parse::<u64>().is_ok() && found.is_some_and(|found| port.unwrap_or(found) == found)
}

impl Findings {
    fn add(&mut self, path: PathBuf) {
        let reader = match attach(&path) {
            Ok(reader) => reader,
            // Gone since the directory was read.
            Err(AttachError::NotFound { .. }) => return,
            Err(error) => {
                self.refused.get_or_insert(error);
                return;
            }
        };
        let view = reader.view();
        let live = view.state() == Some(SegmentState::Live);
        if !live || !reader.server_is_alive().unwrap_or(false) {
            self.ended += 1;
            return;
        }
        self.running.push(Found {
            port: view.port(),
            system_identifier: view.system_identifier(),
            server_version_num: view.pg_version_num(),
            postmaster_pid: view.postmaster_pid(),
            path,
        });
    }

    /// Why there is no running server here.
    pub(crate) fn nothing(self, directory: &Path, port: Option<u16>) -> Failure {
        if let Some(error) = self.refused {
            return error.into();
        }
        let place = directory.display();
        let of = port.map_or_else(String::new, |port| format!(" of a server on port {port}"));
        let failure = Failure::new(format!("no stats segment{of} found in \"{place}\""));
        let failure = match self.ended {
            0 => failure,
            n => failure.detail(format!(
                "There are {n} segments of servers that are not running."
            )),
        };
        failure.hint(
            "Start a server with \"ckptflush\" in \"shared_preload_libraries\", or name its \
             segment with --segment or --directory (see \"ckptflush.segment_directory\"), or \
             connect with --dsn.",
        )
    }

    /// Why one cannot be chosen.
    pub(crate) fn several(&self) -> Failure {
        let ports: Vec<_> = self.running.iter().map(|f| f.port.to_string()).collect();
        Failure::new("there are several running servers")
            .detail(format!("Their ports are {}.", ports.join(", ")))
            .hint("Choose one with --port, or with --segment.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_segments() {
        assert!(is_segment("ckptflush.5432.7710545583435438462", None));
        assert!(is_segment("ckptflush.5432.7710545583435438462", Some(5432)));
        assert!(!is_segment("ckptflush.5432.771", Some(5433)));
        assert!(!is_segment("ckptflush.5432", None));
        assert!(!is_segment("ckptflush.5432.771.new", None));
        assert!(!is_segment("PostgreSQL.1271062108", None));
    }
}
