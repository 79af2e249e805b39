# While commits of every kind wait for one flush: what is visible is what PostgreSQL has made durable, or
# what group commit has released; and a commit that fails between its announcement and its record leaves
# nothing behind. SAFETY.md has the list of hazards.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('hazards', conf => $engaged . <<'CONF');
max_prepared_transactions = 2
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int);
CREATE TABLE dropped (a int);
CREATE TABLE cut AS SELECT 1 AS a;
CREATE PROCEDURE two() LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. 2 LOOP INSERT INTO t VALUES (10 + i); COMMIT; END LOOP; END $$;
SQL
my $other = session($node);
my $writer = session($node);
sub count { return "SELECT count(*) FROM t WHERE a BETWEEN $_[0] AND $_[1]" }

# The setting itself is not touched: it stays the one of the file, and follows it.
my $setting = q{SELECT setting, source, reset_val FROM pg_settings WHERE name = 'synchronous_commit'};
my $before = $writer->query($setting);
$writer->query('INSERT INTO t VALUES (1)');
is($writer->query($setting), $before, 'a group commit leaves the setting synchronous_commit alone');
$writer->query('BEGIN; SET LOCAL synchronous_commit = remote_write; INSERT INTO t VALUES (2); COMMIT');
is($writer->query($setting), $before, 'and one with a level of its own');
foreach my $level (qw(local on))
{
	$node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_commit = $level");
	$node->reload;
	ok(visible_within($writer, 'SHOW synchronous_commit', $level), "the session follows the file: $level");
}

# WAL, but no transaction ID until NOTIFY gets one, which is after the announcement.
my $engaged = 'SELECT engaged FROM ckpt_stats_group_commit';
my $emit = q{DO $$ BEGIN PERFORM pg_logical_emit_message(false, 'a', 'b'); END $$};
$before = $other->query($engaged);
$writer->query($emit);
is($other->query($engaged), $before, 'WAL without a transaction is no commit');
$writer->query("BEGIN; $emit; NOTIFY nobody; COMMIT");
is($other->query($engaged), $before + 1, 'a transaction that gets its ID at its end is one');
is(in_flight($node), '0 0', 'nothing in flight');

# One without group commit holds the lock of NOTIFY for the time of its flush. Whoever comes next is
# announced, and waits for the lock: no reader may go by the newest position then, which is durable.
my ($plain, @failing) = (session($node, 'ckptflush.group_commit = off'), map { session($node) } 1, 2);
my @readers = map { session($node, 'ckptflush.group_commit_readers = statement') } 1, 2;
my @pids = map { scalar $_->query('SELECT pg_backend_pid()') } @failing;
my $held = hold_flush($node);
begin($plain, 'BEGIN; INSERT INTO t VALUES (3); NOTIFY nobody; COMMIT');
ok(visible_within($other, q{SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND database = 0
	AND mode = 'AccessExclusiveLock' AND granted}, 1), 'without group commit: the lock of NOTIFY is held');
begin($_, 'BEGIN; INSERT INTO t VALUES (4); NOTIFY nobody; COMMIT') foreach @failing;
ok(visible_within($other, 'SELECT count(*) FROM pg_locks WHERE NOT granted', 2), 'two that are announced wait for it');
is(in_flight($node), '2 0', 'and are in flight');
begin($readers[0], count(3, 4));
ok(waits($readers[0]), 'a reader waits for all WAL while one is in flight');
$other->query("SELECT pg_cancel_backend($pids[0])");
is(finish($failing[0]), '', 'one is cancelled');
like($failing[0]->{stderr}, qr/canceling statement/, 'with an error');
is($failing[0]->query('SHOW synchronous_commit'), 'on', 'its synchronous_commit is as it was');
is(in_flight($node), '1 0', 'and it is not in flight');
$other->query("SELECT pg_terminate_backend($pids[1])");
ok(visible_within($other, "SELECT count(*) FROM pg_stat_activity WHERE pid = $pids[1]", 0), 'the other is ended');
is(in_flight($node), '0 0', 'nor is that');
begin($readers[1], count(3, 4));
is(finish($readers[1]), 0, 'a reader does not wait when none is in flight');
ok(!ended($readers[0]), 'while the first one does');
$held->release;
finish($plain);
is(finish($readers[0]), 0, 'and is told what its snapshot shows');
is($other->query(count(3, 4)), 1, 'what failed is not there');

# Commits of several kinds, and one flush that all of them wait for.
my ($caller, $preparer, $dropper, $cutter, $teller, $late) = map { session($node) } 1 .. 6;
my $listener = session($node);
$listener->query('LISTEN something');
$preparer->query(q{BEGIN; INSERT INTO t VALUES (21); PREPARE TRANSACTION 'p'});
$held = hold_flush($node);
begin($caller, 'CALL two()');
begin($preparer, q{COMMIT PREPARED 'p'});
begin($dropper, 'DROP TABLE dropped');
begin($cutter, 'TRUNCATE cut');
begin($teller, 'BEGIN; INSERT INTO t VALUES (31); NOTIFY something; COMMIT');
begin($late, "BEGIN; $emit; NOTIFY nobody; COMMIT");
ok(visible_within($other, count(11, 12), 1), 'a procedure: its first commit is visible');
ok(visible_within($other, count(31, 31), 1), 'NOTIFY: the commit is visible');
ok(waits($_->[0]), "$_->[1] waits for the flush") foreach [ $caller, 'a procedure' ], [ $preparer, 'COMMIT PREPARED' ],
  [ $dropper, 'DROP TABLE' ], [ $cutter, 'TRUNCATE' ], [ $teller, 'NOTIFY' ], [ $late, 'a late transaction ID' ];
is($other->query(count(11, 12)), 1, 'a procedure: its next part does not begin before');
is($other->query(count(21, 21)), 0, 'COMMIT PREPARED: nothing is visible, as ever');
is($other->query(q{SELECT count(*) FROM pg_class WHERE relname = 'dropped'}), 1, 'DROP TABLE: the table is there');
$other->query('SET lock_timeout = 1');
$other->query('SELECT * FROM cut');
like($other->{stderr}, qr/lock timeout/, 'TRUNCATE: the table is locked, as ever');
$other->query('RESET lock_timeout');
unlike($listener->query('SELECT 1'), qr/Asynchronous/, 'NOTIFY: nobody is told');
$held->release;
finish($_) foreach $caller, $preparer, $dropper, $cutter, $teller, $late;
is($other->query(count(11, 31)), 4, 'all of it is there');
is($other->query(q{SELECT count(*) FROM pg_class WHERE relname = 'dropped'}), 0, 'DROP TABLE: the table is gone');
like($listener->query_until(qr/Asynchronous/, "SELECT 1;\n"), qr/"something" received/, 'NOTIFY: who listens is told');

$_->quit foreach $other, $writer, $caller, $preparer, $dropper, $cutter, $teller, $late, $listener, $plain,
  $failing[0], @readers;
eval { $failing[1]->quit };
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no panic');
done_testing();
