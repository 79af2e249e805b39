/*
 * pgshim.c - reads what only C can read: buffer headers, the checkpointer's work list, its
 * PGPROC, CheckpointStats.
 *
 * Runs in: the checkpointer (ckf_checkpoint_stats, the log level, the alarm, ckf_wake,
 * ckf_checkpoint_awaited), any backend (ckf_my_proc_number), the postmaster (ckf_process_count), the
 * workers (all others).
 * Everything but PostgreSQL's own statistics is read without a lock, and nothing in shared memory
 * is written but a latch; the reader of each value knows that it may be a moment old.
 */
#include "pgshim.h"

#include <sys/time.h>

#include "access/xlog.h"
#include "catalog/pg_authid_d.h"
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/buf_internals.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"

/* Number of entries of both the buffer pool and the work list. */
int32
ckf_pool_size(void)
{
	return CkptBufferIds == NULL ? 0 : NBuffers;
}

/*
 * How many buffers carry BM_CHECKPOINT_NEEDED: one pass over the descriptors, no lock. While
 * BufferSync marks them the number still grows. Without unlogged only permanent ones count, as
 * in a checkpoint that leaves the others alone.
 */
uint64
ckf_pool_count_needed(int32 unlogged)
{
	uint64		needed = 0;
	uint32		mask = BM_CHECKPOINT_NEEDED | (unlogged ? 0 : BM_PERMANENT);

	for (int i = 0; i < NBuffers; i++)
	{
		uint32		state = pg_atomic_read_u32(&GetBufferDescriptor(i)->state);

		if ((state & mask) == mask)
			needed++;
	}
	return needed;
}

/* Entry index of CkptBufferIds; the checkpointer may be filling or sorting it. */
void
ckf_pool_item(int32 index, ckf_item *item)
{
	const CkptSortItem *entry = &CkptBufferIds[index];

	item->tablespace = entry->tsId;
	item->relation = ITEM_RELATION(entry);
	item->fork = entry->forkNum;
	item->block = entry->blockNum;
	item->buffer = entry->buf_id;
}

static bool
tag_is(const BufferTag *tag, const ckf_item *item)
{
	return TAG_TABLESPACE(*tag) == item->tablespace && TAG_RELATION(*tag) == item->relation &&
		tag->forkNum == item->fork && tag->blockNum == item->block;
}

/*
 * Does the item's buffer still wait for this checkpoint's write?
 *
 * The tag of a buffer changes only while its header is locked and BM_CHECKPOINT_NEEDED is
 * clear (bufmgr.c:BufferAlloc, InvalidateBuffer). So when the flag is set and the header
 * unlocked before and after the tag was read, the tag belongs to that flag.
 */
int32
ckf_pool_flag(const ckf_item *item, uint32 *database, int32 *permanent)
{
	BufferDesc *desc;
	BufferTag	tag;
	uint32		before,
				after;

	if (item->buffer < 0 || item->buffer >= NBuffers)
		return CKF_CLEAR;		/* an entry that is being written just now */
	desc = GetBufferDescriptor(item->buffer);
	before = pg_atomic_read_u32(&desc->state);
	if ((before & BM_CHECKPOINT_NEEDED) == 0)
		return CKF_CLEAR;
	pg_read_barrier();
	tag = desc->tag;
	pg_read_barrier();
	after = pg_atomic_read_u32(&desc->state);
	if ((after & BM_CHECKPOINT_NEEDED) == 0)
		return CKF_CLEAR;
	if (((before | after) & BM_LOCKED) != 0 || (before & after & BM_TAG_VALID) == 0)
		return CKF_UNKNOWN;
	if (!tag_is(&tag, item))
		return CKF_CLEAR;
	*database = TAG_DATABASE(tag);
	*permanent = (before & BM_PERMANENT) != 0;
	return CKF_NEEDED;
}

/*
 * The database of the item's page, from its buffer: written or not, as long as the buffer still
 * holds that page. The list itself has no database.
 */
