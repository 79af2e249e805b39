# When there is nothing for it to do, the flusher does nothing: with fsync = off, and with
# ckptflush.enabled = off, which ends all activity within a second, in mid-checkpoint too.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

# A write phase of six seconds.
my $node = new_node('idle', conf => <<'CONF');
fsync = off
checkpoint_timeout = 300s
checkpoint_completion_target = 0.02
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
CONF
sub ask { return $node->safe_psql('postgres', shift) }
sub set { ask("ALTER SYSTEM SET $_[0]"); $node->reload; return }
sub wait_for
{
	my ($condition) = @_;
	$node->poll_query_until('postgres', "SELECT $condition") or die "timed out waiting for: $condition";
	return;
}
plan skip_all => 'the kernel has no sync_file_range here'
  if ask('SELECT sync_file_range FROM ckpt_stats_info') ne 't';
ask('CREATE TABLE large (filler text); ALTER TABLE large ALTER filler SET STORAGE plain');

# A spread checkpoint over 2000 pages, when some are written.
sub begin
{
	ask("TRUNCATE large; CHECKPOINT; INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 2000)");
	my $session = ask_for_spread_checkpoint($node);
	wait_for('buffers_done > 10 FROM ckpt_stats_progress');
	return $session;
}
my $written_back = 'SELECT writeback_bytes, writeback_calls FROM ckpt_stats';
my $flusher = 'SELECT state, takeover, queue_bytes, rate_bytes FROM ckpt_stats_flush';
my $workers = 'FROM ckpt_stats_workers';

# Nobody cares when it is on the device.
my $session = begin();
is(ask($flusher), 'off|f||', 'fsync = off: the flusher is off');
$session->quit;
ask('CREATE INDEX ON large (length(filler))');
is(ask($written_back), '0|0', 'fsync = off: nothing is written back');
is(ask("SELECT state, last_error $workers WHERE name = 'ckptflush flusher'"), 'running|', 'fsync = off: the worker is there');

# Somebody does.
set('fsync = on');
wait_for("state <> 'off' FROM ckpt_stats_flush");
$session = begin();
wait_for('takeover FROM ckpt_stats_flush');
wait_for('writeback_bytes > 0 FROM ckpt_stats');
ok(1, 'fsync = on: it takes over the next checkpoint');

# Off in the middle of it.
set('ckptflush.enabled = off');
wait_for("bool_and(state = 'disabled') $workers");
is(ask("SELECT count(*) FILTER (WHERE last_active_at < pg_conf_load_time() + interval '1 s') $workers"), 3,
	'enabled = off: all workers stop within a second');
is(ask($flusher), 'off|f||', 'enabled = off: the flusher is off');
my $before = ask($written_back);

# They do not even wake up: not at the end of this checkpoint, nor in another, nor for new files.
sub switches
{
	return join ' ', map { slurp_file("/proc/$_/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m }
	  split /\n/, ask("SELECT pid $workers ORDER BY name");
}
my $switches = switches();
$session->quit;
ask("TRUNCATE large; INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 2000)");
ask_for_spread_checkpoint($node)->quit;
ask('CREATE TABLE other AS SELECT * FROM large; DROP TABLE other; CHECKPOINT');
is(switches(), $switches, 'enabled = off: the workers sleep through all of it');
is(ask($written_back), $before, 'enabled = off: nothing is written back');

# On again.
set('ckptflush.enabled = on');
wait_for("bool_and(state = 'running') $workers");
isnt(switches(), $switches, 'enabled = on: they are awake');
wait_for("state = 'idle' OR state = 'draining' FROM ckpt_stats_flush");
$session = begin();
wait_for('takeover FROM ckpt_stats_flush');
ok(1, 'enabled = on: it takes over the next checkpoint');
ask('CHECKPOINT');
$session->quit;

$node->stop;
done_testing();
