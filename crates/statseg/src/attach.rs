//! Attaches to a segment, read-only.
//!
//! *Runs in:* any process, the viewer above all.
//! *Reads and writes:* reads the file; takes a shared lock for a moment when asked whether the
//! server is alive.
//! *Never:* writes, trusts a word, or follows a symbolic link.
//!
//! A file that its owner truncates while it is mapped raises SIGBUS in a reader: no check can
//! exclude that. The server never truncates a segment; [`Reader::check_size`] before each
//! snapshot finds what somebody else truncated since.

use crate::error::AttachError;
use crate::layout::{HEADER_BYTES, LAYOUT_VERSION, header};
use crate::mapping::Mapping;
use crate::parse::Layout;
use crate::stale::{self, HeaderCopy, errno};
use crate::view::View;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A segment of some server, mapped read-only.
#[derive(Debug)]
pub struct Reader {
    mapping: Mapping,
    layout: Layout,
    file: File,
    path: PathBuf,
    stat: Stat,
}

/// Attaches to the segment in this file.
///
/// # Errors
/// Each way to fail has its own [`AttachError`].
pub fn attach(path: &Path) -> Result<Reader, AttachError> {
    let (file, stat) = open(path)?;
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    let expected = check_header(path, &file, bytes)?;
    let words = usize::try_from(expected / 8).map_err(|_| failed("map", path, Errno::FBIG))?;
    let mapping = Mapping::new(file.as_fd(), words, false).map_err(|e| failed("map", path, e))?;
    // SYNC: observe SEGMENT. The version was read through the file; this orders the rest
    // after it.
    crate::sync::fence(crate::sync::Ordering::Acquire);
    let layout = Layout::parse(mapping.words()).map_err(|what| AttachError::Corrupt {
        path: path.to_owned(),
        what,
    })?;
    Ok(Reader {
        mapping,
        layout,
        file,
        path: path.to_owned(),
        stat,
    })
}

fn failed(action: &'static str, path: &Path, errno: Errno) -> AttachError {
    AttachError::Io {
        action,
        path: path.to_owned(),
        error: errno.into(),
    }
}

fn open(path: &Path) -> Result<(File, Stat), AttachError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let owned = || path.to_owned();
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Err(AttachError::NotFound { path: owned() }),
        Err(Errno::LOOP) => return Err(AttachError::Symlink { path: owned() }),
        Err(e @ (Errno::ACCESS | Errno::PERM)) => {
            return Err(AttachError::Permission {
                path: owned(),
                error: e.into(),
            });
        }
        // A socket, or a device without a driver.
        Err(Errno::NXIO | Errno::NODEV) => return Err(AttachError::NotRegular { path: owned() }),
        Err(e) => return Err(failed("open", path, e)),
    };
    let stat = rustix::fs::fstat(&file).map_err(|e| failed("stat", path, e))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(AttachError::NotRegular { path: owned() });
    }
    Ok((file, stat))
}

/// Checks what must be right before anything is mapped, and returns the size to map.
fn check_header(path: &Path, file: &File, bytes: u64) -> Result<u64, AttachError> {
    let path = || path.to_owned();
    let (found, filled) = HeaderCopy::read(file).map_err(|e| failed("read", &path(), errno(&e)))?;
    if filled == 0 {
        return Err(AttachError::BeingCreated { path: path() });
    }
    if !found.has_magic() {
        return Err(AttachError::NotASegment { path: path() });
    }
    match found.word(header::VERSION) {
        LAYOUT_VERSION => {}
        0 => return Err(AttachError::BeingCreated { path: path() }),
        version => {
            return Err(AttachError::OtherVersion {
                path: path(),
                found: version,
                known: LAYOUT_VERSION,
            });
        }
    }
    let expected = found.word(header::BYTES);
    if bytes < expected.max(HEADER_BYTES) {
        let expected = expected.max(HEADER_BYTES);
        return Err(AttachError::Truncated {
            path: path(),
            bytes,
            expected,
        });
    }
    if expected < HEADER_BYTES || !expected.is_multiple_of(8) {
        let what = format!("its size is given as {expected} bytes");
        return Err(AttachError::Corrupt { path: path(), what });
    }
    Ok(expected)
}

impl Reader {
    /// What is in the segment.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(self.mapping.words(), &self.layout)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether any process of the server that made the segment is alive: they all hold the
    /// same lock on it.
    ///
    /// # Errors
    /// [`AttachError::Io`] when the lock could not be asked for.
    pub fn server_is_alive(&self) -> Result<bool, AttachError> {
        loop {
            match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(e) => return Err(failed("lock", &self.path, e)),
            }
        }
        // At once: a server that starts now would find its lock taken.
        rustix::fs::flock(&self.file, FlockOperation::Unlock)
            .map_err(|e| failed("unlock", &self.path, e))?;
        Ok(false)
    }

    /// Whether the file still stands in its place; else the server has made a new segment, or
    /// has removed this one.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        stale::is_same_file(&self.path, &self.stat)
    }

    /// Checks that the file was not truncated since it was mapped. To be called before each
    /// snapshot.
    ///
    /// # Errors
    /// [`AttachError::Truncated`].
    pub fn check_size(&self) -> Result<(), AttachError> {
        let stat = rustix::fs::fstat(&self.file).map_err(|e| failed("stat", &self.path, e))?;
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        let expected = self.layout.bytes;
        if bytes < expected {
            return Err(AttachError::Truncated {
                path: self.path.clone(),
                bytes,
                expected,
            });
        }
        Ok(())
    }
}
