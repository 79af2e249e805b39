//! Messages in PostgreSQL's style: primary, detail, hint, SQLSTATE.
//!
//! *Runs in:* every process. *Reads and writes:* nothing.
//! *Never:* is called from a hook of the checkpointer: nothing there may raise.

use pgrx::prelude::*;

/// What is reported, apart from its level.
pub(crate) struct Message {
    pub(crate) code: PgSqlErrorCode,
    pub(crate) primary: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
}

impl Message {
    /// Report at `level`; ERROR and above do not return.
    pub(crate) fn report(self, level: PgLogLevel) {
        let mut report =
            pgrx::pg_sys::panic::ErrorReport::new(self.code, self.primary, "ckptflush");
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        report.report(level);
    }
}

/// The answer of every view and function when the library was not preloaded.
pub(crate) fn not_preloaded() -> Message {
    Message {
        code: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        primary: "ckptflush must be loaded via \"shared_preload_libraries\"".to_owned(),
        detail: None,
        hint: Some(
            "Add \"ckptflush\" to \"shared_preload_libraries\" and restart the server.".to_owned(),
        ),
    }
}
