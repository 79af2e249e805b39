//! Bytes to be written, in a buffer that is kept from file to file.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* itself.
//! *Never:* gives memory back: what it took for the largest file is there for the next one.

use crate::varint;

/// The bytes up to `used`; those behind are of earlier files.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    used: usize,
}

impl Output {
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Forgets what follows.
    pub(crate) fn truncate(&mut self, used: usize) {
        self.used = self.used.min(used);
    }

    /// At least so many bytes to write into; [`Output::advance`] then says how many were needed. One
    /// check for an entry, where pushing would make one for each byte.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let needed = self.used + bytes;
        if self.bytes.len() < needed {
            self.bytes.resize(needed.max(2 * self.bytes.len()), 0);
        }
        &mut self.bytes[self.used..]
    }

    /// So many bytes of the room were written.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.used = (self.used + bytes).min(self.bytes.len());
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    pub(crate) fn put_u32(&mut self, number: u32) {
        self.put(&number.to_le_bytes());
    }

    pub(crate) fn put_u64(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    pub(crate) fn put_varint(&mut self, number: u64) {
        let bytes = varint::write(self.room(varint::MAX), number);
        self.advance(bytes);
    }

    /// A text: its length, and its bytes.
    pub(crate) fn put_text(&mut self, text: &[u8]) {
        self.put_varint(text.len() as u64);
        self.put(text);
    }

    /// Overwrites what was put at `at`.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
