//! Rules about what makes the fsyncs of checkpoints take long.
//!
//! *Runs in:* the backend that queries. Pure.
//! *Reads and writes:* its argument only.
//! *Never:* takes pauses between fsyncs for fsyncs.
//!
//! An fsync takes long for one of three reasons, and each has its own mark:
//!
//! | reason | mark |
//! |---|---|
//! | there are very many | hundreds of files, none of which has a large part of the time |
//! | each flush of the device's cache takes long | so does a commit while no checkpoint runs |
//! | there is much to write | neither; one file or some have most of the time |
//!
//! Where everything is written back in time, as fast as a device at its limit takes it, that limit
//! is the reason (`limit.rs`).

use pacing::BLOCK_BYTES;

use super::limit::limit;
use super::measured::{Checkpoint, Measured, mean};
use super::schedule::longer_interval;
use super::text::{Setting, bytes, list, percent, seconds};
use super::{Advice, Severity};

/// Fsyncs of a checkpoint that take longer are worth a word.
const LONG: f64 = 1.0;
/// Many files.
const MANY: f64 = 200.0;
/// A device whose cache flush takes longer is slow: a disk that turns takes about so long, and
/// what has a protected cache a tenth of a millisecond.
const SLOW_FLUSH: f64 = 0.005;
/// A file with a larger share of the time is the reason itself.
const LARGE_SHARE: f64 = 0.3;

/// What the checkpoints with long sync phases have in common.
struct Trouble<'a> {
    /// How many of the checkpoints there are, and how many were looked at.
    long: usize,
    of: usize,
    /// Means over those.
    sync: f64,
    files: f64,
    longest: f64,
    pages: f64,
    /// The one whose sync phase was the longest.
    worst: &'a Checkpoint,
}

impl Trouble<'_> {
    fn find(measured: &Measured) -> Option<Trouble<'_>> {
        let checkpoints = measured.automatic();
        let is_long = |it: &&&Checkpoint| it.sync.is_some_and(|sync| sync >= LONG);
        let long: Vec<&Checkpoint> = checkpoints.iter().filter(is_long).copied().collect();
        // A single one is no chance if it makes the mean long.
        let mean_sync = mean(checkpoints.iter().filter_map(|it| it.sync))?;
        let enough = long.len() >= 2 || checkpoints.len() >= 2 && mean_sync >= LONG;
        if !enough || 3 * long.len() < checkpoints.len() {
            return None;
        }
        let of =
            |field: fn(&Checkpoint) -> Option<f64>| mean(long.iter().filter_map(|it| field(it)));
        let worst = long.iter().max_by(|one, other| {
            let sync = |it: &Checkpoint| it.sync.unwrap_or(0.0);
            sync(one).total_cmp(&sync(other))
        });
        Some(Trouble {
            long: long.len(),
            of: checkpoints.len(),
            sync: of(|it| it.sync)?,
            files: of(|it| it.files)?,
            longest: of(|it| it.longest_sync)?,
            pages: of(|it| Some(it.pages))?,
            worst: worst?,
        })
    }

    fn is_of_many_files(&self) -> bool {
        self.files >= MANY && self.longest < LARGE_SHARE * self.sync
    }

    fn what_happened(&self) -> String {
        format!(
            "{} of the last {} checkpoints had {} of fsyncs on average, of {:.0} files.",
            self.long,
            self.of,
            seconds(self.sync),
            self.files,
        )
    }

    fn severity(&self) -> Severity {
        if self.worst.stalled > 0.0 || self.sync >= 5.0 * LONG {
            Severity::Warning
        } else {
            Severity::Info
        }
    }
}

/// Long sync phases, in words.
pub(super) fn long_syncs(measured: &Measured) -> Option<String> {
    Trouble::find(measured).map(|trouble| trouble.what_happened())
}

/// The files with most of the time.
fn guilty(measured: &Measured) -> String {
    let files = measured.files.worst.iter().map(|file| {
        format!(
            "{} ({} in {} fsyncs)",
            file.name,
            seconds(file.total),
            file.syncs
        )
    });
    list(files, 5)
}

/// A commit's own flush is slow while no checkpoint runs.
fn slow_commit_flush(measured: &Measured) -> Option<f64> {
    let enough = measured.commits.flushes >= 100;
    measured
        .commits
        .flush_median
        .filter(|it| enough && *it >= SLOW_FLUSH)
}

