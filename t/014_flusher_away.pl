# While the flusher is away the checkpointer does its own writeback, as PostgreSQL does; when it is
# back the checkpointer leaves that to it again. Stopped, terminated and switched off in
# mid-checkpoint, with strace looking at what the checkpointer calls.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;
use Trace;

# A write phase of 30 seconds, which the test cuts short when it has seen enough, with 300 pages a
# second. The checkpointer's own writeback would come every eight of them.
my $node = new_node('away', conf => <<'CONF');
checkpoint_timeout = 300s
checkpoint_completion_target = 0.1
checkpoint_flush_after = 64kB
max_wal_size = 4GB
shared_buffers = 256MB
bgwriter_lru_maxpages = 0
CONF
sub ask { return $node->safe_psql('postgres', shift) }
sub set { ask("ALTER SYSTEM SET $_[0]"); $node->reload; return }
plan skip_all => 'the kernel has no sync_file_range here'
  if ask('SELECT sync_file_range FROM ckpt_stats_info') ne 't';

ask(<<'SQL');
CREATE TABLE large (filler text);
ALTER TABLE large ALTER filler SET STORAGE plain;
CHECKPOINT;
INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 10000);
SQL
my $worker = "FROM ckpt_stats_workers WHERE name = 'ckptflush flusher'";
my $pid    = ask("SELECT pid $worker");
my $trace  = Trace->attach(ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"),
	'pwrite64,sync_file_range');

sub wait_for_state
{
	my ($state) = @_;
	$node->poll_query_until('postgres', "SELECT state = '$state' FROM ckpt_stats_flush")
	  or die "timed out waiting for the state $state";
	return;
}

# Whether it comes to be so that the checkpointer has written 200 pages since its last writeback.
sub leaves_it_to_the_flusher
{
	return wait_until(10, sub {
		my $writes = 0;
		foreach my $call (reverse $trace->calls)
		{
			last if $call =~ /sync_file_range\(/;
			$writes++ if $call =~ /pwrite64\(/;
		}
		return $writes >= 200;
	});
}

# Whether it comes to write back after what was seen so far, more than once.
sub does_it_itself
{
	my $seen = $trace->count('sync_file_range');
	return wait_until(10, sub { $trace->count('sync_file_range') > $seen + 5 });
}

sub in_the_write_phase
{
	my ($name) = @_;
	is(ask('SELECT phase FROM ckpt_stats_progress'), 'writing buffers', "$name: in the write phase");
	return;
}

wait_for_state('idle');
my ($offset, $rows) = (-s $node->logfile, ask('SELECT count(*) FROM ckpt_stats_history'));
my $session = ask_for_spread_checkpoint($node);
wait_for_state('following');
SKIP:
{
	skip $Trace::why_not, 2 if !$trace;
	ok(leaves_it_to_the_flusher(), 'with the flusher: the checkpointer writes on');
	is($trace->count('sync_file_range'), 0, 'and starts no writeback');
}
in_the_write_phase('with the flusher');

# It hangs.
kill 'STOP', $pid or die "could not stop the flusher: $!";
wait_for_state('off');
is(ask('SELECT takeover, writeback_bytes > 0 FROM ckpt_stats_flush, ckpt_stats'), 'f|t', 'stopped: no takeover');
is(ask("SELECT pid, last_active_at < now() - interval '0.5 s' $worker"), "$pid|t", 'stopped: its row tells since when');
SKIP:
{
	skip $Trace::why_not, 1 if !$trace;
	ok(does_it_itself(), 'stopped: the checkpointer does it itself');
}
in_the_write_phase('stopped');
kill 'CONT', $pid or die "could not wake the flusher: $!";
wait_for_state('following');
SKIP:
{
	skip $Trace::why_not, 1 if !$trace;
	ok(leaves_it_to_the_flusher(), 'it goes on: the checkpointer leaves it to it again');
}
in_the_write_phase('it goes on');

# Switched off, and on again.
set('ckptflush.flush = off');
SKIP:
{
	skip $Trace::why_not, 1 if !$trace;
	ok(does_it_itself(), 'switched off: the checkpointer does it itself');
}
wait_for_state('off');
in_the_write_phase('switched off');
set('ckptflush.flush = on');
wait_for_state('following');
SKIP:
{
	skip $Trace::why_not, 1 if !$trace;
	ok(leaves_it_to_the_flusher(), 'switched on: the checkpointer leaves it to it again');
}
in_the_write_phase('switched on');

# Terminated: another one goes on with what is left.
kill 'TERM', $pid or die "could not terminate the flusher: $!";
$node->poll_query_until('postgres', "SELECT state = 'running' AND pid <> $pid $worker") or die 'it does not come back';
is(ask("SELECT restarts, last_error $worker"), '1|', 'terminated: a new one is there');
wait_for_state('following');
my $bytes = ask('SELECT writeback_bytes FROM ckpt_stats');
$node->poll_query_until('postgres', "SELECT writeback_bytes > $bytes FROM ckpt_stats") or die 'it does nothing';
in_the_write_phase('terminated');

# The rest in haste, and one more that is immediate from the start: it is no matter of the flusher.
ask('CHECKPOINT');
$session->quit;
wait_for_history($node, $rows + 2);
my ($spread) = logged_checkpoints($node, $offset);
is("$spread->{flags} $spread->{complete}", 'force wait 1', 'the checkpoint completes');
is(ask('SELECT takeover FROM ckpt_stats_flush'), 'f', 'and nothing is left of the takeover');
ask('UPDATE large SET filler = filler WHERE ctid < \'(100,0)\'');
SKIP:
{
	skip $Trace::why_not, 1 if !$trace;
	my $seen = $trace->count('sync_file_range');
	ask('CHECKPOINT');
	cmp_ok($trace->count('sync_file_range'), '>', $seen + 5, 'an immediate one: the checkpointer does it itself');
	$trace->detach;
}

$node->stop;
unlike(slurp_file($node->logfile), qr/(WARNING|ERROR|FATAL|PANIC):/, 'no word of all this in the log');
done_testing();
