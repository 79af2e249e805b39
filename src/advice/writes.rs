//! Rules about who writes pages, and about the settings of those where our flusher is off.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* has an opinion on PostgreSQL's own writeback while the flusher does it.

use super::measured::{Measured, Writes, mean};
use super::text::{Setting, bytes, percent, seconds};
use super::{Advice, Severity};
use pacing::BLOCK_BYTES;

/// PostgreSQL's counters say something after so many seconds.
const LONG_ENOUGH: f64 = 60.0;
/// Pages per second that matter.
const SOME: f64 = 100.0;
/// A share of the pages that matters.
const LARGE: f64 = 0.3;
/// Fsyncs that take longer, in seconds, are trouble.
const LONG_SYNC: f64 = 1.0;

impl Writes {
    fn all(&self) -> f64 {
        self.checkpoints + self.bgwriter + self.backends
    }

    /// Share of the writes, if they are many.
    fn share(&self, of: f64) -> Option<f64> {
        let matters = self.seconds >= LONG_ENOUGH && of / self.seconds >= SOME;
        matters.then(|| of / self.all())
    }

    fn evidence(&self) -> String {
        let rate = |pages: f64| bytes(pages * BLOCK_BYTES as f64 / self.seconds);
        format!(
            "In the last {} backends wrote {} per second, the background writer {}, checkpoints {}.",
            seconds(self.seconds),
            rate(self.backends),
            rate(self.bgwriter),
            rate(self.checkpoints),
        )
    }
}

/// Fsyncs of the newest checkpoints, on average, if they take long.
fn long_syncs(measured: &Measured) -> Option<f64> {
    let checkpoints = measured.automatic();
    let sync = mean(checkpoints.iter().filter_map(|it| it.sync))?;
    (checkpoints.len() >= 2 && sync >= LONG_SYNC).then_some(sync)
}

/// The flusher is switched off, and fsyncs take long.
pub(super) fn flusher_off(measured: &Measured) -> Option<Advice> {
    let sync = long_syncs(measured).filter(|_| !measured.settings.flush)?;
    Some(Advice {
        topic: "flusher",
        severity: Severity::Warning,
        finding: "the flusher is switched off, and fsyncs of checkpoints take long".to_owned(),
        evidence: format!(
            "{}. The last {} checkpoints had {} of fsyncs on average.",
            measured.settings.flush_off(),
            measured.automatic().len(),
            seconds(sync),
        ),
        suggestion: measured.settings.flush_on(),
        expected_effect: "Pages are on the device before the fsyncs begin.".to_owned(),
    })
}

/// Nobody starts writeback of what checkpoints write.
pub(super) fn checkpoint_flush_after(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let sync =
        long_syncs(measured).filter(|_| !settings.flush && settings.checkpoint_flush_after == 0)?;
    Some(Advice {
        topic: "checkpoint_flush_after",
        severity: Severity::Warning,
        finding: "nobody starts the writeback of what checkpoints write".to_owned(),
        evidence: format!(
            "checkpoint_flush_after = 0 and {}. The fsyncs took {} on average.",
            settings.flush_off(),
            seconds(sync),
        ),
        suggestion: Some(Setting::new("checkpoint_flush_after", "256kB")),
        expected_effect: "Pages go to the device as they are written. The flusher does it more \
                          evenly."
            .to_owned(),
    })
}

/// Likewise of what backends write.
pub(super) fn backend_flush_after(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let writes = measured.writes.as_ref()?;
    let share = writes
        .share(writes.backends)
        .filter(|share| *share >= LARGE)?;
    let sync =
        long_syncs(measured).filter(|_| !settings.flush && settings.backend_flush_after == 0)?;
    Some(Advice {
        topic: "backend_flush_after",
        severity: Severity::Info,
        finding: "nobody starts the writeback of what backends write".to_owned(),
        evidence: format!(
            "backend_flush_after = 0 and {}. {} That is {} of all, and fsyncs of \
             checkpoints took {} on average.",
            settings.flush_off(),
            writes.evidence(),
            percent(share),
            seconds(sync),
        ),
        suggestion: Some(Setting::new("backend_flush_after", "256kB")),
        expected_effect:
            "Less is left for the fsyncs, while backends may wait for the device more \
                          often. The flusher's sweep does it without that."
                .to_owned(),
    })
}

/// Likewise of what the background writer writes.
pub(super) fn bgwriter_flush_after(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let writes = measured.writes.as_ref()?;
    let share = writes
        .share(writes.bgwriter)
        .filter(|share| *share >= LARGE)?;
    let sync =
        long_syncs(measured).filter(|_| !settings.flush && settings.bgwriter_flush_after == 0)?;
    Some(Advice {
        topic: "bgwriter_flush_after",
        severity: Severity::Info,
        finding: "nobody starts the writeback of what the background writer writes".to_owned(),
        evidence: format!(
            "bgwriter_flush_after = 0 and {}. {} That is {} of all, and fsyncs \
             of checkpoints took {} on average.",
            settings.flush_off(),
            writes.evidence(),
            percent(share),
            seconds(sync),
        ),
        suggestion: Some(Setting::new("bgwriter_flush_after", "512kB")),
        expected_effect: "Less is left for the fsyncs.".to_owned(),
    })
}

