# What others than the checkpointer have written is found in the page cache and written back in time,
# without a checkpoint: a table that COPY has filled through its ring of buffers, an index that was
# built beside them (before 17 PostgreSQL syncs that itself). Another server with the same work but without the sweep shows that nobody else
# is at it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = <<'CONF';
checkpoint_timeout = 1h
max_wal_size = 4GB
shared_buffers = 128MB
bgwriter_lru_maxpages = 0
CONF
my $node    = new_node('sweep', conf => $conf);
my $without = new_node('without', conf => "${conf}ckptflush.flush_sweep = off\n");
plan skip_all => 'the kernel has no cachestat or no sync_file_range here'
  if $node->safe_psql('postgres', 'SELECT cachestat AND sync_file_range FROM ckpt_stats_info') ne 't';
my $is_17 = major_version($node) >= 17;
$node->safe_psql('postgres', 'CHECKPOINT');
wait_for_history($node, 1);
my $done = $node->safe_psql('postgres', 'SELECT num_done FROM ckpt_stats');

# Two tablespaces: the sweep finds its way there too.
my $file = PostgreSQL::Test::Utils::tempdir() . '/rows';
append_to_file($file, join '', map { "$_\t" . 'x' x 1000 . "\n" } 1 .. 60_000);
foreach my $server ($without, $node)
{
	my $directory = PostgreSQL::Test::Utils::tempdir();
	$server->safe_psql('postgres', "CREATE TABLESPACE second LOCATION '$directory'");
	$server->safe_psql('postgres', <<"SQL");
CREATE TABLE copied (id int, filler text) TABLESPACE second;
COPY copied FROM '$file';
CREATE INDEX built ON copied (id);
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM copied LIMIT 30000;
SQL
}

# Shared buffers keep some of the table; what has left them is on its way to the device within five
# seconds or so, and the index, which was never in them, too.
my $swept = 'SELECT coalesce(sum(writeback_bytes), 0) FROM ckpt_stats_files WHERE path = pg_relation_filepath';
my $index = $is_17 ? 1_000_000 : -1;
$node->poll_query_until('postgres', "SELECT ($swept('copied')) > 30000000 AND ($swept('built')) > $index")
  or die 'not written back: ' . $node->safe_psql('postgres', "SELECT ($swept('copied')), ($swept('built'))");
ok(1, 'a table filled by COPY, and an index');
# Twice at most: the index build has set hint bits.
is($node->safe_psql('postgres', "SELECT ($swept('copied')) <= 2 * pg_relation_size('copied')"), 't',
	'not over and over');
is($node->safe_psql('postgres', "$swept('unlogged')"), 0, 'an unlogged table is left to the kernel');
is($node->safe_psql('postgres', 'SELECT num_done FROM ckpt_stats'), $done, 'all this without a checkpoint');
cmp_ok($node->safe_psql('postgres', 'SELECT sweep_files FROM ckpt_stats_flush'), '>=',
	$node->safe_psql('postgres', 'SELECT count(*) FROM pg_class WHERE pg_relation_filepath(oid) IS NOT NULL'),
	'the sweep knows the files');
is($node->safe_psql('postgres', 'SELECT takeover FROM ckpt_stats_flush'), 'f', 'and has taken over no checkpoint');

# It is shown what is dirty, and that it is no more.
$node->poll_query_until('postgres', 'SELECT os_dirty_bytes < 3000000 FROM ckpt_stats_files '
	  . "WHERE path = pg_relation_filepath('copied')")
  or die 'the table stays dirty';
ok(1, 'the table is not dirty any more');

is($without->safe_psql('postgres', 'SELECT writeback_bytes, writeback_calls FROM ckpt_stats'), '0|0',
	'without the sweep: nothing was written back');
is($without->safe_psql('postgres', 'SELECT count(os_dirty_bytes) FROM ckpt_stats_files'), 0, 'nor looked at');

# What was dropped is forgotten: tables, and a whole database.
my $files = 'SELECT sweep_files FROM ckpt_stats_flush';
my $known = $node->safe_psql('postgres', $files);
$node->safe_psql('postgres', join ';', map { "CREATE TABLE dropped$_ (a int)" } 1 .. 300);
$node->safe_psql('postgres', 'CREATE DATABASE dropped');
$node->poll_query_until('postgres', "SELECT sweep_files > $known + 500 FROM ckpt_stats_flush")
  or die 'not found: ' . $node->safe_psql('postgres', $files);
$node->safe_psql('postgres', join ';', map { "DROP TABLE dropped$_" } 1 .. 300);
$node->safe_psql('postgres', 'DROP DATABASE dropped');
# Of a dropped table the first file stays until then.
$node->safe_psql('postgres', 'CHECKPOINT');
ok( $node->poll_query_until('postgres', "SELECT sweep_files < $known + 100 FROM ckpt_stats_flush"),
	'dropped tables and a dropped database are forgotten');

# Switched off in the running server: what others write waits for the kernel. On again, it is found; not
# the first table, which the kernel may have written meanwhile.
$node->safe_psql('postgres', 'ALTER SYSTEM SET ckptflush.flush_sweep = off');
$node->reload;
$_->safe_psql('postgres', 'CREATE TABLE later AS SELECT * FROM copied') for $without, $node;
$without->safe_psql('postgres', 'ALTER SYSTEM SET ckptflush.flush_sweep = on');
$without->reload;
$without->poll_query_until('postgres', "SELECT ($swept('later')) > 0") or die 'not found after the reload';
ok(1, 'switched on: what is dirty is found');
is($node->safe_psql('postgres', "$swept('later')"), 0, 'switched off: it is not');

$_->stop for $node, $without;
done_testing();
