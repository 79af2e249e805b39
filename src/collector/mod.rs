//! The collector: the cumulative statistics in files, one for each database, so that a crash does
//! not lose them.
//!
//! *Runs in:* the worker `ckptflush collector` and the short workers it starts; a backend that
//! restores a file by SQL. *Reads and writes:* entries of the statistics; the files below
//! `pg_stat_tmp/ckptflush`; the segment's `collector_state`, `databases`, `database_requests`.
//! *Never:* stands in the way of a backend: what it cannot do it leaves, and tries again.
//!
//! PostgreSQL keeps the statistics in shared memory, writes them at a clean stop and discards them
//! in crash recovery. Then autovacuum is blind until every table has been counted anew.
//!
//! | file | what it does |
//! |---|---|
//! | [`round`] | the worker's round; keeps up with pg_database |
//! | [`cycle`] | decides about each database, writes what is to be written |
//! | `known` | what is known of a database, and what that says is to be done |
//! | `keys` | which entries there are |
//! | `kinds` | the kinds of statistics, and signatures |
//! | `capture` | entries to a signature, or to a file |
//! | `store`, `files` | files on disk; trouble with the disk |
//! | `identity` | this server, this directory, this place in the WAL |
//! | `load`, `restoring` | after a crash |
//! | `import` | another server's files: at promotion, or by SQL |
//! | [`validate`] | objects that are gone |
//! | `rows`, [`request`] | what is shown, what is asked for |

mod capture;
mod cycle;
mod files;
mod identity;
mod import;
mod keys;
mod kinds;
mod known;
mod load;
pub(crate) mod request;
mod restoring;
mod round;
mod rows;
mod store;
pub(crate) mod validate;

pub(crate) use import::restore_database;
pub(crate) use round::Collector;
