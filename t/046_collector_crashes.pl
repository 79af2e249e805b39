# Crashes in the middle of work: what comes back is what was counted up to the last round of the
# collector, each number once; the numbers of a table fit together; and autovacuum goes on with the
# dead rows that it was about to remove. CKPTFLUSH_COLLECTOR_CRASHES says how often in each of three ways;
# unless it is set, once in two of them. If it is set, the times must hold too: they are those of a machine
# with nothing else to do.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $crashes = $ENV{CKPTFLUSH_COLLECTOR_CRASHES};
my ($interval, $naptime) = (1, 1);
my $node = collecting_node('crashes', conf => <<"CONF");
autovacuum = on
autovacuum_naptime = ${naptime}s
max_prepared_transactions = 1
CONF
sub ask { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
ask("CREATE DATABASE $_") foreach qw(bench tended);
run($node, <<'SQL');
CREATE FUNCTION called() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE TABLE log (at timestamptz DEFAULT clock_timestamp(), n int) WITH (autovacuum_enabled = off);
CREATE TABLE changed (id bigserial PRIMARY KEY, n int) WITH (autovacuum_enabled = off);
CREATE TABLE cared WITH (autovacuum_enabled = off) AS SELECT generate_series(1, 100) AS a;
SQL
# While this is open no page is pruned, so that each dead row is counted until a VACUUM.
ask("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'before'");
run($node, 'CREATE EXTENSION ckptflush; CREATE TABLE worn (a int)', 'tended');
my $tended = ask("SELECT oid FROM pg_database WHERE datname = 'tended'");
$node->command_ok([ 'pgbench', '-i', '-q', $node->connstr('bench') ], 'there is something to do');

my $script = PostgreSQL::Test::Utils::tempdir() . '/dml.sql';
append_to_file($script, <<'SQL');
INSERT INTO log (n) SELECT called();
INSERT INTO changed (n) VALUES (1) RETURNING id \gset
UPDATE changed SET n = n + 1 WHERE id = :id;
INSERT INTO changed (n) VALUES (1) RETURNING id \gset
DELETE FROM changed WHERE id = :id;
SQL
sub start_load
{
	return map { IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 600, @$_ ], '<', \undef, '&>', '/dev/null') }
	  [ '-R', 200, '-f', $script, $node->connstr('postgres') ], [ $node->connstr('bench') ];
}

# Numbers that only grow, by name.
sub growing
{
	my %number;
	@number{qw(log calls)} = split /\|/, ask(<<'SQL');
SELECT n_tup_ins, (SELECT calls FROM pg_stat_user_functions WHERE funcname = 'called') FROM pg_stat_user_tables WHERE relname = 'log'
SQL
	@number{qw(history database)} = split /\|/, ask(<<'SQL', 'bench');
SELECT n_tup_ins, (SELECT tup_inserted FROM pg_stat_database WHERE datname = 'bench')
FROM pg_stat_user_tables WHERE relname = 'pgbench_history'
SQL
	$_ ||= 0 foreach values %number;
	return \%number;
}

# How many there are of what they count; the database has a row for each of the history's, and few others.
sub counted
{
	my %number;
	$number{log} = $number{calls} = ask('SELECT count(*) FROM log');
	$number{history} = $number{database} = ask('SELECT count(*) FROM pgbench_history', 'bench');
	return \%number;
}
sub cared { return grep { /^cared\|/ } split /\n/, tables_of($node) }

my (%missing, @ages, @naps);
my ($before, $there) = (growing(), counted());
$missing{$_} = $there->{$_} - $before->{$_} foreach keys %$there;

