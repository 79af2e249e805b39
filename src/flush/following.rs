//! The list of the checkpoint whose writeback was left to us: what is written, what is to come.
//!
//! *Runs in:* the flusher. *Reads and writes:* reads the work list through [`crate::worklist`].
//! *Never:* issues anything.

use pacing::curve::Curve;
use pacing::device::Load;
use pacing::forecast::{self, Pace};
use statseg::{Progress, Takeover};

use super::due;
use super::files::{Files, NONE};
use crate::pgshim::WorkList;
use crate::process::now_us;
use crate::server;
use crate::worklist::{Follower, Page, Search};

/// Pages that are written to the device in one operation at most, as far as the plan goes.
const LARGEST_RUN: u32 = pacing::queue::WINDOW_BLOCKS;

const BLOCK: f64 = pacing::BLOCK_BYTES as f64;

/// A page without a device.
const NOWHERE: u8 = u8::MAX;

/// A page's part of the plan: its device, and whether it begins an operation.
#[derive(Clone, Copy)]
struct Share {
    lane: u8,
    begins: bool,
}

impl Share {
    fn load(self) -> Load {
        Load {
            operations: f64::from(u8::from(self.begins)),
            bytes: BLOCK,
        }
    }
}

/// A checkpoint that is being followed.
pub(super) struct Following {
    takeover: Takeover,
    search: Search,
    follower: Option<Follower>,
    shares: Vec<Share>,
    /// By lane: what the checkpointer has not written yet.
    planned: Vec<Load>,
    curve: Curve,
    /// WAL position at the start (checkpointer.c:ckpt_start_recptr).
    start_position: u64,
}

impl Following {
    pub(super) fn begin(takeover: Takeover) -> Self {
        Self {
            takeover,
            search: Search::default(),
            follower: None,
            shares: Vec::new(),
            planned: Vec::new(),
            curve: Curve::default(),
            start_position: server::pace().position,
        }
    }

    /// Is this the checkpoint that the checkpointer tells of?
    pub(super) fn is(&self, takeover: &Takeover) -> bool {
        self.takeover.started_at == takeover.started_at
    }

    /// The list is not found yet, and its first pages are being written.
    pub(super) fn is_curious(&self) -> bool {
        let age = now_us() - self.takeover.started_at;
        self.follower.is_none() && age < 5_000_000
    }

    /// What is still to come for a device.
    pub(super) fn planned(&self, lane: usize) -> Load {
        self.planned.get(lane).copied().unwrap_or_default()
    }

    /// The completion target with which the checkpointer now writes evenly by cost; `cost` is
    /// that of a load on a device. `None` before the list is found and when it is written.
    pub(super) fn target(&self, cost: impl Fn(usize, Load) -> f64) -> Option<f64> {
        let follower = self
            .follower
            .as_ref()
            .filter(|_| !self.planned.is_empty())?;
        let pace = server::pace();
        // As the checkpointer counts: from a whole second.
        let begin = self.takeover.started_at.div_euclid(1_000_000) * 1_000_000;
        let pace = Pace {
            immediate: false,
            elapsed: (now_us() - begin) as f64 / 1e6,
            done: follower.done(),
            total: follower.total(),
            write_rate: None,
            completion_target: pace.completion_target,
            timeout: f64::from(pace.timeout),
            wal_since_start: pace.position.saturating_sub(self.start_position),
            wal_rate: None,
            wal_segment_size: pace.wal_segment_bytes,
            checkpoint_segments: pace.checkpoint_segments,
        };
        Some(forecast::target_by_cost(&pace, |share| {
            self.curve.items_at(share, &cost)
        }))
    }

    /// Look how far the checkpointer is: `written` gets each page that it has written since.
    pub(super) fn advance(
        &mut self,
        syncing: bool,
        files: &mut Files,
        mut written: impl FnMut(&mut Files, u32, u32),
    ) {
        let (shares, planned) = (&self.shares, &mut self.planned);
        let mut known = Known::default();
        let mut each = |index: usize, page: Page| {
            if let Some(share) = shares.get(index)
                && let Some(load) = planned.get_mut(usize::from(share.lane))
            {
                *load -= share.load();
            }
            let file = known.number(files, page);
            if file != NONE {
                written(files, file, page.block);
            }
        };
        if syncing {
            if let Some(follower) = &mut self.follower {
                follower.finish(each);
            }
            self.planned.clear();
            return;
        }
        let stands = self
            .follower
            .as_mut()
            .is_some_and(|follower| follower.advance(&mut each));
        if !stands {
            self.follower = self.search.find(WorkList::new(self.takeover.unlogged));
            self.plan(files);
        }
    }

    /// Cost the list, when it is found.
    fn plan(&mut self, files: &mut Files) {
        self.shares.clear();
        self.planned.clear();
        self.curve = Curve::default();
        let Some(follower) = &self.follower else {
            return;
        };
        let mut known = Known::default();
        let mut last: Option<(u32, u32)> = None;
        let mut tablespace = None;
        for page in follower.pages() {
            let file = known.number(files, page);
            let lane = files
                .get(file)
                .and_then(|file| u8::try_from(file.lane).ok())
                .unwrap_or(NOWHERE);
            let goes_on = last == Some((file, page.block.wrapping_sub(1)))
                && !page.block.is_multiple_of(LARGEST_RUN);
            last = Some((file, page.block));
            let share = Share {
                lane,
                begins: !goes_on,
            };
            self.shares.push(share);
            let index = usize::from(lane);
            if tablespace.replace(page.tablespace()) != Some(page.tablespace()) {
                self.curve.begin_part(index);
            }
            self.curve.push(share.load());
            if lane != NOWHERE {
                if self.planned.len() <= index {
                    self.planned.resize(index + 1, Load::default());
                }
                self.planned[index] += share.load();
            }
        }
    }
}

/// Items come in the order of the list: most are of the file of the one before.
#[derive(Default)]
struct Known(Option<(statseg::FileKey, u32)>);

impl Known {
    fn number(&mut self, files: &mut Files, page: Page) -> u32 {
        match self.0 {
            Some((key, number)) if key == page.file => number,
            _ => {
                let number = files.of_key(page.file);
                self.0 = Some((page.file, number));
                number
            }
        }
    }
}

/// When the write phase shall be on the device, in seconds from now; `None` while the monitor
/// has no schedule for this checkpoint.
pub(super) fn write_phase_left(progress: &Progress, takeover: &Takeover) -> Option<f64> {
    // The monitor may still show the one before.
    if !progress.active || progress.started_at + 1_000_000 < takeover.started_at {
        return None;
    }
    let end = progress.scheduled_end_at?;
    let phase = (end - progress.started_at) as f64 / 1e6;
    Some((end - now_us()) as f64 / 1e6 - due::margin(phase))
}
