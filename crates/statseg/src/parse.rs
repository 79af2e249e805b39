//! Reads the directories of a segment and believes nothing: every place is checked once, here,
//! and only checked places are used afterwards.
//!
//! *Runs in:* the postmaster (its own new segment) and every process that attaches.
//! *Reads and writes:* header and directories; they are copied, so what a foreign writer
//! changes later cannot move a place that was checked.
//! *Never:* panics, loops or reads out of bounds, whatever the words hold.
//!
//! Forward rule: sections and metrics of an unknown kind are skipped, records may be longer
//! than this version knows, and a metric this version knows may be missing.

use crate::activity::ACTIVITY_WORDS;
use crate::catalog::{METRICS, Metric, MetricKind};
use crate::collected::{CollectedDatabase, CollectorState, REQUEST_WORDS};
use crate::commit_windows::COMMIT_WINDOW_WORDS;
use crate::files::WAYS;
use crate::in_flight::GROUP_COMMIT_WORDS;
use crate::layout::{
    ALIGN_WORDS, CONTROL_WORDS, METRIC_ENTRY_WORDS, SECTION_ENTRY_WORDS, SLOT_HEADER_WORDS,
    Section, SectionKind, header,
};
use crate::observed::{Second, Stall, WaitRow};
use crate::record::RecordType;
use crate::records::{
    Event, FileRow, FlushState, History, MonitorState, Progress, SyncState, Takeover, Worker,
};
use crate::sync::{AtomicU64, Ordering};
use crate::text::Text;
use std::ops::Range;

/// What is wrong with a segment, in words.
pub(crate) type Corruption = String;

/// A metric with its place in the words of the segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) kind: MetricKind,
    /// Its first word in the first slot.
    pub(crate) first: usize,
    /// Words from slot to slot.
    pub(crate) stride: usize,
    pub(crate) slots: usize,
    /// Its first word in the baseline.
    pub(crate) baseline: usize,
    /// Its number, if it is first recorded as a step (crate::steps).
    pub(crate) step: Option<u64>,
}

/// A metric as the directory has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricEntry {
    pub(crate) name: Text<6>,
    pub(crate) unit: Text<2>,
    pub(crate) help: Text<18>,
    pub(crate) group: Text<6>,
    pub(crate) spot: Spot,
}

/// The sections this version knows.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) control: Section,
    pub(crate) progress: Section,
    pub(crate) sync_state: Section,
    pub(crate) monitor_state: Section,
    pub(crate) workers: Section,
    pub(crate) events: Section,
    pub(crate) history: Section,
    pub(crate) files_synced: Section,
    pub(crate) files_written: Section,
    pub(crate) files_flushed: Section,
    pub(crate) flush_state: Section,
    pub(crate) takeover: Section,
    pub(crate) commit_windows: Section,
    pub(crate) activity: Section,
    pub(crate) timeline: Section,
    pub(crate) stall: Section,
    pub(crate) stalls: Section,
    pub(crate) waits: Section,
    pub(crate) group_commit: Section,
    pub(crate) collector_state: Section,
    pub(crate) databases: Section,
    pub(crate) database_requests: Section,
}

/// All places of a segment, checked.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) bytes: u64,
    pub(crate) sections: Sections,
    pub(crate) metrics: Vec<MetricEntry>,
    /// The metrics this version knows, by number.
    known: [Option<Spot>; Metric::COUNT],
}

impl Layout {
    /// The place of a metric of the catalog, if the segment has it.
    #[inline]
    pub(crate) fn spot(&self, metric: Metric) -> Option<&Spot> {
        self.known[metric as usize].as_ref()
    }

    /// Reads and checks the directories.
    pub(crate) fn parse(words: &[AtomicU64]) -> Result<Self, Corruption> {
        let bytes = word(words, header::BYTES);
        let size = usize::try_from(bytes / 8)
            .ok()
            .filter(|size| *size <= words.len());
        let Some(words) = size.and_then(|size| words.get(..size)) else {
            return Err(format!("its size is given as {bytes} bytes"));
        };
        let (sections, ranges) = parse_sections(words)?;
        let metrics = parse_metrics(words, &sections, ranges)?;
        let known = std::array::from_fn(|i| {
            let def = &METRICS[i];
            let entry = metrics.iter().find(|m| m.name.as_str() == def.name)?;
            (entry.spot.kind == def.kind).then_some(entry.spot)
        });
        Ok(Self {
            bytes,
            sections: Sections::find(&sections)?,
            metrics,
            known,
        })
    }
}

