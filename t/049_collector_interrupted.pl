# What may come between: an error in a round, a stop of the server in the middle of restoring, a restoring
# that crashes the server again and again. And what is restored by name, or only if it is still there:
# replication slots and subscriptions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = collecting_node('between', init => [ allows_streaming => 'logical' ], conf => "wal_level = logical\n");
sub ask { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
my $worker = "FROM ckpt_stats_workers WHERE name = 'ckptflush collector'";
my $major = major_version($node);
my @databases = qw(first second third);
foreach my $database (@databases)
{
	ask("CREATE DATABASE $database");
	run($node, join(';', map { "CREATE TABLE t$_ AS SELECT generate_series(1, 100) AS a; DELETE FROM t$_ WHERE a <= 10" } 1 .. 20), $database);
}
my $dead = "SELECT count(*), min(n_dead_tup), max(n_dead_tup) FROM pg_stat_user_tables";
sub known { return join ' ', map { ask($dead, $_) } @databases }
my $all = join ' ', ('20|10|10') x 3;
is(known(), $all, 'there is something to lose');
write_files($node);

# An error. The collector waits for a lock on the catalog that it reads anew when there is another database;
# nobody can connect meanwhile.
ask('ALTER SYSTEM SET ckptflush.collector = off');
$node->reload;
$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
ask('CREATE DATABASE fourth');
my $session = $node->background_psql('postgres');
$session->query_safe('ALTER SYSTEM RESET ckptflush.collector');
$session->query_safe('BEGIN; LOCK TABLE pg_database IN ACCESS EXCLUSIVE MODE');
$session->query_safe('SELECT pg_reload_conf()');
sub until_so
{
	my ($sql, $name) = @_;
	ok(wait_until($PostgreSQL::Test::Utils::timeout_default, sub { $session->query_safe($sql) eq 't' }), $name);
	return;
}
my $pid = $session->query_safe("SELECT pid $worker");
until_so("SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $pid AND NOT granted)", 'the collector waits');
$session->query_safe("SELECT pg_cancel_backend($pid)");
until_so("SELECT state = 'failed' AND last_error LIKE 'canceling statement%' $worker", 'and has an error');
$session->query_safe('COMMIT');
$session->quit;
write_files($node);
is(ask("SELECT pid, state $worker"), "$pid|running", 'it goes on');
is(ask("SELECT count(*) FROM ckpt_stats_databases WHERE datname = 'fourth'"), 1, 'with what it was about to do');
run($node, 'DELETE FROM t1 WHERE a <= 10', 'third');
crash_all($node);
$node->start;
wait_for_validation($node);
is(known(), $all, 'nothing was lost');

# A stop in the middle of restoring: PostgreSQL keeps what was restored up to then, and the mark says how
# far that was. Here the mark is set back in PostgreSQL's file, and what comes after it is taken away.
my %oid = map { $_ => ask("SELECT oid FROM pg_database WHERE datname = '$_'") } @databases;
my $entries = ask("SELECT entries FROM ckpt_stats_databases WHERE datname = 'second'");
write_files($node);
# Written now, these files stay as they are.
ask('ALTER SYSTEM SET ckptflush.collector = off');
$node->reload;
$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
ask('SELECT pg_stat_reset()', $_) foreach qw(second third);
ask('ALTER SYSTEM RESET ckptflush.collector');
$node->stop;
my $file  = $node->data_dir . '/pg_stat/pgstat.stat';
my $bytes = slurp_file($file);
# A function of no database (collector.c); 18 has wider object identifiers.
my $key = pack('LL', 3, 0) . pack($major < 18 ? 'L' : 'Q', 0xCF10CF10);
my $at = index $bytes, $key;
cmp_ok($at, '>', 0, 'there is a mark');
is(join(',', unpack 'qqq', substr($bytes, $at + length $key, 24)), '2,0,0', 'which says that all is restored');
substr($bytes, $at + length $key, 24) = pack 'qqq', 1, $oid{second}, $entries - 1;
open my $handle, '>:raw', $file or die "could not open $file: $!";
print $handle $bytes;
close $handle or die "could not write $file: $!";
$node->start;
$node->poll_query_until('postgres', "SELECT dropped_entries IS NOT NULL FROM ckpt_stats_databases WHERE datname = 'third'")
  or die 'it does not go on';
is(known(), '20|10|10 20|0|0 20|10|10', 'it goes on behind the entry that was the last one, and nothing is added twice');
is(ask("SELECT restored_entries FROM ckpt_stats_databases WHERE datname = 'second'"), 1, 'one entry was left');

# A server that crashes while it restores.
foreach my $attempts (2, 3)
{
	run($node, 'DELETE FROM t1 WHERE a <= 20', 'first') if $attempts == 2;
	my $before = ask($dead, 'first');
	write_files($node);
	crash_all($node);
	append_to_file(files_directory($node) . '/restoring', "$attempts\n");
	my $offset = -s $node->logfile;
	$node->start;
	# The answer comes when that is decided.
	write_files($node);
	is(ask($dead, 'first'), $attempts == 2 ? $before : '20|0|0', "$attempts attempts: "
		  . ($attempts == 2 ? 'another one' : 'no other'));
	ok(!-e files_directory($node) . '/restoring', 'they are counted anew');
	my $log = slurp_file($node->logfile, $offset);
	($attempts == 2 ? \&unlike : \&like)->($log, qr/LOG:  ckptflush does not restore statistics/, 'the log says so');
}
run($node, 'DELETE FROM t1 WHERE a <= 30', 'first');
write_files($node);
crash_all($node);
$node->start;
wait_for_restore($node);
is(ask("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 't1'", 'first'), 10, 'the next crash is another one');

# A slot that decodes, and a subscription whose worker meets an error.
run($node, 'CREATE TABLE sent (a int PRIMARY KEY); CREATE PUBLICATION pub FOR TABLE sent', 'first');
ask("SELECT pg_create_logical_replication_slot('$_', 'pgoutput')", 'first') foreach qw(kept gone);
ask('CREATE TABLE sent (a int PRIMARY KEY); INSERT INTO sent VALUES (1)');
ask('INSERT INTO sent VALUES (1)', 'first');
ask("SELECT count(*) FROM pg_logical_slot_get_binary_changes('$_', NULL, NULL, 'proto_version', '1', 'publication_names', 'pub')", 'first')
  foreach qw(kept gone);
ask("SELECT pg_create_logical_replication_slot('sent', 'pgoutput')", 'first');
ask('INSERT INTO sent VALUES (2)', 'first');
ask('INSERT INTO sent VALUES (2)');
my $connection = $node->connstr('first') =~ s/'/''/gr;
ask("CREATE SUBSCRIPTION $_ CONNECTION '$connection' PUBLICATION pub WITH (slot_name = sent, create_slot = false, copy_data = false, "
	  . "disable_on_error = true" . ($_ eq 'sub' ? '' : ', enabled = false') . ')') foreach qw(sub gone);
my $errors = "SELECT apply_error_count FROM pg_stat_subscription_stats WHERE subname = 'sub'";
$node->poll_query_until('postgres', "$errors AND apply_error_count = 1", '1') or die 'there is no error';
my $subscription = ask("SELECT oid FROM pg_subscription WHERE subname = 'gone'");
my $slots = 'SELECT string_agg(slot_name || total_txns, \',\' ORDER BY slot_name) FROM pg_stat_replication_slots WHERE slot_name <> \'sent\'';
is(ask($slots), 'gone1,kept1', 'slots are counted');
write_files($node);
ask('ALTER SYSTEM SET ckptflush.collector = off');
$node->reload;
$node->poll_query_until('postgres', "SELECT NOT current_setting('ckptflush.collector')::bool") or die 'no reload';
ask("SELECT pg_drop_replication_slot('gone'); SELECT pg_create_logical_replication_slot('fresh', 'pgoutput')", 'first');
ask('ALTER SUBSCRIPTION gone SET (slot_name = NONE); DROP SUBSCRIPTION gone');
crash_all($node);
$node->append_conf('postgresql.auto.conf', "ckptflush.collector = on\n");
$node->start;
wait_for_validation($node);
is(ask($slots), 'fresh0,kept1', 'a slot has its numbers again, and not that of another one');
is(ask($errors), 1, 'so has a subscription');
is(ask("SELECT pg_stat_have_stats('subscription', 0, $subscription)"), 'f', 'one that is gone has none');
$node->restart;
write_files($node);
is(ask($slots) . ask($errors), 'fresh0,kept11', 'nothing is added at a clean restart');
$node->stop;
no_fatal($node);

done_testing();
