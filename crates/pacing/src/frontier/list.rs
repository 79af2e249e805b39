//! Finds the end of the checkpointer's work list without its private length.
//!
//! *Runs in:* any process; the monitor worker calls it once per poll until the list is found.
//! *Reads and writes:* reads the list and the descriptors through [`Pool`].
//! *Never:* waits or repeats: a list that is still being made is "not yet".

use super::{Flag, Item, Pool, partition_point};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Needed flags that the list may lack: those that were cleared, locked or changing between the
/// caller's count and the walk. An absolute part for short lists, a share for long ones.
const SLACK: usize = 64;
const SLACK_ONE_IN: usize = 20;

/// How many entries behind the walked part are asked whether the list goes on there.
const BEHIND: usize = 64;

/// The number of entries of the work list, or `None` while it is still being filled or sorted.
///
/// `needed_count` is the number of descriptors with `BM_CHECKPOINT_NEEDED`, counted just before,
/// leaving out what [`Pool`] says is a leftover. Zero gives `None`.
///
/// The answer is 1 + the last index in the sorted prefix whose flag is needed. Accepted when the
/// matches reach `needed_count` - 64 - 5 % of it, and no needed entry is missing from it.
///
/// **Why it is exact.** Let n be the true length. The entries behind n are what earlier, longer
/// lists left there: themselves a sorted run, then perhaps another, and zeroes in the end. They
/// may happen to continue the order. Suppose such an entry is in the sorted prefix and needed.
/// Then its buffer holds its page and has the flag, so this checkpoint's scan put exactly this
/// pair on the list, before n. Sorted order leaves only one place for it behind n: directly
/// behind the last item, after equal pages. There the pair comes a second time, and a repeated
/// pair ends the prefix. So nothing behind n is ever counted; what can be missed is a tail of the
/// list that somebody else wrote before this first look: the answer is never too large, and too
/// small by just that tail.
///
/// The prefix is not *strictly* sorted, because an entry does not name the database: block 0 of
/// `pg_class` of two databases is two equal pages in two buffers. A strict rule would never
/// accept the list of a cluster in which two databases are in use.
///
/// **Not yet.** A list being filled or sorted has needed entries that the sorted prefix lacks,
/// and the first of them usually follows it directly, so they are looked for there; the count
/// alone would accept anything while fewer than 64 buffers are needed. One case is left: buffers
/// that come in page order by themselves, as after a bulk load, looked at in a moment in which
/// the scan stands still. [`super::Frontier::list_stands`] finds that one at the next poll.
///
/// Costs one pass over the sorted prefix, that is one look-up per entry, ended as soon as
/// `needed_count` matches are found, and at most 64 look-ups more.
pub fn locate<P: Pool + ?Sized>(pool: &P, needed_count: usize) -> Option<usize> {
    let mut order = Order::default();
    let (mut walked, mut matches, mut end) = (0, 0, 0);
    // Every match is another buffer, so once all are found there is nothing more to find.
    while matches < needed_count && walked < pool.capacity() {
        let item = pool.item(walked);
        if !order.continues(item) {
            break;
        }
        walked += 1;
        if matches!(pool.flag(&item), Flag::Needed { .. }) {
            matches += 1;
            end = walked;
        }
    }
    let slack = SLACK + needed_count / SLACK_ONE_IN;
    let enough = needed_count.saturating_sub(slack).max(1);
    (matches >= enough && !goes_on_behind(pool, walked)).then_some(end)
}

/// Whether one of the entries just behind `length` is needed and not among the first `length`:
/// then those are not the whole list.
pub(super) fn goes_on_behind<P: Pool + ?Sized>(pool: &P, length: usize) -> bool {
    let limit = pool.capacity().min(length.saturating_add(BEHIND));
    (length..limit).any(|index| {
        let item = pool.item(index);
        matches!(pool.flag(&item), Flag::Needed { .. }) && !contains(pool, length, &item)
    })
}

/// Whether the first `length` entries, which are sorted, contain `item`, its buffer included.
fn contains<P: Pool + ?Sized>(pool: &P, length: usize, item: &Item) -> bool {
    let first = partition_point(0..length, |i| pool.item(i).page() < item.page());
    (first..length)
        .map(|i| pool.item(i))
        .take_while(|other| other.page() == item.page())
        .any(|other| other.buffer == item.buffer)
}

/// What the beginning of the array shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Out of order: the list is being filled, or sorted.
    BeingMade,
    /// In order, and none of it is needed: an earlier list, or all that is written already.
    NothingMarked,
    /// In order, and something is needed: [`locate`] may find the list.
    Sorted,
}

