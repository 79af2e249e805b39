# A spread checkpoint, or restartpoint, leaves its writeback to the flusher: most of what it writes is
# on its way before the fsyncs; the user's settings stay as they are; switched off in mid-checkpoint
# the flusher stops within a second.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time);

# A write phase of nine seconds: 3 % of checkpoint_timeout. Without the sweep, so that what is
# written back is of the checkpoint's own list.
my $node = new_node('takeover', init => [ allows_streaming => 1 ], conf => <<'CONF');
checkpoint_timeout = 300s
checkpoint_completion_target = 0.03
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
ckptflush.flush_sweep = off
CONF
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
plan skip_all => 'the kernel has no sync_file_range here'
  if $node->safe_psql('postgres', 'SELECT sync_file_range FROM ckpt_stats_info') ne 't';

my $rows = 'SELECT count(*) FROM ckpt_stats_history';
my $last = 'FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1';
my $written_back = 'SELECT writeback_bytes FROM ckpt_stats';
my $settings = 'SELECT name, setting, source, pending_restart FROM pg_settings '
  . "WHERE name ~ '^(checkpoint|max_wal|bgwriter|backend_flush|log_min)' ORDER BY name";

# A table of 3000 pages, and nothing else to write.
sub change
{
	my ($table) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (filler text);
ALTER TABLE $table ALTER filler SET STORAGE plain;
CHECKPOINT;
INSERT INTO $table SELECT repeat('x', 8000) FROM generate_series(1, 3000);
SQL
	return;
}

# Begins a spread checkpoint, and returns when the flusher has taken over and written something.
sub begin
{
	my ($server) = @_;
	$server->poll_query_until('postgres', "SELECT state = 'idle' AND NOT takeover FROM ckpt_stats_flush")
	  or die 'the flusher is not idle';
	my $before = $server->safe_psql('postgres', $written_back);
	my $session = ask_for_spread_checkpoint($server);
	$server->poll_query_until('postgres', "SELECT takeover AND state = 'following' FROM ckpt_stats_flush")
	  or die 'the flusher does not take over';
	foreach my $time (1, 2)
	{
		$server->poll_query_until('postgres', "SELECT writeback_bytes > $before FROM ckpt_stats")
		  or die 'nothing is written back';
		$before = $server->safe_psql('postgres', $written_back);
	}
	is($server->safe_psql('postgres', "SELECT phase, buffers_done < buffers_total FROM ckpt_stats_progress"),
		'writing buffers|t', $server->name . ': writeback goes on beside the writing');
	return $session;
}

# The checkpoint is over: what the views say of its writeback.
sub finish
{
	my ($server, $session, $before, $kind) = @_;
	$session->quit;
	wait_for_history($server, $before + 1);
	is($server->safe_psql('postgres', "SELECT kind, result, writeback_bytes BETWEEN buffers_written * 4096 "
			  . "AND buffers_written * 8192 $last"),
		"$kind|completed|t", "$kind: most of it was written back before the fsyncs");
	is($server->safe_psql('postgres', 'SELECT takeover FROM ckpt_stats_flush'), 'f', "$kind: and the takeover is over");
	# The files are shown once a second.
	$server->poll_query_until('postgres',
		'SELECT sum(writeback_bytes) = (SELECT writeback_bytes FROM ckpt_stats) FROM ckpt_stats_files')
	  or die 'the files do not add up to the total';
	is($server->safe_psql('postgres', 'SELECT writeback_bytes > 3000 * 4096 FROM ckpt_stats_files '
			  . "WHERE path = pg_relation_filepath('large')"),
		't', "$kind: the file it was");
	return;
}

change('large');
my ($before, $users) = ($node->safe_psql('postgres', $rows), $node->safe_psql('postgres', $settings));
my $session = begin($node);
is($node->safe_psql('postgres', $settings), $users, 'the user\'s settings are as they were');
finish($node, $session, $before, 'checkpoint');
is($node->safe_psql('postgres', $settings), $users, 'and afterwards');

# The standby replays the checkpoint.
$node->safe_psql('postgres', 'CHECKPOINT; CREATE TABLE after_it (a int)');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$before = $standby->safe_psql('postgres', $rows);
finish($standby, begin($standby), $before, 'restartpoint');

# Switched off in mid-checkpoint.
change('more');
$before  = $node->safe_psql('postgres', $rows);
$session = begin($node);
$node->safe_psql('postgres', 'ALTER SYSTEM SET ckptflush.flush = off');
my $began = time;
$node->reload;
$node->poll_query_until('postgres', "SELECT state = 'off' AND NOT takeover FROM ckpt_stats_flush")
  or die 'it does not end';
cmp_ok(time - $began, '<', 1.5, 'switched off: the takeover ends within a second or so');
my $bytes = $node->safe_psql('postgres', $written_back);
is($node->safe_psql('postgres', 'SELECT buffers_done < buffers_total FROM ckpt_stats_progress'), 't',
	'in the middle of the checkpoint');
$session->quit;
wait_for_history($node, $before + 1);
is($node->safe_psql('postgres', $written_back), $bytes, 'nothing more is written back');
is($node->safe_psql('postgres', "SELECT result, writeback_bytes > 0 $last"), 'completed|t', 'and it completes');

$_->stop for $standby, $node;
done_testing();
