//! The numbers of the format, version 1.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing.
//! *Never:* changes a number within a version. docs/stats-files.md repeats them, and a test holds
//! the two together.

/// The first bytes of every stats file.
pub(crate) const MAGIC: [u8; 8] = *b"CKPTCKS\n";
/// The version of the format.
pub const FORMAT_VERSION: u32 = 1;
/// Written in the byte order of the machine, as the words of the structs were.
pub(crate) const BYTE_ORDER: u32 = 0x0102_0304;

/// Bytes of the header as this version writes it.
pub const HEADER_BYTES: usize = 208;
/// Bytes of the longest header of this format version: reading so many of a file is enough for
/// [`Envelope::read`](crate::Envelope::read).
pub const HEADER_BYTES_MAX: usize = 4096;

/// Offsets in the header.
pub(crate) mod at {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const FORMAT_VERSION: usize = 8;
    pub(crate) const HEADER_BYTES: usize = 12;
    pub(crate) const BYTE_ORDER: usize = 16;
    pub(crate) const PG_MAJOR: usize = 20;
    pub(crate) const FORMAT_ID: usize = 24;
    pub(crate) const CATALOG_VERSION: usize = 28;
    pub(crate) const SYSTEM_IDENTIFIER: usize = 32;
    pub(crate) const CONTROL_DEVICE: usize = 40;
    pub(crate) const CONTROL_INODE: usize = 48;
    pub(crate) const FLUSH_LSN: usize = 56;
    pub(crate) const TIMELINE: usize = 64;
    pub(crate) const SUBJECT: usize = 68;
    pub(crate) const DATABASE: usize = 72;
    pub(crate) const SECTIONS: usize = 76;
    pub(crate) const WRITTEN_AT: usize = 80;
    pub(crate) const GENERATION: usize = 88;
    pub(crate) const SIGNATURE: usize = 96;
    pub(crate) const MATERIAL_SIGNATURE: usize = 104;
    pub(crate) const ENTRIES: usize = 112;
    pub(crate) const RAW_BYTES: usize = 120;
    pub(crate) const PAYLOAD_BYTES: usize = 128;
    pub(crate) const DATABASE_NAME: usize = 136;
    pub(crate) const PAYLOAD_CRC: usize = 200;
    /// In a header of another length: its last four bytes.
    pub(crate) const HEADER_CRC: usize = 204;
}

/// Codes of [`Subject`](crate::Subject).
pub(crate) const SUBJECT_DATABASE: u32 = 1;
pub(crate) const SUBJECT_COMMON: u32 = 2;

/// Forms of a section.
pub(crate) const FORM_OBJECTS: u32 = 1;
pub(crate) const FORM_NAMED: u32 = 2;
pub(crate) const FORM_DATABASES: u32 = 3;
/// Stands in place of a further section.
pub(crate) const END: u32 = u32::from_le_bytes(*b"END\n");
/// Form, kind and length of a section.
pub(crate) const SECTION_HEADER_BYTES: usize = 16;

/// Bytes of a name at most: of a database, a slot, a kind, a field (NAMEDATALEN of every build we
/// know).
pub const NAME_BYTES: usize = 64;
/// Sections of a file at most. PostgreSQL 18 has 32 kinds.
pub const SECTIONS_MAX: usize = 128;
/// Bytes of one entry at most: `PgStat_IO` of PostgreSQL 18 has 52 kB.
pub const STRUCT_BYTES_MAX: usize = 1 << 20;
