//! docs/segment-layout.md against the code, and against a file read by nothing but that page.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use statseg::{
    Cause, CheckpointPhase, CollectedDatabase, CollectorState, CommitWindows, Event, EventKind,
    FileKey, FileRow, FlushMode, FlushState, History, Kind, Metric, MonitorState, Outcome, Phase,
    Progress, RecordType, Second, SegmentState, Stall, SyncState, Takeover, WaitRow, Worker,
    WorkerState,
};
use std::collections::BTreeMap;
use support::Dir;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/segment-layout.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the tables between a heading and the next one.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = page();
    let level = heading.split(' ').next().unwrap();
    let mut lines = page
        .lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .peekable();
    assert!(lines.peek().is_some(), "no heading \"{heading}\"");
    lines
        .take_while(|line| !line.starts_with('#') || line.split(' ').next().unwrap() > level)
        .filter(|line| line.starts_with('|') && !line.starts_with("|---"))
        .map(|line| {
            let cells = line.trim_matches('|').split(" | ");
            cells
                .map(|cell| cell.trim().trim_matches('`').to_owned())
                .collect()
        })
        .collect()
}

/// The words and names of the table below a heading that has these columns first.
fn words(heading: &str) -> BTreeMap<String, usize> {
    let rows = rows(heading).into_iter();
    rows.filter_map(|row| Some((row[1].clone(), row[0].split(' ').next()?.parse().ok()?)))
        .collect()
}

fn check_record<T: RecordType>() {
    let rows = rows(&format!("### {}", T::NAME));
    assert_eq!(rows.len(), T::FIELDS.len() + 1, "{}", T::NAME);
    for (bit, (row, field)) in rows[1..].iter().zip(T::FIELDS).enumerate() {
        let expected = [
            field.word.to_string(),
            field.words.to_string(),
            field.name.to_owned(),
            field.kind.to_owned(),
            if field.optional { "yes" } else { "no" }.to_owned(),
            bit.to_string(),
        ];
        assert_eq!(row[..6], expected, "{}", T::NAME);
        assert!(!row[6].is_empty());
    }
    let used = format!(
        "{} words used, stride {}.",
        T::WORDS,
        T::WORDS.next_multiple_of(8)
    );
    assert!(page().contains(&used), "{}: {used}", T::NAME);
}

#[test]
fn the_records_are_described() {
    check_record::<Progress>();
    check_record::<SyncState>();
    check_record::<MonitorState>();
    check_record::<Worker>();
    check_record::<Event>();
    check_record::<History>();
    check_record::<FlushState>();
    check_record::<Takeover>();
    check_record::<FileRow>();
    check_record::<Second>();
    check_record::<Stall>();
    check_record::<WaitRow>();
    check_record::<CollectorState>();
    check_record::<CollectedDatabase>();
}

#[test]
fn the_codes_are_described() {
    macro_rules! table {
        ($($name:ident),+) => {[$( (stringify!($name), $name::ALL.iter()
            .map(|(value, code)| format!("{code} = {value}"))
            .collect::<Vec<_>>()
            .join(", ")) ),+]};
    }
    let expected = table!(
        Kind,
        Cause,
        Phase,
        Outcome,
        WorkerState,
        EventKind,
        FlushMode,
        SegmentState,
        CheckpointPhase
    );
    let found = rows("## Codes");
    assert_eq!(found.len(), expected.len() + 1);
    for (found, (name, codes)) in found[1..].iter().zip(expected) {
        assert_eq!(found[..], [name.to_owned(), codes]);
    }
}

/// A reader that knows the page and the file, and nothing of the crate.
struct Stranger {
    bytes: Vec<u8>,
    header: BTreeMap<String, usize>,
}

impl Stranger {
    fn word(&self, word: usize) -> u64 {
        u64::from_ne_bytes(self.bytes[word * 8..word * 8 + 8].try_into().unwrap())
    }

    fn header(&self, name: &str) -> u64 {
        self.word(self.header[name])
    }

    fn text(&self, word: usize, words: usize) -> String {
        let bytes = &self.bytes[word * 8..(word + words) * 8];
        String::from_utf8_lossy(bytes)
            .trim_end_matches('\0')
            .to_owned()
    }

