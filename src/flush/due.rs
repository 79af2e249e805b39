//! When a dirty page must be on its way.
//!
//! *Runs in:* the flusher. *Reads and writes:* its arguments only.
//! *Never:* reads a clock.
//!
//! The kernel writes an inode by itself when it has been dirty for `vm.dirty_expire_centisecs`,
//! and then everything that is dirty in it, the newest pages too, in one burst
//! (fs-writeback.c). Neither writeback that we start nor an fsync makes the inode clean in its
//! eyes: only its own visit does. So around that moment a file must hold little that is dirty.

/// The kernel looks every five seconds (vm.dirty_writeback_centisecs), and may be late.
const KERNEL_IS_LATE: f64 = 6.0;
/// Pages of an inode about to expire: this soon.
const AT_ONCE: f64 = 1.0;
/// What is dense is cheap, and there may be much of it.
const DENSE_WITHIN: f64 = 4.0;
/// Work for the checkpoint is spread at least so far.
const SHORTEST: f64 = 0.3;

/// The kernel's expiry, in seconds.
#[derive(Clone, Copy)]
pub(super) struct Expiry(pub(super) f64);

impl Expiry {
    /// Whether the kernel has passed by since the inode became dirty.
    pub(super) fn is_over(self, dirty_since: f64, now: f64) -> bool {
        now > dirty_since + self.0 + KERNEL_IS_LATE
    }

    /// The latest moment for pages of a file that has been dirty since then.
    fn of_file(self, dirty_since: f64, now: f64) -> f64 {
        let margin = (self.0 / 6.0).clamp(0.5, 5.0);
        (dirty_since + self.0 - margin).max(now + AT_ONCE)
    }

    /// For a page that the sweep has found.
    pub(super) fn swept(self, dirty_since: f64, now: f64, dense: bool) -> f64 {
        let latest = self.of_file(dirty_since, now);
        if dense {
            latest.min(now + DENSE_WITHIN)
        } else {
            latest
        }
    }

    /// For a page of the checkpoint, whose write phase has to be on the device at `end`.
    pub(super) fn listed(self, dirty_since: f64, now: f64, end: f64) -> f64 {
        self.of_file(dirty_since, now).min(end.max(now + SHORTEST))
    }
}

/// The write phase shall be on the device this long before its end, in seconds: the fsyncs are to
/// find nothing but the last pages.
pub(super) fn margin(write_phase: f64) -> f64 {
    (write_phase * 0.04).clamp(SHORTEST, 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: Expiry = Expiry(30.0);

    #[test]
    fn a_file_is_clean_before_the_kernel_comes() {
        assert!(KERNEL.swept(100.0, 110.0, false) <= 125.0);
        assert!(KERNEL.swept(100.0, 110.0, true) <= 114.0);
        // Just before, and until the kernel has passed: at once.
        assert!(KERNEL.swept(100.0, 124.5, false) <= 125.5);
        assert!(KERNEL.swept(100.0, 133.0, true) <= 134.0);
        assert!(!KERNEL.is_over(100.0, 133.0));
        assert!(KERNEL.is_over(100.0, 136.1));
    }

    #[test]
    fn a_checkpoint_is_out_before_its_end() {
        assert!(KERNEL.listed(100.0, 105.0, 120.0) <= 120.0);
        assert!(KERNEL.listed(100.0, 105.0, 300.0) <= 125.0);
        // Late pages are not thrown out in one moment.
        let late = KERNEL.listed(100.0, 121.0, 120.0);
        assert!((121.2..121.5).contains(&late));
    }

    #[test]
    fn the_margin_is_a_share_with_bounds() {
        assert!(margin(1.0) > 0.2);
        assert!(margin(24.0) < 1.0);
        assert!(margin(3000.0) <= 10.0);
    }
}
