//! An allocator that counts: how much a test has taken at most, and how often.
#![allow(dead_code, unreachable_pub)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// To be the `#[global_allocator]` of a test of one thread.
pub struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    MOST.fetch_max(TAKEN.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: hands everything on to the system's allocator, and counts beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: our caller's promises are those that it asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

/// What `what` took at most in addition to what was there, in bytes, and how often it took some.
pub fn measure<T>(what: impl FnOnce() -> T) -> (T, usize, usize) {
    let (taken, calls) = (TAKEN.load(Relaxed), CALLS.load(Relaxed));
    MOST.store(taken, Relaxed);
    let result = what();
    let most = MOST.load(Relaxed).saturating_sub(taken);
    (result, most, CALLS.load(Relaxed) - calls)
}
