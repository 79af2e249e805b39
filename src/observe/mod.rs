//! What the backends do: each tells of itself as it does it, the monitor looks at all of them.
//!
//! *Runs in:* every backend, in hooks and callbacks; the monitor where it says so.
//! *Reads and writes:* a backend its own part of the stats segment, the monitor the rest.
//! *Never:* takes a lock, allocates, or raises in a backend: it is in everybody's way.
//!
//! | file | runs in | what it does |
//! |---|---|---|
//! | [`commits`] | backends | how long commits and transactions take |
//! | [`commands`] | backends | what commands take: parse, plan, execute, and so on |
//! | [`sampler`] | monitor | looks at all processes, and tells the next three |
//! | [`waits`] | monitor | what they wait for |
//! | [`stalls`] | monitor | when active backends commit nothing |
//! | [`timeline`] | monitor | one row per second |
//! | [`victims`] | monitor | what a checkpoint did to the transactions |

pub(crate) mod commands;
pub(crate) mod commits;
pub(crate) mod sampler;
mod stalls;
mod timeline;
pub(crate) mod victims;
mod waits;

use crate::pgshim;
use crate::process::ProcessCell;

/// This process's number among the server's processes, asked for once.
static SLOT: ProcessCell<Option<usize>> = ProcessCell::new(None);

/// Which of the parts and slots for backends are this process's.
fn slot() -> usize {
    SLOT.get().unwrap_or_else(|| {
        let slot = pgshim::my_proc_number() as usize;
        SLOT.set(Some(slot));
        slot
    })
}
