/*
 * commit.c - group commit: the state of a commit, the wait for its durability, and the hooks where
 * a reader tells what it has seen.
 *
 * Runs in: every backend. An error that leaves a hook by its jump passes C only: the Rust side is
 * called before and after a wait or a step, never around it.
 */
#include "commit.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "replication/logicalworker.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "hot.h"

static CKF_HOT_DATA ckf_transactions transactions;
/* The section group_commit of the segment; NULL without a segment. */
static CKF_HOT_DATA const uint64 *in_flight;
/* The transaction that is about to commit has nothing to make durable. */
static CKF_HOT_DATA bool is_plain;
/* The committed transaction has something to do when its locks are released. */
static CKF_HOT_DATA bool is_pending;

static ckf_reader reader;

static ExecutorRun_hook_type previous_run;
static ProcessUtility_hook_type previous_utility;
/* Which of the two are ours now. */
static ckf_taken run_taken, utility_taken;

/* Does a commit of this process wait for standbys, as far as its own settings tell? */
static bool
waits_for_standby(void)
{
	return SyncRepRequested() && SyncRepStandbyNames != NULL && SyncRepStandbyNames[0] != '\0';
}

void
ckf_commit_facts(ckf_commit *facts)
{
	facts->writes = TransactionIdIsValid(GetTopTransactionIdIfAny());
	facts->logged = ckf_has_logged();
	facts->level = synchronous_commit;
	facts->synced = enableFsync;
	facts->standby = waits_for_standby();
	facts->applies = IsLogicalWorker();
}

/* Has the transaction that is about to commit written WAL? */
int32
ckf_has_logged(void)
{
	return XactLastRecEnd != 0;
}

/*
 * The variable, not the setting: the setting's assign hook would change what a commit asks of a
 * standby (syncrep.c:assign_synchronous_commit).
 */
void
ckf_set_commit_level(int32 level)
{
	synchronous_commit = level;
}

/* In XACT_EVENT_COMMIT: where the record of the commit ends, 0 if it has none. */
uint64
ckf_commit_end(void)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) ? XactLastCommitEnd : 0;
}

/* Does a commit flush its record at all, by the process's settings? */
int32
ckf_commit_flushes(void)
{
	return synchronous_commit > SYNCHRONOUS_COMMIT_OFF;
}

/* Has the transaction looked at any table? */
int32
ckf_took_snapshot(void)
{
	return FirstSnapshotSet;
}

/*
 * The end of all WAL inserted so far. GetXLogInsertRecPtr gives the place of the next record, which
 * may be behind the header of a page that has nothing else yet: up to there nothing can be
 * flushed (xlog.c:XLogBytePosToEndRecPtr).
 */
uint64
ckf_insert_end(void)
{
	XLogRecPtr	next = GetXLogInsertRecPtr();
	uint32		header = XLogSegmentOffset(next, wal_segment_size) < XLOG_BLCKSZ ?
		SizeOfXLogLongPHD : SizeOfXLogShortPHD;

	return next % XLOG_BLCKSZ == header ? next - header : next;
}

uint64
ckf_flush_end(void)
{
	return GetFlushRecPtr(NULL);
}

/*
 * Has the standby that this process's commits would wait for confirmed that position? Read without
 * SyncRepLock: the word only grows, and whoever sees an old value takes the lock then.
 */
static bool
standby_has(XLogRecPtr position)
{
	int			mode;

	if (position == 0 || !waits_for_standby())
		return true;
	mode = synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ? SYNC_REP_WAIT_WRITE :
		synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_APPLY ? SYNC_REP_WAIT_APPLY :
		SYNC_REP_WAIT_FLUSH;
	return position <= ((volatile WalSndCtlData *) WalSndCtl)->lsn[mode];
}

int32
ckf_is_durable(const ckf_durable *target)
{
	return (target->flush == 0 || !XLogNeedsFlush(target->flush)) && standby_has(target->standby);
}

/*
 * Wait for a commit that is visible already: it cannot be taken back, so what fails here is a
 * PANIC, as in xact.c:RecordTransactionCommit. Interrupts are held, as they are there. It
 * allocates nothing, and uses no resource owner.
 */
void
ckf_wait_durable(const ckf_durable *target)
{
	if (target->flush != 0 && XLogNeedsFlush(target->flush))
	{
		START_CRIT_SECTION();
		XLogFlush(target->flush);
		END_CRIT_SECTION();
	}
	if (target->standby != 0)
		SyncRepWaitForLSN(target->standby, true);
}

/*
 * Wait for a standby to have all that this process can have seen. syncrep.c takes each position for
 * one waiter's own (syncrep.c:SyncRepQueueIsOrderedByLSN), and those seen belong to others: so it
 * waits for a record of its own behind them, which says nothing. Returns its end.
 */
