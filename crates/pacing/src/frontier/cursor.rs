//! Follows the checkpointer through its work list with one cursor per tablespace.
//!
//! *Runs in:* any process; the monitor worker calls it once per poll.
//! *Reads and writes:* reads the list and the descriptors through [`Pool`]; owns the cursors.
//! *Never:* looks up more flags in one call than the caller allows; takes an item back.

use super::list::goes_on_behind;
use super::{Flag, Item, Pool, partition_point};

/// How many items behind a flag that does not clear decide whether it is stepped over.
pub const LOOK_AHEAD: usize = 64;

/// How far the checkpointer has come in a list found by [`super::locate`].
///
/// `bufmgr.c:BufferSync` takes the items of one tablespace in order, and picks the tablespace
/// that is least advanced each time. So the written items are one prefix per tablespace, and a
/// cursor in each, moved while the flags are clear, counts them.
///
/// **Sticky flags.** `bufmgr.c:TerminateBufferIO` leaves the flag set when the page was dirtied
/// again during its write (a hint bit suffices). The cursor steps over an item that is not clear
/// if at least 3/4 of the next [`LOOK_AHEAD`] items of its tablespace are clear: the checkpointer
/// has been there. Where fewer are left, 3/4 of those, rounded up; so 1 to 3 items must all be
/// clear. A share and not a fixed number, because with a number the second sticky flag of a short
/// tablespace would stop the cursor for good; and the harm of a wrong step is small there, at
/// most as many items as are left. The last item has no items behind it to tell, so it waits
/// until its flag clears or [`Frontier::finish`] is called.
///
/// **Bounds.** Let `processed` be the number of items the checkpointer is through with
/// (`num_processed` in `BufferSync`), and `ahead`, per tablespace, the number of items that are
/// clear although it has not come to them: written by the bgwriter or a backend, or dropped.
/// After a call of [`Frontier::advance`] that returned true:
/// - no sticky flag, no [`Flag::Unknown`]: `done >= processed`; with `ahead` = 0 everywhere the
///   two are equal;
/// - always: `done <= processed` + the sum over tablespaces with `ahead > 0` of
///   `ahead * 65 / 48 + 1`. (A passed item ahead of the checkpointer is clear, or was stepped
///   over. One stepped over has at most 16 others in the 64 items behind it, and at least 48
///   clear ones: 17 for 48, and at the end of a tablespace one more);
/// - at most one in eight flags sticky, evenly: `done` is at most [`LOOK_AHEAD`] items per
///   tablespace behind. More than one in four within [`LOOK_AHEAD`] items stop the cursor of that
///   tablespace until `finish`.
#[derive(Clone, Debug)]
pub struct Frontier {
    cursors: Vec<Cursor>,
    /// The cursor that the next call begins with.
    first: usize,
    done: usize,
    total: usize,
    /// The item at `total` - 1, to notice that the list changed.
    last: Option<Item>,
}

/// The rest of one tablespace's items: `next..end`.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    next: usize,
    end: usize,
}

/// What can be said about the item at a cursor.
enum Verdict {
    Passed,
    NotYet,
    /// The budget ran out before it could be said.
    Unanswered,
}

impl Frontier {
    /// A frontier at the start of the first `total` entries, which are sorted; entries beyond the
    /// capacity are not counted. Reads O(tablespaces * log(total)) items and copies one.
    pub fn new<P: Pool + ?Sized>(pool: &P, total: usize) -> Self {
        let total = total.min(pool.capacity());
        let mut cursors = Vec::new();
        let mut next = 0;
        while next < total {
            let tablespace = pool.item(next).tablespace;
            // From next + 1 and not from next: should the list change under us, the loop must
            // still end.
            let end = partition_point(next + 1..total, |i| pool.item(i).tablespace <= tablespace);
            cursors.push(Cursor { next, end });
            next = end;
        }
        Frontier {
            cursors,
            first: 0,
            done: 0,
            total,
            last: total.checked_sub(1).map(|index| pool.item(index)),
        }
    }

