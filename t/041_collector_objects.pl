# Objects that are gone leave no statistics behind after a crash; nor do databases. Unlogged tables
# are empty then. Dropping and copying a database never waits for the collector's workers.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = collecting_node('objects');
sub ask { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
sub has { my ($kind, $database, $object) = @_; return ask("SELECT pg_stat_have_stats('$kind', $database, $object)") }

my %of;
foreach my $database (qw(postgres lost))
{
	ask("CREATE DATABASE $database") if $database ne 'postgres';
	run($node, <<'SQL', $database);
CREATE TABLE kept AS SELECT generate_series(1, 100) AS a;
CREATE TABLE gone AS SELECT generate_series(1, 100) AS a;
CREATE UNLOGGED TABLE unlogged AS SELECT generate_series(1, 100) AS a;
CREATE TABLE emptied AS SELECT generate_series(1, 100) AS a;
CREATE FUNCTION forgotten() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
SELECT forgotten();
SQL
	foreach my $name (qw(kept gone unlogged emptied))
	{
		$of{$database}{$name} = ask("SELECT '$name'::regclass::oid", $database);
	}
	$of{$database}{function} = ask("SELECT 'forgotten'::regproc::oid", $database);
	$of{$database}{oid} = ask('SELECT oid FROM pg_database WHERE datname = current_database()', $database);
}
my $session = $node->background_psql('postgres');
$session->query_safe('CREATE TEMP TABLE temporary AS SELECT generate_series(1, 100) AS a');
$session->query_safe('SELECT pg_stat_force_next_flush()');
my $temporary = $session->query_safe("SELECT 'temporary'::regclass::oid");
my ($postgres, $lost) = @of{qw(postgres lost)};
write_files($node);
my $directory = files_directory($node);
ok(-e "$directory/$lost->{oid}.cks", 'the database has a file');

# The files are to say what they say now.
ask("ALTER SYSTEM SET ckptflush.collector = off");
$node->reload;
$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
run($node, 'DROP TABLE gone; DROP FUNCTION forgotten(); TRUNCATE emptied');
run($node, 'DROP DATABASE lost');
run($node, 'CHECKPOINT');
crash_all($node);
$session->{run}->kill_kill;
$node->append_conf('postgresql.auto.conf', "ckptflush.collector = on\n");
$node->start;
wait_for_validation($node);

is(has('relation', $postgres->{oid}, $postgres->{kept}), 't', 'what exists has statistics');
is(has('relation', $postgres->{oid}, $postgres->{gone}), 'f', 'a dropped table has none');
is(has('relation', $postgres->{oid}, $temporary), 'f', 'nor a temporary one');
is(has('function', $postgres->{oid}, $postgres->{function}), 'f', 'nor a dropped function');
is(has('relation', $lost->{oid}, $lost->{kept}), 'f', 'nor a table of a dropped database');
is(has('database', $lost->{oid}, 0), 'f', 'nor the database');
ok(!-e "$directory/$lost->{oid}.cks", 'and it has no file any more');
is(ask("SELECT n_live_tup, n_dead_tup, n_mod_since_analyze FROM pg_stat_user_tables WHERE relname = 'unlogged'"),
	'0|0|0', 'an unlogged table is empty');
is(ask("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'kept'"), 100, 'another one is not');
cmp_ok(ask('SELECT dropped_entries FROM ckpt_stats_databases WHERE datname = current_database()'), '>=', 3,
	'the view tells of it');

# An OID that is used again brings nothing back: the new object begins with nothing.
run($node, 'CREATE TABLE fresh (a int)');
is(ask("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'fresh'"), 0, 'a new table has no rows');

# Nor that of a database, whose entry the collector has been looking at.
sub counted { return ask("SELECT sum(tup_inserted) FROM pg_stat_database WHERE datid = 100001") }
foreach my $round (1 .. 2)
{
	ask('CREATE DATABASE again OID 100001');
	is(counted() || 0, 0, "round $round: a new database has no rows");
	my $begin = ask('SELECT clock_timestamp()');
	run($node, 'CREATE TABLE t AS SELECT generate_series(1, 100) AS a', 'again');
	$node->poll_query_until('postgres', "SELECT last_write_at > '$begin' FROM ckpt_stats_databases WHERE datid = 100001")
	  or die 'it is not written';
	cmp_ok(counted(), '>=', 100, "round $round: and is written with those it gets");
	ask('DROP DATABASE again');
	is(has('database', 100001, 0), 'f', "round $round: it leaves no statistics");
}

# Databases come and go while others are restored and looked at.
ask("CREATE DATABASE many_$_") foreach 1 .. 5;
my @many = split /\n/, ask("SELECT oid FROM pg_database WHERE datname LIKE 'many%'");
run($node, 'CREATE TABLE t AS SELECT generate_series(1, 10) AS a', "many_$_") foreach 1 .. 5;
write_files($node);
crash_all($node);
$node->start;
ask('CREATE DATABASE copied TEMPLATE many_1');
ask("DROP DATABASE many_$_") foreach 1 .. 5;
wait_for_validation($node);
$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM ckpt_stats_databases WHERE datname LIKE 'many%')")
  or die 'they are still known';
