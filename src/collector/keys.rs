//! Which entries there are: the keys of all of them, remembered from one search to the next.
//!
//! *Runs in:* the collector. *Reads and writes:* its own memory.
//! *Never:* searches often: the hash table can only be searched as a whole, 0.13 s for a million
//! entries, and who inserts one meanwhile waits for a part of that. An entry whose key is known is
//! found in a third of a microsecond.
//!
//! What a list cannot know is an entry that was made since. So a search is due now and then, when
//! something is to be written anyway; and an entry that is gone is just not found.

use std::time::{Duration, Instant};

use crate::pgshim::stats::{self, Key};

/// For what new entries are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// Rows have changed, perhaps those of a new table.
    Soon,
    /// Only to see whether anything has changed that matters.
    Later,
}

impl News {
    /// So many times as long as a search took is the time until the next one.
    fn pause(self) -> u32 {
        match self {
            Self::Soon => 500,
            Self::Later => 5000,
        }
    }
}

/// The keys, sorted.
pub(super) struct Keys {
    all: Vec<Key>,
    searched_at: Option<Instant>,
    took: Duration,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self {
            all: Vec::new(),
            searched_at: None,
            took: Duration::ZERO,
        }
    }

    /// Search now.
    pub(super) fn search(&mut self) {
        let begin = Instant::now();
        stats::keys(&mut self.all);
        self.all.sort_unstable_by_key(Key::order);
        self.took = begin.elapsed();
        self.searched_at = Some(begin);
    }

    /// Many were made: search before the next write.
    pub(super) fn forget(&mut self) {
        self.searched_at = None;
    }

    /// Is it time, for somebody who wants news of `interval`?
    pub(super) fn is_due(&self, interval: Duration, news: News) -> bool {
        let pause = interval.max(self.took * news.pause());
        self.searched_at.is_none_or(|at| at.elapsed() >= pause)
    }

    /// When they were searched last.
    pub(super) fn searched_at(&self) -> Option<Instant> {
        self.searched_at
    }

    /// The time of the last search.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Those of one database, by kind and object; 0: of shared objects.
    pub(super) fn of(&self, database: u32) -> &[Key] {
        let start = self.all.partition_point(|key| key.database < database);
        let rest = &self.all[start..];
        &rest[..rest.partition_point(|key| key.database == database)]
    }

    /// The databases of which there are entries.
    pub(super) fn databases(&self) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for key in &self.all {
            if found.last() != Some(&key.database) {
                found.push(key.database);
            }
        }
        found
    }
}

/// Cut sorted keys of one database into those of one kind each.
pub(super) fn by_kind(keys: &[Key]) -> impl Iterator<Item = &[Key]> {
    keys.chunk_by(|one, next| one.kind == next.kind)
}
