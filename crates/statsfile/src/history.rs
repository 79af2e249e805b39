//! Whether a file was written in the past of the server that reads it.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* looks at a clock: clocks go backwards, the WAL does not.

use crate::header::Header;
use crate::refused::Refused;

/// A timeline of a server's history (*timeline.c:readTimeLineHistory*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The timeline.
    pub timeline: u32,
    /// Where the server left it; for the one it is on, the end of the WAL after recovery.
    pub end: u64,
}

impl Header {
    /// Refuses a file that was written where this server has not been: after a point-in-time
    /// recovery in place, or by a server that went another way after a failover.
    ///
    /// # Errors
    /// [`Refused::OtherHistory`], [`Refused::AfterTheEnd`].
    pub fn check_history(&self, history: &[Stretch]) -> Result<(), Refused> {
        let stretch = history.iter().find(|one| one.timeline == self.timeline);
        match stretch {
            None => Err(Refused::OtherHistory {
                timeline: self.timeline,
            }),
            Some(stretch) if self.flush_lsn > stretch.end => Err(Refused::AfterTheEnd {
                timeline: self.timeline,
                flush_lsn: self.flush_lsn,
                end: stretch.end,
            }),
            Some(_) => Ok(()),
        }
    }
}
