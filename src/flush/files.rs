//! The files that the flusher knows, by small numbers.
//!
//! *Runs in:* the flusher. *Reads and writes:* its own memory.
//! *Never:* opens a file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use statseg::FileKey;

use super::due::Expiry;
use crate::{kernel, worklist};

/// Stands for a file that cannot be written back: it has no path, or is on no device.
pub(super) const NONE: u32 = u32::MAX;

/// What is known of a file.
pub(super) struct File {
    pub(super) key: FileKey,
    pub(super) path: Box<Path>,
    /// Index of its device among the lanes.
    pub(super) lane: usize,
    /// When its inode became dirty, as far as we can tell: the kernel writes all of it some 30
    /// seconds later. In seconds of the flusher's clock.
    pub(super) dirty_since: Option<f64>,
    /// Its modification time when it was last seen clean: until that changes it stays so.
    pub(super) clean_mtime: Option<(i64, i64)>,
    /// Its size a while ago, and as it was seen last.
    pub(super) sizes: Sizes,
    /// What the last sweep saw.
    pub(super) dirty_bytes: u64,
    pub(super) writeback_bytes: u64,
    /// Bytes whose writeback was started since they were last published.
    pub(super) flushed_bytes: u64,
    /// What was published of its dirty bytes.
    pub(super) shown_bytes: Option<u64>,
}

/// Sizes of a file, to tell what is new in it.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    seen: Option<(u64, u64)>,
    before: u64,
}

impl Sizes {
    /// Where what is new begins, of a file that has this size in this round of the sweep. New is
    /// what came in the last ten to twenty rounds; in a file seen for the first time, nothing.
    pub(super) fn new_from(&mut self, round: u64, size: u64) -> u64 {
        const ROUNDS: u64 = 10;
        match self.seen {
            Some((since, _)) if round < since + ROUNDS => {}
            Some((_, then)) => {
                self.before = then;
                self.seen = Some((round, size));
            }
            None => {
                self.before = size;
                self.seen = Some((round, size));
            }
        }
        self.before.min(size)
    }

    /// The file was found in this round. After the first round it must have been made meanwhile:
    /// all of it is new.
    pub(super) fn found(&mut self, round: u64) {
        if round > 1 && self.seen.is_none() {
            self.seen = Some((round, 0));
        }
    }
}

impl File {
    /// There are dirty pages in it now. Since when is its inode dirty in the kernel's eyes? From
    /// the first page, whatever is written of it, until the kernel itself has passed by.
    pub(super) fn dirtied(&mut self, expiry: Expiry, now: f64) -> f64 {
        if self
            .dirty_since
            .is_some_and(|since| expiry.is_over(since, now))
        {
            self.dirty_since = None;
        }
        *self.dirty_since.get_or_insert(now)
    }
}

/// All files, and the devices they are on.
#[derive(Default)]
pub(super) struct Files {
    files: Vec<Option<File>>,
    free: Vec<u32>,
    by_key: HashMap<FileKey, u32>,
    devices: Vec<u64>,
    /// The device of each directory: looked up once.
    directories: HashMap<PathBuf, usize>,
}

impl Files {
    /// The number of a file that the work list names.
    pub(super) fn of_key(&mut self, key: FileKey) -> u32 {
        if let Some(number) = self.by_key.get(&key) {
            return *number;
        }
        match worklist::path(&key) {
            Some(path) => self.insert(key, Path::new(&path)),
            None => NONE,
        }
    }

    /// Is it one of those?
    pub(super) fn knows(&self, key: &FileKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// The number of a file that the sweep found.
    pub(super) fn of_path(&mut self, key: FileKey, path: &Path) -> u32 {
        match self.by_key.get(&key) {
            Some(number) => *number,
            None => self.insert(key, path),
        }
    }

    fn insert(&mut self, key: FileKey, path: &Path) -> u32 {
        let Some(lane) = path.parent().and_then(|directory| self.lane(directory)) else {
            return NONE;
        };
        let file = File {
            key,
            path: path.into(),
            lane,
            dirty_since: None,
            clean_mtime: None,
            sizes: Sizes::default(),
            dirty_bytes: 0,
            writeback_bytes: 0,
            flushed_bytes: 0,
            shown_bytes: None,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.files[number as usize] = Some(file);
                number
            }
            None => {
                let Ok(number) = u32::try_from(self.files.len()) else {
                    return NONE;
                };
                self.files.push(Some(file));
                number
            }
        };
        self.by_key.insert(key, number);
        number
    }

    fn lane(&mut self, directory: &Path) -> Option<usize> {
        if let Some(lane) = self.directories.get(directory) {
            return Some(*lane);
        }
        let device = kernel::device_of(directory)?;
        let known = self.devices.iter().position(|known| *known == device);
        let lane = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        self.directories.insert(directory.to_owned(), lane);
        Some(lane)
    }

    /// The devices found so far; their indexes are the lanes.
    pub(super) fn devices(&self) -> &[u64] {
        &self.devices
    }

    pub(super) fn get(&self, number: u32) -> Option<&File> {
        self.files.get(number as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut File> {
        self.files.get_mut(number as usize)?.as_mut()
    }

    /// The file is gone. Its number goes to another one.
    pub(super) fn remove(&mut self, number: u32) {
        let Some(file) = self.files.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        self.by_key.remove(&file.key);
        // A tablespace may come back on another device under the name of this one.
        if let Some(directory) = file.path.parent() {
            self.directories.remove(directory);
        }
        self.free.push(number);
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut File> {
        self.files.iter_mut().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.files.len() - self.free.len()
    }
}
