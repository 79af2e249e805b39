//! The border to C for group commit: the state of a commit, the wait for its durability, and the
//! hooks where a reader tells what it has seen.
//!
//! *Runs in:* every backend.
//! *Reads and writes:* variables of the transaction; writes one of them, `synchronous_commit`.
//! *Never:* lets an error's jump cross a Rust frame: what a hook waits for, it waits for in C.
//!
//! Mirrors pgshim/commit.h.

use super::guarded;

mod raw {
    use super::{Durable, Facts, Reader, Transactions};

    // None of these can raise: they read and write variables, shared memory under a spinlock or
    // without one, and set hook pointers.
    unsafe extern "C" {
        pub(super) fn ckf_commit_facts(facts: *mut Facts);
        pub(super) fn ckf_has_logged() -> i32;
        pub(super) fn ckf_set_commit_level(level: i32);
        pub(super) fn ckf_commit_end() -> u64;
        pub(super) fn ckf_commit_flushes() -> i32;
        pub(super) fn ckf_took_snapshot() -> i32;
        pub(super) fn ckf_insert_end() -> u64;
        pub(super) fn ckf_flush_end() -> u64;
        pub(super) fn ckf_is_durable(target: *const Durable) -> i32;
        pub(super) fn ckf_watch_readers(reader: *const Reader);
        pub(super) fn ckf_link_readers(level: i32);
        pub(super) fn ckf_set_in_flight(words: *const u64);
    }

    // These write WAL, warn, or allocate: through `guarded` only.
    unsafe extern "C-unwind" {
        pub(super) fn ckf_wait_durable(target: *const Durable);
        pub(super) fn ckf_wait_seen(target: *const Durable);
        pub(super) fn ckf_watch_transactions(callbacks: *const Transactions);
    }
}

/// What the transaction that is about to commit would wait for (commit.h:ckf_commit).
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Facts {
    writes: i32,
    logged: i32,
    level: i32,
    synced: i32,
    standby: i32,
    applies: i32,
}

impl Facts {
    /// Those of this process's transaction.
    pub(crate) fn now() -> Self {
        let mut facts = Self::default();
        // SAFETY: a valid pointer to the mirrored struct.
        unsafe { raw::ckf_commit_facts(&raw mut facts) };
        facts
    }

    /// It has an xid.
    pub(crate) fn writes(&self) -> bool {
        self.writes != 0
    }

    /// It has written WAL, as [`has_logged`].
    pub(crate) fn logged(&self) -> bool {
        self.logged != 0
    }

    /// `synchronous_commit`, as PostgreSQL numbers it.
    pub(crate) fn level(&self) -> u32 {
        u32::try_from(self.level).unwrap_or(0)
    }

    /// `fsync` is on.
    pub(crate) fn synced(&self) -> bool {
        self.synced != 0
    }

    /// It waits for a synchronous standby.
    pub(crate) fn standby(&self) -> bool {
        self.standby != 0
    }

    /// The process replays a subscription.
    pub(crate) fn applies(&self) -> bool {
        self.applies != 0
    }
}

/// The transaction that is about to commit has written WAL.
pub(crate) fn has_logged() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { raw::ckf_has_logged() != 0 }
}

/// Positions in the WAL that must be durable (commit.h:ckf_durable); 0: none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Durable {
    /// Flushed here.
    pub(crate) flush: u64,
    /// Confirmed by synchronous standbys, as this process's settings ask for.
    pub(crate) standby: u64,
}

impl Durable {
    /// Is it, already?
    pub(crate) fn is_reached(&self) -> bool {
        // SAFETY: a valid pointer to the mirrored struct.
        unsafe { raw::ckf_is_durable(std::ptr::from_ref(self)) != 0 }
    }

    /// Wait until it is. For a transaction that is committed, in the release of its resources: an
    /// error is a PANIC.
    #[allow(ffi_unwind_calls)]
    pub(crate) fn wait(&self) {
        // SAFETY: as above; interrupts are held there.
        guarded(|| unsafe { raw::ckf_wait_durable(std::ptr::from_ref(self)) });
    }