static XLogRecPtr
wait_for_standby(void)
{
	XLogRecPtr	last = XactLastRecEnd;
	XLogRecPtr	end;
	char		nothing = 0;

	START_CRIT_SECTION();
	XLogBeginInsert();
	XLogRegisterData(&nothing, sizeof(nothing));
	XLogSetRecordFlags(XLOG_MARK_UNIMPORTANT);
	end = XLogInsert(RM_XLOG_ID, XLOG_NOOP);
	/* It is none of the transaction's. */
	XactLastRecEnd = last;
	XLogFlush(end);
	END_CRIT_SECTION();
	SyncRepWaitForLSN(end, true);
	return end;
}

/* The same for what a transaction has seen that is committed itself: a reader's end. */
void
ckf_wait_seen(const ckf_durable *target)
{
	const ckf_durable flushed = {target->flush, 0};

	ckf_wait_durable(&flushed);
	if (!standby_has(target->standby))
		(void) wait_for_standby();
}

/* Where the section group_commit is; NULL when there is none any more. */
void
ckf_set_in_flight(const uint64 *words)
{
	in_flight = words;
}

/*
 * Has no group commit ever been made, so that nobody can have seen one? All of them were announced
 * before they could be seen (crates/statseg/src/in_flight.rs has the protocol, and the four words).
 */
static inline bool
none_in_flight(void)
{
	return in_flight != NULL &&
		__atomic_load_n(&in_flight[0], __ATOMIC_ACQUIRE) == 0 &&
		__atomic_load_n(&in_flight[1], __ATOMIC_RELAXED) == 0 &&
		__atomic_load_n(&in_flight[2], __ATOMIC_ACQUIRE) == 0 &&
		__atomic_load_n(&in_flight[3], __ATOMIC_RELAXED) == 0;
}

/* A transaction that had nothing to make durable is over: most are, so this is short. */
static inline void
plain_committed(void)
{
	is_plain = false;
	if (unlikely(!none_in_flight()))
	{
		transactions.plain();
		is_pending = transactions.committed();
	}
	else if (likely(ckf_watching == CKF_WATCHED) ||
			 (*transactions.enabled && MyBackendType == B_BACKEND && IsNormalProcessingMode()))
		transactions.plain_committed(ckf_core.statement_start(), ckf_core.transaction_start());
}

/* The rare ends of a transaction. */
static void
other_end(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			transactions.prepares();
			break;
		case XACT_EVENT_PREPARE:
			transactions.prepared();
			break;
		case XACT_EVENT_ABORT:
			is_pending = false;
			is_plain = false;
			transactions.aborted();
			break;
		default:
			/* A parallel worker's part: the leader's counts. */
			break;
	}
}

/*
 * xact.c:CallXactCallbacks. The two usual events are not in the switch: its table would be a line
 * of memory of its own.
 */
static CKF_HOT void
transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT)
	{
		/* Soon to be asked for, and others use it: on its way while the server commits. */
		__builtin_prefetch(in_flight);
		/* It commits nothing, outside of any statement that goes on. */
		is_plain = *ckf_core.last_record == 0 && *transactions.depth == 0 &&
			!TransactionIdIsValid(ckf_core.xid());
		if (!is_plain)
			transactions.commits();
	}
	else if (event != XACT_EVENT_COMMIT)
		other_end(event);
	else if (is_plain)
		plain_committed();
	else
		is_pending = transactions.committed();
}

/* resowner.c:ResourceOwnerRelease calls this in each phase for each owner. */
static CKF_HOT void
released(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	if (is_pending && phase == RESOURCE_RELEASE_AFTER_LOCKS && is_commit && is_top_level)
	{
		is_pending = false;
		transactions.released();
	}
}

/* Once, in the postmaster while it loads libraries. */
void
ckf_watch_transactions(const ckf_transactions *callbacks)
{
	transactions = *callbacks;
	RegisterXactCallback(transaction, NULL);
	RegisterResourceReleaseCallback(released, NULL);
}

/* May this process tell only what is durable, statement by statement? */
static inline bool
is_strict(void)
{
	return *reader.level == reader.strict && MyBackendType == B_BACKEND;
}

/*
 * A wait for a standby has ended without its answer: was it cancelled, or is there no synchronous
 * standby any more? This process's own setting is that of the statement's begin, and the shared
 * flags are not the same in all minor versions; but SyncRepWaitForLSN knows. Where there is nothing to
 * wait for it leaves a request to cancel alone, and a wait takes it at once, with its warning, which
 * was given already. (A request that comes just then is lost where there is nothing to wait for, as
 * one that comes when the statement has ended.)
 */
static bool
was_cancelled(XLogRecPtr end)
{
	int			to_client = client_min_messages;
	int			to_log = log_min_messages;
	bool		requested = QueryCancelPending;
	bool		taken;

	client_min_messages = ERROR;
	log_min_messages = ERROR;
	QueryCancelPending = true;
	SyncRepWaitForLSN(end, true);
	taken = !QueryCancelPending;
	QueryCancelPending = requested;
	client_min_messages = to_client;
	log_min_messages = to_log;
	return taken;
}