int32
ckf_pool_database(const ckf_item *item, uint32 *database)
{
	BufferDesc *desc;
	BufferTag	tag;
	uint32		before,
				after;

	if (item->buffer < 0 || item->buffer >= NBuffers)
		return false;
	desc = GetBufferDescriptor(item->buffer);
	before = pg_atomic_read_u32(&desc->state);
	pg_read_barrier();
	tag = desc->tag;
	pg_read_barrier();
	after = pg_atomic_read_u32(&desc->state);
	*database = TAG_DATABASE(tag);
	return ((before | after) & BM_LOCKED) == 0 && (before & after & BM_TAG_VALID) != 0 &&
		tag_is(&tag, item);
}

/* The phase that the checkpointer's wait event tells of. */
int32
ckf_checkpointer_wait(void)
{
	const PGPROC *proc = CHECKPOINTER_PROC();

	if (proc == NULL)
		return CKF_WAIT_ABSENT;
	switch (*(const volatile uint32 *) &proc->wait_event_info)
	{
		case WAIT_EVENT_CHECKPOINTER_MAIN:
			return CKF_WAIT_IDLE;
		case WAIT_EVENT_CHECKPOINT_WRITE_DELAY:
		case WAIT_EVENT_DATA_FILE_WRITE:
		case WAIT_EVENT_DATA_FILE_FLUSH:
			return CKF_WAIT_WRITING;
		case WAIT_EVENT_DATA_FILE_SYNC:
		case WAIT_EVENT_SLRU_FLUSH_SYNC:
			return CKF_WAIT_SYNCING;
		case WAIT_EVENT_CONTROL_FILE_SYNC_UPDATE:
		case WAIT_EVENT_CONTROL_FILE_WRITE_UPDATE:
		case WAIT_EVENT_WAL_INIT_SYNC:
		case WAIT_EVENT_WAL_INIT_WRITE:
			return CKF_WAIT_FINISHING;
		default:
			return CKF_WAIT_OTHER;
	}
}

/* The checkpointer's pid, 0 when there is none. */
int32
ckf_checkpointer_pid(void)
{
	const PGPROC *proc = CHECKPOINTER_PROC();

	return proc == NULL ? 0 : proc->pid;
}

/* This process's index in ProcGlobal->allProcs, for ckf_wake. */
int32
ckf_my_proc_number(void)
{
	return (int32) GetNumberFromPGProc(MyProc);
}

/* Upper bound of these indexes (proc.c:InitProcGlobal); prepared transactions have no process. */
int32
ckf_process_count(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS;
}

/*
 * Set the latch of a worker. A proc that has gone to another process meanwhile is woken for
 * nothing at worst, which every user of a latch must bear (latch.h).
 */
void
ckf_wake(int32 proc_number, int32 pid)
{
	PGPROC	   *proc;

	if (proc_number < 0 || (uint32) proc_number >= ProcGlobal->allProcCount)
		return;
	proc = GetPGProcByNumber(proc_number);
	if (proc->pid == pid)
		SetLatch(&proc->procLatch);
}

/* The figures that the "checkpoint complete" message is made from; checkpointer only. */
void
ckf_checkpoint_stats(ckf_checkpoint *stats)
{
	stats->start_at = CheckpointStats.ckpt_start_t;
	stats->write_at = CheckpointStats.ckpt_write_t;
	stats->sync_at = CheckpointStats.ckpt_sync_t;
	stats->sync_end_at = CheckpointStats.ckpt_sync_end_t;
	stats->end_at = CheckpointStats.ckpt_end_t;
	stats->buffers_written = CheckpointStats.ckpt_bufs_written;
	stats->slru_written = CHECKPOINT_SLRU_WRITTEN(CheckpointStats);
	stats->segments_added = CheckpointStats.ckpt_segs_added;
	stats->segments_removed = CheckpointStats.ckpt_segs_removed;
	stats->segments_recycled = CheckpointStats.ckpt_segs_recycled;
	stats->files_synced = CheckpointStats.ckpt_sync_rels;
	stats->longest_sync_us = CheckpointStats.ckpt_longest_sync;
	stats->total_sync_us = CheckpointStats.ckpt_agg_sync_time;
}

/*
 * Takes the statistics' own LWLock in shared mode: for the worker, never for a backend.
 *
 * With stats_fetch_consistency = snapshot the first look would copy the statistics of every object
 * of the server (pgstat.c:pgstat_build_snapshot); we want one of them. An error leaves ours in this
 * process, which looks at no other ones.
 */
