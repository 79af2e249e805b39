/*
 * collector.c - reads, merges and drops entries of the cumulative statistics.
 *
 * Runs in: the collector, the workers that it starts, and backends that restore a file.
 *
 * Rules, for the hash table is everybody's:
 * - Between dshash_seq_init and dshash_seq_term, and while an entry is locked, nothing but
 *   copying: no allocation, no I/O, no conversion. An insert of another backend waits meanwhile.
 * - No reference is kept (pgstat_get_entry_ref): a drop would leave the entry behind until we
 *   release it, and a second drop of it is an ERROR, in the startup process a FATAL one. The one
 *   exception is collector_watch.c. Nor is an entry dropped to which others refer.
 * - Partition lock first, then the entry's own, as in pgstat_shmem.c.
 */
#include "collector_entry.h"

/*
 * The marks are entries for functions of no database, which cannot exist: core writes them to
 * pgstat.stat and restores them with all others. A kind of our own, which 18 would allow, serves
 * worse: a server that starts without this library would find an unknown kind in the file, and
 * discard every statistic there is (pgstat.c:pgstat_read_statsfile).
 */
#define MARK_KIND PGSTAT_KIND_FUNCTION

/* Does the kind have entries of this length in the hash table? */
static bool
kind_fits(uint32 kind, uint32 bytes)
{
	ckf_kind	known;

	return ckf_kind_of(kind, &known) && !known.fixed && known.bytes == bytes;
}

/*
 * The keys of all entries that core would write, but those of replication slots and our marks;
 * returns how many there are, which may be more than there is room for.
 */
uint64
ckf_keys(ckf_key *target, uint64 room)
{
	dshash_seq_status scan;
	PgStatShared_HashEntry *entry;
	bool		wanted[STATS_KIND_COUNT];
	uint64		count = 0;

	for (uint32 kind = 0; kind < STATS_KIND_COUNT; kind++)
	{
		ckf_kind	known;

		wanted[kind] = ckf_kind_of(kind, &known) && !known.fixed && !known.by_slot;
	}
	dshash_seq_init(&scan, pgStatLocal.shared_hash, false);
	while ((entry = dshash_seq_next(&scan)) != NULL)
	{
		if (entry->dropped || entry->key.kind >= STATS_KIND_COUNT || !wanted[entry->key.kind])
			continue;
		if (entry->key.kind == MARK_KIND && entry->key.dboid == InvalidOid)
			continue;
		if (count < room)
		{
			target[count].kind = entry->key.kind;
			target[count].database = entry->key.dboid;
			target[count].object = STATS_OBJECT(entry->key);
		}
		count++;
	}
	dshash_seq_term(&scan);
	return count;
}

/*
 * Copy entries of one kind, each to its place in target, and note which of them there are. Returns
 * how many.
 */
uint64
ckf_copy(const ckf_key *keys, uint64 count, uint8 *target, uint32 bytes, uint8 *found)
{
	uint64		copied = 0;

	if (count == 0 || !kind_fits(keys[0].kind, bytes))
	{
		memset(found, 0, count);
		return 0;
	}
	for (uint64 i = 0; i < count; i++)
	{
		PgStatShared_HashEntry *entry = NULL;

		if (keys[i].kind == keys[0].kind)
			entry = find(&keys[i], false);
		found[i] = entry != NULL;
		if (entry != NULL)
		{
			PgStatShared_Common *body = body_of(entry);

			LWLockAcquire(&body->lock, LW_SHARED);
			memcpy(target + i * bytes, pgstat_get_entry_data(keys[i].kind, body), bytes);
			LWLockRelease(&body->lock);
			dshash_release_lock(pgStatLocal.shared_hash, entry);
			copied++;
		}
	}
	return copied;
}

static int64
word(const uint8 *data, const ckf_field *field)
{
	return *(const int64 *) (data + field->offset);
}

/* The latest of the times of this rule; 0: it never was. */
static int64
latest(const ckf_kind *kind, uint32 rule, const uint8 *data)
{
	int64		time = 0;

	for (uint32 i = 0; i < kind->field_count; i++)
	{
		if (kind->fields[i].rule == rule)
			time = Max(time, word(data, &kind->fields[i]));
	}
	return time;
}

