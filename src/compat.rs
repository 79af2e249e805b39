//! Differences between PostgreSQL majors that the Rust side meets.
//!
//! *Runs in:* every process. *Reads and writes:* reads variables of the server.
//! *Never:* decides: it gives the newest major's answer for each.

/// Does the server bypass the page cache for relation files (io_direct_flags, 16 and later)?
#[cfg(not(feature = "pg15"))]
pub(crate) fn direct_data_io() -> bool {
    // SAFETY: a plain int, set at server start.
    let flags = unsafe { pgrx::pg_sys::io_direct_flags };
    u32::try_from(flags).is_ok_and(|flags| flags & pgrx::pg_sys::IO_DIRECT_DATA != 0)
}

/// 15 has no direct I/O.
#[cfg(feature = "pg15")]
pub(crate) fn direct_data_io() -> bool {
    false
}