void
ckf_core_counters_now(ckf_core_counters *counters)
{
	const PgStat_CheckpointerStats *stats;
	int			users = pgstat_fetch_consistency;

	pgstat_clear_snapshot();
	pgstat_fetch_consistency = PGSTAT_FETCH_CONSISTENCY_NONE;
	stats = pgstat_fetch_stat_checkpointer();
	pgstat_fetch_consistency = users;
	counters->timed = CORE_TIMED(stats);
	counters->requested = CORE_REQUESTED(stats);
	counters->write_time_ms = CORE_WRITE_TIME(stats);
	counters->sync_time_ms = CORE_SYNC_TIME(stats);
	counters->buffers_written = CORE_BUFFERS_WRITTEN(stats);
	counters->slru_written = CORE_SLRU_WRITTEN(stats);
}

/*
 * Redo pointer of the last checkpoint or restartpoint that completed. False when the checksum
 * does not fit: the file was being written, or (PostgreSQL reports that) is corrupt.
 */
int32
ckf_control_file_redo(uint64 *redo)
{
	bool		crc_ok;
	ControlFileData *control = get_controlfile(DataDir, &crc_ok);

	*redo = control->checkPointCopy.redo;
	pfree(control);
	return crc_ok;
}

/*
 * Let the checkpointer speak at this level, whatever the user has set; NULL goes back to that, as
 * a RESET in a session does.
 *
 * PGC_S_SESSION ranks above the configuration file and, being above PGC_S_OVERRIDE, leaves the
 * reset value alone (guc.c:set_config_option). So a reload in the middle of a checkpoint
 * changes the reset value, which is the user's level, and neither ends our level nor is lost
 * by it. An assignment to the variable would not outlive such a reload. Runs in a critical
 * section: with elevel LOG nothing here raises, and an enum is set without allocation.
 */
void
ckf_set_log_level(const char *level)
{
	(void) set_config_option_ext("log_min_messages", level, PGC_SUSET, PGC_S_SESSION,
								 BOOTSTRAP_SUPERUSERID, GUC_ACTION_SET, true, LOG, false);
}

/* An alarm for a process that has none, as the checkpointer; its number. Allocates nothing. */
int32
ckf_alarm_prepare(void (*handler) (void))
{
	InitializeTimeouts();
	return (int32) RegisterTimeout(USER_TIMEOUT, handler);
}

/* From now on, every so many milliseconds. */
void
ckf_alarm_start(int32 alarm, int32 interval_ms)
{
	enable_timeout_every((TimeoutId) alarm,
						 TimestampTzPlusMilliseconds(GetCurrentTimestamp(), interval_ms),
						 interval_ms);
}

void
ckf_alarm_stop(int32 alarm)
{
	disable_timeout((TimeoutId) alarm, false);
}

/*
 * Will an alarm that was stopped still ring? timeout.c forgets it and leaves the timer of the system
 * running: its signal calls no handler, and sets the latch (timeout.c:handle_sig_alarm).
 */
int32
ckf_alarm_is_left(void)
{
	struct itimerval left;

	return getitimer(ITIMER_REAL, &left) == 0 && timerisset(&left.it_value);
}

/*
 * Does somebody wait for a checkpoint to begin? Then it was asked for while another one runs
 * (checkpointer.c:RequestCheckpoint). Who waits for the running one waits for its end.
 */
int32
ckf_checkpoint_awaited(void)
{
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		const PGPROC *proc = GetPGProcByNumber(i);

		if (*(const volatile uint32 *) &proc->wait_event_info == WAIT_EVENT_CHECKPOINT_START)
			return true;
	}
	return false;
}

/*
 * Compute CheckPointSegments anew: a reload may have done so with a completion target of ours
 * (xlog.c:CalculateCheckpointSegments).
 */
void
ckf_recount_segments(void)
{
	assign_max_wal_size(max_wal_size_mb, NULL);
}

/* Path below the data directory of one segment file of a relation. May palloc. */
void
ckf_relation_path(uint32 database, uint32 tablespace, uint32 relation, int32 fork,
				  uint32 segment, char *target, uint64 size)
{
	COPY_RELATION_PATH(target, size, database, tablespace, relation, fork);
	if (segment > 0)
	{
		size_t		used = strlen(target);

		if (used < size)
			snprintf(target + used, size - used, ".%u", segment);
	}
}
