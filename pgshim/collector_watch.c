/*
 * collector_watch.c - copies of the databases' own entries, which the collector looks at all the
 * time.
 *
 * Runs in: the collector.
 *
 * To find an entry takes three or four places in memory, one after the other, that nobody has used
 * for seconds: with a thousand databases that is most of a look. So the collector refers to these
 * entries, as the autovacuum launcher does, too: they stay where they are, and only their
 * statistics are read, those of the next ones being fetched meanwhile.
 *
 * What a reference does, and why it is harmless here:
 * - It keeps a dropped entry in memory, until the collector has read pg_database anew.
 * - A second drop of an entry that is kept is an ERROR. DROP DATABASE drops it once, when it is
 *   committed, and so does the startup process where that is replayed. The collector drops no entry
 *   that is referred to, and gives its own references back before it drops what it finds without a
 *   database.
 * - Not pgstat_get_entry_ref: that gives references back by itself, at any later call.
 */
#include "collector_entry.h"

#include "storage/ipc.h"
#include "utils/memutils.h"

/* A database: its entry and what is in it, or NULL as long as there is none. */
typedef struct watched_database
{
	uint32		oid;
	PgStatShared_HashEntry *entry;
	PgStatShared_Common *body;
} watched_database;

static watched_database *watched = NULL;
static uint64 watched_count = 0;

/* Copying so many entries takes as long as memory does to answer. */
#define FETCH_AHEAD 8

/* Bytes of a cache line. No harm is done where it is another number. */
#define LINE 64

/* Have the caches filled from there. */
static inline void
fetch(const void *from, size_t bytes)
{
	const char *line = (const char *) ((uintptr_t) from & ~(uintptr_t) (LINE - 1));

	for (; line < (const char *) from + bytes; line += LINE)
		__builtin_prefetch(line);
}

/* Refer to the entry, if there is one (pgstat_shmem.c:pgstat_acquire_entry_ref). */
static void
refer(watched_database *one)
{
	ckf_key		key = {PGSTAT_KIND_DATABASE, one->oid, 0};
	PgStatShared_HashEntry *entry = find(&key, false);

	if (entry == NULL)
		return;
	pg_atomic_fetch_add_u32(&entry->refcount, 1);
	one->entry = entry;
	one->body = body_of(entry);
	dshash_release_lock(pgStatLocal.shared_hash, entry);
}

/* Who gives back the last reference frees the entry (pgstat_release_entry_ref). */
static void
give_back(watched_database *one)
{
	PgStat_HashKey key = hash_key(PGSTAT_KIND_DATABASE, one->oid, 0);
	PgStatShared_HashEntry *entry;

	if (one->entry == NULL)
		return;
	one->entry = NULL;
	one->body = NULL;
	entry = dshash_find(pgStatLocal.shared_hash, &key, true);
	if (entry == NULL)
		return;					/* cannot be: it was referred to */
	if (pg_atomic_sub_fetch_u32(&entry->refcount, 1) == 0)
	{
		dsa_pointer body = entry->body;

		dshash_delete_entry(pgStatLocal.shared_hash, entry);
		dsa_free(pgStatLocal.dsa, body);
	}
	else
		dshash_release_lock(pgStatLocal.shared_hash, entry);
}

static void
give_all_back(void)
{
	while (watched_count > 0)
		give_back(&watched[--watched_count]);
}

/* Before pgstat_shutdown_hook, which was registered earlier. */
static void
at_exit(int code, Datum arg)
{
	give_all_back();
}

/* Watch these databases from now on, and no others. */
void
ckf_watch(const uint32 *databases, uint64 count)
{
	Size		size = (count + 1) * sizeof(watched_database);

	give_all_back();
	if (watched == NULL)
	{
		before_shmem_exit(at_exit, (Datum) 0);
		watched = MemoryContextAlloc(TopMemoryContext, size);
	}
	else
		watched = repalloc(watched, size);
	for (uint64 i = 0; i < count; i++)
		watched[i] = (watched_database) {databases[i], NULL, NULL};
	watched_count = count;
}

/*
 * Copy the entries of so many of them from there on, in their order, and note which of them there
 * are.
 */
void
ckf_watched(uint64 from, uint64 count, uint8 *target, uint32 bytes, uint8 *found)
{
	memset(found, 0, count);
	if (from + count > watched_count || bytes != pgstat_get_entry_len(PGSTAT_KIND_DATABASE))
		return;
	for (uint64 i = 0; i < count; i++)
	{
		watched_database *one = &watched[from + i];

		if (from + i + FETCH_AHEAD < watched_count)
			fetch(one[FETCH_AHEAD].body, sizeof(PgStatShared_Common) + bytes);
		if (one->body == NULL)
			refer(one);
		if (one->body == NULL)
			continue;
		found[i] = true;
		LWLockAcquire(&one->body->lock, LW_SHARED);
		memcpy(target + i * bytes, pgstat_get_entry_data(PGSTAT_KIND_DATABASE, one->body), bytes);
		LWLockRelease(&one->body->lock);
	}
}
