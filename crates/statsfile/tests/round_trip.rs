//! What is encoded is decoded, whatever it is; and a file is its contents' only form.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use statsfile::{
    DatabaseRow, EncodeError, Encoder, Field, FieldType, Header, Identity, KindLayout, Name,
    STRUCT_BYTES_MAX, StatsFile, Subject,
};
use support::{Model, OwnedField, Part, Table, common_file, database_file, header, words};

fn a_header() -> impl Strategy<Value = Header> {
    let identity = any::<(u32, u32, u32, u64, u64, u64)>().prop_map(|of| Identity {
        pg_major: of.0,
        format_id: of.1,
        catalog_version: of.2,
        system_identifier: of.3,
        control_device: of.4,
        control_inode: of.5,
    });
    let subject = prop_oneof![
        any::<u32>().prop_map(Subject::Database),
        Just(Subject::Common)
    ];
    let rest = any::<(u32, u64, i64, u64, u64, u64)>();
    (identity, subject, a_name(0), rest).prop_map(|(identity, subject, name, rest)| Header {
        identity,
        timeline: rest.0,
        flush_lsn: rest.1,
        subject,
        database_name: name,
        written_at: rest.2,
        generation: rest.3,
        signature: rest.4,
        material_signature: rest.5,
    })
}

fn a_name(least: usize) -> impl Strategy<Value = Name> {
    vec(1u8.., least..=64).prop_map(Name::new)
}

/// Words as counters are: mostly zero or small, some huge or below zero.
fn a_struct(struct_len: usize) -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        3 => Just(0i64),
        3 => 0..1000i64,
        1 => any::<i64>(),
        1 => Just(i64::MIN),
        1 => Just(i64::MAX),
        1 => Just(-1),
    ];
    let tail = vec(any::<u8>(), struct_len % 8);
    (vec(word, struct_len / 8), tail).prop_map(|(values, tail)| [words(&values), tail].concat())
}

fn some_fields(struct_len: usize) -> impl Strategy<Value = Vec<OwnedField>> {
    let places = struct_len as u32;
    let field = ("[a-z_]{1,64}", 0..5usize, 0..places, 0..places);
    vec(field, 0..8).prop_map(move |fields| {
        let fields = fields.into_iter();
        let field = fields.map(|(name, ty, offset, bytes)| {
            let ty = FieldType::ALL[ty];
            let bytes = 1 + bytes % (places - offset);
            let whole = bytes - if ty.is_integer() { bytes % 8 } else { 0 };
            (name, ty, offset, whole)
        });
        field.filter(|(.., bytes)| *bytes > 0).collect()
    })
}

fn a_table<K: Ord + std::fmt::Debug + Clone + 'static>(
    keys: BoxedStrategy<K>,
) -> impl Strategy<Value = Table<K>> {
    // A struct of many words now and then; mostly of all lengths around a few bytes of bitmap.
    prop_oneof![8 => 1..200usize, 1 => 1000..1100usize].prop_flat_map(move |struct_len| {
        let entries = btree_map(keys.clone(), a_struct(struct_len), 0..6);
        let kind = (any::<u32>(), "[a-z]{0,64}");
        (kind, some_fields(struct_len), entries).prop_map(move |((kind, name), fields, entries)| {
            Table {
                kind,
                name,
                struct_len,
                fields,
                entries,
            }
        })
    })
}

fn a_model() -> impl Strategy<Value = Model> {
    let objid = prop_oneof![0..20u64, 16384..17000u64, any::<u64>(), Just(u64::MAX)];
    let row = (a_name(0), any::<(u64, u64, u64, u64)>()).prop_map(|(name, numbers)| DatabaseRow {
        oid: 0,
        name,
        signature: numbers.0,
        material_signature: numbers.1,
        generation: numbers.2,
        flush_lsn: numbers.3,
    });
    let rows = btree_map(any::<u32>(), row, 1..5).prop_map(|rows| {
        let rows = rows.into_iter();
        Part::Databases(rows.map(|(oid, row)| DatabaseRow { oid, ..row }).collect())
    });
    let parts = vec(
        prop_oneof![
            3 => a_table(objid.boxed()).prop_map(Part::Objects),
            1 => a_table(a_name(1).boxed()).prop_map(Part::Named),
        ],
        0..5,
    );
    (a_header(), parts, proptest::option::of(rows)).prop_map(|(header, parts, rows)| Model {
        header,
        parts: parts.into_iter().chain(rows).collect(),
    })
}

/// Whether a kind comes twice.
fn has_twins(model: &Model) -> bool {
    let kind = |part: &Part| match part {
        Part::Objects(table) => (1, table.kind),
        Part::Named(table) => (2, table.kind),
        Part::Databases(_) => (3, 0),
    };
    let kinds: std::collections::BTreeSet<_> = model.parts.iter().map(kind).collect();
    kinds.len() < model.parts.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_encoded_is_decoded(models in vec(a_model(), 1..3)) {
        // One encoder for all: nothing of a file is left in the next one.
        let mut encoder = Encoder::new(&models[0].header);
        for model in models.iter().filter(|model| !has_twins(model)) {
            let bytes = model.encode(&mut encoder).unwrap();
            let decoded = Model::decode(&bytes).unwrap();
            prop_assert_eq!(&decoded, model);
            prop_assert_eq!(decoded.to_bytes(), bytes);
        }
    }

    #[test]
    fn rubbish_is_refused(bytes in vec(any::<u8>(), 0..2000)) {
        prop_assert!(StatsFile::verify(&bytes).is_err());
    }

    #[test]
    fn rubbish_behind_a_good_header_is_refused(bytes in vec(any::<u8>(), 0..500)) {
        let mut file = Encoder::new(&header(Subject::Database(5))).finish().to_vec();
        file.extend(bytes);
        prop_assert!(StatsFile::verify(&file).is_ok() == (file.len() == 212));
    }
}

