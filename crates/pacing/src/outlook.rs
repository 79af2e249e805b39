//! What a checkpoint costs under other settings, from the load that was measured under these.
//!
//! *Runs in:* any process; the views call it.
//! *Reads and writes:* its arguments only.
//! *Never:* reads a clock or a setting. It forecasts this load, and knows of no other.
//!
//! Two things make a longer interval cheaper than a shorter one, and both come from the pages
//! that are changed again and again: the checkpoint writes such a page once, however often it was
//! changed, and the WAL has its full image once. So after each redo point the WAL comes fast, and
//! slower and slower until all these pages have been touched:
//!
//! ```text
//!   WAL per second
//!   │█                                   rate + surge × e^(-decay × age)
//!   │██▄
//!   │████▄▄                              WAL in t seconds: rate × t + surge / decay × seen(t)
//!   │█████████▄▄▄▄▄▄▄___________ rate    seen(t) = 1 - e^(-decay × t)
//!   └──────────────────────────► age
//! ```
//!
//! The curve is fitted to the seconds of the timeline (`fit.rs`), by their age since the redo point
//! before them. What the surge holds are images of pages: that is how many pages are changed
//! again. What checkpoints wrote beyond these are fresh ones, in proportion to time.
//!
//! A checkpoint writes fewer of the pages that are changed again than were seen since its
//! predecessor's redo point: the predecessor took its time, and a page that it wrote late was
//! changed again before and not since ([`Load::pages`]).

mod fit;

use crate::BLOCK_BYTES;
use fit::Curve;

/// The checkpointer does not pace what it has to do in less, in seconds.
const SHORTEST_WRITE: f64 = 0.1;

/// A second that was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Seconds since the last redo point before it.
    pub age: f64,
    /// WAL written in it.
    pub wal_bytes: f64,
}

/// What was between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// Seconds from one's begin to the other's.
    pub seconds: f64,
    /// Seconds of the first one's write phase.
    pub write_seconds: f64,
    /// Pages that the second one wrote.
    pub pages: f64,
}

/// What a full image of a page takes in the WAL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Images {
    /// About a page.
    Plain,
    /// `wal_compression`: nobody knows. All that checkpoints write is taken for pages that are
    /// changed again.
    Compressed,
    /// `full_page_writes = off`: the WAL says nothing of pages. All of them are taken for fresh.
    Absent,
}

/// A load, as far as checkpoints are concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    curve: Curve,
    /// Pages that are changed again and again.
    again: f64,
    /// Pages per second that are changed once.
    fresh: f64,
    /// Pages of the pool: a checkpoint writes no more.
    pool: f64,
}

/// The settings that say when checkpoints are, and the size of what they count in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// `checkpoint_timeout`, seconds.
    pub timeout: f64,
    /// `checkpoint_completion_target`.
    pub target: f64,
    /// `max_wal_size`, bytes.
    pub max_wal_bytes: f64,
    /// `min_wal_size`, bytes.
    pub min_wal_bytes: f64,
    /// `wal_segment_size`, bytes.
    pub segment_bytes: f64,
}

/// Checkpoints of a load under a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// WAL begins them, not time.
    pub by_wal: bool,
    /// Seconds from one to the next.
    pub interval: f64,
    /// Seconds of the write phase.
    pub write_seconds: f64,
    /// Pages that each writes.
    pub pages: f64,
    /// Bytes per second in the write phase; `None` where that is no time: `completion_target` 0 and
    /// the like, with which the checkpointer writes as fast as it can.
    pub write_rate: Option<f64>,
    /// WAL per second, on average.
    pub wal_rate: f64,
    /// WAL on disk, at most.
    pub wal_disk: f64,
    /// WAL that recovery has to replay, at most.
    pub redo: f64,
}

