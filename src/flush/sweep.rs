//! The sweep: finds what is dirty in the kernel's page cache, whoever has written it.
//!
//! *Runs in:* the flusher. *Reads and writes:* reads the directories of the data directory and
//! of its tablespaces, the modification times of the files in them, and cachestat of those that
//! have changed. *Never:* looks at a file that has not changed since it was last seen clean;
//! works longer than its share of the time.
//!
//! A file that nobody has a buffer of is seen as well: an index build, COPY through its ring.
//! Temporary files and unlogged relations are left to the kernel: no checkpoint needs them.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pacing::queue::WINDOW_BLOCKS;
use statseg::FileKey;

use super::files::{File, Files};
use crate::kernel::DataFile;
use crate::{relfile, server};

/// The sweep works this long at most in one round.
const SLICE: Duration = Duration::from_millis(2);
/// And begins anew no sooner than this.
const EVERY: Duration = Duration::from_secs(1);
/// Nor sooner than this many times the time that the round before worked: a share of 5 %. It
/// counts from some ten thousand files on.
const ROUND_SHARE: u32 = 20;
/// A directory is listed again after this many times the time it took: a share of 2 % at most.
const LIST_SHARE: u32 = 50;
/// More files than this are not looked at: half a million take some 130 MB.
const MOST_FILES: usize = 500_000;
/// The clock of modification times has ticks of up to 10 ms: what was written in the tick of the
/// look may have come after it.
const TICK_NS: i64 = 20_000_000;

const BLOCK: u64 = pacing::BLOCK_BYTES;
const WINDOW_BYTES: u64 = WINDOW_BLOCKS as u64 * BLOCK;
const INIT_FORK: u32 = 3;

/// A directory with files of relations.
struct Directory {
    path: PathBuf,
    /// Its modification time when it was last listed: until that changes it has the same files.
    mtime: Option<(i64, i64)>,
    listed: Option<Instant>,
    took: Duration,
    files: Vec<u32>,
}

/// What was seen of a file that has changed.
pub(super) enum Seen {
    /// Nothing of it is dirty.
    Clean,
    /// Blocks dirty in a window, as far as the kernel tells; in a part of the file that is new
    /// all of them are.
    Window { index: u32, dirty: u32, new: bool },
    /// It is gone.
    Gone,
}

/// Who is told what was seen of which file.
pub(super) trait See: FnMut(&mut Files, u32, &Seen) {}

impl<F: FnMut(&mut Files, u32, &Seen)> See for F {}

/// The sweep's place in its round.
pub(super) struct Sweep {
    directories: Vec<Directory>,
    /// Next directory and file.
    next: (usize, usize),
    round_began: Option<Instant>,
    /// Number of the round, from 1.
    round: u64,
    worked: Duration,
    /// The time the last full round worked.
    pub(super) last_round: Duration,
}

impl Sweep {
    pub(super) fn new() -> Self {
        Self {
            directories: Vec::new(),
            next: (0, 0),
            round_began: None,
            round: 0,
            worked: Duration::ZERO,
            last_round: Duration::ZERO,
        }
    }

    /// Go on for a slice. True when there is more to do in this round.
    pub(super) fn slice(&mut self, files: &mut Files, mut seen: impl See) -> bool {
        let began = Instant::now();
        if self.next == (0, 0) {
            let every = EVERY.max(self.last_round * ROUND_SHARE);
            if self.round_began.is_some_and(|at| at.elapsed() < every) {
                return false;
            }
            self.round_began = Some(began);
            self.round += 1;
            self.find_directories(files, &mut seen);
        }
        let mut finished = false;
        while !finished && began.elapsed() < SLICE {
            finished = !self.step(files, &mut seen);
        }
        self.worked += began.elapsed();
        if finished {
            self.next = (0, 0);
            self.last_round = std::mem::take(&mut self.worked);
        }
        !finished
    }

    /// Look at the next file. False at the end of the round.
    fn step(&mut self, files: &mut Files, seen: &mut impl See) -> bool {
        let Some(directory) = self.directories.get_mut(self.next.0) else {
            return false;
        };
        if self.next.1 == 0 {
            directory.list(self.round, files, seen);
        }
        let Some(number) = directory.files.get(self.next.1).copied() else {
            self.next = (self.next.0 + 1, 0);
            return true;
        };
        self.next.1 += 1;
        look(number, self.round, files, seen);
        true
    }

    /// `base/*`, `global` and `pg_tblspc/*/PG_*/*`.
    fn find_directories(&mut self, files: &mut Files, seen: &mut impl See) {
        // Where the kernel does not say what there is, all stays as it was until the next round.
        let mut unread = Vec::new();
        let mut below = |path: &Path| {
            subdirectories(path).unwrap_or_else(|_| {
                unread.push(path.to_owned());
                Vec::new()
            })
        };
        // A set: there may be thousands of databases.
        let mut new = HashSet::from([PathBuf::from("global")]);
        new.extend(below(Path::new("base")));
        for tablespace in below(Path::new("pg_tblspc")) {
            for version in below(&tablespace) {
                if server::is_own_version(&version) {
                    new.extend(below(&version));
                }
            }
        }
        self.directories.retain_mut(|directory| {
            let path = &directory.path;
            let stays = new.remove(path) || unread.iter().any(|above| path.starts_with(above));
            if !stays {
                directory.forget(files, &HashSet::new(), seen);
            }
            stays
        });
        self.directories
            .extend(new.into_iter().map(|path| Directory {
                path,
                mtime: None,
                listed: None,
                took: Duration::ZERO,
                files: Vec::new(),
            }));
    }
}

