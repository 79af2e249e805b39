//! What a later program of this format version may write.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/raw.rs"]
mod raw;
mod support;

use raw::{seal, section, with_payload};
use statsfile::{Field, FieldType, Refused, Section, StatsFile};
use support::{Model, database_file};

#[test]
fn unknown_sections_and_types_are_passed_over() {
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
}

#[test]
fn a_longer_header_is_read() {
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

#[test]
fn another_format_is_refused_before_anything_else_is_believed() {
    let mut bytes = database_file().to_bytes();
    bytes[8] = 2;
    let refused = Err(Refused::OtherFormat { found: 2, known: 1 });
    assert_eq!(StatsFile::verify(&bytes).map(|_| ()), refused);
    seal(&mut bytes);
    assert_eq!(StatsFile::verify(&bytes).map(|_| ()), refused);
    bytes[12..].fill(0xFF);
    assert_eq!(StatsFile::verify(&bytes).map(|_| ()), refused);
}
