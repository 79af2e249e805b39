/*
 * hot.h - what every statement of every backend passes lies together in memory.
 *
 * Most of what the library costs a short statement is fetching it: the server's own code and the
 * client's have filled the caches since the last one. So the functions and variables of that path
 * are in two sections of their own, here and in Rust (the attribute link_section).
 */
#ifndef CKPTFLUSH_HOT_H
#define CKPTFLUSH_HOT_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#define CKF_HOT			__attribute__((section("ckf_hot")))
#define CKF_HOT_DATA	__attribute__((section("ckf_data")))
#define CKF_HIDDEN		__attribute__((visibility("hidden")))

/*
 * What that path calls and reads of the server. By their names they would be looked up in the library's
 * global offset table: another line of memory for each few of them, on a page of its own.
 */
typedef struct ckf_server
{
	TimestampTz (*statement_start) (void);
	TimestampTz (*transaction_start) (void);
	TransactionId (*xid) (void);
	const XLogRecPtr *last_record;	/* of this transaction */
} ckf_server;

extern ckf_server ckf_core CKF_HIDDEN;

/*
 * Are the steps of this process to be told of? It is asked once, when the settings have come to want
 * it: a process is watched only while ckptflush.enabled is on.
 */
typedef enum ckf_watch
{
	CKF_ASK,
	CKF_WATCHED,
	CKF_UNWATCHED
} ckf_watch;

extern ckf_watch ckf_watching CKF_HIDDEN;

/*
 * A hook that has nothing to do is best not called at all: so hooks are taken when a setting
 * asks for them and given back when it does not. What another library has taken after us stays as
 * it is: it calls ours, which passes the call on, and is then still taken. So none is ever called
 * twice, whoever comes when. "previous" is what ours calls: the server's own function if there was no
 * hook.
 */
typedef bool ckf_taken;

#define CKF_LINK(wanted, hook, ours, previous, standard, taken) \
	do { \
		if ((wanted) && !(taken)) \
		{ \
			(previous) = (hook) != NULL ? (hook) : (standard); \
			(hook) = (ours); \
			(taken) = true; \
		} \
		else if (!(wanted) && (taken) && (hook) == (ours)) \
		{ \
			(hook) = (previous) != (standard) ? (previous) : NULL; \
			(taken) = false; \
		} \
	} while (0)

#endif							/* CKPTFLUSH_HOT_H */
