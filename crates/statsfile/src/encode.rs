//! A header and sections become a file.
//!
//! *Runs in:* any process; the collector calls it.
//! *Reads and writes:* its own buffers, which are kept from file to file.
//! *Never:* allocates per entry, once its buffers have grown to the largest file.
//!
//! Entries come in any order, for PostgreSQL's hash table gives them in any. Each is encoded into a
//! buffer of its own, its place noted; then the places are sorted by key, and the encoded bytes
//! copied behind each other. So what is sorted and copied is a fourth of the structs.

use crate::databases::DatabaseRow;
use crate::format::{
    END, FORM_DATABASES, FORM_NAMED, FORM_OBJECTS, HEADER_BYTES, SECTIONS_MAX, STRUCT_BYTES_MAX,
};
use crate::header::{Envelope, Header};
use crate::kind::{Field, KindLayout};
use crate::name::{Name, cut};
use crate::output::Output;
use crate::words::put_struct;
use std::ops::Range;

/// Why a section was not taken. The file is as it was before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The file has it already.
    #[error("statistics kind {kind} comes twice")]
    Twice {
        /// The kind.
        kind: u32,
    },
    /// The file has as many as it may have.
    #[error("too many sections")]
    TooManySections,
    /// A struct that is empty or too large.
    #[error("entries of statistics kind {kind} have {bytes} bytes")]
    StructLength {
        /// The kind.
        kind: u32,
        /// Its length.
        bytes: usize,
    },
    /// An entry of another length.
    #[error("an entry of statistics kind {kind} has {bytes} bytes instead of {expected}")]
    EntryLength {
        /// The kind.
        kind: u32,
        /// The entry's length.
        bytes: usize,
        /// That of the kind.
        expected: usize,
    },
    /// Two entries for one object.
    #[error("statistics kind {kind} has two entries for object {objid}")]
    SameObject {
        /// The kind.
        kind: u32,
        /// The object.
        objid: u64,
    },
    /// Two entries for one name, or none.
    #[error("statistics kind {kind} has two entries named \"{name}\", or no name")]
    SameName {
        /// The kind.
        kind: u32,
        /// The name.
        name: Name,
    },
    /// A field without a name, outside its struct, or of half an integer.
    #[error("field \"{name}\" of statistics kind {kind} cannot be")]
    Field {
        /// The kind.
        kind: u32,
        /// The field.
        name: String,
    },
}

/// Takes an entry of a section: object id and bytes.
pub type Take<'t> = dyn FnMut(u64, &[u8]) -> Result<(), EncodeError> + 't;

/// Makes files, one after the other.
#[derive(Debug)]
pub struct Encoder {
    header: Header,
    entries: u64,
    raw_bytes: u64,
    /// Form and kind of the sections so far.
    sections: Vec<(u32, u32)>,
    output: Output,
    /// The entries of the section at hand, in the order in which they came.
    staged: Output,
    objects: Vec<(u64, Range<usize>)>,
    names: Vec<(Name, Range<usize>)>,
    rows: Vec<DatabaseRow>,
}

