//! A section of entries: the statistics of one kind.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* the bytes of a file, and a buffer of the size of one struct.
//! *Never:* allocates for a number that a file claims: entries are read one after the other.

use crate::cursor::{Cursor, Parsed};
use crate::format::{FORM_NAMED, STRUCT_BYTES_MAX};
use crate::kind::{Field, FieldType};
use crate::words::{check_struct, take_struct};

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'a> {
    /// An object of the database by its OID, or whatever the kind counts by; 0 in kinds that have
    /// one entry.
    Object(u64),
    /// A replication slot.
    Name(&'a [u8]),
}

impl Key<'_> {
    /// The object, if it is one.
    #[must_use]
    pub fn object(&self) -> Option<u64> {
        match self {
            Self::Object(objid) => Some(*objid),
            Self::Name(_) => None,
        }
    }
}

/// An entry, until the next one is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'f, 'b> {
    /// What it is about.
    pub key: Key<'f>,
    /// Its struct.
    pub bytes: &'b [u8],
}

/// The statistics of one kind.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Number of the kind in the server that wrote the file.
    pub kind: u32,
    /// Name of the kind, the same in every major.
    pub name: &'a str,
    /// Whether entries go by name, not by object id.
    pub is_named: bool,
    /// Bytes of a struct.
    pub struct_len: usize,
    /// Number of entries.
    pub count: u64,
    /// Bytes of the section in the file.
    pub encoded_bytes: u64,
    field_count: u64,
    /// At the first field.
    fields: Cursor<'a>,
    /// At the first entry.
    entries: Cursor<'a>,
}

impl<'a> Section<'a> {
    /// Reads what precedes the entries. The cursor is left at the first one, or where the error is.
    pub(crate) fn parse(form: u32, kind: u32, cursor: &mut Cursor<'a>) -> Parsed<Self> {
        let encoded_bytes = cursor.rest().len() as u64;
        let struct_len = cursor.size()?;
        if !(1..=STRUCT_BYTES_MAX).contains(&struct_len) {
            return Err("the length of a struct cannot be");
        }
        let count = cursor.varint()?;
        let name = cursor.text()?;
        let field_count = cursor.varint()?;
        let fields = cursor.clone();
        for _ in 0..field_count {
            if !take_field(cursor)?.fits(struct_len) {
                return Err("a field has no name, or is not in its struct");
            }
        }
        Ok(Self {
            kind,
            name,
            is_named: form == FORM_NAMED,
            struct_len,
            count,
            encoded_bytes,
            field_count,
            fields,
            entries: cursor.clone(),
        })
    }

    /// Reads all entries; the cursor stands at the first one.
    pub(crate) fn check(&self, cursor: &mut Cursor<'a>) -> Parsed<()> {
        let mut previous = None;
        for _ in 0..self.count {
            take_key(cursor, self.is_named, &mut previous)?;
            check_struct(cursor, self.struct_len)?;
        }
        if cursor.is_at_end() {
            Ok(())
        } else {
            Err("something follows the last entry of a section")
        }
    }

    /// The fields of the struct, in the order of the file; none if it does not say.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            cursor: self.fields.clone(),
            left: self.field_count,
        }
    }

    /// The entries, by object id or name.
    #[must_use]
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            cursor: self.entries.clone(),
            is_named: self.is_named,
            left: self.count,
            previous: None,
            buffer: vec![0; self.struct_len],
        }
    }
}

/// The fields of a struct.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
    left: u64,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        self.left = self.left.checked_sub(1)?;
        take_field(&mut self.cursor).ok()
    }
}

/// The entries of a section. Not an iterator: an entry is gone when the next one is read.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    cursor: Cursor<'a>,
    is_named: bool,
    left: u64,
    previous: Option<Key<'a>>,
    buffer: Vec<u8>,
}

impl<'a> Entries<'a> {
    /// The next entry.
    #[inline]
    pub fn next_entry(&mut self) -> Option<Entry<'a, '_>> {
        self.left = self.left.checked_sub(1)?;
        let key = take_key(&mut self.cursor, self.is_named, &mut self.previous).ok()?;
        take_struct(&mut self.cursor, &mut self.buffer).ok()?;
        Some(Entry {
            key,
            bytes: &self.buffer,
        })
    }
}

fn take_field<'a>(cursor: &mut Cursor<'a>) -> Parsed<Field<'a>> {
    let number = |number| u32::try_from(number).map_err(|_| "the place of a field cannot be");
    Ok(Field {
        name: cursor.text()?,
        ty: FieldType::from_code(cursor.u8()?),
        offset: number(cursor.varint()?)?,
        bytes: number(cursor.varint()?)?,
    })
}

/// Keys grow from entry to entry.
#[inline]
fn take_key<'a>(
    cursor: &mut Cursor<'a>,
    is_named: bool,
    previous: &mut Option<Key<'a>>,
) -> Parsed<Key<'a>> {
    let key = if is_named {
        Key::Name(cursor.name()?)
    } else {
        let before = previous.as_ref().and_then(Key::object).unwrap_or(0);
        let objid = before.checked_add(cursor.varint()?);
        Key::Object(objid.ok_or("an object id is too large")?)
    };
    if key == Key::Name(&[]) {
        return Err("an entry has no name");
    }
    if previous.is_some_and(|previous| previous >= key) {
        return Err("two entries are of one object, or not in order");
    }
    *previous = Some(key);
    Ok(key)
}
