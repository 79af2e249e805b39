# A disk that does not take the files, and a crash at each step of writing one: under its name there
# is the former file or the new one, the server does its work, and the log is not flooded. The
# trouble is made by a library that is loaded below the server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $trouble   = "$directory/trouble";
append_to_file("$directory/trouble.c", <<'C');
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

int rename(const char *from, const char *to)
{
	static int (*real)(const char *, const char *);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "rename");
	if (is_ours(to) && trouble("rename"))
		return -1;
	return real(from, to);
}
C
plan skip_all => 'there is no C compiler'
  if system("cc -shared -fPIC -O1 -o $directory/trouble.so $directory/trouble.c -ldl >$directory/cc.log 2>&1");

my $node = collecting_node('disk', start => 0);
{
	local $ENV{LD_PRELOAD} = "$directory/trouble.so";
	local $ENV{TROUBLE}    = $trouble;
	$node->start;
}
sub ask { return $node->safe_psql('postgres', shift) }
sub begin { append_to_file("$trouble.new", "$_[0]\n"); rename "$trouble.new", $trouble or die "could not rename: $!"; return }
sub end { unlink $trouble; return }
ask('CREATE EXTENSION ckptflush');
run($node, 'CREATE TABLE t (a int)');
write_files($node);
my $oid  = ask("SELECT oid FROM pg_database WHERE datname = 'postgres'");
my $path = files_directory($node) . "/$oid.cks";
my $inserted = "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 't'";

# Errors. 28: no space, 5: I/O error, 30: read-only, 13: permission denied.
my %error = (open => 30, write => 28, sync => 5, rename => 13, syncdir => 5);
my $offset = -s $node->logfile;
foreach my $call (sort keys %error)
{
	my $before = slurp_file($path);
	begin("$call $error{$call}");
	run($node, 'INSERT INTO t SELECT generate_series(1, 100)');
	my ($status, undef, $stderr) = $node->psql('postgres', 'SELECT ckpt_stats_write_database(0)');
	isnt($status, 0, "$call fails: who asks for the file is told so");
	like($stderr, qr/could not write statistics files/, 'in a clear message');
	is(slurp_file($path), $before, 'the former file is kept') if $call ne 'syncdir';
	is(join(',', grep { /\.tmp$/ } glob files_directory($node) . '/*'), '', 'no temporary file is left');
	end();
	$node->poll_query_until('postgres', "SELECT NOT pending FROM ckpt_stats_databases WHERE datid = $oid")
	  or die 'it does not come back';
	ok(1, 'and when there is no trouble any more it is written by itself');
}
my $log = slurp_file($node->logfile, $offset);
is(scalar(() = $log =~ /LOG:  could not write ckptflush statistics file/g), 1, 'the log has one line a minute');
is(ask("SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', 'the worker has no error');

# A crash at each step. What is changed is not written before it is asked for.
ask("ALTER SYSTEM SET ckptflush.collector_interval = '1h'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('ckptflush.collector_interval') = '1h'") or die 'no reload';
my $rows = ask($inserted);
foreach my $call (qw(open write sync rename syncdir))
{
	write_files($node);
	my $before = slurp_file($path);
	run($node, 'INSERT INTO t SELECT generate_series(1, 100)');
	$offset = -s $node->logfile;
	begin("$call -1");
	$node->psql('postgres', 'SELECT ckpt_stats_write_database(0)', on_error_stop => 0);
	wait_until($PostgreSQL::Test::Utils::timeout_default,
		sub { slurp_file($node->logfile, $offset) =~ /terminated by signal 9/ }) or die "$call does not crash";
	end();
	wait_until($PostgreSQL::Test::Utils::timeout_default,
		sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ }) or die 'the server does not come back';
	wait_for_restore($node);
	my $now = ask($inserted);
	ok($now == $rows || $now == $rows + 100, "crash at $call: the former file or the new one");
	is($now, $rows, 'the former one') if $call ne 'syncdir';
	unlike(slurp_file($node->logfile, $offset), qr/is damaged/, 'and none is damaged');
	$rows = $now;
}
$node->stop;

done_testing();
