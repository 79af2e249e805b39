# What the flusher asks of the kernel, seen by strace over a checkpoint, the sweep and files that
# vanish: it starts writeback and waits for none, syncs nothing, creates no file and keeps none open.
# An error of writeback stays for the checkpointer's fsync, and a dropped file gives up its space.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Test::More;
use Trace;

# A write phase of six seconds.
my $node = new_node('calls', conf => <<'CONF');
checkpoint_timeout = 300s
checkpoint_completion_target = 0.02
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
CONF
sub ask { return $node->safe_psql('postgres', shift) }
plan skip_all => 'the kernel has no sync_file_range here'
  if ask('SELECT sync_file_range FROM ckpt_stats_info') ne 't';
my $sweeps = ask('SELECT cachestat FROM ckpt_stats_info') eq 't';

my $worker = "FROM ckpt_stats_workers WHERE name = 'ckptflush flusher'";
my $pid    = ask("SELECT pid $worker");
my $trace  = Trace->attach($pid) or plan skip_all => $Trace::why_not;

# Until the flusher has written back something of the table's file.
sub wait_for_writeback
{
	my ($table) = @_;
	my $path = ask("SELECT pg_relation_filepath('$table')");
	$node->poll_query_until('postgres',
		"SELECT coalesce(sum(writeback_bytes), 0) > 0 FROM ckpt_stats_files WHERE path = '$path'")
	  or die "nothing of $table is written back";
	return;
}

ask(<<'SQL');
CREATE TABLE large (filler text);
ALTER TABLE large ALTER filler SET STORAGE plain;
CHECKPOINT;
INSERT INTO large SELECT repeat('x', 8000) FROM generate_series(1, 3000);
SQL
my $rows = ask('SELECT count(*) FROM ckpt_stats_history');
my $session = ask_for_spread_checkpoint($node);

# Meanwhile tables come and go, and are truncated.
my $serial = 0;
do
{
	my $former = $serial++;
	ask(<<"SQL");
CREATE TABLE t$serial AS SELECT repeat('x', 1000) FROM generate_series(1, 2000);
TRUNCATE t$serial;
DROP TABLE IF EXISTS t$former;
SQL
} until ask("SELECT count(*) > $rows FROM ckpt_stats_history") eq 't';
$session->quit;
cmp_ok($serial, '>', 2, 'tables came and went during a checkpoint');
# On a machine that others use heavily most is synced before the flusher comes to it.
wait_for_writeback('large');

# Beside checkpoints.
SKIP:
{
	skip 'the kernel has no cachestat here', 1 if !$sweeps;
	# Through a ring of buffers of 16 MB. Slowed down by strace, a round of the sweep over a thousand files
	# may take longer than the kernel waits: so there is something new for it again and again.
	my $most = 'SELECT max(writeback_bytes) FROM ckpt_stats_files WHERE path IN '
	  . "(SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname LIKE 'swept%')";
	my $swept;
	foreach my $attempt (1 .. 12)
	{
		ask("CREATE TABLE swept$attempt AS SELECT repeat('x', 1000) FROM generate_series(1, 30000)");
		$swept = wait_until(15, sub { (ask($most) || 0) > 4_000_000 });
		last if $swept;
	}
	ok($swept, 'a table was swept');
}

# Nothing is open between two rounds; one may be under way just now.
my $data = $node->data_dir;
ok( wait_until(10, sub {
		my @open = map { readlink($_) // '' } glob "/proc/$pid/fd/*";
		return @open && !grep { m{/(?:base|global|pg_tblspc|pg_wal|pg_xact)/} } @open;
	}),
	'no data file is kept open');

$trace->detach;
my @calls = $trace->calls;
is(ask("SELECT pid, restarts, last_error $worker"), "$pid|0|", 'all this was one flusher');

my @writeback = grep { /^\d+\s+sync_file_range\(/ } @calls;
cmp_ok(scalar @writeback, '>', 10, 'it has started writeback');
is_deeply([ grep { !/, SYNC_FILE_RANGE_WRITE\)/ } @writeback ], [], 'and has not waited for any');
is_deeply([ grep { /^\d+\s+(?:fsync|fdatasync|sync|syncfs|msync|pwrite\w*|fallocate|f?truncate|rename\w*|unlink\w*)\(/ } @calls ], [],
	'it has neither synced nor changed anything');
my @opened = grep { /^\d+\s+(?:open|openat|openat2|creat)\(/ } @calls;
cmp_ok(scalar(grep { /"base\// } @opened), '>', 10, 'it has opened data files');
is_deeply([ grep { /O_CREAT|O_TRUNC|O_TMPFILE|\bcreat\(/ } @opened ], [], 'and has created none');

$node->stop;
done_testing();
