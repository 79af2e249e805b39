//! A file is made and read.
#![allow(missing_docs, clippy::unwrap_used)]
use statsfile::*;

#[test]
fn a_file_is_read_as_it_was_made() {
    let header = Header {
        identity: Identity::default(),
        timeline: 1,
        flush_lsn: 5,
        subject: Subject::Database(5),
        database_name: "postgres".into(),
        written_at: 1,
        generation: 2,
        signature: 3,
        material_signature: 4,
    };
    let mut encoder = Encoder::new(&header);
    let fields = [
        Field::counter("numscans", 0),
        Field::gauge("live_tuples", 8),
    ];
    let layout = KindLayout {
        kind: 2,
        name: "relation",
        struct_len: 18,
        fields: &fields,
    };
    let one = [&7i64.to_ne_bytes()[..], &(-3i64).to_ne_bytes()[..], b"ab"].concat();
    let two = [0; 18];
    encoder
        .section(&layout, [(9, &one[..]), (4, &two[..])])
        .unwrap();
    let bytes = encoder.finish().to_vec();
    let file = StatsFile::verify(&bytes).unwrap();
    assert_eq!(*file.header(), header);
    let section = file.sections().next().unwrap();
    assert_eq!(section.fields().collect::<Vec<_>>(), fields);
    let mut entries = section.entries();
    assert_eq!(entries.next_entry().unwrap().bytes, two);
    let entry = entries.next_entry().unwrap();
    assert_eq!((entry.key, entry.bytes), (Key::Object(9), &one[..]));
    assert_eq!(fields[1].integers(entry.bytes).next(), Some(-3));
    assert!(entries.next_entry().is_none());
}