    /// First words of the entries of a directory.
    fn entries(&self, count: &str, offset: &str, words: usize) -> Vec<usize> {
        let start = usize::try_from(self.header(offset)).unwrap() / 8;
        (0..usize::try_from(self.header(count)).unwrap())
            .map(|i| start + i * words)
            .collect()
    }

    /// First word and stride of each section.
    fn sections(&self) -> Vec<(String, [usize; 5])> {
        let entries = self.entries("section_count", "sections_offset", 12);
        let section = |entry: usize| {
            let field = |i| usize::try_from(self.word(entry + i)).unwrap();
            (
                self.text(entry + 6, 6),
                [field(0), field(1) / 8, field(2) / 8, field(3), field(4)],
            )
        };
        entries.into_iter().map(section).collect()
    }

    fn section(&self, name: &str) -> [usize; 5] {
        self.sections()
            .into_iter()
            .find(|(found, _)| found == name)
            .unwrap()
            .1
    }

    /// The number of a metric among the steps.
    fn step(&self, name: &str) -> u64 {
        let entries = self.entries("metric_count", "metrics_offset", 32);
        let mut entries = entries.into_iter();
        let entry = entries.find(|e| self.text(e + 6, 6) == name).unwrap();
        self.word(entry + words("## Metrics")["step"])
    }

    /// The first words of a metric in slot 0 and in the baseline.
    fn metric(&self, name: &str) -> (usize, usize) {
        let entries = self.entries("metric_count", "metrics_offset", 32);
        let entry = entries
            .into_iter()
            .find(|e| self.text(e + 6, 6) == name)
            .unwrap();
        let field = |i| usize::try_from(self.word(entry + i)).unwrap();
        let slots = self.sections()[field(1)].1[1];
        (slots + field(2), self.section("baseline")[1] + field(4))
    }
}

