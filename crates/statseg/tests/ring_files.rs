//! Rings and tables of files against simple models of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use proptest::prelude::*;
use statseg::{Config, FileKey, FileStats, History, Placement, ResetTarget, create};
use std::collections::BTreeMap;
use support::Dir;

fn history(n: u64) -> History {
    History {
        checkpoint_id: n,
        commits: Some(n * 10),
        ..History::default()
    }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// A ring is the tail of a list.
    #[test]
    fn a_ring_holds_the_last_records(
        capacity in 1..20u32,
        // Pushes, and now and then a reset.
        steps in prop::collection::vec(prop::option::weighted(0.95, any::<u64>()), 0..60),
    ) {
        let dir = Dir::new();
        let segment = create(&Config { history: capacity, ..dir.config() }).unwrap();
        let ring = segment.history();
        let mut model: Vec<u64> = Vec::new();
        let mut floor = 0;
        for step in steps {
            if let Some(n) = step {
                model.push(n >> 8);
                prop_assert_eq!(ring.push(&history(n >> 8)), model.len() as u64);
            } else {
                segment.reset(ResetTarget::History, 1, 1).unwrap();
                floor = model.len();
            }
            prop_assert_eq!(ring.head(), model.len() as u64);
            let oldest = floor.max(model.len().saturating_sub(capacity as usize));
            for index in 0..=model.len() {
                let id = index as u64 + 1;
                let expected =
                    model.get(index).filter(|_| index >= oldest).map(|n| history(*n));
                prop_assert_eq!(ring.get(id), expected, "id {}", id);
            }
            prop_assert_eq!(ring.get(0), None);
            let newest: Vec<u64> = ring.newest(3).map(|(id, _)| id).collect();
            let expected: Vec<u64> =
                (oldest..model.len()).rev().take(3).map(|i| i as u64 + 1).collect();
            prop_assert_eq!(newest, expected);
        }
    }
}

/// What the table should hold: by path, the stats and the last use.
type Model = BTreeMap<String, (FileStats, u64)>;

/// A file by a small number: every third one is not of a relation.
fn file(n: u32) -> (FileKey, String) {
    if n.is_multiple_of(3) {
        return (FileKey::Path, format!("pg_xact/{n:04X}"));
    }
    let key = FileKey::Relation {
        tablespace: 1663,
        database: 5,
        relfilenode: n / 2,
        fork: n % 2,
        segment: 0,
    };
    (key, format!("base/5/{n}"))
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_table_keeps_what_was_used_last(
        files in 8..40u32,
        steps in prop::collection::vec((0..60u32, 0..1000u64, prop::bool::weighted(0.01)), 0..300),
    ) {
        let dir = Dir::new();
        let segment = create(&Config { files, ..dir.config() }).unwrap();
        let table = segment.files_written();
        prop_assert_eq!(table.capacity(), files.next_multiple_of(8) as usize);
        let mut model = Model::new();
        for (used, (number, ns, reset)) in steps.into_iter().enumerate() {
            let used = used as u64;
            if reset {
                segment.reset(ResetTarget::Files, 1, 1).unwrap();
                model.clear();
                prop_assert_eq!(table.iter().count(), 0);
            }
            let (key, path) = file(number);
            let before: Model = model.clone();
            let placement = table.update(&key, &path, used, |stats| stats.record_sync(ns));
            let entry = model.entry(path).or_default();
            entry.0.record_sync(ns);
            entry.1 = used;
            let found: Model = table
                .iter()
                .map(|e| (e.path.as_str().to_owned(), (e.stats, e.last_used)))
                .collect();
            prop_assert_eq!(table.iter().count(), found.len(), "a file has two rows");
            let lost: Vec<_> = model.keys().filter(|p| !found.contains_key(*p)).cloned().collect();
            let was_there = before.contains_key(&file(number).1);
            match placement {
                Placement::Found => prop_assert!(was_there && lost.is_empty()),
                Placement::Inserted => prop_assert!(!was_there && lost.is_empty()),
                Placement::Evicted => {
                    prop_assert!(!was_there);
                    prop_assert_eq!(lost.len(), 1);
                    // Seven others of its set were used later.
                    let victim = model.remove(&lost[0]).unwrap().1;
                    prop_assert!(model.values().filter(|(_, used)| *used > victim).count() >= 8);
                }
            }
            prop_assert_eq!(&found, &model);
        }
    }
}

#[test]
fn files_are_told_apart_by_their_key() {
    let dir = Dir::new();
    let segment = create(&Config {
        files: 512,
        ..dir.config()
    })
    .unwrap();
    let table = segment.files_synced();
    let relation = |tablespace, database, relfilenode, fork, segment| FileKey::Relation {
        tablespace,
        database,
        relfilenode,
        fork,
        segment,
    };
    let keys = [
        relation(1, 0, 0, 0, 0),
        relation(0, 1, 0, 0, 0),
        relation(0, 0, 1, 0, 0),
        relation(0, 0, 0, 1, 0),
        relation(0, 0, 0, 0, 1),
        relation(0, 0, 0, 0, 0),
        FileKey::Path,
    ];
    for key in keys {
        assert_eq!(table.update(&key, "same", 1, |_| {}), Placement::Inserted);
    }
    for key in keys {
        assert_eq!(table.update(&key, "same", 2, |_| {}), Placement::Found);
    }
    // A relation is known by its numbers, whatever its path; other files by their path.
    assert_eq!(table.update(&keys[0], "moved", 3, |_| {}), Placement::Found);
    assert_eq!(
        table.update(&FileKey::Path, "other", 3, |_| {}),
        Placement::Inserted
    );
    assert!(
        table
            .iter()
            .any(|e| e.key == keys[0] && e.path.as_str() == "moved")
    );
    // A path that is too long is known by as much of it as fits.
    let long = "x".repeat(200);
    assert_eq!(
        table.update(&FileKey::Path, &long, 4, |_| {}),
        Placement::Inserted
    );
    assert_eq!(
        table.update(&FileKey::Path, &long, 5, |_| {}),
        Placement::Found
    );
    assert_eq!(table.iter().map(|e| e.path.as_str().len()).max(), Some(96));
}

/// All sets of a large table get their share of the files of real data directories.
#[test]
fn the_hash_spreads_neighbours() {
    let dir = Dir::new();
    let segment = create(&Config {
        files: 8 * 128,
        ..dir.config()
    })
    .unwrap();
    let table = segment.files_synced();
    let mut evicted = 0;
    for n in 0..512 {
        let key = FileKey::Relation {
            tablespace: 1663,
            database: 5,
            relfilenode: 16384 + n,
            fork: 0,
            segment: 0,
        };
        evicted += u32::from(table.update(&key, "", 1, |_| {}) == Placement::Evicted);
    }
    // Half full: with an even spread about one set in 50 has more than 8 files.
    assert!(
        evicted < 40,
        "{evicted} of 512 evicted from a table of 1024"
    );
}
