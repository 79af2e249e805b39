/*
 * collector_fixed.c - the statistics that have one entry for the whole cluster, and those of
 * replication slots, which go by name.
 *
 * Runs in: the collector.
 */
#include "collector.h"

#include "pgstat.h"
#include "replication/slot.h"
#include "utils/pgstat_internal.h"

#include "compat.h"

/* Where the snapshot of a kind is; NULL if it is none of core's. */
static const void *
snapshot_of(uint32 kind)
{
	const PgStat_Snapshot *snapshot = &pgStatLocal.snapshot;

	switch (kind)
	{
		case PGSTAT_KIND_ARCHIVER:
			return &snapshot->archiver;
		case PGSTAT_KIND_BGWRITER:
			return &snapshot->bgwriter;
		case PGSTAT_KIND_CHECKPOINTER:
			return &snapshot->checkpointer;
#ifdef STATS_HAVE_IO
		case PGSTAT_KIND_IO:
			return &snapshot->io;
#endif
		case PGSTAT_KIND_SLRU:
			return snapshot->slru;
		case PGSTAT_KIND_WAL:
			return &snapshot->wal;
		default:
			return NULL;
	}
}

/* What the views would show now. */
void
ckf_fixed_copy(uint32 kind, uint8 *target, uint32 bytes)
{
	const void *snapshot = snapshot_of(kind);
	int			users = pgstat_fetch_consistency;

	memset(target, 0, bytes);
	if (snapshot == NULL)
		return;
	pgstat_clear_snapshot();
	/* Of this kind only, whatever the user has set: see ckf_core_counters_now. */
	pgstat_fetch_consistency = PGSTAT_FETCH_CONSISTENCY_NONE;
	pgstat_snapshot_fixed((PgStat_Kind) kind);
	pgstat_fetch_consistency = users;
	memcpy(target, snapshot, bytes);
}

static int64 *
at(void *stats, const ckf_field *field)
{
	return (int64 *) ((char *) stats + field->offset);
}

/*
 * A kind that many processes write under its lock; or, with a reset_offset, one that one process
 * writes without a lock, by a change count. We must not write to that, but what was counted up to a
 * reset is subtracted by the readers (pgstat_internal.h): so a negative offset adds. The time of
 * the reset is written under the lock in either.
 */
static void
add_by_fields(const ckf_kind *kind, LWLock *lock, void *stats, void *reset_offset,
			  const uint8 *saved)
{
	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < kind->field_count; i++)
	{
		const ckf_field *field = &kind->fields[i];
		int64		value = *(const int64 *) (saved + field->offset);

		if (field->rule == CKF_RULE_ADD && reset_offset != NULL)
			*at(reset_offset, field) -= value;
		else if (field->rule == CKF_RULE_ADD)
			*at(stats, field) += value;
		else if (field->rule == CKF_RULE_LATER && value != 0)
			*at(stats, field) = value;
	}
	LWLockRelease(lock);
}

static void
add_slru(const PgStat_SLRUStats *saved)
{
	PgStatShared_SLRU *shared = &pgStatLocal.shmem->slru;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	for (size_t i = 0; i < SLRU_NUM_ELEMENTS; i++)
	{
		PgStat_SLRUStats *now = &shared->stats[i];

		now->blocks_zeroed += saved[i].blocks_zeroed;
		now->blocks_hit += saved[i].blocks_hit;
		now->blocks_read += saved[i].blocks_read;
		now->blocks_written += saved[i].blocks_written;
		now->blocks_exists += saved[i].blocks_exists;
		now->flush += saved[i].flush;
		now->truncate += saved[i].truncate;
		if (saved[i].stat_reset_timestamp != 0)
			now->stat_reset_timestamp = saved[i].stat_reset_timestamp;
	}
	LWLockRelease(&shared->lock);
}

