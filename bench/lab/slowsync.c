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

static long
microseconds(const char *name)
{
	const char *setting = getenv(name);

	return setting ? atol(setting) : 0;
}

static void
wait_for(long us)
{
	if (us > 0)
	{
		struct timespec wait = {us / 1000000, us % 1000000 * 1000};

		nanosleep(&wait, NULL);
	}
}

int
fdatasync(int fd)
{
	static int	(*real) (int);
	static long us = -1;

	if (us < 0)
	{
		us = microseconds("SLOWSYNC_US");
		real = (int (*) (int)) dlsym(RTLD_NEXT, "fdatasync");
	}
	wait_for(us);
	return real(fd);
}

int
fsync(int fd)
{
	static int	(*real) (int);
	static long us = -1;

	if (us < 0)
	{
		us = microseconds("SLOWSYNC_FILES_US");
		real = (int (*) (int)) dlsym(RTLD_NEXT, "fsync");
	}
	wait_for(us);
	return real(fd);
}
