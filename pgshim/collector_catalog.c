/*
 * collector_catalog.c - the catalogs that say of which databases and objects there are statistics.
 *
 * Runs in: the collector, which is connected to no database and so sees the shared catalogs only;
 * and the workers that it starts, each in one database. Each function is a transaction of its own.
 */
#include "collector.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/timeline.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_subscription.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"
#include "tcop/tcopprot.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"

#if NAMEDATALEN > 64
#error "names of databases have more than 64 bytes"
#endif

/* Set by an invalidation message, which this process takes in where it begins a transaction. */
static bool databases_changed = true;

static void
note_change(Datum argument, int cache, uint32 hash)
{
	databases_changed = true;
}

/* Once per process. */
void
ckf_databases_watch(void)
{
	CacheRegisterSyscacheCallback(DATABASEOID, note_change, (Datum) 0);
}

/* May pg_database have changed since it was read? */
int32
ckf_databases_changed(void)
{
	StartTransactionCommand();
	CommitTransactionCommand();
	return databases_changed;
}

/* All databases; returns how many, which may be more than there is room for. */
uint64
ckf_databases(ckf_database *target, uint64 room)
{
	Relation	relation;
	TableScanDesc scan;
	HeapTuple	tuple;
	uint64		count = 0;

	StartTransactionCommand();
	databases_changed = false;
	(void) GetTransactionSnapshot();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database row = (Form_pg_database) GETSTRUCT(tuple);

		if (count < room)
		{
			target[count].oid = row->oid;
			/* -2: a DROP DATABASE was interrupted (pg_database.h:DATCONNLIMIT_INVALID_DB) */
			target[count].connectable = row->datconnlimit != -2;
			memcpy(target[count].name, NameStr(row->datname), NAMEDATALEN);
		}
		count++;
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	return count;
}

#ifdef TRY_DATABASE_LOCK_IS_OURS
static bool
try_database_lock(Oid database)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	return LockAcquire(&tag, RowExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}
#endif

/*
 * The lock that a session takes when it connects. Whoever wants to drop, rename, move or copy the
 * database holds one against it while he waits for the sessions to go
 * (dbcommands.c, procarray.c:CountOtherDBBackends).
 */
static bool
somebody_wants_database(Oid database)
{
	if (!TRY_DATABASE_LOCK(database))
		return true;
	UnlockSharedObject(DatabaseRelationId, database, 0, RowExclusiveLock);
	return false;
}

/*
 * Is there a session that owns this schema of temporary relations? As checkTempNamespaceStatus, which
 * knows the schemas of their TOAST tables for nobody's.
 */
static bool
has_session(Oid temporary)
{
	int			number = GetTempNamespaceProcNumber(temporary);
	PGPROC	   *owner = number == INVALID_PROC_NUMBER ? NULL : ProcNumberGetProc(number);

	return owner != NULL && owner->databaseId == MyDatabaseId && OidIsValid(owner->tempNamespaceId);
}

/*
 * What a row of the catalog says of its object; a row of another catalog than pg_class: exists. A process
 * without a database knows the shared catalogs by heart, but not all of their indexes.
 */
static uint8
look_up(Relation catalog, Oid index, uint64 object, Snapshot snapshot)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	uint8		verdict = CKF_OBJECT_MISSING;

	/* All three catalogs have the OID in their first column. */
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum((Oid) object));
	scan = systable_beginscan(catalog, index, OidIsValid(MyDatabaseId), snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		verdict = CKF_OBJECT_PERMANENT;
		if (RelationGetRelid(catalog) == RelationRelationId)
		{
			Form_pg_class row = (Form_pg_class) GETSTRUCT(tuple);

			if (row->relpersistence == RELPERSISTENCE_UNLOGGED)
				verdict = CKF_OBJECT_UNLOGGED;
			else if (row->relpersistence == RELPERSISTENCE_TEMP &&
					 !has_session(row->relnamespace))
				verdict = CKF_OBJECT_MISSING;
		}
	}
	systable_endscan(scan);
	return verdict;
}

/*
 * What has become of objects of one kind, in the database that this process is connected to, or
 * among the shared ones. False, and nothing looked up, if somebody wants the database for itself.
 *
 * An object that a running or prepared transaction has made exists: hence the second look with a
 * snapshot that sees it. The first must not be left out: a row that is updated meanwhile may be
 * missed by the second.
 */
int32
ckf_objects(const ckf_key *keys, uint64 count, uint8 *verdict)
{
	Relation	catalog;
	SnapshotData dirty;
	Oid			oid,
				index;

	memset(verdict, CKF_OBJECT_UNKNOWN, count);
	if (count == 0)
		return true;
	switch (keys[0].kind)
	{
		case PGSTAT_KIND_RELATION:
			oid = RelationRelationId;
			index = ClassOidIndexId;
			break;
		case PGSTAT_KIND_FUNCTION:
			oid = ProcedureRelationId;
			index = ProcedureOidIndexId;
			break;
		case PGSTAT_KIND_SUBSCRIPTION:
			oid = SubscriptionRelationId;
			index = SubscriptionObjectIndexId;
			break;
		default:
			return true;
	}
	StartTransactionCommand();
	if (OidIsValid(MyDatabaseId) && somebody_wants_database(MyDatabaseId))
	{
		CommitTransactionCommand();
		return false;
	}
	InitDirtySnapshot(dirty);
	catalog = table_open(oid, AccessShareLock);
	for (uint64 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		verdict[i] = look_up(catalog, index, keys[i].object, NULL);
		if (verdict[i] == CKF_OBJECT_MISSING)
			verdict[i] = look_up(catalog, index, keys[i].object, &dirty);
	}
	table_close(catalog, AccessShareLock);
	CommitTransactionCommand();
	return true;
}

/*
 * The history of a timeline, newest first, and where it was left for the next one; 0 for the
 * timeline itself. Returns how many there are, which may be more than there is room for.
 */
uint64
ckf_timelines(uint32 timeline, ckf_timeline *target, uint64 room)
{
	List	   *history = readTimeLineHistory(timeline);
	ListCell   *cell;
	uint64		count = 0;

	foreach(cell, history)
	{
		const TimeLineHistoryEntry *entry = (TimeLineHistoryEntry *) lfirst(cell);

		if (count < room)
		{
			target[count].timeline = entry->tli;
			target[count].end = entry->end;
		}
		count++;
	}
	list_free_deep(history);
	return count;
}

/* Connect a worker to a database, which may be one that no session can connect to. */
void
ckf_connect(uint32 database)
{
	/* As a session: a recovery conflict, or who stops the server, finds it between two looks. */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
}