/// Hundreds of files, each of which waits for the device.
pub(super) fn many_files(measured: &Measured) -> Option<Advice> {
    let trouble = Trouble::find(measured).filter(Trouble::is_of_many_files)?;
    let no_pauses = measured.settings.flush && measured.settings.sync_pace_max == 0.0;
    Some(Advice {
        topic: "sync_files",
        severity: trouble.severity(),
        finding: "fsyncs of checkpoints take long because there are many files".to_owned(),
        evidence: format!(
            "{} Each took {}, the longest {}. Most time so far had: {}.",
            trouble.what_happened(),
            seconds(trouble.sync / trouble.files),
            seconds(trouble.longest),
            guilty(measured),
        ),
        suggestion: if no_pauses {
            Some(Setting::new("ckptflush.sync_pace_max", "0.1"))
        } else {
            longer_interval(measured)
        },
        expected_effect: if no_pauses {
            "The checkpointer pauses between fsyncs while commits are slow.".to_owned()
        } else {
            "Half as many fsyncs in an hour. Fewer relations, partitions or indexes that are \
             changed between two checkpoints help more."
                .to_owned()
        },
    })
}

/// Each flush of the device's cache takes long, for commits too.
pub(super) fn slow_flush(measured: &Measured) -> Option<Advice> {
    let commit = slow_commit_flush(measured)?;
    let files = measured.files.typical_shortest;
    let file = files.filter(|shortest| *shortest >= 0.5 * SLOW_FLUSH)?;
    Some(Advice {
        topic: "device_flush",
        severity: Severity::Info,
        finding: "each flush of the device's cache takes long".to_owned(),
        evidence: format!(
            "While no checkpoint runs, half of {} commits wait {} or longer for their WAL. The \
             shortest fsync of a file takes {} (median of all files).",
            measured.commits.flushes,
            seconds(commit),
            seconds(file),
        ),
        suggestion: None,
        expected_effect: "No setting makes it faster. A device with a protected write cache \
                          flushes in a tenth of a millisecond; pg_test_fsync measures it."
            .to_owned(),
    })
}