    /// The same for positions of others, which this process has seen.
    #[allow(ffi_unwind_calls)]
    pub(crate) fn wait_as_reader(&self) {
        // SAFETY: likewise.
        guarded(|| unsafe { raw::ckf_wait_seen(std::ptr::from_ref(self)) });
    }
}

/// `synchronous_commit` of this process: the variable, and nothing that depends on the setting.
pub(crate) fn set_level(level: u32) {
    // SAFETY: one int of this process.
    unsafe { raw::ckf_set_commit_level(i32::try_from(level).unwrap_or(0)) };
}

/// End of the record of the transaction that has just committed; `None` if it has none.
pub(crate) fn record_end() -> Option<u64> {
    // SAFETY: reads variables of this process.
    let end = unsafe { raw::ckf_commit_end() };
    (end != 0).then_some(end)
}

/// Does a commit of this process flush its record?
pub(crate) fn flushes() -> bool {
    // SAFETY: as above.
    unsafe { raw::ckf_commit_flushes() != 0 }
}

/// Has the transaction looked at any table?
pub(crate) fn took_snapshot() -> bool {
    // SAFETY: as above.
    unsafe { raw::ckf_took_snapshot() != 0 }
}

/// End of all WAL inserted so far.
pub(crate) fn insert_end() -> u64 {
    // SAFETY: reads shared memory under a spinlock.
    unsafe { raw::ckf_insert_end() }
}

/// How far WAL is flushed.
pub(crate) fn flush_end() -> u64 {
    // SAFETY: as above.
    unsafe { raw::ckf_flush_end() }
}

/// What is called at the ends of transactions (commit.h:ckf_transactions). None of the functions
/// may unwind or raise: after the commit record an ERROR is a PANIC.
#[repr(C)]
pub(crate) struct Transactions {
    /// `ckptflush.enabled`, and how many statements are around the end of the transaction.
    pub(crate) enabled: *const bool,
    pub(crate) depth: *const i32,
    /// About to make its record.
    pub(crate) commits: extern "C" fn(),
    pub(crate) prepares: extern "C" fn(),
    /// Visible to others. Says whether `released` is to be called.
    pub(crate) committed: extern "C" fn() -> i32,
    /// Nobody waits for its locks any more.
    pub(crate) released: extern "C" fn(),
    /// Instead of `commits`, for one that commits nothing, and waits for others all the same.
    pub(crate) plain: extern "C" fn(),
    /// Instead of all of these, in a client backend, for one that commits nothing and waits for
    /// nothing: the server timestamps of the message that ends it, and of its begin.
    pub(crate) plain_committed: extern "C" fn(i64, i64),
    pub(crate) prepared: extern "C" fn(),
    pub(crate) aborted: extern "C" fn(),
}

/// Have the functions called at the ends of transactions, in every child of this process.
#[allow(ffi_unwind_calls)]
pub(crate) fn watch_transactions(callbacks: &Transactions) {
    // SAFETY: the struct is copied; the library is never unloaded.
    guarded(|| unsafe { raw::ckf_watch_transactions(callbacks) });
}

/// What the hooks ask before rows are told (commit.h:ckf_reader). None of the functions may unwind.
#[repr(C)]
pub(crate) struct Reader {
    /// The setting, and its value with which the process is to be told only what is durable.
    pub(crate) level: *const i32,
    pub(crate) strict: i32,
    /// Up to where that is, for what the process has seen by now: to be stored there.
    pub(crate) target: extern "C" fn(*mut Durable),
    /// The process has waited for the last target.
    pub(crate) waited: extern "C" fn(),
}

/// Where the segment's words of the commits in flight are; null when there is no segment any more.
pub(crate) fn set_in_flight(words: *const u64) {
    // SAFETY: keeps the pointer, which is to a mapping that lasts until it is set anew.
    unsafe { raw::ckf_set_in_flight(words) };
}

/// Have the hooks or not, as the setting is from now on.
pub(crate) fn link_readers(level: i32) {
    // SAFETY: sets hook pointers of this single-threaded process.
    unsafe { raw::ckf_link_readers(level) };
}

/// Ask before rows are told, in every child of this process.
pub(crate) fn watch_readers(reader: &Reader) {
    // SAFETY: the struct is copied; the library, whose functions and setting they are, is never
    // unloaded.
    unsafe { raw::ckf_watch_readers(reader) };
}
