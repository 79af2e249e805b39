//! A checkpoint's write phase: a sorted list of pages, written in even numbers per time.
//!
//! *Reads and writes:* its own state. *Never:* knows the disk.

use std::collections::VecDeque;

use pacing::device::Load;
use pacing::queue::WINDOW_BLOCKS;

use crate::commits::Random;

pub(crate) const BLOCK: f64 = pacing::BLOCK_BYTES as f64;

/// checkpointer.c:CheckpointWriteDelay sleeps so long.
pub(crate) const NAP: f64 = 0.1;
/// checkpoint_flush_after = 256kB.
const CHUNK: usize = 32;
/// No request is larger than this.
pub(crate) const LARGEST: u32 = WINDOW_BLOCKS;

/// File and block.
pub(crate) type Page = (u32, u32);

/// Random pages of a large file, then a file written in one piece, sorted as BufferSync does.
pub(crate) fn pages(random: usize, sequential: u32, seed: u64) -> Vec<Page> {
    let mut numbers = Random::new(seed ^ 0x5EED);
    let large = (random as f64 * 40.0).max(1000.0);
    let mut pages: Vec<Page> = (0..random)
        .map(|_| (1, (numbers.share() * large) as u32))
        .chain((0..sequential).map(|block| (2, block)))
        .collect();
    pages.sort_unstable();
    pages.dedup();
    pages
}

/// Whether a page begins a request, as the plan counts them (src/flush/following.rs).
pub(crate) fn begins(pages: &[Page], index: usize) -> bool {
    let (file, block) = pages[index];
    index == 0 || pages[index - 1] != (file, block.wrapping_sub(1)) || block % LARGEST == 0
}

/// Sizes in bytes of the requests for these pages.
pub(crate) fn requests(pages: &[Page]) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::new();
    for index in 0..pages.len() {
        match sizes.last_mut() {
            Some(size) if !begins(pages, index) => *size += BLOCK,
            _ => sizes.push(BLOCK),
        }
    }
    sizes
}

pub(crate) struct Checkpoint {
    pub(crate) pages: Vec<Page>,
    pub(crate) phase: f64,
    pub(crate) written: usize,
    /// Core's own writeback: pages written since the last chunk went out.
    chunk: Vec<Page>,
    pub(crate) next: f64,
    /// Written, and not told to the flusher yet.
    pub(crate) news: VecDeque<Page>,
    /// What is still to be written, for the device.
    pub(crate) planned: Load,
}

impl Checkpoint {
    pub(crate) fn new(pages: Vec<Page>, phase: f64) -> Self {
        let mut planned = Load::default();
        for index in 0..pages.len() {
            planned += share(&pages, index);
        }
        Self {
            next: if pages.is_empty() { f64::INFINITY } else { 0.0 },
            pages,
            phase,
            written: 0,
            chunk: Vec::new(),
            news: VecDeque::new(),
            planned,
        }
    }

    /// Write what is on schedule; the requests of the next full chunk, if core does it: it may
    /// block there, and comes back.
    pub(crate) fn write(&mut self, now: f64, core: bool) -> Option<Vec<f64>> {
        let total = self.pages.len();
        let target = (now / self.phase * total as f64).ceil().min(total as f64) as usize;
        while self.written < target {
            self.chunk.push(self.pages[self.written]);
            self.planned -= share(&self.pages, self.written);
            self.news.push_back(self.pages[self.written]);
            self.written += 1;
            if core && (self.chunk.len() == CHUNK || self.written == total) {
                self.chunk.sort_unstable();
                self.next = now;
                return Some(requests(&std::mem::take(&mut self.chunk)));
            }
        }
        if !core {
            self.chunk.clear();
        }
        self.next = if self.written == total {
            f64::INFINITY
        } else {
            now + NAP
        };
        None
    }
}

fn share(pages: &[Page], index: usize) -> Load {
    Load {
        operations: f64::from(u8::from(begins(pages, index))),
        bytes: BLOCK,
    }
}
