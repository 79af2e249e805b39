# What the SQL surface of the collector does: the view, a file on request, and statistics from a
# file; and that nothing is written without need.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

# Only requests make it look, after the first time.
my $node = collecting_node('requests', conf => "ckptflush.collector_interval = 1h\n");
sub ask { return $node->safe_psql('postgres', shift) }
sub error_of { my ($sql, @more) = @_; my (undef, undef, $stderr) = $node->psql('postgres', $sql, @more); return $stderr }
my $oid = ask("SELECT oid FROM pg_database WHERE datname = 'postgres'");
my $row = "FROM ckpt_stats_databases WHERE datid = $oid";
run($node, 'CREATE TABLE t AS SELECT generate_series(1, 100) AS a');

# On request.
my $before = ask("SELECT requests, writes $row");
ask("SELECT ckpt_stats_write_database($oid)");
my ($requests, $writes) = split /\|/, $before;
is(ask("SELECT requests - $requests, writes - $writes, file, entries > 20, size_bytes <= written_bytes $row"),
	"1|1|$oid.cks|t|t", 'a file is written on request');
is(-s files_directory($node) . "/$oid.cks", ask("SELECT size_bytes $row"), 'of the size that the view tells');
is(ask("SELECT last_write_at > now() - interval '1 minute' AND last_request_at > now() - interval '1 minute' $row"), 't',
	'just now');

# The session that asks counts its own statement: it ends after that. So wait until nothing changes.
my $session = $node->background_psql('template1');
sub quiet { return $session->query_safe($_[0]) }
$node->safe_psql('template1', 'CREATE EXTENSION ckptflush');
quiet("SELECT ckpt_stats_write_database($oid)");
quiet("SELECT ckpt_stats_write_database($oid)");
my $count = quiet("SELECT writes $row");
quiet("SELECT ckpt_stats_write_database($oid)") foreach 1 .. 3;
is(quiet("SELECT writes $row"), $count, 'nothing has changed: nothing is written');
quiet("SELECT ckpt_stats_write_database($oid, force => true)");
is(quiet("SELECT writes $row"), $count + 1, 'unless that is asked for');
is(quiet("SELECT pending $row"), 'f', 'nothing is pending');
quiet('SELECT ckpt_stats_write_database(0, true)');
is(quiet("SELECT count(*) FROM ckpt_stats_databases WHERE file IS NULL AND datname <> 'template0'"), 0, 'all have a file');
ok(-e files_directory($node) . '/common.cks', 'and the cluster');
$session->quit;

# Of a new database, and of none.
ask('CREATE DATABASE fresh');
my $fresh = ask("SELECT oid FROM pg_database WHERE datname = 'fresh'");
run($node, 'CREATE TABLE t AS SELECT generate_series(1, 10) AS a', 'fresh');
ask("SELECT ckpt_stats_write_database($fresh)");
is(ask("SELECT file FROM ckpt_stats_databases WHERE datname = 'fresh'"), "$fresh.cks", 'of a new database');
like(error_of('SELECT ckpt_stats_write_database(4000000000)'), qr/ERROR:  the collector does not know database 4000000000/, 'of none');
ask('ALTER DATABASE fresh RENAME TO stale');
ask('SELECT ckpt_stats_write_database(0)');
is(ask("SELECT datname FROM ckpt_stats_databases WHERE datid = $fresh"), 'stale', 'a new name is seen');

# Statistics from a file: as after pg_upgrade, when there are none.
# Neither a table that no crash has emptied nor that of a living session loses anything.
run($node, 'CREATE TABLE u AS SELECT generate_series(1, 100) AS a; DELETE FROM u WHERE a <= 40; '
	  . 'CREATE UNLOGGED TABLE w AS SELECT generate_series(1, 100) AS a');
