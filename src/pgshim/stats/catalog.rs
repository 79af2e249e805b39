//! The border to C for the catalogs that say of what there are statistics.
//!
//! *Runs in:* the collector, the workers it starts, and backends that restore a file.
//! *Reads and writes:* reads catalogs; each call is a transaction of its own.
//! *Never:* is called in a transaction.
//!
//! Mirrors pgshim/collector.h.

use std::ffi::{CStr, c_char};

use super::{Key, guarded};

mod raw {
    use super::{Key, RawDatabase, Timeline};

    // These allocate and take locks: call them through `guarded` only.
    unsafe extern "C-unwind" {
        pub(super) fn ckf_databases_watch();
        pub(super) fn ckf_databases_changed() -> i32;
        pub(super) fn ckf_databases(target: *mut RawDatabase, room: u64) -> u64;
        pub(super) fn ckf_objects(keys: *const Key, count: u64, verdict: *mut u8) -> i32;
        pub(super) fn ckf_connect(database: u32);
        pub(super) fn ckf_timelines(timeline: u32, target: *mut Timeline, room: u64) -> u64;
    }
}

/// collector.h:ckf_database.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawDatabase {
    oid: u32,
    connectable: i32,
    name: [c_char; 64],
}

/// A row of pg_database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Database {
    pub(crate) oid: u32,
    /// A process can connect to it: it is not half dropped.
    pub(crate) is_connectable: bool,
    /// In whatever encoding.
    pub(crate) name: Vec<u8>,
}

/// Have changes of pg_database noted. Once per process.
pub(crate) fn watch_databases() {
    // SAFETY: registers a function of this library, which stays loaded.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_databases_watch() });
}

/// May pg_database have changed since [`databases`] was called?
pub(crate) fn databases_changed() -> bool {
    // SAFETY: begins and ends a transaction.
    #[allow(ffi_unwind_calls)]
    let changed = guarded(|| unsafe { raw::ckf_databases_changed() });
    changed != 0
}

/// All databases.
pub(crate) fn databases() -> Vec<Database> {
    let none = RawDatabase {
        oid: 0,
        connectable: 0,
        name: [0; 64],
    };
    let mut rows = vec![none; 64];
    loop {
        let (target, room) = (rows.as_mut_ptr(), rows.len() as u64);
        // SAFETY: room for so many mirrored structs.
        #[allow(ffi_unwind_calls)]
        let count = guarded(|| unsafe { raw::ckf_databases(target, room) });
        let count = usize::try_from(count).unwrap_or(0);
        if count <= rows.len() {
            rows.truncate(count);
            return rows.iter().map(database).collect();
        }
        rows.resize(count + 64, none);
    }
}

fn database(row: &RawDatabase) -> Database {
    // SAFETY: pg_database has names of type name, with a zero byte within its 64.
    let name = unsafe { CStr::from_ptr(row.name.as_ptr()) };
    Database {
        oid: row.oid,
        is_connectable: row.connectable != 0,
        name: name.to_bytes().to_vec(),
    }
}

/// What has become of an object (collector.h:ckf_object).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Object {
    Missing,
    Permanent,
    Unlogged,
    /// Of a kind of which nothing is known here.
    Unknown,
}

/// What has become of these objects, which must be of one kind, in this process's database;
/// `None` if somebody wants that database for himself.
pub(crate) fn objects(keys: &[Key]) -> Option<Vec<Object>> {
    let mut verdicts = vec![0u8; keys.len()];
    let (from, count, to) = (keys.as_ptr(), keys.len() as u64, verdicts.as_mut_ptr());
    // SAFETY: so many keys, and room for as many verdicts.
    #[allow(ffi_unwind_calls)]
    let looked = guarded(|| unsafe { raw::ckf_objects(from, count, to) });
    let known = |verdict: &u8| match verdict {
        0 => Object::Missing,
        1 => Object::Permanent,
        2 => Object::Unlogged,
        _ => Object::Unknown,
    };
    (looked != 0).then(|| verdicts.iter().map(known).collect())
}

/// Connect this worker to a database.
pub(crate) fn connect(database: u32) {
    // SAFETY: once, in a worker that may connect.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_connect(database) });
}

/// A timeline, and where the server left it; 0 for the one it is on (collector.h:ckf_timeline).
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Timeline {
    pub(crate) end: u64,
    pub(crate) timeline: u32,
}

/// The history of a timeline, newest first.
pub(crate) fn timelines(timeline: u32) -> Vec<Timeline> {
    let mut found = vec![Timeline::default(); 64];
    loop {
        let (target, room) = (found.as_mut_ptr(), found.len() as u64);
        // SAFETY: room for so many mirrored structs.
        #[allow(ffi_unwind_calls)]
        let count = guarded(|| unsafe { raw::ckf_timelines(timeline, target, room) });
        let count = usize::try_from(count).unwrap_or(0);
        if count <= found.len() {
            found.truncate(count);
            return found;
        }
        found.resize(count, Timeline::default());
    }
}
