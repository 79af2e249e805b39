# A server that is not where its files were written, in place or in time, does without those that are not
# its own: one made of a base backup, one that pg_rewind has set back, one that was recovered to an earlier
# time in its own directory. What was written before the ways parted is restored.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = collecting_node('here', init => [ allows_streaming => 1, has_archiving => 1 ], conf => "wal_log_hints = on\nwal_keep_size = 1GB\n");
my $dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 't'";
# What has become of a database's file, and what is known of dead rows.
sub verdict
{
	my ($of, $database) = @_;
	$of->poll_query_until('postgres', <<"SQL") or die "$database: no verdict";
SELECT count(*) = 1 FROM ckpt_stats_databases
WHERE datname = '$database' AND (restored_at IS NOT NULL OR refused_reason <> '')
SQL
	my $reason = $of->safe_psql('postgres', "SELECT refused_reason FROM ckpt_stats_databases WHERE datname = '$database'");
	return $of->safe_psql($database, $dead) . "|$reason";
}
sub delete_rows { my ($of, $database, $up_to) = @_; return run($of, "DELETE FROM t WHERE a <= $up_to", $database) }

foreach my $database (qw(early late))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	run($node, 'CREATE TABLE t AS SELECT generate_series(1, 100) AS a', $database);
	delete_rows($node, $database, 10);
}
write_files($node);

# A base backup of the running server, to which somebody has added its files.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
ok(!-e files_directory($standby), 'a base backup has no files');
system_or_bail('cp', '-a', files_directory($node), files_directory($standby));
$standby->start;
like(verdict($standby, $_), qr/^0\|.*in another data directory/, "a base backup: $_ is refused") foreach qw(early late);

# The standby is promoted, and the former primary goes on alone for a while.
$node->wait_for_catchup($standby);
$standby->promote;
delete_rows($node, 'late', 30);
write_files($node);
$node->stop('immediate');
my $saved = PostgreSQL::Test::Utils::tempdir() . '/saved';
system_or_bail('cp', '-a', files_directory($node), $saved);
delete_rows($standby, 'late', 50);
$standby->safe_psql('postgres', 'CHECKPOINT');
command_ok([ 'pg_rewind', '--source-server', $standby->connstr('postgres'), '--target-pgdata', $node->data_dir,
		'--no-sync', '--config-file', $node->data_dir . '/postgresql.conf' ], 'the former primary is set back');
$node->append_conf('postgresql.conf', 'port = ' . $node->port . "\nunix_socket_directories = '" . $node->host . "'\n");
ok(!-e files_directory($node), 'and has no files any more');
system_or_bail('cp', '-a', $saved, files_directory($node));
$node->enable_streaming($standby);
$node->start;
like(verdict($node, 'late'), qr/^0\|.*which for this server ended at/, 'if somebody brings them back: what never happened is refused');
is(verdict($node, 'early'), '10|', 'and what did happen is restored');
$standby->stop;

# Recovery to an earlier time. Nothing of the directory is another file than before.
my $pitr = collecting_node('pitr', init => [ allows_streaming => 1, has_archiving => 1 ]);
foreach my $database (qw(early late))
{
	$pitr->safe_psql('postgres', "CREATE DATABASE $database");
	run($pitr, 'CREATE TABLE t AS SELECT generate_series(1, 100) AS a', $database);
}
$pitr->backup('backup');
delete_rows($pitr, 'early', 20);
write_files($pitr);
$pitr->safe_psql('postgres', "SELECT pg_create_restore_point('then')");
delete_rows($pitr, 'late', 20);
write_files($pitr);
my $segment = $pitr->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
$pitr->safe_psql('postgres', 'SELECT pg_switch_wal()');
$pitr->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver") or die 'nothing is archived';
crash_all($pitr);
my ($data, $backup) = ($pitr->data_dir, $pitr->backup_dir . '/backup');
my $parts = 'base pg_wal pg_xact pg_multixact pg_subtrans pg_stat pg_logical';
system_or_bail('sh', '-c', "cd '$data' && rm -rf $parts postmaster.pid && cd '$backup' && "
	  . "cp -R $parts backup_label '$data' && for file in global/*; do cat \$file >'$data'/\$file; done");
$pitr->append_conf('postgresql.conf', "recovery_target_name = 'then'\nrecovery_target_action = promote\n");
$pitr->enable_restoring($pitr, 0);
$pitr->start;
$pitr->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
like(verdict($pitr, 'late'), qr/^0\|.*which for this server ended at/, 'at an earlier time: what has not happened yet is refused');
is(verdict($pitr, 'early'), '20|', 'and what has happened is restored');
is($_->safe_psql('postgres', "SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', $_->name . ': without an error')
  foreach $node, $pitr;
$_->stop foreach $node, $pitr;

done_testing();
