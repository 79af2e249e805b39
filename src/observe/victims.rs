//! What a checkpoint did to the transactions: those that ended while it ran, beside those that
//! ended between the former one and it.
//!
//! *Runs in:* the monitor. *Reads and writes:* reads what the backends have recorded.
//! *Never:* tells of a checkpoint whose begin it has not seen.

use statseg::{Ended, History, Metric, Segment, histogram};

use super::timeline::{difference, transactions};
use crate::process::now_us;

/// All that was ever recorded, at one moment.
struct Mark {
    ended: Ended,
    transactions: Vec<u64>,
    stalled_ns: u64,
}

/// Percentiles of transactions.
#[derive(Clone, Copy, Default)]
struct Lengths {
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
}

impl Lengths {
    fn between(before: &Mark, after: &Mark) -> Self {
        let passed = difference(&after.transactions, &before.transactions);
        Self {
            p99_ns: histogram::percentile(&passed, 0.99, None, None),
            p999_ns: histogram::percentile(&passed, 0.999, None, None),
        }
    }
}

/// Follows the checkpoints.
pub(crate) struct Victims {
    segment: &'static Segment,
    /// The end of the former checkpoint.
    outside: Mark,
    /// The begin of the running one, and the transactions between the two.
    inside: Option<(Mark, Lengths)>,
    longest_ns: Option<u64>,
}

impl Victims {
    pub(crate) fn start(segment: &'static Segment) -> Self {
        Self {
            segment,
            outside: mark(segment),
            inside: None,
            longest_ns: None,
        }
    }

    /// A checkpoint has begun.
    pub(crate) fn begin(&mut self) {
        let now = mark(self.segment);
        let outside = Lengths::between(&self.outside, &now);
        self.inside = Some((now, outside));
        self.longest_ns = None;
    }

    /// It goes on. Once a second at least: the longest transaction of a second is not kept long.
    pub(crate) fn look(&mut self) {
        let second = u64::try_from(now_us() / 1_000_000).unwrap_or(0);
        let view = self.segment.view();
        let longest = view
            .longest_transaction(second)
            .max(view.longest_transaction(second.saturating_sub(1)));
        self.longest_ns = self.longest_ns.max(longest);
    }

    /// It is over: its row with what it did.
    pub(crate) fn end(&mut self, row: History) -> History {
        let Some((before, outside)) = self.inside.take() else {
            return row;
        };
        self.look();
        let now = mark(self.segment);
        let inside = Lengths::between(&before, &now);
        let row = History {
            commits: Some(now.ended.commits.saturating_sub(before.ended.commits)),
            stalled_ns: Some(now.stalled_ns.saturating_sub(before.stalled_ns)),
            longest_transaction_ns: self.longest_ns,
            transaction_p99_ns: inside.p99_ns,
            transaction_p999_ns: inside.p999_ns,
            outside_p99_ns: outside.p99_ns,
            outside_p999_ns: outside.p999_ns,
            ..row
        };
        self.outside = now;
        row
    }
}

fn mark(segment: &Segment) -> Mark {
    let stall = segment.stall().read().unwrap_or_default();
    let ongoing_ns = if stall.ongoing { stall.stalled_ns } else { 0 };
    Mark {
        ended: segment.view().ended(),
        transactions: transactions(segment),
        stalled_ns: segment.view().recorded(Metric::StalledTime).count + ongoing_ns,
    }
}
