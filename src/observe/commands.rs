//! What a backend spends its time with: each moment of it belongs to one command.
//!
//! *Runs in:* every client backend, in the hooks around its commands and at the end of
//! transactions. *Reads and writes:* the backend's own slot of `backends`; this process's state.
//! *Never:* takes a lock, allocates, or raises.
//!
//! The time between two marks belongs to the step that ends with the second one, so that the sum
//! over all commands is the time that has passed. Marks are set by the hooks:
//!
//! ```text
//!   message arrives      analyzed    planned   executed  commit record  durable    committed
//!   │  (its timestamp)   │           │         │         ▼              ▼          │
//! ──┴─────── parse ──────┴── plan ───┴ execute ┴─ commit ┴─ wal_flush ──┴─ commit ─┴── idle ──
//! ```
//!
//! Only the outermost step counts: what a function or a trigger does inside belongs to the
//! statement that called it, but for a transaction it ends. Parallel workers are no client
//! backends and count nothing: their leader's time is the statement's.
//!
//! There is no hook where a message arrives; the server's own timestamp of it is used, at the
//! next mark. With the extended protocol a message may pass without a mark: Bind of a statement
//! that changes data and has a plan already. It is seen when a transaction begins with it, and is
//! taken for idle otherwise.

use std::time::Instant;

use statseg::{CheckpointPhase, Command, Metric, Segment};

use crate::pgshim::backends::{self, Step, Watcher};
use crate::process::{self, Moment, ProcessCell, unix_us};
use crate::{settings, shmem};

use super::commits::Commit;

/// What a backend remembers from mark to mark.
#[derive(Clone, Copy)]
struct State {
    /// The end of the last step, and where the checkpoints were then; `None` while nothing is
    /// tracked.
    mark: Option<(Instant, CheckpointPhase)>,
    /// The timestamp of the message at work.
    message: i64,
    /// A statement of this message was analyzed: it is no Bind.
    parsed: bool,
    /// Steps around this one.
    depth: i32,
    /// The outermost of them.
    outermost: Option<Step>,
    /// When something was rolled back in a step that has not come back yet.
    aborted: Option<Instant>,
    /// Time since the mark that was counted for another command.
    counted_ns: u64,
    /// The first phase of a checkpoint that the transaction met.
    met: CheckpointPhase,
}

static STATE: ProcessCell<State> = ProcessCell::new(State::NEW);

/// Called from `_PG_init` in the postmaster: children inherit the hooks by fork.
pub(crate) fn install() {
    backends::watch_commands(&Watcher {
        enabled: settings::enabled_word(),
        track: settings::track_commands_word(),
        enter,
        leave,
        forget,
    });
}

/// The segment, if this process's commands are to be counted.
fn tracked() -> Option<&'static Segment> {
    let tracks = settings::track_commands() && settings::enabled() && process::is_client_backend();
    shmem::segment().filter(|_| tracks)
}

extern "C" fn enter(step: i32) -> i32 {
    let Some(segment) = shmem::segment() else {
        return 0;
    };
    let mut state = STATE.get();
    if state.message != backends::statement_start() || state.mark.is_none() {
        state.new_message(segment);
    }
    let outer = state.depth;
    if outer == 0 {
        state.outermost = Step::from_number(step);
    }
    state.depth = outer + 1;
    STATE.set(state);
    outer
}

extern "C" fn leave(step: i32, outer: i32) {
    let mut state = STATE.get();
    // Steps that were left by an error have not taken themselves off.
    state.depth = outer;
    if outer == 0 {
        state.outermost = None;
        state.aborted = None;
        if let (Some(segment), Some(step)) = (shmem::segment(), Step::from_number(step)) {
            state.step_done(segment, step);
        }
    }
    STATE.set(state);
}

extern "C" fn forget() {
    STATE.set(State::NEW);
}

impl State {
    const NEW: Self = Self {
        mark: None,
        message: 0,
        parsed: false,
        depth: 0,
        outermost: None,
        aborted: None,
        counted_ns: 0,
        met: CheckpointPhase::None,
    };

    /// The first mark of a message: what was before it is idle time.
    fn new_message(&mut self, segment: &'static Segment) {
        let arrived = backends::statement_start();
        self.fail(segment);
        self.message = arrived;
        self.parsed = false;
        let at = |timestamp| Moment::at(unix_us(timestamp));
        let (Some((mark, _)), Some(arrived_at)) = (self.mark, at(arrived)) else {
            let phase = segment.view().checkpoint_phase();
            self.mark = Some((at(arrived).unwrap_or_else(Instant::now), phase));
            return;
        };
        let began = backends::transaction_start();
        let bound_at = if began < arrived {
            at(began).filter(|at| *at > mark)
        } else {
            None
        };
        self.record(segment, Command::Idle, bound_at.unwrap_or(arrived_at));
        if bound_at.is_some() {
            // A Bind without a mark, which began the transaction.
            self.record(segment, Command::Bind, arrived_at);
        }
    }

