//! The table of databases in the file of the cluster: what each database's own file should be.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its arguments.
//! *Never:* speaks for the files: a database may have been written since.

use crate::cursor::{Cursor, Parsed};
use crate::name::Name;
use crate::output::Output;

/// A database whose statistics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseRow {
    /// Its OID.
    pub oid: u32,
    /// Its name.
    pub name: Name,
    /// Signature of its file.
    pub signature: u64,
    /// Material signature of its file.
    pub material_signature: u64,
    /// Generation of its file.
    pub generation: u64,
    /// End of the flushed WAL when its file was written.
    pub flush_lsn: u64,
}

impl DatabaseRow {
    /// All but the OID.
    pub(crate) fn put(&self, output: &mut Output) {
        output.put_text(self.name.as_bytes());
        output.put_u64(self.signature);
        output.put_u64(self.material_signature);
        output.put_varint(self.generation);
        output.put_varint(self.flush_lsn);
    }
}

/// The rows, by OID.
#[derive(Clone, Debug)]
pub struct Databases<'a> {
    cursor: Cursor<'a>,
    left: u64,
    previous: Option<u32>,
}

impl<'a> Databases<'a> {
    /// Of a file without the table.
    pub(crate) fn none() -> Self {
        Self {
            cursor: Cursor::new(&[]),
            left: 0,
            previous: None,
        }
    }

    pub(crate) fn parse(body: &'a [u8]) -> Parsed<Self> {
        let mut cursor = Cursor::new(body);
        let left = cursor.varint()?;
        Ok(Self {
            cursor,
            left,
            previous: None,
        })
    }

    /// Reads all rows. On error gives the place, too.
    pub(crate) fn check(mut self) -> Result<(), (usize, &'static str)> {
        while self.left > 0 {
            if let Err(what) = self.row() {
                return Err((self.cursor.at(), what));
            }
        }
        if self.cursor.is_at_end() {
            Ok(())
        } else {
            Err((self.cursor.at(), "something follows the last database"))
        }
    }

    fn row(&mut self) -> Parsed<DatabaseRow> {
        let cursor = &mut self.cursor;
        let delta = u32::try_from(cursor.varint()?).map_err(|_| "an OID is too large")?;
        if delta == 0 && self.previous.is_some() {
            return Err("a database comes twice");
        }
        let oid = self.previous.unwrap_or(0).checked_add(delta);
        let row = DatabaseRow {
            oid: oid.ok_or("an OID is too large")?,
            name: Name::new(cursor.name()?),
            signature: cursor.u64()?,
            material_signature: cursor.u64()?,
            generation: cursor.varint()?,
            flush_lsn: cursor.varint()?,
        };
        self.previous = Some(row.oid);
        self.left -= 1;
        Ok(row)
    }
}

impl Iterator for Databases<'_> {
    type Item = DatabaseRow;

    fn next(&mut self) -> Option<DatabaseRow> {
        if self.left == 0 {
            return None;
        }
        // The file was verified: there is no error to tell of.
        self.row().ok()
    }
}
