//! The header: whose statistics a file holds, which server wrote them, and when by its WAL.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its arguments.
//! *Never:* believes a number before the checksum of the header holds; only the magic, the version
//! and the header's length are looked at earlier, to find that checksum.

use crate::format::{
    BYTE_ORDER, FORMAT_VERSION, HEADER_BYTES, HEADER_BYTES_MAX, MAGIC, NAME_BYTES, SECTIONS_MAX, at,
};
use crate::name::Name;
use crate::refused::Refused;
use crate::subject::Subject;

/// Which server, in which data directory. A file of another one is not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    /// Major version of PostgreSQL.
    pub pg_major: u32,
    /// `PGSTAT_FILE_FORMAT_ID`: changes with the structs of the statistics.
    pub format_id: u32,
    /// Catalog version.
    pub catalog_version: u32,
    /// System identifier of the cluster.
    pub system_identifier: u64,
    /// `st_dev` of `global/pg_control`. Only to be shown: a file system may have another number
    /// after each mount, as with btrfs, NFS, device mapper, or a volume on another machine.
    pub control_device: u64,
    /// `st_ino` of `global/pg_control`. PostgreSQL writes that file in place, so that it keeps its
    /// inode, and a copy of the data directory has another one.
    pub control_inode: u64,
}

impl Identity {
    /// Refuses what this server has not written. `self` is the file's identity.
    ///
    /// # Errors
    /// [`Refused::OtherSystem`], [`Refused::OtherMajor`], [`Refused::OtherCatalog`],
    /// [`Refused::OtherStatsFormat`], [`Refused::OtherDirectory`].
    pub fn check(&self, server: &Self) -> Result<(), Refused> {
        if self.system_identifier != server.system_identifier {
            return Err(Refused::OtherSystem {
                found: self.system_identifier,
                expected: server.system_identifier,
            });
        }
        if self.pg_major != server.pg_major {
            return Err(Refused::OtherMajor {
                found: self.pg_major,
                expected: server.pg_major,
            });
        }
        if self.catalog_version != server.catalog_version {
            return Err(Refused::OtherCatalog {
                found: self.catalog_version,
                expected: server.catalog_version,
            });
        }
        if self.format_id != server.format_id {
            return Err(Refused::OtherStatsFormat {
                found: self.format_id,
                expected: server.format_id,
            });
        }
        if self.control_inode != server.control_inode {
            return Err(Refused::OtherDirectory);
        }
        Ok(())
    }
}

/// What the writer says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The server.
    pub identity: Identity,
    /// Timeline on which it was written.
    pub timeline: u32,
    /// End of the flushed WAL when it was written.
    pub flush_lsn: u64,
    /// Whose statistics follow.
    pub subject: Subject,
    /// Name of the database, empty if there is none.
    pub database_name: Name,
    /// When it was written: microseconds since 2000-01-01 00:00 UTC. To be shown, not to be
    /// compared: clocks go backwards.
    pub written_at: i64,
    /// Grows with every write of this file.
    pub generation: u64,
    /// What the writer goes by to see a change of any kind.
    pub signature: u64,
    /// What the writer goes by to see a change that matters.
    pub material_signature: u64,
}

impl Header {
    /// Refuses the file if it holds other statistics than its name promises.
    ///
    /// # Errors
    /// [`Refused::OtherSubject`].
    pub fn check_subject(&self, expected: Subject) -> Result<(), Refused> {
        if self.subject == expected {
            Ok(())
        } else {
            Err(Refused::OtherSubject {
                found: self.subject,
                expected,
            })
        }
    }
}

/// A header with what the encoder added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What the writer says.
    pub header: Header,
    /// Bytes of the header.
    pub header_bytes: u32,
    /// Number of sections.
    pub sections: u32,
    /// Number of entries in all sections.
    pub entries: u64,
    /// Bytes of their structs.
    pub raw_bytes: u64,
    /// Bytes of all sections, with their end marker.
    pub payload_bytes: u64,
    /// CRC-32C of these bytes.
    pub payload_crc: u32,
}

impl Envelope {
    /// Reads the header of a file. The first [`HEADER_BYTES_MAX`] bytes of it are enough, or all if
    /// there are fewer.
    ///
    /// # Errors
    /// Whatever is wrong with the header. What follows it is not looked at.
    pub fn read(bytes: &[u8]) -> Result<Self, Refused> {
        let header = checked(bytes)?;
        if native_u32(header, at::BYTE_ORDER) != BYTE_ORDER {
            return Err(Refused::OtherByteOrder);
        }
        let malformed = |at: usize, what| Refused::Malformed {
            at: at as u64,
            what,
        };
        let subject =
            Subject::from_codes(u32_at(header, at::SUBJECT), u32_at(header, at::DATABASE))
                .ok_or_else(|| {
                    malformed(at::SUBJECT, "it does not say whose statistics it holds")
                })?;
        let database_name = Name::from_padded(array::<NAME_BYTES>(header, at::DATABASE_NAME))
            .ok_or_else(|| malformed(at::DATABASE_NAME, "something follows the database's name"))?;
        let sections = u32_at(header, at::SECTIONS);
        if usize::try_from(sections).is_ok_and(|sections| sections > SECTIONS_MAX) {
            return Err(malformed(at::SECTIONS, "it has too many sections"));
        }
        Ok(Self {
            header: Header {
                identity: Identity {
                    pg_major: u32_at(header, at::PG_MAJOR),
                    format_id: u32_at(header, at::FORMAT_ID),
                    catalog_version: u32_at(header, at::CATALOG_VERSION),
                    system_identifier: u64_at(header, at::SYSTEM_IDENTIFIER),
                    control_device: u64_at(header, at::CONTROL_DEVICE),
                    control_inode: u64_at(header, at::CONTROL_INODE),
                },
                timeline: u32_at(header, at::TIMELINE),
                flush_lsn: u64_at(header, at::FLUSH_LSN),
                subject,
                database_name,
                written_at: i64::from_le_bytes(array(header, at::WRITTEN_AT)),
                generation: u64_at(header, at::GENERATION),
                signature: u64_at(header, at::SIGNATURE),
                material_signature: u64_at(header, at::MATERIAL_SIGNATURE),
            },
            header_bytes: u32_at(header, at::HEADER_BYTES),
            sections,
            entries: u64_at(header, at::ENTRIES),
            raw_bytes: u64_at(header, at::RAW_BYTES),
            payload_bytes: u64_at(header, at::PAYLOAD_BYTES),
            payload_crc: u32_at(header, at::PAYLOAD_CRC),
        })
    }

