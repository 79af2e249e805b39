# Stalls are found, with their length, phase and wait, while they last and afterwards; an idle
# server has none. Waits and the timeline show the same.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = new_node('stalls', conf => <<'CONF');
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
# A disk that takes a rest is no stall that this test has made.
synchronous_commit = off
CONF
sub ask { return $node->safe_psql('postgres', shift) }

# Commits of a few clients, at a moderate rate, in the background.
sub start_load
{
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-R', 200, '-c', 4, '-T', 600, '-N', 'dbname=postgres application_name=load' ],
		'>', '/dev/null', '2>', '/dev/null');
	# Ten seconds of it are what a pause is held against.
	$node->poll_query_until('postgres', <<'SQL') or die 'no commits';
SELECT count(*) >= 3 FROM ckpt_stats_timeline WHERE commits > 100
SQL
	return $load;
}

sub clients { return split /\n/, ask(<<'SQL') }
SELECT pid FROM pg_stat_activity WHERE application_name = 'load'
SQL
my $stall = 'FROM ckpt_stats_stalls ORDER BY started_at DESC LIMIT 1';

ask('CREATE TABLE large (filler text); ALTER TABLE large ALTER filler SET STORAGE plain');
$node->run_log([ 'pgbench', '-i', '-q', 'postgres' ]);
my $load = start_load();
is(ask('SELECT count(*) FROM ckpt_stats_stalls'), 0, 'no stall under an even load');

# All clients are stopped, outside of a checkpoint: what they were doing does not go on.
my @pids = clients();
is(@pids, 4, 'clients');
# At the moment of the stop some must be at work, or it is a pause of the clients.
my $held = $node->background_psql('postgres');
$held->query_safe('BEGIN; LOCK TABLE pgbench_history IN ACCESS EXCLUSIVE MODE');
my $began = time;
$node->poll_query_until('postgres', 'SELECT ongoing FROM ckpt_stats_stalls') or die 'no stall';
cmp_ok(time - $began, '<', 2, 'a stall is shown within two seconds');
my ($wait, $phase, $rate, $active) = split /\|/,
  ask("SELECT top_wait_event_type || ':' || top_wait_event, checkpoint_phase, commits_before, active_backends $stall");
is($wait, 'Lock:relation', 'what they wait for');
is($phase, 'none', 'no checkpoint');
# Whatever the machine gave: between the fewest and the most of the seconds that it is the mean of.
is(ask(<<"SQL"), 't', "commits before it: $rate a second");
SELECT $rate BETWEEN 0.9 * min(commits) AND 1.1 * max(commits) AND max(commits) > 100 FROM ckpt_stats_timeline
WHERE at >= (SELECT started_at $stall) - interval '12 seconds'
SQL
cmp_ok($active, '>=', 3, 'clients that wait');
sleep 0.1 while time - $began < 1;
my $released = time;
$held->query_safe('COMMIT');
my $length = 1000 * ($released - $began);
$node->poll_query_until('postgres', 'SELECT bool_and(NOT ongoing) FROM ckpt_stats_stalls') or die 'no end';
my $seen = ask("SELECT stalled_time $stall");
cmp_ok(abs($seen - $length), '<', 150, "its length: $seen ms of $length ms");
is(ask('SELECT stalls, stalled_time > 0 FROM ckpt_stats'), '1|t', 'it is counted');
cmp_ok(ask('SELECT samples FROM ckpt_stats_waits WHERE wait_event_type = $$Lock$$ AND wait_event = $$relation$$'),
	'>', 100, 'its samples are among the waits');

# In a checkpoint, and exactly: the processes are stopped and go on.
ask("INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 2000)");
my $spread = ask_for_spread_checkpoint($node);
$node->poll_query_until('postgres', 'SELECT buffers_done > 10 FROM ckpt_stats_progress') or die;
my $id = ask('SELECT checkpoint_id FROM ckpt_stats_progress');
$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM ckpt_stats_stalls WHERE ongoing');
my $lock = $node->background_psql('postgres');
$lock->query_safe('BEGIN; LOCK TABLE pgbench_history IN ACCESS EXCLUSIVE MODE');
# All of them wait now; from here on nothing of theirs moves, not even when the lock is gone.
$node->poll_query_until('postgres', <<'SQL') or die 'not all wait';
SELECT count(*) = 4 FROM pg_stat_activity WHERE application_name = 'load' AND wait_event_type = 'Lock'
SQL
kill 'STOP', @pids;
# The last commit for a while: that of the lock is logged for standbys.
$lock->query_safe('COMMIT');
my $last = time;
sleep 0.7;
kill 'CONT', @pids;
my $on = time;
# On a busy machine there may be others.
my $this = "FROM ckpt_stats_stalls WHERE NOT ongoing AND extract(epoch FROM started_at) BETWEEN $last - 0.5 AND $on ORDER BY stalled_time DESC LIMIT 1";
$node->poll_query_until('postgres', "SELECT stalled_time > 500 $this") or die 'no second one';
my ($time, $in, $of, $end) = split /\|/,
  ask("SELECT stalled_time, checkpoint_phase, checkpoint_id, extract(epoch FROM started_at) + stalled_time / 1000 $this");
