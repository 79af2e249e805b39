# Statistics survive a crash of any kind: they come back as they were, no matter how often, once;
# and autovacuum acts on them. A clean restart is PostgreSQL's own affair.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = collecting_node('crash', conf => "autovacuum_naptime = 1s\n");
sub ask { return $node->safe_psql('postgres', shift) }
run($node, <<'SQL');
CREATE TABLE rows (a int);
INSERT INTO rows SELECT generate_series(1, 20000);
DELETE FROM rows WHERE a <= 8000;
CREATE TABLE cared AS SELECT generate_series(1, 1000) AS a;
VACUUM cared;
ANALYZE cared;
UPDATE cared SET a = a + 1 WHERE a <= 10;
CREATE FUNCTION called() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
SELECT called(), called(), called();
SQL
my $tables = tables_of($node);
like($tables, qr/^cared\|.*\nrows\|20000\|0\|8000\|0\|12000\|8000\|28000\|20000\|/, 'there is something to lose');
my $functions = "SELECT calls FROM pg_stat_user_functions WHERE funcname = 'called'";
my $counters  = "SELECT tup_inserted, tup_deleted FROM pg_stat_database WHERE datname = 'postgres'";
is(ask($functions), 3, 'functions too');
my ($inserted) = split /\|/, ask($counters);

# What was there before is there again; and where PostgreSQL has kept it, nothing was added to it.
sub all_is_there
{
	my ($name, $restored) = @_;
	is(tables_of($node), $tables, "$name: tables");
	is(ask($functions), 3, "$name: functions");
	cmp_ok((split /\|/, ask($counters))[0], '>=', $inserted, "$name: the database");
	cmp_ok((split /\|/, ask($counters))[0], '<', $inserted + 10000, "$name: not twice");
	is(ask('SELECT count(*) > 0 FROM ckpt_stats_databases WHERE restored_at IS NOT NULL'), $restored,
		"$name: " . ($restored eq 't' ? 'restored' : 'nothing was restored'));
	return;
}

foreach my $way (qw(all backend immediate all))
{
	write_files($node);
	if    ($way eq 'all')     { crash_all($node); $node->start }
	elsif ($way eq 'backend') { crash_backend($node) }
	else                      { $node->stop('immediate'); $node->start }
	wait_for_restore($node);
	all_is_there($way, 't');
}
like(slurp_file($node->logfile), qr/LOG:  ckptflush restored \d+ statistics of \d+ databases/, 'the log says so');

# Once more without a write in between: the same files.
crash_all($node);
$node->start;
wait_for_restore($node);
all_is_there('a second crash', 't');

# The collector is terminated and comes back.
my $worker = "FROM ckpt_stats_workers WHERE name = 'ckptflush collector'";
my $pid    = ask("SELECT pid $worker");
kill 'TERM', $pid;
$node->poll_query_until('postgres', "SELECT state = 'running' AND pid <> $pid $worker") or die 'it does not come back';
write_files($node);
all_is_there('a new collector', 't');

# Clean restarts.
foreach my $mode (qw(fast smart))
{
	$node->stop($mode);
	$node->start;
	write_files($node);
	all_is_there("$mode restart", 'f');
}

# Not the files: they are current, and are not written again.
is(ask("SELECT sum(writes) <= 2 FROM ckpt_stats_databases WHERE datname = 'template1'"), 't', 'nor written without need');

# Autovacuum knows of the dead rows.
write_files($node);
crash_all($node);
$node->append_conf('postgresql.conf', "autovacuum = on\n");
$node->start;
$node->poll_query_until('postgres', "SELECT autovacuum_count = 1 FROM pg_stat_user_tables WHERE relname = 'rows'")
  or die 'autovacuum is blind';
is(ask("SELECT n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE relname = 'rows'"), '0|12000', 'autovacuum acts');
is(ask("SELECT last_error $worker"), '', 'all this without an error');

# The cluster's own statistics.
run($node, 'CHECKPOINT');
my $wal = 'SELECT wal_records FROM pg_stat_wal';
my ($records, $alloc) = (ask($wal), ask('SELECT buffers_alloc FROM pg_stat_bgwriter'));
my $reset = ask("SELECT stats_reset FROM pg_stat_wal");
write_files($node);
crash_all($node);
$node->start;
wait_for_restore($node);
cmp_ok(ask($wal), '>=', $records, 'WAL');
cmp_ok(ask('SELECT buffers_alloc FROM pg_stat_bgwriter'), '>=', $alloc, 'the background writer');
is(ask("SELECT stats_reset FROM pg_stat_wal"), $reset, 'counted since then');
$node->stop;
no_fatal($node);

done_testing();
