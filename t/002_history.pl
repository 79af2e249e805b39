# Each row of ckpt_stats_history says what the server's log says of that checkpoint, to the
# printed digit: requested, spread, WAL-driven and timed ones, with DDL between them.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

# Segments of 1 MB, so that little WAL makes a difference; a low completion target, so that a
# spread checkpoint takes three seconds at most.
my $node = new_node(
	'history',
	init => [ extra => ['--wal-segsize=1'] ],
	conf => <<'CONF');
checkpoint_timeout = 30s
checkpoint_completion_target = 0.1
max_wal_size = 1GB
min_wal_size = 2MB
wal_recycle = off
CONF

# The same columns as logged_checkpoints() has, as the log prints them: milliseconds rounded up
# (the average after its fraction of a microsecond was cut off), sizes in kB.
my $history = <<'SQL';
SELECT kind, cause, result, buffers_written AS buffers, slru_written AS slru, wal_added AS added,
	wal_removed AS removed, wal_recycled AS recycled,
	ceil(round((write_time * 1000)::numeric) / 1000) AS write,
	ceil(round((sync_time * 1000)::numeric) / 1000) AS sync,
	ceil(round((total_time * 1000)::numeric) / 1000) AS total,
	files_synced AS files,
	ceil(round((longest_sync_time * 1000)::numeric) / 1000) AS longest,
	ceil(trunc((average_sync_time * 1000)::numeric) / 1000) AS average,
	distance_bytes / 1024 AS distance, estimate_bytes / 1024 AS estimate
FROM ckpt_stats_history WHERE ended_at IS NOT NULL ORDER BY checkpoint_id
SQL
my @columns =
  qw(kind cause result buffers slru added removed recycled write sync total files longest average
  distance estimate);

sub set
{
	my ($setting, $value) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting = $value");
	$node->reload;
	return;
}

# Something to write, in new files and in old ones, and files that vanish.
sub change_things
{
	my ($i) = @_;
	my $rows = 100 * ($i % 7);
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS t@{[ $i - 2 ]};
CREATE TABLE t$i AS SELECT g, repeat('x', 200) AS filler FROM generate_series(1, $rows) g;
CREATE INDEX ON t$i (g);
CREATE TABLE IF NOT EXISTS kept (g int);
INSERT INTO kept SELECT generate_series(1, $rows);
SQL
	$node->safe_psql('postgres', 'TRUNCATE kept') if $i % 5 == 0;
	return;
}

# A segment of WAL that is more than three quarters full: the next checkpoint adds one.
sub fill_segment
{
	$node->safe_psql('postgres', <<'SQL');
SELECT pg_switch_wal();
SELECT pg_logical_emit_message(false, 'filler', repeat('x', 900000));
SQL
	return;
}

foreach my $i (2 .. 47)
{
	change_things($i);
	fill_segment() if $i % 8 == 7;
	$node->safe_psql('postgres',
		$i % 12 == 0
		? "SELECT pg_backup_start('spread', false); SELECT pg_backup_stop(false)"
		: 'CHECKPOINT');
	set('wal_recycle', 'on')
	  if $i == 24;    # from then on segments are recycled, not removed and added
}

# Four that the amount of WAL asks for.
set('max_wal_size', 4);
foreach my $i (1 .. 4)
{
	my $offset = -s $node->logfile;
	$node->safe_psql('postgres',
		"INSERT INTO kept SELECT generate_series(1, 20000); SELECT pg_switch_wal()")
	  for 1 .. 4;
	$node->wait_for_log(qr/checkpoint starting: wal/, $offset);
	$node->wait_for_log(qr/checkpoint complete/, $offset);
}
set('max_wal_size', 1024);

# And one that the clock asks for.
$node->safe_psql('postgres', 'CHECKPOINT');
my $offset = -s $node->logfile;
change_things(100);
$node->wait_for_log(qr/checkpoint starting: time.*checkpoint complete/s, $offset);

my @logged = grep { $_->{complete} } logged_checkpoints($node);
cmp_ok(scalar @logged, '>=', 50, 'there were 50 checkpoints');
foreach my $flag (qw(immediate|fast force wait wal time))
{
	ok((grep { $_->{flags} =~ /\b(?:$flag)\b/ } @logged), "some with \"$flag\"");
}
ok((grep { $_->{flags} eq 'force wait' } @logged), 'some requested and spread');
foreach my $change (qw(added removed recycled))
{
	ok((grep { $_->{$change} } @logged), "some with WAL segments $change");
}

wait_for_history($node, scalar @logged);
my @rows = split /\n/, $node->safe_psql('postgres', $history);
is(scalar @rows, scalar @logged, 'one row of history for each');
foreach my $logged (@logged)
{
	my $expected = join ' ', map { "$_=" . ($logged->{$_} // '') } @columns;
	my @values = split /\|/, shift(@rows) // '', -1;
	my $found = join ' ', map { "$columns[$_]=" . ($values[$_] // '') } 0 .. $#columns;
	is($found, $expected, "$logged->{kind} starting: $logged->{flags}");
}

$node->stop;
done_testing();