    /// Bytes of the whole file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.header_bytes).saturating_add(self.payload_bytes)
    }

    /// Refuses a file of another length than the header says, before anybody reads all of it.
    ///
    /// # Errors
    /// [`Refused::Truncated`], [`Refused::TooLong`].
    pub fn check_length(&self, bytes: u64) -> Result<(), Refused> {
        let expected = self.file_bytes();
        match bytes.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => Err(Refused::Truncated { bytes, expected }),
            std::cmp::Ordering::Greater => Err(Refused::TooLong { bytes, expected }),
        }
    }

    /// The header as it stands in the file.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        let header = &self.header;
        let (subject, database) = header.subject.to_codes();
        put(at::MAGIC, &MAGIC);
        put(at::FORMAT_VERSION, &FORMAT_VERSION.to_le_bytes());
        put(at::HEADER_BYTES, &(HEADER_BYTES as u32).to_le_bytes());
        put(at::BYTE_ORDER, &BYTE_ORDER.to_ne_bytes());
        put(at::PG_MAJOR, &header.identity.pg_major.to_le_bytes());
        put(at::FORMAT_ID, &header.identity.format_id.to_le_bytes());
        put(
            at::CATALOG_VERSION,
            &header.identity.catalog_version.to_le_bytes(),
        );
        put(
            at::SYSTEM_IDENTIFIER,
            &header.identity.system_identifier.to_le_bytes(),
        );
        put(
            at::CONTROL_DEVICE,
            &header.identity.control_device.to_le_bytes(),
        );
        put(
            at::CONTROL_INODE,
            &header.identity.control_inode.to_le_bytes(),
        );
        put(at::FLUSH_LSN, &header.flush_lsn.to_le_bytes());
        put(at::TIMELINE, &header.timeline.to_le_bytes());
        put(at::SUBJECT, &subject.to_le_bytes());
        put(at::DATABASE, &database.to_le_bytes());
        put(at::SECTIONS, &self.sections.to_le_bytes());
        put(at::WRITTEN_AT, &header.written_at.to_le_bytes());
        put(at::GENERATION, &header.generation.to_le_bytes());
        put(at::SIGNATURE, &header.signature.to_le_bytes());
        put(
            at::MATERIAL_SIGNATURE,
            &header.material_signature.to_le_bytes(),
        );
        put(at::ENTRIES, &self.entries.to_le_bytes());
        put(at::RAW_BYTES, &self.raw_bytes.to_le_bytes());
        put(at::PAYLOAD_BYTES, &self.payload_bytes.to_le_bytes());
        put(at::DATABASE_NAME, header.database_name.padded());
        put(at::PAYLOAD_CRC, &self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..at::HEADER_CRC]);
        bytes[at::HEADER_CRC..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// The bytes of the header, its checksum found right.
fn checked(bytes: &[u8]) -> Result<&[u8], Refused> {
    if bytes.is_empty() {
        return Err(Refused::Empty);
    }
    let shown = bytes.len().min(MAGIC.len());
    if bytes[..shown] != MAGIC[..shown] {
        return Err(Refused::NotAStatsFile);
    }
    let truncated = |expected: usize| Refused::Truncated {
        bytes: bytes.len() as u64,
        expected: expected as u64,
    };
    if bytes.len() < at::BYTE_ORDER {
        return Err(truncated(HEADER_BYTES));
    }
    let version = u32_at(bytes, at::FORMAT_VERSION);
    if version != FORMAT_VERSION {
        return Err(Refused::OtherFormat {
            found: version,
            known: FORMAT_VERSION,
        });
    }
    let claimed = u32_at(bytes, at::HEADER_BYTES);
    let length = usize::try_from(claimed)
        .ok()
        .filter(|length| (HEADER_BYTES..=HEADER_BYTES_MAX).contains(length))
        .ok_or(Refused::HeaderLength { bytes: claimed })?;
    let header = bytes.get(..length).ok_or_else(|| truncated(length))?;
    let expected = u32_at(header, length - 4);
    let found = crc32c::crc32c(&header[..length - 4]);
    if found != expected {
        return Err(Refused::HeaderChecksum { found, expected });
    }
    Ok(header)
}

/// The bytes at an offset of the header, which has at least [`HEADER_BYTES`].
fn array<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    let field = header.get(at..).and_then(<[u8]>::first_chunk);
    field.copied().unwrap_or([0; N])
}

fn u32_at(header: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(header, at))
}

fn native_u32(header: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(array(header, at))
}

fn u64_at(header: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(header, at))
}