    /// A step of the former message was left by an error: it took the time until that.
    fn fail(&mut self, segment: &'static Segment) {
        let failed = self.outermost.take();
        self.depth = 0;
        let (Some(step), Some(aborted)) = (failed, self.aborted.take()) else {
            return;
        };
        let command = match step {
            Step::Parse => Command::Parse,
            Step::Plan => Command::Plan,
            Step::Utility => Command::Utility,
            Step::Start if !self.parsed => Command::Bind,
            _ => Command::Execute,
        };
        self.record(segment, command, aborted);
    }

    fn step_done(&mut self, segment: &'static Segment, step: Step) {
        let command = match step {
            Step::Parse => {
                self.parsed = true;
                Command::Parse
            }
            Step::Plan => Command::Plan,
            Step::Start if !self.parsed => Command::Bind,
            Step::Run | Step::EndChange => Command::Execute,
            Step::Utility => Command::Utility,
            // Parts of what is recorded next.
            Step::Start | Step::StartChange | Step::RunChange | Step::FinishChange => return,
        };
        self.record(segment, command, Instant::now());
    }

    /// The time since the mark was the command's, but for what was counted meanwhile.
    fn record(&mut self, segment: &'static Segment, command: Command, now: Instant) {
        let Some((mark, before)) = self.mark else {
            return;
        };
        let ns = nanoseconds(mark, now).saturating_sub(self.counted_ns);
        self.counted_ns = 0;
        let phase = segment.view().checkpoint_phase();
        self.count(segment, command, phase.or(before), ns);
        self.mark = Some((now.max(mark), phase));
    }

    fn count(&mut self, segment: &Segment, command: Command, phase: CheckpointPhase, ns: u64) {
        if command != Command::Idle {
            self.met = self.met.or(phase);
        }
        let metric = Metric::command(command, phase);
        segment.statistic_at(metric, super::slot()).record(ns);
    }
}

/// A transaction was committed.
pub(super) fn committed(segment: &'static Segment, commit: &Commit) {
    let mut state = STATE.get();
    if tracked().is_none() || state.mark.is_none() {
        return;
    }
    if state.message != backends::statement_start() {
        // Of a message without a step: a function call of the fast path.
        state.new_message(segment);
    }
    let all = nanoseconds(commit.began, commit.ended);
    let phase = segment.view().checkpoint_phase().or(state.met);
    let flush = if commit.writes { all } else { 0 };
    if commit.writes {
        state.count(segment, Command::WalFlush, phase, flush);
    }
    if state.depth > 0 {
        // Inside of a utility statement, which goes on: CALL, VACUUM.
        state.count(segment, Command::Commit, phase, all - flush);
        state.counted_ns = state.counted_ns.saturating_add(all);
    } else {
        state.counted_ns = flush;
        state.record(segment, Command::Commit, commit.ended);
    }
    STATE.set(state);
}

/// The transaction, or a part of it, was rolled back.
pub(super) fn rolled_back(now: Instant) {
    let mut state = STATE.get();
    let Some(segment) = tracked().filter(|_| state.mark.is_some()) else {
        return;
    };
    if state.message != backends::statement_start() {
        // It failed before its first mark: that was the parser.
        state.new_message(segment);
        state.record(segment, Command::Parse, now);
    } else if state.depth > 0 {
        // A step that may come back (CALL) or was left by an error: the next mark tells.
        state.aborted = Some(now);
    } else {
        // What a ROLLBACK does after its step.
        state.mark = state.mark.map(|(mark, phase)| (now.max(mark), phase));
    }
    STATE.set(state);
}

/// Does a statement run inside of which others may, and transactions end?
pub(super) fn is_inside() -> bool {
    STATE.get().depth > 0
}

/// Where the checkpoints were in the transaction that ends now: the first phase it met.
pub(super) fn phase_met(segment: &Segment) -> CheckpointPhase {
    let mut state = STATE.get();
    let phase = state.met.or(segment.view().checkpoint_phase());
    state.met = CheckpointPhase::None;
    STATE.set(state);
    phase
}

/// From one moment to a later one.
pub(super) fn nanoseconds(from: Instant, to: Instant) -> u64 {
    let passed = to.saturating_duration_since(from).as_nanos();
    u64::try_from(passed).unwrap_or(u64::MAX)
}
