//! Whose statistics a file holds, and the file's name.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing but its arguments.
//! *Never:* takes a name for a stats file that is not exactly one: `5.cks.bad` was refused once,
//! and `05.cks` is another file than `5.cks`.

use crate::format::{SUBJECT_COMMON, SUBJECT_DATABASE};
use std::fmt;

const COMMON: &str = "common";
const SUFFIX: &str = ".cks";

/// Whose statistics a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Those of the objects of one database, by its OID; those of shared relations are of
    /// database 0.
    Database(u32),
    /// Those of the cluster: fixed-numbered kinds, replication slots, subscriptions, and the table
    /// of databases.
    Common,
}

impl Subject {
    /// The two words of the header.
    pub(crate) fn to_codes(self) -> (u32, u32) {
        match self {
            Self::Database(oid) => (SUBJECT_DATABASE, oid),
            Self::Common => (SUBJECT_COMMON, 0),
        }
    }

    pub(crate) fn from_codes(subject: u32, database: u32) -> Option<Self> {
        match (subject, database) {
            (SUBJECT_DATABASE, oid) => Some(Self::Database(oid)),
            (SUBJECT_COMMON, 0) => Some(Self::Common),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(0) => f.write_str("shared relations"),
            Self::Database(oid) => write!(f, "database {oid}"),
            Self::Common => f.write_str("the cluster"),
        }
    }
}

/// The name of the file with the statistics of `subject`.
#[must_use]
pub fn file_name(subject: Subject) -> String {
    match subject {
        Subject::Database(oid) => format!("{oid}{SUFFIX}"),
        Subject::Common => format!("{COMMON}{SUFFIX}"),
    }
}

/// Whose statistics the file of that name holds; `None` unless [`file_name`] gives that very name.
#[must_use]
pub fn parse_file_name(name: &str) -> Option<Subject> {
    let stem = name.strip_suffix(SUFFIX)?;
    if stem == COMMON {
        return Some(Subject::Common);
    }
    // parse() bears a sign and leading zeros.
    let oid: u32 = stem.parse().ok()?;
    let subject = Subject::Database(oid);
    (file_name(subject) == name).then_some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        for subject in [
            Subject::Database(0),
            Subject::Database(5),
            Subject::Database(u32::MAX),
            Subject::Common,
        ] {
            assert_eq!(parse_file_name(&file_name(subject)), Some(subject));
        }
        assert_eq!(file_name(Subject::Database(16384)), "16384.cks");
        assert_eq!(file_name(Subject::Common), "common.cks");
        for other in [
            "",
            ".cks",
            "5",
            "5.cks.bad",
            "5.cks.tmp",
            "05.cks",
            "+5.cks",
            "-5.cks",
            " 5.cks",
            "5.CKS",
            "5 .cks",
            "4294967296.cks",
            "Common.cks",
            "common.cks.bad",
            "db_5.cks",
            "5.cks/",
            "../5.cks",
        ] {
            assert_eq!(parse_file_name(other), None, "{other}");
        }
    }
}
