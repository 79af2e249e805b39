/*
 * compat.h - every difference between PostgreSQL majors that the shim meets.
 *
 * The newest name is the norm; older majors get it by macro. No other file in pgshim/
 * looks at PG_VERSION_NUM.
 */
#ifndef CKPTFLUSH_COMPAT_H
#define CKPTFLUSH_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "ckptflush needs PostgreSQL 15 or later"
#endif

/* 16 gave the assign hooks of settings a header of their own. */
#if PG_VERSION_NUM >= 160000
#include "utils/guc_hooks.h"
#endif

/* 16 renamed relfilenode to relNumber and flattened BufferTag. */
#if PG_VERSION_NUM >= 160000
#define TAG_TABLESPACE(tag) ((tag).spcOid)
#define TAG_DATABASE(tag) ((tag).dbOid)
#define TAG_RELATION(tag) ((tag).relNumber)
#define ITEM_RELATION(item) ((item)->relNumber)
#else
#define TAG_TABLESPACE(tag) ((tag).rnode.spcNode)
#define TAG_DATABASE(tag) ((tag).rnode.dbNode)
#define TAG_RELATION(tag) ((tag).rnode.relNode)
#define ITEM_RELATION(item) ((item)->relNode)
#endif

/* 17 merged backend ids into proc numbers. */
#if PG_VERSION_NUM < 170000
#define GetNumberFromPGProc(proc) ((proc) - ProcGlobal->allProcs)
#define INVALID_PROC_NUMBER InvalidBackendId
#define GetTempNamespaceProcNumber GetTempNamespaceBackendId
#define ProcNumberGetProc BackendIdGetProc
#endif

/* 18 returns the path by value; before, it is palloc'd. */
#if PG_VERSION_NUM >= 180000
#define COPY_RELATION_PATH(target, size, db, spc, rel, fork) \
	strlcpy((target), GetRelationPath((db), (spc), (rel), INVALID_PROC_NUMBER, (fork)).str, (size))
#else
#define COPY_RELATION_PATH(target, size, db, spc, rel, fork) \
	do { \
		char	   *path_ = GetRelationPath((db), (spc), (rel), INVALID_PROC_NUMBER, (fork)); \
		strlcpy((target), path_, (size)); \
		pfree(path_); \
	} while (0)
#endif

/* 18 publishes the checkpointer's proc number; before, the address of its latch. */
#if PG_VERSION_NUM >= 180000
#define CHECKPOINTER_PROC() \
	(ProcGlobal->checkpointerProc == INVALID_PROC_NUMBER ? NULL : \
	 GetPGProcByNumber(ProcGlobal->checkpointerProc))
#else
#define CHECKPOINTER_PROC() \
	(ProcGlobal->checkpointerLatch == NULL ? NULL : \
	 (PGPROC *) ((char *) ProcGlobal->checkpointerLatch - offsetof(PGPROC, procLatch)))
#endif

/* 18 counts SLRU pages apart; before, they are part of ckpt_bufs_written. */
#if PG_VERSION_NUM >= 180000
#define CHECKPOINT_SLRU_WRITTEN(stats) ((int64) (stats).ckpt_slru_written)
#define CORE_SLRU_WRITTEN(stats) ((int64) (stats)->slru_written)
#else
#define CHECKPOINT_SLRU_WRITTEN(stats) ((int64) -1)
#define CORE_SLRU_WRITTEN(stats) ((int64) -1)
#endif

/* 16 renamed the function that tells a backend by its place among them. */
#if PG_VERSION_NUM < 160000
#define pgstat_get_local_beentry_by_index(index) pgstat_fetch_stat_local_beentry(index)
#endif

/* 18 took a parameter of ExecutorRun away. */
#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS query, direction, count
#else
#define EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count, bool once
#define EXECUTOR_RUN_ARGUMENTS query, direction, count, once
#endif

/* 17 renamed the checkpointer's cumulative statistics and counts restartpoints apart. */
#if PG_VERSION_NUM >= 170000
#define CORE_TIMED(stats) ((stats)->num_timed + (stats)->restartpoints_timed)
#define CORE_REQUESTED(stats) ((stats)->num_requested + (stats)->restartpoints_requested)
#define CORE_WRITE_TIME(stats) ((stats)->write_time)
#define CORE_SYNC_TIME(stats) ((stats)->sync_time)
#define CORE_BUFFERS_WRITTEN(stats) ((stats)->buffers_written)
#else
#define CORE_TIMED(stats) ((stats)->timed_checkpoints)
#define CORE_REQUESTED(stats) ((stats)->requested_checkpoints)
#define CORE_WRITE_TIME(stats) ((stats)->checkpoint_write_time)
#define CORE_SYNC_TIME(stats) ((stats)->checkpoint_sync_time)
#define CORE_BUFFERS_WRITTEN(stats) ((stats)->buf_written_checkpoints)
#endif

/* 18 gave kinds of statistics numbers of their own, some to extensions, and keeps one off disk. */
#if PG_VERSION_NUM >= 180000
#define STATS_KIND_COUNT (PGSTAT_KIND_MAX + 1)
#define STATS_KIND_EXISTS(kind) (pgstat_is_kind_builtin(kind) || pgstat_is_kind_custom(kind))
#define STATS_KIND_IS_OWN(kind) pgstat_is_kind_builtin(kind)
#define STATS_KIND_IS_WRITTEN(info) ((info)->write_to_file)
#define STATS_OBJECT(key) ((key).objid)
#else
#define STATS_KIND_COUNT PGSTAT_NUM_KINDS
#define STATS_KIND_EXISTS(kind) \
	((kind) >= PGSTAT_KIND_FIRST_VALID && (kind) <= PGSTAT_KIND_LAST)
