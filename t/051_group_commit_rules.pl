# Which commits are group commits, which are not and why; and whatever becomes of a commit, the
# session's settings and the count of commits in flight are as they were.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('rules', conf => <<'CONF');
max_prepared_transactions = 2
checkpoint_timeout = 1h
ckptflush.group_commit = on
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, b int DEFAULT 0);
CREATE UNLOGGED TABLE u (a int);
CREATE TABLE dropped (a int);
CREATE TABLE kept (a int);
CREATE PROCEDURE three() LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. 3 LOOP INSERT INTO t VALUES (100 + i); COMMIT; END LOOP; END $$;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON kept DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO t SELECT g FROM generate_series(1, 10) g;
SQL
my @counts = qw(engaged skipped_asynchronous skipped_remote_apply skipped_standby skipped_two_phase
  skipped_unlogged skipped_background skipped_fsync);

# What a session's statements count as; it must come out with its settings.
sub counts_as
{
	my ($name, $sql, %expected) = @_;
	my $session = session($node);
	my $read = 'SELECT ' . join(', ', @counts) . ' FROM ckpt_stats_group_commit';
	my @before = split /\|/, $session->query($read);
	$session->query($_) foreach ref $sql ? @$sql : $sql;
	my @after = split /\|/, $session->query($read);
	my %found = map { $counts[$_] => $after[$_] - $before[$_] } grep { $after[$_] != $before[$_] } 0 .. $#counts;
	is_deeply(\%found, \%expected, $name);
	is($session->query('SHOW synchronous_commit'), $expected{skipped_remote_apply} ? 'remote_apply'
		: $expected{skipped_asynchronous} ? 'off' : 'on', "$name: synchronous_commit is as it was");
	is(in_flight($node), '0 0', "$name: nothing in flight");
	$session->quit;
	return;
}
counts_as('a read', 'SELECT count(*) FROM t');
counts_as('a statement', 'INSERT INTO t VALUES (11)', engaged => 1);
counts_as('a block', [ 'BEGIN', 'INSERT INTO t VALUES (12)', 'SAVEPOINT s', 'INSERT INTO t VALUES (13)',
	'RELEASE s', 'SAVEPOINT s', 'INSERT INTO t VALUES (14)', 'ROLLBACK TO s', 'COMMIT' ], engaged => 1);
counts_as('a block rolled back', [ 'BEGIN', 'INSERT INTO t VALUES (15)', 'ROLLBACK' ]);
counts_as('COMMIT in a procedure', 'CALL three()', engaged => 3);
counts_as('COMMIT AND CHAIN', [ 'BEGIN', 'INSERT INTO t VALUES (16)', 'COMMIT AND CHAIN',
	'INSERT INTO t VALUES (17)', 'COMMIT' ], engaged => 2);
counts_as('another level for one transaction', [ 'BEGIN', 'SET LOCAL synchronous_commit = local',
	'INSERT INTO t VALUES (18)', 'COMMIT' ], engaged => 1);
counts_as('asynchronous', [ 'SET synchronous_commit = off', 'INSERT INTO t VALUES (19)' ],
	skipped_asynchronous => 1);
counts_as('remote_apply', [ 'SET synchronous_commit = remote_apply', 'INSERT INTO t VALUES (20)' ],
	skipped_remote_apply => 1);
counts_as('two-phase commit', [ 'BEGIN', 'INSERT INTO t VALUES (21)', q{PREPARE TRANSACTION 'p'},
	q{COMMIT PREPARED 'p'} ], skipped_two_phase => 1);
counts_as('an unlogged table', 'INSERT INTO u VALUES (1)', skipped_unlogged => 1);
counts_as('a temporary table', [ 'CREATE TEMP TABLE own (a int) ON COMMIT DELETE ROWS',
	'INSERT INTO own VALUES (1)' ], engaged => 1, skipped_unlogged => 1);
