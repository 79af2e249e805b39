//! Records: plain structs and their form in words, and the handles that read and write them.
//!
//! *Runs in:* any process; each record has one writer, named beside the record.
//! *Reads and writes:* the words of its record, under the sequence lock of [`crate::seqlock`].
//! *Never:* allocates.
//!
//! Every stored record, alone, in a ring or in a table, has the same head: word 0 the sequence,
//! word 1 its own id (0 in a record that stands alone), word 2 the presence bitmap: bit `i` is
//! set when field `i` (in the order of the declaration) has a value. The fields follow from
//! word 3 in the order of the declaration.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::seqlock::{self, Torn};
use crate::sync::AtomicU64;
use crate::text::Text;

/// The word of a record that holds its id.
pub(crate) const ID: usize = 1;
/// The word with the presence bitmap.
pub(crate) const PRESENCE: usize = 2;
/// The word of the first field.
pub(crate) const FIRST_FIELD: usize = 3;
/// No record has more words. A buffer of this size lives on the stack of every access.
pub(crate) const MAX_WORDS: usize = 64;

/// A stored record with room for the largest; word 0 is not used.
pub(crate) type Buffer = [u64; MAX_WORDS];

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

/// A struct that can be stored; made by the macro `record!` only.
pub trait RecordType: Copy + Default {
    /// The name of the record in the documentation.
    const NAME: &'static str;
    /// All words of the stored record: sequence, id, presence and fields.
    const WORDS: usize;
    /// The fields.
    const FIELDS: &'static [Field];

    /// Puts presence and fields into a stored record.
    fn encode(&self, to: &mut [u64]);

    /// Takes presence and fields from a stored record; `None` on an impossible code, text that
    /// is not UTF-8, or a missing field.
    fn decode(from: &[u64]) -> Option<Self>;
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

/// Declares a record: the struct, and its form in words. Field `i` of the declaration has bit
/// `i` of the presence bitmap, so a new field is added at the end and nowhere else.
macro_rules! record {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $( $(#[$field_doc:meta])* pub $field:ident : $type:ty, )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name {
            $( $(#[$field_doc])* pub $field: $type, )+
        }

        impl $crate::record::RecordType for $name {
            const NAME: &'static str = stringify!($name);
            const WORDS: usize = {
                let words = $crate::record::FIRST_FIELD
                    $( + <$type as $crate::record::FieldType>::WORDS )+;
                assert!(words <= $crate::record::MAX_WORDS);
                words
            };
            const FIELDS: &'static [$crate::record::Field] = &$crate::record::place([
                $( $crate::record::Field {
                    name: stringify!($field),
                    word: 0,
                    words: <$type as $crate::record::FieldType>::WORDS,
                    kind: <$type as $crate::record::FieldType>::KIND,
                    optional: <$type as $crate::record::FieldType>::OPTIONAL,
                }, )+
            ]);

            #[inline]
            fn encode(&self, to: &mut [u64]) {
                let mut at = $crate::record::FIRST_FIELD;
                let mut bit = 1u64;
                let mut presence = 0u64;
                $(
                    let words = <$type as $crate::record::FieldType>::WORDS;
                    let field = &mut to[at..at + words];
                    if $crate::record::FieldType::store(&self.$field, field) {
                        presence |= bit;
                    }
                    at += words;
                    bit <<= 1;
                )+
                let _ = (at, bit);
                to[$crate::record::PRESENCE] = presence;
            }

            #[inline]
            fn decode(from: &[u64]) -> Option<Self> {
                let mut at = $crate::record::FIRST_FIELD;
                let mut presence = *from.get($crate::record::PRESENCE)?;
                $(
                    let words = <$type as $crate::record::FieldType>::WORDS;
                    let field = from.get(at..at + words)?;
                    let $field = <$type as $crate::record::FieldType>::load(
                        field,
                        presence & 1 == 1,
                    )?;
                    at += words;
                    presence >>= 1;
                )+
                let _ = (at, presence);
                Some(Self { $($field),+ })
            }
        }
    };
}
pub(crate) use record;

/// Stores a record with its id as one update.
#[inline]
pub(crate) fn store<T: RecordType>(words: &[AtomicU64], id: u64, record: &T) {
    let mut buffer: Buffer = [0; MAX_WORDS];
    buffer[ID] = id;
    record.encode(&mut buffer);
    seqlock::write(words, &buffer[ID..T::WORDS]);
}

/// A consistent copy of a record's words, with the id in its place.
#[inline]
pub(crate) fn load<T: RecordType>(words: &[AtomicU64]) -> Result<Buffer, Torn> {
    let mut buffer: Buffer = [0; MAX_WORDS];
    seqlock::read(words, &mut buffer[ID..T::WORDS])?;
    Ok(buffer)
}

/// A record in the segment, to be read.
#[derive(Debug)]
pub struct Record<'a, T> {
    words: &'a [AtomicU64],
    kind: PhantomData<T>,
}

impl<T> Clone for Record<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Record<'_, T> {}

impl<'a, T: RecordType> Record<'a, T> {
    pub(crate) fn new(words: &'a [AtomicU64]) -> Self {
        Self {
            words,
            kind: PhantomData,
        }
    }

    /// A consistent copy.
    ///
    /// # Errors
    /// [`Torn`] when there is none to be had, or it is not a valid record.
    pub fn read(&self) -> Result<T, Torn> {
        T::decode(&load::<T>(self.words)?).ok_or(Torn)
    }
}

/// A record in the segment and the right to write it: one process at a time.
#[derive(Debug)]
pub struct RecordWriter<'a, T>(Record<'a, T>);

impl<'a, T: RecordType> RecordWriter<'a, T> {
    pub(crate) fn new(words: &'a [AtomicU64]) -> Self {
        Self(Record::new(words))
    }

    /// Replaces the record.
    #[inline]
    pub fn write(&self, record: &T) {
        store(self.0.words, 0, record);
    }
}

impl<'a, T> Deref for RecordWriter<'a, T> {
    type Target = Record<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
