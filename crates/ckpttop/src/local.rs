//! The segment of a server on this machine, and how to go on when the server is restarted.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* reads the mapped file; asks for its lock for a moment, when nothing has
//! moved for a while, to know whether the server is alive.
//! *Never:* waits for the server or asks it anything: it may be stopped, or hang.
//!
//! At each look: 1. the file must stand in its place and have its size, and the segment must not
//! say that it is closed; else the viewer attaches to what stands there now; 2. everything is
//! copied; 3. the latest sign of life decides whether the server moves.

use crate::failure::{Failure, Result};
use crate::snapshot::{Seen, Snapshot, Source, State, Views, Wants};
use crate::value::At;
use crate::views::commands::Command;
use crate::views::counters::Counter;
use crate::views::files::File;
use crate::views::flush::Flush;
use crate::views::histogram::Bucket;
use crate::views::history::History;
use crate::views::info::Info;
use crate::views::progress::Progress;
use crate::views::stalls::Stall;
use crate::views::timeline::Second;
use crate::views::totals::Totals;
use crate::views::waits::Wait;
use crate::views::workers::Worker;
use statseg::{CommitWindows, Reader, SegmentState, View, WorkerState, attach};
use std::path::{Path, PathBuf};

/// Nothing has moved when nothing has moved for longer, in milliseconds. The flusher shows life
/// every second, the monitor every `ckptflush.sample_interval`.
const STILL_MS: f64 = 3000.0;

/// A server on this machine.
pub(crate) struct Local {
    path: PathBuf,
    reader: Option<Reader>,
}

impl Local {
    /// Attaches to the segment in this file.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let local = Self {
            path: path.to_owned(),
            reader: Some(attach(path)?),
        };
        match local.check() {
            Ok(()) => Ok(local),
            Err(why) => Err(why.hint("Check that the server is running.")),
        }
    }

    /// Whether what is mapped is the segment of a living server; if not, why not.
    fn check(&self) -> Result<()> {
        let Some(reader) = &self.reader else {
            return Err(Failure::new(format!(
                "stats segment \"{}\" does not exist",
                self.path.display()
            )));
        };
        reader.check_size()?;
        let ended = reader.view().state() != Some(SegmentState::Live) || !reader.is_in_place();
        // The lock only when there is reason to ask: a server that starts wants it, too.
        let silent = At::now().ms_since(moved_at(reader.view())) > STILL_MS;
        if ended || (silent && !reader.server_is_alive()?) {
            let path = self.path.display();
            return Err(Failure::new(format!(
                "the server of stats segment \"{path}\" is not running"
            )));
        }
        Ok(())
    }

    /// Attaches anew if the server has ended or made another segment.
    fn refresh(&mut self) -> Result<()> {
        if self.reader.is_some() && self.check().is_ok() {
            return Ok(());
        }
        self.reader = None;
        self.reader = Some(attach(&self.path)?);
        self.check().inspect_err(|_| self.reader = None)
    }

    fn seen(&self, now: At) -> Seen {
        Seen {
            version: env!("CARGO_PKG_VERSION"),
            source: self.path.display().to_string(),
            taken_at: now,
            ..Seen::default()
        }
    }
}

impl Source for Local {
    fn look(&mut self, wants: Wants) -> Result<Snapshot> {
        let attached = self.refresh();
        let now = At::now();
        let mut seen = self.seen(now);
        let Some(reader) = &self.reader else {
            seen.waiting_for = attached.err().map(|why| why.message().to_owned());
            return Ok(Snapshot { seen, views: None });
        };
        let view = reader.view();
        let moved = moved_at(view);
        let views = read(view, &self.path, wants, now, moved);
        seen.server_state = state(view, now, moved);
        seen.moved_at = Some(moved);
        seen.still_time = Some(now.ms_since(moved));
        seen.system_identifier = Some(view.system_identifier().to_string());
        seen.port = Some(view.port());
        seen.server_version_num = Some(view.pg_version_num());
        seen.postmaster_pid = Some(view.postmaster_pid());
        let flusher = view.flush_state().read().ok();
        seen.os_dirty_bytes = flusher.and_then(|row| row.os_dirty_bytes);
        seen.commits_per_second = Some(commits_per_second(view, now));
        let views = Some(views);
        Ok(Snapshot { seen, views })
    }
}

fn read(view: View<'_>, path: &Path, wants: Wants, now: At, moved: At) -> Views {
    Views {
        info: Info::read(view, path),
        totals: Totals::read(view),
        progress: Progress::read(view, now),
        flush: Flush::read(view, moved),
        workers: Worker::read(view),
        history: History::read(view, wants.history),
        commands: rows(wants.commands, || Command::read(view)),
        waits: rows(wants.waits, || Wait::read(view)),
        timeline: Second::read(view, wants.timeline),
        stalls: Stall::read(view, wants.stalls),
        histogram: rows(wants.histogram, || Bucket::read(view)),
        files: rows(wants.files, || File::read(view)),
        counters: rows(wants.counters, || Counter::read(view)),
    }
}

fn rows<T>(wanted: bool, read: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if wanted { read() } else { Vec::new() }
}

/// The latest sign of life of a worker.
pub(crate) fn moved_at(view: View<'_>) -> At {
    let workers = (0..view.worker_count())
        .filter_map(|index| view.worker(index).read().ok()?.last_active_at)
        .max();
    let monitor = view.progress().read().ok().map(|row| row.updated_at);
    let flusher = view.flush_state().read().ok().map(|row| row.heartbeat_at);
    let signs = [workers, monitor, flusher];
    At(signs
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(0)
        .max(view.created_at()))
}

fn state(view: View<'_>, now: At, moved: At) -> State {
    let mut workers = (0..view.worker_count()).filter_map(|index| view.worker(index).read().ok());
    let at_work = |state| matches!(state, WorkerState::Starting | WorkerState::Running);
    if now.ms_since(moved) <= STILL_MS {
        State::Running
    } else if workers.any(|row| !row.name.is_empty() && at_work(row.state)) {
        State::Still
    } else {
        State::Unwatched
    }
}

/// The three full windows before this one: a tenth of a second each.
fn commits_per_second(view: View<'_>, now: At) -> f64 {
    let present = CommitWindows::number(now.0);
    let commits = (1..=3).map(|back| view.commits(present.saturating_sub(back)).count);
    commits.sum::<u64>() as f64 / 0.3
}
