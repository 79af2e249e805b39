//! While the flusher does its writeback, the checkpointer looks ten times a second whether it
//! still does, and how far the writing shall be by now.
//!
//! *Runs in:* the checkpointer, in its write phase; [`look`] as a signal handler.
//! *Reads and writes:* reads `flush_state`; writes `checkpoint_flush_after`, the variable of
//! `checkpoint_completion_target` and, as xlog.c has it, `CheckPointSegments` of this process.
//! *Never:* does anything in the handler but read shared memory and the clock, compute, and store
//! three numbers: it may interrupt any instruction.
//!
//! The write phase has no hook: no record is logged in it, and nothing of ours is called. A timer
//! is what the startup process reports its progress by (startup.c:begin_startup_progress_phase);
//! the checkpointer has none of its own.
//!
//! A `checkpoint_flush_after` below 1 leaves the writeback to the flusher. If the flusher is away, the
//! user's value holds again with the next look. `checkpoint_completion_target` is what
//! checkpointer.c:IsCheckpointOnSchedule multiplies the progress by: with another one at each
//! moment it keeps a schedule by cost ([`pacing::curve`]), and ends when it would have ended.

use statseg::Segment;

use crate::pgshim::{self, Alarm};
use crate::process::ProcessCell;
use crate::{server, settings, shmem};

/// What `checkpoint_flush_after` is while the flusher does the writeback: as 0, none
/// (bufmgr.c:ScheduleBufferTagForWriteback); but no user can have set it.
const NONE: i32 = -1;

/// Time between two looks: that of the checkpointer's own naps.
const EVERY_MS: i32 = 100;

/// What the user has set, and what we have set last.
#[derive(Clone, Copy)]
struct Values {
    users: Pair,
    ours: Pair,
}

/// The two variables.
#[derive(Clone, Copy, PartialEq)]
struct Pair {
    flush_after: i32,
    target: f64,
}

static ALARM: ProcessCell<Option<Alarm>> = ProcessCell::new(None);
static VALUES: ProcessCell<Option<Values>> = ProcessCell::new(None);

/// From now on until [`stop`] the flusher does the writeback. In a critical section.
pub(super) fn start() {
    let alarm = ALARM.get().unwrap_or_else(|| {
        // SAFETY: the handler keeps to what the head of this module says.
        let alarm = unsafe { Alarm::prepare(ring) };
        ALARM.set(Some(alarm));
        alarm
    });
    let users = current();
    VALUES.set(Some(Values { users, ours: users }));
    if let Some(segment) = shmem::segment() {
        look(segment);
    }
    alarm.start(EVERY_MS);
}

/// The write phase is over: all is as the user has set it.
pub(super) fn stop() {
    let (Some(alarm), Some(_)) = (ALARM.get(), VALUES.get()) else {
        return;
    };
    alarm.stop();
    if let Some(values) = VALUES.get() {
        store(values.followed().users);
        pgshim::recount_segments();
    }
    VALUES.set(None);
}

/// Will the system's timer still ring after [`stop`]? It then sets the latch.
pub(super) fn is_left() -> bool {
    Alarm::is_left()
}

/// The signal handler.
unsafe extern "C-unwind" fn ring() {
    if let Some(segment) = shmem::segment() {
        look(segment);
    }
}

/// Set what holds now.
fn look(segment: &Segment) {
    let Some(values) = VALUES.get() else {
        return;
    };
    let users = values.followed().users;
    let state = shmem::flusher(segment);
    let ours = if state.willing && settings::flush() && server::logs_checkpoints() {
        Pair {
            flush_after: NONE,
            target: state
                .target_ppm
                .map_or(users.target, |millionths| millionths as f64 / 1e6),
        }
    } else {
        users
    };
    VALUES.set(Some(Values { users, ours }));
    // A reload that came since the last look has counted the segments of WAL to the next checkpoint
    // with a target of ours, and this one is paced by them.
    store(users);
    pgshim::recount_segments();
    store(ours);
}

impl Values {
    /// A reload may have set what we have not.
    fn followed(mut self) -> Self {
        let now = current();
        if now.flush_after != self.ours.flush_after {
            self.users.flush_after = now.flush_after;
        }
        #[allow(clippy::float_cmp)] // Stored and read back.
        if now.target != self.ours.target {
            self.users.target = now.target;
        }
        self
    }
}

fn current() -> Pair {
    Pair {
        flush_after: server::checkpoint_flush_after(),
        target: server::pace_target(),
    }
}

fn store(pair: Pair) {
    server::set_checkpoint_flush_after(pair.flush_after);
    server::set_pace_target(pair.target);
}
