/*
 * collector_entry.h - finding an entry of the cumulative statistics.
 */
#ifndef CKPTFLUSH_COLLECTOR_ENTRY_H
#define CKPTFLUSH_COLLECTOR_ENTRY_H

#include "collector.h"

#include "pgstat.h"
#include "utils/pgstat_internal.h"

#include "compat.h"

static inline PgStat_HashKey
hash_key(uint32 kind, uint32 database, uint64 object)
{
	PgStat_HashKey key;

	memset(&key, 0, sizeof(key));	/* padding is hashed */
	key.kind = (PgStat_Kind) kind;
	key.dboid = database;
	STATS_OBJECT(key) = object;
	return key;
}

/* The entry, locked by its partition; NULL if there is none, or it was dropped. */
static inline PgStatShared_HashEntry *
find(const ckf_key *key, bool exclusive)
{
	PgStat_HashKey hash = hash_key(key->kind, key->database, key->object);
	PgStatShared_HashEntry *entry = dshash_find(pgStatLocal.shared_hash, &hash, exclusive);

	if (entry != NULL && entry->dropped)
	{
		dshash_release_lock(pgStatLocal.shared_hash, entry);
		return NULL;
	}
	return entry;
}

static inline PgStatShared_Common *
body_of(const PgStatShared_HashEntry *entry)
{
	return dsa_get_address(pgStatLocal.dsa, entry->body);
}

#endif							/* CKPTFLUSH_COLLECTOR_ENTRY_H */
