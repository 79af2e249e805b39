//! The short workers `ckptflush validator`: [`crate::collector::validate`], each in one database.
//!
//! *Runs in:* those workers; the collector starts them. *Reads and writes:* nothing itself.
//! *Never:* holds logic. Has no row of `ckpt_stats_workers`: it is gone before anybody looks.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::collector::validate;
use crate::pgshim::stats::catalog;

/// Entry point, named where it is started. The argument is the database.
#[pg_guard]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ckptflush_validator_main(argument: pg_sys::Datum) {
    let Ok(database) = u32::try_from(argument.value()) else {
        return;
    };
    catalog::connect(database);
    validate::run(database);
}
