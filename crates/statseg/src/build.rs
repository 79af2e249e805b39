//! Writes a planned segment into fresh words: header, directories, and what must not be zero.
//!
//! *Runs in:* the postmaster.
//! *Reads and writes:* a segment that nobody else uses yet.
//! *Never:* writes the version before all else is in place.

use crate::catalog::{METRICS, Metric};
use crate::codes::SegmentState;
use crate::collected::{CollectedDatabase, CollectorState};
use crate::control;
use crate::layout::{
    Config, LAYOUT_VERSION, MAGIC, METRIC_ENTRY_WORDS, Place, Plan, SECTION_ENTRY_WORDS, Section,
    SectionKind, header,
};
use crate::observed::{Stall, WaitRow};
use crate::record::{self, RecordType};
use crate::records::{FlushState, MonitorState, Progress, SyncState, Takeover, Worker};
use crate::statistic::{EPOCH, FIRST_EPOCH};
use crate::steps::StepNumber;
use crate::sync::{AtomicU64, Ordering};
use crate::text::Text;

/// Writes the plan into `words`, which are zero but for the magic.
pub(crate) fn build(words: &[AtomicU64], plan: &Plan, config: &Config, pid: u32, now: i64) {
    let set = |word: usize, value: u64| words[word].store(value, Ordering::Relaxed);
    set(header::MAGIC, u64::from_ne_bytes(MAGIC));
    set(header::GENERATION, config.generation);
    set(header::BYTES, plan.words as u64 * 8);
    set(header::SECTION_COUNT, plan.sections.len() as u64);
    set(header::SECTIONS_OFFSET, plan.sections_offset as u64 * 8);
    set(header::METRIC_COUNT, plan.metrics.len() as u64);
    set(header::METRICS_OFFSET, plan.metrics_offset as u64 * 8);
    set(header::SYSTEM_IDENTIFIER, config.system_identifier);
    set(header::PORT, u64::from(config.port));
    set(header::PG_VERSION_NUM, u64::from(config.pg_version_num));
    set(header::PID, u64::from(pid));
    set(header::CREATED_AT, now.cast_unsigned());
    set(header::STATE, SegmentState::Live.code());
    for (i, section) in plan.sections.iter().enumerate() {
        write_section(
            &words[plan.sections_offset + i * SECTION_ENTRY_WORDS..],
            section,
        );
        fill_section(
            &words[section.offset..section.offset + section.words],
            section,
            plan,
        );
    }
    for (i, place) in plan.metrics.iter().enumerate() {
        write_metric(
            &words[plan.metrics_offset + i * METRIC_ENTRY_WORDS..],
            i,
            place,
        );
    }
    // SYNC: publish SEGMENT
    words[header::VERSION].store(LAYOUT_VERSION, Ordering::Release);
}

fn put(words: &[AtomicU64], values: &[u64]) {
    for (word, value) in words.iter().zip(values) {
        word.store(*value, Ordering::Relaxed);
    }
}

/// kind, offset, bytes, stride in words, count, reserved, name.
fn write_section(entry: &[AtomicU64], section: &Section) {
    put(
        entry,
        &[
            section.kind.code(),
            section.offset as u64 * 8,
            section.words as u64 * 8,
            section.stride as u64,
            section.count as u64,
            0,
        ],
    );
    put(&entry[6..], &section.name.to_words());
}

/// kind, section, word, words, baseline word, step, name, unit, help.
fn write_metric(entry: &[AtomicU64], index: usize, place: &Place) {
    let metric = &METRICS[index];
    let step = Metric::ALL[index].step();
    put(
        entry,
        &[
            place.kind.code(),
            place.section as u64,
            place.word as u64,
            place.words as u64,
            place.baseline as u64,
            step.map_or(0, StepNumber::code),
        ],
    );
    put(&entry[6..], &Text::<6>::new(metric.name).to_words());
    put(&entry[12..], &Text::<2>::new(metric.unit).to_words());
    put(&entry[14..], &Text::<18>::new(metric.help).to_words());
}

/// What a section holds at first where zeros would say something wrong.
fn fill_section(words: &[AtomicU64], section: &Section, plan: &Plan) {
    match section.kind {
        SectionKind::Baseline => {
            for place in &plan.metrics {
                words[place.baseline + EPOCH].store(FIRST_EPOCH, Ordering::Relaxed);
            }
        }
        SectionKind::Words if section.name.as_str() == "control" => control::fill(words),
        SectionKind::Record | SectionKind::Records => {
            for part in words.chunks_exact(section.stride) {
                match section.name.as_str() {
                    "progress" => fill::<Progress>(part),
                    "sync_state" => fill::<SyncState>(part),
                    "monitor_state" => fill::<MonitorState>(part),
                    "flush_state" => fill::<FlushState>(part),
                    "takeover" => fill::<Takeover>(part),
                    "stall" => fill::<Stall>(part),
                    "waits" => fill::<WaitRow>(part),
                    "collector_state" => fill::<CollectorState>(part),
                    "databases" => fill::<CollectedDatabase>(part),
                    _ => fill::<Worker>(part),
                }
            }
        }
        SectionKind::Slots | SectionKind::Ring | SectionKind::Table | SectionKind::Words => {}
    }
}

/// A record that was never written reads as its default, not as a broken one.
fn fill<T: RecordType>(words: &[AtomicU64]) {
    record::store(words, 0, &T::default());
}
