//! `ckpt_stats_reset(target)`: start to count anew.
//!
//! *Runs in:* the backend that calls it, which must have been granted the right.
//! *Reads and writes:* the segment's baseline; no writer is disturbed.
//! *Never:* touches PostgreSQL's own statistics.

use pgrx::pg_sys;
use pgrx::prelude::*;
use statseg::{ResetTarget, Segment};

use crate::error::Message;
use crate::process;

pub(super) fn call(segment: &'static Segment, call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the install script declares one argument of type text, STRICT.
    let target: Option<String> = unsafe { pgrx::fcinfo::pg_getarg(call, 0) };
    let Some(what) = target.as_deref().and_then(parse) else {
        unknown(&target.unwrap_or_default());
        return pg_sys::Datum::from(0);
    };
    if segment
        .reset(what, process::pid(), process::now_us())
        .is_err()
    {
        Message {
            code: PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            primary: "could not reset statistics".to_owned(),
            detail: Some("Another session is resetting them.".to_owned()),
            hint: Some("Try again.".to_owned()),
        }
        .report(PgLogLevel::ERROR);
    }
    pg_sys::Datum::from(0)
}

fn parse(target: &str) -> Option<ResetTarget> {
    match target {
        "all" => Some(ResetTarget::All),
        "counters" => Some(ResetTarget::Counters),
        "history" => Some(ResetTarget::History),
        "files" => Some(ResetTarget::Files),
        "waits" => Some(ResetTarget::Waits),
        "timeline" => Some(ResetTarget::Timeline),
        _ => None,
    }
}

fn unknown(target: &str) {
    Message {
        code: PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        primary: format!("unrecognized reset target: \"{target}\""),
        detail: None,
        hint: Some("Target must be \"all\", \"counters\", \"history\", \"files\", \"waits\", or \"timeline\".".to_owned()),
    }
    .report(PgLogLevel::ERROR);
}
