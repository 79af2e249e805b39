# On a standby the same views watch restartpoints: spread, requested, not logged; a promotion
# makes checkpoints of them.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Cluster;
use Test::More;

# Spread restartpoints take about six seconds: a pause of 100 ms after each buffer.
my $primary = new_node('primary', init => [ allows_streaming => 1 ], conf => <<'CONF');
checkpoint_timeout = 1h
checkpoint_completion_target = 0.9
shared_buffers = 32MB
bgwriter_lru_maxpages = 0
CONF
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
sub ask { return $standby->safe_psql('postgres', shift) }

my ($one, $other) = map { $_->safe_psql('postgres', 'SELECT ckpt_stats_segment_path()') } $primary, $standby;
isnt($one, $other, 'two servers of one cluster have two segments');

# A restartpoint is possible once a checkpoint of the primary was replayed.
my $serial = 0;
sub replay_checkpoint
{
	$serial++;
	$primary->safe_psql('postgres',
		join(';', map { "CREATE TABLE t${serial}_$_ AS SELECT 1 AS a" } 1 .. 20));
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->safe_psql('postgres', "CREATE TABLE after_$serial (a int)");
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}
my $rows = 'SELECT count(*) FROM ckpt_stats_history';
my $last = 'FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1';

# Spread, and watched.
replay_checkpoint();
my ($before, $offset) = (ask($rows), -s $standby->logfile);
my $session = ask_for_spread_checkpoint($standby);
$standby->poll_query_until('postgres',
	"SELECT phase = 'writing buffers' AND buffers_done > 3 FROM ckpt_stats_progress")
  or die 'no progress was seen';
my ($id, $total, @others) = split /\|/, ask('SELECT checkpoint_id, buffers_total, kind, cause, redo_lsn, '
	  . 'eta_at > started_at FROM ckpt_stats_progress');
my $redo_lsn = $primary->safe_psql('postgres', 'SELECT redo_lsn FROM pg_control_checkpoint()');
is("@others", "restartpoint requested $redo_lsn t",
	"the progress of a restartpoint, for the primary's redo position");
$session->quit;
wait_for_history($standby, $before + 1);
my ($logged) = grep { $_->{complete} } logged_checkpoints($standby, $offset);
is($logged->{kind}, 'restartpoint', 'the log tells of a restartpoint');
is(ask("SELECT checkpoint_id, kind, cause, result, buffers_written, files_synced $last"),
	join('|', $id, qw(restartpoint requested completed), @$logged{qw(buffers files)}),
	'and the history too');
cmp_ok($total, '>', 20, 'there were buffers to write');
my $slru = $logged->{buffers} - $total;
$slru = 0 if major_version($standby) >= 18;
cmp_ok($slru, '>=', 0, 'buffers_total is not more than the log has');
cmp_ok($slru, '<=', 3, 'nor less, but for SLRU pages');
is(ask('SELECT count(*) FROM ckpt_stats_files WHERE path IN (SELECT pg_relation_filepath(oid) FROM pg_class '
		  . "WHERE relname ~ '^t1_') AND syncs = 1"),
	20, 'files of the standby');
is(ask('SELECT num_timed, num_requested, num_done, restartpoints_timed, restartpoints_req >= 1, '
		  . 'restartpoints_done >= 1 FROM ckpt_stats'),
	'0|0|0|0|t|t', 'counted apart from checkpoints');

# Short ones, logged and not.
foreach my $log (qw(on off))
{
	ask("ALTER SYSTEM SET log_checkpoints = $log");
	$standby->reload;
	replay_checkpoint();
	$before = ask($rows);
	ask('CHECKPOINT');
	wait_for_history($standby, $before + 1);
	is(ask("SELECT kind, result, redo_lsn = (pg_control_checkpoint()).redo_lsn, files_synced IS NOT NULL $last"),
		'restartpoint|completed|t|' . ($log eq 'on' ? 't' : 'f'), "log_checkpoints = $log");
}
ask('ALTER SYSTEM RESET log_checkpoints');
$standby->reload;

# Nothing new was replayed.
$before = ask($rows);
ask('CHECKPOINT');
is(ask($rows), $before, 'a restartpoint that is skipped leaves no row');
is(ask('SELECT count(*) FROM ckpt_stats_progress'), 0, 'and no progress');

# From now on checkpoints, in the same history.
$id = ask("SELECT checkpoint_id $last");
my $workers = 'FROM ckpt_stats_workers ORDER BY name';
my @pids = split /\n/, ask("SELECT pid $workers");
$offset = -s $standby->logfile;
$standby->promote;
ask('CREATE TABLE after_promotion AS SELECT 1 AS a');
ask('CHECKPOINT');
wait_for_checkpoints($standby, 1, $offset);
my @after = grep { $_->{complete} } logged_checkpoints($standby, $offset);
wait_for_history($standby, $before + @after);
is(ask('SELECT kind, result, buffers_written FROM ckpt_stats_history '
		  . "WHERE checkpoint_id > $id ORDER BY checkpoint_id"),
	join("\n", map { "checkpoint|completed|$_->{buffers}" } @after), 'checkpoints after the promotion');
is(ask("SELECT pid, state, last_error $workers"), join("\n", map { "$_|running|" } @pids), 'by the same workers');

$_->stop for $standby, $primary;
done_testing();
