/*
 * backends.c - hooks around the commands of backends, and what all processes wait for.
 *
 * Runs in: every backend (the hooks), the monitor (all others). An error that leaves a hook by its
 * jump passes C only: the Rust side is called before and after the step, never around it.
 */
#include "backends.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "tcop/utility.h"
#include "utils/backend_status.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "hot.h"

CKF_HOT_DATA ckf_server ckf_core = {
	GetCurrentStatementStartTimestamp, GetCurrentTransactionStartTimestamp, GetTopTransactionIdIfAny,
	&XactLastRecEnd
};
CKF_HOT_DATA ckf_watch ckf_watching = CKF_UNWATCHED;

static CKF_HOT_DATA ckf_watcher watcher;
/* Which of the hooks are ours now. */
static ckf_taken analyze_taken, planner_taken, start_taken, run_taken, finish_taken, end_taken,
			utility_taken;

static post_parse_analyze_hook_type previous_analyze;
static planner_hook_type previous_planner;
static CKF_HOT_DATA ExecutorStart_hook_type previous_start;
static CKF_HOT_DATA ExecutorRun_hook_type previous_run;
static CKF_HOT_DATA ExecutorFinish_hook_type previous_finish;
static CKF_HOT_DATA ExecutorEnd_hook_type previous_end;
static ProcessUtility_hook_type previous_utility;

/*
 * What kind of process it is does not change after its first step. What it does before it serves its
 * client is not watched.
 */
static pg_noinline bool
asks(void)
{
	if (ckf_watching == CKF_ASK && IsNormalProcessingMode())
		ckf_watching = MyBackendType == B_BACKEND ? CKF_WATCHED : CKF_UNWATCHED;
	return ckf_watching == CKF_WATCHED;
}

/* Is it watched? Each step of each command asks: where it is, one word, and no call. */
static inline bool
watches(void)
{
	return likely(ckf_watching == CKF_WATCHED) || asks();
}

/*
 * A query that changes nothing is started when its portal is bound and run when it is executed;
 * all others are started, run and ended in one go (pquery.c:PortalStart, PortalRunMulti).
 */
static bool
changes(const QueryDesc *query)
{
	return query->operation != CMD_SELECT || query->plannedstmt->hasModifyingCTE;
}

static inline int32
enter_step(int32 step)
{
	return watches() ? watcher.enter(step, ckf_core.statement_start(), ckf_core.transaction_start()) : 0;
}

/* The same for a step of a query, with the number that it has if the query changes something. */
static inline int32
enter_query(const QueryDesc *query, int32 step, int32 step_of_change)
{
	return watches() ? enter_step(changes(query) ? step_of_change : step) : 0;
}

static inline void
leave_query(const QueryDesc *query, int32 step, int32 step_of_change, int32 outer)
{
	if (watches())
		watcher.leave(changes(query) ? step_of_change : step, outer);
}

static inline void
leave_step(int32 step, int32 outer)
{
	if (watches())
		watcher.leave(step, outer);
}

static void
analyzed(ParseState *pstate, Query *query, JumbleState *jstate)
{
	int32		outer = enter_step(CKF_STEP_PARSE);

	if (previous_analyze)
		previous_analyze(pstate, query, jstate);
	leave_step(CKF_STEP_PARSE, outer);
}

static PlannedStmt *
plan(Query *parse, const char *query_string, int cursor_options, ParamListInfo params)
{
	int32		outer = enter_step(CKF_STEP_PLAN);
	PlannedStmt *planned = previous_planner(parse, query_string, cursor_options, params);

	leave_step(CKF_STEP_PLAN, outer);
	return planned;
}

static CKF_HOT void
start(QueryDesc *query, int eflags)
{
	int32		outer = enter_query(query, CKF_STEP_START, CKF_STEP_START_CHANGE);

	previous_start(query, eflags);
	leave_query(query, CKF_STEP_START, CKF_STEP_START_CHANGE, outer);
}

