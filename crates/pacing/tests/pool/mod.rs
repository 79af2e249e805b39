//! Buffers, the work list and the checkpointer, as `bufmgr.c:BufferSync` handles them.

use pacing::frontier::{Flag, Item, Pool};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tablespace, relation, fork, block, database: what the buffer tag has and more than the item.
pub(crate) type Page = (u32, u32, i32, u32, u32);

/// What becomes of a listed page. Times are in items that the checkpointer has processed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Plain,
    /// Dirtied again during its write: the flag stays.
    Sticky,
    WrittenByOthers(usize),
    /// Written by others, and the buffer has another page now.
    Evicted(usize),
}

#[derive(Clone)]
struct Descriptor {
    page: Option<Page>,
    needed: bool,
}

/// The shared memory: `CkptBufferIds` and the descriptors.
pub(crate) struct Shared {
    list: Vec<Item>,
    buffers: Vec<Descriptor>,
    /// Which buffer a page has; it keeps it until it is evicted.
    home: BTreeMap<Page, usize>,
    length: usize,
    pub(crate) unknown_one_in: u64,
    pub(crate) looks: Cell<usize>,
    random: Cell<u64>,
}

fn name(page: &Page) -> (u32, u32, i32, u32) {
    (page.0, page.1, page.2, page.3)
}

impl Shared {
    pub(crate) fn new(capacity: usize) -> Self {
        let zero = Item {
            tablespace: 0,
            relation: 0,
            fork: 0,
            block: 0,
            buffer: 0,
        };
        Shared {
            list: vec![zero; capacity],
            buffers: vec![
                Descriptor {
                    page: None,
                    needed: false
                };
                capacity
            ],
            home: BTreeMap::new(),
            length: 0,
            unknown_one_in: 0,
            looks: Cell::new(0),
            random: Cell::new(0x9E37_79B9_7F4A_7C15),
        }
    }

    /// A new list: the pages, in the order in which the scan of the buffers finds them. Returns
    /// its length; it is not sorted yet.
    pub(crate) fn begin(&mut self, pages: &[Page]) -> usize {
        self.length = 0;
        self.append(pages)
    }

    pub(crate) fn append(&mut self, pages: &[Page]) -> usize {
        for page in pages {
            let free = self.home.len();
            let buffer = *self.home.entry(*page).or_insert(free);
            self.buffers[buffer] = Descriptor {
                page: Some(*page),
                needed: true,
            };
            self.list[self.length] = Item {
                tablespace: page.0,
                relation: page.1,
                fork: page.2,
                block: page.3,
                buffer: i32::try_from(buffer).unwrap(),
            };
            self.length += 1;
        }
        self.length
    }

    /// Core's sort does not keep equal pages in order, so neither does this.
    pub(crate) fn sort(&mut self, length: usize) {
        self.list[..length].sort_unstable_by_key(Item::page);
    }

    pub(crate) fn swap(&mut self, one: usize, other: usize) {
        self.list.swap(one, other);
    }

    /// A whole earlier checkpoint.
    pub(crate) fn checkpoint(&mut self, pages: &[Page]) {
        let length = self.begin(pages);
        self.sort(length);
        for buffer in &mut self.buffers {
            buffer.needed = false;
        }
    }

    pub(crate) fn needed(&self) -> usize {
        self.buffers.iter().filter(|b| b.needed).count()
    }

    fn at(&self, item: &Item) -> &Descriptor {
        &self.buffers[usize::try_from(item.buffer).unwrap()]
    }

    pub(crate) fn is_needed(&self, item: &Item) -> bool {
        let buffer = self.at(item);
        buffer.needed && buffer.page.as_ref().map(name) == Some(item.page())
    }

    pub(crate) fn clear(&mut self, item: &Item) {
        self.buffers[usize::try_from(item.buffer).unwrap()].needed = false;
    }

    /// The buffer takes a page that no list names. It may be needed neither before nor after.
    fn evict(&mut self, item: &Item) {
        self.buffers[usize::try_from(item.buffer).unwrap()] = Descriptor {
            page: Some((9, 9, 0, 9, 9)),
            needed: false,
        };
    }
}

impl Pool for Shared {
    fn item(&self, index: usize) -> Item {
        self.list[index]
    }

    fn capacity(&self) -> usize {
        self.list.len()
    }