impl Load {
    /// The load that made these; `None` when there is nothing to go by. `pool` is the number of
    /// shared buffers.
    #[must_use]
    pub fn measure(
        seconds: &[Second],
        cycles: &[Cycle],
        images: Images,
        pool: f64,
    ) -> Option<Self> {
        let curve = Curve::fit(seconds)?;
        let time: f64 = cycles.iter().map(|cycle| cycle.seconds).sum();
        if time <= 0.0 {
            return None;
        }
        let pages: f64 = cycles.iter().map(|cycle| cycle.pages).sum();
        let dirty = cycles
            .iter()
            .map(|it| dirty(&curve, it.seconds, it.write_seconds));
        let seen: f64 = dirty.sum();
        #[allow(clippy::cast_precision_loss)]
        let image = BLOCK_BYTES as f64;
        // No more than what was written: the rest of the surge was something else.
        let all_again = if seen > 0.0 { pages / seen } else { 0.0 };
        let again = match images {
            Images::Plain => (curve.surge_bytes() / image).min(all_again),
            Images::Compressed => all_again,
            Images::Absent => 0.0,
        };
        let fresh = ((pages - again * seen) / time).max(0.0);
        Some(Self {
            curve,
            again,
            fresh,
            pool,
        })
    }

    /// WAL in the first `t` seconds after a redo point.
    #[must_use]
    pub fn wal(&self, t: f64) -> f64 {
        self.curve.bytes(t)
    }

    /// Pages that a checkpoint finds dirty `t` seconds after the begin of the one before, which
    /// wrote for `write` seconds.
    #[must_use]
    pub fn pages(&self, t: f64, write: f64) -> f64 {
        (self.fresh * t + self.again * dirty(&self.curve, t, write)).min(self.pool)
    }

    /// Seconds after a redo point until so much WAL is written; infinite when it never is.
    #[must_use]
    pub fn wal_reaches(&self, bytes: f64) -> f64 {
        self.curve.reaches(bytes)
    }

    /// Checkpoints of this load under a setting.
    #[must_use]
    pub fn under(&self, setting: &Setting) -> Outlook {
        let volume = setting.volume();
        let full = self.wal_reaches(volume);
        let interval = full.min(setting.timeout).max(f64::MIN_POSITIVE);
        // checkpointer.c:IsCheckpointOnSchedule: whichever is further ahead, WAL or time.
        let write_seconds = self
            .wal_reaches(setting.target * volume)
            .min(setting.target * setting.timeout)
            .min(interval)
            .max(f64::MIN_POSITIVE);
        let pages = self.pages(interval, write_seconds);
        let distance = self.wal(interval);
        // The WAL from one redo point is needed until the next checkpoint has completed.
        let redo = distance + self.wal(write_seconds);
        // xlog.c:XLOGfileslop keeps files for the distance that it expects, within the settings; the
        // larger one rules where they contradict each other.
        let kept = ((1.0 + setting.target) * distance * 1.1)
            .max(setting.min_wal_bytes)
            .min(setting.max_wal_bytes);
        #[allow(clippy::cast_precision_loss)]
        let page = BLOCK_BYTES as f64;
        Outlook {
            by_wal: full < setting.timeout,
            interval,
            write_seconds,
            pages,
            write_rate: (write_seconds >= SHORTEST_WRITE).then(|| pages * page / write_seconds),
            wal_rate: distance / interval,
            wal_disk: redo.max(kept) + setting.segment_bytes,
            redo,
        }
    }

    /// The smallest `max_wal_size`, in whole segments, with which checkpoints of this load are
    /// begun by time, with a quarter to spare.
    #[must_use]
    pub fn max_wal_for(&self, setting: &Setting) -> f64 {
        let volume = self.wal(setting.timeout) * 1.25;
        let segments = (volume * (1.0 + setting.target) / setting.segment_bytes).ceil();
        segments.max(2.0) * setting.segment_bytes
    }
}

/// Share of the pages changed again that a checkpoint finds dirty, in the long run.
///
/// Of the pages that the one before did not write it is what was seen in all of `t`; of those
/// that it did, evenly over its first `write` seconds, what was seen since then. The share that it
/// wrote is the same share.
fn dirty(curve: &Curve, t: f64, write: f64) -> f64 {
    let of_all = curve.seen(t);
    let of_written = curve.seen_since(t, write.clamp(0.0, t));
    of_all / (1.0 + of_all - of_written)
}

impl Setting {
    /// WAL from one checkpoint to the next that WAL begins (xlog.c:CalculateCheckpointSegments).
    #[must_use]
    pub fn volume(&self) -> f64 {
        let segments = (self.max_wal_bytes / self.segment_bytes / (1.0 + self.target)).floor();
        segments.max(1.0) * self.segment_bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
