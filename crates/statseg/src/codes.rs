//! Words that stand for words: the codes a record can hold, and their text.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing.
//! *Never:* gives a code a new meaning: codes are part of the layout; new ones are added.

use crate::field::FieldType;

macro_rules! codes {
    (
        $(#[$doc:meta])*
        pub enum $name:ident {
            $first:ident = $first_code:literal $first_text:literal,
            $( $variant:ident = $code:literal $text:literal, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name {
            #[doc = concat!("\"", $first_text, "\"")]
            #[default]
            $first,
            $( #[doc = concat!("\"", $text, "\"")] $variant, )*
        }

        impl $name {
            /// Every value with its code, in the order of the codes.
            pub const ALL: &'static [(Self, u64)] =
                &[(Self::$first, $first_code), $( (Self::$variant, $code), )*];

            /// The code as it stands in the segment.
            #[must_use]
            pub const fn code(self) -> u64 {
                match self {
                    Self::$first => $first_code,
                    $( Self::$variant => $code, )*
                }
            }

            /// The value of a code.
            #[must_use]
            pub const fn from_code(code: u64) -> Option<Self> {
                match code {
                    $first_code => Some(Self::$first),
                    $( $code => Some(Self::$variant), )*
                    _ => None,
                }
            }

            /// The text of the value, as the views show it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_text,
                    $( Self::$variant => $text, )*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FieldType for $name {
            const WORDS: usize = 1;
            const KIND: &'static str = stringify!($name);

            #[inline]
            fn store(&self, to: &mut [u64]) -> bool {
                to[0] = self.code();
                true
            }

            #[inline]
            fn load(from: &[u64], present: bool) -> Option<Self> {
                if present { Self::from_code(*from.first()?) } else { None }
            }
        }
    };
}

codes! {
    /// What was done: a checkpoint, or a restartpoint on a standby.
    pub enum Kind {
        Checkpoint = 1 "checkpoint",
        Restartpoint = 2 "restartpoint",
    }
}

codes! {
    /// Why a checkpoint was begun.
    pub enum Cause {
        Timed = 1 "timed",
        Wal = 2 "wal",
        Requested = 3 "requested",
        Shutdown = 4 "shutdown",
        EndOfRecovery = 5 "end-of-recovery",
    }
}

codes! {
    /// What a running checkpoint is doing.
    pub enum Phase {
        Preparing = 1 "preparing",
        Writing = 2 "writing buffers",
        Syncing = 3 "syncing files",
        Finishing = 4 "finishing",
    }
}

codes! {
    /// Where the checkpoints are, as far as commands feel it.
    pub enum CheckpointPhase {
        None = 1 "none",
        Writing = 2 "writing",
        Syncing = 3 "syncing",
    }
}

impl CheckpointPhase {
    /// What a command feels of a running checkpoint: preparing is mostly waiting for the write
    /// phase to begin, finishing belongs to the fsyncs before it.
    #[must_use]
    pub const fn of(phase: Phase) -> Self {
        match phase {
            Phase::Preparing | Phase::Writing => Self::Writing,
            Phase::Syncing | Phase::Finishing => Self::Syncing,
        }
    }

    /// This phase, or when it is none the other: what lasted from one to the other met it.
    #[inline]
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::None => other,
            met => met,
        }
    }
}

codes! {
    /// What a backend spends its time with.
    pub enum Command {
        Parse = 1 "parse",
        Plan = 2 "plan",
        Bind = 3 "bind",
        Execute = 4 "execute",
        Utility = 5 "utility",
        Commit = 6 "commit",
        WalFlush = 7 "wal_flush",
        Idle = 8 "idle",
    }
}

codes! {
    /// How a checkpoint ended.
    pub enum Outcome {
        Completed = 1 "completed",
        Failed = 2 "failed",
    }
}

codes! {
    /// What a worker is doing.
    pub enum WorkerState {
        Starting = 1 "starting",
        Running = 2 "running",
        Disabled = 3 "disabled",
        Stopped = 4 "stopped",
        Failed = 5 "failed",
    }
}

codes! {
    /// What the flusher is doing.
    pub enum FlushMode {
        Off = 1 "off",
        Idle = 2 "idle",
        Draining = 3 "draining",
        Following = 4 "following",
    }
}

codes! {
    /// What the checkpointer tells the monitor.
    pub enum EventKind {
        Start = 1 "start",
        Complete = 2 "complete",
        Failed = 3 "failed",
    }
}

codes! {
    /// Whether the server still uses its segment.
    pub enum SegmentState {
        Live = 1 "live",
        Closed = 2 "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! round_trip {
        ($($name:ident),+) => {$(
            for (value, code) in $name::ALL {
                assert_eq!((value.code(), $name::from_code(*code)), (*code, Some(*value)));
                assert_eq!(value.to_string(), value.as_str());
            }
            // Zero is what fresh memory holds: it must never mean anything.
            assert_eq!($name::from_code(0), None);
            assert_eq!($name::from_code(u64::MAX), None);
        )+};
    }

    #[test]
    fn codes_and_values_belong_together() {
        round_trip!(
            Kind,
            Cause,
            Phase,
            Outcome,
            WorkerState,
            EventKind,
            FlushMode,
            SegmentState,
            CheckpointPhase,
            Command
        );
    }
}