static CKF_HOT void
run(EXECUTOR_RUN_PARAMETERS)
{
	int32		outer = enter_query(query, CKF_STEP_RUN, CKF_STEP_RUN_CHANGE);

	previous_run(EXECUTOR_RUN_ARGUMENTS);
	leave_query(query, CKF_STEP_RUN, CKF_STEP_RUN_CHANGE, outer);
}

static CKF_HOT void
finish(QueryDesc *query)
{
	bool		counts = watches() && changes(query);
	int32		outer = counts ? enter_step(CKF_STEP_FINISH_CHANGE) : 0;

	previous_finish(query);
	if (counts)
		leave_step(CKF_STEP_FINISH_CHANGE, outer);
}

static CKF_HOT void
end(QueryDesc *query)
{
	bool		counts = watches() && changes(query);
	int32		outer = counts ? enter_step(CKF_STEP_END_CHANGE) : 0;

	previous_end(query);
	if (counts)
		leave_step(CKF_STEP_END_CHANGE, outer);
}

static void
utility(PlannedStmt *statement, const char *query_string, bool read_only_tree,
		ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
		DestReceiver *dest, QueryCompletion *completion)
{
	int32		outer = enter_step(CKF_STEP_UTILITY);

	previous_utility(statement, query_string, read_only_tree, context, params, environment, dest,
					 completion);
	leave_step(CKF_STEP_UTILITY, outer);
}

/*
 * Take the hooks, or give them back, as the settings are from now on: called by their assign hooks,
 * at the begin of a process only by inheritance. A statement of a process that is not watched then
 * passes none of our code.
 */
void
ckf_link_commands(int32 watch)
{
	if (watcher.enter == NULL)
		return;					/* not preloaded, or not yet */
	/* It may be told the same again, as by a reload that changes something else. */
	if (!watch && ckf_watching != CKF_UNWATCHED)
		watcher.forget();
	if (!watch || ckf_watching == CKF_UNWATCHED)
		ckf_watching = watch ? CKF_ASK : CKF_UNWATCHED;
	CKF_LINK(watch, post_parse_analyze_hook, analyzed, previous_analyze, NULL, analyze_taken);
	CKF_LINK(watch, planner_hook, plan, previous_planner, standard_planner, planner_taken);
	CKF_LINK(watch, ExecutorStart_hook, start, previous_start, standard_ExecutorStart, start_taken);
	CKF_LINK(watch, ExecutorRun_hook, run, previous_run, standard_ExecutorRun, run_taken);
	CKF_LINK(watch, ExecutorFinish_hook, finish, previous_finish, standard_ExecutorFinish,
			 finish_taken);
	CKF_LINK(watch, ExecutorEnd_hook, end, previous_end, standard_ExecutorEnd, end_taken);
	CKF_LINK(watch, ProcessUtility_hook, utility, previous_utility, standard_ProcessUtility,
			 utility_taken);
}

/* Once, in the postmaster while it loads libraries: the hooks before ours are called by ours. */
void
ckf_watch_commands(const ckf_watcher *callbacks)
{
	watcher = *callbacks;
	ckf_link_commands(watcher.wanted);
}

/* When the client's last message was taken up, as a TimestampTz. */
int64
ckf_statement_start(void)
{
	return GetCurrentStatementStartTimestamp();
}

/* Has the running transaction written, so that its commit has a record? */
int32
ckf_has_xid(void)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* When the running or last transaction began, as a TimestampTz. */
int64
ckf_transaction_start(void)
{
	return GetCurrentTransactionStartTimestamp();
}

/*
 * The process that a PGPROC belongs to now, 0: none. Not PGPROC.pid: before 17 that of a process
 * that has ended stays, and whoever believes it sees a backend at work for ever. A latch has its
 * owner from proc.c:InitProcess to proc.c:ProcKill.
 */
static int
owner(const PGPROC *proc)
{
	return *(const volatile int *) &proc->procLatch.owner_pid;
}

/* All processes that have a PGPROC, without a lock: each is two plain words. */
int32
ckf_processes(ckf_process *target, int32 room)
{
	int32		count = 0;
	int			all = MaxBackends + NUM_AUXILIARY_PROCS;

	for (int i = 0; i < all && count < room; i++)
	{
		const PGPROC *proc = GetPGProcByNumber(i);
		int			pid = owner(proc);

		if (pid == 0 || pid == MyProcPid)
			continue;
		target[count].number = i;
		target[count].pid = pid;
		target[count].wait = *(const volatile uint32 *) &proc->wait_event_info;
		count++;
	}
	return count;
}

