//! The flusher's algorithms on a simulated disk: what they promise to checkpoints and to commits.
//!
//! | file | what it is |
//! |---|---|
//! | `world` | the events, and the flusher's round around the real [`pacing::lane::Lane`] |
//! | `disk`, `commits`, `checkpoint` | what takes part |
//! | `cases` | disks and loads to choose from |
//! | `deadlines`, `waits`, `steadiness`, `against_core`, `learning` | a property each, with a control that it can fail |

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation
)]

mod against_core;
mod cases;
mod checkpoint;
mod commits;
mod deadlines;
mod disk;
mod learning;
mod steadiness;
mod waits;
mod world;
