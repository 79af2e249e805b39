//! `ckpt_stats_info`: the library, its segment, and what it found on this machine.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the segment's header; asks the
//! kernel which calls it answers. *Never:* changes anything.

use statseg::Segment;

use super::rows::{Field, Rows};
use crate::kernel;

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let found = kernel::facilities();
    rows.push([
        Field::text(env!("CARGO_PKG_VERSION")),
        Field::count(segment.view().layout_version()),
        Field::count(segment.generation()),
        Field::text(segment.path().to_string_lossy()),
        Field::count(segment.bytes()),
        Field::at(segment.created_at()),
        Field::at(segment.view().reset_times().counters),
        Field::from(found.cachestat),
        Field::from(found.sync_file_range),
        Field::from(found.device_counters),
    ]);
}