    fn flag(&self, item: &Item) -> Flag {
        self.looks.set(self.looks.get() + 1);
        // xorshift
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        if self.unknown_one_in > 0 && x.is_multiple_of(self.unknown_one_in) {
            return Flag::Unknown;
        }
        match self.at(item) {
            Descriptor {
                page: Some(page),
                needed: true,
            } if name(page) == item.page() => Flag::Needed {
                database: page.4,
                permanent: true,
            },
            _ => Flag::Clear,
        }
    }
}

/// One tablespace, as the checkpointer sees it.
pub(crate) struct Group {
    pub(crate) range: Range<usize>,
    pub(crate) processed: usize,
    /// Items clear although the checkpointer has not come to them.
    pub(crate) ahead: usize,
}

/// The write loop: the tablespace with the least progress first.
pub(crate) struct Checkpointer {
    groups: Vec<(Range<usize>, usize)>,
    processed: usize,
}

impl Checkpointer {
    pub(crate) fn new(shared: &Shared, length: usize) -> Self {
        let mut groups: Vec<(Range<usize>, usize)> = Vec::new();
        for index in 0..length {
            match groups.last_mut() {
                Some((range, _))
                    if shared.item(range.start).tablespace == shared.item(index).tablespace =>
                {
                    range.end = index + 1;
                }
                _ => groups.push((index..index + 1, 0)),
            }
        }
        Checkpointer {
            groups,
            processed: 0,
        }
    }

    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    pub(crate) fn processed(&self) -> usize {
        self.processed
    }

    /// Processes up to `items` more, and lets the others do theirs; false when nothing was left.
    pub(crate) fn step(&mut self, shared: &mut Shared, items: usize, fates: &[Fate]) -> bool {
        for _ in 0..items {
            let least = self
                .groups
                .iter_mut()
                .filter(|(range, scanned)| *scanned < range.len())
                .min_by(|(a, x), (b, y)| (x * b.len()).cmp(&(y * a.len())));
            let Some((range, scanned)) = least else {
                return false;
            };
            let index = range.start + *scanned;
            if fates[index % fates.len()] != Fate::Sticky {
                shared.clear(&shared.item(index));
            }
            *scanned += 1;
            self.processed += 1;
        }
        for index in self.groups.iter().flat_map(|(range, _)| range.clone()) {
            let item = shared.item(index);
            match fates[index % fates.len()] {
                Fate::WrittenByOthers(time) if time <= self.processed => shared.clear(&item),
                Fate::Evicted(time) if time <= self.processed => shared.evict(&item),
                _ => {}
            }
        }
        true
    }

    pub(crate) fn states(&self, shared: &Shared) -> Vec<Group> {
        let ahead = |range: &Range<usize>, scanned: usize| {
            (range.start + scanned..range.end)
                .filter(|i| !shared.is_needed(&shared.item(*i)))
                .count()
        };
        self.groups
            .iter()
            .map(|(range, scanned)| Group {
                range: range.clone(),
                processed: *scanned,
                ahead: ahead(range, *scanned),
            })
            .collect()
    }
}

/// The same pages, in the order of the list.
pub(crate) fn in_page_order(pages: &[Page]) -> Vec<Page> {
    let mut pages = pages.to_vec();
    pages.sort_unstable();
    pages
}

/// Three lists of the same pages, in buffer order: of every list each page is on it or not.
/// Tablespaces are of very different sizes, and equal pages of two databases are frequent.
pub(crate) fn page_lists() -> impl Strategy<Value = (Vec<Page>, Vec<Page>, Vec<Page>)> {
    let tablespace = prop_oneof![12 => Just(1663_u32), 3 => Just(16400), 1 => Just(1664)];
    let page = (tablespace, 1..3_u32, 0..2_i32, 0..90_u32, 1..4_u32);
    let pages = prop::collection::btree_set(page, 1..400)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>())
        .prop_shuffle();
    let shares = (1..=8_u8, 1..=8_u8, 1..=8_u8);
    (
        pages,
        shares,
        prop::collection::vec(any::<(u8, u8, u8)>(), 400),
    )
        .prop_map(|(pages, shares, dice)| {
            let some = |share: u8, die: &dyn Fn(usize) -> u8| {
                let mut list: Vec<Page> = pages
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| die(*i) % 8 < share)
                    .map(|(_, page)| *page)
                    .collect();
                if list.is_empty() {
                    list.push(pages[0]);
                }
                list
            };
            (
                some(shares.0, &|i| dice[i].0),
                some(shares.1, &|i| dice[i].1),
                some(shares.2, &|i| dice[i].2),
            )
        })
}
