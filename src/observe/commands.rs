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

use statseg::{CheckpointPhase, Command};

use crate::pgshim::backends::{self, Step, Watcher};
use crate::process::{self, Moment, ProcessCell, Tick, unix_us};
use crate::settings;

use super::commits::Commit;
use super::place::{self, Place, place};

/// What a backend remembers from mark to mark.
#[derive(Clone, Copy)]
struct State {
    /// The end of the last step; `None` while nothing is tracked.
    mark: Option<Tick>,
    /// Where the checkpoints were then.
    before: CheckpointPhase,
    /// The timestamp of the message at work.
    message: i64,
    /// A statement of this message was analyzed: it is no Bind.
    parsed: bool,
    /// The outermost of the steps around this one.
    outermost: Option<Step>,
    /// When something was rolled back in a step that has not come back yet.
    aborted: Option<Tick>,
    /// Time since the mark that was counted for another command.
    counted_ns: u64,
    /// The first phase of a checkpoint that the transaction met.
    met: CheckpointPhase,
}

#[unsafe(link_section = "ckf_data")]
static STATE: ProcessCell<State> = ProcessCell::new(State::NEW);
/// Steps around this one.
#[unsafe(link_section = "ckf_data")]
static DEPTH: ProcessCell<i32> = ProcessCell::new(0);

/// Called from `_PG_init` in the postmaster: children inherit the hooks by fork.
pub(crate) fn install() {
    backends::watch_commands(&Watcher {
        wanted: i32::from(settings::enabled() && settings::track_commands()),
        enter,
        leave,
        forget,
    });
}

/// Where [`is_inside`] looks, for C.
pub(crate) fn depth_word() -> *const i32 {
    DEPTH.as_ptr()
}

/// This process's place, if its commands are to be counted.
fn tracked() -> Option<Place> {
    let tracks = settings::track_commands() && settings::enabled() && process::is_client_backend();
    if tracks { place() } else { None }
}

#[unsafe(link_section = "ckf_hot")]
extern "C" fn enter(step: i32, message: i64, began: i64) -> i32 {
    let Some(place) = place() else {
        return 0;
    };
    // SAFETY: what a State does reaches DEPTH and the statistics, never STATE.
    unsafe { STATE.with(|state| state.enter(place, step, message, began)) }
}

#[unsafe(link_section = "ckf_hot")]
extern "C" fn leave(step: i32, outer: i32) {
    // Steps that were left by an error have not taken themselves off.
    DEPTH.set(outer);
    if outer == 0 {
        // SAFETY: as above.
        unsafe { STATE.with(|state| state.leave(step)) };
    }
}

extern "C" fn forget() {
    STATE.set(State::NEW);
    DEPTH.set(0);
}

impl State {
    const NEW: Self = Self {
        mark: None,
        before: CheckpointPhase::None,
        message: 0,
        parsed: false,
        outermost: None,
        aborted: None,
        counted_ns: 0,
        met: CheckpointPhase::None,
    };

    #[inline]
    fn enter(&mut self, place: Place, step: i32, message: i64, began: i64) -> i32 {
        if self.message != message || self.mark.is_none() {
            self.new_message(place, message, began);
        }
        let outer = DEPTH.get();
        if outer == 0 {
            self.outermost = Step::from_number(step);
        }
        DEPTH.set(outer + 1);
        outer
    }

    #[inline]
    fn leave(&mut self, step: i32) {
        self.outermost = None;
        self.aborted = None;
        if let (Some(place), Some(step)) = (place(), Step::from_number(step)) {
            self.step_done(place, step);
        }
    }

    /// The first mark of a message, which came at `arrived`, in a transaction that began at `began`: the
    /// time before it was idle.
    #[inline(never)]
    #[unsafe(link_section = "ckf_hot")]
    fn new_message(&mut self, place: Place, arrived: i64, began: i64) {
        if self.outermost.is_some() {
            self.fail(place);
        }
        DEPTH.set(0);
        self.message = arrived;
        self.parsed = false;
        place::fetch(place);
        let at = |timestamp| Moment::at(unix_us(timestamp));
        let arrived_at = at(arrived);
        let Some(mark) = self.mark else {
            self.before = place.phase.phase();
            self.mark = Some(arrived_at);
            return;
        };
        let bound_at = if began < arrived {
            Some(at(began)).filter(|at| *at > mark)
        } else {
            None
        };
        self.record(place, Command::Idle, bound_at.unwrap_or(arrived_at));
        if bound_at.is_some() {
            // A Bind without a mark, which began the transaction.
            self.record(place, Command::Bind, arrived_at);
        }
    }

