//! The types a field of a record can have, and their form in words.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* panics on words from a foreign segment, allocates.

use crate::record::FIRST_FIELD;
use crate::text::Text;

/// One field of a record, as the documentation and a foreign reader need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name.
    pub name: &'static str,
    /// Its first word, counted from the start of the stored record.
    pub word: usize,
    /// How many words it has.
    pub words: usize,
    /// Its type: `u64`, `i64`, `u32`, `bool`, `text`, or the name of a code.
    pub kind: &'static str,
    /// Whether it may be absent: bit `i` of the presence bitmap tells for field `i`.
    pub optional: bool,
}

/// A type that a field can have.
pub trait FieldType: Sized {
    /// Its width.
    const WORDS: usize;
    /// Its name in [`Field::kind`].
    const KIND: &'static str;
    /// Whether it may be absent.
    const OPTIONAL: bool = false;

    /// Writes the value into `to` and says whether there is one.
    fn store(&self, to: &mut [u64]) -> bool;

    /// The value; `None` when the words hold no valid one.
    fn load(from: &[u64], present: bool) -> Option<Self>;
}

macro_rules! integer_field {
    ($type:ty, $name:literal, $to:expr, $from:expr) => {
        impl FieldType for $type {
            const WORDS: usize = 1;
            const KIND: &'static str = $name;

            #[inline]
            fn store(&self, to: &mut [u64]) -> bool {
                to[0] = $to(*self);
                true
            }

            #[inline]
            fn load(from: &[u64], present: bool) -> Option<Self> {
                if present { $from(*from.first()?) } else { None }
            }
        }
    };
}

integer_field!(u64, "u64", |v: u64| v, Some);
integer_field!(i64, "i64", i64::cast_unsigned, |w: u64| Some(
    w.cast_signed()
));
integer_field!(u32, "u32", u64::from, |w: u64| u32::try_from(w).ok());
integer_field!(bool, "bool", u64::from, |w: u64| match w {
    0 => Some(false),
    1 => Some(true),
    _ => None,
});

impl<const N: usize> FieldType for Text<N> {
    const WORDS: usize = N;
    const KIND: &'static str = "text";

    #[inline]
    fn store(&self, to: &mut [u64]) -> bool {
        to.copy_from_slice(&self.to_words());
        true
    }

    #[inline]
    fn load(from: &[u64], present: bool) -> Option<Self> {
        if present {
            Self::from_words(from)
        } else {
            None
        }
    }
}

impl<T: FieldType> FieldType for Option<T> {
    const WORDS: usize = T::WORDS;
    const KIND: &'static str = T::KIND;
    const OPTIONAL: bool = true;

    #[inline]
    fn store(&self, to: &mut [u64]) -> bool {
        match self {
            Some(value) => value.store(to),
            None => {
                // Zero, not the former value: a stranger's dump shows nothing that is not there.
                to.fill(0);
                false
            }
        }
    }

    #[inline]
    fn load(from: &[u64], present: bool) -> Option<Self> {
        if present {
            T::load(from, true).map(Some)
        } else {
            Some(None)
        }
    }
}

/// Gives each field of a declaration its word.
pub(crate) const fn place<const N: usize>(mut fields: [Field; N]) -> [Field; N] {
    let mut word = FIRST_FIELD;
    let mut i = 0;
    while i < N {
        fields[i].word = word;
        word += fields[i].words;
        i += 1;
    }
    fields
}
