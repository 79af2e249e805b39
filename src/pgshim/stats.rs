//! The border to C for the cumulative statistics: kinds, entries, marks, slots.
//!
//! *Runs in:* the collector, the workers it starts, and backends that restore a file.
//! *Reads and writes:* the server's statistics in shared memory, under their own locks and as
//! pgshim/collector.c explains.
//! *Never:* keeps a reference to an entry: what is read is a copy.
//!
//! Mirrors pgshim/collector.h.

use std::ffi::{CStr, c_char};
use std::ops::Range;

use super::guarded;

pub(crate) mod catalog;

mod raw {
    use std::ffi::c_char;

    use super::{Key, Mark, RawKind};

    // None of these can raise: they read constants.
    unsafe extern "C" {
        pub(super) fn ckf_kind_count() -> u32;
        pub(super) fn ckf_kind_of(kind: u32, target: *mut RawKind) -> i32;
        pub(super) fn ckf_kind_database() -> u32;
        pub(super) fn ckf_slot_count() -> i32;
    }

    // These take locks, and some allocate: call them through `guarded` only.
    unsafe extern "C-unwind" {
        pub(super) fn ckf_keys(target: *mut Key, room: u64) -> u64;
        pub(super) fn ckf_copy(
            keys: *const Key,
            count: u64,
            target: *mut u8,
            bytes: u32,
            found: *mut u8,
        ) -> u64;
        pub(super) fn ckf_watch(databases: *const u32, count: u64);
        pub(super) fn ckf_watched(
            from: u64,
            count: u64,
            target: *mut u8,
            bytes: u32,
            found: *mut u8,
        );
        pub(super) fn ckf_merge_entries(
            keys: *const Key,
            count: u64,
            saved: *const u8,
            bytes: u32,
            what: i32,
            mark: u64,
        ) -> u64;
        pub(super) fn ckf_drop(key: *const Key) -> i32;
        pub(super) fn ckf_forget_tuples(key: *const Key, since: i64) -> i32;
        pub(super) fn ckf_mark_read(mark: u64, target: *mut Mark) -> i32;
        pub(super) fn ckf_mark_write(mark: u64, source: *const Mark);
        pub(super) fn ckf_fixed_copy(kind: u32, target: *mut u8, bytes: u32);
        pub(super) fn ckf_fixed_add(kind: u32, saved: *const u8, bytes: u32) -> i32;
        pub(super) fn ckf_counting_since() -> i64;
        pub(super) fn ckf_slot_name(index: i32, target: *mut c_char) -> i32;
        pub(super) fn ckf_slot_index(name: *const c_char) -> i32;
    }
}

/// An entry's key (collector.h:ckf_key). Keys sort by database, then kind, then object.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) kind: u32,
    pub(crate) database: u32,
    pub(crate) object: u64,
}

impl Key {
    /// What keys are sorted by: one number compares faster than three.
    pub(crate) fn order(&self) -> u128 {
        (u128::from(self.database) << 96) | (u128::from(self.kind) << 64) | u128::from(self.object)
    }
}

/// collector.h:ckf_field.
#[repr(C)]
struct RawField {
    name: *const c_char,
    offset: u32,
    bytes: u32,
    rule: u32,
    material: u32,
}

/// collector.h:ckf_kind.
#[repr(C)]
struct RawKind {
    name: *const c_char,
    fields: *const RawField,
    field_count: u32,
    bytes: u32,
    fixed: i32,
    by_slot: i32,
}

/// What a field holds, and so how two values of it become one (collector.h:ckf_rule).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    Opaque,
    Add,
    Later,
    /// A gauge that VACUUM or ANALYZE sets anew.
    Measured,
    Text,
}

/// A field of a kind's struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) rule: Rule,
    /// Autovacuum depends on it, or a DBA who decides about maintenance.
    pub(crate) is_material: bool,
}

/// A kind of statistics, as this server has it.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    /// Bytes of an entry.
    pub(crate) bytes: usize,
    /// It has one entry, outside the hash table.
    pub(crate) is_fixed: bool,
    /// Its objects are places in the array of replication slots.
    pub(crate) is_by_slot: bool,
    pub(crate) fields: Vec<Field>,
}

/// A constant of C.
fn constant(text: *const c_char) -> &'static str {
    // SAFETY: a string literal of the shim or of the server, both of which stay loaded.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().unwrap_or_default()
}

/// The kinds that core writes to disk, in the order of their numbers.
pub(crate) fn kinds() -> Vec<Kind> {
    // SAFETY: returns a constant.
    let count = unsafe { raw::ckf_kind_count() };
    (0..count).filter_map(kind).collect()
}

