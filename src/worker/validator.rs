//! The short workers `ckptflush validator`: [`crate::collector::validate`], each in one database.
//!
//! *Runs in:* those workers; the collector starts them. *Reads and writes:* nothing itself.
//! *Never:* holds logic. Has no row of `ckpt_stats_workers`: it is gone before anybody looks.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::collector::validate;
use crate::pgshim::stats::catalog;

/// Entry point, named where it is started. The argument is the task.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_validator_main(argument: pg_sys::Datum) {
    let task = argument.value() as u64;
    catalog::connect(validate::database_of(task));
    validate::run(task);
}
