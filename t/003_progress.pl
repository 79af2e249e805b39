# A spread checkpoint over buffers that pgbench has dirtied is watched from its begin to its end,
# with pgbench at work meanwhile: what ckpt_stats_progress said, and in which files the buffers
# were, agrees with what the server's log says afterwards.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

# The checkpoint takes 6.5 % of checkpoint_timeout: 20 seconds. Nobody but the checkpointer writes
# buffers: there is room for all, and the bgwriter is off.
my $node = new_node('progress', conf => <<'CONF');
checkpoint_timeout = 300s
checkpoint_completion_target = 0.065
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
synchronous_commit = off
CONF
sub ask { return $node->safe_psql('postgres', shift) }

# Three databases with equal relfilenodes: two in one tablespace, where the work list has their
# blocks in turns, and one in another.
my $directory = PostgreSQL::Test::Utils::tempdir();
ask("CREATE TABLESPACE second LOCATION '$directory'");
ask('CREATE DATABASE one');
$node->safe_psql('one',
	'CREATE TABLE same (filler text); ALTER TABLE same ALTER filler SET STORAGE plain');
ask('CREATE DATABASE two TEMPLATE one');
ask('CREATE DATABASE three TEMPLATE one TABLESPACE second');
$node->safe_psql('two', join ';', map { "CREATE TABLE t$_ (a int)" } 1 .. 600);
# Its pages are in the middle of the work list.
ask("CREATE TABLE hot WITH (fillfactor = 50) AS SELECT g AS id, repeat('x', 300) AS filler "
	  . 'FROM generate_series(1, 4800) g');
$node->run_log([ 'pgbench', '-i', '-q', '-s', 2, 'postgres' ]) or die 'pgbench -i failed';
ask('CREATE TABLE samples AS SELECT clock_timestamp() AS sampled_at, * FROM ckpt_stats_progress '
	  . 'WITH NO DATA');
ask('CHECKPOINT');
wait_for_history($node, scalar grep { $_->{complete} } logged_checkpoints($node));

# What there is to write.
my $next_xid = 'SELECT pg_snapshot_xmax(pg_current_snapshot())';
my $first_xid = ask($next_xid);
$node->run_log([ 'pgbench', '-n', '-c', 2, '-t', 1500, 'postgres' ]) or die 'pgbench failed';
my %pages = (one => 30, two => 60, three => 90);
my @expected_files;
foreach my $database (sort keys %pages)
{
	push @expected_files, $node->safe_psql($database, <<"SQL");
INSERT INTO same SELECT repeat('x', 8000) FROM generate_series(1, $pages{$database});
SELECT concat_ws('|', d.oid, d.dattablespace, pg_relation_filenode('same'), 'main', 0,
	pg_relation_filepath('same'), pg_relation_size('same') / current_setting('block_size')::int)
FROM pg_database d WHERE datname = '$database'
SQL
}
ask('UPDATE hot SET id = id');
# A relation of no database.
ask('ALTER DATABASE one CONNECTION LIMIT 50');

# Each of these files is to be fsynced.
$node->safe_psql('two', join ';', map { "INSERT INTO t$_ VALUES (1)" } 1 .. 600);
my $last_xid = ask($next_xid);
ask("SELECT ckpt_stats_reset('files')");

# The checkpoint, sampled until it is in the history.
my ($offset, $before) = (-s $node->logfile, ask('SELECT count(*) FROM ckpt_stats_history'));
my $session = ask_for_spread_checkpoint($node);
my $sample  = 'WITH s AS (INSERT INTO samples SELECT clock_timestamp(), * FROM ckpt_stats_progress)';
$node->poll_query_until('postgres', "$sample SELECT EXISTS (SELECT FROM samples WHERE buffers_total > 0)")
  or die 'no work list was found';
# Meanwhile hint bits are set on pages that are being written, which then keep their mark: each page
# of "hot" gets a row version that is dead at once, and the next reader says so on the page.
append_to_file("$directory/update.sql", <<'SQL');
\set r random(0, 47)
BEGIN;
UPDATE hot SET id = id WHERE id % 48 = :r;
ROLLBACK;
SQL
append_to_file("$directory/read.sql", "SELECT count(*) FROM hot;\n");
my $traffic = IPC::Run::start [ 'pgbench', '-n', '-c', 3, '-R', 300, '-T', 16, '-b', 'tpcb-like',
	'-f', "$directory/update.sql\@2", '-f', "$directory/read.sql\@2", $node->connstr('postgres') ],
  '>', \my $pgbench_output, '2>', \my $pgbench_errors;
