//! Copies of entries, as a signature of what is material in them or as the bytes of a file.
//!
//! *Runs in:* the collector. *Reads and writes:* reads the statistics through the shim.
//! *Never:* has more than some thousand entries at once as structs: a database may have millions.

use std::ops::Range;

use statsfile::{EncodeError, Encoder, Header, Name};

use super::keys::by_kind;
use super::kinds::{Kinds, Known, Signature};
use crate::pgshim::stats::{self, Key};

/// Entries copied at once. Others may come and go in between: no two entries are of one moment
/// anyway, as in core's own file.
const AT_ONCE: usize = 4096;

/// Buffers, kept from one database to the next.
pub(super) struct Capture {
    entries: Vec<u8>,
    found: Vec<u8>,
    encoder: Option<Encoder>,
}

/// A file that was made.
pub(super) struct Made<'c> {
    pub(super) bytes: &'c [u8],
    pub(super) entries: u64,
    /// Of a database's: the signature of what is material in it.
    pub(super) material: u64,
}

/// The keys of a database that belong into its file, but for its own entry, kind by kind.
fn below<'k>(kinds: &'k Kinds, keys: &'k [Key]) -> impl Iterator<Item = (&'k Known, &'k [Key])> {
    by_kind(keys).filter_map(|keys| {
        let known = kinds.get(keys[0].kind)?;
        let is_below = !known.is_common && known.kind.number != kinds.database;
        is_below.then_some((known, keys))
    })
}

/// Take what is material of a database's own entry into a signature.
pub(super) fn sign_own(kinds: &Kinds, signature: &mut Signature, own: &[u8]) {
    if let Some(known) = kinds.get(kinds.database) {
        known.sign(signature, own);
    }
}

/// The same of an entry below; one that was only read, perhaps for the first time, has nothing of
/// it.
fn sign(known: &Known, signature: &mut Signature, key: &Key, entry: &[u8]) {
    if known.has_material(entry) {
        signature.word(key.object);
        known.sign(signature, entry);
    }
}

impl Capture {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            found: Vec::new(),
            encoder: None,
        }
    }

    /// The own entries of some of the databases that are watched, in their order; `None` if
    /// nothing has been counted there.
    pub(super) fn databases(
        &mut self,
        kinds: &Kinds,
        some: &Range<usize>,
    ) -> impl Iterator<Item = Option<&[u8]>> {
        let bytes = kinds.get(kinds.database).map_or(0, |it| it.kind.bytes);
        stats::watched(some, bytes, &mut self.entries, &mut self.found);
        let entries = self.entries.chunks_exact(bytes.max(1)).zip(&self.found);
        entries.map(|(entry, found)| (*found != 0).then_some(entry))
    }

    /// Signature of what is material in the entries of these keys, which are those of one
    /// database, and in its own entry.
    pub(super) fn material(&mut self, kinds: &Kinds, keys: &[Key], own: &[u8]) -> u64 {
        let mut signature = Signature::START;
        sign_own(kinds, &mut signature, own);
        for (known, keys) in below(kinds, keys) {
            for keys in keys.chunks(AT_ONCE) {
                self.each(known, keys, &mut |key, entry| {
                    sign(known, &mut signature, key, entry);
                });
            }
        }
        signature.value()
    }

    /// Copy the entries of these keys, and give each that there is.
    fn each(&mut self, known: &Known, keys: &[Key], give: &mut dyn FnMut(&Key, &[u8])) {
        let bytes = known.kind.bytes;
        stats::copy(keys, bytes, &mut self.entries, &mut self.found);
        let entries = self.entries.chunks_exact(bytes.max(1));
        for ((key, entry), found) in keys.iter().zip(entries).zip(&self.found) {
            if *found != 0 {
                give(key, entry);
            }
        }
    }

    fn encoder(&mut self, header: &Header) -> Encoder {
        match self.encoder.take() {
            Some(mut encoder) => {
                encoder.begin(header);
                encoder
            }
            None => Encoder::new(header),
        }
    }

    /// The file of one database: the entries of these keys, and last its own, so that who loads
    /// it shows autovacuum the database when all of it is there. Its material signature is that of
    /// what is in it, whatever the header says.
    pub(super) fn encode(
        &mut self,
        kinds: &Kinds,
        header: &Header,
        keys: &[Key],
        own: &[u8],
    ) -> Result<Made<'_>, EncodeError> {
        let mut encoder = self.encoder(header);
        let mut entries = 0;
        let mut signature = Signature::START;
        sign_own(kinds, &mut signature, own);
        for (known, keys) in below(kinds, keys) {
            encoder.section_from(&known.layout(), |take| {
                let mut taken = Ok(());
                for keys in keys.chunks(AT_ONCE) {
                    self.each(known, keys, &mut |key, entry| {
                        if taken.is_ok() {
                            sign(known, &mut signature, key, entry);
                            taken = take(key.object, entry);
                            entries += 1;
                        }
                    });
                }
                taken
            })?;
        }
        if let Some(known) = kinds.get(kinds.database) {
            encoder.section(&known.layout(), [(0, own)])?;
            entries += 1;
        }
        encoder.set_material_signature(signature.value());
        Ok(Made {
            material: signature.value(),
            ..self.finish(encoder, entries)
        })
    }

    /// The file of the cluster: fixed kinds, subscriptions (by the keys) and slots, and what the
    /// caller adds.
    pub(super) fn encode_common(
        &mut self,
        kinds: &Kinds,
        header: &Header,
        keys: &[Key],
        more: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<Made<'_>, EncodeError> {
        let mut encoder = self.encoder(header);
        let mut entries = 0;
        for known in kinds.all().filter(|known| known.kind.is_fixed) {
            let entry = stats::fixed(&known.kind);
            encoder.section(&known.layout(), [(0, entry.as_slice())])?;
            entries += 1;
        }
        for keys in by_kind(keys) {
            let Some(known) = kinds.get(keys[0].kind).filter(|known| known.is_common) else {
                continue;
            };
            let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
            self.each(known, keys, &mut |key, entry| {
                found.push((key.object, entry.to_vec()))
            });
            let found = found
                .iter()
                .map(|(object, entry)| (*object, entry.as_slice()));
            entries += found.len() as u64;
            encoder.section(&known.layout(), found)?;
        }
        for known in kinds.all().filter(|known| known.kind.is_by_slot) {
            let slots = self.slots(known);
            let slots = slots.iter().map(|(name, entry)| (*name, entry.as_slice()));
            entries += slots.len() as u64;
            encoder.named_section(&known.layout(), slots)?;
        }
        more(&mut encoder)?;
        Ok(self.finish(encoder, entries))
    }

    fn slots(&mut self, known: &Known) -> Vec<(Name, Vec<u8>)> {
        let mut found = Vec::new();
        for (index, name) in stats::slots() {
            let key = Key {
                kind: known.kind.number,
                database: 0,
                object: index,
            };
            self.each(known, &[key], &mut |_, entry| {
                found.push((Name::new(&name), entry.to_vec()));
            });
        }
        found
    }

    fn finish(&mut self, encoder: Encoder, entries: u64) -> Made<'_> {
        let bytes = self.encoder.insert(encoder).finish();
        Made {
            bytes,
            entries,
            material: 0,
        }
    }
}