#ifdef STATS_HAVE_IO
/* All but the time of the reset are counters of 64 bits, in arrays. */
static void
add_io(const PgStat_IO *saved)
{
	PgStatShared_IO *shared = &pgStatLocal.shmem->io;

	for (int type = 0; type < BACKEND_NUM_TYPES; type++)
	{
		int64	   *now = (int64 *) &shared->stats.stats[type];
		const int64 *then = (const int64 *) &saved->stats[type];

		LWLockAcquire(&shared->locks[type], LW_EXCLUSIVE);
		for (size_t i = 0; i < sizeof(saved->stats[type]) / sizeof(int64); i++)
			now[i] += then[i];
		if (type == 0 && saved->stat_reset_timestamp != 0)
			shared->stats.stat_reset_timestamp = saved->stat_reset_timestamp;
		LWLockRelease(&shared->locks[type]);
	}
}
#endif

/* Add what was saved; false if this server has no such kind of that length. */
int32
ckf_fixed_add(uint32 kind, const uint8 *saved, uint32 bytes)
{
	PgStat_ShmemControl *shmem = pgStatLocal.shmem;
	ckf_kind	known;

	if (!ckf_kind_of(kind, &known) || !known.fixed || known.bytes != bytes)
		return false;
	switch (kind)
	{
		case PGSTAT_KIND_ARCHIVER:
			add_by_fields(&known, &shmem->archiver.lock, &shmem->archiver.stats,
						  &shmem->archiver.reset_offset, saved);
			return true;
		case PGSTAT_KIND_BGWRITER:
			add_by_fields(&known, &shmem->bgwriter.lock, &shmem->bgwriter.stats,
						  &shmem->bgwriter.reset_offset, saved);
			return true;
		case PGSTAT_KIND_CHECKPOINTER:
			add_by_fields(&known, &shmem->checkpointer.lock, &shmem->checkpointer.stats,
						  &shmem->checkpointer.reset_offset, saved);
			return true;
#ifdef STATS_HAVE_IO
		case PGSTAT_KIND_IO:
			add_io((const PgStat_IO *) saved);
			return true;
#endif
		case PGSTAT_KIND_SLRU:
			add_slru((const PgStat_SLRUStats *) saved);
			return true;
		case PGSTAT_KIND_WAL:
			add_by_fields(&known, &shmem->wal.lock, &shmem->wal.stats, NULL, saved);
			return true;
		default:
			return false;
	}
}

/*
 * Since when the statistics of the cluster have been counted: the earliest reset. When core
 * discards all of them it sets all these times (pgstat.c:pgstat_reset_after_failure).
 */
int64
ckf_counting_since(void)
{
	PgStat_ShmemControl *shmem = pgStatLocal.shmem;
	TimestampTz since;

	LWLockAcquire(&shmem->bgwriter.lock, LW_SHARED);
	since = shmem->bgwriter.stats.stat_reset_timestamp;
	LWLockRelease(&shmem->bgwriter.lock);
	LWLockAcquire(&shmem->archiver.lock, LW_SHARED);
	since = Min(since, shmem->archiver.stats.stat_reset_timestamp);
	LWLockRelease(&shmem->archiver.lock);
	LWLockAcquire(&shmem->wal.lock, LW_SHARED);
	since = Min(since, shmem->wal.stats.stat_reset_timestamp);
	LWLockRelease(&shmem->wal.lock);
	LWLockAcquire(&shmem->slru.lock, LW_SHARED);
	since = Min(since, shmem->slru.stats[0].stat_reset_timestamp);
	LWLockRelease(&shmem->slru.lock);
	return since;
}

int32
ckf_slot_count(void)
{
	return max_replication_slots;
}

/* The name of the slot of this index, NAMEDATALEN bytes; false if it is free. */
int32
ckf_slot_name(int32 index, char *target)
{
	NameData	name;

	if (index < 0 || index >= max_replication_slots || !ReplicationSlotName(index, &name))
		return false;
	memcpy(target, NameStr(name), NAMEDATALEN);
	return true;
}

/* The index of the slot of this name; -1 if there is none. */
int32
ckf_slot_index(const char *name)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(name, true);

	return slot == NULL ? -1 : ReplicationSlotIndex(slot);
}
