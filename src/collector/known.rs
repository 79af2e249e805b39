//! What the collector knows of a database, and what is to be done about it.
//!
//! *Runs in:* the collector. *Reads and writes:* its own memory; says which entries are watched.
//! *Never:* compares moments of the clock: what is newer than a file is told by signatures.
//!
//! Each flush of a relation's counters is followed by one of the database's own entry
//! (pgstat_relation.c:pgstat_relation_flush_cb), so its signature tells that something changed
//! below, at the latest with the next statement. Whether that was material, the numbers of rows in
//! it tell at once; a VACUUM or ANALYZE leaves only blocks and transactions there, as does each
//! visit of an autovacuum worker that finds nothing to do. Then the entries themselves are looked
//! at: but not for long, and not again until the signature is another one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::pgshim::stats;

/// What is to be done about a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Todo {
    /// The file says what is.
    Nothing,
    /// It does not, and that can wait.
    Wait,
    /// Look at the entries: something material may have changed.
    Check,
    Write,
}

/// Signatures of a database's own entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Signs {
    /// Of all of it.
    pub(super) all: u64,
    /// Of what is material in it.
    pub(super) rows: u64,
}

/// What its file was made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filed {
    pub(super) signature: u64,
    /// Of the material part of the entry; not known of a file that another process wrote.
    pub(super) rows: Option<u64>,
    /// Of what is material in all entries.
    pub(super) material: u64,
    pub(super) generation: u64,
    pub(super) lsn: u64,
    pub(super) at: Instant,
}

/// One database.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) name: Vec<u8>,
    pub(super) is_connectable: bool,
    pub(super) filed: Option<Filed>,
    /// The signature at which the entries were found as the file has them.
    pub(super) checked: Option<u64>,
    /// The file was made by a list of keys that may have lacked some.
    pub(super) is_partial: bool,
    /// What its row says of it, if that is known.
    pub(super) shown_pending: Option<bool>,
}

impl Known {
    pub(super) fn new(name: Vec<u8>, is_connectable: bool) -> Self {
        Self {
            name,
            is_connectable,
            filed: None,
            checked: None,
            is_partial: false,
            shown_pending: None,
        }
    }

    /// What is to be done. `lazy`: how long the rest may wait.
    pub(super) fn todo(&self, signs: Option<Signs>, lazy: Duration) -> Todo {
        let Some(signs) = signs else {
            return Todo::Nothing;
        };
        let Some(filed) = &self.filed else {
            return Todo::Write;
        };
        if filed.signature == signs.all {
            return if self.is_partial {
                Todo::Check
            } else {
                Todo::Nothing
            };
        }
        let is_material = filed.rows.is_some_and(|rows| rows != signs.rows);
        if is_material || filed.at.elapsed() >= lazy {
            Todo::Write
        } else if self.checked == Some(signs.all) && !self.is_partial {
            Todo::Wait
        } else {
            Todo::Check
        }
    }

    /// What it was decided by, if it will be decided so again. No entries are looked at before
    /// `next_check`.
    pub(super) fn settled(
        &self,
        signature: u64,
        todo: Todo,
        lazy: Duration,
        next_check: Instant,
    ) -> Settled {
        let until = match (todo, &self.filed) {
            (Todo::Nothing, _) => None,
            (Todo::Wait, Some(filed)) => Some(filed.at + lazy),
            (Todo::Check, Some(filed)) => Some(next_check.min(filed.at + lazy)),
            _ => return Settled::default(),
        };
        Settled {
            signature: Some(signature),
            until,
        }
    }
}

/// There is nothing to be done about a database while its entry has this signature, until then.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Settled {
    signature: Option<u64>,
    until: Option<Instant>,
}

impl Settled {
    pub(super) fn holds(&self, signature: u64, now: Instant) -> bool {
        self.signature == Some(signature) && self.until.is_none_or(|until| now < until)
    }
}

/// Databases looked at in one go: copies of their entries stay in the CPU's caches until they are
/// signed.
const AT_ONCE: usize = 32;

/// The databases in the order in which they are looked at, and what is settled of each: most are,
/// and are passed by without looking at all that is known of them.
#[derive(Default)]
pub(super) struct Watch {
    databases: Vec<u32>,
    settled: Vec<Settled>,
    is_stale: bool,
    lazy: Duration,
}

