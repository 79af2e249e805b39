//! The directory of the stats files: names, and the way of a file to disk.
//!
//! *Runs in:* the collector writes; the workers it starts and backends that restore a file read.
//! *Reads and writes:* `pg_stat_tmp/ckptflush`, which base backups and pg_rewind leave out, and
//! which a crash and a restart leave alone.
//! *Never:* changes a file in place: under its name there is the old one or the new one. Follows
//! a symbolic link.
//!
//! A write: temporary file in the same directory, fsync, rename. The renames of a batch become
//! durable by one fsync of the directory. A crash of the server alone loses nothing of that; after
//! one of the machine a file that was renamed and is torn is found out by its checksum.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use statsfile::{HEADER_BYTES_MAX, Subject, file_name, parse_file_name};

/// Below the data directory, in which every process of the server runs.
const DIRECTORY: &str = "pg_stat_tmp/ckptflush";

/// Appended to the name of a file that is being written.
const TEMPORARY: &str = ".tmp";
/// Appended to the name of a file that was found damaged.
const BAD: &str = ".bad";
/// Counts the attempts to restore.
const ATTEMPTS: &str = "restoring";

/// No file of ours is larger; what is, is not read.
const MOST_BYTES: u64 = 4 << 30;

/// A directory with stats files.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
}

impl Directory {
    /// This server's own.
    pub(super) fn own() -> Self {
        Self::at(Path::new(DIRECTORY))
    }

    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Make it, if it is not there.
    pub(super) fn make(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    /// The stats files in it, by subject.
    pub(super) fn list(&self) -> io::Result<Vec<Subject>> {
        let names = self.names()?;
        let mut subjects: Vec<Subject> = names
            .iter()
            .filter_map(|name| parse_file_name(name))
            .collect();
        subjects.sort_unstable();
        Ok(subjects)
    }

    /// Remove temporary files, which only a writer that died leaves behind. For the writer: in
    /// another server's directory they may be about to be renamed.
    pub(super) fn remove_temporary(&self) {
        for name in self.names().unwrap_or_default() {
            let left = name.strip_suffix(TEMPORARY);
            if left.is_some_and(|name| parse_file_name(name).is_some()) {
                // The next write would replace it anyway.
                let _ = std::fs::remove_file(self.path.join(name));
            }
        }
    }

    /// All of a file; `None` if there is none.
    pub(super) fn read(&self, subject: Subject) -> io::Result<Option<Vec<u8>>> {
        read(&self.path.join(file_name(subject)), MOST_BYTES)
    }

    /// As much of a file as its header may take.
    pub(super) fn read_head(&self, subject: Subject) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(file_name(subject));
        let Some(file) = open(&path)? else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(HEADER_BYTES_MAX);
        file.take(HEADER_BYTES_MAX as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Replace a file.
    pub(super) fn write(&self, subject: Subject, bytes: &[u8], sync: bool) -> io::Result<()> {
        let name = file_name(subject);
        let temporary = self.path.join(format!("{name}{TEMPORARY}"));
        let written = fill(&temporary, bytes, sync)
            .and_then(|()| std::fs::rename(&temporary, self.path.join(&name)));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    /// Make what was renamed or removed durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    pub(super) fn remove(&self, subject: Subject) -> io::Result<()> {
        match std::fs::remove_file(self.path.join(file_name(subject))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Put a damaged file aside, for who wants to look at it.
    pub(super) fn put_aside(&self, subject: Subject) -> io::Result<()> {
        let name = file_name(subject);
        let path = self.path.join(&name);
        std::fs::rename(&path, self.path.join(format!("{name}{BAD}")))
    }

    /// How often restoring was begun and not finished.
    pub(super) fn attempts(&self) -> u32 {
        let text = std::fs::read_to_string(self.path.join(ATTEMPTS)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    pub(super) fn set_attempts(&self, attempts: u32) -> io::Result<()> {
        let path = self.path.join(ATTEMPTS);
        if attempts > 0 {
            return fill(&path, format!("{attempts}\n").as_bytes(), false);
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    // Not to wait for a writer, should it be a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// All of a file; `None` if there is none.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = open(path)? else {
        return Ok(None);
    };
    let length = file.metadata()?.len();
    if length > most {
        return Err(io::Error::other("it is too large for a stats file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn fill(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    file.write_all(bytes)?;
    if sync { file.sync_all() } else { Ok(()) }
}
