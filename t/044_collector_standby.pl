# A standby keeps its own statistics, and refuses the primary's; at promotion it takes in what the
# former primary knew of dead rows, once, if it is told where that is.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = collecting_node('primary', init => [ allows_streaming => 1 ]);
# What a session has counted before a VACUUM is to be there before it.
run($primary, $_)
  foreach 'CREATE TABLE t AS SELECT generate_series(1, 1000) AS a; DELETE FROM t WHERE a <= 300',
  'VACUUM t', 'DELETE FROM t WHERE a <= 500';
$primary->safe_psql('postgres', 'CREATE DATABASE doomed');
run($primary, 'CREATE TABLE t AS SELECT 1 AS a', 'doomed');
write_files($primary);
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
ok(!-e files_directory($standby), 'a base backup has no files of the primary');
$standby->start;
sub ask { return $standby->safe_psql('postgres', shift) }
sub seq_scans { return ask("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 't'") }

# Its own.
ask('SELECT count(*) FROM t; SELECT count(*) FROM t; SELECT pg_stat_force_next_flush()') foreach 1 .. 3;
is(seq_scans(), 6, 'a standby counts');
write_files($standby);
crash_all($standby);
$standby->start;
wait_for_restore($standby);
is(seq_scans(), 6, 'and has it again after a crash');
crash_all($standby);
$standby->start;
wait_for_restore($standby);
is(seq_scans(), 6, 'not twice');

# A dropped database, replayed.
my $doomed = $primary->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = 'doomed'");
$standby->safe_psql('doomed', 'SELECT count(*) FROM t; SELECT pg_stat_force_next_flush()');
write_files($standby);
ok(-e files_directory($standby) . "/$doomed.cks", 'a database has a file');
$primary->safe_psql('postgres', 'DROP DATABASE doomed');
$primary->wait_for_catchup($standby);
ok(wait_until($PostgreSQL::Test::Utils::timeout_default, sub { !-e files_directory($standby) . "/$doomed.cks" }),
	'and none when it was dropped on the primary');

# Promotion.
write_files($primary);
my $known = "SELECT n_dead_tup, n_live_tup, last_vacuum IS NOT NULL, vacuum_count FROM pg_stat_user_tables WHERE relname = 't'";
my $dead = $primary->safe_psql('postgres', $known);
is($dead, '200|500|t|1', 'the primary knows of dead rows');
my $saved = PostgreSQL::Test::Utils::tempdir();
system_or_bail('cp', '-a', files_directory($primary), "$saved/files");
append_to_file("$saved/files/5.cks.tmp", 'on its way');
$primary->wait_for_catchup($standby);
$primary->stop;
is(ask($known), '0|0|f|0', 'the standby does not');
ask("ALTER SYSTEM SET ckptflush.collector_import = '$saved/files'");
$standby->reload;
my $offset = -s $standby->logfile;
$standby->promote;
$standby->wait_for_log(qr/ckptflush imported \d+ statistics/, $offset);
is(ask($known), $dead, 'after promotion it does');
ok(-e "$saved/files/5.cks.tmp", 'nothing is removed there');
is(seq_scans(), 6, 'and its own scans are its own');
write_files($standby);
my $worker = "FROM ckpt_stats_workers WHERE name = 'ckptflush collector'";
my $pid    = ask("SELECT pid $worker");
kill 'TERM', $pid;
$standby->poll_query_until('postgres', "SELECT state = 'running' AND pid <> $pid $worker") or die 'it does not come back';
write_files($standby);
is(ask($known), $dead, 'a new collector does not import again');
crash_all($standby);
$standby->start;
wait_for_restore($standby);
write_files($standby);
is(ask($known), $dead, 'nor one after a crash');
$standby->restart;
write_files($standby);
is(ask($known), $dead, 'nor after a restart');
is(ask("SELECT last_error $worker"), '', 'all this without an error');

# Files of another history: the standby has gone its own way.
$primary->start;
run($primary, 'DELETE FROM t WHERE a <= 700');
write_files($primary);
my $third = PostgreSQL::Test::Cluster->new('third');
$standby->backup('second');
$third->init_from_backup($standby, 'second', has_streaming => 1);
$third->start;
$third->safe_psql('postgres', "ALTER SYSTEM SET ckptflush.collector_import = '" . files_directory($primary) . "'");
$third->reload;
$third->poll_query_until('postgres', "SELECT state = 'running' $worker") or die 'no collector';
$offset = -s $third->logfile;
$third->promote;
$third->wait_for_log(qr/ckptflush did not import statistics/, $offset);
like(slurp_file($third->logfile, $offset), qr/did not import.*\n.*DETAIL:  The file was written at/, 'files of another history are refused');
is($third->safe_psql('postgres', "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 't'"), 0, 'nothing of them is known');
$_->stop foreach $third, $standby, $primary;

done_testing();
