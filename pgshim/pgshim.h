/*
 * pgshim.h - what the Rust side needs of PostgreSQL and cannot bind by itself: static inline
 * functions, macros, and headers that are private to the server (buf_internals.h).
 *
 * Every struct here is mirrored in src/pgshim.rs; change both. Nothing here keeps
 * state.
 */
#ifndef CKPTFLUSH_PGSHIM_H
#define CKPTFLUSH_PGSHIM_H

#include "postgres.h"

/* One entry of the checkpointer's sorted work list (buf_internals.h:CkptSortItem). */
typedef struct ckf_item
{
	uint32		tablespace;
	uint32		relation;
	int32		fork;
	uint32		block;
	int32		buffer;
} ckf_item;

/* What the buffer that an item names holds now. */
typedef enum ckf_flag
{
	CKF_CLEAR = 0,				/* written, or another page by now */
	CKF_NEEDED = 1,				/* still to be written by this checkpoint */
	CKF_UNKNOWN = 2				/* header locked or changing: look again later */
} ckf_flag;

/* What the checkpointer is waiting for, as far as the phases need it. */
typedef enum ckf_wait
{
	CKF_WAIT_OTHER = 0,			/* working, or a wait that says nothing of the phase */
	CKF_WAIT_IDLE = 1,			/* its main loop: no checkpoint is running */
	CKF_WAIT_WRITING = 2,		/* pausing or writing in the write phase */
	CKF_WAIT_SYNCING = 3,		/* fsync of a data or SLRU file */
	CKF_WAIT_FINISHING = 4,		/* control file, WAL */
	CKF_WAIT_ABSENT = 5			/* there is no checkpointer */
} ckf_wait;

/* CheckpointStats of the checkpointer, typed and for every major; moments in TimestampTz. */
typedef struct ckf_checkpoint
{
	int64		start_at;
	int64		write_at;
	int64		sync_at;
	int64		sync_end_at;
	int64		end_at;
	int64		buffers_written;
	int64		slru_written;	/* -1 where it is part of buffers_written */
	int64		segments_added;
	int64		segments_removed;
	int64		segments_recycled;
	int64		files_synced;
	uint64		longest_sync_us;
	uint64		total_sync_us;
} ckf_checkpoint;

/* PostgreSQL's own cumulative counters of the checkpointer, for checkpoints that do not log. */
typedef struct ckf_core_counters
{
	int64		timed;
	int64		requested;
	int64		write_time_ms;
	int64		sync_time_ms;
	int64		buffers_written;
	int64		slru_written;	/* -1 where core does not count them apart */
} ckf_core_counters;

extern int32 ckf_pool_size(void);
extern uint64 ckf_pool_count_needed(int32 unlogged);
extern void ckf_pool_item(int32 index, ckf_item *item);
extern int32 ckf_pool_flag(const ckf_item *item, uint32 *database, int32 *permanent);
extern int32 ckf_pool_database(const ckf_item *item, uint32 *database);
extern int32 ckf_checkpointer_wait(void);
extern int32 ckf_checkpointer_pid(void);
extern int32 ckf_my_proc_number(void);
extern int32 ckf_process_count(void);
extern void ckf_wake(int32 proc_number, int32 pid);
extern void ckf_checkpoint_stats(ckf_checkpoint *stats);
extern void ckf_core_counters_now(ckf_core_counters *counters);
extern int32 ckf_control_file_redo(uint64 *redo);
extern void ckf_set_log_level(const char *level);
extern int32 ckf_alarm_prepare(void (*handler) (void));
extern void ckf_alarm_start(int32 alarm, int32 interval_ms);
extern void ckf_alarm_stop(int32 alarm);
extern int32 ckf_alarm_is_left(void);
extern int32 ckf_checkpoint_awaited(void);
extern void ckf_recount_segments(void);
extern void ckf_relation_path(uint32 database, uint32 tablespace, uint32 relation, int32 fork,
							  uint32 segment, char *target, uint64 size);

#endif							/* CKPTFLUSH_PGSHIM_H */
