# A checkpoint that fails, in its write phase or in its sync phase, logged or not, is a row with
# result "failed", and the next one completes; one that is skipped because nothing happened leaves
# no row.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

# So few buffers that reading a table of 30 MB pushes dirty ones out. With data_sync_retry a failed
# fsync is an error, not the end of the server.
my $node = new_node('failed', conf => <<'CONF');
shared_buffers = 16MB
checkpoint_timeout = 30s
data_sync_retry = on
bgwriter_lru_maxpages = 0
CONF
sub ask { return $node->safe_psql('postgres', shift) }
ask('CREATE EXTENSION pg_buffercache; CREATE EXTENSION pg_prewarm');

sub set
{
	my ($setting, $value) = @_;
	ask("ALTER SYSTEM SET $setting = $value");
	$node->reload;
	return;
}

# What the history says of all checkpoints after the one of that number.
my $newest = 'SELECT coalesce(max(checkpoint_id), 0) FROM ckpt_stats_history';
sub history_after
{
	my ($number, $count) = @_;
	$node->poll_query_until('postgres',
		"SELECT count(*) >= $count AND NOT EXISTS (SELECT FROM ckpt_stats_progress) "
		  . "FROM ckpt_stats_history WHERE checkpoint_id > $number")
	  or die "timed out waiting for $count checkpoints";
	return ask('SELECT kind, cause, result, buffers_written IS NULL AND sync_time IS NULL AND files_synced IS NULL, '
		  . 'ended_at >= started_at '
		  . "FROM ckpt_stats_history WHERE checkpoint_id > $number ORDER BY checkpoint_id");
}
my $completed = 'checkpoint|requested|completed|f|t';

# A new table whose file cannot be opened, with dirty buffers or without, is in the way of a
# checkpoint; then not any more.
sub fail_and_recover
{
	my ($name, $written) = @_;
	ask("CREATE TABLE $name AS SELECT 1 AS a");
	if ($written)
	{
		# A backend writes the buffer, and the checkpointer has only to sync the file.
		$node->poll_query_until('postgres', "SELECT pg_prewarm('large') IS NULL OR NOT EXISTS "
			  . "(SELECT FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('$name') AND isdirty)")
		  or die 'the buffer stays dirty';
	}
	my $number = ask($newest);
	my $offset = -s $node->logfile;
	my $path   = $node->data_dir . '/' . ask("SELECT pg_relation_filepath('$name')");
	chmod 0, $path or die "could not chmod \"$path\": $!";
	my (undef, undef, $stderr) = $node->psql('postgres', 'CHECKPOINT');
	like($stderr, qr/checkpoint request failed/, "$name: it fails");
	$node->wait_for_log($written ? qr/ERROR:  could not fsync file/ : qr/ERROR:  could not open file/, $offset);
	chmod 0600, $path or die "could not chmod \"$path\": $!";
	history_after($number, 1);
	# Without a message, a redo position of its own is the sign of a checkpoint.
	ask('SELECT pg_current_xact_id(); CHECKPOINT');
	my $cause = $name =~ /unlogged/ ? '' : 'requested';
	is(history_after($number, 2), "checkpoint|$cause|failed|t|t\n$completed", "$name: failed, then completed");
	return;
}

my ($done, $num_failed) = split /\|/, ask('SELECT num_done, num_failed FROM ckpt_stats');
fail_and_recover('write_phase', 0);
set('log_checkpoints', 'off');
fail_and_recover('write_phase_unlogged', 0);

# From here on the buffers are full.
ask("CREATE TABLE large AS SELECT repeat('x', 900) AS filler FROM generate_series(1, 30000)");
fail_and_recover('sync_phase_unlogged', 1);
set('log_checkpoints', 'on');
fail_and_recover('sync_phase', 1);
is(ask("SELECT syncs FROM ckpt_stats_files WHERE path = pg_relation_filepath('sync_phase')"), 1,
	'only a successful fsync counts');

is(ask('SELECT num_done, num_failed FROM ckpt_stats'), join('|', $done + 4, $num_failed + 4), 'counted apart');
unlike(slurp_file($node->logfile), qr/DEBUG/, 'the log level is what it was');

# Nothing more is written now, so the clock asks in vain.
set('log_min_messages', 'debug1');
ask('CHECKPOINT');
my $number = ask($newest);
my $offset = -s $node->logfile;
$node->wait_for_log(qr/checkpoint skipped because system is idle/, $offset);
is(ask("SELECT kind, cause, result FROM ckpt_stats_history WHERE checkpoint_id > $number"), '',
	'a skipped checkpoint leaves no row');
ask('CREATE TABLE afterwards AS SELECT 1 AS a; CHECKPOINT');
is(history_after($number, 1), $completed, 'the next row is that of the next checkpoint');

$node->stop;
done_testing();