impl Directory {
    /// List it anew, if files came or went.
    fn list(&mut self, round: u64, files: &mut Files, seen: &mut impl See) {
        if self
            .listed
            .is_some_and(|at| at.elapsed() < self.took * LIST_SHARE)
        {
            return;
        }
        let Ok(metadata) = std::fs::metadata(&self.path) else {
            return;
        };
        let modified = mtime(&metadata);
        if self.mtime == Some(modified) {
            return;
        }
        let began = Instant::now();
        let settled = is_past(modified);
        let Ok(found) = relations(&self.path) else {
            return;
        };
        self.forget(files, &found.iter().map(|(key, _)| *key).collect(), seen);
        for (key, path) in &found {
            if files.len() >= MOST_FILES && !files.knows(key) {
                continue;
            }
            let number = files.of_path(*key, path);
            if let Some(file) = files.get_mut(number) {
                file.sizes.found(round);
                self.files.push(number);
            }
        }
        self.mtime = settled.then_some(modified);
        self.listed = Some(began);
        self.took = began.elapsed();
    }

    /// Forget its files, and for good those that are not among `left`. A number that was given back
    /// meanwhile may be that of a file elsewhere.
    fn forget(&mut self, files: &mut Files, left: &HashSet<FileKey>, seen: &mut impl See) {
        for number in std::mem::take(&mut self.files) {
            let is_gone = files.get(number).is_some_and(|file| {
                file.path.parent() == Some(self.path.as_path()) && !left.contains(&file.key)
            });
            if is_gone {
                seen(files, number, &Seen::Gone);
            }
        }
    }
}

/// What is in a directory; nothing if there is none.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn subdirectories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = entries(directory)?;
    // pgsql_tmp, and what is no number but in a tablespace, where it is the version's.
    found.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            name.starts_with("PG_") || name.bytes().all(|byte| byte.is_ascii_digit())
        })
    });
    Ok(found)
}

/// The files of relations in a directory but those of unlogged ones; temporary ones have other names.
fn relations(directory: &Path) -> io::Result<Vec<(FileKey, PathBuf)>> {
    let mut unlogged = HashSet::new();
    let mut found = Vec::new();
    for path in entries(directory)? {
        let Some(key) = path.to_str().map(relfile::key) else {
            continue;
        };
        let FileKey::Relation {
            relfilenode, fork, ..
        } = key
        else {
            continue;
        };
        if fork == INIT_FORK {
            unlogged.insert(relfilenode);
        }
        found.push((relfilenode, fork, key, path));
    }
    found.retain(|(relation, fork, ..)| *fork == INIT_FORK || !unlogged.contains(relation));
    Ok(found
        .into_iter()
        .map(|(_, _, key, path)| (key, path))
        .collect())
}

/// Only this says that something was dropped. What cannot be asked for another reason, such as too
/// many open files, is left as it is.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn mtime(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

/// Ask for a file, if it has changed since it was last clean.
fn look(number: u32, round: u64, files: &mut Files, seen: &mut impl See) {
    let Some(file) = files.get_mut(number) else {
        return;
    };
    let metadata = match std::fs::metadata(&file.path) {
        Ok(metadata) => metadata,
        Err(error) => {
            if is_missing(&error) {
                seen(files, number, &Seen::Gone);
            }
            return;
        }
    };
    let modified = mtime(&metadata);
    if file.clean_mtime == Some(modified) {
        return;
    }
    let settled = is_past(modified);
    let new_from = file.sizes.new_from(round, metadata.size());
    match ask(file, &metadata, new_from) {
        Err(error) if is_missing(&error) => seen(files, number, &Seen::Gone),
        Err(_) => {}
        Ok(windows) if windows.is_empty() => {
            if file.writeback_bytes == 0 && settled {
                file.clean_mtime = Some(modified);
            }
            seen(files, number, &Seen::Clean);
        }
        Ok(windows) => {
            for window in windows {
                seen(files, number, &window);
            }
        }
    }
}

/// The dirty windows of a file, and with the first of them every window that is not.
fn ask(file: &mut File, metadata: &Metadata, new_from: u64) -> io::Result<Vec<Seen>> {
    let open = DataFile::open(&file.path)?;
    let whole = open.cached(0, 0)?;
    file.dirty_bytes = whole.dirty_bytes;
    file.writeback_bytes = whole.writeback_bytes;
    if whole.dirty_bytes == 0 {
        return Ok(Vec::new());
    }
    let windows = u32::try_from(metadata.size().div_ceil(WINDOW_BYTES)).unwrap_or(u32::MAX);
    let window = |index: u32| {
        let found = open.cached(u64::from(index) * WINDOW_BYTES, WINDOW_BYTES)?;
        let blocks = found.dirty_bytes.div_ceil(BLOCK);
        Ok(Seen::Window {
            index,
            dirty: u32::try_from(blocks).unwrap_or(WINDOW_BLOCKS),
            new: u64::from(index) * WINDOW_BYTES >= new_from,
        })
    };
    (0..windows).map(window).collect()
}

/// Is a modification time over, so that a later change will have another one? To be asked before
/// the look that it stands for: what comes in the tick of the look may come after it.
fn is_past(modified: (i64, i64)) -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let Ok(now) = now.map(|now| i64::try_from(now.as_nanos()).unwrap_or(0)) else {
        return false;
    };
    let modified = modified.0.saturating_mul(1_000_000_000) + modified.1;
    now - modified > TICK_NS
}
