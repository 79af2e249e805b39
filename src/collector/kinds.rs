//! The kinds of statistics this server has, as files describe them, and signatures of entries.
//!
//! *Runs in:* the collector, the workers it starts, and backends that restore a file.
//! *Reads and writes:* nothing but its own memory; asks the shim once.
//! *Never:* believes that a number means the same kind in a file: kinds are found by name.

use statsfile::{Field, FieldType, KindLayout};

use crate::pgshim::stats::{self, Key, Kind, Rule};

/// One kind.
pub(super) struct Known {
    pub(super) kind: Kind,
    fields: Vec<Field<'static>>,
    /// Its entries are in the file of the cluster.
    pub(super) is_common: bool,
    /// Offset and length of what is material.
    material: Vec<(usize, usize)>,
}

/// All of them.
pub(super) struct Kinds {
    known: Vec<Known>,
    /// The kind of databases.
    pub(super) database: u32,
}

impl Known {
    fn new(kind: Kind) -> Self {
        let fields = kind.fields.iter().map(described).collect();
        let spans = kind.fields.iter().filter(|field| field.is_material);
        let material = spans
            .filter_map(|field| {
                let offset = usize::try_from(field.offset).ok()?;
                Some((offset, usize::try_from(field.bytes).ok()?))
            })
            .collect();
        Self {
            // Of a shared catalog, and of no relation.
            is_common: kind.is_fixed || kind.is_by_slot || kind.name == "subscription",
            kind,
            fields,
            material,
        }
    }

    /// As a file describes it.
    pub(super) fn layout(&self) -> KindLayout<'_> {
        KindLayout {
            kind: self.kind.number,
            name: self.kind.name,
            struct_len: self.kind.bytes,
            fields: &self.fields,
        }
    }

    /// Is anything that is material in an entry not zero?
    pub(super) fn has_material(&self, entry: &[u8]) -> bool {
        let mut spans = self.material.iter().copied();
        spans.any(|(offset, bytes)| {
            let span = entry.get(offset..offset + bytes).unwrap_or_default();
            span.iter().any(|byte| *byte != 0)
        })
    }

    /// Take what is material of an entry into a signature.
    pub(super) fn sign(&self, signature: &mut Signature, entry: &[u8]) {
        for &(offset, bytes) in &self.material {
            signature.add(entry.get(offset..offset + bytes).unwrap_or_default());
        }
    }
}

fn described(field: &stats::Field) -> Field<'static> {
    let ty = match field.rule {
        Rule::Opaque => FieldType::Opaque,
        Rule::Add => FieldType::Counter,
        Rule::Later => FieldType::Timestamp,
        Rule::Measured => FieldType::Gauge,
        Rule::Text => FieldType::Text,
    };
    Field::new(field.name, ty, field.offset, field.bytes)
}

impl Kinds {
    pub(super) fn new() -> Self {
        Self {
            known: stats::kinds().into_iter().map(Known::new).collect(),
            database: stats::database_kind(),
        }
    }

    /// The key of a database's own entry.
    pub(super) fn key_of(&self, database: u32) -> Key {
        Key {
            kind: self.database,
            database,
            object: 0,
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Known> {
        self.known.iter()
    }

    pub(super) fn get(&self, number: u32) -> Option<&Known> {
        self.known.iter().find(|known| known.kind.number == number)
    }

    pub(super) fn named(&self, name: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.kind.name == name)
    }
}

/// Tells whether numbers have changed: 64 bits, which must not be equal by accident once in the
/// life of a server. Nobody has a reason to forge one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Signature(u64);

impl Signature {
    pub(super) const START: Self = Self(0x9E37_79B9_7F4A_7C15);
    /// Where there is no entry.
    pub(super) const NONE: u64 = 0;

    pub(super) fn word(&mut self, word: u64) {
        // The finalizer of a good mixer (splitmix64) over a running state.
        let mut mixed = (self.0.rotate_left(5) ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^= mixed >> 31;
        self.0 = mixed.wrapping_mul(0x94D0_49BB_1331_11EB);
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.word(u64::from_ne_bytes(*word));
        }
        for byte in rest {
            self.word(u64::from(*byte));
        }
    }

    /// Of all of an entry: four words at a time, for one has to wait for the one before.
    pub(super) fn of(entry: &[u8]) -> u64 {
        let mut lanes = [Self::START; 4];
        let (blocks, rest) = entry.as_chunks::<32>();
        for block in blocks {
            for (lane, word) in lanes.iter_mut().zip(block.as_chunks().0) {
                lane.word(u64::from_ne_bytes(*word));
            }
        }
        let mut signature = Self::START;
        signature.add(rest);
        for lane in lanes {
            signature.word(lane.0);
        }
        signature.value()
    }

    pub(super) fn value(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