#[test]
fn the_sums_of_a_file_are_those_of_its_sections() {
    for model in [database_file(), common_file()] {
        let bytes = model.to_bytes();
        let file = StatsFile::verify(&bytes).unwrap();
        let envelope = file.envelope();
        let sections: Vec<_> = file.sections().collect();
        assert_eq!(envelope.entries, sections.iter().map(|s| s.count).sum());
        let raw = |section: &statsfile::Section<'_>| section.count * section.struct_len as u64;
        assert_eq!(envelope.raw_bytes, sections.iter().map(raw).sum());
        assert_eq!(envelope.file_bytes(), bytes.len() as u64);
        assert_eq!(Model::decode(&bytes).unwrap(), model);
        assert_eq!(file.skipped(), 0);
    }
}

#[test]
fn sections_keep_their_order_and_entries_are_sorted() {
    let mut encoder = Encoder::new(&header(Subject::Database(5)));
    let layout = |kind| KindLayout {
        kind,
        name: "kind",
        struct_len: 1,
        fields: &[],
    };
    encoder
        .section(&layout(2), [(7, &[1][..]), (u64::MAX, &[2]), (0, &[3])])
        .unwrap();
    encoder.section(&layout(1), []).unwrap();
    let file = StatsFile::verify(encoder.finish()).unwrap();
    let kinds: Vec<_> = file.sections().map(|section| section.kind).collect();
    assert_eq!(kinds, [2, 1], "the entry of the database comes last");
    let mut entries = file.sections().next().unwrap().entries();
    let mut found = Vec::new();
    while let Some(entry) = entries.next_entry() {
        found.push((entry.key.object().unwrap(), entry.bytes[0]));
    }
    assert_eq!(found, [(0, 3), (7, 1), (u64::MAX, 2)]);
}

#[test]
fn what_cannot_be_is_not_encoded_and_leaves_no_trace() {
    let good = database_file();
    let mut encoder = Encoder::new(&good.header);
    let field = [Field::counter("a", 1)];
    let layout = |struct_len, fields| KindLayout {
        kind: 9,
        name: "kind",
        struct_len,
        fields,
    };
    let (one, two) = ([0u8; 8], [0u8; 9]);
    let entry = |objid, bytes| [(objid, bytes)];
    let errors = [
        encoder.section(&layout(0, &[]), []),
        encoder.section(&layout(STRUCT_BYTES_MAX + 1, &[]), []),
        encoder.section(&layout(8, &[]), entry(1, &two[..])),
        encoder.section(
            &layout(8, &[]),
            [(1, &one[..]), (2, &one[..]), (1, &one[..])],
        ),
        encoder.section(&layout(8, &field), []),
        encoder.named_section(&layout(8, &[]), [(Name::EMPTY, &one[..])]),
        encoder.named_section(
            &layout(8, &[]),
            [("a".into(), &one[..]), ("a".into(), &one[..])],
        ),
    ];
    let texts = errors.map(|error| error.unwrap_err().to_string());
    assert_eq!(
        texts,
        [
            "entries of statistics kind 9 have 0 bytes",
            "entries of statistics kind 9 have 1048577 bytes",
            "an entry of statistics kind 9 has 9 bytes instead of 8",
            "statistics kind 9 has two entries for object 1",
            "field \"a\" of statistics kind 9 cannot be",
            "statistics kind 9 has two entries named \"\", or no name",
            "statistics kind 9 has two entries named \"a\", or no name",
        ]
    );
    encoder.section(&layout(8, &[]), []).unwrap();
    let twice = encoder.section(&layout(8, &[]), []);
    assert_eq!(twice, Err(EncodeError::Twice { kind: 9 }));
    let many = (10..).map(|kind| KindLayout {
        kind,
        ..layout(8, &[])
    });
    let error = many
        .map(|layout| encoder.section(&layout, []))
        .find_map(Result::err);
    assert_eq!(error, Some(EncodeError::TooManySections));
    let file = StatsFile::verify(encoder.finish()).unwrap();
    assert_eq!(file.sections().count(), statsfile::SECTIONS_MAX);
    assert_eq!(good.encode(&mut encoder).unwrap(), good.to_bytes());
}

#[test]
fn names_are_cut_to_what_fits() {
    let long = "\u{e9}".repeat(40);
    let mut encoder = Encoder::new(&Header {
        database_name: long.as_str().into(),
        ..header(Subject::Database(5))
    });
    let fields = [Field::counter(&long, 0)];
    let layout = KindLayout {
        kind: 1,
        name: &long[..],
        struct_len: 8,
        fields: &fields,
    };
    encoder.section(&layout, []).unwrap();
    let file = StatsFile::verify(encoder.finish()).unwrap();
    assert_eq!(
        file.header().database_name.as_bytes(),
        &long.as_bytes()[..64]
    );
    let section = file.sections().next().unwrap();
    assert_eq!(section.name, &long[..64]);
    assert_eq!(section.fields().next().unwrap().name, &long[..64]);
}

#[test]
fn a_signature_may_come_after_the_entries() {
    let mut encoder = Encoder::new(&header(Subject::Database(5)));
    encoder.set_material_signature(7);
    let file = StatsFile::verify(encoder.finish()).unwrap();
    assert_eq!(file.header().material_signature, 7);
    // It was of that file only.
    encoder.begin(&header(Subject::Database(5)));
    let file = StatsFile::verify(encoder.finish()).unwrap();
    assert_ne!(file.header().material_signature, 7);
}
