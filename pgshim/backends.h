/*
 * backends.h - what the Rust side needs to see what the backends do: hooks around their commands,
 * and what each of them waits for.
 *
 * Every struct and number here is mirrored in src/pgshim/backends.rs; change both.
 */
#ifndef CKPTFLUSH_BACKENDS_H
#define CKPTFLUSH_BACKENDS_H

#include "postgres.h"

/* The steps of a command that the server has hooks for. */
typedef enum ckf_step
{
	CKF_STEP_PARSE = 0,			/* parsed and analyzed; there is no hook before it */
	CKF_STEP_PLAN = 1,
	CKF_STEP_START = 2,			/* ExecutorStart of a query that changes nothing */
	CKF_STEP_START_CHANGE = 3,	/* ExecutorStart of another one */
	CKF_STEP_RUN = 4,			/* ExecutorRun of a query that changes nothing */
	CKF_STEP_RUN_CHANGE = 5,
	CKF_STEP_FINISH_CHANGE = 6, /* nothing is left to do for one that changes nothing */
	CKF_STEP_END_CHANGE = 7,
	CKF_STEP_UTILITY = 8
} ckf_step;

/*
 * The Rust side of the hooks. "enter" is called before a step; what it returns is given to "leave"
 * after it, if the step comes back. "forget" is called once when it is not to be watched any more.
 */
typedef struct ckf_watcher
{
	int32		wanted;			/* the settings say to watch, for now: ckf_link_commands */
	/* when its message was taken up, and its transaction began */
	int32		(*enter) (int32 step, int64 message, int64 began);
	void		(*leave) (int32 step, int32 outer);
	void		(*forget) (void);
} ckf_watcher;

/* What of a row a process waits for. */
typedef enum ckf_row
{
	CKF_ROW_NONE = 0,
	CKF_ROW_TURN = 1,			/* its turn: another one waits for the row already */
	CKF_ROW_OWNER = 2			/* the end of the transaction that has changed it */
} ckf_row;

/* A process of the server and what it waits for: wait_event_info, 0 if for nothing. */
typedef struct ckf_process
{
	int32		number;			/* among the server's processes */
	int32		pid;
	uint32		wait;
} ckf_process;

extern void ckf_watch_commands(const ckf_watcher *callbacks);
extern void ckf_link_commands(int32 watch);
extern int32 ckf_processes(ckf_process *target, int32 room);
extern void ckf_processes_again(ckf_process *known, int32 count);
extern int32 ckf_wait_is_client(uint32 wait);
extern int32 ckf_row_wait(uint32 wait);
extern int32 ckf_waits_for_flush(int32 number);
extern const char *ckf_wait_type(uint32 wait);
extern const char *ckf_wait_event(uint32 wait);
extern int32 ckf_backends_read(void);
extern int32 ckf_backend(int32 index, int32 *pid, int32 *client, char *type, uint64 size);
extern void ckf_backends_forget(void);
extern int64 ckf_statement_start(void);
extern int32 ckf_has_xid(void);
extern int64 ckf_transaction_start(void);

#endif							/* CKPTFLUSH_BACKENDS_H */
