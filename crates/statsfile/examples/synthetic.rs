//! Adds tables that do not exist to the stats files of a server that has crashed, so that it
//! restores as many entries as a bench wants: `synthetic DIRECTORY ENTRIES`.
//!
//! *Runs in:* `bench/collector`. *Reads and writes:* the stats files in that directory.
//! *Never:* is given the files of a server that anybody needs.
#![allow(clippy::expect_used)]

use statsfile::{Encoder, Field, Key, KindLayout, StatsFile, Subject, file_name, parse_file_name};

/// Above all OIDs that a bench makes.
const FIRST: u64 = 1_000_000_000;

/// The number of the kind of relations, on all majors.
const RELATION: u32 = 2;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory");
    let wanted: u64 = arguments
        .next()
        .and_then(|it| it.parse().ok())
        .expect("a number of entries");
    let subjects: Vec<Subject> = std::fs::read_dir(&directory)
        .expect("the directory")
        .filter_map(|entry| parse_file_name(entry.ok()?.file_name().to_str()?))
        .filter(|subject| matches!(subject, Subject::Database(oid) if *oid > 5))
        .collect();
    let each = wanted / subjects.len() as u64;
    for subject in subjects {
        let path = format!("{directory}/{}", file_name(subject));
        let bytes = std::fs::read(&path).expect("a stats file");
        let file = StatsFile::verify(&bytes).expect("an undamaged file");
        std::fs::write(&path, enlarged(&file, each)).expect("room on disk");
    }
}

/// The file with so many relations.
fn enlarged(file: &StatsFile<'_>, wanted: u64) -> Vec<u8> {
    let mut encoder = Encoder::new(file.header());
    for section in file.sections() {
        let fields: Vec<Field<'_>> = section.fields().collect();
        let layout = KindLayout {
            kind: section.kind,
            name: section.name,
            struct_len: section.struct_len,
            fields: &fields,
        };
        let mut entries: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut stored = section.entries();
        while let Some(entry) = stored.next_entry() {
            if let Key::Object(object) = entry.key {
                entries.push((object, entry.bytes.to_vec()));
            }
        }
        if section.kind == RELATION {
            // As real ones are: the counters of those that there are.
            let models = entries.len().max(1);
            for number in entries.len() as u64..wanted {
                let model = entries[usize::try_from(number).unwrap_or(0) % models]
                    .1
                    .clone();
                entries.push((FIRST + number, model));
            }
        }
        let entries = entries
            .iter()
            .map(|(object, bytes)| (*object, bytes.as_slice()));
        encoder.section(&layout, entries).expect("a section");
    }
    encoder.finish().to_vec()
}
