# Where the time of client backends goes: counts are exact in each protocol, the times add up to
# the time that has passed, and what fails leaves nothing open.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# Nobody else's commands: autovacuum workers are no clients, but they would delay these.
my $node = new_node('commands', conf => <<'CONF');
autovacuum = off
checkpoint_timeout = 1h
CONF
my $watcher = $node->background_psql('postgres');

# Counts and total times by command. The watcher's own commands are not in them: its session
# tracks none.
$watcher->query_safe('SET ckptflush.track_commands = off');
sub reset_counters { $watcher->query_safe("SELECT ckpt_stats_reset('counters')"); return }
sub commands
{
	my $rows = $watcher->query_safe(<<'SQL');
SELECT command, sum(count), sum(total_time) FROM ckpt_stats_commands GROUP BY 1
SQL
	my (%count, %time);
	for (split /\n/, $rows)
	{
		my ($command, $count, $time) = split /\|/;
		($count{$command}, $time{$command}) = ($count, $time);
	}
	return (\%count, \%time);
}
sub counts_are
{
	my ($expected, $what) = @_;
	my ($count) = commands();
	is($count->{$_}, $expected->{$_}, "$what: $_") for sort keys %$expected;
	return;
}

my ($clients, $each) = (4, 100);
my $n = $clients * $each;
$node->safe_psql('postgres', 'CREATE TABLE things (id int PRIMARY KEY, n int)');
$node->safe_psql('postgres', "INSERT INTO things SELECT i, 0 FROM generate_series(1, $n) i");
my $script = $node->basedir . '/script';
append_to_file($script, <<'SQL');
\set id random(1, 400)
BEGIN;
UPDATE things SET n = n + 1 WHERE id = :id;
SELECT n FROM things WHERE id = :id;
SELECT count(*) FROM things WHERE id < :id;
END;
SQL

# A transaction of the script: five messages with a statement each, three of them planned.
for my $protocol (qw(simple extended prepared))
{
	reset_counters();
	my $began = time;
	$node->run_log([ 'pgbench', '-n', '-M', $protocol, '-c', $clients, '-t', $each, '-f', $script, 'postgres' ]);
	my $passed = 1000 * (time - $began);
	my %expected = (
		execute => 3 * $n,
		utility => 2 * $n,
		commit => $n,
		wal_flush => $n,
	);
	@expected{qw(parse plan)} = (5 * $n, 3 * $n) if $protocol ne 'prepared';
	# Each client prepares its first statement, BEGIN, in a transaction of its own.
	$expected{commit} += $clients if $protocol eq 'prepared';
	counts_are(\%expected, $protocol);

	my ($count, $time) = commands();
	# pgbench's own begin and end are in the time that passed, and in nobody's.
	my $sum = 0;
	$sum += $_ for values %$time;
	cmp_ok($sum, '<=', 1.02 * $clients * $passed, "$protocol: the times do not exceed what has passed");
	cmp_ok($count->{idle}, '>=', 5 * $n - $clients, "$protocol: idle before each message but the first");
	cmp_ok($count->{bind}, '>', 0, "$protocol: bind") if $protocol ne 'simple';
	is($count->{bind}, 0, 'simple: no bind') if $protocol eq 'simple';
	my $prepared = $clients * 5;
	is($count->{parse}, $prepared, 'prepared: each statement is parsed once by each client')
	  if $protocol eq 'prepared';
}

# The times add up: one session, from a first statement to a last one.
my $session = $node->background_psql('postgres');
$session->query_safe('SELECT 1');
reset_counters();
my $began = time;
$session->query_safe('SELECT pg_sleep(0.3)');
$session->query_safe('DO $$ BEGIN PERFORM pg_sleep(0.3); END $$');
$session->query_safe('SELECT 1') for 1 .. 20;
my $passed = 1000 * (time - $began);
my (undef, $time) = commands();
my $sum = 0;
$sum += $_ for values %$time;
cmp_ok(abs($sum - $passed), '<', 0.1 * $passed, "one session: $sum ms of $passed ms");
cmp_ok($time->{execute}, '>=', 300, 'the first sleep is execution');
cmp_ok($time->{utility}, '>=', 300, 'the second one is a utility statement');
cmp_ok($time->{execute}, '<', 550, 'and not both');

# What happens inside of a statement is that statement's.
$session->query_safe(<<'SQL');
CREATE FUNCTION many() RETURNS int LANGUAGE plpgsql AS
	'DECLARE n int; BEGIN FOR i IN 1..50 LOOP EXECUTE ''SELECT count(*) FROM things'' INTO n; END LOOP; RETURN n; END'
