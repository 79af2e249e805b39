//! Whatever happens to a file, it is refused, and for the reason that docs/stats-files.md gives.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/page.rs"]
mod page;
#[path = "support/raw.rs"]
mod raw;
mod support;

use raw::{seal, section, with_payload};
use statsfile::{Envelope, HEADER_BYTES_MAX, Refused, StatsFile, Subject};
use support::{common_file, database_file};

fn files() -> [Vec<u8>; 2] {
    [database_file().to_bytes(), common_file().to_bytes()]
}

#[test]
fn every_flipped_bit_is_seen() {
    for good in files() {
        assert!(StatsFile::verify(&good).is_ok());
        let mut bytes = good.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let refused = StatsFile::verify(&bytes).unwrap_err();
            assert!(
                refused.is_damage() || matches!(refused, Refused::OtherFormat { .. }),
                "bit {bit}: {refused}"
            );
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_truncation_is_seen() {
    for good in files() {
        for length in 0..good.len() {
            let refused = StatsFile::verify(&good[..length]).unwrap_err();
            match length {
                0 => assert_eq!(refused, Refused::Empty),
                _ => assert!(matches!(refused, Refused::Truncated { .. }), "{refused}"),
            }
            // What was of the file's length before it was written, as a file system leaves it.
            let mut bytes = good.clone();
            bytes[length..].fill(0);
            assert!(StatsFile::verify(&bytes).is_err() || bytes == good);
        }
    }
}

#[test]
fn whatever_follows_the_end_is_seen() {
    for good in files() {
        for tail in [&[0][..], b"END\n", &good] {
            let bytes = [&good, tail].concat();
            let refused = StatsFile::verify(&bytes).unwrap_err();
            let expected = Refused::TooLong {
                bytes: bytes.len() as u64,
                expected: good.len() as u64,
            };
            assert_eq!(refused, expected);
        }
    }
}

#[test]
fn parts_of_two_files_do_not_make_one() {
    let [one, two] = files();
    for border in [208, 216, 300] {
        let bytes = [&one[..border], &two[border..]].concat();
        assert!(StatsFile::verify(&bytes).unwrap_err().is_damage());
    }
}

#[test]
fn a_header_is_read_without_its_file() {
    let bytes = database_file().to_bytes();
    let envelope = Envelope::read(&bytes[..208]).unwrap();
    assert_eq!(envelope.header.subject, Subject::Database(16384));
    assert_eq!(envelope.header, database_file().header);
    assert_eq!(envelope.file_bytes(), bytes.len() as u64);
    let start = &bytes[..bytes.len().min(HEADER_BYTES_MAX)];
    assert_eq!(Envelope::read(start), Ok(envelope));
    // A file whose length is not right need not be read.
    assert_eq!(envelope.check_length(bytes.len() as u64), Ok(()));
    assert!(envelope.check_length(bytes.len() as u64 - 1).is_err());
    assert!(envelope.check_length(u64::MAX).is_err());
}

/// What is wrong with a file of one section of that body, and where in the body.
fn wrong(form: u32, body: &[u8]) -> (i64, &'static str) {
    let payload = [section(form, 2, body), b"END\n".to_vec()].concat();
    match StatsFile::verify(&with_payload(&payload, 1, 1, 8)) {
        Err(Refused::Malformed { at, what }) => (at as i64 - 224, what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_contradicts_the_format_is_refused_behind_right_checksums() {
    // Struct of 8 bytes, one entry, kind "t", no fields; then object 5, its bitmap, its value.
    let good = b"\x08\x01\x01t\x00\x05\x01\x02";
    let payload = [section(1, 2, good), b"END\n".to_vec()].concat();
    assert!(StatsFile::verify(&with_payload(&payload, 1, 1, 8)).is_ok());

    let bodies: &[(u32, &[u8], i64, &str)] = &[
        (1, b"", 0, "it ends too early"),
        (
            1,
            b"\x00\x01\x01t\x00",
            1,
            "the length of a struct cannot be",
        ),
        (
            1,
            b"\x81\x80\x40\x00\x01t\x00",
            3,
            "the length of a struct cannot be",
        ),
        (1, b"\x08\x01\x02t", 3, "it ends too early"),
        (1, b"\x08\x01\x41", 3, "a name is too long"),
        (1, b"\x08\x01\x01\x00\x00", 4, "a name has a zero byte"),
        (1, b"\x08\x01\x01\xFF\x00", 4, "a name is not UTF-8"),
        (
            1,
            b"\x88\x00\x01\x01t\x00",
            0,
            "a number is longer than it need be",
        ),
        (
            1,
            b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02",
            0,
            "a number has more than 64 bits",
        ),
        (1, b"\xFF\xFF\xFF", 0, "it ends too early"),
        // A field of nothing; beyond the struct; of half an integer; without a name; of 2^40 bytes.
        (
            1,
            b"\x08\x00\x01t\x01\x01f\x00\x00\x00",
            10,
            "a field has no name, or is not in its struct",
        ),
        (
            1,
            b"\x08\x00\x01t\x01\x01f\x00\x07\x02",
            10,
            "a field has no name, or is not in its struct",
        ),
        (
            1,
            b"\x08\x00\x01t\x01\x01f\x01\x00\x04",
            10,
            "a field has no name, or is not in its struct",
        ),
        (
            1,
            b"\x08\x00\x01t\x01\x00\x01\x00\x08",
            9,
            "a field has no name, or is not in its struct",
        ),
        (
            1,
            b"\x08\x00\x01t\x01\x01f\x00\x00\x80\x80\x80\x80\x80\x40",
            15,
            "the place of a field cannot be",
        ),
        (1, b"\x08\x00\x01t\xFF\xFF\xFF\x7F", 8, "it ends too early"),
        (
            1,
            b"\x08\x01\x01t\x00\x05\x02\x02",
            7,
            "the bitmap of an entry is longer than its struct",
        ),
        (
            1,
            b"\x08\x01\x01t\x00\x05\x01\x00",
            8,
            "a word that is marked as not zero is zero",
        ),
        (
            1,
            b"\x08\x02\x01t\x00\x05\x00\x00\x00",
            8,
            "two entries are of one object, or not in order",
        ),
        (
            1,
            b"\x08\x02\x01t\x00\x05\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x00",
            17,
            "an object id is too large",
        ),
        (1, b"\x08\x02\x01t\x00\x05\x01\x02", 8, "it ends too early"),
        (
            1,
            b"\x08\xFF\xFF\xFF\x7F\x01t\x00\x05\x00",
            10,
            "it ends too early",
        ),
        (
            1,
            b"\x08\x01\x01t\x00\x05\x01\x02\x00",
            8,
            "something follows the last entry of a section",
        ),
        (1, b"\x04\x01\x01t\x00\x05abc", 6, "it ends too early"),
        (2, b"\x08\x01\x01t\x00\x00\x00", 6, "an entry has no name"),
        (
            2,
            b"\x08\x02\x01t\x00\x01b\x00\x01a\x00",
            10,
            "two entries are of one object, or not in order",
        ),
        (3, b"", 0, "it ends too early"),
        (3, b"\x00\x00", 1, "something follows the last database"),
        (3, b"\x01\x80\x80\x80\x80\x10", 6, "an OID is too large"),
        (3, b"\x01\x05\x01a12345678", 12, "it ends too early"),
    ];
    for (form, body, at, what) in bodies {
        assert_eq!(wrong(*form, body), (*at, *what), "{body:x?}");
    }
    let row = b"\x01a1234567812345678\x01\x01";
    let twice = [&b"\x02\x05"[..], row, b"\x00", row].concat();
    assert_eq!(wrong(3, &twice), (23, "a database comes twice"));
    let beyond = [&b"\x02\xFF\xFF\xFF\xFF\x0F"[..], row, b"\x01", row].concat();
    assert_eq!(wrong(3, &beyond), (27, "an OID is too large"));
}

#[test]
fn sections_that_do_not_add_up_are_refused() {
    let one = section(1, 2, b"\x08\x01\x01t\x00\x05\x01\x02");
    let end = b"END\n".to_vec();
    let whole = [one.clone(), end.clone()].concat();
    let cases: &[(Vec<u8>, u32, u64, &str)] = &[
        (vec![], 0, 0, "its end marker is missing"),
        (b"END".to_vec(), 0, 0, "its end marker is missing"),
        (one.clone(), 1, 1, "its end marker is missing"),
        (whole.clone(), 0, 0, "its end marker is missing"),
        (
            whole.clone(),
            2,
            2,
            "it has fewer sections than its header says",
        ),
        (whole[..20].to_vec(), 1, 1, "it ends too early"),
        (
            [whole.clone(), vec![0]].concat(),
            1,
            1,
            "something follows its end marker",
        ),
        (
            [one.clone(), whole.clone()].concat(),
            2,
            2,
            "a section comes twice",
        ),
        (
            whole.clone(),
            1,
            2,
            "its entries are not as many as its header says",
        ),
        (
            whole.clone(),
            1,
            0,
            "its entries are not as many as its header says",
        ),
        (whole, 129, 1, "it has too many sections"),
    ];
    for (payload, sections, entries, expected) in cases {
        let bytes = with_payload(payload, *sections, *entries, *entries * 8);
        match StatsFile::verify(&bytes) {
            Err(Refused::Malformed { what, .. }) => assert_eq!(what, *expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_header_that_cannot_be_is_refused() {
    let good = database_file().to_bytes();
    let refused = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        seal(&mut file);
        StatsFile::verify(&file).unwrap_err()
    };
    assert_eq!(refused(0, b"x"), Refused::NotAStatsFile);
    assert_eq!(
        refused(8, &[2]),
        Refused::OtherFormat { found: 2, known: 1 }
    );
    assert_eq!(refused(12, &[207]), Refused::HeaderLength { bytes: 207 });
    let marker = 0x0102_0304_u32.swap_bytes().to_ne_bytes();
    assert_eq!(refused(16, &marker), Refused::OtherByteOrder);
    let malformed = |at, what| Refused::Malformed { at, what };
    let whose = malformed(68, "it does not say whose statistics it holds");
    assert_eq!(refused(68, &[3]), whose);
    assert_eq!(refused(68, &[2]), whose, "the cluster has no OID");
    let name = malformed(136, "something follows the database's name");
    assert_eq!(refused(141, b"x"), name);
}

/// Every contradiction that this file provokes is on the page, and no other.
#[test]
fn all_contradictions_are_described() {
    let described: Vec<_> = page::table("| what | |")
        .into_iter()
        .map(|mut row| row.swap_remove(0))
        .collect();
    let provoked = include_str!("damage.rs");
    for what in &described {
        assert!(provoked.contains(&format!("\"{what}\"")), "{what}");
    }
    let known = |what: &str| described.iter().any(|one| one == what);
    for source in [
        include_str!("../src/cursor.rs"),
        include_str!("../src/databases.rs"),
        include_str!("../src/file.rs"),
        include_str!("../src/header.rs"),
        include_str!("../src/section.rs"),
        include_str!("../src/varint.rs"),
        include_str!("../src/words.rs"),
    ] {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        // Texts with a space in them are what is told of a file.
        let texts = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for text in texts.flat_map(|line| line.split('"').skip(1).step_by(2)) {
            assert!(!text.contains(' ') || known(text), "{text}");
        }
    }
}