/*
 * A reader's wait in the middle of a transaction. It may raise. A cancelled wait for a standby
 * cancels the statement: SyncRepWaitForLSN has taken the request and only warned, as it must for
 * a commit.
 */
static void
wait_to_tell(void)
{
	ckf_durable target;

	reader.target(&target);
	if (ckf_is_durable(&target))
		return;
	if (target.flush != 0)
		XLogFlush(target.flush);
	if (!standby_has(target.standby))
	{
		XLogRecPtr	end;

		HOLD_INTERRUPTS();
		end = wait_for_standby();
		if (!ProcDiePending && !standby_has(target.standby) && was_cancelled(end))
		{
			QueryCancelPending = true;
			InterruptPending = true;
		}
		RESUME_INTERRUPTS();
	}
	reader.waited();
	CHECK_FOR_INTERRUPTS();
}

/* Do rows go to the client as they come? */
static bool
tells_at_once(const DestReceiver *dest)
{
	return dest->mydest == DestRemote || dest->mydest == DestRemoteExecute ||
		dest->mydest == DestRemoteSimple || dest->mydest == DestCopyOut;
}

/* Give the rows of a store to the receiver that they were meant for. */
static void
tell(Tuplestorestate *store, QueryDesc *query)
{
	DestReceiver *dest = query->dest;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(query->tupDesc, &TTSOpsMinimalTuple);

	dest->rStartup(dest, query->operation, query->tupDesc);
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		if (!dest->receiveSlot(slot, dest))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	dest->rShutdown(dest);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Keep the rows back until all of them may be told. A query that locks or changes rows waits for
 * others and then goes on with what these have made of them (execMain.c:EvalPlanQual): that is
 * newer than its snapshot, and only known when the row is.
 */
static void
run_and_tell(EXECUTOR_RUN_PARAMETERS)
{
	DestReceiver *dest = query->dest;
	MemoryContext context = query->estate->es_query_cxt;
	MemoryContext before = MemoryContextSwitchTo(context);
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	DestReceiver *keep = CreateTuplestoreDestReceiver();

	SetTuplestoreDestReceiverParams(keep, store, context, false, NULL, NULL);
	MemoryContextSwitchTo(before);
	/* After an error nobody uses the query's receiver any more. */
	query->dest = keep;
	previous_run(EXECUTOR_RUN_ARGUMENTS);
	query->dest = dest;
	wait_to_tell();
	tell(store, query);
	keep->rDestroy(keep);
	tuplestore_end(store);
}

static void
run(EXECUTOR_RUN_PARAMETERS)
{
	const PlannedStmt *statement = query->plannedstmt;
	bool		returns = query->operation == CMD_SELECT || statement->hasReturning;
	bool		newer = query->operation != CMD_SELECT || statement->hasModifyingCTE ||
		statement->rowMarks != NIL;

	if (!returns || query->dest->mydest == DestNone || !is_strict())
		previous_run(EXECUTOR_RUN_ARGUMENTS);
	else if (!newer)
	{
		/* The snapshot was taken before: what it shows is durable from here on. */
		wait_to_tell();
		previous_run(EXECUTOR_RUN_ARGUMENTS);
	}
	else if (tells_at_once(query->dest))
		run_and_tell(EXECUTOR_RUN_ARGUMENTS);
	else
	{
		previous_run(EXECUTOR_RUN_ARGUMENTS);
		wait_to_tell();
	}
}

static void
utility(PlannedStmt *statement, const char *query_string, bool read_only_tree,
		ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
		DestReceiver *dest, QueryCompletion *completion)
{
	/* COPY table TO has no executor. Its snapshot was taken by pquery.c:PortalRunUtility. */
	if (IsA(statement->utilityStmt, CopyStmt) &&
		!((CopyStmt *) statement->utilityStmt)->is_from && is_strict())
		wait_to_tell();
	previous_utility(statement, query_string, read_only_tree, context, params, environment, dest,
					 completion);
}

/*
 * Take the hooks for a session that is to be told only what is durable, or give them back: called
 * by the assign hook of the setting.
 */
void
ckf_link_readers(int32 level)
{
	bool		wanted = level == reader.strict;

	if (reader.target == NULL)
		return;					/* not preloaded, or not yet */
	CKF_LINK(wanted, ExecutorRun_hook, run, previous_run, standard_ExecutorRun, run_taken);
	CKF_LINK(wanted, ProcessUtility_hook, utility, previous_utility, standard_ProcessUtility,
			 utility_taken);
}

/* Once, in the postmaster while it loads libraries: the hooks before ours are called by ours. */
void
ckf_watch_readers(const ckf_reader *callbacks)
{
	reader = *callbacks;
	ckf_link_readers(*reader.level);
}
