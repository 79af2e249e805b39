# Group commit: while a commit waits for its flush, its locks are free, others see it, and its
# client knows nothing yet. Readers wait as they were told to.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('group_commit', conf => $engaged);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE hot (id int PRIMARY KEY, n int) WITH (fillfactor = 50);
INSERT INTO hot SELECT g, 0 FROM generate_series(1, 9) g;
CREATE FUNCTION read_in_block() RETURNS int LANGUAGE plpgsql AS
	$$ DECLARE found int; BEGIN SELECT n INTO found FROM hot WHERE id = 1; RETURN found; END $$;
SQL

my $writer = session($node);
my $pid = $writer->query('SELECT pg_backend_pid()');
my $other = session($node);

# Others see the row and may lock it; the client does not know yet.
my $held = hold_flush($node);
begin($writer, 'UPDATE hot SET n = 1 WHERE id = 1');
ok(visible_within($other, 'SELECT n FROM hot WHERE id = 1', 1), 'the commit is visible before its flush');
is($other->query("SELECT state, backend_xid IS NULL FROM pg_stat_activity WHERE pid = $pid"),
	'active|t', 'it waits, without an xid');
is($other->query("SELECT count(*) FROM pg_locks WHERE pid = $pid"), 0, 'and without a lock');
is($other->query('BEGIN; SELECT n FROM hot WHERE id = 1 FOR UPDATE NOWAIT; ROLLBACK'), 1, 'its row is free');
ok(waits($writer), 'its client is told nothing');
$held->release;
finish($writer);

# So is the lock that all commits with NOTIFY take.
$held = hold_flush($node);
begin($writer, 'BEGIN; UPDATE hot SET n = 0 WHERE id = 1; NOTIFY something; COMMIT');
ok(visible_within($other, 'SELECT n FROM hot WHERE id = 1', 0), 'a commit with NOTIFY is visible');
my $notifier = session($node, 'synchronous_commit = off');
begin($notifier, 'BEGIN; UPDATE hot SET n = 1 WHERE id = 1; NOTIFY something; COMMIT');
ok(visible_within($other, 'SELECT n FROM hot WHERE id = 1', 1), 'the next one does not wait for its flush');
finish($notifier);
ok(waits($writer), 'while its own client does');
$held->release;
finish($writer);
$notifier->quit;

# The same without group commit: the test can fail.
$held = hold_flush($node);
begin($writer, 'SET ckptflush.group_commit = off; UPDATE hot SET n = 2 WHERE id = 1');
ok(waits($writer), 'without group commit: the client waits');
is($other->query('SELECT n FROM hot WHERE id = 1'), 1, 'without group commit: nothing is visible');
$other->query('BEGIN; SELECT n FROM hot WHERE id = 1 FOR UPDATE NOWAIT; ROLLBACK');
like($other->{stderr}, qr/could not obtain lock/, 'without group commit: the row is locked');
$other->{stderr} = '';
# What that costs is seen while it lasts.
my $waiter = session($node);
my $gain = 'SELECT predicted_gain_time FROM ckpt_stats_group_commit';
is($other->query($gain), 0, 'nobody waits for the row yet');
begin($waiter, 'UPDATE hot SET n = n WHERE id = 1');
ok(waits($waiter), 'another one waits for the row');
my $predicted = $other->query($gain);
ok($predicted > 100 && $predicted < 5000, "the gain of group commit is predicted: $predicted ms");
$held->release;
finish($waiter);
$waiter->quit;
finish($writer);
$writer->query('RESET ckptflush.group_commit');

