//! `ckpt_stats_advice`: what the measurements say to change.
//!
//! *Runs in:* the backend that queries. *Reads and writes:* what [`super::measured`] reads.
//! *Never:* changes a setting; names a relation of another database.

use statseg::Segment;

use super::measured;
use super::rows::{Field, Rows};
use crate::advice::advice;

pub(super) fn rows(segment: &'static Segment, rows: &mut Rows) {
    for row in advice(&measured::gather(segment)) {
        let suggestion = row.suggestion();
        rows.push([
            Field::text(row.topic),
            Field::text(row.severity.as_str()),
            Field::text(&row.finding),
            Field::text(&row.evidence),
            suggestion.map_or(Field::NULL, Field::text),
            Field::text(&row.expected_effect),
            Field::text(row.docs()),
        ]);
    }
}
