//! What 1000 databases of 1000 entries cost: to encode, to verify, to decode.
#![allow(missing_docs, clippy::unwrap_used)]

mod cpu_time;
#[path = "../tests/support/mod.rs"]
mod support;

use cpu_time::CpuTime;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use statsfile::{Encoder, StatsFile, Subject, Translation};
use std::hint::black_box;
use support::{DATABASE_18, RELATION_15, RELATION_18, fields, header, layout, mix, plausible};

const DATABASES: u32 = 1000;
const RELATIONS: u64 = 1000;

fn files(c: &mut Criterion<CpuTime>) {
    let (relation, database) = (fields(RELATION_18), fields(DATABASE_18));
    let (relations, databases) = (
        layout(2, "relation", &relation),
        layout(1, "database", &database),
    );
    // One array of structs for each database, as the collector copies them out of the hash table:
    // in the order of the hash.
    let structs: Vec<Vec<u8>> = (0..DATABASES)
        .map(|db| {
            let seed = |n| mix(u64::from(db) << 32 | n);
            (0..RELATIONS)
                .flat_map(|n| plausible(&relation, seed(n)))
                .collect()
        })
        .collect();
    let mut objids: Vec<u64> = (16384..16384 + RELATIONS).collect();
    objids.sort_by_key(|objid| mix(*objid));
    let raw_bytes: usize = structs.iter().map(Vec::len).sum();

    let mut encoder = Encoder::new(&header(Subject::Database(0)));
    let mut encode = |db: u32| {
        encoder.begin(&header(Subject::Database(db)));
        let structs = structs[db as usize].chunks_exact(relations.struct_len);
        encoder
            .section(&relations, objids.iter().copied().zip(structs))
            .unwrap();
        let entry = plausible(&database, u64::from(db));
        encoder.section(&databases, [(0, &entry[..])]).unwrap();
        encoder.finish().to_vec()
    };
    let files: Vec<Vec<u8>> = (0..DATABASES).map(&mut encode).collect();
    let bytes: usize = files.iter().map(Vec::len).sum();
    println!("{raw_bytes} bytes of structs, {bytes} bytes of files");

    let mut group = c.benchmark_group("1000x1000");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(DATABASES) * RELATIONS));
    group.bench_function("encode", |b| {
        b.iter(|| (0..DATABASES).map(|db| encode(db).len()).sum::<usize>());
    });
    group.bench_function("verify", |b| {
        b.iter(|| {
            files
                .iter()
                .filter(|bytes| StatsFile::verify(bytes).is_ok())
                .count()
        });
    });
    group.bench_function("verify_and_decode", |b| {
        b.iter(|| {
            decode(&files, |bytes| {
                black_box(bytes);
            })
        })
    });
    let old = fields(RELATION_15);
    let translation = Translation::between(relation.iter().copied(), &old);
    let mut to = vec![0; 8 * old.len()];
    group.bench_function("verify_decode_and_translate", |b| {
        b.iter(|| {
            decode(&files, |bytes| {
                translation.apply(bytes, &mut to);
                black_box(&to);
            })
        })
    });
    group.finish();
}

/// Verifies all files, and then reads them.
fn decode(files: &[Vec<u8>], mut each: impl FnMut(&[u8])) {
    for bytes in files {
        let file = StatsFile::verify(bytes).unwrap();
        for section in file.sections() {
            let mut entries = section.entries();
            while let Some(entry) = entries.next_entry() {
                each(entry.bytes);
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = files
}
criterion_main!(benches);
