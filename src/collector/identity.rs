//! Who this server is, and where in the WAL: what files are marked with, and held against.
//!
//! *Runs in:* the collector. *Reads and writes:* reads the server's state.
//! *Never:* looks at a clock.

use std::io;
use std::os::unix::fs::MetadataExt;

use statsfile::{Header, Identity, Refused, Stretch};

use crate::pgshim::stats::catalog;
use crate::server::{self, Position};

/// Updated in place: a copy of a data directory has another one.
const CONTROL_FILE: &str = "global/pg_control";

/// This server, in this data directory.
pub(super) fn own() -> io::Result<Identity> {
    let control = std::fs::metadata(CONTROL_FILE)?;
    Ok(Identity {
        pg_major: server::major(),
        format_id: server::stats_format(),
        catalog_version: server::catalog_version(),
        system_identifier: server::system_identifier(),
        control_device: control.dev(),
        control_inode: control.ino(),
    })
}

/// Whether this server has been where a file was written.
pub(super) enum Place {
    Here,
    /// A standby replays again what it had, and may yet come there.
    NotYet(Refused),
    Elsewhere(Refused),
}

/// The server's history up to now.
pub(super) struct History {
    position: Position,
    stretches: Vec<Stretch>,
    in_recovery: bool,
}

impl History {
    pub(super) fn now() -> Self {
        let in_recovery = server::in_recovery();
        let position = server::position();
        let stretches = catalog::timelines(position.timeline)
            .iter()
            .map(|one| Stretch {
                timeline: one.timeline,
                end: if one.timeline == position.timeline {
                    position.lsn
                } else {
                    one.end
                },
            })
            .collect();
        Self {
            position,
            stretches,
            in_recovery,
        }
    }

    pub(super) fn place(&self, file: &Header) -> Place {
        let Err(refused) = file.check_history(&self.stretches) else {
            return Place::Here;
        };
        if self.in_recovery && file.timeline >= self.position.timeline {
            Place::NotYet(refused)
        } else {
            Place::Elsewhere(refused)
        }
    }
}
