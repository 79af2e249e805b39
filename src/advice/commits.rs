//! Rules about commits: a delay before the flush, and locks held during it.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* predicts by itself what group commit would gain: it says what was measured.

use super::measured::{Measured, mean};
use super::text::{Setting, percent, seconds};
use super::{Advice, Severity};

/// Commits per second that matter.
const SOME: f64 = 10.0;
/// A flush that is shorter is not worth saving.
const WORTH_SAVING: f64 = 0.002;
/// Flushes that wait for each other at a time: below, there is nothing to put together.
const TOGETHER: f64 = 5.0;
/// A gain that matters.
const GAIN: f64 = 0.1;
/// Seconds of transactions that tell enough.
const BUSY: f64 = 60.0;

/// Commits per second and backends at work, in the seconds that had commits; the flush in the
/// median.
struct Load {
    commits: f64,
    active: f64,
    flush: f64,
}

impl Load {
    fn of(measured: &Measured) -> Option<Self> {
        let busy = || measured.seconds.iter().filter(|it| it.commits > 0.0);
        let load = Self {
            commits: mean(busy().map(|it| it.commits))?,
            active: mean(busy().map(|it| it.active))?,
            flush: measured.commits.flush_median?,
        };
        (load.commits >= SOME && measured.commits.flushes >= 1000).then_some(load)
    }

    fn evidence(&self) -> String {
        format!(
            "{:.0} commits per second by {:.1} backends at work on average; half of the WAL flushes \
             take {} or less while no checkpoint runs.",
            self.commits,
            self.active,
            seconds(self.flush),
        )
    }
}

/// `commit_delay` is set, and either never used or longer than what it saves.
pub(super) fn useless_delay(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let load = Load::of(measured).filter(|_| settings.commit_delay > 0.0)?;
    let never = load.active <= settings.commit_siblings;
    if !never && settings.commit_delay < load.flush {
        return None;
    }
    Some(Advice {
        topic: "commit_delay",
        severity: Severity::Info,
        finding: if never {
            "commit_delay is set, and hardly ever used"
        } else {
            "commit_delay takes longer than the flushes that it saves"
        }
        .to_owned(),
        evidence: format!(
            "commit_delay = {}, commit_siblings = {}. {}",
            seconds(settings.commit_delay),
            settings.commit_siblings,
            load.evidence(),
        ),
        suggestion: Some(Setting::new("commit_delay", "0")),
        expected_effect:
            "Commits that arrive during a flush are flushed together by the next one, \
                          without waiting for it on purpose."
                .to_owned(),
    })
}

/// Many commits wait for long flushes: fewer of those may be better.
pub(super) fn useful_delay(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let load = Load::of(measured).filter(|_| settings.commit_delay == 0.0)?;
    let waiting = load.commits * load.flush;
    if load.flush < WORTH_SAVING
        || waiting < TOGETHER
        || load.active < 2.0 * settings.commit_siblings
    {
        return None;
    }
    let delay = (load.flush / 2.0 * 1e6).clamp(100.0, 10_000.0);
    Some(Advice {
        topic: "commit_delay",
        severity: Severity::Info,
        finding: "many commits wait for long WAL flushes at the same time".to_owned(),
        evidence: format!(
            "commit_delay = 0. {} That are {waiting:.0} commits waiting at any moment.",
            load.evidence()
        ),
        suggestion: Some(Setting::new("commit_delay", format!("{delay:.0}"))),
        expected_effect: "Fewer flushes, which leaves more of the device to others; PostgreSQL's \
                          documentation recommends half of a flush. Where flushes are not what \
                          limits the device nothing is gained: compare, and set it back."
            .to_owned(),
    })
}

