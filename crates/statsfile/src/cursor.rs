//! Reads numbers and texts from bytes that nobody vouches for.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its own place in the bytes.
//! *Never:* panics, or reads beyond their end.

use crate::format::NAME_BYTES;
use crate::varint;

/// What was read, or what is wrong there, to follow "at byte N:".
pub(crate) type Parsed<T> = Result<T, &'static str>;

pub(crate) const ENDS_EARLY: &str = "it ends too early";

#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Parsed<&'a [u8]> {
        let taken = self.rest().get(..bytes).ok_or(ENDS_EARLY)?;
        self.at += bytes;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let array = self.rest().first_chunk().ok_or(ENDS_EARLY)?;
        self.at += N;
        Ok(*array)
    }

    pub(crate) fn u8(&mut self) -> Parsed<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Parsed<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Parsed<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Parsed<u64> {
        let (number, length) = varint::read(self.rest())?;
        self.at += length;
        Ok(number)
    }

    /// A varint that fits into memory.
    pub(crate) fn size(&mut self) -> Parsed<usize> {
        usize::try_from(self.varint()?).map_err(|_| ENDS_EARLY)
    }

    /// A name, in whatever encoding.
    pub(crate) fn name(&mut self) -> Parsed<&'a [u8]> {
        let length = self.size()?;
        if length > NAME_BYTES {
            return Err("a name is too long");
        }
        let name = self.take(length)?;
        if name.contains(&0) {
            return Err("a name has a zero byte");
        }
        Ok(name)
    }

    /// A name in UTF-8.
    pub(crate) fn text(&mut self) -> Parsed<&'a str> {
        std::str::from_utf8(self.name()?).map_err(|_| "a name is not UTF-8")
    }
}
