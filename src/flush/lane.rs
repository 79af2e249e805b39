//! One device as [`pacing::lane`] wants it: its counters, and its files.
//!
//! *Runs in:* the flusher. *Reads and writes:* reads the device's counters and cachestat of what
//! was issued; starts writeback.
//! *Never:* decides what, when or how fast.

use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::{Duration, Instant};

use pacing::device::{Device, Load};
use pacing::lane::{Counters, Done, Kernel, Start};
use pacing::plan::Planned;
use pacing::queue::Issue;
use pgrx::PgLogLevel;
use pgrx::pg_sys::errcodes::PgSqlErrorCode;

use super::files::Files;
use crate::error::Message;
use crate::kernel::{self, DataFile};
use crate::{server, settings};

const BLOCK: u64 = pacing::BLOCK_BYTES;

/// A range whose writeback was started.
#[derive(Debug)]
pub(super) struct Range {
    file: u32,
    offset: u64,
    bytes: u64,
}

/// A device and its plan.
pub(super) struct Lane {
    device_number: u64,
    /// The device of the WAL too: commits wait behind what we issue.
    pub(super) with_wal: bool,
    lane: pacing::lane::Lane<Range>,
}

impl Deref for Lane {
    type Target = pacing::lane::Lane<Range>;

    fn deref(&self) -> &Self::Target {
        &self.lane
    }
}

impl DerefMut for Lane {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.lane
    }
}

impl Lane {
    pub(super) fn new(device_number: u64) -> Self {
        let wal = kernel::device_of(Path::new("pg_wal"));
        Self {
            device_number,
            with_wal: wal == Some(device_number),
            lane: pacing::lane::Lane::new(Device::new(), settings::target_delay()),
        }
    }

    /// Issue what is to be issued now.
    pub(super) fn round(
        &mut self,
        now: f64,
        files: &mut Files,
        planned: Option<Planned>,
        cachestat: bool,
    ) -> Done {
        self.lane.plan.set_target_delay(settings::target_delay());
        let mut disk = Disk {
            began: Instant::now(),
            device_number: self.device_number,
            files,
            cachestat,
        };
        self.lane.round(now, &mut disk, planned)
    }

    /// Cost of what must be out by `then`, in seconds of the device.
    pub(super) fn due_by(&self, then: f64) -> f64 {
        let due = self.queue.due().take_while(|(at, _)| *at <= then);
        let load = due.fold(Load::default(), |sum, (_, load)| sum + load);
        self.device.cost(load)
    }
}

/// The kernel's side of one device.
struct Disk<'a> {
    began: Instant,
    device_number: u64,
    files: &'a mut Files,
    cachestat: bool,
}

impl Disk<'_> {
    /// Is nothing of it being written any more? A file that is gone is not. `None` when the
    /// kernel does not say.
    fn is_written(&self, range: &Range) -> Option<bool> {
        let Some(file) = self.files.get(range.file) else {
            return Some(true);
        };
        match DataFile::open(&file.path) {
            Ok(open) => {
                let cached = open.cached(range.offset, range.bytes).ok()?;
                Some(cached.writeback_bytes == 0)
            }
            Err(error) => (error.kind() == ErrorKind::NotFound).then_some(true),
        }
    }

    fn is_idle(&self) -> bool {
        kernel::counters(self.device_number).is_ok_and(|counters| counters.in_flight == 0)
    }
}

/// The flusher must show that it is alive, also while sync_file_range blocks.
const LONGEST_ROUND: Duration = Duration::from_millis(200);
/// Late by this much it is taken for done, where nobody can be asked.
const GRACE: f64 = 0.1;

impl Kernel for Disk<'_> {
    type Ticket = Range;

    fn start(&mut self, issue: &Issue) -> Start<Range> {
        let Some(file) = self.files.get_mut(issue.file) else {
            return Start::Gone;
        };
        let open = match DataFile::open(&file.path) {
            Ok(open) => open,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Dropped, with all that was dirty in it.
                self.files.remove(issue.file);
                return Start::Gone;
            }
            // Too many open files, as one of the reasons: the sweep finds this range again.
            Err(_) => return Start::Failed,
        };
        let range = Range {
            file: issue.file,
            offset: u64::from(issue.first_block) * BLOCK,
            bytes: u64::from(issue.blocks) * BLOCK,
        };
        if let Err(error) = open.start_writeback(range.offset, range.bytes) {
            report(&error);
            return Start::Failed;
        }
        file.flushed_bytes += u64::from(issue.pages) * BLOCK;
        Start::Started(range)
    }

    fn landed(&mut self, range: &Range, age: f64, cost: f64) -> bool {
        let told = self.cachestat.then(|| self.is_written(range)).flatten();
        // Nobody can be asked: when the device has nothing to do; at the latest when it must have
        // been done.
        told.unwrap_or_else(|| age > cost + GRACE || self.is_idle())
    }

    fn has_time(&mut self) -> bool {
        self.began.elapsed() < LONGEST_ROUND
    }

    fn counters(&mut self) -> Option<Counters> {
        let counters = kernel::counters(self.device_number).ok()?;
        Some(Counters {
            busy: counters.busy_ms as f64 / 1000.0,
            queued: counters.queued_ms as f64 / 1000.0,
            done: Load {
                operations: counters.operations as f64,
                bytes: counters.bytes as f64,
            },
        })
    }
}

/// fd.c:pg_flush_data: an error of writeback may be the only sign of lost data, so it is treated
/// as core treats it.
fn report(error: &std::io::Error) {
    Message {
        code: PgSqlErrorCode::ERRCODE_IO_ERROR,
        primary: format!("could not flush dirty data: {}", kernel::strerror(error)),
        detail: None,
        hint: None,
    }
    .report(if server::retries_data_sync() {
        PgLogLevel::WARNING
    } else {
        PgLogLevel::PANIC
    });
}