is(join(',', grep { -e "$directory/$_.cks" || has('database', $_, 0) eq 't' } @many), '', 'they leave no file and no statistics');
is(ask("SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', 'without an error');

# A worker that is held up in its work leaves when it can go on and somebody wants the database: it
# comes again later, or not at all.
ask('CREATE DATABASE held');
my $held = ask("SELECT oid FROM pg_database WHERE datname = 'held'");
run($node, <<'SQL', 'held');
DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format('CREATE TABLE t%s AS SELECT 1 AS a', i); END LOOP; END $$
SQL
write_files($node);
my $saved = PostgreSQL::Test::Utils::tempdir() . '/saved.cks';
system_or_bail('cp', "$directory/$held.cks", $saved);
ask('ALTER SYSTEM SET log_min_messages = debug1');    # tells of each worker that is started
$node->reload;
foreach ([ 'ShareLock', 'CREATE DATABASE twin TEMPLATE held' ], [ 'AccessExclusiveLock', 'DROP DATABASE held' ])
{
	my ($mode, $command) = @$_;
	my $offset = -s $node->logfile;
	my $holder = $node->background_psql('held');
	$holder->query_safe('BEGIN; LOCK TABLE pg_class IN ACCESS EXCLUSIVE MODE');
	ask("SELECT ckpt_stats_restore_database($held, '$saved')");
	my $waits = "FROM pg_locks WHERE database = $held AND relation = 'pg_class'::regclass AND NOT granted";
	$node->poll_query_until('postgres', "SELECT count(*) = 1 $waits") or die 'no worker waits for the lock';
	my $worker = ask("SELECT pid $waits");
	kill 'STOP', $worker or die "could not stop $worker: $!";
	$holder->quit;
	my $session = $node->background_psql('postgres');
	$session->query_until(qr/begun/, "\\echo begun\n$command;\n");
	$node->poll_query_until('postgres', <<"SQL") or die 'the command does not begin';
SELECT count(*) = 1 FROM pg_locks
WHERE classid = 'pg_database'::regclass AND objid = $held AND mode = '$mode'
SQL
	kill 'CONT', $worker;
	$session->quit;
	my $is_copied = $mode eq 'ShareLock';
	is(ask("SELECT count(*) FROM pg_database WHERE datname IN ('held', 'twin')"), $is_copied ? 2 : 1, $command);
	next unless $is_copied;
	$node->poll_query_until('postgres', "SELECT dropped_entries = 0 FROM ckpt_stats_databases WHERE datid = $held")
	  or die 'no worker comes again';
	my @started = slurp_file($node->logfile, $offset) =~ /starting background worker process "(ckptflush validator)"/g;
	cmp_ok(@started, '>=', 2, 'the first worker had left');
}
ask('ALTER SYSTEM RESET log_min_messages');
$node->reload;

# Tables come and go between crashes.
foreach my $round (1 .. 3)
{
	run($node, join ';', map {
		("CREATE TABLE r${round}_$_ AS SELECT 1 AS a", $_ % 3 == 0 ? "DROP TABLE r${round}_$_" : $_ % 5 == 0 ? "TRUNCATE r${round}_$_" : ())
	} 1 .. 100);
	write_files($node) if $round != 2;
	run($node, join ';', map { "DROP TABLE IF EXISTS r${round}_$_" } 51 .. 60);
	$round == 3 ? crash_backend($node) : do { crash_all($node); $node->start };
	wait_for_validation($node);
	# 18 has wider object identifiers.
	my $type = major_version($node) < 18 ? 'oid' : 'bigint';
	is(ask(<<"SQL"), 0, "round $round: no statistics without a table");
SELECT count(*) FROM generate_series(16384, (SELECT max(oid::bigint) + 1000 FROM pg_class)) AS o
WHERE pg_stat_have_stats('relation', (SELECT oid FROM pg_database WHERE datname = current_database()), o::$type)
	AND NOT EXISTS (SELECT FROM pg_class WHERE oid = o)
SQL
}
$node->stop;
no_fatal($node);

done_testing();