#[test]
fn a_stranger_reads_a_segment_by_the_page_alone() {
    let dir = Dir::new();
    let segment = dir.create();
    segment.counter(Metric::NumDone).add(12);
    let transaction = Metric::transaction(CheckpointPhase::None);
    let mut steps = segment.steps(2).unwrap();
    steps.record(transaction.step().unwrap(), 777, |_| {
        segment.statistic_at(transaction, 2)
    });
    for ns in [1000, 5000] {
        segment.statistic(Metric::FileSyncTime).record(ns);
    }
    let history = History {
        checkpoint_id: 5,
        redo_lsn: Some(77),
        kind: Kind::Restartpoint,
        longest_sync_file: Some("base/5/16384".into()),
        ..History::default()
    };
    for _ in 0..6 {
        segment.history().push(&history);
    }
    segment
        .files_written()
        .update(&FileKey::Path, "pg_xact/0000", 1, |s| s.record_sync(9));

    let window = CommitWindows::number(1_700_000_000_000_000) + 3;
    segment.commit_windows(1).record(window, 500);
    segment.commit_windows(1).record(window, 700);

    segment
        .activity(2)
        .committed(1_700_000_001_000_000, 9000, true);
    segment
        .activity(2)
        .committed(1_700_000_001_000_000, 8000, false);

    let bytes = std::fs::read(dir.file()).unwrap();
    let stranger = Stranger {
        bytes,
        header: words("## Header"),
    };
    assert_eq!(stranger.bytes[..8], *b"CKPTSEG\n");
    assert_eq!(stranger.header("version"), 1);
    assert_eq!(stranger.header("bytes"), stranger.bytes.len() as u64);
    assert_eq!(
        stranger.header("system_identifier"),
        support::SYSTEM_IDENTIFIER
    );
    assert_eq!(stranger.header("port"), 5432);
    assert_eq!(stranger.header("generation"), 3);
    assert_eq!(stranger.header("pid"), u64::from(std::process::id()));
    assert_eq!(stranger.header("state"), SegmentState::Live.code());
    assert_eq!(
        stranger.header("created_at"),
        segment.created_at().cast_unsigned()
    );

    let (slot, baseline) = stranger.metric("num_done");
    assert_eq!(stranger.word(slot + 2) - stranger.word(baseline + 2), 12);
    let (slot, baseline) = stranger.metric("file_sync_time");
    let head: Vec<u64> = (1..6).map(|i| stranger.word(slot + i)).collect();
    assert_eq!(head, [stranger.word(baseline + 1), 2, 6000, 1000, 5000]);
    // 1000: its highest bit is the 9th, (9 - 3) * 8 + (1000 >> 6) = 63.
    assert_eq!(stranger.word(slot + 8 + 63), 1);

    let [_, ring, _, stride, count] = stranger.section("history");
    assert_eq!((count, stranger.word(ring)), (4, 6));
    let record = ring + 8 + (6 - 1) % count * stride;
    let rows = rows("### History");
    let field = |name: &str| {
        record
            + rows.iter().find(|r| r[2] == name).unwrap()[0]
                .parse::<usize>()
                .unwrap()
    };
    assert_eq!(
        (stranger.word(record) % 2, stranger.word(record + 1)),
        (0, 6)
    );
    assert_eq!(stranger.word(field("redo_lsn")), 77);
    assert_eq!(stranger.word(field("kind")), 2);
    assert_eq!(
        stranger.text(field("longest_sync_file"), 12),
        "base/5/16384"
    );

    let [_, windows, _, stride, _] = stranger.section("commit_windows");
    let place = windows + stride + 2 * usize::try_from(window % 4).unwrap();
    let described = words("## Commit windows");
    assert_eq!(stranger.word(place + described["number"]), window);
    let commits = stranger.word(place + described["commits"]);
    assert_eq!((commits >> 48, commits & ((1 << 48) - 1)), (2, 1200));

    let [_, activity, _, stride, _] = stranger.section("activity");
    let described = words("## Activity");
    let part = activity + 2 * stride;
    assert_eq!(stranger.word(part + described["commits"]), 2);
    assert_eq!(stranger.word(part + described["writes"]), 1);
    let longest = stranger.word(part + described["longest"] + 1_700_000_001 % 4);
    assert_eq!(longest >> 48, 1_700_000_001 & 0xffff);
    let wrote_at = stranger.word(part + described["wrote_at"]);
    assert_eq!(wrote_at, 1_700_000_001_000_000);
    assert_eq!(longest & ((1 << 48) - 1), 9000);

    let steps = part + 8;
    let described = words("### Steps");
    let step = stranger.word(steps + described["steps"]);
    assert_eq!(
        (step & 0xff, step >> 8),
        (stranger.step("transaction_time_none"), 777)
    );
    assert_eq!(stranger.word(steps + described["steps"] + 1), 0);
    let epochs =
        stranger.word(stranger.section("control")[1] + words("## Control")["metrics_epoch"]);
    assert_eq!(stranger.word(steps + described["steps_epoch"]), epochs);

    let epoch = stranger.word(stranger.section("control")[1] + words("## Control")["files_epoch"]);
    let [_, table, _, stride, count] = stranger.section("files_written");
    let used = (0..count)
        .filter(|i| stranger.word(table + i * stride + 1) == epoch)
        .count();
    assert_eq!(used, 1);
}

#[test]
fn the_sections_are_described() {
    let dir = Dir::new();
    let _segment = dir.create();
    let bytes = std::fs::read(dir.file()).unwrap();
    let stranger = Stranger {
        bytes,
        header: words("## Header"),
    };
    let described = rows("## Directory of sections");
    let described: Vec<_> = described
        .iter()
        .filter(|row| row.len() == 5)
        .skip(1)
        .collect();
    let found = stranger.sections();
    assert_eq!(described.len(), found.len());
    for (row, (name, [kind, _, _, stride, count])) in described.iter().zip(found) {
        assert_eq!((&row[0], &row[1]), (&name, &kind.to_string()));
        // What depends on the version or on settings is told in words.
        for (said, is) in [(&row[2], stride), (&row[3], count)] {
            assert!(
                said.parse().map_or(true, |said: usize| said == is),
                "{name}: {said}, {is}"
            );
        }
    }
}
