//! What the user wants to find in the log, while the checkpointer speaks at a level of ours.
//!
//! *Runs in:* the checkpointer, from the log hook. *Reads and writes:* reads `log_min_messages`,
//! its reset value: the level that the user asked for, whatever is set for the moment.
//! *Never:* changes the level: [`crate::pgshim::set_log_level`] does.

use std::ffi::CStr;

use pgrx::{PgLogLevel, pg_sys};

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
pub(super) fn user_sees(elevel: i32) -> bool {
    shows(elevel, users_level().1 as i32)
}

/// The level that the checkpointer must speak at, so that we hear of each file and the user misses
/// nothing: DEBUG1, or the user's own if that is lower.
pub(super) fn needed() -> &'static CStr {
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
