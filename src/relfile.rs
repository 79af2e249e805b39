//! Which file a path of the data directory names, without PostgreSQL: text in, key out.
//!
//! *Runs in:* the checkpointer, from the log hook. *Reads and writes:* its arguments only.
//! *Never:* allocates or panics.

use statseg::FileKey;

/// pg_tablespace.dat: the two tablespaces that every cluster has.
const DEFAULT_TABLESPACE: u32 = 1663;
const GLOBAL_TABLESPACE: u32 = 1664;

/// The key of a file as sync.c names it: `base/DB/REL[_FORK][.SEGMENT]`, `global/REL…`,
/// `pg_tblspc/SPC/VERSION/DB/REL…` (relpath.c:GetRelationPath); anything else, as
/// `pg_xact/0000`, is known by its path alone.
pub(crate) fn key(path: &str) -> FileKey {
    relation(path).unwrap_or(FileKey::Path)
}

fn relation(path: &str) -> Option<FileKey> {
    let (directory, rest) = path.split_once('/')?;
    let (tablespace, database, file) = match directory {
        "global" => (GLOBAL_TABLESPACE, 0, rest),
        "base" => {
            let (database, file) = rest.split_once('/')?;
            (DEFAULT_TABLESPACE, number(database)?, file)
        }
        "pg_tblspc" => {
            let (tablespace, rest) = rest.split_once('/')?;
            let (_version, rest) = rest.split_once('/')?;
            let (database, file) = rest.split_once('/')?;
            (number(tablespace)?, number(database)?, file)
        }
        _ => return None,
    };
    let (file, segment) = match file.split_once('.') {
        Some((file, segment)) => (file, number(segment)?),
        None => (file, 0),
    };
    let (relation, fork) = match file.split_once('_') {
        Some((relation, fork)) => (relation, fork_number(fork)?),
        None => (file, 0),
    };
    Some(FileKey::Relation {
        tablespace,
        database,
        relfilenode: number(relation)?,
        fork,
        segment,
    })
}

/// relpath.c:forkNames.
fn fork_number(name: &str) -> Option<u32> {
    match name {
        "fsm" => Some(1),
        "vm" => Some(2),
        "init" => Some(3),
        _ => None,
    }
}

/// Digits only: `parse` alone would accept a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tablespace: u32, database: u32, relfilenode: u32, fork: u32, segment: u32) -> FileKey {
        FileKey::Relation {
            tablespace,
            database,
            relfilenode,
            fork,
            segment,
        }
    }

    #[test]
    fn knows_relation_files() {
        assert_eq!(key("base/5/16384"), file(1663, 5, 16384, 0, 0));
        assert_eq!(key("base/5/16384_fsm"), file(1663, 5, 16384, 1, 0));
        assert_eq!(key("base/5/16384_vm.2"), file(1663, 5, 16384, 2, 2));
        assert_eq!(key("global/1262"), file(1664, 0, 1262, 0, 0));
        assert_eq!(
            key("pg_tblspc/16400/PG_15_202209061/5/16401.13"),
            file(16400, 5, 16401, 0, 13)
        );
    }

    #[test]
    fn knows_the_others_by_path() {
        for path in [
            "pg_xact/0000",
            "pg_multixact/offsets/0000",
            "base/5/pg_filenode.map",
            "base/5/16384_xyz",
            "base/5/+16384",
            "base/5/t3_16384",
            "base//16384x",
            "",
        ] {
            assert_eq!(key(path), FileKey::Path, "{path}");
        }
    }
}