/// The spots of all metrics, for a reset.
impl Layout {
    pub(crate) fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.metrics.iter().map(|metric| &metric.spot)
    }
}

impl Sections {
    fn find(sections: &[Option<Section>]) -> Result<Self, Corruption> {
        let find = |name: &str, kind, stride| {
            sections
                .iter()
                .flatten()
                .find(|s| s.name.as_str() == name)
                .filter(|s| s.kind == kind && s.stride >= stride && s.count >= 1)
                .copied()
                .ok_or_else(|| format!("section \"{name}\" is missing or has a wrong shape"))
        };
        let table = |name: &str| {
            let table = find(name, SectionKind::Table, FileRow::WORDS)?;
            if table.count.is_multiple_of(WAYS) {
                Ok(table)
            } else {
                Err(format!("section \"{name}\" does not hold whole sets"))
            }
        };
        Ok(Self {
            control: find("control", SectionKind::Words, CONTROL_WORDS)?,
            progress: find("progress", SectionKind::Record, Progress::WORDS)?,
            sync_state: find("sync_state", SectionKind::Record, SyncState::WORDS)?,
            monitor_state: find("monitor_state", SectionKind::Record, MonitorState::WORDS)?,
            workers: find("workers", SectionKind::Records, Worker::WORDS)?,
            events: find("events", SectionKind::Ring, Event::WORDS)?,
            history: find("history", SectionKind::Ring, History::WORDS)?,
            files_synced: table("files_synced")?,
            files_written: table("files_written")?,
            files_flushed: table("files_flushed")?,
            flush_state: find("flush_state", SectionKind::Record, FlushState::WORDS)?,
            takeover: find("takeover", SectionKind::Record, Takeover::WORDS)?,
            commit_windows: find("commit_windows", SectionKind::Words, COMMIT_WINDOW_WORDS)?,
            activity: find("activity", SectionKind::Words, ACTIVITY_WORDS)?,
            timeline: find("timeline", SectionKind::Ring, Second::WORDS)?,
            stall: find("stall", SectionKind::Record, Stall::WORDS)?,
            stalls: find("stalls", SectionKind::Ring, Stall::WORDS)?,
            waits: find("waits", SectionKind::Records, WaitRow::WORDS)?,
            group_commit: find("group_commit", SectionKind::Words, GROUP_COMMIT_WORDS)?,
            collector_state: find(
                "collector_state",
                SectionKind::Record,
                CollectorState::WORDS,
            )?,
            databases: find("databases", SectionKind::Records, CollectedDatabase::WORDS)?,
            database_requests: find("database_requests", SectionKind::Words, REQUEST_WORDS)?,
        })
    }
}

/// A word of the header or of a directory entry; what is not there reads as zero.
pub(crate) fn word(words: &[AtomicU64], at: usize) -> u64 {
    words.get(at).map_or(0, |w| w.load(Ordering::Relaxed))
}

fn index(words: &[AtomicU64], at: usize) -> Option<usize> {
    usize::try_from(word(words, at)).ok()
}

fn text<const N: usize>(words: &[AtomicU64], at: usize) -> Option<Text<N>> {
    let mut copy = [0; N];
    for (value, word) in copy.iter_mut().zip(words.get(at..at + N)?) {
        *value = word.load(Ordering::Relaxed);
    }
    Text::from_words(&copy)
}

/// A place given as offset and length in bytes, as words; `None` when it is not aligned, lies
/// in the header, or reaches beyond the end.
fn range(words: &[AtomicU64], offset: u64, bytes: u64) -> Option<Range<usize>> {
    let start = usize::try_from(offset / 8).ok()?;
    let length = usize::try_from(bytes / 8).ok()?;
    let end = start.checked_add(length)?;
    let aligned = offset.is_multiple_of(ALIGN_WORDS as u64 * 8) && bytes.is_multiple_of(8);
    (aligned && start >= header::WORDS && end <= words.len()).then_some(start..end)
}

