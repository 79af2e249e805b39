//! Which buffers of the checkpointer's own sorted work list have been written.
//!
//! *Runs in:* any process; the monitor worker calls it.
//! *Reads and writes:* reads the list and the buffer descriptors through [`Pool`]; keeps a cursor
//! per tablespace.
//! *Never:* writes to the list: a buffer dropped from it would not be checkpointed.
//!
//! The list is PostgreSQL's `CkptBufferIds` (`storage/buf_internals.h`), an array in shared
//! memory with room for every buffer. `bufmgr.c:BufferSync` sets `BM_CHECKPOINT_NEEDED` on each
//! dirty buffer and appends it, sorts what it appended, and then writes; a write clears the flag,
//! whoever does it. Its length is private to the checkpointer:
//!
//! ```text
//!  index 0                                    n                                capacity
//!  | tablespace 1663        | tablespace 16400 | stale: entries of earlier, longer lists |
//!  | written ->|  needed    | written ->| need |                                         |
//!              cursor                   cursor
//! ```
//!
//! [`locate`] finds n, [`Frontier`] moves the cursors.

mod cursor;
mod list;

pub use cursor::{Frontier, LOOK_AHEAD};
pub use list::{Look, locate, look};

/// One entry of the work list: a page, and the buffer that held it when the list was made.
///
/// Mirrors `CkptSortItem` of `storage/buf_internals.h`. It does not name the database, so two
/// entries may name equal pages: the catalogs of all databases of a tablespace have the same
/// relation numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Oid of the tablespace.
    pub tablespace: u32,
    /// Relation file number.
    pub relation: u32,
    /// Fork number, as in `common/relpath.h`.
    pub fork: i32,
    /// Block number in the fork.
    pub block: u32,
    /// Index of the buffer descriptor. Not part of the order.
    pub buffer: i32,
}

impl Item {
    /// The page that the item names. These tuples compare as `bufmgr.c:ckpt_buforder_comparator`
    /// orders the list.
    #[must_use]
    pub fn page(&self) -> (u32, u32, i32, u32) {
        (self.tablespace, self.relation, self.fork, self.block)
    }
}

/// What the buffer descriptor that an item names holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `BM_CHECKPOINT_NEEDED` is set, the tag is the item's page, the descriptor was unlocked.
    Needed {
        /// Oid of the database, from the descriptor's tag; 0 for a shared relation.
        database: u32,
        /// `BM_PERMANENT`: not an unlogged relation.
        permanent: bool,
    },
    /// The flag is not set, or the buffer holds another page now. Within one checkpoint this is
    /// final: only `BufferSync`'s scan before the first write sets the flag, and a buffer changes
    /// its page only with the flag clear.
    Clear,
    /// The descriptor was locked, or changed while it was read: ask again later.
    Unknown,
}

/// The work list and the buffer descriptors behind it.
///
/// The checkpointer may be writing what is read here, and entries behind the list are of an
/// earlier checkpoint, so an implementation must take any content: a buffer number outside the
/// pool is [`Flag::Clear`].
///
/// One kind of leftover has to be answered with [`Flag::Clear`] too: a flagged buffer that is not
/// permanent, in a checkpoint whose flags contain none of `CHECKPOINT_IS_SHUTDOWN`,
/// `CHECKPOINT_END_OF_RECOVERY` and `CHECKPOINT_FLUSH_ALL`. Such a checkpoint does not list
/// unlogged pages, and the flag is from an earlier one that did. Where the flags of the
/// checkpoint are not known, what is risked is a list that is found too long by stale entries,
/// and that only if a page of an unlogged relation was redirtied while it was being written.
pub trait Pool {
    /// The entry at `index`, which is below [`Pool::capacity`].
    fn item(&self, index: usize) -> Item;
    /// Number of entries that the array has room for (`NBuffers`).
    fn capacity(&self) -> usize;
    /// What the descriptor `item.buffer` holds now.
    fn flag(&self, item: &Item) -> Flag;
}

/// The first index in `range` for which `before` is false, where it is true first and then false.
fn partition_point(range: std::ops::Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing {
    //! A pool of a few buffers, written down entry by entry.

    use super::{Flag, Item, Pool};
    use std::cell::Cell;

    /// List and flags by hand: `flags[b]` is the page and the state of buffer b.
    pub(crate) struct Small {
        pub(crate) list: Vec<Item>,
        pub(crate) flags: Vec<(u32, Flag)>,
        pub(crate) looks: Cell<usize>,
    }

    pub(crate) const NEEDED: Flag = Flag::Needed {
        database: 5,
        permanent: true,
    };

    /// Block `block` of one relation of tablespace `tablespace`, in buffer `buffer`.
    pub(crate) fn item(tablespace: u32, block: u32, buffer: i32) -> Item {
        Item {
            tablespace,
            relation: 1,
            fork: 0,
            block,
            buffer,
        }
    }

    impl Small {
        /// One tablespace, whose block b lies in buffer b, with the given flags.
        pub(crate) fn line(flags: &[Flag]) -> Self {
            let blocks = 0..u32::try_from(flags.len()).unwrap();
            Small {
                list: blocks
                    .clone()
                    .map(|b| item(1, b, i32::try_from(b).unwrap()))
                    .collect(),
                flags: blocks.zip(flags.iter().copied()).collect(),
                looks: Cell::new(0),
            }
        }

        /// Number of needed flags, as the caller counts them before it calls `locate`.
        pub(crate) fn needed(&self) -> usize {
            self.flags.iter().filter(|(_, f)| *f == NEEDED).count()
        }
    }

    impl Pool for Small {
        fn item(&self, index: usize) -> Item {
            self.list[index]
        }

        fn capacity(&self) -> usize {
            self.list.len()
        }

        fn flag(&self, item: &Item) -> Flag {
            self.looks.set(self.looks.get() + 1);
            match usize::try_from(item.buffer).map(|b| self.flags.get(b)) {
                Ok(Some((block, flag))) if *block == item.block => *flag,
                _ => Flag::Clear,
            }
        }
    }
}
