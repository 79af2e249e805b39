//! The mapping of a segment into this process: the only unsafe code of the crate.
//!
//! *Runs in:* every process that creates or attaches a segment.
//! *Reads and writes:* nothing: it hands out the words.
//! *Never:* hands out a plain reference to shared memory. All words are atomics, because other
//! processes change them at any time.
//!
//! What a mapping cannot protect from: when the owner of the file truncates it while it is
//! mapped, the next access beyond the new end raises SIGBUS. The server never does that (it
//! replaces a segment by a new file), and all pages are allocated at creation, so that a full
//! tmpfs is an error there and no signal here. A reader that attaches to the file of somebody
//! it does not trust cannot be safe from it; [`crate::Reader::check_size`] narrows the window.

use crate::sync::AtomicU64;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

// On read-only memory only loads of at most the width of a pointer are guaranteed to be plain
// loads; elsewhere a relaxed load of 64 bits may be a locked write.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("the stats segment needs a 64-bit machine");

/// A file mapped as words.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped only on drop.
unsafe impl Send for Mapping {}
// SAFETY: all access goes through atomics.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `words` words of the file. With `writable` false the pages are read-only
    /// for the hardware too: then nobody may store to the words, on pain of SIGSEGV. Only the
    /// read side of the crate is given such a mapping.
    pub(crate) fn new(
        file: BorrowedFd<'_>,
        words: usize,
        writable: bool,
    ) -> Result<Self, rustix::io::Errno> {
        let access = if writable {
            ProtFlags::READ | ProtFlags::WRITE
        } else {
            ProtFlags::READ
        };
        let bytes = words.checked_mul(8).ok_or(rustix::io::Errno::OVERFLOW)?;
        // SAFETY: a new mapping at an address the kernel chooses touches no memory in use.
        let start = unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { start, words })
    }

    /// The words.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, `words` words long and lives as long as `self`;
        // zero or not, any bits are an AtomicU64; nobody in this process has a reference to
        // them other than as atomics, and what other processes do are atomic accesses too.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this length, and nobody can have a reference any more.
        // An error is impossible for such an address, and nothing could be done about it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}