#define STATS_KIND_IS_OWN(kind) STATS_KIND_EXISTS(kind)
#define STATS_KIND_IS_WRITTEN(info) true
#define STATS_OBJECT(key) ((key).objoid)
#endif

/* 16 counts I/O by kind of backend. */
#if PG_VERSION_NUM >= 160000
#define STATS_HAVE_IO 1
#endif

/* 18 keeps the counters of WAL in a struct of their own. */
#if PG_VERSION_NUM >= 180000
#define WAL_FIELD(name) wal_counters.name
#else
#define WAL_FIELD(name) name
#endif

/* Fields of the statistics that came with a major: in the lists of collector_kinds.c. */
#if PG_VERSION_NUM >= 160000
#define SINCE_16(...) __VA_ARGS__
#else
#define SINCE_16(...)
#endif
#if PG_VERSION_NUM >= 170000
#define SINCE_17(...) __VA_ARGS__
#else
#define SINCE_17(...)
#endif
#if PG_VERSION_NUM >= 180000
#define SINCE_18(...) __VA_ARGS__
#define UNTIL_17(...)
#else
#define SINCE_18(...)
#define UNTIL_17(...) __VA_ARGS__
#endif

/* 16 renamed most fields of the statistics of databases, relations and functions. */
#if PG_VERSION_NUM >= 160000
#define DB_COUNT(name) name
#define DB_BLK_READ_TIME blk_read_time
#define DB_BLK_WRITE_TIME blk_write_time
#define DB_SESSION_TIME session_time
#define DB_ACTIVE_TIME active_time
#define DB_IDLE_IN_TRANSACTION_TIME idle_in_transaction_time
#define TAB_LIVE_TUPLES live_tuples
#define TAB_DEAD_TUPLES dead_tuples
#define TAB_MOD_SINCE_ANALYZE mod_since_analyze
#define TAB_INS_SINCE_VACUUM ins_since_vacuum
#define TAB_LAST_VACUUM_TIME last_vacuum_time
#define TAB_LAST_AUTOVACUUM_TIME last_autovacuum_time
#define TAB_LAST_ANALYZE_TIME last_analyze_time
#define TAB_LAST_AUTOANALYZE_TIME last_autoanalyze_time
#define TAB_AUTOVACUUM_COUNT autovacuum_count
#define TAB_AUTOANALYZE_COUNT autoanalyze_count
#define FUNCTION_COUNT(name) name
#else
#define DB_COUNT(name) n_##name
#define DB_BLK_READ_TIME n_block_read_time
#define DB_BLK_WRITE_TIME n_block_write_time
#define DB_SESSION_TIME total_session_time
#define DB_ACTIVE_TIME total_active_time
#define DB_IDLE_IN_TRANSACTION_TIME total_idle_in_xact_time
#define TAB_LIVE_TUPLES n_live_tuples
#define TAB_DEAD_TUPLES n_dead_tuples
#define TAB_MOD_SINCE_ANALYZE changes_since_analyze
#define TAB_INS_SINCE_VACUUM inserts_since_vacuum
#define TAB_LAST_VACUUM_TIME vacuum_timestamp
#define TAB_LAST_AUTOVACUUM_TIME autovac_vacuum_timestamp
#define TAB_LAST_ANALYZE_TIME analyze_timestamp
#define TAB_LAST_AUTOANALYZE_TIME autovac_analyze_timestamp
#define TAB_AUTOVACUUM_COUNT autovac_vacuum_count
#define TAB_AUTOANALYZE_COUNT autovac_analyze_count
#define FUNCTION_COUNT(name) f_##name
#endif

/* 17 renamed the fields of the checkpointer's, and moved what backends wrote to those of I/O. */
#if PG_VERSION_NUM >= 170000
#define CHECKPOINTER_FIELDS(ADD, LATER) \
	ADD(num_timed), ADD(num_requested), SINCE_18(ADD(num_performed),) \
	ADD(restartpoints_timed), ADD(restartpoints_requested), ADD(restartpoints_performed), \
	ADD(write_time), ADD(sync_time), ADD(buffers_written), SINCE_18(ADD(slru_written),) \
	LATER(stat_reset_timestamp)
#else
#define CHECKPOINTER_FIELDS(ADD, LATER) \
	ADD(timed_checkpoints), ADD(requested_checkpoints), ADD(checkpoint_write_time), \
	ADD(checkpoint_sync_time), ADD(buf_written_checkpoints), ADD(buf_written_backend), \
	ADD(buf_fsync_backend)
#endif

/* 17 can take a lock on a shared object without waiting; before, by the lock's own tag. */
#if PG_VERSION_NUM >= 170000
#define TRY_DATABASE_LOCK(oid) \
	ConditionalLockSharedObject(DatabaseRelationId, (oid), 0, RowExclusiveLock)
#else
#define TRY_DATABASE_LOCK(oid) try_database_lock(oid)
#define TRY_DATABASE_LOCK_IS_OURS 1
#endif

#endif							/* CKPTFLUSH_COMPAT_H */
