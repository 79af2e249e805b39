//! Settings that say which hooks of the server a process needs: who is told when they change.
//!
//! *Runs in:* every process, in the assign hooks of these settings.
//! *Reads and writes:* this process's memory.
//! *Never:* raises, or knows what the hooks are for.

use std::ffi::c_void;

use super::{enabled, track_commands};
use crate::process::ProcessCell;

/// Called with what is to hold from now on. None of them may raise.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    /// Are commands watched?
    pub(crate) commands: fn(bool),
    /// `ckptflush.group_commit_readers`, by its number.
    pub(crate) readers: fn(i32),
}

static TOLD: ProcessCell<Option<Told>> = ProcessCell::new(None);

/// From now on, in this process and its children.
pub(crate) fn tell(told: Told) {
    TOLD.set(Some(told));
}

// The variables still have the former values in an assign hook. A rollback of several settings
// calls the hook of each, the last one with the final values of the others.

pub(super) unsafe extern "C-unwind" fn enabled_assigned(new: bool, _extra: *mut c_void) {
    tell_commands(new && track_commands());
}

pub(super) unsafe extern "C-unwind" fn track_commands_assigned(new: bool, _extra: *mut c_void) {
    tell_commands(new && enabled());
}

pub(super) unsafe extern "C-unwind" fn readers_assigned(new: i32, _extra: *mut c_void) {
    if let Some(told) = TOLD.get() {
        (told.readers)(new);
    }
}

fn tell_commands(watched: bool) {
    if let Some(told) = TOLD.get() {
        (told.commands)(watched);
    }
}