$node->poll_query_until('postgres', "$sample SELECT count(*) > $before FROM ckpt_stats_history")
  or die 'the checkpoint is not in the history';
$session->quit;
ok($traffic->finish, 'pgbench went on during the checkpoint') or diag $pgbench_errors;

my ($logged) = grep { $_->{complete} } logged_checkpoints($node, $offset);
is($logged->{flags}, 'force wait', 'the checkpoint was spread');
cmp_ok($logged->{total}, '>', 15_000, 'and took its time');

is(ask('SELECT count(DISTINCT checkpoint_id) FROM samples'), 1, 'one checkpoint was seen');
cmp_ok(ask('SELECT count(*) FROM samples'), '>=', 20, 'in 20 rows and more');
is(ask(<<'SQL'), '', 'buffers_done only grows');
SELECT sampled_at FROM (SELECT *, lag(buffers_done) OVER (ORDER BY sampled_at) AS former FROM samples) s
WHERE former > buffers_done
SQL
SKIP:
{
	my $sync_time = $logged->{sync};
	my $gap = ask(<<'SQL');
SELECT round(1000 * max(extract(epoch FROM gap))) FROM (SELECT sampled_at - lag(sampled_at) OVER (ORDER BY sampled_at) FROM samples) g (gap)
SQL
	skip "the sync phase took $sync_time ms only, samples up to $gap ms", 2 if $sync_time < 250 || $sync_time < 2 * $gap;
	is(ask("SELECT DISTINCT buffers_total - buffers_done FROM samples WHERE phase = 'syncing files'"),
		0, 'until all buffers are done');
	is(ask("SELECT max(files_done) BETWEEN 1 AND $logged->{files}, bool_and(current_file ~ '^(base|global|pg_)') "
			  . "FROM samples WHERE phase = 'syncing files'"), 't|t', 'then files are counted');
}
is(ask('SELECT count(DISTINCT buffers_total) FROM samples WHERE buffers_total IS NOT NULL'), 1,
	'buffers_total stands from the begin');
my @phases = split /\n/, ask('SELECT phase FROM samples GROUP BY 1 ORDER BY min(sampled_at), max(sampled_at)');
like("@phases", qr/^(preparing )?writing buffers( syncing files)?( finishing)?$/, 'phases in order');
is(ask('SELECT phase, count(*) FROM (SELECT phase, lag(phase) OVER (ORDER BY sampled_at) AS former '
		  . 'FROM samples) s WHERE phase <> former GROUP BY 1 HAVING count(*) > 1'),
	'', 'none was gone back to');

# SLRU pages: one of pg_xact, and those of pg_subtrans that were begun. Before 18 the log counts
# them among the buffers, afterwards apart.
my $slru = 1 + int($last_xid / 2048) - int($first_xid / 2048);
is($logged->{slru}, $slru, 'SLRU pages in the log') if major_version($node) >= 18;
my $total = ask('SELECT max(buffers_total) FROM samples');
is($total, $logged->{buffers} - (major_version($node) >= 18 ? 0 : $slru),
	'buffers_total is the number of buffers in the log');

my $error = ask(<<'SQL');
SELECT abs(extract(epoch FROM eta_at - h.ended_at)) / extract(epoch FROM h.ended_at - h.started_at)
FROM samples JOIN ckpt_stats_history h USING (checkpoint_id)
ORDER BY abs(extract(epoch FROM sampled_at - h.started_at - (h.ended_at - h.started_at) / 4)) LIMIT 1
SQL
cmp_ok($error, '<=', 0.15, 'the ETA at a quarter of the length is right within 15 % of the length');

# The files.
is(ask('SELECT sum(buffers_written) FROM ckpt_stats_files'), $total, 'each buffer is in one file');
my ($filenode) = $expected_files[0] =~ /^\d+\|\d+\|(\d+)/;
is( ask('SELECT database, tablespace, relfilenode, fork, segment, path, buffers_written '
		  . "FROM ckpt_stats_files WHERE relfilenode = $filenode AND fork = 'main' ORDER BY buffers_written"),
	join("\n", @expected_files[0, 2, 1]),
	'files of equal relfilenodes are told apart');
is(ask('SELECT path FROM ckpt_stats_files WHERE pg_stat_file(path, true) IS NULL'), '', 'all paths exist');
is(ask("SELECT count(*) FROM ckpt_stats_files WHERE relfilenode = pg_relation_filenode('pg_database')"
		  . " AND fork = 'main' AND database IS NULL"),
	1, 'a shared relation has no database');

$node->stop;
done_testing();