/// Much is left to write when the fsyncs begin.
pub(super) fn volume(measured: &Measured) -> Option<Advice> {
    let trouble = Trouble::find(measured).filter(|it| !it.is_of_many_files())?;
    // What commits wait for without a checkpoint, files do too.
    let by_flush = slow_commit_flush(measured).map_or(0.0, |flush| flush * trouble.files);
    if by_flush >= 0.5 * trouble.sync {
        return None;
    }
    let settings = &measured.settings;
    let in_time = settings.flush && settings.flush_sweep;
    if in_time && measured.sweep && limit(measured).is_some() {
        return None;
    }
    let suggestion = if !settings.flush {
        settings.flush_on()
    } else if !settings.flush_sweep {
        Some(Setting::new("ckptflush.flush_sweep", "on"))
    } else {
        longer_interval(measured)
    };
    let worst = trouble.worst;
    let file = worst.longest_file.as_deref().unwrap_or("not tracked");
    Some(Advice {
        topic: "sync_bytes",
        severity: trouble.severity(),
        finding: "much is left to write when the fsyncs of checkpoints begin".to_owned(),
        evidence: format!(
            "{} They wrote {} on average. The longest fsync had {} of it; the file in the worst \
             one was {file}. Most time so far had: {}.",
            trouble.what_happened(),
            bytes(trouble.pages * BLOCK_BYTES as f64),
            percent((trouble.longest / trouble.sync).min(1.0)),
            guilty(measured),
        ),
        suggestion,
        expected_effect: if in_time {
            "The same pages in twice the time, and those that are changed often once instead of \
             twice. If the device is at its limit all the time, only a faster one helps."
                .to_owned()
        } else {
            "Pages are on the device before the fsyncs begin.".to_owned()
        },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{busy, statement};
    use super::*;

    /// Every checkpoint of the busy server with so many files and such syncs.
    fn with(files: f64, sync: f64, longest: f64) -> Measured {
        let mut measured = busy();
        for checkpoint in &mut measured.checkpoints {
            checkpoint.files = Some(files);
            checkpoint.sync = Some(sync);
            checkpoint.longest_sync = Some(longest);
            checkpoint.longest_file = Some("base/5/1000".to_owned());
        }
        measured
    }

    #[test]
    fn many_files_are_told_from_much_to_write() {
        let many = with(2000.0, 8.0, 0.02);
        let advice = many_files(&many).unwrap();
        assert_eq!(advice.severity, Severity::Warning);
        assert!(
            advice
                .evidence
                .contains("8.0 s of fsyncs on average, of 2000 files. Each took 4.0 ms")
        );
        assert!(
            advice
                .evidence
                .contains("accounts, base/5/1000 (20.0 s in 10 fsyncs)")
        );
        assert_eq!(
            statement(Some(advice)),
            "ALTER SYSTEM SET checkpoint_timeout = '10min';"
        );
        assert_eq!(volume(&many), None);

        let much = with(40.0, 8.0, 6.0);
        assert_eq!(many_files(&much), None);
        let advice = volume(&much).unwrap();
        assert!(
            advice
                .evidence
                .contains("The longest fsync had 75.0 % of it")
        );
        assert!(advice.evidence.contains("base/5/1000"));
        // One large file among many is what takes the time.
        assert_eq!(many_files(&with(2000.0, 8.0, 5.0)), None);
        assert!(volume(&with(2000.0, 8.0, 5.0)).is_some());
    }

    #[test]
    fn short_or_rare_syncs_are_no_trouble() {
        for measured in [with(2000.0, 0.9, 0.1), with(40.0, 0.9, 0.8)] {
            assert_eq!(many_files(&measured), None);
            assert_eq!(volume(&measured), None);
        }
        let mut rare = with(40.0, 0.1, 0.1);
        for checkpoint in rare.checkpoints.iter_mut().take(2) {
            checkpoint.sync = Some(8.0);
        }
        assert_eq!(volume(&rare), None);
        rare.checkpoints.truncate(1);
        assert_eq!(volume(&rare), None, "the only one");
        // Those that somebody asked for are not spread, so they say nothing.
        let mut asked = with(40.0, 8.0, 6.0);
        for checkpoint in &mut asked.checkpoints {
            checkpoint.cause = Some(statseg::Cause::Requested);
        }
        assert_eq!(volume(&asked), None);
    }

    #[test]
    fn one_that_is_very_long_is_enough() {
        let mut one = with(40.0, 0.3, 0.2);
        one.checkpoints.truncate(3);
        one.checkpoints[0].sync = Some(2.0);
        assert_eq!(volume(&one), None, "it may be chance");
        one.checkpoints[0].sync = Some(12.0);
        let evidence = volume(&one).unwrap().evidence;
        assert!(evidence.contains("1 of the last 3"), "{evidence}");
    }

    #[test]
    fn what_is_switched_off_is_suggested_first() {
        let mut much = with(40.0, 8.0, 6.0);
        much.settings.flush_sweep = false;
        assert_eq!(
            statement(volume(&much)),
            "ALTER SYSTEM SET ckptflush.flush_sweep = 'on';"
        );
        much.settings.flush = false;
        assert_eq!(
            statement(volume(&much)),
            "ALTER SYSTEM SET ckptflush.flush = 'on';"
        );
        let mut many = with(2000.0, 8.0, 0.02);
        many.settings.sync_pace_max = 0.0;
        assert_eq!(
            statement(many_files(&many)),
            "ALTER SYSTEM SET ckptflush.sync_pace_max = '0.1';"
        );
    }

    #[test]
    fn a_limit_of_the_device_is_a_reason_of_its_own() {
        let mut much = with(40.0, 8.0, 6.0);
        for second in &mut much.seconds {
            second.device = Some((400.0, 3.0 * BLOCK_BYTES as f64, 8.0));
        }
        assert_eq!(volume(&much), None);
        let evidence = limit(&much).unwrap().evidence;
        assert!(
            evidence.contains("8.0 s of fsyncs on average"),
            "{evidence}"
        );
        much.settings.flush = false;
        assert!(volume(&much).is_some(), "nobody writes back in time");
    }

    #[test]
    fn a_slow_flush_is_seen_without_checkpoints() {
        let mut measured = with(40.0, 1.4, 0.1);
        measured.commits.flush_median = Some(0.030);
        measured.files.typical_shortest = Some(0.028);
        let advice = slow_flush(&measured).unwrap();
        assert_eq!(advice.suggestion(), None);
        assert!(advice.evidence.contains("wait 30.0 ms or longer"));
        assert_eq!(volume(&measured), None, "40 × 30 ms explain it");
        measured.files.typical_shortest = Some(0.0005);
        assert_eq!(
            slow_flush(&measured),
            None,
            "commits wait for something else"
        );
        measured.files.typical_shortest = Some(0.028);
        measured.commits.flush_median = Some(0.002);
        assert_eq!(slow_flush(&measured), None);
        measured.commits.flush_median = Some(0.030);
        measured.commits.flushes = 10;
        assert_eq!(slow_flush(&measured), None);
    }
}