    /// Number of items passed. Never falls.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// Number of items in the list.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Whether the list is still the one this was made from. If not, it was looked at before it
    /// was complete (see [`super::locate`]) or another checkpoint has begun: locate it again.
    ///
    /// Ask at each poll until the checkpointer has begun to write; from then on the list stands
    /// for the rest of the checkpoint. At most 64 look-ups of flags.
    pub fn list_stands<P: Pool + ?Sized>(&self, pool: &P) -> bool {
        self.total <= pool.capacity()
            && self.last == self.total.checked_sub(1).map(|index| pool.item(index))
            && !goes_on_behind(pool, self.total)
    }

    /// Moves the cursors over what has been written, and tells `passed` each item with its index
    /// in the list: in order within a tablespace, and exactly once in the life of the frontier.
    ///
    /// At most `budget` flags are looked up. Returns true when every cursor stands at its end or
    /// before an item that is not written yet, false when the budget ran out. The next call then
    /// lets another tablespace go first, or gives the one that could not be judged the whole
    /// budget. So with a budget of at least [`LOOK_AHEAD`] + 1 every cursor that can move does
    /// within as many calls as there are tablespaces; with less a sticky flag may hold it for
    /// good. Not meant to be repeated until it returns true: with a budget below
    /// [`LOOK_AHEAD`] + 1 per tablespace it may never.
    ///
    /// Over a whole checkpoint the look-ups are at most one per item, and [`LOOK_AHEAD`] + 1 per
    /// item stepped over and per tablespace and call. A cursor that stands where the checkpointer
    /// is, with nothing written beyond, costs 18 per call.
    pub fn advance<P: Pool + ?Sized>(
        &mut self,
        pool: &P,
        budget: usize,
        mut passed: impl FnMut(usize, &Item),
    ) -> bool {
        let mut budget = budget;
        let count = self.cursors.len();
        for turn in 0..count {
            let place = (self.first + turn) % count;
            let cursor = &mut self.cursors[place];
            let begin = cursor.next;
            while cursor.next < cursor.end {
                let item = pool.item(cursor.next);
                match judge(pool, *cursor, &item, &mut budget) {
                    Verdict::Passed => {
                        passed(cursor.next, &item);
                        cursor.next += 1;
                        self.done += 1;
                    }
                    Verdict::NotYet => break,
                    Verdict::Unanswered => {
                        // A cursor that could not move at all begins the next call, with the
                        // whole budget; else it would be left short again and again.
                        let moved = usize::from(cursor.next > begin);
                        self.first = (place + moved) % count;
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Passes all that is left, for the caller who knows that the checkpointer has left the write
    /// phase: what stands in the way of a cursor then are sticky flags. Looks up no flag. Call it
    /// while the list is this checkpoint's, that is before the next one begins.
    pub fn finish<P: Pool + ?Sized>(&mut self, pool: &P, mut passed: impl FnMut(usize, &Item)) {
        for cursor in &mut self.cursors {
            for index in cursor.next..cursor.end {
                passed(index, &pool.item(index));
            }
            cursor.next = cursor.end;
        }
        self.done = self.total;
    }
}

/// Whether the item at the cursor has been written, by its own flag or by those behind it.
fn judge<P: Pool + ?Sized>(pool: &P, cursor: Cursor, item: &Item, budget: &mut usize) -> Verdict {
    let mut clear = |item: &Item| -> Option<bool> {
        *budget = budget.checked_sub(1)?;
        Some(pool.flag(item) == Flag::Clear)
    };
    match clear(item) {
        None => return Verdict::Unanswered,
        Some(true) => return Verdict::Passed,
        Some(false) => {}
    }
    let behind = cursor.next + 1..cursor.end.min(cursor.next + 1 + LOOK_AHEAD);
    if behind.is_empty() {
        return Verdict::NotYet;
    }
    // An unknown item counts as not clear: it may be the one being written.
    let mut may_stand = behind.len() / 4;
    for index in behind {
        match clear(&pool.item(index)) {
            None => return Verdict::Unanswered,
            Some(true) => {}
            Some(false) if may_stand == 0 => return Verdict::NotYet,
            Some(false) => may_stand -= 1,
        }
    }
    Verdict::Passed
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEEDED, Small, item};
    use super::*;

    /// Flags in one letter each: `.` clear, `N` needed, `?` unknown.
    fn flags(text: &str) -> Vec<Flag> {
        text.chars()
            .map(|letter| match letter {
                '.' => Flag::Clear,
                'N' => NEEDED,
                _ => Flag::Unknown,
            })
            .collect()
    }

    fn done(text: &str) -> usize {
        let pool = Small::line(&flags(text));
        let mut frontier = Frontier::new(&pool, text.len());
        assert!(frontier.advance(&pool, usize::MAX, |_, _| {}));
        frontier.done()
    }

    #[test]
    fn the_cursor_stops_before_the_first_item_not_written() {
        assert_eq!(done(""), 0);
        assert_eq!(done("NNNN"), 0);
        assert_eq!(done("..NN"), 2);
        assert_eq!(done("...."), 4);
        assert_eq!(done("..??"), 2);
    }

    #[test]
    fn a_sticky_flag_is_stepped_over_when_three_quarters_behind_it_are_clear() {
        let tail = "N".repeat(40);
        assert_eq!(done(&format!("N{}{tail}", ".".repeat(48))), 49);
        assert_eq!(done(&format!("N{}{tail}", ".".repeat(47))), 0);
        assert_eq!(done(&format!("?{}{tail}", ".".repeat(48))), 49);
        assert_eq!(
            done(&format!("N{}{}{tail}", "N".repeat(17), ".".repeat(64))),
            0
        );
        // 49 clear ones for the first two, then the second of the pair still has 48.
        assert_eq!(done(&format!("NN{}{tail}", ".".repeat(49))), 51);
    }

    #[test]
    fn at_the_end_of_a_tablespace_three_quarters_of_the_rest_suffice() {
        assert_eq!(done("N."), 2);
        assert_eq!(done("N..N"), 0, "two of three");
        assert_eq!(done("N...N"), 4, "three of four, and the last one waits");
        assert_eq!(done("..N"), 2);
    }

    #[test]
    fn finish_delivers_the_rest_once() {
        let pool = Small::line(&flags("..N.N"));
        let mut frontier = Frontier::new(&pool, 5);
        let mut seen = Vec::new();
        frontier.advance(&pool, usize::MAX, |index, item| {
            seen.push((index, item.block))
        });
        assert_eq!(seen, [(0, 0), (1, 1)]);
        for _ in 0..2 {
            frontier.finish(&pool, |index, item| seen.push((index, item.block)));
        }
        assert_eq!(seen, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
        assert_eq!(frontier.done(), frontier.total());
    }

    #[test]
    fn a_small_budget_is_kept_and_starves_no_tablespace() {
        let mut pool = Small::line(&[Flag::Clear; 302]);
        pool.list[300].tablespace = 2;
        pool.list[301].tablespace = 2;
        let mut frontier = Frontier::new(&pool, 302);
        let mut by_call = Vec::new();
        for _ in 0..2 {
            pool.looks.set(0);
            let mut second = 0;
            assert!(!frontier.advance(&pool, 65, |_, item| {
                second += usize::from(item.tablespace == 2);
            }));
            by_call.push((pool.looks.get(), second));
        }
        assert_eq!(by_call, [(65, 0), (65, 2)]);
    }

    #[test]
    fn a_cursor_left_without_budget_gets_the_whole_of_the_next() {
        // The first tablespace cannot move, and the 65th look-up tells; the second needs 65 too.
        let first = format!("{}{}N", "N".repeat(17), ".".repeat(47));
        let second = format!("N{}", ".".repeat(64));
        let mut pool = Small::line(&flags(&(first + &second)));
        for item in &mut pool.list[65..] {
            item.tablespace = 2;
        }
        let mut frontier = Frontier::new(&pool, 130);
        assert!(!frontier.advance(&pool, 65, |_, _| {}));
        assert_eq!(frontier.done(), 0);
        assert!(!frontier.advance(&pool, 65, |_, _| {}));
        assert_eq!(frontier.done(), 1);
    }

    #[test]
    fn a_list_that_grew_is_noticed() {
        let mut pool = Small::line(&[NEEDED; 9]);
        pool.list.truncate(5);
        let frontier = Frontier::new(&pool, 5);
        assert!(frontier.list_stands(&pool));
        pool.list.push(item(1, 5, 5));
        assert!(!frontier.list_stands(&pool), "another item at the end");
        pool.list[5] = item(1, 3, 3);
        assert!(
            frontier.list_stands(&pool),
            "a stale entry of a listed page"
        );
        pool.list[4] = item(1, 8, 8);
        assert!(!frontier.list_stands(&pool), "sorted again");
    }
}
