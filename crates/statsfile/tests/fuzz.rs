//! A mutating fuzzer over valid files, whose mutations reach the decoder because lengths and
//! checksums are put right afterwards.
//!
//! `CKPTFLUSH_FUZZ_EXECUTIONS` files are tried, `CKPTFLUSH_FUZZ_SEED` says which; 10 million take
//! some minutes:
//!
//! ```text
//! CKPTFLUSH_FUZZ_EXECUTIONS=10000000 cargo test --release -p statsfile --test fuzz -- --nocapture
//! ```
//!
//! It looks for three things. No file makes the reader panic. None makes it take memory: reading
//! allocates one struct's size at a time. And what is accepted is what would be written: encoding
//! what was read gives the same file again, so that nothing was misread.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/memory.rs"]
mod memory;
mod support;

use memory::{Counting, measure};
use statsfile::{Encoder, FieldType, Refused, STRUCT_BYTES_MAX, Section, StatsFile};
use std::collections::BTreeMap;
use support::{Model, Part, common_file, database_file, mix};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HEADER: usize = 208;
/// Files kept to mutate further.
const CORPUS: usize = 256;

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.next().is_multiple_of(number)
    }

    /// A number as it is likely to be at a border.
    fn border(&mut self) -> u64 {
        let power = 1u64 << self.below(64);
        match self.below(4) {
            0 => power,
            1 => power - 1,
            2 => power.wrapping_neg(),
            _ => self.next() >> self.below(64),
        }
    }
}

/// A file taken apart.
#[derive(Clone)]
struct Parts {
    header: Vec<u8>,
    sections: Vec<(u32, u32, Vec<u8>)>,
    tail: Vec<u8>,
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The first varints of a section: length of a struct, and number of entries.
fn numbers(body: &[u8]) -> (u64, u64) {
    let mut bytes = body.iter();
    let mut number = || {
        let mut number = 0u64;
        for (i, byte) in bytes.by_ref().take(10).enumerate() {
            number |= u64::from(byte & 0x7F).wrapping_shl(7 * i as u32);
            if *byte < 0x80 {
                break;
            }
        }
        number
    };
    (number(), number())
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let (header, mut rest) = bytes.split_at(HEADER);
        let mut sections = Vec::new();
        while rest.len() > 16 {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let length = u64::from_le_bytes(rest[8..16].try_into().unwrap()) as usize;
            sections.push((word(0), word(4), rest[16..16 + length].to_vec()));
            rest = &rest[16 + length..];
        }
        Self {
            header: header.to_vec(),
            sections,
            tail: rest.to_vec(),
        }
    }

    /// The file again, with all lengths, sums and checksums right. Mostly.
    fn assemble(&self, chance: &mut Chance, file: &mut Vec<u8>) {
        file.clear();
        file.extend(&self.header);
        let (mut entries, mut raw_bytes) = (0u64, 0u64);
        for (form, kind, body) in &self.sections {
            file.extend(form.to_le_bytes());
            file.extend(kind.to_le_bytes());
            file.extend((body.len() as u64).to_le_bytes());
            file.extend(body);
            if *form == 1 || *form == 2 {
                let (struct_len, count) = numbers(body);
                entries = entries.wrapping_add(count);
                raw_bytes = raw_bytes.wrapping_add(count.wrapping_mul(struct_len));
            }
        }
        file.extend(&self.tail);
        if chance.one_in(16) {
            // Also where the lengths of sections are.
            mutate(chance, file, &self.header);
            file.resize(file.len().max(HEADER), 0);
        }
        let payload_bytes = (file.len() - HEADER) as u64;
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        if !chance.one_in(32) {
            put(76, &(self.sections.len() as u32).to_le_bytes());
            put(112, &entries.to_le_bytes());
            put(120, &raw_bytes.to_le_bytes());
        }
        put(128, &payload_bytes.to_le_bytes());
        let crc = crc32c::crc32c(&file[HEADER..]);
        file[200..204].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32c::crc32c(&file[..204]);
        file[204..208].copy_from_slice(&crc.to_le_bytes());
        if chance.one_in(64) {
            // What a disk does.
            let at = chance.below(file.len());
            file[at] ^= 1 << chance.below(8);
        }
    }

    fn mutate(&mut self, chance: &mut Chance, other: &Self) {
        let section = chance.below(self.sections.len());
        let foreign = other.sections.get(chance.below(other.sections.len()));
        match chance.below(16) {
            0 => {
                let at = chance.below(self.header.len());
                self.header[at] = chance.border() as u8;
            }
            1 if self.sections.len() > 1 => drop(self.sections.remove(section)),
            2 if self.sections.len() < 140 => {
                if let Some(foreign) = foreign {
                    self.sections.insert(section, foreign.clone());
                }
            }
            3 => mutate(chance, &mut self.tail, b"END\n"),
            4 if chance.one_in(4) => {
                if let Some((form, kind, _)) = self.sections.get_mut(section) {
                    let place = if chance.one_in(2) { form } else { kind };
                    *place = chance.below(5) as u32;
                }
            }
            _ => {
                if let Some((_, _, body)) = self.sections.get_mut(section) {
                    mutate(chance, body, foreign.map_or(&[], |(_, _, body)| body));
                }
            }
        }
    }
}