# What each level of readers tells, of a commit that is not durable.
sub tells
{
	my ($level, $expected, $sql, $name) = @_;
	my $reader = session($node, "ckptflush.group_commit_readers = $level");
	$reader->query('BEGIN') if $name =~ /in a block/;
	my $hold = hold_flush($node);
	my $n = $other->query('SELECT n + 1 FROM hot WHERE id = 1');
	begin($writer, 'UPDATE hot SET n = n + 1 WHERE id = 1');
	visible_within($other, 'SELECT n FROM hot WHERE id = 1', $n) or die 'not visible';
	begin($reader, $sql);
	if ($expected eq 'told')
	{
		is(finish($reader), $n, "$level: $name: told before the flush");
		$hold->release;
	}
	else
	{
		ok(waits($reader), "$level: $name: waits for the flush");
		$hold->release;
		is(finish($reader), $n, "$level: $name: told after it");
	}
	finish($writer);
	$reader->quit;
	return;
}
my $select = 'SELECT n FROM hot WHERE id = 1';
tells('relaxed', 'told', $select, 'a query');
tells('commit', 'waits', $select, 'a query');
tells('commit', 'told', $select, 'in a block');
tells('statement', 'waits', $select, 'a query');
tells('statement', 'waits', $select, 'in a block');
tells('statement', 'waits', "$select FOR UPDATE", 'in a block, a row that is locked');
tells('statement', 'waits', 'UPDATE hot SET n = n WHERE id = 1 RETURNING n', 'in a block, RETURNING');
tells('statement', 'waits', "WITH w AS (UPDATE hot SET n = n WHERE id = 1 RETURNING n) SELECT n FROM w",
	'in a block, of a CTE that changes');
tells('statement', 'waits', 'COPY (SELECT n FROM hot WHERE id = 1) TO STDOUT', 'in a block, COPY of a query');
tells('statement', 'waits', "COPY ($select FOR UPDATE) TO STDOUT", 'in a block, COPY of a row that is locked');
tells('statement', 'waits', "DECLARE c CURSOR FOR $select; FETCH c", 'in a block, a cursor');
tells('statement', 'waits', "PREPARE p AS $select; EXECUTE p; DEALLOCATE p", 'in a block, a prepared statement');
tells('statement', 'waits', 'SELECT read_in_block()', 'in a block, a function');
my $parallel = major_version($node) < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
$other->query("SET $parallel = on");
like($other->query("EXPLAIN $select"), qr/Gather/, 'a parallel query');
$other->query("RESET $parallel");
tells('commit', 'waits', "SET $parallel = on; $select", 'a parallel query');
tells('statement', 'waits', "SET $parallel = on; $select", 'in a block, a parallel query');

# COPY of a table; of one that has only the row.
$node->safe_psql('postgres', 'CREATE TABLE one (n int); INSERT INTO one VALUES (0)');
my $reader = session($node, 'ckptflush.group_commit_readers = statement');
$reader->query('BEGIN');
$held = hold_flush($node);
begin($writer, 'UPDATE one SET n = 7');
visible_within($other, 'SELECT n FROM one', 7) or die 'not visible';
begin($reader, 'COPY one TO STDOUT');
ok(waits($reader), 'statement: in a block, COPY of a table: waits for the flush');
$held->release;
is(finish($reader), 7, 'statement: in a block, COPY of a table: told after it');
finish($writer);
$reader->quit;

# A row that changes while the reader waits for its lock: newer than the reader's snapshot.
foreach my $sql ('SELECT n FROM one FOR UPDATE', 'UPDATE one SET n = n + 1 RETURNING n - 1')
{
	$reader = session($node, 'ckptflush.group_commit_readers = statement');
	$reader->query('BEGIN');
	$writer->query('BEGIN; UPDATE one SET n = n + 1');
	my $n = $writer->query('SELECT n FROM one');
	begin($reader, $sql);
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}) or die;
	$held = hold_flush($node);
	begin($writer, 'COMMIT');
	visible_within($other, 'SELECT n FROM one', $n) or die 'not visible';
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_locks WHERE NOT granted}) or die;
	ok(waits($reader), "newer than the snapshot: waits for the flush: $sql");
	$held->release;
	is(finish($reader), $n, 'and is told after it');
	finish($writer);
	$reader->query('ROLLBACK');
	$reader->quit;
}
$node->safe_psql('postgres', 'UPDATE one SET n = 7');

# A reader does not wait for what nobody committed.
$reader = session($node, 'ckptflush.group_commit_readers = statement');
$held = hold_flush($node);
begin($reader, 'SELECT n FROM one');
is(finish($reader), 7, 'a reader waits for commits only');
$held->release;
is(in_flight($node), '0 0', 'nothing stays in flight');

$_->quit foreach $writer, $other, $reader;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no panic');
done_testing();
