//! `ckpt_stats_databases`: the databases whose statistics are kept in files.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* reads the collector's `databases`, and
//! what was asked of it in `database_requests`.
//! *Never:* opens a file.

use statseg::Segment;
use statsfile::{Subject, file_name};

use super::rows::{Field, Rows};

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    let view = segment.view();
    for index in 0..view.database_count() {
        let Ok(row) = view.database(index).read() else {
            continue;
        };
        if row.name.is_empty() {
            continue;
        }
        let requests = view.database_requests(index);
        let is_shared = row.database == 0;
        let written = row.size_bytes.is_some();
        rows.push([
            // Not NULL for the shared relations: so it joins pg_stat_database.
            Field::any_oid(row.database),
            if is_shared {
                Field::NULL
            } else {
                Field::text(row.name.as_str())
            },
            if written {
                Field::text(file_name(Subject::Database(row.database)))
            } else {
                Field::NULL
            },
            Field::count(row.size_bytes),
            Field::count(row.entries),
            Field::at(row.last_write_at),
            Field::at(requests.last_at()),
            Field::count(requests.count()),
            Field::count(row.writes),
            Field::count(row.written_bytes),
            Field::from(row.pending),
            Field::at(row.restored_at),
            Field::count(row.restored_entries),
            Field::count(row.dropped_entries),
            Field::time(row.restored_age_ns),
            Field::file(row.refused_reason),
        ]);
    }
}
