//! The databases whose statistics the collector keeps: what it knows of each, and what others ask
//! of it.
//!
//! *Runs in:* the collector writes the records; any process of the server requests.
//! *Reads and writes:* the sections "databases" and "database_requests", part for part about the
//! same database.
//! *Never:* waits: a request is two additions, and who made it looks whether it was served.
//!
//! A request, as words of its part:
//!
//! 1. The requester adds one to `requests` and has its number; if it must be written in any case it
//!    raises `forced` to that number. Then it sets the collector's latch.
//! 2. The collector reads `requests` before it looks at the database, writes the file if it must,
//!    and stores what it read in `served`.
//! 3. The requester's is served when `served` has reached its number. So the last request of a
//!    database serves all before it.

use crate::record::record;
use crate::sync::{AtomicU64, Ordering};
use crate::text::Text;

record! {
    /// What the collector knows of one database. Writer: the collector. The first row is about the
    /// shared relations and the cluster; a row whose name is empty is not in use.
    pub struct CollectedDatabase {
        /// Its object identifier, 0 for the shared relations.
        pub database: u32,
        /// Its name.
        pub name: Text<8>,
        /// Size of its file.
        pub size_bytes: Option<u64>,
        /// Entries in it.
        pub entries: Option<u64>,
        /// When it was last written.
        pub last_write_at: Option<i64>,
        /// How often it was written since the segment was made.
        pub writes: u64,
        /// Bytes written since then.
        pub written_bytes: u64,
        /// Something has changed that is not in the file.
        pub pending: bool,
        /// When entries were restored from it.
        pub restored_at: Option<i64>,
        /// Entries restored from it.
        pub restored_entries: Option<u64>,
        /// Entries dropped afterwards, because their object does not exist.
        pub dropped_entries: Option<u64>,
        /// Age of the file when it was restored.
        pub restored_age_ns: Option<u64>,
        /// Why its file was not restored.
        pub refused_reason: Option<Text<24>>,
    }
}

record! {
    /// The collector itself. Writer: the collector.
    pub struct CollectorState {
        /// Its number among the server's processes, for setting its latch.
        pub proc_number: Option<u32>,
        /// Its process id.
        pub pid: Option<u32>,
        /// It has restored what there was to be restored.
        pub loaded: bool,
    }
}

/// Words of a part of "database_requests".
pub(crate) const REQUEST_WORDS: usize = 8;

const REQUESTS: usize = 0;
const FORCED: usize = 1;
const SERVED: usize = 2;
const LAST_AT: usize = 3;
const DROPPED: usize = 4;
const CHECKED: usize = 5;
const FAILED: usize = 6;
const VALIDATE: usize = 7;

/// The requests of one database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseRequests<'a>(&'a [AtomicU64]);

impl<'a> DatabaseRequests<'a> {
    pub(crate) fn new(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    fn load(&self, at: usize) -> u64 {
        self.0
            .get(at)
            .map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.0.get(at) {
            word.store(value, Ordering::Release);
        }
    }

    /// Requests since the row is about this database.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.load(REQUESTS)
    }

    /// When the last one was made, in µs since 1970.
    #[must_use]
    pub fn last_at(&self) -> Option<i64> {
        Some(self.load(LAST_AT).cast_signed()).filter(|at| *at != 0)
    }

    /// Makes a request; its number. For any process of the server.
    #[must_use]
    pub fn request(&self, force: bool, now_unix_us: i64) -> u64 {
        self.store(LAST_AT, now_unix_us.cast_unsigned());
        let Some(requests) = self.0.get(REQUESTS) else {
            return 0;
        };
        // First forced, so that who sees the number sees that as well.
        let next = requests.load(Ordering::Acquire) + 1;
        if force && let Some(forced) = self.0.get(FORCED) {
            forced.fetch_max(next, Ordering::AcqRel);
        }
        requests.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Has the request of that number been served?
    #[must_use]
    pub fn is_served(&self, number: u64) -> bool {
        self.load(SERVED) >= number
    }

    /// The number of the last request, if one is not served yet, and whether the file must be
    /// written whatever has changed. For the collector.
    #[must_use]
    pub fn open(&self) -> Option<(u64, bool)> {
        let (requests, served) = (self.load(REQUESTS), self.load(SERVED));
        (requests > served).then(|| (requests, self.load(FORCED) > served))
    }

    /// Could the file not be written for the request of that number?
    #[must_use]
    pub fn has_failed(&self, number: u64) -> bool {
        self.load(FAILED) >= number
    }

    /// All requests up to that number are served, or given up. For the collector.
    pub fn serve(&self, number: u64, written: bool) {
        if !written {
            self.store(FAILED, number);
        }
        self.store(SERVED, number);
    }

    /// Have the objects of the entries looked up. For any process of the server; a request follows.
    pub fn ask_validation(&self) {
        self.store(VALIDATE, 1);
    }

    /// Was that asked for? Tells it once. For the collector.
    #[must_use]
    pub fn take_validation(&self) -> bool {
        self.0
            .get(VALIDATE)
            .is_some_and(|word| word.swap(0, Ordering::AcqRel) != 0)
    }

    /// So many entries were dropped. For the worker that looks after the objects.
    pub fn report_dropped(&self, entries: u64) {
        self.store(DROPPED, entries);
        self.store(CHECKED, 1);
    }

    /// What that worker reported, once. For the collector.
    #[must_use]
    pub fn take_dropped(&self) -> Option<u64> {
        let dropped = self.load(DROPPED);
        let checked = self.load(CHECKED) != 0;
        self.store(CHECKED, 0);
        checked.then_some(dropped)
    }

    /// The row is about another database from now on. For the collector.
    pub fn clear(&self) {
        for at in 0..REQUEST_WORDS {
            self.store(at, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_serves_all_before_it() {
        let words: Vec<AtomicU64> = (0..REQUEST_WORDS).map(|_| AtomicU64::new(0)).collect();
        let requests = DatabaseRequests::new(&words);
        assert_eq!(requests.open(), None);
        let first = requests.request(false, 5);
        let second = requests.request(true, 6);
        assert_eq!(requests.open(), Some((second, true)));
        requests.serve(second, true);
        assert!(!requests.has_failed(first));
        assert!(requests.is_served(first) && requests.is_served(second));
        assert_eq!((requests.open(), requests.last_at()), (None, Some(6)));
        // One that need not be forced, after one that was.
        let third = requests.request(false, 7);
        assert_eq!(requests.open(), Some((third, false)));
        requests.serve(third, false);
        assert!(requests.is_served(third) && requests.has_failed(third));
        requests.clear();
        assert_eq!((requests.count(), requests.open()), (0, None));
    }

    #[test]
    fn what_was_dropped_is_told_once() {
        let words: Vec<AtomicU64> = (0..REQUEST_WORDS).map(|_| AtomicU64::new(0)).collect();
        let requests = DatabaseRequests::new(&words);
        assert_eq!(requests.take_dropped(), None);
        requests.report_dropped(0);
        assert_eq!(requests.take_dropped(), Some(0));
        assert_eq!(requests.take_dropped(), None);
    }
}
