//! docs/stats-files.md against the code, and against a file read by nothing but that page.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/page.rs"]
mod page;
mod support;

use page::table;
use statsfile::{
    Encoder, FORMAT_VERSION, FieldType, HEADER_BYTES, HEADER_BYTES_MAX, NAME_BYTES, Refused,
    SECTIONS_MAX, STRUCT_BYTES_MAX, Subject,
};
use std::collections::BTreeMap;
use support::{FUNCTION, common_file, database_file, fields, header, layout, mix, words};

/// The file of the worked example.
fn example() -> Vec<u8> {
    let fields = fields(FUNCTION);
    let called = words(&[3, 1250, 1250]);
    let never = words(&[0, 0, 0]);
    let mut encoder = Encoder::new(&header(Subject::Database(16384)));
    let layout = layout(3, "function", &fields);
    let entries = [(16423, &never[..]), (16418, &called[..])];
    encoder.section(&layout, entries).unwrap();
    encoder.finish().to_vec()
}

#[test]
#[cfg(target_endian = "little")]
fn the_example_is_a_file() {
    let mut bytes = Vec::new();
    for row in table("| offset | bytes | meaning |") {
        assert_eq!(row[0], bytes.len().to_string(), "{row:?}");
        let (hex, zeros) = match row[1].split_once("` and ") {
            Some((hex, rest)) => (hex, rest.split(' ').next().unwrap().parse().unwrap()),
            None => (row[1].as_str(), 0),
        };
        bytes.extend(
            hex.split(' ')
                .map(|byte| u8::from_str_radix(byte, 16).unwrap()),
        );
        bytes.resize(bytes.len() + zeros, 0);
        // What the meaning says in numbers is what the bytes say.
        if let (Some(number), true) = (row[2].split("` ").nth(1), bytes.len() < 136) {
            let number = number.split([' ', ',']).next().unwrap();
            let last = bytes[row[0].parse().unwrap()..].iter().rev();
            let value = last.fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            let said = match number.split_once('x') {
                Some((_, hex)) => u64::from_str_radix(hex, 16).ok(),
                None => number.parse().ok(),
            };
            assert!(said.is_none_or(|said| said == value), "{row:?}");
        }
    }
    assert_eq!(bytes, example());
}

