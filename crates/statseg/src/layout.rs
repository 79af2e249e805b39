//! The layout of the segment: its fixed places, and the plan of a new one.
//!
//! *Runs in:* the postmaster, which plans; everybody else knows the places.
//! *Reads and writes:* nothing; [`crate::build`] writes what is planned here and
//! [`crate::parse`] reads it back.
//! *Never:* holds an address: all places are offsets, each process maps where it likes.
//!
//! docs/segment-layout.md describes the same to the byte, for strangers.

use crate::activity::ACTIVITY_WORDS;
use crate::catalog::{Group, METRICS, MetricKind};
use crate::collected::{CollectedDatabase, CollectorState, REQUEST_WORDS};
use crate::commit_windows::COMMIT_WINDOW_WORDS;
use crate::files::WAYS;
use crate::in_flight::GROUP_COMMIT_WORDS;
use crate::observed::{Second, Stall, WaitRow};
use crate::record::RecordType;
use crate::records::{
    Event, FileRow, FlushState, History, MonitorState, Progress, SyncState, Takeover, Worker,
};
use crate::ring::RING_HEAD_WORDS;
use crate::steps::STEPS_WORDS;
use crate::text::Text;

/// The version of the layout. It changes only when an old reader would read wrong numbers:
/// new sections, metrics, and fields at the end of a record do not change it.
pub const LAYOUT_VERSION: u64 = 1;

/// The first eight bytes of a segment.
pub const MAGIC: [u8; 8] = *b"CKPTSEG\n";
/// Size of the header in bytes.
pub const HEADER_BYTES: u64 = 4096;

/// Words of an entry in the directory of sections.
pub(crate) const SECTION_ENTRY_WORDS: usize = 12;
/// Words of an entry in the directory of metrics.
pub(crate) const METRIC_ENTRY_WORDS: usize = 32;
/// Words before the first metric of a slot.
pub(crate) const SLOT_HEADER_WORDS: usize = 8;
/// Sections begin at multiples of a cache line.
pub(crate) const ALIGN_WORDS: usize = 8;
/// The segment is a multiple of this: the pages of every machine we run on.
const PAGE_WORDS: usize = 4096 / 8;
/// Words of a section with single words, such as "control".
pub(crate) const CONTROL_WORDS: usize = 16;

/// Places in the header.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    pub(crate) const GENERATION: usize = 2;
    pub(crate) const BYTES: usize = 3;
    pub(crate) const SECTION_COUNT: usize = 4;
    pub(crate) const SECTIONS_OFFSET: usize = 5;
    pub(crate) const METRIC_COUNT: usize = 6;
    pub(crate) const METRICS_OFFSET: usize = 7;
    pub(crate) const SYSTEM_IDENTIFIER: usize = 8;
    pub(crate) const PORT: usize = 9;
    pub(crate) const PG_VERSION_NUM: usize = 10;
    pub(crate) const PID: usize = 11;
    pub(crate) const CREATED_AT: usize = 12;
    pub(crate) const STATE: usize = 13;
    /// All words of the header.
    pub(crate) const WORDS: usize = super::HEADER_BYTES as usize / 8;
}

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Slots,
    Baseline,
    Record,
    Records,
    Ring,
    Table,
    Words,
}

impl SectionKind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Slots,
        Self::Baseline,
        Self::Record,
        Self::Records,
        Self::Ring,
        Self::Table,
        Self::Words,
    ];

    /// The code as it stands in the segment: from 1, in the order above.
    pub(crate) const fn code(self) -> u64 {
        self as u64 + 1
    }

    pub(crate) fn from_code(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Words before the first of the `count` parts.
    pub(crate) const fn prefix(self) -> usize {
        match self {
            Self::Ring => RING_HEAD_WORDS,
            _ => 0,
        }
    }
}

/// A section: `count` parts of `stride` words. Offset and length are in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    pub(crate) name: Text<6>,
    pub(crate) offset: usize,
    pub(crate) words: usize,
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

/// Where a metric stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: MetricKind,
    /// Index of the section with its slots.
    pub(crate) section: usize,
    /// Its first word in each slot.
    pub(crate) word: usize,
    /// Its words, in each slot and in the baseline.
    pub(crate) words: usize,
    /// Its first word in the baseline section.
    pub(crate) baseline: usize,
}

