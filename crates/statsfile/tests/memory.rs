//! Memory is taken by what is in a file, not by what it claims, and not per entry.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/memory.rs"]
mod memory;
mod support;

use memory::{Counting, measure};
use statsfile::{Encoder, StatsFile, Subject};
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
}