fn kind(number: u32) -> Option<Kind> {
    let mut found = std::mem::MaybeUninit::<RawKind>::uninit();
    // SAFETY: a valid pointer to a mirrored struct, which is filled in if it returns true.
    if unsafe { raw::ckf_kind_of(number, found.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: filled in.
    let found = unsafe { found.assume_init() };
    let count = usize::try_from(found.field_count).unwrap_or(0);
    let fields: &[RawField] = if found.fields.is_null() {
        &[]
    } else {
        // SAFETY: a constant array of the shim with so many elements.
        unsafe { std::slice::from_raw_parts(found.fields, count) }
    };
    Some(Kind {
        number,
        name: constant(found.name),
        bytes: usize::try_from(found.bytes).unwrap_or(0),
        is_fixed: found.fixed != 0,
        is_by_slot: found.by_slot != 0,
        fields: fields.iter().map(field).collect(),
    })
}

fn field(raw: &RawField) -> Field {
    Field {
        name: constant(raw.name),
        offset: raw.offset,
        bytes: raw.bytes,
        rule: match raw.rule {
            1 => Rule::Add,
            2..=4 => Rule::Later,
            5..=7 => Rule::Measured,
            8 => Rule::Text,
            _ => Rule::Opaque,
        },
        is_material: raw.material != 0,
    }
}

/// The number of the kind of databases.
pub(crate) fn database_kind() -> u32 {
    // SAFETY: returns a constant.
    unsafe { raw::ckf_kind_database() }
}

/// Collect the keys of all entries but those of slots, in any order. The vector is filled up to
/// its length, which is memory that has been written to: a page fault while a lock is held would
/// make others wait. So it is grown beforehand, and once more if that was too little.
pub(crate) fn keys(target: &mut Vec<Key>) {
    let mut room = target.len() + target.len() / 8 + 1024;
    loop {
        target.resize(room, Key::default());
        let (place, count) = (target.as_mut_ptr(), target.len() as u64);
        // SAFETY: room for so many mirrored structs.
        #[allow(ffi_unwind_calls)]
        let found = guarded(|| unsafe { raw::ckf_keys(place, count) });
        let found = usize::try_from(found).unwrap_or(usize::MAX);
        if found <= room {
            target.truncate(found);
            return;
        }
        room = found + found / 8;
    }
}

/// Copy the entries of these keys, which must be of one kind, each to its place in `target`;
/// `found` says which there are.
pub(crate) fn copy(keys: &[Key], bytes: usize, target: &mut Vec<u8>, found: &mut Vec<u8>) {
    target.resize(keys.len() * bytes, 0);
    found.resize(keys.len(), 0);
    let length = u32::try_from(bytes).unwrap_or(u32::MAX);
    let (from, count) = (keys.as_ptr(), keys.len() as u64);
    let (to, which) = (target.as_mut_ptr(), found.as_mut_ptr());
    // SAFETY: so many keys, and room for as many entries and flags; C checks the length against
    // that of the kind.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_copy(from, count, to, length, which) });
}

/// Have the own entries of these databases, and of no others, ready for [`watched`]. What is kept
/// in memory for that is given back by the next call.
pub(crate) fn watch(databases: &[u32]) {
    let (from, count) = (databases.as_ptr(), databases.len() as u64);
    // SAFETY: so many numbers.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_watch(from, count) });
}

/// Copy the entries of some of the databases that are watched, by their places among them, as
/// [`copy`] does.
pub(crate) fn watched(
    some: &Range<usize>,
    bytes: usize,
    target: &mut Vec<u8>,
    found: &mut Vec<u8>,
) {
    target.resize(some.len() * bytes, 0);
    found.resize(some.len(), 0);
    let length = u32::try_from(bytes).unwrap_or(u32::MAX);
    let (from, count) = (some.start as u64, some.len() as u64);
    let (to, which) = (target.as_mut_ptr(), found.as_mut_ptr());
    // SAFETY: room for so many entries and flags; C checks the places, and the length against that
    // of the kind.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_watched(from, count, to, length, which) });
}

/// What is merged of a saved entry (collector.h:ckf_merge).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    All = 0,
    /// Only what maintenance depends on.
    Material = 1,
}

/// Merge saved entries, which must be of one kind, into those there are, and count each in the
/// mark, if there is one; how many were merged.
pub(crate) fn merge(keys: &[Key], saved: &[u8], bytes: usize, what: What, mark: u64) -> u64 {
    let count = keys.len().min(saved.len() / bytes.max(1)) as u64;
    let length = u32::try_from(bytes).unwrap_or(u32::MAX);
    let (from, data) = (keys.as_ptr(), saved.as_ptr());
    // SAFETY: so many keys and entries; C checks the length against that of the kind.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_merge_entries(from, count, data, length, what as i32, mark) })
}

/// What has become of an entry that is to be dropped (collector.h:ckf_dropped).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dropped {
    /// There is none.
    None,
    Done,
    /// It is still there, for somebody refers to it: to be tried again.
    InUse,
}