/* Is one of the times of this rule later in the first than every one in the second? */
static bool
is_later(const ckf_kind *kind, uint32 rule, const uint8 *first, const uint8 *second)
{
	return latest(kind, rule, first) > latest(kind, rule, second);
}

/*
 * Add what was saved to what has been counted since. A gauge that was measured anew since then
 * by VACUUM or ANALYZE is right as it is.
 */
static void
merge(const ckf_kind *kind, uint8 *data, const uint8 *saved, int32 what)
{
	bool		vacuumed = is_later(kind, CKF_RULE_VACUUMED, data, saved);
	bool		analyzed = is_later(kind, CKF_RULE_ANALYZED, data, saved);

	for (uint32 i = 0; i < kind->field_count; i++)
	{
		const ckf_field *field = &kind->fields[i];
		int64	   *now = (int64 *) (data + field->offset);
		const int64 *then = (const int64 *) (saved + field->offset);

		if (what == CKF_MERGE_MATERIAL && !field->material)
			continue;
		switch ((ckf_rule) field->rule)
		{
			case CKF_RULE_ADD:
				for (uint32 n = 0; n < field->bytes / sizeof(int64); n++)
					now[n] += then[n];
				break;
			case CKF_RULE_LATER:
			case CKF_RULE_VACUUMED:
			case CKF_RULE_ANALYZED:
				*now = Max(*now, *then);
				break;
			case CKF_RULE_TUPLES:
				if (!vacuumed && !analyzed)
					*now = Max(*now + *then, 0);
				break;
			case CKF_RULE_SINCE_VACUUM:
				if (!vacuumed)
					*now += *then;
				break;
			case CKF_RULE_SINCE_ANALYZE:
				if (!analyzed)
					*now += *then;
				break;
			case CKF_RULE_OPAQUE:
			case CKF_RULE_TEXT:
				break;
		}
	}
}

/*
 * The entry, made if there is none, its partition locked; NULL if it was dropped and somebody
 * still refers to it: what is gone does not come back.
 */
static PgStatShared_HashEntry *
find_or_make(const ckf_key *key, bool *made)
{
	PgStat_HashKey hash = hash_key(key->kind, key->database, key->object);
	PgStatShared_HashEntry *entry;
	bool		found;

	entry = dshash_find_or_insert(pgStatLocal.shared_hash, &hash, &found);
	*made = !found;
	if (found && entry->dropped)
	{
		dshash_release_lock(pgStatLocal.shared_hash, entry);
		return NULL;
	}
	if (!found && pgstat_init_entry((PgStat_Kind) key->kind, entry) == NULL)
	{
		dshash_delete_entry(pgStatLocal.shared_hash, entry);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while allocating an entry of the statistics.")));
	}
	return entry;
}

/*
 * The mark's words in the entry: they stay where they are, for nobody drops a mark. NULL if there
 * is none.
 */
static PgStat_StatFuncEntry *
mark_words(uint64 mark)
{
	ckf_key		key = {MARK_KIND, InvalidOid, mark};
	PgStatShared_HashEntry *entry = find(&key, false);
	PgStat_StatFuncEntry *words;

	if (entry == NULL)
		return NULL;
	words = &((PgStatShared_Function *) body_of(entry))->stats;
	dshash_release_lock(pgStatLocal.shared_hash, entry);
	return words;
}

/*
 * Merge saved entries of one kind into those there are, and count each in the mark. An ERROR ends
 * it between two entries, so what the mark says is true then, too. Returns how many were merged;
 * entries of a kind or length that this server does not have are counted and left out.
 */
