# Whose fsync cost the time: the times of ckpt_stats_files add up to the sync time of the
# checkpoint, relations with all their forks and SLRU files alike; ckptflush.track_sync is the
# switch.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

# The kernel is left alone with what is written until the fsyncs, which so have something to do: by
# the flusher too.
my $node = new_node('files', conf => <<'CONF');
checkpoint_timeout = 1h
max_wal_size = 4GB
shared_buffers = 256MB
checkpoint_flush_after = 0
ckptflush.flush = off
bgwriter_lru_maxpages = 0
CONF
sub ask { return $node->safe_psql('postgres', shift) }

# 16 tables, and a way to add rows of a kilobyte to all of them.
ask("CREATE TABLE t$_ (filler text)") for 1 .. 16;
ask(<<'SQL');
CREATE PROCEDURE fill(how_many int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 16 LOOP
		EXECUTE format('INSERT INTO t%s SELECT repeat(md5(g::text), 30) FROM generate_series(1, %s) g',
			i, how_many);
	END LOOP;
END
$$
SQL

# Writes, then a checkpoint whose row is in the history afterwards; only its files are shown.
sub checkpoint
{
	my ($rows) = @_;
	ask("CALL fill($rows); VACUUM t1; SELECT ckpt_stats_reset('files')");
	my $before = ask('SELECT coalesce(max(checkpoint_id), 0) FROM ckpt_stats_history');
	ask('CHECKPOINT');
	$node->poll_query_until('postgres',
		"SELECT max(checkpoint_id) > $before FROM ckpt_stats_history")
	  or die 'the checkpoint is not in the history';
	return;
}
my $last = '(SELECT * FROM ckpt_stats_history ORDER BY checkpoint_id DESC LIMIT 1) h';

ask('CHECKPOINT');
wait_for_history($node, scalar grep { $_->{complete} } logged_checkpoints($node));
checkpoint(12_000);
is(ask("SELECT (SELECT sum(syncs) FROM ckpt_stats_files) = files_synced FROM $last"),
	't', 'each file that was synced is shown');
my ($sum, $sync_time) = split /\|/,
  ask("SELECT (SELECT sum(sync_time) FROM ckpt_stats_files), sync_time FROM $last");
note "sum of the files $sum ms, sync time $sync_time ms";
SKIP:
{
	skip 'fsync takes no time here', 1 if $sync_time < 50;
	cmp_ok(abs($sum - $sync_time), '<=', 0.05 * $sync_time,
		'the times of the files add up to the sync time within 5 %');
}
is( ask('SELECT f.max_sync_time = h.longest_sync_time '
		  . "FROM $last JOIN ckpt_stats_files f ON path = longest_sync_file"),
	't',
	'the file that took longest');
is( ask("SELECT f.path FROM $last, ckpt_stats_files f WHERE f.max_sync_time > h.longest_sync_time"),
	'', 'and none took longer');
is(ask('SELECT path FROM ckpt_stats_files WHERE syncs <> 1 OR sync_time <> min_sync_time '
		  . 'OR sync_time <> max_sync_time OR sync_time <> last_sync_time'),
	'', 'each was synced once');

is( ask("SELECT fork, database, tablespace, segment, path FROM ckpt_stats_files "
		  . "WHERE relfilenode = pg_relation_filenode('t1') ORDER BY path"),
	ask("SELECT fork, d.oid, dattablespace, 0, pg_relation_filepath('t1') || suffix "
		  . "FROM pg_database d, (VALUES ('main', ''), ('fsm', '_fsm'), ('vm', '_vm')) v(fork, suffix) "
		  . "WHERE datname = 'postgres' ORDER BY pg_relation_filepath('t1') || suffix"),
	'a relation with its forks');
is( ask('SELECT database, tablespace, relfilenode, fork, segment, syncs FROM ckpt_stats_files '
		  . "WHERE path = 'pg_xact/0000'"),
	'|||||1',
	'an SLRU file belongs to no relation');

# Two more, without a reset between them.
ask("SELECT ckpt_stats_reset('files')");
$node->safe_psql('postgres', "INSERT INTO t1 VALUES ('x'); CHECKPOINT") for 1 .. 2;
is( ask('SELECT syncs, min_sync_time <= max_sync_time, '
		  . 'round((min_sync_time + max_sync_time - sync_time)::numeric, 6) '
		  . "FROM ckpt_stats_files WHERE path = pg_relation_filepath('t1')"),
	'2|t|0.000000',
	'the times of two checkpoints');

# Switched off in the running server.
ask('ALTER SYSTEM SET ckptflush.track_sync = off');
$node->reload;
checkpoint(1);
is(ask('SELECT count(*) FROM ckpt_stats_files WHERE syncs > 0 OR sync_time > 0'), 0, 'track_sync = off: no times');
is(ask("SELECT files_synced > 16, longest_sync_time > 0, average_sync_time > 0, longest_sync_file FROM $last"),
	't|t|t|', 'but what the log says of them all');
unlike(slurp_file($node->logfile), qr/checkpoint sync/, 'nothing of this is in the log');
ask('ALTER SYSTEM RESET ckptflush.track_sync');
$node->reload;
checkpoint(1);
is(ask("SELECT (SELECT sum(syncs) FROM ckpt_stats_files) = files_synced FROM $last"),
	't', 'and on again');

$node->stop;
done_testing();
