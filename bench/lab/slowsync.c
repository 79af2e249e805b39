/*
 * slowsync.c - each fdatasync, or each fsync too, takes so much longer: a disk of constant latency, for
 * bench/group-commit and bench/lab/faults.
 *
 *     cc -O2 -shared -fPIC -o slowsync.so slowsync.c
 *     LD_PRELOAD=slowsync.so SLOWSYNC_US=5000 pg_ctl start
 *     LD_PRELOAD=slowsync.so SLOWSYNC_US=5000 SLOWSYNC_FILES_US=5000 pg_ctl start
 *
 * With wal_sync_method = fdatasync, which is Linux's default, nothing but WAL is synced by fdatasync, and
 * nothing but data files, by checkpoints nearly always, by fsync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

/* A call that is delayed: as it is without us, and by how many microseconds. */
struct call
{
	const char *name;
	const char *setting;
	int			(*real) (int);
	long		us;
};

static int
delayed(struct call *call, int fd)
{
	if (!call->real)
	{
		const char *setting = getenv(call->setting);

		call->us = setting ? atol(setting) : 0;
		call->real = (int (*) (int)) dlsym(RTLD_NEXT, call->name);
	}
	if (call->us > 0)
	{
		struct timespec wait = {call->us / 1000000, call->us % 1000000 * 1000};

		nanosleep(&wait, NULL);
	}
	return call->real(fd);
}

int
fdatasync(int fd)
{
	static struct call call = {"fdatasync", "SLOWSYNC_US"};

	return delayed(&call, fd);
}

int
fsync(int fd)
{
	static struct call call = {"fsync", "SLOWSYNC_FILES_US"};

	return delayed(&call, fd);
}
