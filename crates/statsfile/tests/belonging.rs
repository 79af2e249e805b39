//! Which files a server takes for its own, and entries of one major in another.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use statsfile::{
    Encoder, Field, FieldType, Header, Identity, Refused, StatsFile, Stretch, Subject, Translation,
};
use support::{
    DATABASE_15, DATABASE_18, FUNCTION, RELATION_15, RELATION_18, fields, header, layout, words,
};

#[test]
fn files_of_others_are_refused_and_not_called_damaged() {
    let ours = header(Subject::Database(5)).identity;
    assert_eq!(ours.check(&ours), Ok(()));
    let others: [(Identity, &str); 5] = [
        (
            Identity {
                system_identifier: 9,
                ..ours
            },
            "The file is of the cluster with system identifier 9, and this is 7123456789012345678.",
        ),
        (
            Identity {
                pg_major: 15,
                ..ours
            },
            "The file was written by PostgreSQL 15, and this is PostgreSQL 17.",
        ),
        (
            Identity {
                catalog_version: 202_405_011,
                ..ours
            },
            "The file was written by a server with catalog version 202405011, and this server has \
             202406281.",
        ),
        (
            Identity {
                format_id: 0x01A5_BCAB,
                ..ours
            },
            "The file was written by a server whose statistics have format 01A5BCAB, and this \
             server has 01A5BCAC.",
        ),
        (
            Identity {
                control_inode: 1,
                ..ours
            },
            "The file was written in another data directory, of which this one is a copy.",
        ),
    ];
    for (identity, text) in others {
        let refused = identity.check(&ours).unwrap_err();
        assert_eq!(refused.to_string(), text);
        assert!(!refused.is_damage());
    }
}

/// After a reboot the same file system may have another number.
#[test]
fn a_file_from_before_the_device_was_renumbered_is_taken() {
    let ours = header(Subject::Database(5)).identity;
    let before = Identity {
        control_device: 1,
        ..ours
    };
    let header = Header {
        identity: before,
        ..header(Subject::Database(5))
    };
    let mut encoder = Encoder::new(&header);
    let bytes = encoder.finish().to_vec();
    let file = StatsFile::verify(&bytes).unwrap();
    assert_eq!(file.header().identity, before);
    assert_eq!(file.header().identity.check(&ours), Ok(()));
}

#[test]
fn a_file_must_hold_what_its_name_says() {
    let header = header(Subject::Database(5));
    assert_eq!(header.check_subject(Subject::Database(5)), Ok(()));
    let cases = [
        (
            Subject::Database(6),
            "The file holds the statistics of database 5, not of database 6.",
        ),
        (
            Subject::Database(0),
            "The file holds the statistics of database 5, not of shared relations.",
        ),
        (
            Subject::Common,
            "The file holds the statistics of database 5, not of the cluster.",
        ),
    ];
    for (expected, text) in cases {
        let refused = header.check_subject(expected).unwrap_err();
        assert_eq!(refused.to_string(), text);
        assert!(!refused.is_damage());
    }
}

#[test]
fn a_file_must_be_of_the_servers_past() {
    // Promoted at 0/3000000 to timeline 2; the WAL ends at 0/5000000 after recovery.
    let history = [
        Stretch {
            timeline: 2,
            end: 0x500_0000,
        },
        Stretch {
            timeline: 1,
            end: 0x300_0000,
        },
    ];
    let check = |timeline, flush_lsn| {
        let header = Header {
            timeline,
            flush_lsn,
            ..header(Subject::Common)
        };
        header.check_history(&history)
    };
    assert_eq!(check(1, 0x300_0000), Ok(()));
    assert_eq!(check(2, 0x500_0000), Ok(()));
    assert_eq!(check(2, 0x1), Ok(()));
    let text = |timeline, flush_lsn| check(timeline, flush_lsn).unwrap_err().to_string();
    assert_eq!(
        text(1, 0x300_0001),
        "The file was written at 0/3000001 of timeline 1, which for this server ended at 0/3000000."
    );
    assert_eq!(
        text(2, 0x12_0500_0000),
        "The file was written at 12/5000000 of timeline 2, which for this server ended at 0/5000000."
    );
    assert_eq!(
        text(3, 1),
        "The file is of timeline 3, which is not in this server's history."
    );
    assert!(matches!(
        check(3, 1),
        Err(Refused::OtherHistory { timeline: 3 })
    ));
}

