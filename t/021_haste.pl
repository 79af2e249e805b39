# While commits are slow the checkpointer pauses between its fsyncs, within what is allowed. Who waits for
# a checkpoint is not kept waiting by that: from the moment when a CHECKPOINT or a DROP DATABASE asks for
# haste there are no pauses. The disk is a slow one: a library that is loaded below the server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $directory = PostgreSQL::Test::Utils::tempdir();
append_to_file("$directory/slow_disk.c", <<'C');
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

/* Of files of relations. */
int fsync(int fd)
{
	usleep(access(VERY_SLOW, F_OK) == 0 ? 200000 : 20000);
	return syscall(SYS_fsync, fd);
}

/* Of the WAL. */
int fdatasync(int fd)
{
	usleep(5000);
	return syscall(SYS_fdatasync, fd);
}
C
plan skip_all => 'there is no C compiler'
  if system("cc -shared -fPIC -O1 -DVERY_SLOW='\"$directory/very_slow\"' -o $directory/slow_disk.so "
	  . "$directory/slow_disk.c >$directory/cc.log 2>&1");

# A write phase of three seconds; a commit takes too long when it takes more than a millisecond. Pauses
# may take thirty seconds: a tenth of checkpoint_timeout.
my $node = new_node('haste', start => 0, conf => <<'CONF');
checkpoint_timeout = 300s
checkpoint_completion_target = 0.01
max_wal_size = 4GB
shared_buffers = 32MB
bgwriter_lru_maxpages = 0
wal_sync_method = fdatasync
ckptflush.target_delay = 1ms
CONF
{
	local $ENV{LD_PRELOAD} = "$directory/slow_disk.so";
	$node->start;
}
sub ask { return $node->safe_psql('postgres', shift) }
ask('CREATE EXTENSION ckptflush; CREATE TABLE commits (a int)');
ask(join ';', map { "CREATE TABLE t$_ (a int)" } 1 .. 200);
append_to_file("$directory/commit.sql", "INSERT INTO commits VALUES (1);\n");
my $load = IPC::Run::start [ 'pgbench', '-n', '-T', 600, '-f', "$directory/commit.sql", $node->connstr('postgres') ],
  '<', \undef, '&>', "$directory/pgbench.out";
$node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM commits)') or die 'pgbench does not commit';
my $paused = 'SELECT sync_pause_time FROM ckpt_stats';

# Begins a spread checkpoint over 200 files, and returns when it writes, or makes pauses between their
# fsyncs.
sub begin
{
	my ($phase) = @_;
	# On a machine that others use as well a write phase may fall behind, and then nothing pauses.
	for (1 .. 3)
	{
		my ($session, $before, $paused) = try_to_begin($phase);
		ok(1, 'there are pauses between fsyncs') if $phase eq 'syncing' && $paused;
		return ($session, $before) if $paused || $phase eq 'writing';
		$session->quit;
	}
	die 'there are no pauses between fsyncs';
}

sub try_to_begin
{
	my ($phase) = @_;
	ask('CHECKPOINT');
	ask(join ';', map { "INSERT INTO t$_ VALUES (1)" } 1 .. 200);
	my $before = ask($paused);
	my $session = ask_for_spread_checkpoint($node);
	if ($phase eq 'writing')
	{
		$node->poll_query_until('postgres', 'SELECT buffers_done > 10 FROM ckpt_stats_progress')
		  or die 'it does not write';
		return ($session, $before, 0);
	}
	# Many, not only the first ones.
	my $seen = wait_until(20, sub { ask("SELECT sync_pause_time > $before + 300 FROM ckpt_stats") eq 't' });
	return ($session, $before, $seen);
}

foreach my $case ([ 'CHECKPOINT', 'syncing' ], [ 'DROP DATABASE victim', 'syncing' ], [ 'CHECKPOINT', 'writing' ])
{
	my ($statement, $phase) = @$case;
	ask('CREATE DATABASE victim') if $statement =~ /victim/;
	my ($session) = begin($phase);
	my $began = time;
	# In one session: that of the statement takes its time to begin, and meanwhile there are pauses.
	my $before = ask("$paused; $statement");
	note sprintf '%s took %.1f s', $statement, time - $began;
	$session->quit;
	# A pause or two may have been made before the statement was there.
	cmp_ok(ask($paused) - $before, '<', 400, "$statement does not wait for pauses, asked for while $phase");
}

# Each fsync takes longer than the alarm of the write phase may ring after that: the latch that it sets
# is not taken for somebody's wish for the rest of the checkpoint.
append_to_file("$directory/very_slow", '');
my ($slow) = begin('syncing');
unlink "$directory/very_slow";
ask('CHECKPOINT');
$slow->quit;

# Left alone, they are as long as is allowed and no longer.
ask('ALTER SYSTEM SET ckptflush.sync_pace_max = 0.01');
$node->reload;
my ($session, $before) = begin('syncing');
$session->quit;
my $pauses = ask("SELECT sync_pause_time - $before FROM ckpt_stats");
cmp_ok($pauses, '>', 1000, 'nobody waits: there are pauses');
cmp_ok($pauses, '<', 3100, 'and no more of them than ckptflush.sync_pace_max allows');
is(ask('SELECT round(sync_pause_time) FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1'),
	sprintf('%.0f', $pauses), 'the history says so too');

$load->signal('TERM');
$load->finish;
$node->stop;
done_testing();