/// A reader that knows the page and the file, and nothing of the crate.
struct Stranger<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Stranger<'_> {
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        self.at += bytes;
        self.bytes[self.at - bytes..self.at].to_vec()
    }

    fn number(&mut self, bytes: usize) -> u64 {
        let bytes = self.take(bytes);
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn varint(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.number(1);
            number |= (byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    fn name(&mut self) -> String {
        let bytes = self.varint() as usize;
        String::from_utf8(self.take(bytes)).unwrap()
    }

    /// The words of a struct, and its tail.
    fn entry(&mut self, struct_len: usize) -> (Vec<i64>, Vec<u8>) {
        let words = struct_len / 8;
        let map = self.take(words.div_ceil(8));
        let values = (0..words).map(|word| match map[word / 8] >> (word % 8) & 1 {
            0 => 0,
            _ => match self.varint() {
                number if number % 2 == 0 => (number / 2) as i64,
                number => -((number / 2) as i64) - 1,
            },
        });
        let values = values.collect();
        (values, self.take(struct_len % 8))
    }

    /// The fields of the header by name.
    fn header(&mut self) -> BTreeMap<String, Vec<u8>> {
        let mut header = BTreeMap::new();
        for row in table("| offset | type | name | meaning |") {
            assert_eq!(row[0], self.at.to_string(), "{row:?}");
            let bytes = match row[1].as_str() {
                "u32" => 4,
                "u64" | "i64" => 8,
                bytes => bytes.strip_suffix(" bytes").unwrap().parse().unwrap(),
            };
            header.insert(row[2].clone(), self.take(bytes));
        }
        header
    }
}

#[test]
fn the_page_is_enough_to_read_a_file() {
    for (model, kinds) in [
        (database_file(), &["relation", "function", "database"][..]),
        (common_file(), &["archiver", "replslot"]),
    ] {
        let bytes = model.to_bytes();
        let mut stranger = Stranger {
            bytes: &bytes,
            at: 0,
        };
        let header = stranger.header();
        assert_eq!(stranger.at, HEADER_BYTES);
        let number = |name: &str| {
            let bytes = header[name].iter().rev();
            bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        assert_eq!(header["magic"], b"CKPTCKS\n");
        let identity = model.header.identity;
        for (name, value) in [
            ("format_version", FORMAT_VERSION.into()),
            ("header_bytes", HEADER_BYTES as u64),
            ("pg_major", identity.pg_major.into()),
            ("format_id", identity.format_id.into()),
            ("catalog_version", identity.catalog_version.into()),
            ("system_identifier", identity.system_identifier),
            ("control_device", identity.control_device),
            ("control_inode", identity.control_inode),
            ("flush_lsn", model.header.flush_lsn),
            ("timeline", model.header.timeline.into()),
            ("written_at", model.header.written_at.unsigned_abs()),
            ("generation", model.header.generation),
            ("signature", model.header.signature),
            ("material_signature", model.header.material_signature),
            ("sections", model.parts.len() as u64),
            ("payload_bytes", (bytes.len() - HEADER_BYTES) as u64),
            ("payload_crc", crc32c::crc32c(&bytes[HEADER_BYTES..]).into()),
            (
                "header_crc",
                crc32c::crc32c(&bytes[..HEADER_BYTES - 4]).into(),
            ),
        ] {
            assert_eq!(number(name), value, "{name}");
        }
        assert_eq!(header["byte_order"], 0x0102_0304_u32.to_ne_bytes());
        let subject = match model.header.subject {
            Subject::Database(oid) => (1, oid.into()),
            Subject::Common => (2, 0),
        };
        assert_eq!((number("subject"), number("database")), subject);

        let mut found = Vec::new();
        let (mut entries, mut raw_bytes) = (0, 0);
        for _ in 0..number("sections") {
            let [form, kind, length] = [4, 4, 8].map(|bytes| stranger.number(bytes));
            let end = stranger.at + length as usize;
            match form {
                1 | 2 => {
                    let (struct_len, count) = (stranger.varint(), stranger.varint());
                    found.push(stranger.name());
                    read_entries(&mut stranger, form, struct_len as usize, count);
                    entries += count;
                    raw_bytes += count * struct_len;
                }
                _ => assert_eq!((form, kind, read_databases(&mut stranger)), (3, 0, 2)),
            }
            assert_eq!(stranger.at, end);
        }
        assert_eq!(found, kinds);
        assert_eq!(
            (number("entries"), number("raw_bytes")),
            (entries, raw_bytes)
        );
        assert_eq!(stranger.take(4), b"END\n");
        assert_eq!(stranger.at, bytes.len());
    }
}

fn read_entries(stranger: &mut Stranger<'_>, form: u64, struct_len: usize, count: u64) {
    let mut named = Vec::new();
    for _ in 0..stranger.varint() {
        let name = stranger.name();
        let ty = stranger.number(1);
        named.push((
            name,
            ty,
            stranger.varint() as usize,
            stranger.varint() as usize,
        ));
    }
    let mut object = 0;
    for _ in 0..count {
        if form == 1 {
            object += stranger.varint();
        } else {
            assert!(["alpha", "b\u{e9}ta"].contains(&&*stranger.name()));
        }
        let (words, tail) = stranger.entry(struct_len);
        if struct_len == 91 {
            let gauge = named.iter().find(|(name, ..)| name == "gauges").unwrap();
            assert_eq!((gauge.1, gauge.3), (2, 24));
            assert_eq!(
                (words[0], words[gauge.2 / 8], &tail[..]),
                (9, -5, &b"end"[..])
            );
        }
    }
    let objects = [0, 16390, 16400];
    assert!(form == 2 || objects.contains(&object), "{object}");
}

/// The number of databases.
fn read_databases(stranger: &mut Stranger<'_>) -> u64 {
    let count = stranger.varint();
    let mut oid = 0;
    for expected in [(5, "postgres"), (16384, "shop")] {
        oid += stranger.varint();
        assert_eq!((oid, &*stranger.name()), expected);
        let signatures = [mix(1), mix(2)];
        assert_eq!([stranger.number(8), stranger.number(8)], signatures);
        assert_eq!((stranger.varint(), stranger.varint()), (300, 0x0159_2B48));
    }
    count
}

#[test]
fn codes_and_limits_are_described() {
    let types = table("| type | name | meaning |");
    assert_eq!(types.len(), FieldType::ALL.len());
    for (row, ty) in types.iter().zip(FieldType::ALL) {
        assert_eq!(row[..2], [ty.code().to_string(), ty.name().to_owned()]);
    }
    let forms = table("| form | name | contents |");
    let forms: Vec<_> = forms.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(forms, ["1", "2", "3"]);
    let page = page::page();
    for text in [
        format!("the number of its bytes, {NAME_BYTES} at most"),
        format!("Number of sections, {SECTIONS_MAX} at most"),
        format!("bytes of a struct, from 1 to {STRUCT_BYTES_MAX}"),
        format!("{HEADER_BYTES_MAX} at most"),
        format!("header           {HEADER_BYTES} bytes"),
    ] {
        assert!(page.contains(&text), "{text}");
    }
}

/// All reasons, with the numbers of the page.
fn reasons() -> Vec<Refused> {
    let (found, known) = (2, 1);
    vec![
        Refused::Empty,
        Refused::NotAStatsFile,
        Refused::OtherFormat { found, known },
        Refused::HeaderLength { bytes: 12 },
        Refused::Truncated {
            bytes: 100,
            expected: 290,
        },
        Refused::TooLong {
            bytes: 300,
            expected: 290,
        },
        Refused::HeaderChecksum {
            found: 0xFF,
            expected: 0xE0FA_CE7B,
        },
        Refused::PayloadChecksum {
            found: 0xFF,
            expected: 0xE9F7_8FA8,
        },
        Refused::Malformed {
            at: 224,
            what: "the length of a struct cannot be",
        },
        Refused::OtherByteOrder,
        Refused::OtherSubject {
            found: Subject::Database(5),
            expected: Subject::Database(0),
        },
        Refused::OtherMajor {
            found: 15,
            expected: 18,
        },
        Refused::OtherStatsFormat {
            found: 0x01A5_BCA7,
            expected: 0x01A5_BCB7,
        },
        Refused::OtherCatalog {
            found: 202_209_061,
            expected: 202_506_291,
        },
        Refused::OtherSystem {
            found: 7_123_456_789_012_345_678,
            expected: 7_123_456_789_012_345_679,
        },
        Refused::OtherDirectory,
        Refused::OtherHistory { timeline: 3 },
        Refused::AfterTheEnd {
            timeline: 1,
            flush_lsn: 0x500_0000,
            end: 0x300_0000,
        },
    ]
}

#[test]
fn all_reasons_are_described() {
    let expected: Vec<_> = reasons()
        .iter()
        .map(|refused| {
            let damaged = if refused.is_damage() { "yes" } else { "no" };
            vec![refused.to_string(), damaged.to_owned()]
        })
        .collect();
    assert_eq!(table("| reason | damaged |"), expected);
    // No reason is left out here.
    let source = include_str!("../src/refused.rs");
    assert_eq!(source.matches("#[error(").count(), expected.len());
}
