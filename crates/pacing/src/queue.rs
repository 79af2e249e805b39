//! What waits for writeback, in windows of a file, by deadline.
//!
//! *Runs in:* any process; the flusher owns one per device.
//! *Reads and writes:* its own memory.
//! *Never:* knows a clock or a rate: [`crate::plan`] does.
//!
//! A window is 64 blocks of a file. What the checkpointer's list says is known block by block,
//! as bits; what a sweep of the page cache has counted beyond that is a number, and its place in
//! the window is not known. Windows are taken by deadline, in steps of a second, then by file
//! and place, so that neighbours go out together.

use std::collections::{BTreeMap, BTreeSet};

use crate::BLOCK_BYTES;
use crate::device::Load;

/// Blocks of a window: half a megabyte.
pub const WINDOW_BLOCKS: u32 = 64;

const BLOCK: f64 = BLOCK_BYTES as f64;

/// Writeback to be started: a range of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Issue {
    /// The caller's number of the file.
    pub file: u32,
    /// First block.
    pub first_block: u32,
    /// Blocks from there on.
    pub blocks: u32,
    /// Dirty pages among them, as far as is known.
    pub pages: u32,
    /// What that is for the device.
    pub load: Load,
}

/// The most that one issue may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Operations.
    pub operations: f64,
    /// Bytes.
    pub bytes: f64,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    bits: u64,
    extra: u32,
    /// Exact; its place in the order is the second it lies in.
    deadline: f64,
}

impl Window {
    fn pages(&self) -> u32 {
        self.bits.count_ones() + self.extra
    }

    fn load(&self) -> Load {
        // A run begins where a bit is set and the one before is not.
        let runs = (self.bits & !(self.bits << 1)).count_ones();
        // Of e pages at random places among w, w - e + 1 of w begin a run.
        let (extra, width) = (f64::from(self.extra), f64::from(WINDOW_BLOCKS));
        let runs_of_extra = extra * (width - extra + 1.0).max(1.0) / width;
        Load {
            operations: f64::from(runs) + runs_of_extra,
            bytes: f64::from(self.pages()) * BLOCK,
        }
    }
}

/// A place in the order: second of the deadline, file, window.
type Place = (i64, u32, u32);

/// The queue of one device.
#[derive(Debug, Default)]
pub struct Queue {
    /// By file and place in it.
    windows: BTreeMap<(u32, u32), Window>,
    order: BTreeSet<Place>,
    /// By second of the deadline: windows, and their load.
    due: BTreeMap<i64, (usize, Load)>,
    load: Load,
}

impl Queue {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A page was written to the page cache. The deadline of a window is the earliest of its
    /// pages'.
    pub fn mark(&mut self, file: u32, block: u32, deadline: f64) {
        let bit = 1 << (block % WINDOW_BLOCKS);
        self.change((file, block / WINDOW_BLOCKS), |window| {
            if window.bits & bit == 0 {
                window.bits |= bit;
                window.extra = window.extra.saturating_sub(1);
            }
            window.deadline = window.deadline.min(deadline);
        });
    }

    /// A sweep has seen so many dirty pages in a window. None: somebody else has written it. In a
    /// window with pages that are known the others are not told apart from them: the kernel counts
    /// a folio as a whole. They are seen again when the known ones are out.
    pub fn observe(&mut self, file: u32, window: u32, dirty: u32, deadline: f64) {
        if dirty == 0 {
            self.remove((file, window));
            return;
        }
        let dirty = dirty.min(WINDOW_BLOCKS);
        self.change((file, window), |window| {
            window.extra = if window.bits == 0 { dirty } else { 0 };
            if window.extra > 0 {
                window.deadline = window.deadline.min(deadline);
            }
        });
    }

    /// All of a file is due earlier.
    pub fn hasten(&mut self, file: u32, deadline: f64) {
        for key in self.of_file(file) {
            self.change(key, |window| {
                window.deadline = window.deadline.min(deadline)
            });
        }
    }

    /// The file is gone, or was written by somebody else.
    pub fn forget(&mut self, file: u32) {
        for key in self.of_file(file) {
            self.remove(key);
        }
    }

    /// Take what is due first: one run of known pages, over windows that follow each other, cut
    /// to the limit; or a window with pages whose places are not known, whole. At least a page.
    pub fn take(&mut self, limit: &Limit) -> Option<Issue> {
        let place = self.order.first().copied()?;
        let key = (place.1, place.2);
        let window = *self.windows.get(&key)?;
        if window.extra > 0 {
            self.remove(key);
            return Some(Issue {
                file: key.0,
                first_block: key.1 * WINDOW_BLOCKS,
                blocks: WINDOW_BLOCKS,
                pages: window.pages(),
                load: window.load(),
            });
        }
        Some(self.take_run(key, limit))
    }

