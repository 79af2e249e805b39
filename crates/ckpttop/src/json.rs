//! A snapshot as one JSON object in one line.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* writes to what it is given.
//! *Never:* has other names than the SQL views: see [`crate::views`].

use crate::snapshot::Snapshot;
use std::io::{self, Write};

/// Writes the snapshot and a line feed.
pub(crate) fn write(snapshot: &Snapshot, to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *to, snapshot)?;
    writeln!(to)
}
