/*
 * trouble.c - below a server: calls on the files of statistics that fail, or crash it, when a test says
 * so (t/043_collector_disk.pl).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "CALL NUMBER" in the file that TROUBLE names: an error, or, negative, the end of the process. */
static int trouble(const char *call)
{
	char found[20];
	int number = 0;
	FILE *file = fopen(getenv("TROUBLE"), "r");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%19s %d", found, &number) != 2 || strcmp(found, call) != 0)
		number = 0;
	fclose(file);
	if (number < 0)
		kill(getpid(), SIGKILL);
	errno = number;
	return number;
}

static int is_ours(const char *path) { return path != NULL && strstr(path, "ckptflush/") != NULL; }

/* Of a file of ours or of their directory? */
static int is_ours_fd(int fd, int *is_directory)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return 0;
	path[length] = 0;
	*is_directory = length > 9 && strcmp(path + length - 9, "ckptflush") == 0;
	return *is_directory || is_ours(path);
}

int open64(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	va_list more;
	int mode;

	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	if (real == NULL)
		real = dlsym(RTLD_NEXT, "open64");
	if (is_ours(path) && (flags & O_CREAT) && trouble("open"))
		return -1;
	return real(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t length)
{
	static ssize_t (*real)(int, const void *, size_t);
	int is_directory;

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "write");
	if (length > 200 && is_ours_fd(fd, &is_directory))
	{
		real(fd, data, length / 2);	/* the file is torn */
		if (trouble("write"))
			return -1;
		lseek(fd, 0, SEEK_SET);
	}
	return real(fd, data, length);
}

int fsync(int fd)
{
	static int (*real)(int);
	int is_directory = 0;

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "fsync");
	if (is_ours_fd(fd, &is_directory) && trouble(is_directory ? "syncdir" : "sync"))
		return -1;
	return real(fd);
}

int unlink(const char *path)
{
	static int (*real)(const char *);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "unlink");
	if (is_ours(path) && trouble("unlink"))
		return -1;
	return real(path);
}

int rename(const char *from, const char *to)
{
	static int (*real)(const char *, const char *);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "rename");
	if (is_ours(to) && trouble("rename"))
		return -1;
	return real(from, to);
}