SQL
reset_counters();
$session->query_safe('SELECT many()');
counts_are({ parse => 1, plan => 1, execute => 1, utility => 0, commit => 1, wal_flush => 0 }, 'a function');

# A procedure that commits: each transaction counts, its time is not counted twice.
$session->query_safe(<<'SQL');
CREATE PROCEDURE commits() LANGUAGE plpgsql AS
	'BEGIN FOR i IN 1..10 LOOP UPDATE things SET n = i WHERE id = 1; COMMIT; END LOOP; ROLLBACK; END'
SQL
reset_counters();
$began = time;
$session->query_safe('CALL commits()');
$passed = 1000 * (time - $began);
counts_are({ parse => 1, execute => 0, utility => 1, commit => 11, wal_flush => 10 }, 'a procedure');
(undef, $time) = commands();
cmp_ok($time->{utility} + $time->{commit} + $time->{wal_flush}, '<=', 1.02 * $passed, 'a procedure: no time is counted twice');

# Parallel workers count nothing.
$session->query_safe("SET max_parallel_workers_per_gather = 2; SET debug_parallel_query = on")
  if major_version($node) >= 16;
$session->query_safe('SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0');
like($session->query_safe('EXPLAIN SELECT count(*) FROM things'), qr/Gather/, 'a parallel plan');
reset_counters();
$session->query_safe('SELECT count(*) FROM things');
counts_are({ execute => 1, plan => 1, commit => 1 }, 'a parallel query');

# What fails: counted where it was, and what comes next is right again.
my $failing = $node->background_psql('postgres', on_error_stop => 0);
$failing->query('SELECT 1');
reset_counters();
$failing->query('SELECT 1 / (n - n) FROM things');
$failing->query('SELEC');
$failing->query('SELECT nothing FROM nowhere');
$failing->query("BEGIN");
$failing->query("SAVEPOINT s");
$failing->query("SELECT 1 / (n - n) FROM things");
$failing->query("ROLLBACK TO s");
$failing->query("SELECT many()");
$failing->query("ROLLBACK");
$failing->query('SELECT 1');
# Two that failed while they were executed, one that went well inside, and the last; of eleven
# statements one could not be parsed, and one not be analyzed: they are in "parse" as well.
counts_are({ execute => 4, utility => 4, parse => 10, commit => 1, wal_flush => 0 }, 'errors');
is($watcher->query_safe('SELECT rollbacks > 0 FROM ckpt_stats_timeline WHERE rollbacks > 0 LIMIT 1') || 't', 't', 'rollbacks');

# A cancelled statement took its time; the next one does not.
reset_counters();
$failing->query("SET statement_timeout = '300ms'");
$failing->query('SELECT pg_sleep(60)');
$failing->query('SELECT 1');
(undef, $time) = commands();
cmp_ok($time->{execute}, '>=', 290, 'a cancelled statement took its time');
cmp_ok($time->{execute}, '<', 5000, 'and no more');
counts_are({ execute => 2 }, 'a cancelled statement');

# By phase: what ends in a checkpoint is counted there.
$session->query_safe('UPDATE things SET n = n + 1');
reset_counters();
my $spread = ask_for_spread_checkpoint($node);
$node->poll_query_until('postgres', "SELECT phase = 'writing buffers' FROM ckpt_stats_progress");
reset_counters();
$session->query_safe('SELECT 1') for 1 .. 5;
is($watcher->query_safe(<<'SQL'), '5', 'in a write phase');
SELECT count FROM ckpt_stats_commands WHERE command = 'execute' AND checkpoint_phase = 'writing'
SQL
$spread->quit;

# Off for a session, by who may; off for all.
$session->query_safe('SET ckptflush.track_commands = off');
reset_counters();
$session->query_safe('SELECT 1');
counts_are({ execute => 0, commit => 0, idle => 0 }, 'track_commands = off');
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
my ($result, undef, $error) =
  $node->psql('postgres', 'SET ROLE plain; SET ckptflush.track_commands = off');
like($error, qr/permission denied to set parameter "ckptflush.track_commands"/, 'not by everybody');
$session->query_safe('SET ckptflush.track_commands = on; SELECT 1');
reset_counters();
$session->query_safe('SELECT 1');
counts_are({ execute => 1, commit => 1 }, 'on again');
# Told that it is on, which it is, and then that it is off: what comes until it is on was not idle time.
$session->query_safe("SELECT set_config('ckptflush.track_commands', v, false) FROM unnest('{on,off}'::text[]) v");
reset_counters();
$session->query_safe($_) foreach 'SELECT 1', 'SET ckptflush.track_commands = on; SELECT 1';
counts_are({ execute => 1, idle => 0 }, 'on and off at once');

$_->quit for $session, $failing, $watcher;
$node->stop;
done_testing();