/// Drop an entry.
pub(crate) fn drop_entry(key: &Key) -> Dropped {
    let key = std::ptr::from_ref(key);
    // SAFETY: a valid pointer.
    #[allow(ffi_unwind_calls)]
    let dropped = guarded(|| unsafe { raw::ckf_drop(key) });
    match dropped {
        0 => Dropped::None,
        1 => Dropped::Done,
        _ => Dropped::InUse,
    }
}

/// Set a relation's numbers of tuples to zero, unless VACUUM or ANALYZE has counted them since that
/// server timestamp.
pub(crate) fn forget_tuples(key: &Key, since: i64) {
    let key = std::ptr::from_ref(key);
    // SAFETY: a valid pointer.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_forget_tuples(key, since) });
}

/// Three words among the statistics, which core keeps and loses with all others
/// (collector.h:ckf_mark).
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) state: i64,
    pub(crate) subject: i64,
    pub(crate) applied: i64,
}

impl Mark {
    pub(crate) fn read(number: u64) -> Option<Self> {
        let mut mark = Self::default();
        let target = &raw mut mark;
        // SAFETY: a valid pointer.
        #[allow(ffi_unwind_calls)]
        let found = guarded(|| unsafe { raw::ckf_mark_read(number, target) });
        (found != 0).then_some(mark)
    }

    pub(crate) fn write(&self, number: u64) {
        let source = std::ptr::from_ref(self);
        // SAFETY: a valid pointer.
        #[allow(ffi_unwind_calls)]
        guarded(|| unsafe { raw::ckf_mark_write(number, source) });
    }
}

/// The one entry of a fixed kind, as the views show it.
pub(crate) fn fixed(kind: &Kind) -> Vec<u8> {
    let mut target = vec![0; kind.bytes];
    let (place, bytes) = (target.as_mut_ptr(), u32::try_from(kind.bytes).unwrap_or(0));
    // SAFETY: room for so many bytes, which is the length C itself has given.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_fixed_copy(kind.number, place, bytes) });
    target
}

/// Add what was saved of a fixed kind.
pub(crate) fn add_fixed(kind: &Kind, saved: &[u8]) -> bool {
    let (from, bytes) = (saved.as_ptr(), u32::try_from(saved.len()).unwrap_or(0));
    // SAFETY: so many bytes; C checks the length against that of the kind.
    #[allow(ffi_unwind_calls)]
    let added = guarded(|| unsafe { raw::ckf_fixed_add(kind.number, from, bytes) });
    added != 0
}

/// Since when the cluster's statistics have been counted, as a server timestamp.
pub(crate) fn counting_since() -> i64 {
    // SAFETY: reads shared memory under its locks.
    #[allow(ffi_unwind_calls)]
    guarded(|| unsafe { raw::ckf_counting_since() })
}

/// The longest name of a slot, with its zero byte (NAMEDATALEN).
const NAME_BYTES: usize = 64;

/// The replication slots: place and name.
pub(crate) fn slots() -> Vec<(u64, Vec<u8>)> {
    // SAFETY: reads a setting that is fixed at server start.
    let count = unsafe { raw::ckf_slot_count() };
    (0..count)
        .filter_map(|index| {
            let mut name = [0 as c_char; NAME_BYTES];
            let target = name.as_mut_ptr();
            // SAFETY: room for NAME_BYTES.
            #[allow(ffi_unwind_calls)]
            let used = guarded(|| unsafe { raw::ckf_slot_name(index, target) });
            let name = name.iter().take_while(|byte| **byte != 0);
            let name = name.map(|byte| byte.cast_unsigned()).collect();
            (used != 0).then_some((u64::try_from(index).unwrap_or(0), name))
        })
        .collect()
}

/// The place of the slot of this name.
pub(crate) fn slot_index(name: &CStr) -> Option<u64> {
    let name = name.as_ptr();
    // SAFETY: zero-terminated.
    #[allow(ffi_unwind_calls)]
    let index = guarded(|| unsafe { raw::ckf_slot_index(name) });
    u64::try_from(index).ok()
}