/// The value of a field of a struct.
fn value(fields: &[Field<'_>], name: &str, bytes: &[u8]) -> i64 {
    let field = fields.iter().find(|field| field.name == name).unwrap();
    field.integers(bytes).next().unwrap()
}

#[test]
fn entries_of_15_are_carried_to_18_by_name() {
    let (old, new) = (fields(RELATION_15), fields(RELATION_18));
    let from = words(&(1..=21).collect::<Vec<_>>());
    let mut to = vec![0xFF; 8 * new.len()];
    // By way of a file, as an import goes.
    let mut encoder = Encoder::new(&header(Subject::Database(5)));
    encoder
        .section(&layout(2, "relation", &old), [(1, &from[..])])
        .unwrap();
    let file = StatsFile::verify(encoder.finish()).unwrap();
    let section = file.sections().next().unwrap();
    let translation = Translation::between(section.fields(), &new);
    assert_eq!(translation.fields(), 21);
    translation.apply(section.entries().next_entry().unwrap().bytes, &mut to);
    let expected = [
        ("numscans", 1),
        ("tuples_returned", 2),
        ("tuples_hot_updated", 7),
        ("live_tuples", 8),
        ("dead_tuples", 9),
        ("mod_since_analyze", 10),
        ("ins_since_vacuum", 11),
        ("blocks_hit", 13),
        ("last_vacuum_time", 14),
        ("vacuum_count", 15),
        ("last_autovacuum_time", 16),
        ("autovacuum_count", 17),
        ("last_analyze_time", 18),
        ("analyze_count", 19),
        ("last_autoanalyze_time", 20),
        ("autoanalyze_count", 21),
        // 15 does not have these.
        ("lastscan", 0),
        ("tuples_newpage_updated", 0),
        ("total_vacuum_time", 0),
        ("total_autoanalyze_time", 0),
    ];
    for (name, number) in expected {
        assert_eq!(value(&new, name, &to), number, "{name}");
    }
    // And back: what 15 knows is there again.
    let mut back = vec![0xFF; 8 * old.len()];
    Translation::between(new.iter().copied(), &old).apply(&to, &mut back);
    assert_eq!(back, from);
}

#[test]
fn every_field_of_15_has_its_place_in_18() {
    for (old, new, count) in [
        (RELATION_15, RELATION_18, 21),
        (DATABASE_15, DATABASE_18, 30),
    ] {
        let (old, new) = (fields(old), fields(new));
        assert_eq!(
            Translation::between(old.iter().copied(), &new).fields(),
            count
        );
        assert_eq!(old.len(), count);
    }
    let old = fields("+f_numcalls +f_total_time +f_self_time");
    let translation = Translation::between(old.iter().copied(), &fields(FUNCTION));
    assert_eq!(translation.fields(), 3);
}

#[test]
fn a_field_of_another_type_or_size_is_not_carried_over() {
    let from = [
        Field::counter("a", 0),
        Field::new("b", FieldType::Counter, 8, 16),
        Field::counter("c", 24),
        Field::new("text", FieldType::Text, 32, 3),
    ];
    let to = [
        Field::new("text", FieldType::Text, 0, 3),
        Field::gauge("a", 3),
        Field::counter("b", 11),
        Field::counter("c", 19),
        Field::counter("new", 27),
    ];
    let bytes = [words(&[1, 2, 3, 4]), b"xyz".to_vec()].concat();
    let mut target = vec![0xFF; 35];
    let translation = Translation::between(from.iter().copied(), &to);
    assert_eq!(translation.fields(), 2);
    translation.apply(&bytes, &mut target);
    let expected = [b"xyz".to_vec(), words(&[0, 0, 4, 0])].concat();
    assert_eq!(target, expected);
    // Structs of a length that was not told: nothing is carried, nobody panics.
    let mut short = [0xFF; 2];
    translation.apply(&bytes[..1], &mut short);
    assert_eq!(short, [0; 2]);
}