/* The same for those that were found before: their numbers stay, pid is 0 for one that is gone. */
void
ckf_processes_again(ckf_process *known, int32 count)
{
	for (int32 i = 0; i < count; i++)
	{
		const PGPROC *proc = GetPGProcByNumber(known[i].number);

		known[i].pid = owner(proc);
		known[i].wait = *(const volatile uint32 *) &proc->wait_event_info;
	}
}

/* Does it wait for its client's next command? */
int32
ckf_wait_is_client(uint32 wait)
{
	return wait == WAIT_EVENT_CLIENT_READ;
}

/* Is it the wait for a row that another transaction has changed (heapam.c:heap_acquire_tuplock)? */
int32
ckf_row_wait(uint32 wait)
{
	if (wait == (PG_WAIT_LOCK | LOCKTAG_TRANSACTION))
		return CKF_ROW_OWNER;
	return wait == (PG_WAIT_LOCK | LOCKTAG_TUPLE) ? CKF_ROW_TURN : CKF_ROW_NONE;
}

/* Has a process that is to commit only its flush, or its standby, to wait for? */
static bool
only_flushes(uint32 wait)
{
	return wait == WAIT_EVENT_WAL_SYNC || wait == WAIT_EVENT_WAL_WRITE ||
		wait == WAIT_EVENT_SYNC_REP || wait == (PG_WAIT_LWLOCK | WALWriteLock->tranche);
}

/*
 * Does a process wait for the end of a transaction that has only its flush to wait for? Read
 * without a lock. The LOCK may have been given to another object meanwhile, but stays in shared
 * memory: the answer may be wrong once in a while, and it is a sample.
 */
int32
ckf_waits_for_flush(int32 number)
{
	const LOCK *lock = *(LOCK *const volatile *) &GetPGProcByNumber(number)->waitLock;
	LOCKTAG		tag;
	int			all = MaxBackends;

	if (lock == NULL)
		return false;
	tag = lock->tag;
	if (tag.locktag_type != LOCKTAG_TRANSACTION || tag.locktag_field1 == 0)
		return false;
	for (int i = 0; i < all; i++)
	{
		const PGPROC *proc = GetPGProcByNumber(i);

		if (*(const volatile TransactionId *) &proc->xid == tag.locktag_field1)
			return only_flushes(*(const volatile uint32 *) &proc->wait_event_info);
	}
	return false;
}

/* NULL when there is no wait. */
const char *
ckf_wait_type(uint32 wait)
{
	return pgstat_get_wait_event_type(wait);
}

/* NULL when there is no wait. */
const char *
ckf_wait_event(uint32 wait)
{
	return pgstat_get_wait_event(wait);
}

/*
 * Copy the status of all backends, as pg_stat_activity does, and say how many there are. It takes
 * locks in shared mode, for a moment each: for the monitor, and not at every look.
 */
int32
ckf_backends_read(void)
{
	ckf_backends_forget();
	return pgstat_fetch_stat_numbackends();
}

/* One of them, from 1 on; false if it is gone. */
int32
ckf_backend(int32 index, int32 *pid, int32 *client, char *type, uint64 size)
{
	const LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(index);
	const PgBackendStatus *status;
	const char *name = NULL;

	if (local == NULL)
		return false;
	status = &local->backendStatus;
	if (status->st_procpid == 0)
		return false;
	if (status->st_backendType == B_BG_WORKER)
		name = GetBackgroundWorkerTypeByPid(status->st_procpid);
	if (name == NULL)
		name = GetBackendTypeDesc(status->st_backendType);
	*pid = status->st_procpid;
	*client = status->st_backendType == B_BACKEND;
	strlcpy(type, name, size);
	return true;
}

/* Give back the memory of that copy. */
void
ckf_backends_forget(void)
{
	pgstat_clear_backend_activity_snapshot();
}
