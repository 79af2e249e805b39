//! What to do with a file that already stands in the segment's place.
//!
//! *Runs in:* the postmaster, before it creates its segment.
//! *Reads and writes:* reads the old file; removes it when it is a stale segment of ours.
//! *Never:* removes what is not ours or is in use; follows a symbolic link.
//!
//! Whose a file is, is asked first (type, owner, magic, system identifier); whether it is in
//! use, second: every process of the server that made it holds the same lock on it through the
//! descriptor inherited by fork, so the lock outlives the postmaster as long as one child lives
//! and cannot be confused by a process id used again.
//!
//! The one exception: a locked segment made by this very process. After a crash-restart the
//! postmaster makes a new segment, and its old descriptor may still be open.

use crate::error::{CreateError, Foreign};
use crate::layout::{LAYOUT_VERSION, MAGIC, header};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// How often and how long to wait for a lock that a viewer may be holding for a moment, while
/// it asks whether the server is alive.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// The first words of a file: as many of the header as it has, the rest zero.
pub(crate) struct HeaderCopy([u64; header::STATE + 1]);

impl HeaderCopy {
    pub(crate) fn read(file: &File) -> std::io::Result<(Self, usize)> {
        let mut bytes = [[0u8; 8]; header::STATE + 1];
        let mut filled = 0;
        while filled < size_of_val(&bytes) {
            match file.read_at(&mut bytes.as_flattened_mut()[filled..], filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok((Self(bytes.map(u64::from_ne_bytes)), filled))
    }

    pub(crate) fn word(&self, at: usize) -> u64 {
        self.0[at]
    }

    pub(crate) fn has_magic(&self) -> bool {
        self.0[header::MAGIC] == u64::from_ne_bytes(MAGIC)
    }
}

/// The error number of an error of the standard library.
pub(crate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

pub(crate) fn io(action: &'static str, path: &Path, errno: Errno) -> CreateError {
    CreateError::Io {
        action,
        path: path.to_owned(),
        error: errno.into(),
    }
}

/// Whether `path` still is the file with this device and inode.
pub(crate) fn is_same_file(path: &Path, stat: &Stat) -> bool {
    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|now| (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino))
}

/// Takes the lock of a living server; waits for a viewer, not for a server.
pub(crate) fn lock(file: &File) -> Result<(), Errno> {
    let mut tries = 0;
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Removes the file in the way if it is a stale segment of this cluster. A file that is gone
/// meanwhile is as good as removed.
pub(crate) fn remove_stale(path: &Path, system_identifier: u64) -> Result<(), CreateError> {
    let Some(file) = open_old(path)? else {
        return Ok(());
    };
    let (old, filled) = HeaderCopy::read(&file).map_err(|e| io("read", path, errno(&e)))?;
    check_owner(&old, filled, system_identifier).map_err(|why| foreign(path, why))?;
    match lock(&file) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) if old.word(header::PID) == u64::from(std::process::id()) => {}
        Err(Errno::WOULDBLOCK) => {
            return Err(CreateError::InUse {
                path: path.to_owned(),
                pid: old.word(header::PID),
            });
        }
        Err(e) => return Err(io("lock", path, e)),
    }
    // Under the lock: another server may have replaced the file since it was opened.
    let stat = rustix::fs::fstat(&file).map_err(|e| io("stat", path, e))?;
    if !is_same_file(path, &stat) {
        return Ok(());
    }
    match rustix::fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(io("remove stale", path, e)),
    }
}

fn foreign(path: &Path, why: Foreign) -> CreateError {
    CreateError::Foreign {
        path: path.to_owned(),
        why,
    }
}

/// Opens the old file if it is a regular one of this user; `None` when it is gone.
fn open_old(path: &Path) -> Result<Option<File>, CreateError> {
    // Looked at before it is opened: opening a device or a pipe may do something.
    let stat = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        result => result.map_err(|e| io("stat", path, e))?,
    };
    check_stat(&stat).map_err(|why| foreign(path, why))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(foreign(path, Foreign::Symlink)),
        result => File::from(result.map_err(|e| io("open", path, e))?),
    };
    // And again: it may be another one by now.
    let stat = rustix::fs::fstat(&file).map_err(|e| io("stat", path, e))?;
    check_stat(&stat).map_err(|why| foreign(path, why))?;
    Ok(Some(file))
}

fn check_stat(stat: &Stat) -> Result<(), Foreign> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Foreign::Symlink),
        _ => return Err(Foreign::NotRegular),
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Foreign::Owner(stat.st_uid));
    }
    Ok(())
}

/// Whether the content is ours. A segment half built has no system identifier yet, and an
/// empty file may be one whose creator died at once.
fn check_owner(old: &HeaderCopy, filled: usize, system_identifier: u64) -> Result<(), Foreign> {
    if filled == 0 {
        return Ok(());
    }
    if !old.has_magic() {
        return Err(Foreign::NotASegment);
    }
    // Its place has been the same in every version of the layout, and stays there.
    let found = old.word(header::SYSTEM_IDENTIFIER);
    let half_built = old.word(header::VERSION) < LAYOUT_VERSION && found == 0;
    if found == system_identifier || half_built {
        Ok(())
    } else {
        Err(Foreign::OtherServer(found))
    }
}
