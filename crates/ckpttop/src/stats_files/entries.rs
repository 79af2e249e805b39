//! The entries of a section as rows: what they are about, and their fields.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* keeps a row when the next one is read.

use super::summary::moment;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value;
use statsfile::{Field, FieldType, Key, Name, Section};
use std::fmt::Write;

/// The entries of a section.
pub(super) struct Rows<'a>(pub(super) Section<'a>);

impl<'a> Rows<'a> {
    /// The names of the columns. A struct without names for its fields is one column.
    pub(super) fn heads(&self) -> Vec<&'a str> {
        let key = if self.0.is_named { "name" } else { "objid" };
        let mut heads = vec![key];
        heads.extend(self.fields().iter().map(|field| field.name));
        heads
    }

    fn fields(&self) -> Vec<Field<'a>> {
        let fields: Vec<_> = self.0.fields().collect();
        if fields.is_empty() {
            let bytes = u32::try_from(self.0.struct_len).unwrap_or(0);
            return vec![Field::new("struct", FieldType::Opaque, 0, bytes)];
        }
        fields
    }

    /// Gives the values of one entry after the other.
    pub(super) fn each<E>(&self, mut row: impl FnMut(&[Value]) -> Result<(), E>) -> Result<(), E> {
        let fields = self.fields();
        let mut values = Vec::with_capacity(fields.len() + 1);
        let mut entries = self.0.entries();
        while let Some(entry) = entries.next_entry() {
            values.clear();
            values.push(match entry.key {
                Key::Object(objid) => objid.into(),
                Key::Name(name) => Name::new(name).to_string().into(),
            });
            values.extend(fields.iter().map(|field| value(field, entry.bytes)));
            row(&values)?;
        }
        Ok(())
    }
}

/// An array of objects.
impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let heads = self.heads();
        let mut rows = serializer.serialize_seq(None)?;
        self.each(|values| {
            rows.serialize_element(&Row {
                heads: &heads,
                values,
            })
        })?;
        rows.end()
    }
}

struct Row<'r> {
    heads: &'r [&'r str],
    values: &'r [Value],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.heads.iter().zip(self.values))
    }
}

/// A field as the views would show it.
fn value(field: &Field<'_>, bytes: &[u8]) -> Value {
    let place = field.of(bytes).unwrap_or_default();
    match field.ty {
        FieldType::Counter | FieldType::Gauge => numbers(field, bytes, Value::from),
        FieldType::Timestamp => numbers(field, bytes, |timestamp| match timestamp {
            // Never.
            0 => Value::Null,
            _ => moment(timestamp).to_string().into(),
        }),
        FieldType::Text => {
            let text = place.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into()
        }
        FieldType::Opaque => hex(place).into(),
    }
}

/// One number, or an array of them.
fn numbers(field: &Field<'_>, bytes: &[u8], show: impl Fn(i64) -> Value) -> Value {
    let mut numbers = field.integers(bytes).map(show);
    if field.bytes == 8 {
        numbers.next().unwrap_or_default()
    } else {
        numbers.collect()
    }
}

/// As PostgreSQL shows `bytea`.
fn hex(bytes: &[u8]) -> String {
    let mut hex = String::from("\\x");
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
