//! The stats files of ckptflush: what the cumulative statistics of one database were when they were
//! last written, in a form that is verified as a whole before a byte of it is believed.
//!
//! *Runs in:* any process; the collector encodes and decodes, the viewer decodes.
//! *Reads and writes:* its arguments only: a file arrives and leaves as bytes.
//! *Never:* a file, a clock, a lock, or a PostgreSQL header. Whatever the bytes are, it does not
//! panic, and allocates no more than one entry's size for them.
//!
//! docs/stats-files.md has the format to the byte. The rooms:
//!
//! - [`encode`]: a header and sections become a file.
//! - [`file`](mod@file): a file is verified, and then read section by section.
//! - [`header`]: whose statistics they are, from which server, written when; and whether that
//!   server is the one that asks.
//! - [`kind`]: how the structs of one kind of statistics look, by the names of their fields.
//! - [`translate`]: entries of one major version as another one has them.
//! - [`refused`]: every reason not to believe a file.
//!
//! Forward rule: a file of another format version is refused. Within a version a section of an
//! unknown form is skipped, a field of an unknown type is opaque, and a header may be longer.

#![forbid(unsafe_code)]

mod cursor;
pub mod databases;
pub mod encode;
pub mod file;
mod format;
pub mod header;
mod history;
pub mod kind;
mod name;
mod output;
pub mod refused;
mod section;
mod subject;
pub mod translate;
mod varint;
mod words;

pub use databases::DatabaseRow;
pub use encode::{EncodeError, Encoder};
pub use file::StatsFile;
pub use format::{
    FORMAT_VERSION, HEADER_BYTES, HEADER_BYTES_MAX, NAME_BYTES, SECTIONS_MAX, STRUCT_BYTES_MAX,
};
pub use header::{Envelope, Header, Identity};
pub use history::Stretch;
pub use kind::{Field, FieldType, KindLayout};
pub use name::Name;
pub use refused::Refused;
pub use section::{Entries, Entry, Fields, Key, Section};
pub use subject::{Subject, file_name, parse_file_name};
pub use translate::Translation;