/// The background writer stops at its limit, and backends write what it leaves.
pub(super) fn bgwriter(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let writes = measured.writes.as_ref()?;
    let share = writes
        .share(writes.backends)
        .filter(|share| *share >= 0.5 * LARGE)?;
    let rounds = writes.seconds / settings.bgwriter_delay.max(0.01);
    let stopped = writes.stopped / rounds;
    let limit = settings.bgwriter_lru_maxpages;
    // Its own pages, the allocations, say whether there is anything for it to do.
    if limit > 0 && stopped < 0.1 || writes.allocated / writes.seconds < SOME {
        return None;
    }
    Some(Advice {
        topic: "bgwriter_lru_maxpages",
        severity: Severity::Info,
        finding: if limit == 0 {
            "the background writer is switched off, and backends write pages themselves"
        } else {
            "the background writer stops at its limit, and backends write pages themselves"
        }
        .to_owned(),
        evidence: format!(
            "bgwriter_lru_maxpages = {limit}, reached in {} of its rounds. {} The backends' part is \
             {}.",
            percent(stopped.min(1.0)),
            writes.evidence(),
            percent(share),
        ),
        suggestion: Some(Setting::new(
            "bgwriter_lru_maxpages",
            limit.saturating_mul(4).clamp(100, 100_000),
        )),
        expected_effect: "Backends find clean buffers more often, and wait less for writes. Pages \
                          that are changed again soon are written more often."
            .to_owned(),
    })
}

/// The whole pool is replaced several times an hour, and backends write pages for it.
pub(super) fn pool_too_small(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let writes = measured.writes.as_ref()?;
    let share = writes
        .share(writes.backends)
        .filter(|share| *share >= LARGE)?;
    let turnover = writes.allocated / settings.pool_pages / writes.seconds * 3600.0;
    let present = settings.pool_pages * BLOCK_BYTES as f64;
    let size = (2.0 * present).min(0.25 * settings.memory_bytes?);
    if turnover < 4.0 || size < 1.2 * present {
        return None;
    }
    Some(Advice {
        topic: "shared_buffers",
        severity: Severity::Info,
        finding: "shared_buffers is small for this load: backends write pages themselves"
            .to_owned(),
        evidence: format!(
            "shared_buffers = {}, filled anew {turnover:.0} times an hour. {} The backends' part is \
             {}.",
            bytes(present),
            writes.evidence(),
            percent(share),
        ),
        suggestion: Some(Setting::size("shared_buffers", size)),
        expected_effect: "Pages stay longer and are written less often. Takes effect at a restart."
            .to_owned(),
    })
}

