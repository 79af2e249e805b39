//! What the checkpointer's log records say, without PostgreSQL: text in, facts out.
//!
//! *Runs in:* the checkpointer, from the log hook. *Reads and writes:* its arguments only.
//! *Never:* allocates or panics: it may run in a critical section.
//!
//! The format (`message_id`) is never translated, the finished text may be. So records are
//! told apart by the format, and of the text only what no translation changes is read: the
//! flags, which are literals (xlog.c:LogCheckpointStart), and the order of the numbers.

/// What a record is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// A checkpoint or restartpoint starts.
    Start { restartpoint: bool },
    /// It is complete.
    Complete { restartpoint: bool },
    /// One file was fsynced (sync.c:ProcessSyncRequests).
    Synced,
    /// Anything else.
    Other,
}

/// Tell the record by its format.
pub(crate) fn classify(format: &[u8]) -> Said {
    const RECORDS: [(&[u8], Said); 5] = [
        (b"checkpoint sync: number=", Said::Synced),
        (
            b"checkpoint starting:",
            Said::Start {
                restartpoint: false,
            },
        ),
        (
            b"restartpoint starting:",
            Said::Start { restartpoint: true },
        ),
        (
            b"checkpoint complete:",
            Said::Complete {
                restartpoint: false,
            },
        ),
        (
            b"restartpoint complete:",
            Said::Complete { restartpoint: true },
        ),
    ];
    RECORDS
        .iter()
        .find(|(prefix, _)| format.starts_with(prefix))
        .map_or(Said::Other, |&(_, said)| said)
}

/// Bits of the segment's `flags` word, in the order of xlog.c:LogCheckpointStart.
pub(crate) mod flag {
    /// A checkpoint at shutdown.
    pub(crate) const SHUTDOWN: u64 = 1;
    /// At the end of recovery.
    pub(crate) const END_OF_RECOVERY: u64 = 1 << 1;
    /// As fast as possible: not spread.
    pub(crate) const IMMEDIATE: u64 = 1 << 2;
    /// Even if nothing was written since the last one.
    pub(crate) const FORCE: u64 = 1 << 3;
    /// Somebody waits for it.
    pub(crate) const WAIT: u64 = 1 << 4;
    /// `max_wal_size` asked for it.
    pub(crate) const WAL: u64 = 1 << 5;
    /// `checkpoint_timeout` asked for it.
    pub(crate) const TIME: u64 = 1 << 6;
    /// Unlogged relations too.
    pub(crate) const FLUSH_ALL: u64 = 1 << 7;
    /// Flags with which checkpointer.c:CheckpointWriteDelay does not pause.
    pub(crate) const NOT_SPREAD: u64 = IMMEDIATE | SHUTDOWN | END_OF_RECOVERY;
    /// bufmgr.c:BufferSync: with these, pages of unlogged relations are written.
    pub(crate) const UNLOGGED_TOO: u64 = SHUTDOWN | END_OF_RECOVERY | FLUSH_ALL;
}

/// The flags behind the last colon of a "starting" text.
pub(crate) fn flags(text: &[u8]) -> u64 {
    let words = text.rsplit(|&byte| byte == b':').next().unwrap_or(text);
    words
        .split(|&byte| byte == b' ')
        .map(|word| match word {
            b"shutdown" => flag::SHUTDOWN,
            b"end-of-recovery" => flag::END_OF_RECOVERY,
            // 19 calls it "fast".
            b"immediate" | b"fast" => flag::IMMEDIATE,
            b"force" => flag::FORCE,
            b"wait" => flag::WAIT,
            b"wal" => flag::WAL,
            b"time" => flag::TIME,
            // 19 calls it "flush-unlogged".
            b"flush-all" | b"flush-unlogged" => flag::FLUSH_ALL,
            _ => 0,
        })
        .fold(0, |all, one| all | one)
}

/// File and time of a per-file record: `checkpoint sync: number=1 file=base/5/16384 time=0.123 ms`.
pub(crate) fn synced(text: &[u8]) -> Option<(&str, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, rest) = text.split_once(" file=")?;
    let (file, time) = rest.rsplit_once(" time=")?;
    let milliseconds: f64 = time.strip_suffix(" ms")?.parse().ok()?;
    // Printed with three digits, so this is a whole number of microseconds.
    let microseconds = (milliseconds * 1000.0).round();
    (0.0..1e15)
        .contains(&microseconds)
        .then_some((file, microseconds as u64 * 1000))
}