/// A directory: its entries, and where it lies.
fn directory<'a>(
    words: &'a [AtomicU64],
    count: usize,
    offset: usize,
    entry: usize,
) -> Option<(std::slice::ChunksExact<'a, AtomicU64>, Range<usize>)> {
    let bytes = word(words, count).checked_mul(entry as u64 * 8)?;
    let range = range(words, word(words, offset), bytes)?;
    Some((words.get(range.clone())?.chunks_exact(entry), range))
}

/// All sections in the order of the directory, `None` for those of an unknown kind; and where
/// they and the directory lie.
type ParsedSections = (Vec<Option<Section>>, Vec<Range<usize>>);

fn parse_sections(words: &[AtomicU64]) -> Result<ParsedSections, Corruption> {
    let (entries, place) = directory(
        words,
        header::SECTION_COUNT,
        header::SECTIONS_OFFSET,
        SECTION_ENTRY_WORDS,
    )
    .ok_or("the directory of sections is out of bounds")?;
    let mut sections = Vec::with_capacity(entries.len());
    let mut ranges = vec![place];
    for (number, entry) in entries.enumerate() {
        let place = range(words, word(entry, 1), word(entry, 2))
            .ok_or_else(|| format!("section {number} is out of bounds"))?;
        ranges.push(place.clone());
        sections.push(match SectionKind::from_code(word(entry, 0)) {
            Some(kind) => Some(
                parse_section(entry, kind, place)
                    .ok_or_else(|| format!("section {number} has an impossible shape"))?,
            ),
            None => None,
        });
    }
    Ok((sections, ranges))
}

fn parse_section(entry: &[AtomicU64], kind: SectionKind, place: Range<usize>) -> Option<Section> {
    let stride = index(entry, 3)?;
    let count = index(entry, 4)?;
    let needed = stride.checked_mul(count)?.checked_add(kind.prefix())?;
    (needed <= place.len()).then_some(Section {
        kind,
        name: text(entry, 6)?,
        offset: place.start,
        words: place.len(),
        stride,
        count,
    })
}

fn parse_metrics(
    words: &[AtomicU64],
    sections: &[Option<Section>],
    mut ranges: Vec<Range<usize>>,
) -> Result<Vec<MetricEntry>, Corruption> {
    let (entries, place) = directory(
        words,
        header::METRIC_COUNT,
        header::METRICS_OFFSET,
        METRIC_ENTRY_WORDS,
    )
    .ok_or("the directory of metrics is out of bounds")?;
    ranges.push(place);
    ranges.sort_by_key(|range| (range.start, range.end));
    if ranges.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err("two of its parts overlap".to_owned());
    }
    let baseline = sections
        .iter()
        .flatten()
        .find(|s| s.kind == SectionKind::Baseline)
        .ok_or("there is no baseline")?;
    let mut metrics = Vec::with_capacity(entries.len());
    for (number, entry) in entries.enumerate() {
        let Some(kind) = MetricKind::from_code(word(entry, 0)) else {
            continue;
        };
        metrics.push(
            parse_metric(entry, kind, sections, baseline)
                .ok_or_else(|| format!("metric {number} is out of bounds or has no valid name"))?,
        );
    }
    Ok(metrics)
}

fn parse_metric(
    entry: &[AtomicU64],
    kind: MetricKind,
    sections: &[Option<Section>],
    baseline: &Section,
) -> Option<MetricEntry> {
    let slots = sections.get(index(entry, 1)?)?.as_ref()?;
    let at = index(entry, 2)?;
    let words = index(entry, 3)?;
    let base = index(entry, 4)?;
    let fits = slots.kind == SectionKind::Slots
        && at >= SLOT_HEADER_WORDS
        && words >= kind.words()
        && at.checked_add(words)? <= slots.stride
        && base.checked_add(words)? <= baseline.words;
    if !fits {
        return None;
    }
    Some(MetricEntry {
        name: text(entry, 6)?,
        unit: text(entry, 12)?,
        help: text(entry, 14)?,
        group: slots.name,
        spot: Spot {
            kind,
            first: slots.offset + at,
            stride: slots.stride,
            slots: slots.count,
            baseline: baseline.offset + base,
            step: Some(word(entry, 5)).filter(|step| *step != 0 && kind == MetricKind::Statistic),
        },
    })
}
