/*
 * commit.h - what the Rust side needs for group commit: the state of a commit, the wait for its
 * durability, and hooks where a reader is about to tell what it has seen.
 *
 * Every struct and number here is mirrored in src/pgshim/commit.rs; change both.
 */
#ifndef CKPTFLUSH_COMMIT_H
#define CKPTFLUSH_COMMIT_H

#include "postgres.h"

/* What the transaction that is about to commit would wait for. */
typedef struct ckf_commit
{
	int32		writes;			/* it has an xid */
	int32		logged;			/* it has written WAL */
	int32		level;			/* synchronous_commit */
	int32		synced;			/* fsync is on */
	int32		standby;		/* it waits for a synchronous standby */
	int32		applies;		/* the process replays a subscription */
} ckf_commit;

/* Up to where something must be durable: flushed here, and as far as standbys are asked for. */
typedef struct ckf_durable
{
	uint64		flush;
	uint64		standby;
} ckf_durable;

/*
 * Called at the ends of transactions. After the commit record an ERROR is a PANIC, so none of them
 * raises.
 */
typedef struct ckf_transactions
{
	const bool *enabled;		/* the setting */
	const int32 *depth;			/* statements around the transaction's end */
	void		(*commits) (void);	/* about to make its record */
	void		(*prepares) (void);
	int32		(*committed) (void);	/* visible; whether to call "released" */
	void		(*released) (void);	/* nobody waits for its locks any more */
	void		(*plain) (void);	/* as "commits", if it commits nothing: before "committed" */
	/* both for that, if it waits for nothing either: when its message came, and it began */
	void		(*plain_committed) (int64 message, int64 began);
	void		(*prepared) (void);
	void		(*aborted) (void);
} ckf_transactions;

/* Whether this process may tell only what is durable; what that is now; and that it is. */
typedef struct ckf_reader
{
	const int32 *level;			/* the setting, and the value with which it is so */
	int32		strict;
	void		(*target) (ckf_durable *target);
	void		(*waited) (void);
} ckf_reader;

extern void ckf_commit_facts(ckf_commit *facts);
extern int32 ckf_has_logged(void);
extern void ckf_set_commit_level(int32 level);
extern uint64 ckf_commit_end(void);
extern int32 ckf_commit_flushes(void);
extern int32 ckf_took_snapshot(void);
extern uint64 ckf_insert_end(void);
extern uint64 ckf_flush_end(void);
extern int32 ckf_is_durable(const ckf_durable *target);
extern void ckf_wait_durable(const ckf_durable *target);
extern void ckf_wait_seen(const ckf_durable *target);
extern void ckf_watch_transactions(const ckf_transactions *callbacks);
extern void ckf_set_in_flight(const uint64 *words);
extern void ckf_watch_readers(const ckf_reader *reader);
extern void ckf_link_readers(int32 level);

#endif							/* CKPTFLUSH_COMMIT_H */
