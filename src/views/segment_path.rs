//! `ckpt_stats_segment_path()`: where the segment is, for tools that read it without SQL.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads this process's mapping.
//! *Never:* opens the file.

use pgrx::pg_sys;
use pgrx::prelude::*;
use statseg::Segment;

pub(super) fn call(segment: &'static Segment, _call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    let path = segment.path().to_string_lossy().into_owned();
    path.into_datum().unwrap_or(pg_sys::Datum::from(0))
}
