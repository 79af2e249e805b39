//! Creates a segment: a new file on tmpfs, allocated, locked, mapped and filled.
//!
//! *Runs in:* the postmaster, at start and after a crash-restart.
//! *Reads and writes:* the new file; a stale one through [`crate::stale`].
//! *Never:* leaves a file behind when it fails; follows a link; uses a disk.
//!
//! In this order: 1. the directory is checked; 2. the file is made with O_EXCL, and a stale one
//! of ours removed if it stands in the way; 3. it is locked, and must still be in its place:
//! another server may have taken it for stale before the lock; 4. the magic is written, so that
//! from here on everybody can tell whose it is; 5. all its pages are allocated: a full file
//! system is an error now and never a SIGBUS later; 6. it is mapped and filled, the version
//! last.

use crate::build::build;
use crate::error::CreateError;
use crate::layout::{Config, MAGIC, Plan};
use crate::mapping::Mapping;
use crate::parse::Layout;
use crate::segment::Segment;
use crate::stale::{self, errno, io};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// How often to start over when the file in the way changes under our hands.
const TRIES: u32 = 3;

/// Creates the segment of this server.
///
/// # Errors
/// Each way to fail has its own [`CreateError`]; then nothing is left behind.
pub fn create(config: &Config) -> Result<Segment, CreateError> {
    let path = path_of(config)?;
    check_directory(config)?;
    let mut fresh = None;
    for _ in 0..TRIES {
        if let Some(made) = make_file(&path, config)? {
            fresh = Some(made);
            break;
        }
    }
    // Still not: somebody else makes files here as fast as we do.
    let fresh = fresh.ok_or(CreateError::InUse { path, pid: 0 })?;
    fill(fresh, config)
}

/// A file just made, removed again unless it is kept.
struct Fresh {
    file: File,
    path: PathBuf,
    stat: rustix::fs::Stat,
    keep: bool,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.keep && stale::is_same_file(&self.path, &self.stat) {
            // An error here could only hide the one that is being reported.
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

fn path_of(config: &Config) -> Result<PathBuf, CreateError> {
    let name = config.file_name.as_str();
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
        return Err(CreateError::FileName(name.to_owned()));
    }
    Ok(config.directory.join(name))
}

fn check_directory(config: &Config) -> Result<(), CreateError> {
    let path = &config.directory;
    let failed = |errno: Errno| CreateError::Directory {
        path: path.clone(),
        error: errno.into(),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    if config.require_tmpfs && !in_memory(directory.as_fd()).map_err(failed)? {
        return Err(CreateError::NotTmpfs { path: path.clone() });
    }
    Ok(())
}

/// Whether the file system is tmpfs, or ramfs, which differs only in having no limit.
#[cfg(target_os = "linux")]
fn in_memory(directory: std::os::fd::BorrowedFd<'_>) -> Result<bool, Errno> {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58F6;
    // The type of the field differs between machines, and its sign with it.
    let found = rustix::fs::fstatfs(directory)?.f_type as u64 & 0xFFFF_FFFF;
    Ok(found == TMPFS || found == RAMFS)
}

/// Elsewhere the file system is not asked.
#[cfg(not(target_os = "linux"))]
fn in_memory(_: std::os::fd::BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(true)
}

/// Steps 2 and 3: the file, or `None` when it is worth another try.
fn make_file(path: &Path, config: &Config) -> Result<Option<Fresh>, CreateError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => File::from(file),
        Err(Errno::EXIST) => {
            stale::remove_stale(path, config.system_identifier)?;
            return Ok(None);
        }
        Err(e @ (Errno::NOSPC | Errno::DQUOT)) => return Err(no_space(path, config, e)),
        Err(e) => return Err(io("create", path, e)),
    };
    let stat = rustix::fs::fstat(&file).map_err(|e| io("stat", path, e))?;
    let mut fresh = Fresh {
        file,
        path: path.to_owned(),
        stat,
        keep: false,
    };
    match stale::lock(&fresh.file) {
        Ok(()) if stale::is_same_file(path, &fresh.stat) => Ok(Some(fresh)),
        Ok(()) | Err(Errno::WOULDBLOCK) => {
            // Another server took it for a stale one. It is not in its place any more.
            fresh.keep = true;
            Ok(None)
        }
        Err(e) => Err(io("lock", path, e)),
    }
}

/// Steps 4 to 6.
fn fill(mut fresh: Fresh, config: &Config) -> Result<Segment, CreateError> {
    let path = fresh.path.clone();
    let plan = Plan::new(config);
    let bytes = plan.words as u64 * 8;
    let full = |e: Errno| match e {
        Errno::NOSPC | Errno::DQUOT => no_space(&path, config, e),
        e => io("allocate", &path, e),
    };
    fresh
        .file
        .write_all_at(&MAGIC, 0)
        .map_err(|e| full(errno(&e)))?;
    allocate(&fresh.file, bytes).map_err(full)?;
    let mapping =
        Mapping::new(fresh.file.as_fd(), plan.words, true).map_err(|e| io("map", &path, e))?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    build(mapping.words(), &plan, config, std::process::id(), now);
    // Read back with the code that every reader uses: what it refuses, nobody could read.
    let layout = Layout::parse(mapping.words());
    debug_assert!(layout.is_ok(), "{layout:?}");
    let layout = layout.map_err(|_| io("lay out", &path, Errno::INVAL))?;
    let file = fresh
        .file
        .try_clone()
        .map_err(|e| io("duplicate", &path, errno(&e)))?;
    fresh.keep = true;
    Ok(Segment::new(mapping, layout, file, path, fresh.stat))
}

fn no_space(path: &Path, config: &Config, errno: Errno) -> CreateError {
    CreateError::NoSpace {
        path: path.to_owned(),
        bytes: crate::layout::required_bytes(config),
        error: errno.into(),
    }
}

/// Allocates every page of the file.
fn allocate(file: &File, bytes: u64) -> Result<(), Errno> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::INTR) => {}
            // ramfs and some file systems of tests: written pages are allocated ones.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_zeros(file, bytes),
            result => return result,
        }
    }
}

fn write_zeros(file: &File, bytes: u64) -> Result<(), Errno> {
    const CHUNK: usize = 1 << 16;
    let zeros = vec![0; CHUNK];
    let mut at = MAGIC.len() as u64;
    while at < bytes {
        let n = usize::try_from(bytes - at).unwrap_or(CHUNK).min(CHUNK);
        file.write_all_at(&zeros[..n], at).map_err(|e| errno(&e))?;
        at += n as u64;
    }
    Ok(())
}
