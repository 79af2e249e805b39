//! Whatever happens to a file, it is refused, and for the reason that docs/stats-files.md gives.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use statsfile::{
    Envelope, Field, FieldType, HEADER_BYTES_MAX, Refused, Section, StatsFile, Subject,
};
use support::{Model, common_file, database_file};

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

/// A file with these bytes behind its header, which is right in all but what it counts.
fn with_payload(payload: &[u8], sections: u32, entries: u64, raw_bytes: u64) -> Vec<u8> {
    let mut bytes = database_file().to_bytes();
    bytes.truncate(208);
    bytes.extend(payload);
    bytes[76..80].copy_from_slice(&sections.to_le_bytes());
    bytes[112..120].copy_from_slice(&entries.to_le_bytes());
    bytes[120..128].copy_from_slice(&raw_bytes.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Sets length and checksums.
fn seal(bytes: &mut [u8]) {
    let payload_bytes = (bytes.len() - 208) as u64;
    let payload_crc = crc32c::crc32c(&bytes[208..]);
    bytes[128..136].copy_from_slice(&payload_bytes.to_le_bytes());
    bytes[200..204].copy_from_slice(&payload_crc.to_le_bytes());
    let header_crc = crc32c::crc32c(&bytes[..204]);
    bytes[204..208].copy_from_slice(&header_crc.to_le_bytes());
}

fn section(form: u32, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u64;
    [
        &form.to_le_bytes()[..],
        &kind.to_le_bytes(),
        &length.to_le_bytes(),
        body,
    ]
    .concat()
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

/// A file of a later program of this format version: a section of a form that is not known, a
/// field of a type that is not known, and a longer header.
#[test]
fn what_is_later_is_skipped() {
    let known = section(1, 2, b"\x08\x01\x01t\x01\x01f\x63\x00\x08\x05\x01\x02");
    let later = section(77, 2, b"whatever");
    let end = b"END\n".to_vec();
    let payload = [later.clone(), known.clone(), end.clone()].concat();
    // It may have entries of its own.
    let bytes = with_payload(&payload, 2, 3, 99);
    let file = StatsFile::verify(&bytes).unwrap();
    assert_eq!(file.skipped(), 1);
    let sections: Vec<Section<'_>> = file.sections().collect();
    assert_eq!(sections.len(), 1);
    let fields: Vec<_> = sections[0].fields().collect();
    assert_eq!(fields, [Field::new("f", FieldType::Opaque, 0, 8)]);
    assert_eq!(file.databases().count(), 0);

    let fewer = with_payload(&payload, 2, 0, 0);
    assert!(StatsFile::verify(&fewer).is_err(), "fewer than are there");
    let twice = [later.clone(), later, end].concat();
    assert!(StatsFile::verify(&with_payload(&twice, 2, 0, 0)).is_err());

    let model = database_file();
    let good = model.to_bytes();
    let mut longer = good[..204].to_vec();
    longer.extend(b"later figures");
    longer.resize(252, 0);
    longer[12..16].copy_from_slice(&256u32.to_le_bytes());
    let crc = crc32c::crc32c(&longer);
    longer.extend(crc.to_le_bytes());
    longer.extend(&good[208..]);
    assert_eq!(Model::decode(&longer), Ok(model));
    longer[210] ^= 1;
    let refused = StatsFile::verify(&longer).unwrap_err();
    assert!(matches!(refused, Refused::HeaderChecksum { .. }));
}