impl Watch {
    /// Databases have come or gone, or what is known of some has changed but by a look at them.
    pub(super) fn clear(&mut self) {
        self.is_stale = true;
    }

    /// Keep no database's entry in memory any more.
    pub(super) fn release(&mut self) {
        self.clear();
        if !self.databases.is_empty() {
            self.databases.clear();
            stats::watch(&[]);
        }
    }

    /// Before a look at all of these.
    pub(super) fn begin(&mut self, known: &BTreeMap<u32, Known>, lazy: Duration) {
        let are_same = !self.is_stale || known.keys().eq(&self.databases);
        if !are_same {
            self.databases.clear(); // until they are watched
            let databases: Vec<u32> = known.keys().copied().collect();
            stats::watch(&databases);
            self.databases = databases;
        }
        if self.is_stale || self.lazy != lazy {
            self.settled = vec![Settled::default(); self.databases.len()];
            self.lazy = lazy;
            self.is_stale = false;
        }
    }

    /// Some of them, from there on; none behind the last one.
    pub(super) fn some(&self, from: usize) -> Range<usize> {
        from..self.databases.len().min(from + AT_ONCE)
    }

    pub(super) fn settled(&self, some: &Range<usize>) -> &[Settled] {
        &self.settled[some.clone()]
    }

    pub(super) fn database(&self, place: usize) -> u32 {
        self.databases[place]
    }

    pub(super) fn settle(&mut self, place: usize, settled: Settled) {
        self.settled[place] = settled;
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::Signature;
    use super::*;

    const LAZY: Duration = Duration::from_secs(300);

    fn filed(at: Instant, signature: u64, rows: Option<u64>) -> Known {
        let mut known = Known::new(Vec::new(), true);
        known.filed = Some(Filed {
            signature,
            rows,
            material: 0,
            generation: 1,
            lsn: 0,
            at,
        });
        known
    }

    #[test]
    fn what_is_filed_is_settled_until_it_changes() {
        let now = Instant::now();
        let known = filed(now, 7, Some(1));
        let todo = known.todo(Some(Signs { all: 7, rows: 1 }), LAZY);
        assert_eq!(todo, Todo::Nothing);
        let settled = known.settled(7, todo, LAZY, now);
        assert!(settled.holds(7, now + 2 * LAZY));
        assert!(!settled.holds(8, now));
    }

    #[test]
    fn rows_are_never_settled() {
        let now = Instant::now();
        let known = filed(now, 7, Some(1));
        let todo = known.todo(Some(Signs { all: 8, rows: 2 }), LAZY);
        assert_eq!(todo, Todo::Write);
        assert!(!known.settled(8, todo, LAZY, now + LAZY).holds(8, now));
    }

    #[test]
    fn a_look_at_entries_is_decided_again_when_it_may_be_done() {
        let now = Instant::now();
        let known = filed(now, 7, Some(1));
        let todo = known.todo(Some(Signs { all: 8, rows: 1 }), LAZY);
        assert_eq!(todo, Todo::Check);
        let soon = now + Duration::from_secs(10);
        let settled = known.settled(8, todo, LAZY, soon);
        assert!(settled.holds(8, now));
        assert!(!settled.holds(8, soon));
        assert!(!settled.holds(9, now));
        // It is written when it has waited long enough, whatever the entries say.
        let settled = known.settled(8, todo, LAZY, now + 2 * LAZY);
        assert!(settled.holds(8, now));
        assert!(!settled.holds(8, now + LAZY));
        // That look is now.
        assert!(!known.settled(8, todo, LAZY, now).holds(8, now));
    }

    #[test]
    fn nothing_is_settled_at_first() {
        assert!(!Settled::default().holds(Signature::NONE, Instant::now()));
        let known = Known::new(Vec::new(), true);
        let (now, all) = (Instant::now(), 7);
        let todo = known.todo(Some(Signs { all, rows: 1 }), LAZY);
        assert_eq!(todo, Todo::Write);
        assert!(!known.settled(all, todo, LAZY, now + LAZY).holds(all, now));
    }

    #[test]
    fn a_database_without_an_entry_is_settled_until_it_has_one() {
        let now = Instant::now();
        let known = Known::new(Vec::new(), true);
        let todo = known.todo(None, LAZY);
        let settled = known.settled(Signature::NONE, todo, LAZY, now);
        assert!(settled.holds(Signature::NONE, now + LAZY));
        assert!(!settled.holds(7, now));
    }
}
