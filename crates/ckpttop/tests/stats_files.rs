//! What the viewer makes of stats files: of good, bad and strange ones.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use statsfile::{
    DatabaseRow, Encoder, Field, FieldType, Header, Identity, KindLayout, Name, Subject,
};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use support::{Dir, SYSTEM_IDENTIFIER, ckpttop, run, stdout, text};

const RELATION: &[Field<'_>] = &[
    Field::counter("numscans", 0),
    Field::gauge("live_tuples", 8),
    Field::timestamp("last_vacuum_time", 16),
];

fn header(subject: Subject, name: &str) -> Header {
    Header {
        identity: Identity {
            pg_major: 17,
            format_id: 0x01A5_BCAC,
            catalog_version: 202_406_281,
            system_identifier: SYSTEM_IDENTIFIER,
            control_device: 64_769,
            control_inode: 1_310_742,
        },
        timeline: 1,
        flush_lsn: 0x0159_2B48,
        subject,
        database_name: name.into(),
        written_at: 780_000_000_123_456,
        generation: 42,
        signature: 0xF00D,
        material_signature: u64::MAX,
    }
}

fn relation(numscans: i64, live: i64, vacuum: i64) -> Vec<u8> {
    let words = [numscans, live, vacuum];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn kind<'a>(
    kind: u32,
    name: &'a str,
    struct_len: usize,
    fields: &'a [Field<'a>],
) -> KindLayout<'a> {
    KindLayout {
        kind,
        name,
        struct_len,
        fields,
    }
}

/// The file of a database with `count` relations.
fn database(count: u64, name: &str) -> Vec<u8> {
    let mut encoder = Encoder::new(&header(Subject::Database(16384), name));
    let rows: Vec<_> = (0..count)
        .map(|n| relation(n as i64 + 7, -1, 780_000_000_000_001))
        .collect();
    let entries = (16385..).zip(rows.iter().map(Vec::as_slice));
    encoder
        .section(&kind(2, "relation", 24, RELATION), entries)
        .unwrap();
    encoder.section(&kind(3, "function", 24, &[]), []).unwrap();
    encoder.finish().to_vec()
}

