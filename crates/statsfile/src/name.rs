//! Names of databases, slots, kinds and fields.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* assumes an encoding: the name of a database is in whatever encoding its creator's
//! database had.

use crate::format::NAME_BYTES;
use std::fmt;

/// Up to 64 bytes without a zero byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Filled up with zero bytes, so that names compare as their bytes do.
    bytes: [u8; NAME_BYTES],
}

impl Name {
    /// No name.
    pub const EMPTY: Self = Self {
        bytes: [0; NAME_BYTES],
    };

    /// As much of `name` as fits, up to its first zero byte.
    #[must_use]
    pub fn new(name: impl AsRef<[u8]>) -> Self {
        let mut bytes = [0; NAME_BYTES];
        let name = name.as_ref().iter().take_while(|byte| **byte != 0);
        for (to, from) in bytes.iter_mut().zip(name) {
            *to = *from;
        }
        Self { bytes }
    }

    /// The name of a header; `None` if something follows its end.
    pub(crate) fn from_padded(bytes: [u8; NAME_BYTES]) -> Option<Self> {
        let name = Self { bytes };
        bytes[name.as_bytes().len()..]
            .iter()
            .all(|byte| *byte == 0)
            .then_some(name)
    }

    /// Its bytes, in the encoding of whoever gave the name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let end = self.bytes.iter().position(|byte| *byte == 0);
        &self.bytes[..end.unwrap_or(NAME_BYTES)]
    }

    /// Its bytes, filled up with zero bytes.
    pub(crate) fn padded(&self) -> &[u8; NAME_BYTES] {
        &self.bytes
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes[0] == 0
    }
}

impl Default for Name {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// What is not UTF-8 is replaced.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.as_bytes()), f)
    }
}

/// As much of a text as fits into the format, cut at a character.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES)]
}