/// Each checkpoint writes most of the pool, and cannot keep its schedule.
pub(super) fn pool_too_large(measured: &Measured) -> Option<Advice> {
    let settings = &measured.settings;
    let checkpoints = measured.automatic();
    let pages = mean(checkpoints.iter().map(|it| it.pages))?;
    let write = mean(checkpoints.iter().filter_map(|it| it.write))?;
    // Without a pace there is no schedule to be late for.
    let now = measured.present().filter(|now| now.write_rate.is_some())?;
    let present = settings.pool_pages * BLOCK_BYTES as f64;
    let late = write > 1.2 * now.write_seconds + 1.0;
    let small = present <= 512.0 * super::text::MB;
    if checkpoints.len() < 3 || pages < 0.6 * settings.pool_pages || !late || small {
        return None;
    }
    Some(Advice {
        topic: "shared_buffers",
        severity: Severity::Info,
        finding: "checkpoints write most of a large shared_buffers, and are late".to_owned(),
        evidence: format!(
            "The last {} checkpoints wrote {} of shared_buffers = {} on average, in {} instead of \
             {}.",
            checkpoints.len(),
            percent(pages / settings.pool_pages),
            bytes(present),
            seconds(write),
            seconds(now.write_seconds),
        ),
        suggestion: Some(Setting::size("shared_buffers", 0.5 * present)),
        expected_effect: "Less to write at each checkpoint; more is written between them, by the \
                          background writer and backends. Try a longer checkpoint_timeout first. \
                          Takes effect at a restart."
            .to_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{busy, statement};
    use super::*;

    /// The busy server with long fsyncs and the flusher off.
    fn without_flusher() -> Measured {
        let mut measured = busy();
        measured.settings.flush = false;
        for checkpoint in &mut measured.checkpoints {
            checkpoint.sync = Some(4.0);
        }
        measured
    }

    /// Backends and background writer write pages, by that many per second.
    fn writes(backends: f64, bgwriter: f64) -> Option<Writes> {
        Some(Writes {
            seconds: 3600.0,
            checkpoints: 3600.0 * 300.0,
            bgwriter: 3600.0 * bgwriter,
            backends: 3600.0 * backends,
            allocated: 3600.0 * (backends + bgwriter),
            stopped: 0.0,
        })
    }

    #[test]
    fn writeback_matters_where_the_flusher_is_off() {
        let mut measured = without_flusher();
        assert_eq!(
            statement(flusher_off(&measured)),
            "ALTER SYSTEM SET ckptflush.flush = 'on';"
        );
        measured.settings.enabled = false;
        let advice = flusher_off(&measured).unwrap();
        assert!(advice.evidence.starts_with("ckptflush.enabled = off."));
        assert_eq!(
            statement(Some(advice)),
            "ALTER SYSTEM SET ckptflush.enabled = 'on';"
        );
        assert_eq!(checkpoint_flush_after(&measured), None, "256kB");
        measured.settings.checkpoint_flush_after = 0;
        assert_eq!(
            statement(checkpoint_flush_after(&measured)),
            "ALTER SYSTEM SET checkpoint_flush_after = '256kB';"
        );
        measured.writes = writes(400.0, 0.0);
        assert_eq!(
            statement(backend_flush_after(&measured)),
            "ALTER SYSTEM SET backend_flush_after = '256kB';"
        );
        measured.settings.bgwriter_flush_after = 0;
        measured.writes = writes(0.0, 400.0);
        assert_eq!(backend_flush_after(&measured), None);
        assert_eq!(
            statement(bgwriter_flush_after(&measured)),
            "ALTER SYSTEM SET bgwriter_flush_after = '512kB';"
        );
        measured.settings.flush = true;
        for rule in [flusher_off, checkpoint_flush_after, bgwriter_flush_after] {
            assert_eq!(rule(&measured), None, "the flusher is at work");
        }
        measured.settings.flush = false;
        measured
            .checkpoints
            .iter_mut()
            .for_each(|it| it.sync = Some(0.1));
        for rule in [flusher_off, checkpoint_flush_after, bgwriter_flush_after] {
            assert_eq!(rule(&measured), None, "fsyncs are short");
        }
    }

    #[test]
    fn a_background_writer_at_its_limit_is_given_more() {
        let mut measured = busy();
        measured.writes = writes(200.0, 400.0);
        assert_eq!(bgwriter(&measured), None, "it was never stopped");
        if let Some(writes) = &mut measured.writes {
            writes.stopped = 0.5 * 3600.0 / 0.2;
        }
        let advice = bgwriter(&measured);
        assert!(
            advice
                .as_ref()
                .unwrap()
                .evidence
                .contains("in 50.0 % of its rounds")
        );
        assert_eq!(
            statement(advice),
            "ALTER SYSTEM SET bgwriter_lru_maxpages = '400';"
        );
        measured.writes = writes(10.0, 400.0);
        assert_eq!(bgwriter(&measured), None, "backends hardly write");
        measured.writes = writes(200.0, 0.0);
        measured.settings.bgwriter_lru_maxpages = 0;
        assert_eq!(
            statement(bgwriter(&measured)),
            "ALTER SYSTEM SET bgwriter_lru_maxpages = '100';"
        );
    }

    #[test]
    fn a_small_pool_grows_to_a_quarter_of_the_machine() {
        let mut measured = busy();
        measured.writes = writes(400.0, 100.0);
        assert_eq!(pool_too_small(&measured), None, "the machine is not known");
        measured.settings.memory_bytes = Some(16e9);
        assert_eq!(
            statement(pool_too_small(&measured)),
            "ALTER SYSTEM SET shared_buffers = '256MB';"
        );
        measured.settings.memory_bytes = Some(0.5e9);
        assert_eq!(pool_too_small(&measured), None, "it has no more");
        measured.settings.memory_bytes = Some(16e9);
        measured.writes = writes(50.0, 400.0);
        assert_eq!(pool_too_small(&measured), None, "backends hardly write");
        measured.writes = writes(400.0, 100.0);
        measured.settings.pool_pages = 4e6;
        assert_eq!(pool_too_small(&measured), None, "it is hardly replaced");
    }

    #[test]
    fn a_large_pool_is_too_large_when_checkpoints_are_late() {
        let mut measured = busy();
        measured.settings.pool_pages = 262_144.0;
        let late = |measured: &mut Measured, pages, write| {
            for checkpoint in &mut measured.checkpoints {
                checkpoint.pages = pages;
                checkpoint.write = Some(write);
            }
        };
        late(&mut measured, 200_000.0, 400.0);
        assert_eq!(
            statement(pool_too_large(&measured)),
            "ALTER SYSTEM SET shared_buffers = '1024MB';"
        );
        late(&mut measured, 200_000.0, 270.0);
        assert_eq!(pool_too_large(&measured), None, "in time");
        late(&mut measured, 20_000.0, 400.0);
        assert_eq!(pool_too_large(&measured), None, "a small part");
    }
}
