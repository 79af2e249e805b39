//! Text of a fixed number of words, as names and paths stand in the segment.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* allocates; cuts a character in half.

use std::fmt;

/// Up to `8 * N` bytes of UTF-8, padded with zero bytes. Longer text is cut at a character
/// boundary, and text with a zero byte at the zero byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<const N: usize>([[u8; 8]; N]);

impl<const N: usize> Text<N> {
    /// The empty text.
    pub const EMPTY: Self = Self([[0; 8]; N]);

    /// As much of `text` as fits.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.split('\0').next().unwrap_or("");
        let mut fits = text.len().min(8 * N);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        let mut words = [[0; 8]; N];
        for (to, from) in words
            .as_flattened_mut()
            .iter_mut()
            .zip(&text.as_bytes()[..fits])
        {
            *to = *from;
        }
        Self(words)
    }

    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Both constructors have checked the bytes.
        std::str::from_utf8(self.bytes()).unwrap_or("")
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    fn bytes(&self) -> &[u8] {
        let bytes = self.0.as_flattened();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        &bytes[..end]
    }

    /// The words as they stand in the segment: the bytes in order.
    #[must_use]
    pub fn to_words(&self) -> [u64; N] {
        self.0.map(u64::from_ne_bytes)
    }

    /// The text in these words; `None` when they are too few or not UTF-8. What follows the
    /// first zero byte is ignored.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let words: &[u64; N] = words.first_chunk()?;
        let mut text = Self(words.map(u64::to_ne_bytes));
        let used = text.bytes().len();
        std::str::from_utf8(text.bytes()).ok()?;
        for byte in text.0.as_flattened_mut().iter_mut().skip(used) {
            *byte = 0;
        }
        Some(text)
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_a_character() {
        assert_eq!(Text::<1>::new("12345678").as_str(), "12345678");
        assert_eq!(Text::<1>::new("123456789").as_str(), "12345678");
        // The last character has two bytes, of which one fits.
        assert_eq!(Text::<1>::new("1234567ä").as_str(), "1234567");
        assert_eq!(Text::<1>::new("ab\0cd").as_str(), "ab");
        assert!(Text::<1>::new("").is_empty() && Text::<2>::EMPTY.is_empty());
        assert_eq!(
            format!("{:>4}|{:?}", Text::<1>::new("ab"), Text::<1>::new("ab")),
            "  ab|\"ab\""
        );
    }

    #[test]
    fn words_are_the_bytes_in_order() {
        let text = Text::<2>::new("0123456789");
        assert_eq!(text.to_words()[0], u64::from_ne_bytes(*b"01234567"));
        assert_eq!(Text::from_words(&text.to_words()), Some(text));
        assert_eq!(Text::<2>::from_words(&[0]), None);
        assert_eq!(
            Text::<1>::from_words(&[u64::from_ne_bytes([0xFF; 8])]),
            None
        );
        // Rubbish after the end does not make two texts differ.
        let rubbish = u64::from_ne_bytes(*b"ab\0\xFFcdef");
        assert_eq!(Text::<1>::from_words(&[rubbish]), Some(Text::new("ab")));
    }
}
