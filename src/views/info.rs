//! `ckpt_stats_info`: the library, its segment, and what it found on this machine.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the segment's header; asks the
//! kernel which calls it answers. *Never:* changes anything.

use statseg::Segment;

use super::rows::{Field, Rows};
use crate::pgshim;

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let (cachestat, sync_file_range) = pgshim::facilities();
    rows.push([
        Field::text(env!("CARGO_PKG_VERSION")),
        Field::count(segment.view().layout_version()),
        Field::count(segment.generation()),
        Field::text(segment.path().to_string_lossy()),
        Field::count(segment.bytes()),
        Field::at(segment.created_at()),
        Field::at(segment.view().reset_times().counters),
        Field::from(cachestat),
        Field::from(sync_file_range),
        Field::from(device_counters()),
    ]);
}

/// Does the kernel count the writes of the device that the data directory is on?
fn device_counters() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(".").is_ok_and(|directory| {
        let device = directory.dev();
        // makedev(3): glibc's layout of a device number.
        let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
        let minor = (device & 0xff) | ((device >> 12) & !0xff);
        std::path::Path::new(&format!("/sys/dev/block/{major}:{minor}/stat")).exists()
    })
}
