//! Buffers written per file, counted and published once a second.
//!
//! *Runs in:* the monitor. *Reads and writes:* writes the segment's `files_written`.
//! *Never:* counts a page whose database could not be told: its file has no path.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use statseg::{FileKey, Metric, Placement, Segment};

use crate::worklist;

/// One file's row costs a microsecond, and a poll may pass hundreds.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// Buffers by file. Items come in the order of the list, so most belong to the file of the one
/// before and cost no look-up.
pub(super) struct Written {
    last: Option<(FileKey, u64)>,
    others: HashMap<FileKey, u64>,
    published: Instant,
}

impl Written {
    pub(super) fn new() -> Self {
        Self {
            last: None,
            others: HashMap::new(),
            published: Instant::now(),
        }
    }

    pub(super) fn count(&mut self, file: FileKey) {
        match &mut self.last {
            Some((last, buffers)) if *last == file => *buffers += 1,
            last => {
                if let Some((key, buffers)) = last.replace((file, 1)) {
                    *self.others.entry(key).or_default() += buffers;
                }
            }
        }
    }

    /// Number of files counted.
    pub(super) fn files(mut self) -> u64 {
        self.take().count() as u64
    }

    /// Publish the counts, if it is time or `now` is said.
    pub(super) fn publish(&mut self, segment: &Segment, used: u64, now: bool) {
        if !now && self.published.elapsed() < PUBLISH_EVERY {
            return;
        }
        self.published = Instant::now();
        let table = segment.files_written();
        for (key, buffers) in self.take() {
            let Some(path) = worklist::path(&key) else {
                continue;
            };
            let placement = table.update(&key, &path, used, |stats| {
                stats.buffers_written += buffers;
            });
            if placement == Placement::Evicted {
                segment.counter(Metric::FilesEvicted).increment();
            }
        }
    }

    fn take(&mut self) -> impl Iterator<Item = (FileKey, u64)> + use<> {
        if let Some((key, buffers)) = self.last.take() {
            *self.others.entry(key).or_default() += buffers;
        }
        std::mem::take(&mut self.others).into_iter()
    }
}
