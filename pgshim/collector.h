/*
 * collector.h - what the Rust side needs to read, write and drop entries of the cumulative
 * statistics (pgstat_internal.h), and the catalogs that say which of them still have an object.
 *
 * Every struct and number here is mirrored in src/pgshim/stats.rs; change both.
 */
#ifndef CKPTFLUSH_COLLECTOR_H
#define CKPTFLUSH_COLLECTOR_H

#include "postgres.h"

/* An entry's key, of the same width on every major. */
typedef struct ckf_key
{
	uint32		kind;
	uint32		database;
	uint64		object;
} ckf_key;

/* How two values of a field become one. */
typedef enum ckf_rule
{
	CKF_RULE_OPAQUE = 0,		/* not at all: what is there stays */
	CKF_RULE_ADD = 1,			/* a counter */
	CKF_RULE_LATER = 2,			/* a timestamp */
	CKF_RULE_VACUUMED = 3,		/* a timestamp: tuples were counted then, by VACUUM */
	CKF_RULE_ANALYZED = 4,		/* a timestamp: tuples were counted then, by ANALYZE */
	CKF_RULE_TUPLES = 5,		/* a gauge that both of them set anew */
	CKF_RULE_SINCE_VACUUM = 6,	/* a gauge that VACUUM sets to zero */
	CKF_RULE_SINCE_ANALYZE = 7, /* a gauge that ANALYZE sets to zero */
	CKF_RULE_TEXT = 8			/* a string: what is there stays */
} ckf_rule;

/* One field of a kind's struct. */
typedef struct ckf_field
{
	const char *name;
	uint32		offset;
	uint32		bytes;
	uint32		rule;			/* ckf_rule */
	uint32		material;		/* autovacuum or the planner of a human depends on it */
} ckf_field;

/* A kind of statistics, as this server has it. */
typedef struct ckf_kind
{
	const char *name;
	const ckf_field *fields;
	uint32		field_count;
	uint32		bytes;			/* of an entry's data */
	int32		fixed;			/* one entry, outside the hash table */
	int32		by_slot;		/* the object is the index of a replication slot */
} ckf_kind;

/* What is merged of a saved entry. */
typedef enum ckf_merge
{
	CKF_MERGE_ALL = 0,
	CKF_MERGE_MATERIAL = 1		/* only material fields: those of another server */
} ckf_merge;

/* What has become of an entry that is to be dropped. */
typedef enum ckf_dropped
{
	CKF_DROP_NONE = 0,			/* there is none */
	CKF_DROP_DONE = 1,
	CKF_DROP_IN_USE = 2			/* it is still there: somebody refers to it */
} ckf_dropped;

/* Three words that live as long as the statistics do, and are written and restored with them. */
typedef struct ckf_mark
{
	int64		state;
	int64		subject;
	int64		applied;
} ckf_mark;

/* A row of pg_database. */
typedef struct ckf_database
{
	uint32		oid;
	int32		connectable;	/* a worker can connect: not half dropped */
	char		name[64];
} ckf_database;

/* A timeline, and where the server left it for the next one. */
typedef struct ckf_timeline
{
	uint64		end;
	uint32		timeline;
} ckf_timeline;

/* What has become of an object that a file has statistics of. */
typedef enum ckf_object
{
	CKF_OBJECT_MISSING = 0,
	CKF_OBJECT_PERMANENT = 1,
	CKF_OBJECT_UNLOGGED = 2,
	CKF_OBJECT_UNKNOWN = 3		/* of a kind that has no catalog known here */
} ckf_object;

/* collector_kinds.c */
extern uint32 ckf_kind_count(void);
extern int32 ckf_kind_of(uint32 kind, ckf_kind *target);
extern uint32 ckf_kind_database(void);

/* collector.c */
extern uint64 ckf_keys(ckf_key *target, uint64 room);
extern uint64 ckf_copy(const ckf_key *keys, uint64 count, uint8 *target, uint32 bytes,
					   uint8 *found);
extern uint64 ckf_merge_entries(const ckf_key *keys, uint64 count, const uint8 *saved,
								uint32 bytes, int32 what, uint64 mark);
extern int32 ckf_drop(const ckf_key *key);
extern int32 ckf_forget_tuples(const ckf_key *key, int64 since);
extern int32 ckf_mark_read(uint64 mark, ckf_mark *target);
extern void ckf_mark_write(uint64 mark, const ckf_mark *source);

/* collector_watch.c */
extern void ckf_watch(const uint32 *databases, uint64 count);
extern void ckf_watched(uint64 from, uint64 count, uint8 *target, uint32 bytes, uint8 *found);

/* collector_fixed.c */
extern void ckf_fixed_copy(uint32 kind, uint8 *target, uint32 bytes);
extern int32 ckf_fixed_add(uint32 kind, const uint8 *saved, uint32 bytes);
extern int64 ckf_counting_since(void);
extern int32 ckf_slot_count(void);
extern int32 ckf_slot_name(int32 index, char *target);
extern int32 ckf_slot_index(const char *name);

/* collector_catalog.c */
extern void ckf_databases_watch(void);
extern int32 ckf_databases_changed(void);
extern uint64 ckf_databases(ckf_database *target, uint64 room);
extern int32 ckf_objects(const ckf_key *keys, uint64 count, uint8 *verdict);
extern void ckf_connect(uint32 database);
extern uint64 ckf_timelines(uint32 timeline, ckf_timeline *target, uint64 room);

#endif							/* CKPTFLUSH_COLLECTOR_H */
