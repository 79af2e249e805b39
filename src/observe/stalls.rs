//! Stalls: times in which client backends were at work and none of them committed.
//!
//! *Runs in:* the monitor. *Reads and writes:* the record `stall`, the ring `stalls` and their
//! counters, whose only writer it is.
//! *Never:* takes an idle server for a stalled one: as soon as no client backend is at work, or
//! while commits are rare, there is no stall.
//!
//! A pause between two commits is a stall when it is long for this server: twenty times what its
//! commits were apart in the ten seconds before, and a fifth of a second at least. (Of commits
//! that come by chance, one pause in half a billion is that long.) On a server that writes only
//! commits that write count, so that those who watch it do not hide its stalls. At work is who
//! committed in the ten seconds before, and does not wait for the client now: a long report
//! beside idle clients is no stall. A pause begins again at every look that finds nobody so.

use std::collections::{HashMap, VecDeque};

use statseg::{CheckpointPhase, Ended, Metric, Segment, Stall, Text};

use super::waits;

/// No pause below this is a stall.
const SHORTEST_US: i64 = 200_000;
/// A stall is so many times longer than what commits are apart.
const TIMES: f64 = 20.0;
/// Commits per second are counted over this time.
const BEFORE_US: i64 = 10_000_000;
/// With fewer than this a server is not busy enough to be stalled.
const LEAST_RATE: f64 = 1.0;

/// One look at the client backends.
pub(super) struct Look<'a> {
    pub(super) now: i64,
    /// Transactions since the segment was made.
    pub(super) ended: Ended,
    /// When the last that wrote committed.
    pub(super) wrote_at: i64,
    /// Those that do not wait for their client.
    pub(super) active: &'a [Active],
    pub(super) phase: CheckpointPhase,
}

/// A client backend that does not wait for its client.
#[derive(Clone, Copy)]
pub(super) struct Active {
    /// What it waits for instead; 0: nothing.
    pub(super) wait: u32,
    /// When it was last seen to have committed; with a record, or in any way.
    pub(super) wrote_at: i64,
    pub(super) committed_at: i64,
}

/// Which commits count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Writes,
    All,
}

impl Counted {
    fn of(self, ended: &Ended) -> u64 {
        match self {
            Self::Writes => ended.writes,
            Self::All => ended.commits,
        }
    }

    fn last(self, active: &Active) -> i64 {
        match self {
            Self::Writes => active.wrote_at,
            Self::All => active.committed_at,
        }
    }
}

pub(super) struct Stalls {
    segment: &'static Segment,
    counted: Counted,
    ended: Ended,
    /// The last commit, or the last look that found nobody at work.
    since: i64,
    phase: CheckpointPhase,
    /// What had ended at the end of each of the last seconds.
    seconds: VecDeque<(i64, Ended)>,
    current: Option<Stall>,
    /// Since the last commit.
    waits: HashMap<u32, u64>,
    most_active: u64,
    /// All stalls that are over.
    past_ns: u64,
}

impl Stalls {
    pub(super) fn start(segment: &'static Segment, now: i64) -> Self {
        let mut stalls = Self {
            segment,
            counted: Counted::All,
            ended: segment.view().ended(),
            since: now,
            phase: CheckpointPhase::None,
            seconds: VecDeque::new(),
            current: None,
            waits: HashMap::new(),
            most_active: 0,
            past_ns: 0,
        };
        stalls.take_over();
        stalls
    }

    /// The worker before this one may have left a stall that nobody ends.
    fn take_over(&mut self) {
        let left = self.segment.stall().read().unwrap_or_default();
        if left.ongoing {
            self.current = Some(left);
            self.end();
        }
    }

    /// All stalled time that this worker has seen.
    pub(super) fn total_ns(&self) -> u64 {
        self.past_ns + self.current.map_or(0, |stall| stall.stalled_ns)
    }