/// Locks are waited for while their holders flush.
pub(super) fn group_commit(measured: &Measured) -> Option<Advice> {
    let measured = measured.group_commit.as_ref()?;
    let others = measured.busy - measured.waited;
    if measured.on || measured.busy < BUSY || others <= 0.0 || measured.waited < GAIN * others {
        return None;
    }
    Some(Advice {
        topic: "group_commit",
        severity: Severity::Info,
        finding: "transactions wait for locks whose holders only wait for their WAL flush"
            .to_owned(),
        evidence: format!(
            "ckptflush.group_commit = off. Of {:.0} s of transactions {} were waits for such locks; \
             without them as many sessions do {:.1} times as many transactions, if nothing else \
             limits them.",
            measured.busy,
            percent(measured.waited / measured.busy),
            measured.busy / others,
        ),
        suggestion: Some(Setting::new("ckptflush.group_commit", "on")),
        expected_effect:
            "Locks are free as soon as the commit record is written. A transaction is \
                          still told of its commit only when it is durable."
                .to_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::measured::GroupCommit;
    use super::super::testing::{busy, statement};
    use super::*;

    /// So many commits and backends each second, with a flush of so many milliseconds.
    fn with(commits: f64, active: f64, flush_ms: f64) -> Measured {
        let mut measured = busy();
        for second in &mut measured.seconds {
            second.commits = commits;
            second.active = active;
        }
        measured.commits.flush_median = Some(flush_ms / 1e3);
        measured
    }

    #[test]
    fn a_delay_is_useless_without_siblings_or_with_fast_flushes() {
        let mut few = with(300.0, 3.0, 4.0);
        assert_eq!(useless_delay(&few), None, "there is no delay");
        few.settings.commit_delay = 0.001;
        let advice = useless_delay(&few);
        assert!(
            advice
                .as_ref()
                .unwrap()
                .finding
                .contains("hardly ever used")
        );
        assert_eq!(statement(advice), "ALTER SYSTEM SET commit_delay = '0';");
        let mut fast = with(3000.0, 30.0, 0.2);
        fast.settings.commit_delay = 0.001;
        assert!(
            useless_delay(&fast)
                .unwrap()
                .finding
                .contains("takes longer")
        );
        let mut slow = with(3000.0, 30.0, 4.0);
        slow.settings.commit_delay = 0.001;
        assert_eq!(useless_delay(&slow), None, "it may be of use");
    }

    #[test]
    fn a_delay_may_be_of_use_where_many_wait() {
        assert_eq!(
            statement(useful_delay(&with(2000.0, 30.0, 4.0))),
            "ALTER SYSTEM SET commit_delay = '2000';"
        );
        assert_eq!(
            useful_delay(&with(2000.0, 30.0, 1.0)),
            None,
            "flushes are short"
        );
        assert_eq!(useful_delay(&with(200.0, 30.0, 4.0)), None, "few at a time");
        assert_eq!(useful_delay(&with(2000.0, 8.0, 4.0)), None, "few backends");
        let mut set = with(2000.0, 30.0, 4.0);
        set.settings.commit_delay = 0.001;
        assert_eq!(useful_delay(&set), None, "it is set");
        let mut new = with(2000.0, 30.0, 4.0);
        new.commits.flushes = 100;
        assert_eq!(useful_delay(&new), None, "too few to know");
    }

    #[test]
    fn group_commit_is_advised_by_its_own_figures() {
        let mut measured = busy();
        assert_eq!(group_commit(&measured), None);
        let mut with = |on, waited, busy| {
            measured.group_commit = Some(GroupCommit { on, waited, busy });
            group_commit(&measured)
        };
        assert_eq!(with(true, 500.0, 1000.0), None, "it is on");
        assert_eq!(with(false, 5.0, 1000.0), None, "no gain");
        assert_eq!(with(false, 5.0, 10.0), None, "too little to know");
        assert_eq!(with(false, 1001.0, 1000.0), None, "no measurement");
        let advice = with(false, 750.0, 1000.0);
        let evidence = advice.as_ref().unwrap().evidence.clone();
        assert!(
            evidence.contains("75.0 %") && evidence.contains("4.0 times"),
            "{evidence}"
        );
        assert_eq!(
            statement(advice),
            "ALTER SYSTEM SET ckptflush.group_commit = 'on';"
        );
    }
}