impl Encoder {
    /// Begins a file.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let mut encoder = Self {
            header: *header,
            entries: 0,
            raw_bytes: 0,
            sections: Vec::with_capacity(SECTIONS_MAX),
            output: Output::default(),
            staged: Output::default(),
            objects: Vec::new(),
            names: Vec::new(),
            rows: Vec::new(),
        };
        encoder.begin(header);
        encoder
    }

    /// Begins the next file, in the buffers of the one before.
    pub fn begin(&mut self, header: &Header) {
        self.header = *header;
        self.entries = 0;
        self.raw_bytes = 0;
        self.sections.clear();
        self.output.truncate(0);
        self.output.put(&[0; HEADER_BYTES]);
    }

    /// Adds the entries of one kind by object id, in any order. Sections stay in the order in which
    /// they were added.
    ///
    /// # Errors
    /// The section cannot be: [`EncodeError`].
    pub fn section<'e>(
        &mut self,
        layout: &KindLayout<'_>,
        entries: impl IntoIterator<Item = (u64, &'e [u8])>,
    ) -> Result<(), EncodeError> {
        self.section_from(layout, |take| {
            entries
                .into_iter()
                .try_for_each(|(objid, bytes)| take(objid, bytes))
        })
    }

    /// As [`section`](Self::section), for who has not all entries at once: `give` hands them over
    /// one by one.
    ///
    /// # Errors
    /// The section cannot be: [`EncodeError`].
    pub fn section_from(
        &mut self,
        layout: &KindLayout<'_>,
        give: impl FnOnce(&mut Take<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.check(FORM_OBJECTS, layout)?;
        self.staged.truncate(0);
        self.objects.clear();
        let (staged, objects) = (&mut self.staged, &mut self.objects);
        give(&mut |objid, bytes| {
            objects.push((objid, stage(staged, layout, bytes)?));
            Ok(())
        })?;
        self.objects.sort_unstable_by_key(|(objid, _)| *objid);
        let same = self.objects.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some([(objid, _), ..]) = same {
            return Err(EncodeError::SameObject {
                kind: layout.kind,
                objid: *objid,
            });
        }
        let start = self.open(FORM_OBJECTS, layout, self.objects.len());
        let mut previous = 0;
        for (objid, place) in &self.objects {
            self.output.put_varint(objid - previous);
            self.output.put(&self.staged.as_slice()[place.clone()]);
            previous = *objid;
        }
        self.close(start);
        Ok(())
    }

    /// Adds the entries of one kind by name, in any order: replication slots, whose object ids are
    /// their places in an array and mean nothing after a restart.
    ///
    /// # Errors
    /// The section cannot be: [`EncodeError`].
    pub fn named_section<'e>(
        &mut self,
        layout: &KindLayout<'_>,
        entries: impl IntoIterator<Item = (Name, &'e [u8])>,
    ) -> Result<(), EncodeError> {
        self.check(FORM_NAMED, layout)?;
        self.staged.truncate(0);
        self.names.clear();
        for (name, bytes) in entries {
            let place = stage(&mut self.staged, layout, bytes)?;
            self.names.push((name, place));
        }
        self.names.sort_unstable_by_key(|(name, _)| *name);
        let empty = self.names.first().filter(|(name, _)| name.is_empty());
        let mut pairs = self.names.windows(2);
        let same = pairs.find_map(|pair| (pair[0].0 == pair[1].0).then_some(&pair[0]));
        if let Some((name, _)) = empty.or(same) {
            return Err(EncodeError::SameName {
                kind: layout.kind,
                name: *name,
            });
        }
        let start = self.open(FORM_NAMED, layout, self.names.len());
        for (name, place) in &self.names {
            self.output.put_text(name.as_bytes());
            self.output.put(&self.staged.as_slice()[place.clone()]);
        }
        self.close(start);
        Ok(())
    }

    /// Adds the table of databases, in any order.
    ///
    /// # Errors
    /// There is one already, or a database comes twice.
    pub fn databases(
        &mut self,
        rows: impl IntoIterator<Item = DatabaseRow>,
    ) -> Result<(), EncodeError> {
        self.check_place(FORM_DATABASES, 0)?;
        self.rows.clear();
        self.rows.extend(rows);
        self.rows.sort_unstable_by_key(|row| row.oid);
        if let Some(pair) = self.rows.windows(2).find(|pair| pair[0].oid == pair[1].oid) {
            return Err(EncodeError::SameObject {
                kind: 0,
                objid: u64::from(pair[0].oid),
            });
        }
        let start = self.open_section(FORM_DATABASES, 0);
        self.output.put_varint(self.rows.len() as u64);
        let mut previous = 0;
        for row in &self.rows {
            self.output.put_varint(u64::from(row.oid - previous));
            row.put(&mut self.output);
            previous = row.oid;
        }
        self.close(start);
        Ok(())
    }

    /// Sets the header's material signature, for who knows it only when all entries are there.
    pub fn set_material_signature(&mut self, signature: u64) {
        self.header.material_signature = signature;
    }

    /// Ends the file, and gives all of its bytes.
    pub fn finish(&mut self) -> &[u8] {
        self.output.put_u32(END);
        let payload = &self.output.as_slice()[HEADER_BYTES..];
        let envelope = Envelope {
            header: self.header,
            header_bytes: HEADER_BYTES as u32,
            sections: self.sections.len() as u32,
            entries: self.entries,
            raw_bytes: self.raw_bytes,
            payload_bytes: payload.len() as u64,
            payload_crc: crc32c::crc32c(payload),
        };
        self.output.patch(0, &envelope.to_bytes());
        self.output.as_slice()
    }

    /// Whether there is room for a section, and it is the first of its kind.
    fn check_place(&self, form: u32, kind: u32) -> Result<(), EncodeError> {
        if self.sections.contains(&(form, kind)) {
            return Err(EncodeError::Twice { kind });
        }
        if self.sections.len() >= SECTIONS_MAX {
            return Err(EncodeError::TooManySections);
        }
        Ok(())
    }

    fn check(&self, form: u32, layout: &KindLayout<'_>) -> Result<(), EncodeError> {
        self.check_place(form, layout.kind)?;
        if !(1..=STRUCT_BYTES_MAX).contains(&layout.struct_len) {
            return Err(EncodeError::StructLength {
                kind: layout.kind,
                bytes: layout.struct_len,
            });
        }
        match layout
            .fields
            .iter()
            .find(|field| !field.fits(layout.struct_len))
        {
            None => Ok(()),
            Some(field) => Err(EncodeError::Field {
                kind: layout.kind,
                name: field.name.to_owned(),
            }),
        }
    }

    /// Begins a section. Gives the place where its contents begin.
    fn open_section(&mut self, form: u32, kind: u32) -> usize {
        self.sections.push((form, kind));
        self.output.put_u32(form);
        self.output.put_u32(kind);
        self.output.put_u64(0);
        self.output.len()
    }

    /// Begins a section of entries.
    fn open(&mut self, form: u32, layout: &KindLayout<'_>, count: usize) -> usize {
        let start = self.open_section(form, layout.kind);
        let output = &mut self.output;
        output.put_varint(layout.struct_len as u64);
        output.put_varint(count as u64);
        output.put_text(cut(layout.name).as_bytes());
        output.put_varint(layout.fields.len() as u64);
        for field in layout.fields {
            put_field(output, field);
        }
        self.entries += count as u64;
        self.raw_bytes += (count * layout.struct_len) as u64;
        start
    }

    /// Ends a section: now its length is known.
    fn close(&mut self, start: usize) {
        let length = (self.output.len() - start) as u64;
        self.output.patch(start - 8, &length.to_le_bytes());
    }
}

fn put_field(output: &mut Output, field: &Field<'_>) {
    output.put_text(cut(field.name).as_bytes());
    output.put(&[field.ty.code()]);
    output.put_varint(u64::from(field.offset));
    output.put_varint(u64::from(field.bytes));
}

/// Encodes an entry for later. Gives its place.
#[inline]
fn stage(
    staged: &mut Output,
    layout: &KindLayout<'_>,
    bytes: &[u8],
) -> Result<Range<usize>, EncodeError> {
    if bytes.len() != layout.struct_len {
        return Err(EncodeError::EntryLength {
            kind: layout.kind,
            bytes: bytes.len(),
            expected: layout.struct_len,
        });
    }
    let start = staged.len();
    put_struct(staged, bytes);
    Ok(start..staged.len())
}
