//! Entries of one major version as another one has them: field by field, by name.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its arguments.
//! *Never:* guesses: a field that the other major does not have, or has in another type or size, is
//! zero, as it is in an entry that was never counted in.

use crate::kind::Field;

/// What majors before 16 or 17 called a field, and what it is called since. A rename is all there
/// is to these: type, unit and meaning are the same.
const RENAMED: &[(&str, &str)] = &[
    // PgStat_StatTabEntry
    ("n_live_tuples", "live_tuples"),
    ("n_dead_tuples", "dead_tuples"),
    ("changes_since_analyze", "mod_since_analyze"),
    ("inserts_since_vacuum", "ins_since_vacuum"),
    ("vacuum_timestamp", "last_vacuum_time"),
    ("autovac_vacuum_timestamp", "last_autovacuum_time"),
    ("autovac_vacuum_count", "autovacuum_count"),
    ("analyze_timestamp", "last_analyze_time"),
    ("autovac_analyze_timestamp", "last_autoanalyze_time"),
    ("autovac_analyze_count", "autoanalyze_count"),
    // PgStat_StatDBEntry
    ("n_xact_commit", "xact_commit"),
    ("n_xact_rollback", "xact_rollback"),
    ("n_blocks_fetched", "blocks_fetched"),
    ("n_blocks_hit", "blocks_hit"),
    ("n_tuples_returned", "tuples_returned"),
    ("n_tuples_fetched", "tuples_fetched"),
    ("n_tuples_inserted", "tuples_inserted"),
    ("n_tuples_updated", "tuples_updated"),
    ("n_tuples_deleted", "tuples_deleted"),
    ("n_conflict_tablespace", "conflict_tablespace"),
    ("n_conflict_lock", "conflict_lock"),
    ("n_conflict_snapshot", "conflict_snapshot"),
    ("n_conflict_bufferpin", "conflict_bufferpin"),
    ("n_conflict_startup_deadlock", "conflict_startup_deadlock"),
    ("n_temp_files", "temp_files"),
    ("n_temp_bytes", "temp_bytes"),
    ("n_deadlocks", "deadlocks"),
    ("n_checksum_failures", "checksum_failures"),
    ("n_block_read_time", "blk_read_time"),
    ("n_block_write_time", "blk_write_time"),
    ("n_sessions", "sessions"),
    ("total_session_time", "session_time"),
    ("total_active_time", "active_time"),
    ("total_idle_in_xact_time", "idle_in_transaction_time"),
    ("n_sessions_abandoned", "sessions_abandoned"),
    ("n_sessions_fatal", "sessions_fatal"),
    ("n_sessions_killed", "sessions_killed"),
    // PgStat_StatFuncEntry
    ("f_numcalls", "numcalls"),
    ("f_total_time", "total_time"),
    ("f_self_time", "self_time"),
    // PgStat_CheckpointerStats
    ("timed_checkpoints", "num_timed"),
    ("requested_checkpoints", "num_requested"),
    ("checkpoint_write_time", "write_time"),
    ("checkpoint_sync_time", "sync_time"),
    ("buf_written_checkpoints", "buffers_written"),
];

/// The newest name of a field.
fn newest(name: &str) -> &str {
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    renamed.map_or(name, |(_, new)| new)
}

/// Bytes to copy from one struct to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copy {
    from: usize,
    to: usize,
    bytes: usize,
}

/// How to turn the structs of one kind into those of another major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    copies: Vec<Copy>,
    fields: usize,
}

impl Translation {
    /// From structs with the fields `from` to structs with the fields `to`. Fields are the same
    /// when they have one name, one type and one size, or are known under two names.
    #[must_use]
    pub fn between<'f>(from: impl Iterator<Item = Field<'f>> + Clone, to: &[Field<'_>]) -> Self {
        let mut copies: Vec<Copy> = Vec::with_capacity(to.len());
        let mut fields = 0;
        for field in to {
            let same = from.clone().find(|other| {
                newest(other.name) == newest(field.name)
                    && other.ty == field.ty
                    && other.bytes == field.bytes
            });
            let Some(copy) = same.and_then(|other| copy(&other, field)) else {
                continue;
            };
            fields += 1;
            match copies.last_mut() {
                Some(last)
                    if last.from + last.bytes == copy.from && last.to + last.bytes == copy.to =>
                {
                    last.bytes += copy.bytes;
                }
                _ => copies.push(copy),
            }
        }
        Self { copies, fields }
    }

    /// Number of fields that are carried over.
    #[must_use]
    pub fn fields(&self) -> usize {
        self.fields
    }

    /// Fills `to` from `from`; what is not carried over is zero.
    pub fn apply(&self, from: &[u8], to: &mut [u8]) {
        to.fill(0);
        for copy in &self.copies {
            let source = from.get(copy.from..copy.from + copy.bytes);
            let target = to.get_mut(copy.to..copy.to + copy.bytes);
            if let (Some(source), Some(target)) = (source, target) {
                target.copy_from_slice(source);
            }
        }
    }
}

fn copy(from: &Field<'_>, to: &Field<'_>) -> Option<Copy> {
    Some(Copy {
        from: usize::try_from(from.offset).ok()?,
        to: usize::try_from(to.offset).ok()?,
        bytes: usize::try_from(to.bytes).ok()?,
    })
}
