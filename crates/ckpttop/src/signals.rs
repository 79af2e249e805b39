//! Signals that ask the viewer to end.
//!
//! *Runs in:* the viewer; the handler itself stores one number.
//! *Reads and writes:* one atomic.
//! *Never:* ends the process before the terminal is itself again, if there still is one.

use crate::failure::{Failure, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A signal is noticed within this.
pub(crate) const SLICE: Duration = Duration::from_millis(500);

/// After a signal the screen ends by itself within this.
const GRACE: Duration = Duration::from_secs(2);

/// The last signal that came; 0 when none did.
pub(crate) struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// From here on the signals do not end the process any more. One that whoever started us has set to
    /// be ignored stays so: nohup(1) lets a recording outlive its session.
    pub(crate) fn new() -> Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if ignored & 1 << (signal - 1) != 0 {
                continue;
            }
            let number = usize::try_from(signal).unwrap_or(0);
            signal_hook::flag::register_usize(signal, Arc::clone(&came), number)
                .map_err(|error| Failure::io("set a signal handler", &error))?;
        }
        Ok(Self(came))
    }

    /// Sees to it that a signal ends the process, whatever the screen does.
    ///
    /// When the terminal is gone, crossterm reads its end again and again, and never comes back to
    /// ask whether a signal came.
    pub(crate) fn insist(&self) {
        let came = Arc::clone(&self.0);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(GRACE);
                if let Ok(signal @ 1..) = i32::try_from(came.load(Ordering::Relaxed)) {
                    std::thread::sleep(GRACE);
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        });
    }

    /// Whether to end.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Sleeps until a moment, or a signal.
    pub(crate) fn sleep_until(&self, end: Instant) {
        while !self.came() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }

    /// The way to end: by the signal, if one came, so that the shell knows.
    pub(crate) fn end(self) -> ExitCode {
        match i32::try_from(self.0.load(Ordering::Relaxed)) {
            Ok(0) | Err(_) => ExitCode::SUCCESS,
            Ok(signal) => {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                // Not reached: these signals end a process.
                ExitCode::FAILURE
            }
        }
    }
}

/// The signals that a process ignores, as a set of bits from signal 1 on: `SigIgn` of
/// /proc/PID/status (proc(5)).
fn ignored(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}
