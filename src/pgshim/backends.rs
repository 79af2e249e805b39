//! The border to C for what backends do: hooks around their commands, and their waits.
//!
//! *Runs in:* every backend ([`Step`], the timestamps), the monitor (the rest).
//! *Reads and writes:* reads PGPROCs without a lock, and the status of all backends as
//! pg_stat_activity does.
//! *Never:* lets an error's jump cross a Rust frame: a hook calls Rust before and after a step,
//! and Rust never calls the step.
//!
//! Mirrors pgshim/backends.h.

use std::ffi::{CStr, c_char};

use super::guarded;

mod raw {
    use std::ffi::c_char;

    use super::{Process, Watcher};

    // None of these can raise: they read memory, and set hook pointers.
    unsafe extern "C" {
        pub(super) fn ckf_watch_commands(callbacks: *const Watcher);
        pub(super) fn ckf_link_commands(watch: i32);
        pub(super) fn ckf_processes(target: *mut Process, room: i32) -> i32;
        pub(super) fn ckf_processes_again(known: *mut Process, count: i32);
        pub(super) fn ckf_wait_is_client(wait: u32) -> i32;
        pub(super) fn ckf_row_wait(wait: u32) -> i32;
        pub(super) fn ckf_waits_for_flush(number: i32) -> i32;
        pub(super) fn ckf_statement_start() -> i64;
        pub(super) fn ckf_has_xid() -> i32;
        pub(super) fn ckf_transaction_start() -> i64;
    }

    // These allocate or take a lock, so they may raise: call them through `guarded` only.
    unsafe extern "C-unwind" {
        pub(super) fn ckf_wait_type(wait: u32) -> *const c_char;
        pub(super) fn ckf_wait_event(wait: u32) -> *const c_char;
        pub(super) fn ckf_backends_read() -> i32;
        pub(super) fn ckf_backend(
            index: i32,
            pid: *mut i32,
            client: *mut i32,
            kind: *mut c_char,
            size: u64,
        ) -> i32;
        pub(super) fn ckf_backends_forget();
    }
}

/// The steps of a command that the server has hooks for (backends.h:ckf_step).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Parsed and analyzed. There is no hook before it.
    Parse,
    Plan,
    /// The executor is made ready for a query that changes nothing.
    Start,
    /// For another one.
    StartChange,
    /// A query that changes nothing is executed.
    Run,
    RunChange,
    FinishChange,
    EndChange,
    Utility,
}

impl Step {
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Parse,
            1 => Self::Plan,
            2 => Self::Start,
            3 => Self::StartChange,
            4 => Self::Run,
            5 => Self::RunChange,
            6 => Self::FinishChange,
            7 => Self::EndChange,
            8 => Self::Utility,
            _ => return None,
        })
    }
}

/// What is called around each step, and whether it is for now (backends.h:ckf_watcher). None of the functions may unwind.
#[repr(C)]
pub(crate) struct Watcher {
    pub(crate) wanted: i32,
    /// Before a step, with the server timestamps of the client's message and of the transaction's
    /// begin: what it returns is given to `leave`.
    pub(crate) enter: extern "C" fn(i32, i64, i64) -> i32,
    /// After it, if it comes back.
    pub(crate) leave: extern "C" fn(i32, i32),
    /// Once, when a setting has changed so that the process is watched no more.
    pub(crate) forget: extern "C" fn(),
}

/// Have the functions called from now on, in every client backend.
pub(crate) fn watch_commands(watcher: &Watcher) {
    // SAFETY: copies the struct, and sets hook pointers of this single-threaded process; the
    // library, whose functions and settings they are, is never unloaded.
    unsafe { raw::ckf_watch_commands(watcher) };
}

/// Have the hooks or not, as the settings are from now on.
pub(crate) fn link_commands(wanted: bool) {
    // SAFETY: sets hook pointers of this single-threaded process.
    unsafe { raw::ckf_link_commands(i32::from(wanted)) };
}

/// When the client's last message was taken up, as a server timestamp.
pub(crate) fn statement_start() -> i64 {
    // SAFETY: reads a variable of this process.
    unsafe { raw::ckf_statement_start() }
}

/// Has the running transaction written, so that its commit has a record?
pub(crate) fn has_xid() -> bool {
    // SAFETY: as above.
    unsafe { raw::ckf_has_xid() != 0 }
}

