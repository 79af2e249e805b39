//! The keys of the JSON form are the columns of the SQL views, in their order.
#![allow(clippy::unwrap_used)]

mod support;

use statseg::{CheckpointPhase, FileKey, History, Second, Stall, Text, WaitKey};
use std::collections::BTreeMap;
use support::{Dir, alive, now_us, stdout};

/// The OUT columns of each function of the install script.
fn columns() -> BTreeMap<String, Vec<String>> {
    let sql = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ckptflush--1.0.0.sql");
    let sql = std::fs::read_to_string(sql).unwrap();
    let mut columns = BTreeMap::new();
    for function in sql.split("CREATE FUNCTION ").skip(1) {
        let (name, rest) = function.split_once('(').unwrap();
        let declared = rest.split(")\nRETURNS").next().unwrap();
        let out = declared.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("OUT")).then(|| words.next().unwrap().to_owned())
        });
        columns.insert(name.to_owned(), out.collect::<Vec<_>>());
    }
    columns
}

#[test]
fn keys_are_columns() {
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    alive(&segment, now_us());
    segment.history().push(&History::default());
    segment.timeline().push(&Second::default());
    segment.stalls().push(&Stall::default());
    let key = WaitKey {
        backend_type: Text::new("client backend"),
        wait_type: None,
        wait_event: None,
    };
    segment.waits().add(0, &key, CheckpointPhase::Syncing, 1);
    segment
        .files_synced()
        .update(&FileKey::Path, "pg_xact/0000", 1, |_| ());
    let out = stdout(&["-D", dir.path().to_str().unwrap(), "--once", "--json"]);
    let look: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&out).unwrap();
    let columns = columns();
    for (view, rows) in look.iter().filter(|(name, _)| *name != "ckpttop") {
        let row = rows.get(0).unwrap_or(rows).as_object().unwrap();
        let keys: Vec<_> = row.keys().cloned().collect();
        assert_eq!(Some(&keys), columns.get(view), "{view}");
    }
    // Every view that this version shows had a row.
    assert_eq!(look.len(), 13);
}
