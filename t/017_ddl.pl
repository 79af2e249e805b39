# Files that vanish under the flusher: tables, tablespaces and databases come and go while it looks
# for dirty pages and follows checkpoints. Nobody meets an error, no DROP waits for it, and no file
# that was dropped comes back. CKPTFLUSH_DDL_OPERATIONS is the number of DDL statements: 3000 unless set.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run;
use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Test::More;

my $operations = $ENV{CKPTFLUSH_DDL_OPERATIONS} // 3000;

# Spread checkpoints take three seconds, unless a DROP DATABASE asks for haste.
my $node = new_node('ddl', conf => <<'CONF');
checkpoint_timeout = 30s
checkpoint_completion_target = 0.1
max_wal_size = 4GB
shared_buffers = 32MB
synchronous_commit = off
log_min_duration_statement = 20s
CONF
sub ask { return $node->safe_psql('postgres', shift) }
my $directory = PostgreSQL::Test::Utils::tempdir();
mkdir "$directory/$_" or die "could not make a directory: $!" for qw(second third);
ask("CREATE TABLESPACE second LOCATION '$directory/second'");
my $worker = "FROM ckpt_stats_workers WHERE name = 'ckptflush flusher'";
my $pid    = ask("SELECT pid $worker");

# Eleven statements that make, move, empty or remove files.
append_to_file("$directory/tables.sql", <<'SQL');
CREATE TABLE t:client_id AS SELECT g, repeat('x', 800) AS filler FROM generate_series(1, 400) g;
CREATE INDEX ON t:client_id (g);
ALTER TABLE t:client_id SET TABLESPACE second;
TRUNCATE t:client_id;
INSERT INTO t:client_id SELECT g, repeat('y', 800) FROM generate_series(1, 400) g;
ALTER TABLE t:client_id SET TABLESPACE pg_default;
REINDEX TABLE t:client_id;
VACUUM FULL t:client_id;
CREATE UNLOGGED TABLE u:client_id AS SELECT * FROM t:client_id;
DROP TABLE u:client_id;
DROP TABLE t:client_id;
SQL
# Four more, of directories.
append_to_file("$directory/databases.sql", <<"SQL");
CREATE DATABASE d:client_id TABLESPACE second;
CREATE TABLESPACE third LOCATION '$directory/third';
DROP TABLESPACE third;
DROP DATABASE d:client_id;
SQL

sub start_pgbench
{
	my ($script, $clients, $statements) = @_;
	my $transactions = 1 + int($statements / $clients);
	return IPC::Run::start [ 'pgbench', '-n', '-c', $clients, '-t', $transactions, '-f', "$directory/$script.sql",
		$node->connstr('postgres') ], '<', \undef, '&>', "$directory/$script.out";
}
my $tables    = start_pgbench('tables', 3, 0.95 * $operations / 11);
my $databases = start_pgbench('databases', 1, 0.05 * $operations / 4);

# Meanwhile one spread checkpoint after the other.
my $checkpoints = 0;
do
{
	ask_for_spread_checkpoint($node)->quit;
	$checkpoints++;
} while grep { process_runs($_->{KIDS}[0]{PID}) } $tables, $databases;
ok($tables->finish, 'tables came and went') or diag slurp_file("$directory/tables.out");
ok($databases->finish, 'databases and tablespaces came and went') or diag slurp_file("$directory/databases.out");
note "$checkpoints spread checkpoints";

is(ask("SELECT pid, state, restarts, last_error $worker"), "$pid|running|0|", 'the flusher has seen all this');
cmp_ok(ask('SELECT writeback_calls FROM ckpt_stats'), '>', 100, 'and was at work');
cmp_ok(ask('SELECT max(writeback_bytes) FROM ckpt_stats_history'), '>', 0, 'in checkpoints too');
my $log = slurp_file($node->logfile);
unlike($log, qr/(WARNING|ERROR|FATAL|PANIC):/, 'nobody has met an error');
unlike($log, qr/duration: .*DROP (?!DATABASE)/, 'no DROP of a table or tablespace took twenty seconds');
# DROP DATABASE waits for a checkpoint of its own, after the one that is running: as long as their
# thousands of files take to be synced, and no longer.
my @total = map { $_->{total} } grep { $_->{complete} } logged_checkpoints($node);
my $two = max(0, map { $total[ $_ - 1 ] + $total[$_] } 1 .. $#total);
my $longest = max(0, $log =~ /duration: (\d+)\S* ms .*DROP DATABASE/g);
cmp_ok($longest, '<=', $two + 5000, 'no DROP DATABASE took longer than two checkpoints');

# What is on disk after the files of dropped relations are unlinked, held against the catalogs.
ask('CHECKPOINT');
ask('ALTER DATABASE template0 ALLOW_CONNECTIONS true');
my %expected = map { $_ => 1 } map {
	split /\n/, $node->safe_psql($_, 'SELECT pg_relation_filepath(oid) FROM pg_class '
		  . 'WHERE pg_relation_filepath(oid) IS NOT NULL')
} qw(postgres template0 template1);
my $data = $node->data_dir;
my @relations = map { s{^\Q$data\E/}{}r } grep { m{/\d+(?:_[a-z]+)?(?:\.\d+)?$} && -f }
  glob "$data/global/* $data/base/*/* $data/pg_tblspc/*/PG_*/*/*";
cmp_ok(scalar @relations, '>', 500, 'there are files of relations');
is_deeply([ grep { !$expected{ s{(?:_[a-z]+)?(?:\.\d+)?$}{}r } } @relations ], [], 'and none but those of the catalogs');
is_deeply([ grep { (readlink($_) // '') =~ /\(deleted\)$/ } glob "/proc/$pid/fd/*" ], [],
	'the flusher holds no file that is gone');
my @databases = sort map { m{/(\d+)$} } glob "$data/base/*";
is("@databases", join(' ', sort split /\n/, ask('SELECT oid FROM pg_database')), 'nor is there a directory too many');
ask('DROP TABLESPACE second');
is_deeply([ glob "$directory/second/*" ], [], 'the tablespace was empty');

$node->stop;
done_testing();
