//! Memory is taken by what is in a file, not by what it claims, and not per entry.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/memory.rs"]
mod memory;
#[path = "support/raw.rs"]
mod raw;
mod support;

use memory::{Counting, measure};
use raw::{section, with_payload};
use statsfile::{Encoder, STRUCT_BYTES_MAX, StatsFile, Subject};
use support::{RELATION_18, fields, header, layout, plausible};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test, for the allocator counts all threads.
#[test]
fn no_memory_is_taken_per_entry() {
    let fields = fields(RELATION_18);
    let layout = layout(2, "relation", &fields);
    let entries: Vec<_> = (0..5000u64).map(|n| plausible(&fields, n)).collect();
    // From the last to the first: the encoder must sort them.
    let all = || (0..5000).rev().map(|n| (n as u64, entries[n].as_slice()));
    let mut encoder = Encoder::new(&header(Subject::Database(5)));
    encoder.section(&layout, all()).unwrap();
    let bytes = encoder.finish().to_vec();

    let (result, _, calls) = measure(|| {
        encoder.begin(&header(Subject::Database(6)));
        encoder
            .section(&layout, all())
            .map(|()| encoder.finish().len())
    });
    assert_eq!(result, Ok(bytes.len()));
    assert_eq!(
        calls, 0,
        "the second file is made in the buffers of the first"
    );

    let (file, taken, _) = measure(|| StatsFile::verify(&bytes));
    assert_eq!(taken, 0, "verifying takes none at all");
    let file = file.unwrap();
    let (count, taken, calls) = measure(|| {
        let mut entries = file.sections().next().unwrap().entries();
        let mut count = 0;
        while entries.next_entry().is_some() {
            count += 1;
        }
        count
    });
    assert_eq!(
        (count, taken, calls),
        (5000, layout.struct_len, 1),
        "one struct"
    );

    let (result, taken, _) = measure(|| StatsFile::verify(&bytes[..bytes.len() - 1]).is_err());
    assert!(result && taken == 0);

    // The most that can be claimed, in a few bytes: structs of the greatest length, and as many as
    // there are numbers.
    let claims = b"\x80\x80\x40\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x01t\x00\x05\x01";
    let payload = [section(1, 2, claims), b"END\n".to_vec()].concat();
    let bytes = with_payload(&payload, 1, u64::MAX, u64::MAX);
    let (result, taken, _) = measure(|| StatsFile::verify(&bytes).is_err());
    assert!(result && taken == 0);

    // The greatest struct there can be needs its bitmap in the file.
    let body = [
        &b"\x80\x80\x40\x01\x01t\x00\x05"[..],
        &[0; STRUCT_BYTES_MAX / 64],
    ]
    .concat();
    let payload = [section(1, 2, &body), b"END\n".to_vec()].concat();
    let bytes = with_payload(&payload, 1, 1, STRUCT_BYTES_MAX as u64);
    let file = StatsFile::verify(&bytes).unwrap();
    let (count, taken, _) = measure(|| {
        let mut entries = file.sections().next().unwrap().entries();
        entries.next_entry().map(|entry| entry.bytes.len())
    });
    assert_eq!((count, taken), (Some(STRUCT_BYTES_MAX), STRUCT_BYTES_MAX));
}
