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

#endif							/* CKPTFLUSH_COMPAT_H */
