# Helpers of the tests of the collector: statistics that are compared before and after a crash, and
# ways to crash.
package Collected;

use strict;
use warnings;

use CkptFlush;
use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(collecting_node run tables_of write_files crash_backend wait_for_restore
  wait_for_validation files_directory no_fatal);

# A server that collects, and where autovacuum does nothing unless it is told to.
sub collecting_node
{
	my ($name, %option) = @_;
	my $conf = $option{conf} // '';
	return new_node($name, %option, conf => <<"CONF");
ckptflush.collector_interval = 1s
ckptflush.flush = off
track_functions = all
restart_after_crash = on
checkpoint_timeout = 1h
$conf
CONF
}

# Runs statements; what they count is in the statistics when this returns.
sub run
{
	my ($node, $sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', "$sql;\nSELECT pg_stat_force_next_flush();");
}

# All that is known of the user's tables in a database, but how often they were read.
sub tables_of
{
	my ($node, $database) = @_;
	return $node->safe_psql($database // 'postgres', <<'SQL');
SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, n_live_tup, n_dead_tup,
	n_mod_since_analyze, n_ins_since_vacuum, last_vacuum, last_autovacuum, last_analyze,
	last_autoanalyze, vacuum_count, autovacuum_count, analyze_count, autoanalyze_count
FROM pg_stat_user_tables ORDER BY relname
SQL
}

# All that is counted up to now is in the files.
sub write_files { return $_[0]->safe_psql('postgres', 'SELECT ckpt_stats_write_database(0)') }

sub files_directory { return $_[0]->data_dir . '/pg_stat_tmp/ckptflush' }

# A backend is killed, so the postmaster starts all of the others anew.
sub crash_backend
{
	my ($node) = @_;
	my $offset = -s $node->logfile;
	my $victim = $node->background_psql('postgres', on_error_stop => 0);
	kill 'KILL', $victim->query_safe('SELECT pg_backend_pid()') or die "could not kill: $!";
	$victim->{run}->finish;
	wait_until($PostgreSQL::Test::Utils::timeout_default,
		sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ })
	  or die 'the server does not come back';
	return;
}

# Until all that was to be restored is restored.
sub wait_for_restore
{
	my ($node) = @_;
	$node->poll_query_until('postgres', <<'SQL') or die 'nothing was restored';
SELECT count(*) > 0 FROM ckpt_stats_databases WHERE datid = 0 AND restored_at IS NOT NULL
SQL
	# The shared relations are the first. What is asked for is done when all is restored.
	write_files($node);
	return;
}

# Until the objects were looked up, but in a database to which nobody can connect since a crash has
# interrupted its DROP.
sub wait_for_validation
{
	my ($node) = @_;
	wait_for_restore($node);
	$node->poll_query_until('postgres', <<'SQL') or die 'objects are not looked up';
SELECT bool_and(dropped_entries IS NOT NULL) FROM ckpt_stats_databases
WHERE restored_at IS NOT NULL AND datid NOT IN (SELECT oid FROM pg_database WHERE datconnlimit = -2)
SQL
	return;
}

# No process of the server but those of sessions, whose lines have a name before that, has ended by an
# error; what is stopped, or does not reach another server, says so by FATAL, too.
sub no_fatal
{
	my ($node) = @_;
	my @fatal = grep { /\] FATAL:  / && !/FATAL:  (?:terminating|could not|streaming)/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @fatal), '', 'no worker has ended by an error');
	return;
}

1;