/// Look at the first entries of the array, before the pass over all descriptors that
/// [`locate`]'s count costs is paid for. Buffers are listed in the order of their numbers first,
/// which is next to never the order of their pages.
pub fn look<P: Pool + ?Sized>(pool: &P) -> Look {
    let mut order = Order::default();
    let mut needed = false;
    for index in 0..pool.capacity().min(BEHIND) {
        let item = pool.item(index);
        let marked = matches!(pool.flag(&item), Flag::Needed { .. });
        if !order.continues(item) {
            // What follows a short list is of an earlier one.
            return if marked || !needed {
                Look::BeingMade
            } else {
                Look::Sorted
            };
        }
        needed |= marked;
    }
    if needed {
        Look::Sorted
    } else {
        Look::NothingMarked
    }
}

/// The order of the list as far as it has been walked.
#[derive(Default)]
struct Order {
    last: Option<Item>,
    /// The buffers of the equal pages that end with `last`; empty while `last` stands alone.
    equals: BTreeSet<i32>,
}

impl Order {
    /// Whether `item` may follow in one list: its page is larger, or equal in a new buffer.
    fn continues(&mut self, item: Item) -> bool {
        if let Some(last) = self.last {
            match item.page().cmp(&last.page()) {
                Ordering::Less => return false,
                Ordering::Equal => {
                    self.equals.insert(last.buffer);
                    if !self.equals.insert(item.buffer) {
                        return false;
                    }
                }
                Ordering::Greater => self.equals.clear(),
            }
        }
        self.last = Some(item);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEEDED, Small, item};
    use super::*;

    #[test]
    fn nothing_needed_is_no_list() {
        assert_eq!(locate(&Small::line(&[Flag::Clear; 8]), 0), None);
        assert_eq!(locate(&Small::line(&[]), 0), None);
        assert_eq!(locate(&Small::line(&[Flag::Clear; 8]), 3), None);
    }

    #[test]
    fn a_look_tells_what_is_worth_a_count() {
        assert_eq!(look(&Small::line(&[Flag::Clear; 100])), Look::NothingMarked);
        assert_eq!(look(&Small::line(&[])), Look::NothingMarked);
        assert_eq!(look(&Small::line(&[NEEDED; 100])), Look::Sorted);
        let mut pool = Small::line(&[NEEDED; 100]);
        pool.list.swap(4, 8);
        assert_eq!(look(&pool), Look::BeingMade);
        // A list of three, and an earlier one behind it.
        let mut flags = [Flag::Clear; 100];
        flags[..3].fill(NEEDED);
        let mut pool = Small::line(&flags);
        pool.list[3].block = 0;
        assert_eq!(look(&pool), Look::Sorted);
        // Written already: only the count can tell.
        let mut flags = [Flag::Clear; 100];
        flags[80] = NEEDED;
        assert_eq!(look(&Small::line(&flags)), Look::NothingMarked);
    }

    #[test]
    fn the_list_ends_at_the_last_needed_item() {
        let mut flags = vec![Flag::Clear; 12];
        flags[2] = NEEDED;
        flags[9] = NEEDED;
        let pool = Small::line(&flags);
        assert_eq!(locate(&pool, 2), Some(10));
        // One of three flags was cleared after the count: within the slack.
        assert_eq!(locate(&pool, 3), Some(10));
    }

    #[test]
    fn too_few_matches_are_refused() {
        let pool = Small::line(&[NEEDED; 1000]);
        assert_eq!(locate(&pool, 1000), Some(1000));
        assert_eq!(locate(&pool, 1120), Some(1000), "64 + 56 may be missing");
        assert_eq!(locate(&pool, 1121), None);
    }

    #[test]
    fn equal_pages_of_two_databases_do_not_end_the_list() {
        let mut pool = Small::line(&[NEEDED; 6]);
        pool.flags[3].0 = 2;
        pool.list[3].block = 2;
        assert_eq!(locate(&pool, pool.needed()), Some(6));
    }

    #[test]
    fn a_stale_tail_that_repeats_the_last_items_is_not_counted() {
        let mut pool = Small::line(&[NEEDED; 4]);
        // The list ends with two equal pages, and so did the longer one before it.
        pool.list[3].block = 2;
        pool.flags[3].0 = 2;
        pool.list
            .extend([item(1, 2, 2), item(1, 2, 3), item(1, 9, 1)]);
        // A count that is too high by a leftover flag makes the walk go on behind the list.
        assert_eq!(locate(&pool, 5), Some(4));
        assert_eq!(locate(&pool, 4), Some(4));
    }

    #[test]
    fn a_short_list_that_is_not_sorted_yet_is_refused() {
        let mut pool = Small::line(&[NEEDED; 10]);
        pool.list.swap(4, 8);
        assert_eq!(locate(&pool, 10), None);
        // The flags were counted when only three of the ten had been set.
        assert_eq!(locate(&Small::line(&[NEEDED; 10]), 3), None);
    }
}
