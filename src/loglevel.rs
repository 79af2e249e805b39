//! The checkpointer speaks at a level of ours while we listen, and the user finds in the log what
//! the user asked for.
//!
//! *Runs in:* the checkpointer, from the log hook. *Reads and writes:* this process's
//! `log_min_messages`, as a session would set it; reads its reset value: the level that the user
//! asked for, whatever is set for the moment.
//! *Never:* raises: it runs in critical sections.

use std::ffi::CStr;

use pgrx::{PgLogLevel, pg_sys};

use crate::pgshim;
use crate::process::ProcessCell;

/// The level set, while we listen: DEBUG1, or the user's own if that is lower.
static SET: ProcessCell<Option<&'static CStr>> = ProcessCell::new(None);

/// Let this process speak of each file it syncs, until [`end`].
pub(crate) fn listen() {
    if SET.get().is_none() {
        let name = needed();
        pgshim::set_log_level(Some(name));
        SET.set(Some(name));
    }
}

/// Is the level ours? If so, a reload may have asked for more than it lets through. We hear of
/// that with the next record that comes: what the checkpointer says below our level between the
/// two is lost. Setting DEBUG5 at once would lose nothing, and format every record for nobody.
pub(crate) fn follow_user() -> bool {
    let Some(set) = SET.get() else {
        return false;
    };
    let name = needed();
    if name != set {
        pgshim::set_log_level(Some(name));
        SET.set(Some(name));
    }
    true
}

/// Speak as the user wants again.
pub(crate) fn end() {
    if SET.get().is_some() {
        SET.set(None);
        pgshim::set_log_level(None);
    }
}

/// guc.c:server_message_level_options, with the levels of elog.h.
const LEVELS: [(&CStr, PgLogLevel); 13] = [
    (c"debug5", PgLogLevel::DEBUG5),
    (c"debug4", PgLogLevel::DEBUG4),
    (c"debug3", PgLogLevel::DEBUG3),
    (c"debug2", PgLogLevel::DEBUG2),
    (c"debug1", PgLogLevel::DEBUG1),
    (c"debug", PgLogLevel::DEBUG2),
    (c"info", PgLogLevel::INFO),
    (c"notice", PgLogLevel::NOTICE),
    (c"warning", PgLogLevel::WARNING),
    (c"error", PgLogLevel::ERROR),
    (c"log", PgLogLevel::LOG),
    (c"fatal", PgLogLevel::FATAL),
    (c"panic", PgLogLevel::PANIC),
];

/// Would a record of this level be in the server's log, had we not set the level?
pub(crate) fn user_sees(elevel: i32) -> bool {
    shows(elevel, users_level().1 as i32)
}

/// The level to speak at, so that we hear of each file and the user misses nothing.
fn needed() -> &'static CStr {
    let (name, level) = users_level();
    if level as i32 <= PgLogLevel::DEBUG1 as i32 {
        name
    } else {
        c"debug1"
    }
}

fn users_level() -> (&'static CStr, PgLogLevel) {
    // SAFETY: the setting always exists and needs no privilege; the answer for an enum is a
    // string constant of the server.
    let name = unsafe { pg_sys::GetConfigOptionResetString(c"log_min_messages".as_ptr()) };
    let known = (!name.is_null()).then(|| {
        // SAFETY: not NULL, see above.
        let name = unsafe { CStr::from_ptr(name) };
        LEVELS.iter().find(|(level, _)| *level == name)
    });
    // The setting's default, should the server have a level that we do not know.
    known
        .flatten()
        .copied()
        .unwrap_or((c"warning", PgLogLevel::WARNING))
}

/// elog.c:is_log_level_output, which is static. LOG sorts between ERROR and FATAL.
fn shows(elevel: i32, log_level: i32) -> bool {
    let log = PgLogLevel::LOG as i32;
    if elevel == log || elevel == PgLogLevel::LOG_SERVER_ONLY as i32 {
        log_level == log || log_level <= PgLogLevel::ERROR as i32
    } else if elevel == WARNING_CLIENT_ONLY {
        false
    } else if log_level == log {
        elevel >= PgLogLevel::FATAL as i32
    } else {
        elevel >= log_level
    }
}

/// elog.h; never for the server's log.
const WARNING_CLIENT_ONLY: i32 = pg_sys::WARNING_CLIENT_ONLY as i32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_sorts_between_error_and_fatal() {
        let shows = |record: PgLogLevel, level: PgLogLevel| shows(record as i32, level as i32);
        use PgLogLevel::{DEBUG1, DEBUG2, ERROR, FATAL, LOG, PANIC, WARNING};
        assert!(shows(LOG, WARNING) && shows(LOG, ERROR) && shows(LOG, LOG));
        assert!(!shows(LOG, FATAL) && !shows(LOG, PANIC));
        assert!(shows(DEBUG1, DEBUG1) && shows(DEBUG1, DEBUG2) && !shows(DEBUG2, DEBUG1));
        assert!(!shows(DEBUG1, WARNING) && !shows(DEBUG1, LOG));
        assert!(shows(ERROR, WARNING) && !shows(ERROR, LOG) && shows(FATAL, LOG));
    }
}
