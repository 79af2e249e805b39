//! What is told of a file beside its entries.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* gives an identifier or a signature as a number: it may have more digits than a JSON
//! number can be trusted with.

use super::read::Contents;
use crate::value::{At, Lsn};
use serde::Serialize;
use statsfile::{Envelope, FORMAT_VERSION, Name, Refused, StatsFile, Subject};
use std::path::Path;

/// 2000-01-01 in the microseconds of [`At`].
const EPOCH: i64 = 946_684_800_000_000;

/// A moment, from a `TimestampTz`.
pub(super) fn moment(timestamp: i64) -> At {
    At(timestamp.saturating_add(EPOCH))
}

/// A name, if there is one.
fn text(name: Name) -> Option<String> {
    (!name.is_empty()).then(|| name.to_string())
}

/// The file, and why it is refused.
#[derive(Serialize)]
pub(super) struct Summary {
    pub(super) file: String,
    pub(super) size_bytes: u64,
    pub(super) refused_reason: Option<String>,
    /// Unknown if its checksum does not hold.
    pub(super) header: Option<Header>,
}

/// The header.
#[derive(Serialize)]
pub(super) struct Header {
    format_version: u32,
    subject: &'static str,
    datid: Option<u32>,
    datname: Option<String>,
    pg_major: u32,
    format_id: String,
    catalog_version: u32,
    system_identifier: String,
    control_device: String,
    control_inode: String,
    timeline: u32,
    flush_lsn: Lsn,
    written_at: At,
    generation: u64,
    signature: String,
    material_signature: String,
    entries: u64,
    raw_bytes: u64,
}

impl Summary {
    pub(super) fn new(path: &Path, contents: &Contents, refused: Option<&Refused>) -> Self {
        Self {
            file: path.display().to_string(),
            size_bytes: contents.size,
            refused_reason: refused.map(ToString::to_string),
            header: contents.envelope().as_ref().map(Header::new),
        }
    }
}

impl Header {
    fn new(envelope: &Envelope) -> Self {
        let header = &envelope.header;
        let identity = &header.identity;
        let (subject, datid) = match header.subject {
            Subject::Database(0) => ("shared", Some(0)),
            Subject::Database(oid) => ("database", Some(oid)),
            Subject::Common => ("cluster", None),
        };
        Self {
            format_version: FORMAT_VERSION,
            subject,
            datid,
            datname: text(header.database_name),
            pg_major: identity.pg_major,
            format_id: format!("{:08X}", identity.format_id),
            catalog_version: identity.catalog_version,
            system_identifier: identity.system_identifier.to_string(),
            control_device: identity.control_device.to_string(),
            control_inode: identity.control_inode.to_string(),
            timeline: header.timeline,
            flush_lsn: Lsn(header.flush_lsn),
            written_at: moment(header.written_at),
            generation: header.generation,
            signature: format!("{:016X}", header.signature),
            material_signature: format!("{:016X}", header.material_signature),
            entries: envelope.entries,
            raw_bytes: envelope.raw_bytes,
        }
    }
}

/// A section.
#[derive(Serialize)]
pub(super) struct Section {
    kind: u32,
    name: String,
    entries: u64,
    entry_bytes: u64,
    fields: usize,
    /// In the file.
    size_bytes: u64,
}

impl Section {
    pub(super) fn new(section: &statsfile::Section<'_>) -> Self {
        Self {
            kind: section.kind,
            name: section.name.to_owned(),
            entries: section.count,
            entry_bytes: section.struct_len as u64,
            fields: section.fields().count(),
            size_bytes: section.encoded_bytes,
        }
    }
}

/// A row of the table of databases.
#[derive(Serialize)]
pub(super) struct Database {
    datid: u32,
    datname: Option<String>,
    generation: u64,
    flush_lsn: Lsn,
    signature: String,
    material_signature: String,
}

impl Database {
    /// All rows of a file.
    pub(super) fn all(file: &StatsFile<'_>) -> Vec<Self> {
        let rows = file.databases().map(|row| Self {
            datid: row.oid,
            datname: text(row.name),
            generation: row.generation,
            flush_lsn: Lsn(row.flush_lsn),
            signature: format!("{:016X}", row.signature),
            material_signature: format!("{:016X}", row.material_signature),
        });
        rows.collect()
    }
}
