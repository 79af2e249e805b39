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

/// Pages of relations that client backends wrote to make room, not those of COPY and the like;
/// and since when they are counted.
#[cfg(not(feature = "pg15"))]
pub(crate) fn backend_writes() -> (i64, pgrx::pg_sys::TimestampTz) {
    use pgrx::pg_sys::{BackendType, IOContext, IOObject, IOOp};
    // SAFETY: takes a snapshot, and may raise; in a backend.
    let io = unsafe { pgrx::pg_sys::pgstat_fetch_stat_io() };
    // SAFETY: never null; lives as long as the transaction.
    let io = unsafe { &*io };
    let of = &io.stats[BackendType::B_BACKEND as usize].counts;
    let of = &of[IOObject::IOOBJECT_RELATION as usize][IOContext::IOCONTEXT_NORMAL as usize];
    (of[IOOp::IOOP_WRITE as usize], io.stat_reset_timestamp)
}

/// 15 does not tell them apart.
#[cfg(feature = "pg15")]
pub(crate) fn backend_writes() -> (i64, pgrx::pg_sys::TimestampTz) {
    // SAFETY: takes a snapshot, and may raise; in a backend.
    let stats = unsafe { pgrx::pg_sys::pgstat_fetch_stat_checkpointer() };
    // SAFETY: never null; lives as long as the transaction.
    let written = unsafe { (*stats).buf_written_backend };
    (written, pgrx::pg_sys::TimestampTz::MAX)
}
