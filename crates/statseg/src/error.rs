//! The ways to fail to create or attach a segment, each with its message, detail and hint in
//! PostgreSQL's form.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing.
//! *Never:* puts a detail or a hint into the primary message.

use std::path::PathBuf;

/// The number and text of an error of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsError(pub i32);

impl std::fmt::Display for OsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        // Without the number that the standard library adds: messages end like PostgreSQL's.
        f.write_str(
            text.rsplit_once(" (os error")
                .map_or(text.as_str(), |(text, _)| text),
        )
    }
}

impl From<rustix::io::Errno> for OsError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

/// Why a file in the segment's place is not ours to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It is a symbolic link.
    Symlink,
    /// It is a directory, a pipe, a device.
    NotRegular,
    /// It belongs to this user id.
    Owner(u32),
    /// It holds something else.
    NotASegment,
    /// It is the segment of the cluster with this system identifier.
    OtherServer(u64),
}

/// Why a segment could not be created. Nothing is left behind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The name of the file is not one.
    #[error("invalid stats segment file name \"{0}\"")]
    FileName(String),
    /// The directory cannot be used.
    #[error("could not open stats segment directory \"{}\": {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: OsError,
    },
    /// The directory is on a disk.
    #[error("stats segment directory \"{}\" is not on a memory file system", path.display())]
    NotTmpfs {
        /// The directory.
        path: PathBuf,
    },
    /// In its place is a file that is not ours.
    #[error("file \"{}\" is not a stats segment of this server", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: Foreign,
    },
    /// In its place is the segment of a running server.
    #[error("stats segment \"{}\" is in use by another server", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The process id of that server's postmaster, as it wrote it; 0 when it has not yet.
        pid: u64,
    },
    /// The file system is full.
    #[error("could not allocate {bytes} bytes for stats segment \"{}\": {error}", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What the segment needs.
        bytes: u64,
        /// No space, or no quota.
        error: OsError,
    },
    /// Something else failed.
    #[error("could not {action} stats segment \"{}\": {error}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        error: OsError,
    },
}

impl CreateError {
    /// What else is known, in full sentences.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::FileName(_) => {
                Some("The name must not be empty and must not contain a slash.".to_owned())
            }
            Self::NotTmpfs { .. } => Some(
                "On a disk, every process that counts would wait for the writing of its page."
                    .to_owned(),
            ),
            Self::Foreign { why, .. } => Some(match why {
                Foreign::Symlink => "It is a symbolic link.".to_owned(),
                Foreign::NotRegular => "It is not a regular file.".to_owned(),
                Foreign::Owner(uid) => format!("It belongs to the user with ID {uid}."),
                Foreign::NotASegment => "It does not begin as a stats segment.".to_owned(),
                Foreign::OtherServer(id) => {
                    format!("It belongs to the cluster with system identifier {id}.")
                }
            }),
            Self::InUse { pid, .. } if *pid != 0 => {
                Some(format!("It was created by the postmaster with PID {pid}."))
            }
            Self::NoSpace { bytes, .. } => Some(format!("The stats segment needs {bytes} bytes.")),
            _ => None,
        }
    }

    /// What can be done, in full sentences.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        const SETTING: &str = "\"ckptflush.segment_directory\"";
        match self {
            Self::FileName(_) => None,
            Self::Directory { .. } | Self::NotTmpfs { .. } => Some(format!(
                "Set {SETTING} to an existing directory on tmpfs, such as \"/dev/shm\"."
            )),
            Self::Foreign { .. } => Some(format!(
                "Remove the file, or set {SETTING} to another directory."
            )),
            Self::InUse { .. } => Some(format!(
                "Stop the other server, or what is left of it, or set {SETTING} to another \
                 directory."
            )),
            Self::NoSpace { .. } => Some(format!(
                "Reduce \"ckptflush.files_size\" or \"ckptflush.history_size\", enlarge the file \
                 system, or set {SETTING} to another directory on tmpfs."
            )),
            Self::Io { .. } => None,
        }
    }
}

/// Why a file could not be attached as a segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// There is no such file.
    #[error("stats segment \"{}\" does not exist", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// It may not be read.
    #[error("could not open stats segment \"{}\": {error}", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
        /// Why.
        error: OsError,
    },
    /// It is a symbolic link: none is followed.
    #[error("\"{}\" is a symbolic link, not a stats segment", path.display())]
    Symlink {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, a pipe, a device.
    #[error("\"{}\" is not a regular file", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// It is smaller than it says itself, or too small for any segment.
    #[error("stats segment \"{}\" is truncated", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The size it has.
        bytes: u64,
        /// The size it should have.
        expected: u64,
    },
    /// It holds something else.
    #[error("file \"{}\" is not a stats segment", path.display())]
    NotASegment {
        /// The file.
        path: PathBuf,
    },
    /// It has a layout that this version cannot read.
    #[error("stats segment \"{}\" has layout version {found}, expected {known}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// It is being created at this moment, or its creator died at it.
    #[error("stats segment \"{}\" is still being created", path.display())]
    BeingCreated {
        /// The file.
        path: PathBuf,
    },
    /// Its directories contradict themselves.
    #[error("stats segment \"{}\" is corrupt: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Something else failed.
    #[error("could not {action} stats segment \"{}\": {error}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        error: OsError,
    },
}

impl AttachError {
    /// What else is known, in full sentences.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Truncated {
                bytes, expected, ..
            } => Some(format!("It has {bytes} bytes, and should have {expected}.")),
            _ => None,
        }
    }

    /// What can be done, in full sentences.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { .. } => {
                Some("Check that the server is running and preloads \"ckptflush\".".to_owned())
            }
            Self::Permission { .. } => Some(
                "Only the operating system user that runs the server may read its stats segment."
                    .to_owned(),
            ),
            Self::OtherVersion { .. } => {
                Some("Use the viewer that was installed with the server's extension.".to_owned())
            }
            Self::BeingCreated { .. } => Some("Try again in a moment.".to_owned()),
            _ => None,
        }
    }
}
