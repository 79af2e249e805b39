# Checkpoints that are not logged: log_checkpoints = off, or a level at which its messages do not
# show. Begin, progress and end are found without them; what only the log tells is NULL. Also when
# the setting changes in mid-checkpoint.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Test::More;

# Spread checkpoints take about five seconds: a pause of 100 ms after each buffer.
my $node = new_node('no_log', conf => <<'CONF');
log_checkpoints = off
checkpoint_timeout = 1h
checkpoint_completion_target = 0.9
bgwriter_lru_maxpages = 0
CONF
my $is_17 = major_version($node) >= 17;
my $is_18 = major_version($node) >= 18;
sub ask { return $node->safe_psql('postgres', shift) }

sub set
{
	my ($setting, $value) = @_;
	ask("ALTER SYSTEM SET $setting = $value");
	$node->reload;
	return;
}

# What PostgreSQL counts itself: buffers (without SLRU pages), milliseconds, and the redo pointer.
my $core = $is_17
  ? 'SELECT buffers_written, write_time, sync_time, redo_lsn FROM pg_stat_checkpointer, pg_control_checkpoint()'
  : 'SELECT buffers_checkpoint, checkpoint_write_time, checkpoint_sync_time, redo_lsn FROM pg_stat_bgwriter, '
  . 'pg_control_checkpoint()';

my $rows = ask('SELECT count(*) FROM ckpt_stats_history');
my $serial = 0;

# Something to write, then a checkpoint: spread when code is given to run in its middle, else
# immediate. Returns by how much PostgreSQL's counters grew meanwhile, and the redo pointer after it.
sub checkpoint
{
	my ($in_the_middle) = @_;
	$serial++;
	ask(join ';', map { "CREATE TABLE t${serial}_$_ AS SELECT 1 AS a" } 1 .. ($in_the_middle ? 15 : 2));
	my @before = split /\|/, ask($core);
	my $session;
	if ($in_the_middle)
	{
		$session = ask_for_spread_checkpoint($node);
		$node->poll_query_until('postgres', 'SELECT buffers_done > 0 FROM ckpt_stats_progress')
		  or die 'no progress was seen';
		$in_the_middle->();
	}
	else
	{
		ask('CHECKPOINT');
	}
	wait_for_history($node, ++$rows);
	$session->quit if $session;
	my @after = split /\|/, ask($core);
	return (map({ $after[$_] - $before[$_] } 0 .. 2), $after[3]);
}

# The row of the last checkpoint, held against that.
sub check_row
{
	my ($name, @grown) = @_;
	is(ask('SELECT buffers_written, write_time, sync_time, redo_lsn, kind, cause, result '
			  . 'FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1'),
		join('|', @grown, qw(checkpoint requested completed)), "$name: as PostgreSQL counts it");
	is(ask('SELECT total_time >= write_time + sync_time - 1, '
			  . 'round(extract(epoch FROM ended_at - started_at) * 1000 - total_time::numeric, 3), '
			  . 'files_synced, longest_sync_time, longest_sync_file, average_sync_time, wal_added, wal_removed, '
			  . 'wal_recycled, estimate_bytes, slru_written IS NOT NULL '
			  . 'FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1'),
		't|0.000|||||||||' . ($is_18 ? 't' : 'f'), "$name: the rest is complete or NULL");
	return;
}

# A spread checkpoint, sampled until it is over.
ask('CREATE TABLE samples AS SELECT clock_timestamp() AS sampled_at, * FROM ckpt_stats_progress WITH NO DATA');
my @grown = checkpoint(sub {
	my $sample = 'WITH s AS (INSERT INTO samples SELECT clock_timestamp(), * FROM ckpt_stats_progress)';
	$node->poll_query_until('postgres', "$sample SELECT count(*) > $rows FROM ckpt_stats_history")
	  or die 'the checkpoint is not in the history';
});
check_row('spread', @grown);
is(ask('SELECT DISTINCT kind, cause, buffers_total, files_done, current_file FROM samples'),
	"checkpoint||$grown[0]||", 'one number of buffers, and it is right');
cmp_ok(ask('SELECT max(buffers_done) FROM samples'), '>=', 0.9 * $grown[0], 'up to the last moments');
is(ask('SELECT sampled_at FROM (SELECT *, lag(buffers_done) OVER (ORDER BY sampled_at) AS former FROM samples) s '
		  . 'WHERE former > buffers_done'), '', 'buffers_done only grows');
cmp_ok(ask('SELECT count(DISTINCT buffers_done) FROM samples'), '>=', 10, 'step by step');

# Some that are shorter than the time between two looks.
check_row("short $_", checkpoint()) for 1 .. 5;

# Switched on in mid-checkpoint, and off; the next one is logged again, and nothing is left over.
@grown = checkpoint(sub { set('log_checkpoints', 'on') });
check_row('on in mid-checkpoint', @grown);
@grown = checkpoint(sub { set('log_checkpoints', 'off') });
check_row('off in mid-checkpoint', @grown);
set('log_checkpoints', 'on');
my $offset = -s $node->logfile;
checkpoint();
my ($logged) = logged_checkpoints($node, $offset);
is(ask('SELECT result, buffers_written, files_synced FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1'),
	"completed|$logged->{buffers}|$logged->{files}", 'the next one is logged');

# A level above LOG.
set('log_min_messages', 'fatal');
check_row('log_min_messages = fatal', checkpoint());
unlike($node->safe_psql('postgres', "SELECT result FROM ckpt_stats_history"), qr/failed/, 'none has failed');
is(ask('SELECT count(*), count(DISTINCT redo_lsn) FROM ckpt_stats_history'),
	"$rows|$rows", 'there is one row for each checkpoint');
is(ask('SELECT h.checkpoint_id FROM ckpt_stats_history h JOIN ckpt_stats_history former '
		  . 'ON former.checkpoint_id = h.checkpoint_id - 1 '
		  . 'WHERE abs(h.redo_lsn - former.redo_lsn - h.distance_bytes) >= 1024'), '',
	'the distance is that of the redo positions, within a kilobyte');

$node->stop;
done_testing();
