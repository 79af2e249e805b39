//! The SQL surface: one file per view, each from a snapshot of the segment to rows.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the stats segment, without a
//! lock; [`reset`] writes its baseline, [`statistics`] asks the collector.
//! *Never:* looks at the server itself: what a view shows, a hook or a worker has put into the
//! segment. Only advice and forecast read the server's settings besides ([`measured`]).
//!
//! Each view `ckpt_stats_x` stands over a function of its name, which this file exports; the
//! install script names the symbols. Without preload every one of them answers 55000.

mod advice;
mod commands;
mod counters;
mod databases;
mod files;
mod flush;
mod forecast;
mod group_commit;
mod histogram;
mod history;
mod info;
mod measured;
mod progress;
mod reset;
mod rows;
mod segment_path;
mod stalls;
mod statistics;
mod timeline;
mod totals;
mod waits;
mod workers;

use pgrx::pg_sys;
use pgrx::prelude::*;

use self::rows::Rows;
use crate::shmem;

/// Export a version-1 function under its SQL name.
macro_rules! exported {
    ($name:ident, $info:ident, $body:expr) => {
        /// Calling convention of the function of the same name (fmgr.h:PG_FUNCTION_INFO_V1).
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $info() -> &'static pg_sys::Pg_finfo_record {
            const INFO: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
            &INFO
        }

        /// SQL function of this name.
        #[pg_guard]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(
            call: pg_sys::FunctionCallInfo,
        ) -> pg_sys::Datum {
            let body: fn(&'static statseg::Segment, pg_sys::FunctionCallInfo) -> pg_sys::Datum =
                $body;
            body(shmem::require(), call)
        }
    };
}

/// Export a set-returning function whose rows `$rows` fills in.
macro_rules! view {
    ($name:ident, $info:ident, $rows:path) => {
        exported!($name, $info, |segment, call| {
            // SAFETY: the install script declares every view's function RETURNS SETOF record.
            let mut rows = unsafe { Rows::begin(call) };
            $rows(segment, &mut rows);
            pg_sys::Datum::from(0)
        });
    };
}

view!(ckpt_stats, pg_finfo_ckpt_stats, totals::rows);
view!(
    ckpt_stats_progress,
    pg_finfo_ckpt_stats_progress,
    progress::rows
);
view!(
    ckpt_stats_history,
    pg_finfo_ckpt_stats_history,
    history::rows
);
view!(ckpt_stats_flush, pg_finfo_ckpt_stats_flush, flush::rows);
view!(
    ckpt_stats_group_commit,
    pg_finfo_ckpt_stats_group_commit,
    group_commit::rows
);
view!(ckpt_stats_files, pg_finfo_ckpt_stats_files, files::rows);
view!(
    ckpt_stats_counters,
    pg_finfo_ckpt_stats_counters,
    counters::rows
);
view!(
    ckpt_stats_histogram,
    pg_finfo_ckpt_stats_histogram,
    histogram::rows
);
view!(
    ckpt_stats_commands,
    pg_finfo_ckpt_stats_commands,
    commands::rows
);
view!(ckpt_stats_waits, pg_finfo_ckpt_stats_waits, waits::rows);
view!(
    ckpt_stats_timeline,
    pg_finfo_ckpt_stats_timeline,
    timeline::rows
);
view!(ckpt_stats_stalls, pg_finfo_ckpt_stats_stalls, stalls::rows);
view!(
    ckpt_stats_databases,
    pg_finfo_ckpt_stats_databases,
    databases::rows
);
view!(
    ckpt_stats_workers,
    pg_finfo_ckpt_stats_workers,
    workers::rows
);
view!(ckpt_stats_info, pg_finfo_ckpt_stats_info, info::rows);
view!(ckpt_stats_advice, pg_finfo_ckpt_stats_advice, advice::rows);
exported!(
    ckpt_stats_forecast,
    pg_finfo_ckpt_stats_forecast,
    forecast::call
);
exported!(ckpt_stats_reset, pg_finfo_ckpt_stats_reset, reset::call);
exported!(
    ckpt_stats_write_database,
    pg_finfo_ckpt_stats_write_database,
    statistics::write
);
exported!(
    ckpt_stats_restore_database,
    pg_finfo_ckpt_stats_restore_database,
    statistics::restore
);
exported!(
    ckpt_stats_segment_path,
    pg_finfo_ckpt_stats_segment_path,
    segment_path::call
);