counts_as('NOTIFY alone', q{NOTIFY something});
counts_as('a sequence', [ 'CREATE SEQUENCE s', q{SELECT nextval('s')} ], engaged => 2);
counts_as('DROP TABLE', 'DROP TABLE dropped', engaged => 1);
counts_as('TRUNCATE', 'TRUNCATE kept', engaged => 1);
my $parallel = major_version($node) < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
counts_as('a parallel query', [ "SET $parallel = on", 'SELECT count(*) FROM t' ]);
counts_as('what a parallel query has found', [ "SET $parallel = on", 'CREATE TABLE found AS SELECT a FROM t' ],
	engaged => 1);
counts_as('a deferred constraint that fails', 'INSERT INTO t VALUES (1)');
counts_as('a deferred trigger that fails', 'INSERT INTO kept VALUES (1)');
counts_as('turned off', [ 'SET ckptflush.group_commit = off', 'INSERT INTO t VALUES (22)' ]);
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 23, 'all is there');

# DROP TABLE is flushed by core before its files go.
my $session = session($node);
my $before = $session->query('SELECT flushed_before FROM ckpt_stats_group_commit');
$session->query('CREATE TABLE goes (a int)');
$session->query('DROP TABLE goes');
cmp_ok($session->query('SELECT flushed_before FROM ckpt_stats_group_commit'), '>', $before,
	'a commit that drops files is flushed by core');

# Two serializable transactions that cannot both commit: the failure comes after the announcement.
my @both = map { session($node, 'default_transaction_isolation = serializable') } 1, 2;
$_->query('BEGIN') foreach @both;
$both[0]->query('SELECT sum(b) FROM t');
$both[1]->query('SELECT sum(b) FROM t');
$both[0]->query('UPDATE t SET b = 1 WHERE a = 1');
$both[1]->query('UPDATE t SET b = 1 WHERE a = 2');
$both[0]->query('COMMIT');
$both[1]->query('COMMIT');
like($both[1]->{stderr}, qr/could not serialize access/, 'a serialization failure');
is($both[1]->query('SHOW synchronous_commit'), 'on', 'synchronous_commit is as it was');
is(in_flight($node), '0 0', 'nothing in flight');

# NOTIFY arrives, and only when it is committed.
$both[0]->query('LISTEN something');
$both[1]->query(q{NOTIFY something, 'here'});
like($both[0]->query_until(qr/Asynchronous/, "SELECT 1;\n"), qr/"here" received/, 'NOTIFY is delivered');

# Who serves no client.
$node->append_conf('postgresql.conf', "autovacuum = on\nautovacuum_naptime = 1s\nautovacuum_vacuum_threshold = 1");
$node->reload;
$session->query('DELETE FROM t WHERE a > 50');
$node->poll_query_until('postgres', 'SELECT skipped_background > 0 FROM ckpt_stats_group_commit')
  or die 'no autovacuum';
pass('autovacuum is no group commit');
$node->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum = off');
$node->reload;
$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%')")
  or die 'autovacuum goes on';
$session->query('SELECT ckpt_stats_reset()');
is($session->query('SELECT engaged, skipped_two_phase, stats_reset IS NOT NULL FROM ckpt_stats_group_commit'), '0|0|t', 'counters are reset');
$node->safe_psql('postgres', 'ALTER SYSTEM SET fsync = off');
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('fsync') = 'off'});
counts_as('fsync off', 'INSERT INTO t VALUES (23)', skipped_fsync => 1);

# Who may change it.
$node->safe_psql('postgres', 'CREATE ROLE somebody LOGIN');
my ($code, $out, $error) = $node->psql('postgres', 'SET ROLE somebody; SET ckptflush.group_commit = on');
like($error, qr/permission denied/, 'only superusers may turn it on');
is($node->psql('postgres', 'SET ROLE somebody; SET ckptflush.group_commit_readers = statement'), 0,
	'everybody may be strict');

$_->quit foreach @both, $session;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no panic');
done_testing();
