# What the user sets in mid-checkpoint holds from then on, though the checkpointer's own variables are
# ours for the length of a takeover: a checkpoint in haste, or one that takes its time, and whether
# the checkpointer starts writeback afterwards. Nothing of ours is left when the checkpoint is over.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;
use Trace;

my $node = new_node('reload', conf => <<'CONF');
checkpoint_timeout = 300s
checkpoint_completion_target = 0.9
checkpoint_flush_after = 64kB
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
CONF
sub ask { return $node->safe_psql('postgres', shift) }
sub set { ask("ALTER SYSTEM SET $_[0]"); $node->reload; return }
plan skip_all => 'the kernel has no sync_file_range here'
  if ask('SELECT sync_file_range FROM ckpt_stats_info') ne 't';
ask('CREATE TABLE large (filler text); ALTER TABLE large ALTER filler SET STORAGE plain');
my $trace = Trace->attach(ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"),
	'sync_file_range');

sub wait_for
{
	my ($condition) = @_;
	$node->poll_query_until('postgres', "SELECT $condition") or die "timed out waiting for: $condition";
	return;
}

# Asks for a spread checkpoint over 3000 pages.
sub start_checkpoint
{
	ask("TRUNCATE large; CHECKPOINT; INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 3000)");
	my $offset = -s $node->logfile;
	return (ask_for_spread_checkpoint($node), $offset);
}

# The same, and returns when the list is known, and the pace is ours.
sub begin
{
	wait_for("state NOT IN ('off', 'following') FROM ckpt_stats_flush");
	my @checkpoint = start_checkpoint();
	wait_for('takeover FROM ckpt_stats_flush');
	wait_for('buffers_done > 10 FROM ckpt_stats_progress');
	return @checkpoint;
}

# Waits for its end; its length in seconds by the log.
sub finish
{
	my ($session, $offset) = @_;
	$session->quit;
	wait_for_checkpoints($node, 1, $offset);
	my ($logged) = logged_checkpoints($node, $offset);
	is($logged->{flags}, 'force wait', 'the checkpoint was spread');
	note "it took $logged->{total} ms";
	return $logged->{total} / 1000;
}

# From 270 seconds to three.
my @checkpoint = begin();
set('checkpoint_completion_target = 0.01');
cmp_ok(finish(@checkpoint), '<', 30, 'less time in mid-checkpoint');

# So does the next one, without a reload in between, and with nobody but the checkpointer at work.
my $flusher = ask("SELECT pid FROM ckpt_stats_workers WHERE name = 'ckptflush flusher'");
kill 'STOP', $flusher or die "could not stop the flusher: $!";
wait_for("state = 'off' FROM ckpt_stats_flush");
cmp_ok(finish(start_checkpoint()), '<', 30, 'and in the next one');
kill 'CONT', $flusher or die "could not wake the flusher: $!";

# From three seconds to 270, and then to 15.
@checkpoint = begin();
set('checkpoint_completion_target = 0.9');
wait_for('elapsed_time > 7000 FROM ckpt_stats_progress');
is(ask('SELECT phase FROM ckpt_stats_progress'), 'writing buffers', 'more time in mid-checkpoint: it goes on');
set('checkpoint_completion_target = 0.03');
my $length = finish(@checkpoint);
cmp_ok($length, '>', 7, 'longer than it would have been');
cmp_ok($length, '<', 40, 'and not for ever');

# The next one goes by what was set last, with and without the flusher. The margin below is that of
# the checkpointer, which counts from a whole second, and of a machine that others use; with what was
# set before it would be three seconds, or minutes.
foreach my $flush (qw(on off))
{
	set("ckptflush.flush = $flush");
	wait_for(($flush eq 'on' ? 'state <>' : 'state =') . q{ 'off' FROM ckpt_stats_flush});
	$length = finish(start_checkpoint());
	cmp_ok(abs($length - 8.5), '<', 4, "flush = $flush: the next one takes nine seconds");
}
set('ckptflush.flush = on');

# Whether the checkpointer itself starts writeback in an immediate checkpoint.
sub writeback
{
	ask("TRUNCATE large; INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 500)");
	my $seen = $trace->count('sync_file_range');
	ask('CHECKPOINT');
	return $trace->count('sync_file_range') - $seen;
}

set('checkpoint_completion_target = 0.01');
SKIP:
{
	skip $Trace::why_not, 5 if !$trace;
	cmp_ok(writeback(), '>', 50, 'checkpoint_flush_after is what it was');
	foreach my $change ([ '0', 'in mid-checkpoint to 0' ], [ '128kB', 'and back' ])
	{
		my ($value, $name) = @$change;
		@checkpoint = begin();
		set("checkpoint_flush_after = '$value'");
		finish(@checkpoint);
		my $calls = writeback();
		ok($value ? $calls > 20 : $calls == 0, "checkpoint_flush_after $name: it holds afterwards")
		  or diag "$calls calls of sync_file_range";
	}
	$trace->detach;
}

# Not logged any more: nobody hears of the end of this one, and the takeover ends all the same.
@checkpoint = begin();
set('log_checkpoints = off');
$checkpoint[0]->quit;
ok(wait_until(10, sub { ask('SELECT takeover FROM ckpt_stats_flush') eq 'f' }),
	'log_checkpoints = off in mid-checkpoint: the takeover ends with it');

$node->stop;
done_testing();
