//! The border to the kernel: the page cache asked and nudged, and the block device's counters.
//!
//! *Runs in:* the flusher; [`facilities`], [`free_bytes`] and [`memory_bytes`] in any backend.
//! *Reads and writes:* data files, by four calls only: open, cachestat, sync_file_range with
//! SYNC_FILE_RANGE_WRITE, close. Reads /sys and /proc, and the size of a file system.
//! *Never:* calls fsync, fdatasync, syncfs, or sync_file_range with a WAIT flag: they would
//! take a writeback error away from the checkpointer, whose own fsync then reports success (the
//! kernel's errseq_t gives an error to the next opener only while nobody has seen it). Never
//! creates a file, and never keeps one open: a dropped one must not hold its space.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Pages of a range in the page cache.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Cached {
    pub(crate) dirty_bytes: u64,
    pub(crate) writeback_bytes: u64,
}

/// An open data file. Close it soon: it is for one look, or a few writes.
pub(crate) struct DataFile(File);

impl DataFile {
    /// Open an existing file. ENOENT is normal: it may have been dropped meanwhile.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)
            .map(Self)
    }

    /// What the page cache holds of `length` bytes at `offset`; a length of 0 means to the end.
    pub(crate) fn cached(&self, offset: u64, length: u64) -> io::Result<Cached> {
        let range = CachestatRange { offset, length };
        let mut pages = Cachestat::default();
        // SAFETY: an open file and two valid pointers to the structs of cachestat(2), which are
        // of the kernel's fixed layout on every architecture.
        let result = unsafe {
            libc::syscall(
                SYS_CACHESTAT,
                self.0.as_raw_fd(),
                &raw const range,
                &raw mut pages,
                0,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let page = page_bytes();
        Ok(Cached {
            dirty_bytes: pages.dirty * page,
            writeback_bytes: pages.writeback * page,
        })
    }

    /// Start to write what is dirty in the range, and do not wait for it. May still block for
    /// room in the device's queue. Where the kernel has no sync_file_range, posix_fadvise does
    /// the same, and drops clean pages from the cache.
    pub(crate) fn start_writeback(&self, offset: u64, length: u64) -> io::Result<()> {
        let (Ok(from), Ok(bytes)) = (i64::try_from(offset), i64::try_from(length)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        loop {
            return match self.write_range(from, bytes) {
                // fd.c:pg_flush_data of 17 and later.
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => continue,
                Err(error) if is_missing(&error) => self.advise(from, bytes),
                result => result,
            };
        }
    }

    #[cfg(target_os = "linux")]
    fn write_range(&self, offset: i64, bytes: i64) -> io::Result<()> {
        // SAFETY: an open file; the flag is the one that neither waits nor takes an error.
        let result = unsafe {
            libc::sync_file_range(
                self.0.as_raw_fd(),
                offset,
                bytes,
                libc::SYNC_FILE_RANGE_WRITE,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn write_range(&self, _offset: i64, _bytes: i64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    fn advise(&self, offset: i64, bytes: i64) -> io::Result<()> {
        // SAFETY: an open file; an advice.
        let error = unsafe {
            libc::posix_fadvise(self.0.as_raw_fd(), offset, bytes, libc::POSIX_FADV_DONTNEED)
        };
        if error == 0 {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// The words of an error as PostgreSQL has them: without its number.
pub(crate) fn strerror(error: &io::Error) -> String {
    let words = error.to_string();
    match words.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => words,
    }
}

/// The kernel has no such call.
fn is_missing(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOSYS)
}

/// cachestat(2), Linux 6.5. The number is the same on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

/// struct cachestat_range of cachestat(2).
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// struct cachestat of cachestat(2).
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn page_bytes() -> u64 {
    // SAFETY: asks for a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Which of the kernel's calls answer here; a container's seccomp filter may refuse them.
#[derive(Clone, Copy)]
pub(crate) struct Facilities {
    pub(crate) cachestat: bool,
    pub(crate) sync_file_range: bool,
    /// Writeback can be started, by that call or another. Not so when the call is refused: an
    /// error of it is a PANIC.
    pub(crate) writeback: bool,
    pub(crate) device_counters: bool,
}

/// Try them on a file of the data directory, the working directory of every server process.
pub(crate) fn facilities() -> Facilities {
    let file = DataFile::open(Path::new("global/pg_control"));
    // One byte at the end of the world is nobody's.
    let write = file
        .as_ref()
        .map_err(|error| io::Error::from(error.kind()))
        .and_then(|file| file.write_range(i64::MAX - 4095, 1));
    Facilities {
        cachestat: file.as_ref().is_ok_and(|file| file.cached(0, 1).is_ok()),
        sync_file_range: write.is_ok(),
        writeback: write.as_ref().is_ok() || write.is_err_and(|error| is_missing(&error)),
        device_counters: device_of(Path::new("base"))
            .is_some_and(|device| counters(device).is_ok()),
    }
}

/// The device number of the file system that a file lies on.
pub(crate) fn device_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.dev())
}

/// Counters of a block device since the system's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeviceCounters {
    /// Completed reads, writes and flushes.
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) write_operations: u64,
    pub(crate) write_bytes: u64,
    pub(crate) in_flight: u64,
    /// Milliseconds with something in flight.
    pub(crate) busy_ms: u64,
    /// Milliseconds that all operations together spent in flight.
    pub(crate) queued_ms: u64,
}

/// Read a block device's counters. An error where the file system has no device of its own:
/// network and overlay file systems, btrfs, ZFS.
pub(crate) fn counters(device: u64) -> io::Result<DeviceCounters> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    let text = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat"))?;
    parse_counters(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The fields of Documentation/block/stat.rst of the kernel; sectors are of 512 bytes.
fn parse_counters(text: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> = text
        .split_ascii_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    let field = |index: usize| fields.get(index).copied();
    Some(DeviceCounters {
        // Flushes are counted since Linux 5.5.
        operations: field(0)? + field(4)? + field(15).unwrap_or(0),
        bytes: (field(2)? + field(6)?) * 512,
        write_operations: field(4)?,
        write_bytes: field(6)? * 512,
        in_flight: field(8)?,
        busy_ms: field(9)?,
        queued_ms: field(10)?,
    })
}

/// After how many seconds the kernel writes a dirty inode by itself (vm.dirty_expire_centisecs).
pub(crate) fn dirty_expire_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/sys/vm/dirty_expire_centisecs");
    let centiseconds = text.ok().and_then(|text| text.trim().parse::<f64>().ok());
    centiseconds.filter(|value| *value > 0.0).unwrap_or(3000.0) / 100.0
}

/// Bytes that a file system has left for this user.
pub(crate) fn free_bytes(path: &Path) -> io::Result<f64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a zero-terminated path, and room for the answer.
    if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it.
    let found = unsafe { found.assume_init() };
    Ok(found.f_bavail as f64 * found.f_frsize as f64)
}

/// Memory of the machine, or what its control groups leave to this process: a container has less.
pub(crate) fn memory_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups
        .lines()
        .flat_map(memory_limit_files)
        .filter_map(|file| {
            let limit = std::fs::read_to_string(file).ok()?;
            // "max" is no number, and version 1 has one that is more than any machine.
            limit.trim().parse().ok()
        });
    Some(limits.fold(kilobytes * 1024.0, f64::min))
}

/// The files with the limits of a line of /proc/self/cgroup, `ID:CONTROLLERS:PATH`: those of the group
/// and of all above it (cgroups(7)). A container sees its own group as the uppermost one.
fn memory_limit_files(line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
        return Vec::new();
    };
    let (root, name) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|it| it == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    let group = Path::new(path.trim_start_matches('/'));
    let groups = group.ancestors();
    groups
        .map(|it| Path::new(root).join(it).join(name))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_limits_are_those_of_all_groups_above() {
        let files = |line| -> Vec<String> {
            let files = memory_limit_files(line);
            files.iter().map(|it| it.display().to_string()).collect()
        };
        assert_eq!(
            files("0::/pods/one"),
            [
                "/sys/fs/cgroup/pods/one/memory.max",
                "/sys/fs/cgroup/pods/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            files("4:cpu,memory:/"),
            ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert_eq!(files("3:cpu:/a"), [""; 0]);
        assert_eq!(files("nonsense"), [""; 0]);
        assert!(memory_bytes().unwrap() > 0.0);
    }

    #[test]
    fn counters_are_summed_over_kinds() {
        let text = "  10 0 80 5 20 3 160 40 2 50 60 1 0 8 1 7 9\n";
        let found = parse_counters(text).unwrap();
        assert_eq!(
            found,
            DeviceCounters {
                operations: 10 + 20 + 7,
                bytes: (80 + 160) * 512,
                write_operations: 20,
                write_bytes: 160 * 512,
                in_flight: 2,
                busy_ms: 50,
                queued_ms: 60,
            }
        );
        // Before 4.18 there are eleven fields.
        assert_eq!(
            parse_counters("1 0 8 0 2 0 8 0 0 1 1").unwrap().operations,
            3
        );
        assert_eq!(parse_counters("1 0 8"), None);
    }

    #[test]
    fn dirty_pages_are_seen_and_written() {
        let path = std::env::temp_dir().join(format!("ckptflush-kernel-{}", std::process::id()));
        std::fs::write(&path, vec![1; 65536]).unwrap();
        let file = DataFile::open(&path).unwrap();
        // No cachestat here, or a file system that keeps nothing dirty: nothing to see.
        if let Ok(before) = file.cached(0, 0) {
            file.start_writeback(0, 0).unwrap();
            let after = file.cached(0, 0).unwrap();
            assert!(after.dirty_bytes <= before.dirty_bytes);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(DataFile::open(&path).is_err(), "never created again");
        assert!(!path.exists());
    }
}
