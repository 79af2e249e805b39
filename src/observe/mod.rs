//! What the backends do, as they do it.
//!
//! *Runs in:* every backend, in hooks and callbacks.
//! *Reads and writes:* the backend's own part of the stats segment.
//! *Never:* takes a lock, allocates, or raises: it is in everybody's way.
//!
//! | file | what it does |
//! |---|---|
//! | [`commits`] | how long commits take |

pub(crate) mod commits;
