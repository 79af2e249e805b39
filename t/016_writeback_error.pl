# Data that cannot be written to the device lead to the same end as without the library: with
# data_sync_retry = off the server panics, with on the checkpoint fails; in no case it completes, and
# a server that has panicked recovers everything. The error is one of a library that is loaded below
# the server: writeback and syncs of one file fail while there is a file that says which.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $bad       = "$directory/bad_inode";
append_to_file("$directory/bad_disk.c", <<'C');
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Is it the file whose inode number is in the file that BAD_INODE names? */
static int is_bad(int fd)
{
	unsigned long bad = 0;
	struct stat found;
	FILE *file = fopen(getenv("BAD_INODE"), "r");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%lu", &bad) != 1)
		bad = 0;
	fclose(file);
	errno = EIO;
	return fstat(fd, &found) == 0 && found.st_ino == bad;
}

int sync_file_range(int fd, off_t offset, off_t bytes, unsigned int flags)
{
	return is_bad(fd) ? -1 : syscall(SYS_sync_file_range, fd, offset, bytes, flags);
}

int fsync(int fd)
{
	return is_bad(fd) ? -1 : syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return is_bad(fd) ? -1 : syscall(SYS_fdatasync, fd);
}
C
plan skip_all => 'there is no C compiler'
  if system("cc -shared -fPIC -O1 -o $directory/bad_disk.so $directory/bad_disk.c >$directory/cc.log 2>&1");

# A server with this disk. A write phase of six seconds.
sub start_server
{
	my ($name, %option) = @_;
	my $node = new_node($name, start => 0, preload => $option{preload}, conf => <<"CONF");
checkpoint_timeout = 300s
checkpoint_completion_target = 0.02
checkpoint_flush_after = 64kB
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
log_line_prefix = '%m [%p] %b '
data_sync_retry = $option{retry}
CONF
	local $ENV{LD_PRELOAD} = "$directory/bad_disk.so";
	local $ENV{BAD_INODE}  = $bad;
	$node->start;
	return $node;
}

# What a spread checkpoint ends with when the device fails under it, in the words of the log: the
# worst, who said so, and whether the checkpoint completed.
sub fate
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large (filler text);
ALTER TABLE large ALTER filler SET STORAGE plain;
CHECKPOINT;
INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 3000);
SQL
	my $path = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('large')");
	my $offset = -s $node->logfile;
	# Asked for first: whoever writes back may find the error before a session could begin.
	my $session = ask_for_spread_checkpoint($node);
	append_to_file($bad, (stat $path)[1] . "\n");
	$node->wait_for_log(qr/(?:PANIC|ERROR):/, $offset);
	my $log = slurp_file($node->logfile, $offset);
	my %said;
	$said{$2}{$3} = $1 while $log =~ /^\S+ \S+ \S+ \[\d+\] ([^:]*?) (WARNING|ERROR|PANIC):  (could not \w+).*Input\/output error/mg;
	$session->quit if $said{ERROR};
	$session->{run}->finish if !$said{ERROR};
	unlink $bad or die "could not remove $bad: $!";
	return (\%said, $log =~ /checkpoint complete/ ? 1 : 0);
}

foreach my $retry (qw(off on))
{
	foreach my $preload ('ckptflush', '')
	{
		my $name = ($preload || 'stock') . ", data_sync_retry = $retry";
		my $node = start_server(($preload || 'stock') . "_$retry", preload => $preload, retry => $retry);
		if ($preload)
		{
			local $ENV{LD_PRELOAD};
			$node->safe_psql('postgres', 'CREATE EXTENSION ckptflush');
			plan skip_all => 'the kernel has no sync_file_range here'
			  if $node->safe_psql('postgres', 'SELECT sync_file_range FROM ckpt_stats_info') ne 't';
		}
		my ($said, $completed) = fate($node);
		my $who = $preload ? 'ckptflush flusher' : 'checkpointer';
		is($completed, 0, "$name: the checkpoint does not complete");
		if ($retry eq 'off')
		{
			is_deeply($said, { PANIC => { 'could not flush' => $who } }, "$name: the server panics");
			ok(wait_until(60, sub { !-e $node->data_dir . '/postmaster.pid' }), "$name: and ends");
			$node->stop('fast', fail_ok => 1);
			$node->start;
		}
		else
		{
			is_deeply($said,
				{ WARNING => { 'could not flush' => $who }, ERROR => { 'could not fsync' => 'checkpointer' } },
				"$name: the checkpoint fails");
		}
		is($node->safe_psql('postgres', 'CHECKPOINT; SELECT count(*) FROM large'), 3000, "$name: all is there afterwards");
		$node->stop;
	}
}

done_testing();