/// Distance and estimate of a "complete" text, in bytes: the only two figures of the record
/// that `CheckpointStats` does not hold.
///
/// They are the 12th and 13th number of the text, one later where SLRU pages are printed too.
/// A text whose numbers do not agree with `buffers` and `files` is one that we do not know.
pub(crate) fn distances(text: &[u8], buffers: u64, slru: bool, files: u64) -> Option<(u64, u64)> {
    let shift = usize::from(slru);
    let whole = |index: usize| numbers(text).nth(index)?.parse::<u64>().ok();
    if whole(0)? != buffers || whole(8 + shift)? != files {
        return None;
    }
    Some((
        whole(11 + shift)?.checked_mul(1024)?,
        whole(12 + shift)?.checked_mul(1024)?,
    ))
}

/// The numbers of a text, in order: digits, with a decimal point inside.
fn numbers(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|byte| !(byte.is_ascii_digit() || *byte == b'.'))
        .filter_map(|word| std::str::from_utf8(word).ok())
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V15: &[u8] = b"checkpoint complete: wrote 4449 buffers (27.2%); 1 WAL file(s) added, \
        2 removed, 3 recycled; write=17.985 s, sync=0.013 s, total=18.007 s; sync files=58, \
        longest=0.004 s, average=0.001 s; distance=42683 kB, estimate=43217 kB";
    const V18: &[u8] = b"checkpoint complete: wrote 4449 buffers (27.2%), wrote 3 SLRU buffers; \
        1 WAL file(s) added, 2 removed, 3 recycled; write=17.985 s, sync=0.013 s, total=18.007 s; \
        sync files=58, longest=0.004 s, average=0.001 s; distance=42683 kB, estimate=43217 kB; \
        lsn=0/9A1C2F8, redo lsn=0/70A9E80";
    const GERMAN: &[u8] = "Checkpoint komplett: 4449 Puffer geschrieben (27.2%); 1 WAL-Datei(en) \
        hinzugefügt, 2 entfernt, 3 wiederverwendet; Schreiben=17.985 s, Sync=0.013 s, \
        gesamt=18.007 s; sync. Dateien=58, längste=0.004 s, Durchschnitt=0.001 s; \
        Entfernung=42683 kB, Schätzung=43217 kB"
        .as_bytes();

    #[test]
    fn tells_records_by_their_format() {
        assert_eq!(
            classify(b"checkpoint starting:%s%s%s%s%s%s%s%s"),
            Said::Start {
                restartpoint: false
            }
        );
        assert_eq!(
            classify(b"restartpoint complete: wrote %d buffers (%.1f%%); "),
            Said::Complete { restartpoint: true }
        );
        assert_eq!(
            classify(b"checkpoint sync: number=%d file=%s time=%.3f ms"),
            Said::Synced
        );
        assert_eq!(
            classify(b"checkpoints are occurring too frequently"),
            Said::Other
        );
        assert_eq!(classify(b""), Said::Other);
    }

    #[test]
    fn reads_flags_in_any_language() {
        assert_eq!(flags(b"checkpoint starting: time"), flag::TIME);
        assert_eq!(
            flags("début du checkpoint : immediate force wait".as_bytes()),
            flag::IMMEDIATE | flag::FORCE | flag::WAIT
        );
        assert_eq!(flags(b"checkpoint starting:"), 0);
        assert_eq!(
            flags(b"checkpoint starting: shutdown immediate flush-all end-of-recovery wal"),
            flag::SHUTDOWN | flag::IMMEDIATE | flag::FLUSH_ALL | flag::END_OF_RECOVERY | flag::WAL
        );
    }

    #[test]
    fn reads_a_files_time() {
        assert_eq!(
            synced(b"checkpoint sync: number=7 file=base/5/16384.1 time=12.345 ms"),
            Some(("base/5/16384.1", 12_345_000))
        );
        assert_eq!(
            synced(b"checkpoint sync: number=1 file=pg_xact/0000 time=0.001 ms"),
            Some(("pg_xact/0000", 1_000))
        );
        assert_eq!(synced(b"checkpoint sync: number=1 file=x"), None);
        assert_eq!(
            synced(b"checkpoint sync: number=1 file=x time=-1.000 ms"),
            None
        );
        assert_eq!(
            synced(b"checkpoint sync: number=1 file=x time=nan ms"),
            None
        );
    }

    #[test]
    fn reads_distances_of_every_major_and_language() {
        let expected = Some((42683 * 1024, 43217 * 1024));
        assert_eq!(distances(V15, 4449, false, 58), expected);
        assert_eq!(distances(V18, 4449, true, 58), expected);
        assert_eq!(distances(GERMAN, 4449, false, 58), expected);
    }

    #[test]
    fn refuses_texts_that_do_not_fit() {
        assert_eq!(distances(V15, 4450, false, 58), None);
        assert_eq!(distances(V15, 4449, false, 57), None);
        assert_eq!(distances(V18, 4449, false, 58), None);
        assert_eq!(distances(b"checkpoint complete:", 0, false, 0), None);
    }
}