    fn take_run(&mut self, (file, first): (u32, u32), limit: &Limit) -> Issue {
        // At least a page, at most what the caller can bear.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let most = (limit.bytes / BLOCK).clamp(1.0, 65_536.0) as u32;
        let mut start = 0;
        let mut blocks = 0;
        for index in first.. {
            let key = (file, index);
            let Some(window) = self.windows.get(&key).filter(|window| window.extra == 0) else {
                break;
            };
            let from = if index == first {
                start = window.bits.trailing_zeros();
                start
            } else {
                0
            };
            let run = (window.bits >> from).trailing_ones().min(most - blocks);
            if run == 0 {
                break;
            }
            blocks += run;
            self.clear(key, from, run);
            if from + run < WINDOW_BLOCKS || blocks == most {
                break;
            }
        }
        Issue {
            file,
            first_block: first * WINDOW_BLOCKS + start,
            blocks,
            pages: blocks,
            load: Load {
                // The block layer cuts long requests.
                operations: f64::from(blocks.div_ceil(WINDOW_BLOCKS)),
                bytes: f64::from(blocks) * BLOCK,
            },
        }
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bytes = self.load.bytes.round() as u64;
        bytes
    }

    /// Windows that wait.
    #[must_use]
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// All that waits.
    #[must_use]
    pub fn load(&self) -> Load {
        self.load
    }

    /// Does nothing wait?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// The first deadline, to the second.
    #[must_use]
    pub fn earliest(&self) -> Option<f64> {
        self.due().next().map(|(deadline, _)| deadline)
    }

    /// What is due when, in order.
    pub fn due(&self) -> impl Iterator<Item = (f64, Load)> + '_ {
        self.due.iter().map(|(second, (_, load))| {
            #[allow(clippy::cast_precision_loss)]
            let deadline = *second as f64;
            (deadline, *load)
        })
    }

    fn of_file(&self, file: u32) -> Vec<(u32, u32)> {
        let windows = self.windows.range((file, 0)..=(file, u32::MAX));
        windows.map(|(key, _)| *key).collect()
    }

    /// Take `run` bits from `from` on out of a window.
    fn clear(&mut self, key: (u32, u32), from: u32, run: u32) {
        let bits = if run >= WINDOW_BLOCKS {
            u64::MAX
        } else {
            ((1 << run) - 1) << from
        };
        match self.windows.get(&key).map(|window| window.bits & !bits) {
            Some(0) => self.remove(key),
            Some(left) => self.change(key, |window| window.bits = left),
            None => {}
        }
    }

    fn change(&mut self, key: (u32, u32), change: impl FnOnce(&mut Window)) {
        let known = self.windows.get(&key).copied();
        let mut window = known.unwrap_or(Window {
            bits: 0,
            extra: 0,
            deadline: f64::INFINITY,
        });
        let before = known.map(|window| (second(window.deadline), window.load()));
        change(&mut window);
        let after = (second(window.deadline), window.load());
        self.windows.insert(key, window);
        if before == Some(after) {
            return;
        }
        if let Some((at, load)) = before {
            self.uncount(key, at, load, at != after.0);
        }
        if before.is_none_or(|(at, _)| at != after.0) {
            self.order.insert((after.0, key.0, key.1));
        }
        let due = self.due.entry(after.0).or_default();
        due.0 += 1;
        due.1 += after.1;
        self.load += after.1;
    }

    fn remove(&mut self, key: (u32, u32)) {
        if let Some(window) = self.windows.remove(&key) {
            self.uncount(key, second(window.deadline), window.load(), true);
        }
        if self.windows.is_empty() {
            // What rounding has left.
            self.load = Load::default();
        }
    }

    fn uncount(&mut self, key: (u32, u32), at: i64, load: Load, moves: bool) {
        if moves {
            self.order.remove(&(at, key.0, key.1));
        }
        self.load -= load;
        if let Some(due) = self.due.get_mut(&at) {
            due.0 -= 1;
            due.1 -= load;
            if due.0 == 0 {
                self.due.remove(&at);
            }
        }
    }
}

/// The second that a deadline lies in: rounded down, so that nothing is late for it.
#[allow(clippy::cast_possible_truncation)]
fn second(deadline: f64) -> i64 {
    deadline.clamp(-1e15, 1e15).floor() as i64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