    /// A step of the former message was left by an error: it took the time until that.
    #[cold]
    fn fail(&mut self, place: Place) {
        let failed = self.outermost.take();
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
        self.record(place, command, aborted);
    }

    /// The usual ones are asked for one by one: a table of them all would be a line of memory of its
    /// own, and a jump that nobody has foreseen.
    #[inline]
    fn step_done(&mut self, place: Place, step: Step) {
        let command = if step == Step::Run || step == Step::EndChange {
            Command::Execute
        } else if step == Step::Start && !self.parsed {
            Command::Bind
        } else if let Some(command) = self.rare_step(step) {
            command
        } else {
            return;
        };
        self.record(place, command, Tick::now());
    }

    /// `None`: what the step took belongs to the one that is recorded next.
    #[inline]
    fn rare_step(&mut self, step: Step) -> Option<Command> {
        if step == Step::Parse {
            self.parsed = true;
            Some(Command::Parse)
        } else if step == Step::Plan {
            Some(Command::Plan)
        } else {
            (step == Step::Utility).then_some(Command::Utility)
        }
    }

    /// The time since the mark was the command's, but for what was counted meanwhile.
    #[inline(never)]
    #[unsafe(link_section = "ckf_hot")]
    fn record(&mut self, place: Place, command: Command, now: Tick) {
        let Some(mark) = self.mark else {
            return;
        };
        let ns = now.since(mark).saturating_sub(self.counted_ns);
        self.counted_ns = 0;
        let phase = place.phase.phase();
        self.count(command, phase.or(self.before), ns);
        self.mark = Some(now.max(mark));
        self.before = phase;
    }

    #[inline]
    fn count(&mut self, command: Command, phase: CheckpointPhase, ns: u64) {
        if command != Command::Idle {
            self.met = self.met.or(phase);
        }
        place::command(command, phase, ns);
    }
}

/// A transaction was committed that waited for nothing, and no statement goes on around it.
#[inline]
pub(super) fn plain_committed(place: Place, message: i64, began: i64, now: Tick) {
    if !settings::track_commands() {
        return;
    }
    let act = |state: &mut State| {
        if state.mark.is_none() {
            return;
        }
        if state.message != message {
            // Of a message without a step: a function call of the fast path.
            state.new_message(place, message, began);
        }
        state.counted_ns = 0;
        state.record(place, Command::Commit, now);
    };
    // SAFETY: as in enter.
    unsafe { STATE.with(act) };
}

/// Another one was.
pub(super) fn committed(place: Place, commit: &Commit) {
    let mut state = STATE.get();
    if tracked().is_none() || state.mark.is_none() {
        return;
    }
    let message = backends::statement_start();
    if state.message != message {
        state.new_message(place, message, backends::transaction_start());
    }
    let all = commit.ended.since(commit.began);
    let phase = place.phase.phase().or(state.met);
    let flush = if commit.writes { all } else { 0 };
    if commit.writes {
        state.count(Command::WalFlush, phase, flush);
    }
    if DEPTH.get() > 0 {
        // Inside of a utility statement, which goes on: CALL, VACUUM.
        state.count(Command::Commit, phase, all - flush);
        state.counted_ns = state.counted_ns.saturating_add(all);
    } else {
        state.counted_ns = flush;
        state.record(place, Command::Commit, commit.ended);
    }
    STATE.set(state);
}

/// The transaction, or a part of it, was rolled back.
pub(super) fn rolled_back(now: Tick) {
    let mut state = STATE.get();
    let Some(place) = tracked().filter(|_| state.mark.is_some()) else {
        return;
    };
    let message = backends::statement_start();
    if state.message != message {
        // It failed before its first mark: that was the parser.
        state.new_message(place, message, backends::transaction_start());
        state.record(place, Command::Parse, now);
    } else if DEPTH.get() > 0 {
        // A step that may come back (CALL) or was left by an error: the next mark tells.
        state.aborted = Some(now);
    } else {
        // What a ROLLBACK does after its step.
        state.mark = state.mark.map(|mark| now.max(mark));
    }
    STATE.set(state);
}

/// Does a statement run inside of which others may, and transactions end?
pub(super) fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Where the checkpoints were in the transaction that ends now: the first phase it met.
#[inline]
pub(super) fn phase_met(place: Place) -> CheckpointPhase {
    let met = |state: &mut State| std::mem::take(&mut state.met);
    // SAFETY: as in enter.
    unsafe { STATE.with(met) }.or(place.phase.phase())
}
