# Objects come and go, and the server crashes in between: what is gone has no statistics after that,
# and a new object that gets its OID begins with nothing. CKPTFLUSH_COLLECTOR_DDL is the number of
# DDL statements: 400 unless set.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $operations = $ENV{CKPTFLUSH_COLLECTOR_DDL} // 400;
my $node = collecting_node('ddl', conf => "synchronous_commit = off\n");
sub ask { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
# 18 has wider object identifiers.
my $type = major_version($node) < 18 ? 'oid' : 'bigint';
my $directory = PostgreSQL::Test::Utils::tempdir();
ask('CREATE SEQUENCE done');

# Ten statements; what is "kept" stays until somebody draws its number again.
append_to_file("$directory/objects.sql", <<'SQL');
\set n random(1, 40)
SELECT pg_advisory_lock(:n);
DROP TABLE IF EXISTS t:client_id;
DROP TABLE IF EXISTS kept:n, unlogged:n;
DROP FUNCTION IF EXISTS f:n();
CREATE TABLE t:client_id AS SELECT generate_series(1, 20) AS a;
CREATE TABLE kept:n (a int PRIMARY KEY);
CREATE UNLOGGED TABLE unlogged:n AS SELECT generate_series(1, 20) AS a;
CREATE FUNCTION f:n() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
INSERT INTO kept:n SELECT a FROM t:client_id WHERE f:n() = 1;
TRUNCATE unlogged:n;
TRUNCATE t:client_id;
DROP TABLE t:client_id;
SELECT pg_advisory_unlock(:n), nextval('done');
SQL
# Two of the database, and one below it.
append_to_file("$directory/databases.sql", <<'SQL' x 1000);
CREATE DATABASE d;
\c d
CREATE TABLE t AS SELECT generate_series(1, 20) AS a;
SELECT pg_stat_force_next_flush();
SELECT 'gone', d.oid, c.oid FROM pg_database d, pg_class c WHERE datname = 'd' AND relname = 't';
\c postgres
DROP DATABASE d;
SQL

# Statistics of relations, functions and databases that do not exist; and those of a table in a database
# that is gone.
sub orphans
{
	my (@gone) = @_;
	my $highest = ask('SELECT max(oid::bigint) + 3000 FROM (SELECT oid FROM pg_class UNION ALL SELECT oid FROM pg_database) o');
	my $pairs = join ', ', map { "($_)" } '0, 0', @gone;
	return ask(<<"SQL");
SELECT count(*) FILTER (WHERE pg_stat_have_stats('relation', d.oid, o::$type) AND c.oid IS NULL),
	count(*) FILTER (WHERE pg_stat_have_stats('function', d.oid, o::$type) AND p.oid IS NULL),
	count(*) FILTER (WHERE pg_stat_have_stats('database', o::oid, 0) AND e.oid IS NULL),
	(SELECT count(*) FROM (VALUES $pairs) AS g(database, object) WHERE pg_stat_have_stats('relation', database::oid, object::$type)
		AND NOT EXISTS (SELECT FROM pg_database WHERE oid = database))
FROM pg_database d, generate_series(16384, $highest) o LEFT JOIN pg_class c ON c.oid = o
	LEFT JOIN pg_proc p ON p.oid = o LEFT JOIN pg_database e ON e.oid = o
WHERE d.datname = current_database()
SQL
}

my $rounds = $operations > 1000 ? 12 : 2;
my ($done, $dropped, @gone) = (0, 0);
foreach my $round (1 .. $rounds)
{
	ask('DROP DATABASE IF EXISTS d');
	my @load = (
		IPC::Run::start([ 'psql', '-XAt', '-F', ',', '-f', "$directory/databases.sql", $node->connstr('postgres') ],
			'<', \undef, '>', "$directory/databases.out", '2>', '/dev/null'),
		IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 600, '-f', "$directory/objects.sql", $node->connstr('postgres') ],
			'<', \undef, '&>', "$directory/objects.out"));
	my ($begin, $each) = (ask('SELECT last_value FROM done'), $operations / $rounds / 10);
	foreach my $part (0.5, 1)
	{
		my $until = $begin + $part * $each;
		$node->poll_query_until('postgres', "SELECT last_value >= $until FROM done") or die 'no DDL is done';
		# Files of half way, if no round of the collector comes by itself.
		write_files($node) if $part < 1;
	}
	$done += 10 * (ask('SELECT last_value FROM done') - $begin);
	$round % 2 == 0 ? crash_backend($node) : do { crash_all($node); $node->start };
	$_->finish foreach @load;
	my $databases = slurp_file("$directory/databases.out");
	push @gone, $databases =~ /^gone,(\d+,\d+)$/mg;
	$done += () = $databases =~ /^(?:CREATE|DROP|SELECT 20)/mg;
	wait_for_validation($node);
	is(orphans(@gone), '0|0|0|0', "round $round, $done statements, " . @gone . ' databases: nothing is left of what is gone');
	$dropped += ask('SELECT sum(dropped_entries) FROM ckpt_stats_databases');
}
cmp_ok($done, '>=', $operations, 'as many as were asked for');
cmp_ok($dropped, '>', 0, "$dropped entries were restored and dropped");
is(ask("SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', 'all this without an error');

# OIDs that are used again: the same statements, and before them the counter is set back.
my $make = join ";\n", map {
	"CREATE TABLE reused$_ (a int); CREATE UNLOGGED TABLE reused_too$_ (a int); "
	  . "CREATE FUNCTION reused$_() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'"
} 1 .. 50;
my $oids = "SELECT oid FROM pg_class WHERE relname LIKE 'reused%'";
# A function that is created before its OID's old entry was looked up keeps it, set to zero: by CREATE.
my $counted = <<'SQL';
SELECT (SELECT count(*) FROM pg_stat_user_tables WHERE relname LIKE 'reused%' AND n_tup_ins + n_live_tup + n_dead_tup > 0),
	(SELECT count(*) FROM pg_stat_user_functions WHERE funcname LIKE 'reused%' AND calls > 0)
SQL
sub set_back
{
	$node->stop;
	$node->command_ok([ 'pg_resetwal', '-o', 5_000_000, '-D', $node->data_dir ], 'OIDs are set back');
	return;
}
my $drop = join ';', map { "DROP TABLE reused$_, reused_too$_; DROP FUNCTION reused$_()" } 1 .. 50;

# Whoever takes an OID in between shifts all that follow, and then few are the same: again.
my $same = 0;
foreach my $attempt (1 .. 8)
{
	ask($drop) if $attempt > 1;
	set_back();
	$node->start;
	ask($make);
	my %first = map { $_ => 1 } split /\n/, ask($oids);
	run($node, join ';', map { "INSERT INTO reused$_ VALUES (1), (2); DELETE FROM reused$_ WHERE a = 1; "
		  . "INSERT INTO reused_too$_ VALUES (1); SELECT reused$_()" } 1 .. 50);
	is(ask($counted), '100|50', 'they are counted');
	write_files($node);
	# The files are to say what they say now.
	ask('ALTER SYSTEM SET ckptflush.collector = off');
	$node->reload;
	$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
	ask($drop);
	ask('ALTER SYSTEM RESET ckptflush.collector');
	set_back();
	# As after a crash, which however would not set them back.
	unlink $node->data_dir . '/pg_stat/pgstat.stat' or die "could not remove PostgreSQL's file: $!";
	$node->start;
	wait_for_restore($node);
	ask($make);
	$same = grep { $first{$_} } split /\n/, ask($oids);
	wait_for_validation($node);
	is(ask($counted), '0|0', 'and begin with nothing');
	last if $same >= 20;
}
cmp_ok($same, '>=', 20, 'new objects had the same OIDs');
$node->stop;
no_fatal($node);

done_testing();
