//! Every reason not to believe a file, or not to load it.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing.
//! *Never:* leaves a reason out: docs/stats-files.md lists them all, and a test holds the two
//! together.

use crate::subject::Subject;

/// Why a file is refused, as a sentence for the administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nothing is in it.
    #[error("The file is empty.")]
    Empty,
    /// It does not begin as a stats file does.
    #[error("The file is not a stats file.")]
    NotAStatsFile,
    /// Another version of the format.
    #[error("The file has format version {found}, and this program reads version {known}.")]
    OtherFormat {
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The length of its header cannot be.
    #[error("The length of the header is given as {bytes} bytes, which cannot be.")]
    HeaderLength {
        /// The length given.
        bytes: u32,
    },
    /// Its end is missing.
    #[error("The file has {bytes} bytes, and should have {expected}: its end is missing.")]
    Truncated {
        /// Bytes there are.
        bytes: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// Something follows its end.
    #[error("The file has {bytes} bytes, and should have {expected}: something follows its end.")]
    TooLong {
        /// Bytes there are.
        bytes: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// The header is damaged.
    #[error("The header is damaged: its checksum is {found:08X}, and should be {expected:08X}.")]
    HeaderChecksum {
        /// What its bytes give.
        found: u32,
        /// What it says.
        expected: u32,
    },
    /// What follows the header is damaged.
    #[error(
        "The contents are damaged: their checksum is {found:08X}, and should be {expected:08X}."
    )]
    PayloadChecksum {
        /// What the bytes give.
        found: u32,
        /// What the header says.
        expected: u32,
    },
    /// Undamaged, and yet not as the format wants it.
    #[error("The file contradicts its format at byte {at}: {what}.")]
    Malformed {
        /// Offset in the file.
        at: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// Written by a machine of another kind.
    #[error("The file was written by a machine of another byte order.")]
    OtherByteOrder,
    /// Holds other statistics than its name says.
    #[error("The file holds the statistics of {found}, not of {expected}.")]
    OtherSubject {
        /// Those it holds.
        found: Subject,
        /// Those its name promises.
        expected: Subject,
    },
    /// Written by another major version.
    #[error("The file was written by PostgreSQL {found}, and this is PostgreSQL {expected}.")]
    OtherMajor {
        /// Its version.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Written by a server whose statistics have another layout.
    #[error(
        "The file was written by a server whose statistics have format {found:08X}, and this \
         server has {expected:08X}."
    )]
    OtherStatsFormat {
        /// Its `PGSTAT_FILE_FORMAT_ID`.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Written by a server with another catalog.
    #[error(
        "The file was written by a server with catalog version {found}, and this server has \
         {expected}."
    )]
    OtherCatalog {
        /// Its catalog version.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Of another cluster.
    #[error("The file is of the cluster with system identifier {found}, and this is {expected}.")]
    OtherSystem {
        /// Its system identifier.
        found: u64,
        /// Ours.
        expected: u64,
    },
    /// Of another copy of the data directory.
    #[error("The file was written in another data directory, of which this one is a copy.")]
    OtherDirectory,
    /// Of a timeline that is none of ours.
    #[error("The file is of timeline {timeline}, which is not in this server's history.")]
    OtherHistory {
        /// Its timeline.
        timeline: u32,
    },
    /// Knows what has not happened here.
    #[error(
        "The file was written at {lsn} of timeline {timeline}, which for this server ended at \
         {end}.", lsn = Lsn(*flush_lsn), end = Lsn(*end)
    )]
    AfterTheEnd {
        /// Its timeline.
        timeline: u32,
        /// Its place in the WAL.
        flush_lsn: u64,
        /// Where that timeline ended, or the end of the WAL.
        end: u64,
    },
}

impl Refused {
    /// Whether the file itself is bad. Otherwise it is only not this server's, or not of this
    /// place.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Empty
                | Self::NotAStatsFile
                | Self::HeaderLength { .. }
                | Self::Truncated { .. }
                | Self::TooLong { .. }
                | Self::HeaderChecksum { .. }
                | Self::PayloadChecksum { .. }
                | Self::Malformed { .. }
        )
    }
}

/// A place in the WAL, as PostgreSQL prints it.
struct Lsn(u64);

impl std::fmt::Display for Lsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}