cmp_ok($time, '>=', 1000 * ($on - $last) - 50, "at least as long as they were stopped: $time ms");
cmp_ok(abs($end - $on), '<', 0.1, 'it ends when they go on');
is($in, 'writing', 'in a write phase');
is($of, $id, 'of that checkpoint');
$lock->quit;

# The history has it, and the timeline.
ask('CHECKPOINT');
$spread->quit;
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ckpt_stats_history WHERE checkpoint_id = $id") or die;
is(ask(<<"SQL"), 't|t|t|t|t', 'what the checkpoint did to the transactions');
SELECT stalled_time >= 600, commits > 0, longest_transaction_time >= 650,
	transaction_p999_time >= transaction_p99_time, outside_p99_time > 0
FROM ckpt_stats_history WHERE checkpoint_id = $id
SQL
$node->poll_query_until('postgres', "SELECT max(at) > to_timestamp($end) FROM ckpt_stats_timeline") or die;
cmp_ok(abs(ask('SELECT sum(stalled_time) - (SELECT sum(stalled_time) FROM ckpt_stats_stalls) FROM ckpt_stats_timeline')),
	'<', 1, 'and the timeline: the time of both stalls');
is(ask(<<"SQL"), 't|t|t', 'a second is a row');
SELECT count(*) > 5, count(DISTINCT at) = count(*), max(longest_transaction_time) >= 650
FROM ckpt_stats_timeline
SQL
is(ask('SELECT count(*) FROM ckpt_stats_timeline WHERE NOT transaction_p99_time <= longest_transaction_time'),
	0, 'a percentile is below the longest');

# Nobody commits because nobody wants to.
my $all = 'SELECT stalls + (SELECT count(*) FROM ckpt_stats_stalls WHERE ongoing) FROM ckpt_stats';
my $before = ask($all);
$load->kill_kill;
$node->poll_query_until('postgres', <<'SQL') or die 'no quiet seconds';
SELECT count(*) = 3 FROM (SELECT commits FROM ckpt_stats_timeline ORDER BY at DESC LIMIT 3) s WHERE commits < 20
SQL
is(ask($all), $before, 'no stall of an idle server');

# A worker that dies in a stall leaves none that goes on for ever.
ask("SELECT ckpt_stats_reset('timeline')");
$load = start_load();
$held->query_safe('BEGIN; LOCK TABLE pgbench_history IN ACCESS EXCLUSIVE MODE');
$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM ckpt_stats_stalls WHERE ongoing') or die 'no stall';
kill 'TERM', ask("SELECT pid FROM ckpt_stats_workers WHERE name = 'ckptflush monitor'");
$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM ckpt_stats_stalls WHERE ongoing') or die 'it goes on';
ok(1, 'a stall ends with its worker');
$held->query_safe('COMMIT');

# Resets.
ask("SELECT ckpt_stats_reset('timeline')");
is(ask('SELECT count(*) FROM ckpt_stats_stalls'), 0, 'stalls are reset with the timeline');
is(ask('SELECT count(*) < 3 FROM ckpt_stats_timeline'), 't', 'the timeline begins again');
my $samples = ask('SELECT sum(samples) FROM ckpt_stats_waits');
ask("SELECT ckpt_stats_reset('waits')");
cmp_ok(ask('SELECT coalesce(sum(samples), 0) FROM ckpt_stats_waits'), '<', $samples / 2, 'the waits begin again');
is(ask(<<'SQL'), '', 'shares are of a type in a phase');
SELECT backend_type, checkpoint_phase FROM ckpt_stats_waits
GROUP BY 1, 2 HAVING abs(sum(share) - 1) > 0.001
SQL

$load->kill_kill;
$held->quit;
$node->stop;
done_testing();