/// What a new segment needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory of the segment's file: on tmpfs.
    pub directory: std::path::PathBuf,
    /// The name of the file in it.
    pub file_name: String,
    /// The generation: grows with every segment the server makes.
    pub generation: u64,
    /// The system identifier of the cluster: says whose an old file is.
    pub system_identifier: u64,
    /// The server's port.
    pub port: u16,
    /// The server's version, as in `server_version_num`.
    pub pg_version_num: u32,
    /// Checkpoints to keep in the history; at least one is kept.
    pub history: u32,
    /// Files to keep in each of the three tables; rounded up to whole sets of 8.
    pub files: u32,
    /// Processes of the server that may commit; each has a slot and parts of its own.
    pub backends: u32,
    /// Seconds to keep in the timeline; at least one is kept.
    pub timeline: u32,
    /// Refuse a directory that is not on tmpfs. Only tests say no.
    pub require_tmpfs: bool,
}

impl Config {
    /// Slots of a group.
    pub(crate) fn slots(&self, group: Group) -> usize {
        match group {
            Group::Checkpointer | Group::Monitor | Group::Flusher | Group::Collector => 1,
            Group::Backends => (self.backends as usize).max(1),
        }
    }
}

/// The plan of a new segment: every section and every metric has its place.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) sections: Vec<Section>,
    /// In the order of [`METRICS`].
    pub(crate) metrics: Vec<Place>,
    pub(crate) sections_offset: usize,
    pub(crate) metrics_offset: usize,
    pub(crate) words: usize,
}

const fn aligned(words: usize, to: usize) -> usize {
    words.div_ceil(to) * to
}

const fn stride<T: RecordType>() -> usize {
    aligned(T::WORDS, ALIGN_WORDS)
}

/// Events between checkpointer and monitor: one checkpoint makes two.
const EVENTS: usize = 64;
/// Background workers of which a record is kept.
const WORKERS: usize = 4;
/// Stalls of which a record is kept.
const STALLS: usize = 1000;
/// Different waits, of different types of backends, that are told apart.
const WAITS: usize = 1024;
/// Databases of which the collector's state is shown; of further ones it is not.
const DATABASES: usize = 2048;

impl Plan {
    pub(crate) fn new(config: &Config) -> Self {
        let (metrics, slot_words, baseline_words) = Self::place_metrics();
        let sections = Self::list_sections(config, &slot_words, baseline_words);
        let sections_offset = header::WORDS;
        let metrics_offset = aligned(
            sections_offset + sections.len() * SECTION_ENTRY_WORDS,
            ALIGN_WORDS,
        );
        let mut plan = Self {
            words: metrics_offset + metrics.len() * METRIC_ENTRY_WORDS,
            sections,
            metrics,
            sections_offset,
            metrics_offset,
        };
        for section in &mut plan.sections {
            section.offset = aligned(plan.words, ALIGN_WORDS);
            section.words = section.kind.prefix() + section.stride * section.count;
            plan.words = section.offset + section.words;
        }
        plan.words = aligned(plan.words, PAGE_WORDS);
        plan
    }

    /// Gives each metric its words in the slots of its group and in the baseline. All metrics
    /// are whole cache lines, so no two writers ever share one.
    fn place_metrics() -> (Vec<Place>, [usize; Group::ALL.len()], usize) {
        let mut slot_words = [SLOT_HEADER_WORDS; Group::ALL.len()];
        let mut baseline = 0;
        let mut places = Vec::with_capacity(METRICS.len());
        for metric in &METRICS {
            let section = metric.group as usize;
            let words = aligned(metric.kind.words(), ALIGN_WORDS);
            places.push(Place {
                kind: metric.kind,
                section,
                word: slot_words[section],
                words: metric.kind.words(),
                baseline,
            });
            slot_words[section] += words;
            baseline += words;
        }
        (places, slot_words, baseline)
    }