uint64
ckf_merge_entries(const ckf_key *keys, uint64 count, const uint8 *saved, uint32 bytes, int32 what,
				  uint64 mark)
{
	PgStat_StatFuncEntry *words = mark_words(mark);
	uint64		merged = 0;
	ckf_kind	kind;
	bool		fits = count > 0 && kind_fits(keys[0].kind, bytes) &&
		ckf_kind_of(keys[0].kind, &kind);

	for (uint64 i = 0; i < count; i++)
	{
		PgStatShared_HashEntry *entry = NULL;
		bool		made = false;

		if (fits && keys[i].kind == keys[0].kind)
			entry = find_or_make(&keys[i], &made);
		if (entry != NULL)
		{
			PgStatShared_Common *body = body_of(entry);
			uint8	   *data = pgstat_get_entry_data(keys[i].kind, body);

			LWLockAcquire(&body->lock, LW_EXCLUSIVE);
			if (made && what == CKF_MERGE_ALL)
				memcpy(data, saved + i * bytes, bytes);
			else
				merge(&kind, data, saved + i * bytes, what);
			LWLockRelease(&body->lock);
			dshash_release_lock(pgStatLocal.shared_hash, entry);
			merged++;
		}
		if (words != NULL)
			words->FUNCTION_COUNT(self_time)++;
	}
	return merged;
}

/*
 * Drop one entry, unless somebody refers to it. Then it would stay until he lets it go, and core's own
 * drop of it is an ERROR until then, in the end of a transaction that is committed: so who drops a
 * table at this very moment would take the server down. References are taken with the partition
 * locked, so nobody can while we look; the count has one more, for not being dropped.
 */
int32
ckf_drop(const ckf_key *key)
{
	PgStatShared_HashEntry *entry = find(key, true);
	dsa_pointer body;

	if (entry == NULL)
		return CKF_DROP_NONE;
	if (pg_atomic_read_u32(&entry->refcount) > 1)
	{
		dshash_release_lock(pgStatLocal.shared_hash, entry);
		return CKF_DROP_IN_USE;
	}
	body = entry->body;
	dshash_delete_entry(pgStatLocal.shared_hash, entry);
	dsa_free(pgStatLocal.dsa, body);
	return CKF_DROP_DONE;
}

/*
 * Crash recovery has emptied an unlogged relation: it has no tuples, unless it was filled again. VACUUM
 * or ANALYZE since that moment has counted them.
 */
int32
ckf_forget_tuples(const ckf_key *key, int64 since)
{
	PgStatShared_HashEntry *entry;
	PgStatShared_Relation *body;
	ckf_kind	kind;

	if (key->kind != PGSTAT_KIND_RELATION || !ckf_kind_of(key->kind, &kind))
		return false;
	entry = find(key, false);
	if (entry == NULL)
		return false;
	body = (PgStatShared_Relation *) body_of(entry);
	LWLockAcquire(&body->header.lock, LW_EXCLUSIVE);
	if (latest(&kind, CKF_RULE_VACUUMED, (const uint8 *) &body->stats) < since &&
		latest(&kind, CKF_RULE_ANALYZED, (const uint8 *) &body->stats) < since)
	{
		body->stats.TAB_LIVE_TUPLES = 0;
		body->stats.TAB_DEAD_TUPLES = 0;
		body->stats.TAB_MOD_SINCE_ANALYZE = 0;
		body->stats.TAB_INS_SINCE_VACUUM = 0;
	}
	LWLockRelease(&body->header.lock);
	dshash_release_lock(pgStatLocal.shared_hash, entry);
	return true;
}

int32
ckf_mark_read(uint64 mark, ckf_mark *target)
{
	const PgStat_StatFuncEntry *words = mark_words(mark);

	if (words == NULL)
		return false;
	target->state = words->FUNCTION_COUNT(numcalls);
	target->subject = words->FUNCTION_COUNT(total_time);
	target->applied = words->FUNCTION_COUNT(self_time);
	return true;
}

/* Make the mark, or change it. */
void
ckf_mark_write(uint64 mark, const ckf_mark *source)
{
	ckf_key		key = {MARK_KIND, InvalidOid, mark};
	bool		made;
	PgStatShared_HashEntry *entry = find_or_make(&key, &made);
	PgStat_StatFuncEntry *words;

	if (entry == NULL)
		return;
	words = &((PgStatShared_Function *) body_of(entry))->stats;
	words->FUNCTION_COUNT(numcalls) = source->state;
	words->FUNCTION_COUNT(total_time) = source->subject;
	words->FUNCTION_COUNT(self_time) = source->applied;
	dshash_release_lock(pgStatLocal.shared_hash, entry);
}