fn written(dir: &Dir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_file_is_shown_with_its_fields_by_name() {
    let dir = Dir::new();
    let path = written(&dir, "16384.cks", &database(2, "shop"));
    let path = path.to_str().unwrap();
    let size = std::fs::metadata(path).unwrap().len();
    let looked = parse(&stdout(&["statsfile", path, "--json"]));
    let expected = json!({
        "file": path,
        "size_bytes": size,
        "refused_reason": null,
        "header": {
            "format_version": 1,
            "subject": "database",
            "datid": 16384,
            "datname": "shop",
            "pg_major": 17,
            "format_id": "01A5BCAC",
            "catalog_version": 202_406_281,
            "system_identifier": SYSTEM_IDENTIFIER.to_string(),
            "control_device": "64769",
            "control_inode": "1310742",
            "timeline": 1,
            "flush_lsn": "0/1592B48",
            "written_at": "2024-09-18T18:40:00.123456Z",
            "generation": 42,
            "signature": "000000000000F00D",
            "material_signature": "FFFFFFFFFFFFFFFF",
            "entries": 2,
            "raw_bytes": 48,
        },
        "sections": [
            {
                "kind": 2, "name": "relation", "entries": 2, "entry_bytes": 24, "fields": 3,
                "size_bytes": 85,
                "rows": [
                    { "objid": 16385, "numscans": 7, "live_tuples": -1,
                      "last_vacuum_time": "2024-09-18T18:40:00.000001Z" },
                    { "objid": 16386, "numscans": 8, "live_tuples": -1,
                      "last_vacuum_time": "2024-09-18T18:40:00.000001Z" },
                ],
            },
            {
                "kind": 3, "name": "function", "entries": 0, "entry_bytes": 24, "fields": 0,
                "size_bytes": 12, "rows": [],
            },
        ],
        "databases": [],
    });
    assert_eq!(looked, expected);

    let shown = stdout(&["statsfile", path]);
    for line in [
        "stats_file:",
        "  datname            | shop",
        "  flush_lsn          | 0/1592B48",
        "  kind name     entries entry_bytes fields size_bytes",
        "     2 relation       2          24      3         85",
        "relation:",
        "  objid numscans live_tuples last_vacuum_time",
        "  16386        8          -1 2024-09-18T18:40:00.000001Z",
        "function: no row",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    let summary = stdout(&["statsfile", path, "--summary"]);
    assert!(shown.starts_with(summary.trim_end()) && !summary.contains("relation:"));
    let summary = parse(&stdout(&["statsfile", path, "--summary", "--json"]));
    assert_eq!(summary["sections"][0]["entries"], 2);
    assert_eq!(summary["sections"][0].get("rows"), None);
}

#[test]
fn every_type_of_a_field_and_every_form_is_shown() {
    let dir = Dir::new();
    let mut encoder = Encoder::new(&header(Subject::Common, ""));
    let fields = [
        Field::new("last_wal", FieldType::Text, 0, 8),
        Field::new("times", FieldType::Timestamp, 8, 16),
        Field::new("counts", FieldType::Counter, 8, 16),
        Field::new("rest", FieldType::Opaque, 24, 2),
    ];
    let bytes = [
        b"00AB\0xyz".to_vec(),
        0i64.to_ne_bytes().to_vec(),
        5i64.to_ne_bytes().to_vec(),
        vec![1, 0xFE],
    ];
    let archiver = kind(7, "archiver", 26, &fields);
    encoder
        .section(&archiver, [(0, &bytes.concat()[..])])
        .unwrap();
    let slots = kind(4, "replslot", 3, &[]);
    encoder
        .named_section(&slots, [(Name::new("s\x1b[2J"), &b"abc"[..])])
        .unwrap();
    let row = DatabaseRow {
        oid: 5,
        name: Name::new(b"caf\xE9\n"),
        signature: 1,
        material_signature: 2,
        generation: 3,
        flush_lsn: 4,
    };
    encoder.databases([row]).unwrap();
    let path = written(&dir, "common.cks", encoder.finish());
    let path = path.to_str().unwrap();

    let looked = parse(&stdout(&["statsfile", "--json", path]));
    assert_eq!(looked["header"]["subject"], "cluster");
    assert_eq!(looked["header"]["datid"], Value::Null);
    let rows = json!([{
        "objid": 0,
        "last_wal": "00AB",
        "times": [null, "2000-01-01T00:00:00.000005Z"],
        "counts": [0, 5],
        "rest": "\\x01fe",
    }]);
    assert_eq!(looked["sections"][0]["rows"], rows);
    let rows = json!([{ "name": "s\u{1b}[2J", "struct": "\\x616263" }]);
    assert_eq!(looked["sections"][1]["rows"], rows);
    let databases = json!([{
        "datid": 5,
        "datname": "caf\u{fffd}\n",
        "generation": 3,
        "flush_lsn": "0/4",
        "signature": "0000000000000001",
        "material_signature": "0000000000000002",
    }]);
    assert_eq!(looked["databases"], databases);
    // A name does nothing to the terminal.
    let shown = stdout(&["statsfile", path]);
    assert!(shown.contains("  s\\u{1b}[2J \\x616263\n"), "{shown}");
    assert!(shown.contains(" caf\u{fffd}\\n "), "{shown}");
    assert!(
        shown
            .chars()
            .all(|shown| shown == '\n' || !shown.is_control())
    );
}

#[test]
fn a_bad_file_is_refused_and_the_others_are_shown() {
    let dir = Dir::new();
    let good = database(1, "shop");
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut later = good.clone();
    later[8] = 2;
    let written = |name: &str, bytes: &[u8]| {
        let path = written(&dir, name, bytes);
        path.to_str().unwrap().to_owned()
    };
    let paths = [
        written("flipped", &flipped),
        written("cut", &good[..good.len() - 1]),
        dir.path().join("missing").to_str().unwrap().to_owned(),
        written("good", &good),
        written("empty", b""),
        written("text", b"not a stats file"),
        written("later", &later),
    ];
    let mut arguments = vec!["statsfile", "--json"];
    arguments.extend(paths.iter().map(String::as_str));
    let done = run(&arguments);
    assert_eq!(done.status.code(), Some(1));
    let looks: Vec<_> = text(&done.stdout).lines().map(parse).collect();
    let reasons: Vec<_> = looks.iter().map(|look| &look["refused_reason"]).collect();
    let size = good.len();
    let cut = format!(
        "The file has {} bytes, and should have {size}: its end is missing.",
        size - 1
    );
    assert!(
        reasons[0]
            .as_str()
            .unwrap()
            .starts_with("The contents are damaged: ")
    );
    assert_eq!(reasons[1], &cut);
    assert_eq!(reasons[2], &Value::Null);
    assert_eq!(reasons[3], "The file is empty.");
    assert_eq!(reasons[4], "The file is not a stats file.");
    assert_eq!(
        reasons[5],
        "The file has format version 2, and this program reads version 1."
    );
    // Whose it is is known as long as the header is good; nothing else is shown.
    let ids: Vec<_> = looks
        .iter()
        .map(|look| look["header"]["datid"].as_u64())
        .collect();
    assert_eq!(
        ids,
        [Some(16384), Some(16384), Some(16384), None, None, None]
    );
    for (look, refused) in looks.iter().zip(&reasons) {
        assert_eq!(look["sections"].is_null(), !refused.is_null());
        assert_eq!(look["databases"].is_null(), !refused.is_null());
    }

    let errors = text(&done.stderr);
    for (path, is_refused) in paths
        .iter()
        .zip([true, true, false, false, true, true, true])
    {
        let refused = format!("ckpttop: error: stats file \"{path}\" is refused\n");
        assert_eq!(errors.contains(&refused), is_refused, "{errors}");
    }
    assert!(
        errors.contains(&format!("ckpttop: detail: {cut}\n")),
        "{errors}"
    );
    let missing = format!(
        "could not read stats file \"{}\": No such file or directory",
        paths[2]
    );
    assert!(errors.contains(&missing), "{errors}");
    let hint = "ckpttop: hint: Use the viewer that was installed with the server's extension.\n";
    assert!(errors.ends_with(hint), "{errors}");

    let done = run(&["statsfile", &paths[1]]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stdout).contains(&format!("  refused_reason     | {cut}\n")));
}

#[test]
fn who_has_seen_enough_ends_it() {
    let dir = Dir::new();
    let path = written(&dir, "16384.cks", &database(100_000, "shop"));
    let mut child = ckpttop(&["statsfile", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "stats_file:\n");
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty());
}
