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
//! | [`place`] | backends | where a backend's own numbers are |
//! | [`sampler`] | monitor | looks at all processes, and tells the next four |
//! | [`waits`] | monitor | what they wait for |
//! | [`flush_locks`] | monitor | how long they wait for a row because of a flush |
//! | [`stalls`] | monitor | when active backends commit nothing |
//! | [`timeline`] | monitor | one row per second |
//! | [`victims`] | monitor | what a checkpoint did to the transactions |

pub(crate) mod commands;
pub(crate) mod commits;
mod flush_locks;
mod place;
pub(crate) mod sampler;
mod stalls;
mod timeline;
pub(crate) mod victims;
mod waits;

use crate::shmem::slot;