/// When the running or last transaction began, as a server timestamp.
pub(crate) fn transaction_start() -> i64 {
    // SAFETY: as above.
    unsafe { raw::ckf_transaction_start() }
}

/// A process of the server, and what it waits for.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Process {
    /// Among the server's processes: the number of its slot.
    pub(crate) number: i32,
    pub(crate) pid: i32,
    /// `wait_event_info`; 0: nothing.
    pub(crate) wait: u32,
}

/// Find all processes but this one. At most `most` of them; the vector is reused.
pub(crate) fn find_processes(found: &mut Vec<Process>, most: usize) {
    found.resize(most, Process::default());
    let room = i32::try_from(most).unwrap_or(i32::MAX);
    // SAFETY: a valid pointer to so many mirrored structs.
    let count = unsafe { raw::ckf_processes(found.as_mut_ptr(), room) };
    found.truncate(usize::try_from(count).unwrap_or(0));
}

/// Look at those again; the pid of one that is gone is 0.
pub(crate) fn look_again(found: &mut [Process]) {
    let count = i32::try_from(found.len()).unwrap_or(i32::MAX);
    // SAFETY: a valid pointer to so many mirrored structs, with numbers that the C side gave.
    unsafe { raw::ckf_processes_again(found.as_mut_ptr(), count) };
}

/// Is it the wait for the client's next command?
pub(crate) fn is_client(wait: u32) -> bool {
    // SAFETY: compares a number.
    unsafe { raw::ckf_wait_is_client(wait) != 0 }
}

/// What of a row a process waits for (backends.h:ckf_row).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowWait {
    /// Its turn: another one waits for the row already.
    Turn,
    /// The end of the transaction that has changed it.
    Owner,
}

/// Is it the wait for a row?
pub(crate) fn row_wait(wait: u32) -> Option<RowWait> {
    // SAFETY: compares a number.
    match unsafe { raw::ckf_row_wait(wait) } {
        1 => Some(RowWait::Turn),
        2 => Some(RowWait::Owner),
        _ => None,
    }
}

/// Does a process wait for the end of a transaction that has only its flush to wait for?
pub(crate) fn waits_for_flush(process: &Process) -> bool {
    // SAFETY: the number is one that the C side gave.
    unsafe { raw::ckf_waits_for_flush(process.number) != 0 }
}

/// Type and name of a wait; none of 0, which is no wait.
#[allow(ffi_unwind_calls)]
pub(crate) fn wait_names(wait: u32) -> (Option<String>, Option<String>) {
    // SAFETY: any number has an answer.
    let kind = guarded(|| unsafe { raw::ckf_wait_type(wait) });
    // SAFETY: likewise.
    let event = guarded(|| unsafe { raw::ckf_wait_event(wait) });
    (text(kind), text(event))
}

fn text(name: *const c_char) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: zero-terminated, and not changed while it is copied.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned())
}

/// What kind of process a backend is.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pub(crate) pid: i32,
    pub(crate) is_client: bool,
    pub(crate) kind: String,
}

/// The longest type of a background worker is a name (bgworker.h:BGW_MAXLEN).
const TYPE_BYTES: usize = 96;

/// All backends, with what takes locks and memory for a moment: now and then.
#[allow(ffi_unwind_calls)]
pub(crate) fn backends(mut each: impl FnMut(Backend)) {
    // SAFETY: copies the status of all backends into memory of its own.
    let count = guarded(|| unsafe { raw::ckf_backends_read() });
    for index in 1..=count {
        let (mut pid, mut client) = (0, 0);
        let mut kind = [0 as c_char; TYPE_BYTES];
        let (pid_at, client_at, kind_at) = (&raw mut pid, &raw mut client, kind.as_mut_ptr());
        // SAFETY: three valid pointers; the C side writes at most TYPE_BYTES with a zero byte.
        let found = guarded(|| unsafe {
            raw::ckf_backend(index, pid_at, client_at, kind_at, TYPE_BYTES as u64)
        });
        if found != 0 {
            each(Backend {
                pid,
                is_client: client != 0,
                kind: text(kind.as_ptr()).unwrap_or_default(),
            });
        }
    }
    // SAFETY: gives that memory back.
    guarded(|| unsafe { raw::ckf_backends_forget() });
}