/// Changes bytes, their number, or takes some from elsewhere.
fn mutate(chance: &mut Chance, bytes: &mut Vec<u8>, other: &[u8]) {
    if bytes.is_empty() {
        bytes.push(chance.next() as u8);
        return;
    }
    let at = chance.below(bytes.len());
    let end = (at + 1 + chance.below(24)).min(bytes.len());
    match chance.below(8) {
        0 | 1 => bytes[at] ^= 1 << chance.below(8),
        2 => bytes[at] = chance.border() as u8,
        3 => drop(bytes.drain(at..end)),
        4 if bytes.len() < 4096 => {
            let range = bytes[at..end].to_vec();
            bytes.splice(at..at, range);
        }
        5 => {
            let number = varint(chance.border());
            let end = (at + chance.below(number.len() + 1)).min(bytes.len());
            bytes.splice(at..end, number);
        }
        6 if !other.is_empty() && bytes.len() < 4096 => {
            let from = chance.below(other.len());
            let to = (from + 1 + chance.below(64)).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ => bytes[at] = bytes[at].wrapping_add(1),
    }
}

/// Whether a file has what only a later version knows: that is not read, and so not written again.
fn has_later(file: &StatsFile<'_>) -> bool {
    let opaque = |section: Section<'_>| section.fields().any(|f| f.ty == FieldType::Opaque);
    file.skipped() > 0 || file.sections().any(opaque)
}

#[test]
fn no_file_makes_the_reader_fail() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let executions: u64 = number("CKPTFLUSH_FUZZ_EXECUTIONS").unwrap_or(10_000);
    let seed: u64 = number("CKPTFLUSH_FUZZ_SEED").unwrap_or(1);
    let mut chance = Chance(mix(seed));
    let mut encoder = Encoder::new(&database_file().header);
    let mut common = common_file();
    // Opaque fields stand for later types.
    if let Part::Objects(table) = &mut common.parts[0] {
        table.fields.retain(|field| field.1 != FieldType::Opaque);
    }
    let mut corpus: Vec<Parts> = [database_file(), common]
        .iter()
        .map(|model| Parts::of(&model.to_bytes()))
        .collect();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let (mut most, mut encoded_again) = (0, 0);
    let mut file = Vec::new();
    for execution in 0..executions {
        let mut parts = corpus[chance.below(corpus.len())].clone();
        let other = chance.below(corpus.len());
        for _ in 0..=chance.below(6) {
            parts.mutate(&mut chance, &corpus[other]);
        }
        parts.assemble(&mut chance, &mut file);
        let attempt = std::panic::catch_unwind(|| measure(|| read(&file)));
        let Ok((outcome, taken, _)) = attempt else {
            panic!("execution {execution} of seed {seed}: {file:02x?}");
        };
        assert!(
            taken <= 2 * STRUCT_BYTES_MAX,
            "execution {execution} of seed {seed} took {taken} bytes: {file:02x?}"
        );
        most = most.max(taken);
        if outcome.is_ok() && check_accepted(&file, &mut encoder, execution) {
            encoded_again += 1;
            if corpus.len() < CORPUS {
                corpus.push(Parts::of(&file));
            } else if chance.one_in(8) {
                // The first two stay as they are.
                let place = 2 + chance.below(CORPUS - 2);
                corpus[place] = Parts::of(&file);
            }
        }
        let outcome = match outcome {
            Ok(()) => "accepted".to_owned(),
            Err(Refused::Malformed { what, .. }) => what.to_owned(),
            Err(refused) => format!("{refused:?}").split(' ').next().unwrap().to_owned(),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    println!("{executions} files of seed {seed}; at most {most} bytes taken for one");
    for (outcome, times) in &outcomes {
        println!("{times:>10} {outcome}");
    }
    println!("{encoded_again:>10} of the accepted encoded again");
    // A fuzzer whose mutations never arrive, or always, looks for nothing.
    assert!((executions / 20..executions / 2).contains(&encoded_again));
    assert!(outcomes.len() > 20, "{outcomes:?}");
}

/// Reads all of a file, as a loader does.
fn read(bytes: &[u8]) -> Result<(), Refused> {
    let file = StatsFile::verify(bytes)?;
    let mut sum = 0u64;
    for section in file.sections() {
        assert!(section.fields().all(|field| !field.name.is_empty()));
        let mut entries = section.entries();
        let mut count = 0;
        while let Some(entry) = entries.next_entry() {
            sum = sum.wrapping_add(entry.bytes.iter().map(|byte| u64::from(*byte)).sum());
            count += 1;
        }
        assert_eq!(count, section.count, "an entry was verified and not read");
    }
    std::hint::black_box((sum, file.databases().count()));
    Ok(())
}

/// What was accepted must be what would be written. Gives whether there was something to compare.
fn check_accepted(bytes: &[u8], encoder: &mut Encoder, execution: u64) -> bool {
    let file = StatsFile::verify(bytes).unwrap();
    if file.envelope().entries == 0 || has_later(&file) {
        return false;
    }
    let model = Model::decode(bytes).unwrap();
    let again = model.encode(encoder).unwrap();
    assert_eq!(Model::decode(&again), Ok(model), "execution {execution}");
    // A table of databases may have stood elsewhere, or be empty.
    let sections = Parts::of(bytes).sections;
    let table = sections.iter().any(|(form, ..)| *form == 3);
    assert!(
        table || again == bytes,
        "execution {execution}: {bytes:02x?}"
    );
    true
}
