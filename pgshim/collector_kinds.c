/*
 * collector_kinds.c - the kinds of statistics, and the fields of their structs by name.
 *
 * Runs in: any process that has the statistics attached. Reads constants only.
 *
 * The names are those of the very header the server was built with, the offsets are the
 * compiler's. So a file that carries them can be read by another major.
 */
#include "collector.h"

#include "pgstat.h"
#include "utils/pgstat_internal.h"

#include "compat.h"

/* The name is what stands in the struct, after compat.h: hence the second level. */
#define FIELD(type, member, rule, material) FIELD_(type, member, rule, material)
#define FIELD_(type, member, rule, material) \
	{ #member, offsetof(type, member), sizeof(((type *) NULL)->member), rule, material }

/* Databases. Material: what tells that rows of a table have changed, or were reset. */
#define DB(member) FIELD(PgStat_StatDBEntry, member, CKF_RULE_ADD, false)
#define DB_ROWS(member) FIELD(PgStat_StatDBEntry, member, CKF_RULE_ADD, true)
#define DB_AT(member, material) FIELD(PgStat_StatDBEntry, member, CKF_RULE_LATER, material)
static const ckf_field database_fields[] = {
	DB(DB_COUNT(xact_commit)), DB(DB_COUNT(xact_rollback)),
	DB(DB_COUNT(blocks_fetched)), DB(DB_COUNT(blocks_hit)),
	DB(DB_COUNT(tuples_returned)), DB(DB_COUNT(tuples_fetched)),
	DB_ROWS(DB_COUNT(tuples_inserted)), DB_ROWS(DB_COUNT(tuples_updated)),
	DB_ROWS(DB_COUNT(tuples_deleted)),
	DB_AT(last_autovac_time, false),
	DB(DB_COUNT(conflict_tablespace)), DB(DB_COUNT(conflict_lock)),
	DB(DB_COUNT(conflict_snapshot)), SINCE_16(DB(conflict_logicalslot),)
	DB(DB_COUNT(conflict_bufferpin)), DB(DB_COUNT(conflict_startup_deadlock)),
	DB(DB_COUNT(temp_files)), DB(DB_COUNT(temp_bytes)), DB(DB_COUNT(deadlocks)),
	DB(DB_COUNT(checksum_failures)), DB_AT(last_checksum_failure, true),
	DB(DB_BLK_READ_TIME), DB(DB_BLK_WRITE_TIME),
	DB(DB_COUNT(sessions)), DB(DB_SESSION_TIME), DB(DB_ACTIVE_TIME),
	DB(DB_IDLE_IN_TRANSACTION_TIME),
	DB(DB_COUNT(sessions_abandoned)), DB(DB_COUNT(sessions_fatal)), DB(DB_COUNT(sessions_killed)),
	SINCE_18(DB(parallel_workers_to_launch), DB(parallel_workers_launched),)
	DB_AT(stat_reset_timestamp, true)
};

/* Relations. Material: what autovacuum decides by, and what a DBA reads beside it. */
#define TAB(member) FIELD(PgStat_StatTabEntry, member, CKF_RULE_ADD, false)
#define TAB_ROWS(member) FIELD(PgStat_StatTabEntry, member, CKF_RULE_ADD, true)
#define TAB_AS(member, rule) FIELD(PgStat_StatTabEntry, member, CKF_RULE_##rule, true)
static const ckf_field relation_fields[] = {
	TAB(numscans), SINCE_16(FIELD(PgStat_StatTabEntry, lastscan, CKF_RULE_LATER, false),)
	TAB(tuples_returned), TAB(tuples_fetched),
	TAB_ROWS(tuples_inserted), TAB_ROWS(tuples_updated), TAB_ROWS(tuples_deleted),
	TAB_ROWS(tuples_hot_updated), SINCE_16(TAB_ROWS(tuples_newpage_updated),)
	TAB_AS(TAB_LIVE_TUPLES, TUPLES), TAB_AS(TAB_DEAD_TUPLES, TUPLES),
	TAB_AS(TAB_MOD_SINCE_ANALYZE, SINCE_ANALYZE), TAB_AS(TAB_INS_SINCE_VACUUM, SINCE_VACUUM),
	TAB(blocks_fetched), TAB(blocks_hit),
	TAB_AS(TAB_LAST_VACUUM_TIME, VACUUMED), TAB_ROWS(vacuum_count),
	TAB_AS(TAB_LAST_AUTOVACUUM_TIME, VACUUMED), TAB_ROWS(TAB_AUTOVACUUM_COUNT),
	TAB_AS(TAB_LAST_ANALYZE_TIME, ANALYZED), TAB_ROWS(analyze_count),
	TAB_AS(TAB_LAST_AUTOANALYZE_TIME, ANALYZED), TAB_ROWS(TAB_AUTOANALYZE_COUNT),
	SINCE_18(TAB_ROWS(total_vacuum_time), TAB_ROWS(total_autovacuum_time),
			 TAB_ROWS(total_analyze_time), TAB_ROWS(total_autoanalyze_time),)
};

/* Functions are counted only if somebody wants to know (track_functions). */
#define FN(member) FIELD(PgStat_StatFuncEntry, member, CKF_RULE_ADD, true)
static const ckf_field function_fields[] = {
	FN(FUNCTION_COUNT(numcalls)), FN(FUNCTION_COUNT(total_time)), FN(FUNCTION_COUNT(self_time))
};

#define SUB(member) FIELD(PgStat_StatSubEntry, member, CKF_RULE_ADD, false)
static const ckf_field subscription_fields[] = {
	SUB(apply_error_count), SUB(sync_error_count), SINCE_18(SUB(conflict_count),)
	FIELD(PgStat_StatSubEntry, stat_reset_timestamp, CKF_RULE_LATER, false)
};

#define SLOT(member) FIELD(PgStat_StatReplSlotEntry, member, CKF_RULE_ADD, false)
static const ckf_field slot_fields[] = {
	SLOT(spill_txns), SLOT(spill_count), SLOT(spill_bytes), SLOT(stream_txns),
	SLOT(stream_count), SLOT(stream_bytes), SLOT(total_txns), SLOT(total_bytes),
	FIELD(PgStat_StatReplSlotEntry, stat_reset_timestamp, CKF_RULE_LATER, false)
};

/* Kinds with one entry. The counters of I/O and of SLRUs are arrays, which have no names. */
#define ARCH(member, rule) FIELD(PgStat_ArchiverStats, member, CKF_RULE_##rule, false)
static const ckf_field archiver_fields[] = {
	ARCH(archived_count, ADD), ARCH(last_archived_wal, TEXT), ARCH(last_archived_timestamp, OPAQUE),
	ARCH(failed_count, ADD), ARCH(last_failed_wal, TEXT), ARCH(last_failed_timestamp, OPAQUE),
	ARCH(stat_reset_timestamp, LATER)
};

#define BGW(member, rule) FIELD(PgStat_BgWriterStats, member, CKF_RULE_##rule, false)
static const ckf_field bgwriter_fields[] = {
	BGW(buf_written_clean, ADD), BGW(maxwritten_clean, ADD), BGW(buf_alloc, ADD),
	BGW(stat_reset_timestamp, LATER)
};

#define CKPT_ADD(member) FIELD(PgStat_CheckpointerStats, member, CKF_RULE_ADD, false)
#define CKPT_LATER(member) FIELD(PgStat_CheckpointerStats, member, CKF_RULE_LATER, false)
static const ckf_field checkpointer_fields[] = {
	CHECKPOINTER_FIELDS(CKPT_ADD, CKPT_LATER)
};

#define WAL(member, rule) FIELD(PgStat_WalStats, member, CKF_RULE_##rule, false)
static const ckf_field wal_fields[] = {
	WAL(WAL_FIELD(wal_records), ADD), WAL(WAL_FIELD(wal_fpi), ADD), WAL(WAL_FIELD(wal_bytes), ADD),
	WAL(WAL_FIELD(wal_buffers_full), ADD),
	UNTIL_17(WAL(wal_write, ADD), WAL(wal_sync, ADD), WAL(wal_write_time, ADD),
			 WAL(wal_sync_time, ADD),)
	WAL(stat_reset_timestamp, LATER)
};

/*
 * What is known here of each kind. The length is given for those with one entry, of which core did
 * not say it before 18 (pgstat.c:pgstat_kind_infos).
 */
#define LIST(kind, name) [kind] = {name, lengthof(name), 0}
#define SNAPSHOT_BYTES(member) sizeof(((PgStat_Snapshot *) NULL)->member)
#define FIXED(kind, name, member) [kind] = {name, lengthof(name), SNAPSHOT_BYTES(member)}
static const struct
{
	const ckf_field *fields;
	uint32		count;
	uint32		bytes;
}			lists[STATS_KIND_COUNT] = {
	LIST(PGSTAT_KIND_DATABASE, database_fields),
	LIST(PGSTAT_KIND_RELATION, relation_fields),
	LIST(PGSTAT_KIND_FUNCTION, function_fields),
	LIST(PGSTAT_KIND_REPLSLOT, slot_fields),
	LIST(PGSTAT_KIND_SUBSCRIPTION, subscription_fields),
	FIXED(PGSTAT_KIND_ARCHIVER, archiver_fields, archiver),
	FIXED(PGSTAT_KIND_BGWRITER, bgwriter_fields, bgwriter),
	FIXED(PGSTAT_KIND_CHECKPOINTER, checkpointer_fields, checkpointer),
	FIXED(PGSTAT_KIND_WAL, wal_fields, wal),
	[PGSTAT_KIND_SLRU] = {NULL, 0, SNAPSHOT_BYTES(slru)},
#ifdef STATS_HAVE_IO
	[PGSTAT_KIND_IO] = {NULL, 0, SNAPSHOT_BYTES(io)},
#endif
};

/* Numbers of kinds are below. */
uint32
ckf_kind_count(void)
{
	return STATS_KIND_COUNT;
}

/* The kind of databases, whose entries tell what has changed below them. */
uint32
ckf_kind_database(void)
{
	return PGSTAT_KIND_DATABASE;
}

/*
 * Describe a kind; false if there is none of this number, core keeps it off disk, or it is one
 * entry of an extension's own, for which only that extension knows the locks.
 */
int32
ckf_kind_of(uint32 kind, ckf_kind *target)
{
	const PgStat_KindInfo *info;

	if (kind >= STATS_KIND_COUNT || !STATS_KIND_EXISTS(kind))
		return false;
	info = pgstat_get_kind_info(kind);
	if (info == NULL || !STATS_KIND_IS_WRITTEN(info))
		return false;
	if (info->fixed_amount && !STATS_KIND_IS_OWN(kind))
		return false;
	target->name = info->name;
	target->fields = lists[kind].fields;
	target->field_count = lists[kind].count;
	target->bytes = info->fixed_amount ? lists[kind].bytes : info->shared_data_len;
	target->fixed = info->fixed_amount;
	target->by_slot = kind == PGSTAT_KIND_REPLSLOT;
	return true;
}
