//! `ckpt_stats_write_database(dboid, force)` and `ckpt_stats_restore_database(dboid, file)`.
//!
//! *Runs in:* the backend that calls them, which must have been granted the right.
//! *Reads and writes:* the first asks the collector and waits; the second reads a file and merges
//! it into the statistics itself, then has the collector write them.
//! *Never:* lets anybody but a superuser name a file of the server.

use std::path::Path;

use pgrx::pg_sys;
use pgrx::prelude::*;
use statseg::Segment;

use crate::collector::request::{self, Answer};
use crate::collector::restore_database;
use crate::error::Message;

pub(super) fn write(segment: &'static Segment, call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the install script declares (oid, boolean), STRICT.
    let database: Option<pg_sys::Oid> = unsafe { pgrx::fcinfo::pg_getarg(call, 0) };
    // SAFETY: likewise.
    let force: Option<bool> = unsafe { pgrx::fcinfo::pg_getarg(call, 1) };
    let database = database.map_or(0, |oid| oid.to_u32());
    let answer = request::write(segment, database, force.unwrap_or(false));
    let (code, primary, hint) = match answer {
        Answer::Written => return pg_sys::Datum::from(0),
        Answer::Failed => (
            PgSqlErrorCode::ERRCODE_IO_ERROR,
            "could not write statistics files".to_owned(),
            Some("See the server log for the reason.".to_owned()),
        ),
        Answer::Unknown => (
            PgSqlErrorCode::ERRCODE_INVALID_CATALOG_NAME,
            format!("the collector does not know database {database}"),
            None,
        ),
        Answer::Away => (
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "the collector is not running".to_owned(),
            Some(
                "Set \"ckptflush.enabled\" and \"ckptflush.collector\" to on, and see ckpt_stats_workers."
                    .to_owned(),
            ),
        ),
    };
    Message {
        code,
        primary,
        detail: None,
        hint,
    }
    .report(PgLogLevel::ERROR);
    pg_sys::Datum::from(0)
}

pub(super) fn restore(segment: &'static Segment, call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the install script declares (oid, text), STRICT.
    let database: Option<pg_sys::Oid> = unsafe { pgrx::fcinfo::pg_getarg(call, 0) };
    // SAFETY: likewise.
    let file: Option<String> = unsafe { pgrx::fcinfo::pg_getarg(call, 1) };
    let (database, file) = (
        database.map_or(0, |oid| oid.to_u32()),
        file.unwrap_or_default(),
    );
    // SAFETY: looks at the current user.
    if !unsafe { pg_sys::superuser() } {
        refuse(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            "must be superuser to restore statistics from a file".to_owned(),
            None,
        );
    }
    if request::find(segment, database).is_none() {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_CATALOG_NAME,
            format!("the collector does not know database {database}"),
            None,
        );
    }
    match restore_database(database, Path::new(&file)) {
        Ok(entries) => {
            request::look_after(segment, database);
            pg_sys::Datum::from(i64::try_from(entries).unwrap_or(i64::MAX))
        }
        Err(reason) => {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("could not restore statistics from file \"{file}\""),
                Some(reason),
            );
            pg_sys::Datum::from(0)
        }
    }
}

fn refuse(code: PgSqlErrorCode, primary: String, detail: Option<String>) {
    Message {
        code,
        primary,
        detail,
        hint: None,
    }
    .report(PgLogLevel::ERROR);
}
