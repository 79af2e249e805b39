# The workers come back when they are terminated, in mid-checkpoint too, and when the server has
# restarted after a crash; they do nothing while ckptflush.enabled is off; and nothing is left of
# them and their segment when the server is stopped or killed.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

# Spread checkpoints take some seconds: a pause of 100 ms after each buffer.
my $node = new_node('workers', conf => <<'CONF');
checkpoint_timeout = 1h
checkpoint_completion_target = 0.9
bgwriter_lru_maxpages = 0
restart_after_crash = on
CONF
sub ask { return $node->safe_psql('postgres', shift) }
sub set { ask("ALTER SYSTEM SET $_[0]"); $node->reload; return }
my $segment = ask('SELECT ckpt_stats_segment_path()');
my $workers = 'FROM ckpt_stats_workers';
my $rows    = 'SELECT count(*) FROM ckpt_stats_history';

# A spread checkpoint over that many tables, returned when its progress is seen.
my $serial = 0;
sub begin_checkpoint
{
	my ($tables) = @_;
	$serial++;
	ask(join ';', map { "CREATE TABLE t${serial}_$_ AS SELECT 1 AS a" } 1 .. $tables);
	my $session = ask_for_spread_checkpoint($node);
	$node->poll_query_until('postgres', 'SELECT buffers_done > 0 FROM ckpt_stats_progress')
	  or die 'no progress was seen';
	return $session;
}

# Until it is true of both.
sub wait_for_workers
{
	my ($condition) = @_;
	$node->poll_query_until('postgres', "SELECT count(*) = 3 AND bool_and($condition) $workers")
	  or die "timed out waiting for $condition";
	return;
}
sub pids { return join ',', split /\n/, ask("SELECT pid $workers ORDER BY name") }

# Terminated in mid-checkpoint.
my ($offset, $before) = (-s $node->logfile, ask($rows));
my $session = begin_checkpoint(25);
my ($id, $total, $done) = split /\|/,
  ask('SELECT checkpoint_id, buffers_total, buffers_done FROM ckpt_stats_progress');
my $pids = pids();
kill('TERM', split /,/, $pids) == 3 or die "could not signal the workers: $!";
wait_for_workers("restarts = 1 AND state = 'running' AND pid NOT IN ($pids)");
$node->poll_query_until('postgres', 'SELECT buffers_total IS NOT NULL FROM ckpt_stats_progress')
  or die 'the checkpoint was over too soon';
is(ask("SELECT checkpoint_id, cause, buffers_total, buffers_done >= $done FROM ckpt_stats_progress"),
	"$id|requested|$total|t", 'terminated: the progress goes on');
$session->quit;
wait_for_history($node, $before + 1);
my ($logged) = logged_checkpoints($node, $offset);
is(ask("SELECT cause, result, buffers_written, files_synced FROM ckpt_stats_history WHERE checkpoint_id = $id"),
	"requested|completed|$logged->{buffers}|$logged->{files}", 'and its row is that of the log');

# Switched off between checkpoints and in the middle of one, and on again: the checkpoint that ran
# meanwhile is not in the history.
$pids   = pids();
$before = ask($rows);
foreach my $when ('between', 'in mid-checkpoint')
{
	$session = begin_checkpoint(20) if $when ne 'between';
	my $syncs = ask('SELECT sum(syncs) FROM ckpt_stats_files');
	set('ckptflush.enabled = off');
	wait_for_workers("state = 'disabled'");
	is(ask("SELECT bool_and(last_active_at < pg_conf_load_time() + interval '1 s') $workers"), 't',
		"off $when: within a second");
	is(ask('SELECT count(*) FROM ckpt_stats_progress'), 0, "off $when: no progress");
	$session->quit if $when ne 'between';
	ask('CREATE TABLE off_between AS SELECT 1 AS a; CHECKPOINT') if $when eq 'between';
	is(ask('SELECT sum(syncs) FROM ckpt_stats_files'), $syncs, "off $when: no times") if $when eq 'between';
	set('ckptflush.enabled = on');
	wait_for_workers("state = 'running'");
	ask('CHECKPOINT');
	wait_for_history($node, ++$before);
	is(ask("SELECT count(*), (SELECT result FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1) "
			  . 'FROM ckpt_stats_history'),
		"$before|completed", "on again after $when: only the next one has a row");
}
is(pids(), $pids, 'all this in one life');
is(ask("SELECT DISTINCT restarts, last_error $workers"), '1|', 'without an error');
unlike(slurp_file($node->logfile), qr/DEBUG/, 'and the log level was always the user\'s');

# A backend is killed: the server starts again from nothing, the segment too.
my $generation = ask('SELECT generation FROM ckpt_stats_info');
my $victim     = $node->background_psql('postgres', on_error_stop => 0);
$offset = -s $node->logfile;
kill 'KILL', $victim->query_safe('SELECT pg_backend_pid()') or die "could not kill: $!";
$victim->{run}->finish;
# A psql that is refused before it has read its command breaks the pipe to it.
wait_until($PostgreSQL::Test::Utils::timeout_default,
	sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ })
  or die 'the server does not come back';
wait_for_workers("state = 'running' AND pid NOT IN ($pids)");
is(ask("SELECT generation - $generation, segment_path FROM ckpt_stats_info"), "1|$segment", 'crash: a new segment');
wait_for_history($node, 1);
is(ask('SELECT checkpoint_id, cause, result FROM ckpt_stats_history'), '1|end-of-recovery|completed',
	'which knows the checkpoint after recovery');
is(ask("SELECT DISTINCT restarts $workers"), 0, 'and new workers');
ok(-e $segment, 'the file is there');

# Stopped.
foreach my $mode (qw(fast immediate))
{
	$node->stop($mode);
	ok(!-e $segment, "$mode stop: the file is gone");
	$node->start;
	ok(-e $segment, 'and there again');
}

# The postmaster is killed, so nobody can tidy up.
my @workers = split /,/, pids();
my @others = split /\n/, ask('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my $inode = (stat $segment)[1];
$node->kill9;
ok(wait_until(2, sub { !grep { process_runs($_) } @workers }), 'postmaster killed: the workers are gone within 2 s');
wait_until($PostgreSQL::Test::Utils::timeout_default, sub { !grep { kill 0, $_ } $postmaster, @workers, @others })
  or die 'processes of the killed server are left';
ok(-e $segment, 'its file is still there');
$node->start;
isnt((stat $segment)[1], $inode, 'the next start replaces it');
is(ask('SELECT generation FROM ckpt_stats_info'), 1, 'by a new one');
$node->stop;
ok(!-e $segment, 'which is removed at stop');

done_testing();
