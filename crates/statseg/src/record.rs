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

use crate::field::Field;
use crate::seqlock::{self, Torn};
use crate::sync::AtomicU64;

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

/// Declares a record: the struct, and its form in words. Field `i` of the declaration has bit
/// `i` of the presence bitmap, so a new field is added at the end and nowhere else. It must be
/// optional, and `parse` must go on to accept the former size: a viewer may be newer than the
/// server it looks at.
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
                    $( + <$type as $crate::field::FieldType>::WORDS )+;
                assert!(words <= $crate::record::MAX_WORDS);
                words
            };
            const FIELDS: &'static [$crate::field::Field] = &$crate::field::place([
                $( $crate::field::Field {
                    name: stringify!($field),
                    word: 0,
                    words: <$type as $crate::field::FieldType>::WORDS,
                    kind: <$type as $crate::field::FieldType>::KIND,
                    optional: <$type as $crate::field::FieldType>::OPTIONAL,
                }, )+
            ]);

            #[inline]
            fn encode(&self, to: &mut [u64]) {
                let mut at = $crate::record::FIRST_FIELD;
                let mut bit = 1u64;
                let mut presence = 0u64;
                $(
                    let words = <$type as $crate::field::FieldType>::WORDS;
                    let field = &mut to[at..at + words];
                    if $crate::field::FieldType::store(&self.$field, field) {
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
                    let words = <$type as $crate::field::FieldType>::WORDS;
                    let field = from.get(at..at + words)?;
                    let $field = <$type as $crate::field::FieldType>::load(
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

#[cfg(test)]
// The macro makes public structs only.
#[allow(clippy::unwrap_used, unreachable_pub)]
mod tests {
    use super::*;
    use crate::codes::Kind;
    use crate::text::Text;
    use proptest::prelude::*;

    record! {
        /// One field of every type.
        pub struct Sample {
            pub number: u64,
            pub signed: Option<i64>,
            pub small: Option<u32>,
            pub flag: Option<bool>,
            pub kind: Kind,
            pub maybe_kind: Option<Kind>,
            pub name: Text<2>,
            pub path: Option<Text<3>>,
        }
    }

    fn sample() -> impl Strategy<Value = Sample> {
        let kind = || prop_oneof![Just(Kind::Checkpoint), Just(Kind::Restartpoint)];
        let numbers = (any::<u64>(), any::<Option<i64>>(), any::<Option<u32>>());
        let rest = (any::<Option<bool>>(), kind(), prop::option::of(kind()));
        let texts = (any::<String>(), any::<Option<String>>());
        (numbers, rest, texts).prop_map(|((number, signed, small), rest, texts)| Sample {
            number,
            signed,
            small,
            flag: rest.0,
            kind: rest.1,
            maybe_kind: rest.2,
            name: Text::new(&texts.0),
            path: texts.1.as_deref().map(Text::new),
        })
    }

    #[test]
    fn the_fields_have_the_places_of_their_words() {
        let places: Vec<_> = Sample::FIELDS
            .iter()
            .map(|f| (f.name, f.word, f.words))
            .collect();
        assert_eq!(places[0], ("number", 3, 1));
        assert_eq!(places[6], ("name", 9, 2));
        assert_eq!(places[7], ("path", 11, 3));
        assert_eq!(Sample::WORDS, 14);
        assert_eq!(Sample::FIELDS[1].kind, "i64");
        assert!(Sample::FIELDS[1].optional && !Sample::FIELDS[0].optional);
    }

    #[test]
    fn what_must_be_there_is_missed() {
        // All zero, as never written: the first field has no presence bit.
        assert_eq!(Sample::decode(&[0; MAX_WORDS]), None);
        assert_eq!(Sample::decode(&[]), None);
        let mut words = [0; MAX_WORDS];
        Sample::default().encode(&mut words);
        assert_eq!(Sample::decode(&words), Some(Sample::default()));
        assert_eq!(Sample::decode(&words[..Sample::WORDS - 1]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_stored_is_loaded(sample in sample(), id in any::<u64>()) {
            let words: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(7)).collect();
            store(&words, id, &sample);
            let buffer = load::<Sample>(&words).unwrap();
            prop_assert_eq!(buffer[ID], id);
            prop_assert_eq!(Sample::decode(&buffer), Some(sample));
            // What does not belong to the record is left alone.
            prop_assert_eq!(words[Sample::WORDS].load(crate::sync::Ordering::Relaxed), 7);
        }

        #[test]
        fn any_words_decode_or_do_not(words in prop::collection::vec(any::<u64>(), 0..20)) {
            if let Some(sample) = Sample::decode(&words) {
                let mut again = [0; MAX_WORDS];
                sample.encode(&mut again);
                prop_assert_eq!(Sample::decode(&again), Some(sample));
            }
        }
    }
}