    /// The sections without their places. Those of the groups come first: their index is the
    /// number of the group.
    fn list_sections(config: &Config, slot_words: &[usize], baseline: usize) -> Vec<Section> {
        let part = |kind, name, stride, count| Section {
            kind,
            name: Text::new(name),
            offset: 0,
            words: 0,
            stride,
            count,
        };
        let files = aligned((config.files as usize).max(1), WAYS);
        let history = (config.history as usize).max(1);
        let mut sections: Vec<Section> = Group::ALL
            .into_iter()
            .zip(slot_words)
            .map(|(group, words)| {
                part(
                    SectionKind::Slots,
                    group.section(),
                    *words,
                    config.slots(group),
                )
            })
            .collect();
        sections.extend([
            part(SectionKind::Baseline, "baseline", baseline, 1),
            // Every transaction looks at both: one page.
            part(SectionKind::Words, "control", CONTROL_WORDS, 1),
            part(SectionKind::Words, "group_commit", GROUP_COMMIT_WORDS, 1),
            part(SectionKind::Record, "progress", stride::<Progress>(), 1),
            part(SectionKind::Record, "sync_state", stride::<SyncState>(), 1),
            part(
                SectionKind::Record,
                "monitor_state",
                stride::<MonitorState>(),
                1,
            ),
            part(SectionKind::Records, "workers", stride::<Worker>(), WORKERS),
            part(SectionKind::Ring, "events", stride::<Event>(), EVENTS),
            part(SectionKind::Ring, "history", stride::<History>(), history),
            part(
                SectionKind::Table,
                "files_synced",
                stride::<FileRow>(),
                files,
            ),
            part(
                SectionKind::Table,
                "files_written",
                stride::<FileRow>(),
                files,
            ),
            part(
                SectionKind::Table,
                "files_flushed",
                stride::<FileRow>(),
                files,
            ),
            part(
                SectionKind::Record,
                "flush_state",
                stride::<FlushState>(),
                1,
            ),
            part(SectionKind::Record, "takeover", stride::<Takeover>(), 1),
            part(
                SectionKind::Words,
                "commit_windows",
                aligned(COMMIT_WINDOW_WORDS, ALIGN_WORDS),
                (config.backends as usize).max(1),
            ),
            part(
                SectionKind::Words,
                "activity",
                aligned(ACTIVITY_WORDS + STEPS_WORDS, ALIGN_WORDS),
                (config.backends as usize).max(1),
            ),
            part(
                SectionKind::Ring,
                "timeline",
                stride::<Second>(),
                (config.timeline as usize).max(1),
            ),
            part(SectionKind::Record, "stall", stride::<Stall>(), 1),
            part(SectionKind::Ring, "stalls", stride::<Stall>(), STALLS),
            part(SectionKind::Records, "waits", stride::<WaitRow>(), WAITS),
            part(
                SectionKind::Record,
                "collector_state",
                stride::<CollectorState>(),
                1,
            ),
            part(
                SectionKind::Records,
                "databases",
                stride::<CollectedDatabase>(),
                DATABASES,
            ),
            part(
                SectionKind::Words,
                "database_requests",
                aligned(REQUEST_WORDS, ALIGN_WORDS),
                DATABASES,
            ),
        ]);
        sections
    }
}

/// The size of the file a segment of this configuration needs.
#[must_use]
pub fn required_bytes(config: &Config) -> u64 {
    Plan::new(config).words as u64 * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Metric;

    fn plan() -> Plan {
        Plan::new(&Config {
            directory: "/nowhere".into(),
            file_name: "segment".to_owned(),
            generation: 1,
            system_identifier: 1,
            port: 5432,
            pg_version_num: 180_000,
            history: 100,
            files: 100,
            backends: 10,
            timeline: 60,
            require_tmpfs: false,
        })
    }

    #[test]
    fn no_two_writers_share_a_cache_line() {
        let plan = plan();
        for section in &plan.sections {
            assert!(
                section.offset.is_multiple_of(ALIGN_WORDS),
                "{}",
                section.name
            );
            assert!(
                section.stride.is_multiple_of(ALIGN_WORDS),
                "{}",
                section.name
            );
        }
        for place in &plan.metrics {
            assert!(place.word.is_multiple_of(ALIGN_WORDS));
            assert!(place.baseline.is_multiple_of(ALIGN_WORDS));
        }
    }

    #[test]
    fn places_do_not_overlap() {
        let plan = plan();
        let mut end = plan.metrics_offset + Metric::COUNT * METRIC_ENTRY_WORDS;
        for section in &plan.sections {
            assert!(section.offset >= end, "{}", section.name);
            end = section.offset + section.words;
        }
        assert!(end <= plan.words);
        for group in Group::ALL {
            let section = &plan.sections[group as usize];
            assert_eq!(section.name.as_str(), group.section());
            let mut end = SLOT_HEADER_WORDS;
            for place in plan.metrics.iter().filter(|p| p.section == group as usize) {
                assert_eq!(place.word, end);
                end += place.words;
            }
            assert_eq!(section.stride, end);
        }
    }
}