sub crash_once
{
	my ($way, $name) = @_;
	# Autovacuum cannot have this table until the server goes down.
	my $holder = $node->background_psql('tended');
	$holder->query_safe('BEGIN; LOCK TABLE worn IN SHARE UPDATE EXCLUSIVE MODE');
	run($node, 'INSERT INTO worn SELECT generate_series(1, 3000); DELETE FROM worn', 'tended');
	my $of_worn = "FROM pg_stat_user_tables WHERE relname = 'worn'";
	my $vacuums = ask("SELECT autovacuum_count $of_worn", 'tended');
	ask("SELECT ckpt_stats_write_database($tended)");

	my @load = start_load();
	$node->poll_query_until('postgres', "SELECT n_tup_ins > $before->{log} + 50 FROM pg_stat_user_tables WHERE relname = 'log'")
	  or die 'nothing is counted';
	run($node, $_) foreach 'UPDATE cared SET a = a + 1', 'VACUUM cared', 'ANALYZE cared', 'UPDATE cared SET a = a + 1 WHERE a <= 20';
	my ($cared) = cared();
	my ($least, $now) = (growing(), ask('SELECT clock_timestamp()'));
	$node->poll_query_until('postgres', <<"SQL") or die 'nothing is written';
SELECT count(*) = 2 FROM ckpt_stats_databases WHERE datname IN ('postgres', 'bench') AND last_write_at > '$now'
SQL
	# At any moment of a round.
	sleep(rand($interval)) if $crashes;
	if    ($way eq 'all')     { crash_all($node); $node->start }
	elsif ($way eq 'backend') { crash_backend($node) }
	else                      { $node->stop('immediate'); $node->start }
	$holder->{run}->kill_kill;
	$_->finish foreach @load;
	wait_for_restore($node);

	my ($found, $count) = (growing(), counted());
	foreach my $what (sort keys %$found)
	{
		my $most = $count->{$what} - $missing{$what} + ($what eq 'database' ? 100 : 0);
		cmp_ok($found->{$what}, '>=', $least->{$what}, "$name: $what is not older than the last round");
		cmp_ok($found->{$what}, '<=', $most, "$name: $what is not counted twice");
	}
	push @ages, ask("SELECT extract(epoch FROM (SELECT max(at) FROM log) - at) FROM log ORDER BY at LIMIT 1 OFFSET "
		  . ($found->{log} + $missing{log} - 1));
	$missing{$_} = $count->{$_} - $found->{$_} foreach qw(log calls history);
	$missing{database} = $count->{database} - $found->{database};
	$before = $found;
	is((cared())[0], $cared, "$name: a table that was vacuumed and analyzed");
	is(ask(<<'SQL'), 't|t|t|t', "$name: numbers of rows fit together");
SELECT n_live_tup = n_tup_ins - n_tup_del, n_dead_tup = n_tup_upd + n_tup_del,
	n_mod_since_analyze = n_tup_ins + n_tup_upd + n_tup_del, n_ins_since_vacuum = n_tup_ins
FROM pg_stat_user_tables WHERE relname = 'changed'
SQL
	$node->poll_query_until('tended', "SELECT autovacuum_count > $vacuums $of_worn") or die 'autovacuum is blind';
	push @naps, ask(<<"SQL", 'tended');
SELECT extract(epoch FROM last_autovacuum - restored_at) FROM pg_stat_user_tables, ckpt_stats_databases
WHERE relname = 'worn' AND datname = current_database()
SQL
	# It comes again if somebody's snapshot was in the way.
	$node->poll_query_until('tended', "SELECT n_dead_tup = 0 $of_worn") or die 'autovacuum leaves dead rows';
	ok(1, "$name: autovacuum acts");
	return;
}

foreach my $number (1 .. $crashes // 1)
{
	crash_once($_, "$_ $number") foreach 'all', $crashes ? 'immediate' : (), 'backend';
}
@ages = sort { $a <=> $b } @ages;
@naps = sort { $a <=> $b } @naps;
note "counted before the crash and lost: $ages[$#ages / 2] s in the middle, $ages[-1] s at most";
note "from restored to vacuumed: $naps[$#naps / 2] s in the middle, $naps[-1] s at most";
if ($crashes)
{
	# A session tells its numbers a second after it told others (pgstat.c:PGSTAT_MIN_INTERVAL).
	cmp_ok($ages[-1], '<=', $interval + 1 + 0.5, 'nothing is older than the interval');
	cmp_ok($naps[-1], '<=', 2 * $naptime, 'autovacuum acts within two naptimes');
}
is(ask("SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', 'all this without an error');
$node->stop;
no_fatal($node);

done_testing();
