//! What the collector knows of a database, and what is to be done about it.
//!
//! *Runs in:* the collector. *Reads and writes:* its own memory.
//! *Never:* compares moments of the clock: what is newer than a file is told by signatures.
//!
//! Each flush of a relation's counters is followed by one of the database's own entry
//! (pgstat_relation.c:pgstat_relation_flush_cb), so its signature tells that something changed
//! below, at the latest with the next statement. Whether that was material, the numbers of rows in
//! it tell at once; a VACUUM or ANALYZE leaves only blocks and transactions there, as does each
//! visit of an autovacuum worker that finds nothing to do. Then the entries themselves are looked
//! at: but not for long, and not again until the signature is another one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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

    /// What it was decided by, if it will be decided so again.
    pub(super) fn settled(&self, signs: Option<Signs>, todo: Todo, lazy: Duration) -> Settled {
        let signature = signs.map(|signs| signs.all);
        match (todo, &self.filed) {
            (Todo::Nothing, _) => Settled {
                signature,
                until: None,
            },
            (Todo::Wait, Some(filed)) => Settled {
                signature,
                until: Some(filed.at + lazy),
            },
            _ => Settled::default(),
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
    pub(super) fn holds(&self, signature: Option<u64>, now: Instant) -> bool {
        let is_same = signature.is_some() && self.signature == signature;
        is_same && self.until.is_none_or(|until| now < until)
    }
}

/// The databases in the order in which they are looked at, and what is settled of each: most are,
/// and are passed by without looking at all that is known of them.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) databases: Vec<u32>,
    pub(super) settled: Vec<Settled>,
    lazy: Duration,
}

impl Watch {
    /// Databases have come or gone, or what is known of some has changed but by a look at them.
    pub(super) fn clear(&mut self) {
        self.databases.clear();
    }

    /// Before a look at all of these.
    pub(super) fn begin(&mut self, known: &BTreeMap<u32, Known>, lazy: Duration) {
        if self.databases.is_empty() || self.lazy != lazy {
            self.databases = known.keys().copied().collect();
            self.settled = vec![Settled::default(); self.databases.len()];
            self.lazy = lazy;
        }
    }
}
