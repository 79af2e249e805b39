/*
 * slowsync.c - each fdatasync takes so much longer: a disk of constant latency, for bench/group-commit.
 *
 *     cc -O2 -shared -fPIC -o slowsync.so slowsync.c
 *     LD_PRELOAD=slowsync.so SLOWSYNC_US=5000 pg_ctl start
 *
 * With wal_sync_method = fdatasync, which is Linux's default, nothing but WAL is synced by it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int
fdatasync(int fd)
{
	static int	(*real) (int);
	static long us = -1;

	if (us < 0)
	{
		const char *setting = getenv("SLOWSYNC_US");

		us = setting ? atol(setting) : 0;
		real = (int (*) (int)) dlsym(RTLD_NEXT, "fdatasync");
	}
	if (us > 0)
	{
		struct timespec wait = {us / 1000000, us % 1000000 * 1000};

		nanosleep(&wait, NULL);
	}
	return real(fd);
}