my $owner = $node->background_psql('postgres');
$owner->query_safe('CREATE TEMP TABLE temporary (a int, b text)');
ask("SELECT ckpt_stats_write_database($oid)");
my $saved = PostgreSQL::Test::Utils::tempdir() . '/saved.cks';
system_or_bail('cp', files_directory($node) . "/$oid.cks", $saved);
run($node, 'DROP TABLE t; SELECT pg_stat_reset()');
my $dead = "SELECT n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE relname = 'u'";
is(ask($dead), '0|0', 'reset');
$owner->query_safe('INSERT INTO temporary SELECT generate_series(1, 100)');
$owner->query_safe('SELECT pg_stat_force_next_flush()');
cmp_ok(ask("SELECT ckpt_stats_restore_database($oid, '$saved')"), '>', 20, 'entries are restored');
is(ask($dead), '40|60', 'and known again');
$node->poll_query_until('postgres', "SELECT dropped_entries >= 1 $row") or die 'the dropped table is not noticed';
ok(1, 'those of the dropped table are dropped again');
is(ask("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'w'"), 100, 'not those of an unlogged one');
is($owner->query_safe("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'temporary'"), 100, 'nor of a temporary one');
$owner->query_safe('DROP TABLE temporary');
$owner->quit;
unlike(slurp_file($node->logfile), qr/already dropped/, 'which its session can drop');
like(error_of("SELECT ckpt_stats_restore_database($oid, '$saved.none')"), qr/could not restore.*DETAIL:  There is no such file/s, 'no file');
append_to_file($saved, 'x');
like(error_of("SELECT ckpt_stats_restore_database($oid, '$saved')"), qr/DETAIL:  The file has \d+ bytes, and should have/, 'a damaged one');
is(ask($dead), '40|60', 'changes nothing');
ask('CREATE ROLE plain LOGIN; GRANT EXECUTE ON FUNCTION ckpt_stats_restore_database TO plain');
like(error_of("SELECT ckpt_stats_restore_database($oid, '$saved')", extra_params => [ '-U', 'plain' ]),
	qr/must be superuser/, 'not for others, whatever was granted');

# Statistics without an object to which a session refers: whoever may yet drop them himself finds them as
# they were, and nobody waits.
my $more = ask("SELECT dropped_entries + 1 $row");
run($node, join ';', map { "CREATE TABLE v$_ AS SELECT generate_series(1, 10) AS a" } 1 .. $more);
ask("SELECT ckpt_stats_write_database($oid)");
system_or_bail('cp', files_directory($node) . "/$oid.cks", $saved);
ask('ALTER SYSTEM SET ckptflush.collector = off');
$node->reload;
$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
my $u = ask("SELECT 'u'::regclass::oid");
run($node, join ';', 'DROP TABLE u', map { "DROP TABLE v$_" } 1 .. $more);
$session = $node->background_psql('postgres');
$session->query_safe("SELECT ckpt_stats_restore_database($oid, '$saved')");
is($session->query_safe("SELECT pg_stat_get_dead_tuples($u)"), 40, 'a session has looked at statistics of no table');
ask('ALTER SYSTEM RESET ckptflush.collector');
$node->reload;
$node->poll_query_until('postgres', "SELECT dropped_entries = $more $row") or die 'the others are not dropped';
is(ask("SELECT pg_stat_have_stats('relation', $oid, $u)"), 't', 'they stay while it refers to them');
$session->quit;
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'postgres' AND backend_type = 'client backend'")
  or die 'the session does not end';
ask("SELECT ckpt_stats_restore_database($oid, '$saved')");
$node->poll_query_until('postgres', "SELECT dropped_entries = $more + 1 $row") or die 'they are not dropped';
ok(1, 'and are dropped when it has ended');

# Off, while somebody waits. The collector is stopped for that, so that it does not answer before.
my $pid   = ask("SELECT pid FROM ckpt_stats_workers WHERE name = 'ckptflush collector'");
my $asked = ask("SELECT requests $row");
kill 'STOP', $pid or die "could not stop $pid: $!";
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/asking/, "\\echo asking\nSELECT ckpt_stats_write_database($oid, true);\n\\echo told\n");
$node->poll_query_until('postgres', "SELECT requests > $asked $row") or die 'it is not asked';
ask('ALTER SYSTEM SET ckptflush.collector = off');
$node->reload;
# A session that was started since knows; so the collector was sent the signal, too.
$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
kill 'CONT', $pid;
$session->query_until(qr/told/, '');
like($session->{stderr}, qr/ERROR:  the collector is not running/, 'off: who waits is told so');
$session->quit;
like(error_of("SELECT ckpt_stats_write_database($oid)"), qr/ERROR:  the collector is not running/, 'so is who asks now');
ask('ALTER SYSTEM RESET ckptflush.collector');
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('ckptflush.collector')::bool") or die 'no reload';
ask("SELECT ckpt_stats_write_database($oid, true)");
is(ask("SELECT requests > $asked AND NOT pending $row"), 't', 'on: it answers again');
is(ask("SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', 'all this without an error');
$node->stop;
no_fatal($node);

done_testing();