    pub(super) fn look(&mut self, look: &Look<'_>) {
        self.count_second(look);
        let recent = self.since.saturating_sub(BEFORE_US);
        let mut at_work = 0;
        for active in look.active {
            if self.counted.last(active) >= recent {
                at_work += 1;
                *self.waits.entry(active.wait).or_default() += 1;
            }
        }
        self.most_active = self.most_active.max(at_work);
        let committed = self.counted.of(&look.ended) != self.counted.of(&self.ended);
        if committed || at_work == 0 {
            // The next pause begins at that commit, not when a late look sees it.
            let since = match self.counted {
                Counted::Writes if at_work > 0 => look.wrote_at,
                _ => look.now,
            };
            self.go_on(look, since);
            return;
        }
        if self.current.is_none() {
            self.begin(look);
        }
        self.update(look.now);
        if let Some(stall) = &self.current {
            self.segment.stall().write(stall);
        }
    }

    /// Somebody has committed, or nobody wants to.
    fn go_on(&mut self, look: &Look<'_>, since: i64) {
        self.update(look.now);
        self.end();
        self.ended = look.ended;
        self.since = since;
        self.phase = look.phase;
        self.waits.clear();
        self.most_active = 0;
        let writes = self.rate(Counted::Writes) >= LEAST_RATE;
        self.counted = if writes {
            Counted::Writes
        } else {
            Counted::All
        };
    }

    fn count_second(&mut self, look: &Look<'_>) {
        let last = self.seconds.back().map_or(0, |(at, _)| *at);
        if look.now - last >= 1_000_000 {
            self.seconds.push_back((look.now, look.ended));
        }
        while self.seconds.len() > 2 && look.now - self.seconds[1].0 > BEFORE_US {
            self.seconds.pop_front();
        }
    }

    /// Commits per second before the pause.
    fn rate(&self, counted: Counted) -> f64 {
        let before = self.seconds.front().filter(|(at, _)| *at < self.since);
        before.map_or(0.0, |(at, ended)| {
            let seconds = (self.since - at) as f64 / 1e6;
            let commits = counted.of(&self.ended).saturating_sub(counted.of(ended));
            commits as f64 / seconds.max(1.0)
        })
    }

    fn begin(&mut self, look: &Look<'_>) {
        let rate = self.rate(self.counted);
        let pause = look.now - self.since;
        if rate < LEAST_RATE || pause < SHORTEST_US || (pause as f64) < TIMES * 1e6 / rate {
            return;
        }
        self.current = Some(Stall {
            started_at: self.since,
            ongoing: true,
            phase: self.phase.or(look.phase),
            commits_before: rate.round() as u64,
            ..Stall::default()
        });
    }

    fn update(&mut self, now: i64) {
        let progress = self.segment.progress().read().unwrap_or_default();
        let Some(stall) = &mut self.current else {
            return;
        };
        stall.stalled_ns = u64::try_from(now - stall.started_at).unwrap_or(0) * 1000;
        stall.active_backends = stall.active_backends.max(self.most_active);
        if progress.active && stall.checkpoint_id.is_none() {
            stall.checkpoint_id = Some(progress.checkpoint_id);
        }
        stall.current_file = stall
            .current_file
            .or(progress.current_file.filter(|_| progress.active));
        let top = self.waits.iter().max_by_key(|(_, samples)| **samples);
        if let Some((wait, _)) = top {
            let key = waits::key(Text::EMPTY, *wait);
            (stall.top_wait_type, stall.top_wait_event) = (key.wait_type, key.wait_event);
        }
    }

    fn end(&mut self) {
        let Some(mut stall) = self.current.take() else {
            return;
        };
        stall.ongoing = false;
        self.past_ns += stall.stalled_ns;
        self.segment.counter(Metric::Stalls).increment();
        self.segment
            .counter(Metric::StalledTime)
            .add(stall.stalled_ns);
        // The record first: nobody finds it going on and over.
        self.segment.stall().write(&stall);
        self.segment.stalls().push(&stall);
    }

    /// Nobody will look for a while.
    pub(super) fn suspend(&mut self) {
        self.end();
        self.seconds.clear();
        self.since = i64::MAX;
    }
}
