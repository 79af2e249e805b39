//! The bytes of a file.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* reads one file.
//! *Never:* reads on when the header says that the file is bad, or of another length: what is no
//! stats file may be of any size.

use statsfile::{Envelope, HEADER_BYTES_MAX, Refused};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What was read.
pub(super) struct Contents {
    /// Bytes of the file.
    pub(super) size: u64,
    /// The bytes; the first ones only, if the file is refused by its header.
    pub(super) bytes: Vec<u8>,
    /// Why it was not read to its end.
    pub(super) refused: Option<Refused>,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> io::Result<Contents> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    let head = HEADER_BYTES_MAX as u64;
    file.by_ref().take(head).read_to_end(&mut bytes)?;
    let checked = Envelope::read(&bytes).and_then(|envelope| {
        envelope.check_length(size)?;
        Ok(envelope.file_bytes())
    });
    let refused = match checked {
        Ok(length) => {
            let rest = length.saturating_sub(head);
            file.take(rest).read_to_end(&mut bytes)?;
            None
        }
        Err(refused) => Some(refused),
    };
    Ok(Contents {
        size,
        bytes,
        refused,
    })
}
