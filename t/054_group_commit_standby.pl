# Group commit with a synchronous standby: without ckptflush.group_commit_sync_rep commits are as
# ever; with it locks are free before the standby has answered, and nobody is told before.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', init => [ allows_streaming => 1 ], conf => $room . $engaged);
$node->safe_psql('postgres', 'CREATE TABLE hot (id int PRIMARY KEY, n int); INSERT INTO hot VALUES (1, 0)');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $local = 'synchronous_commit = local';
my $other = session($node, $local);
my $writer = session($node);
sub names { $other->query("ALTER SYSTEM SET synchronous_standby_names = '$_[0]'"); $node->reload; return }

# A standby that is configured while a commit waits for its flush is waited for, too.
my $held = hold_flush($node);
begin($writer, 'UPDATE hot SET n = 1 RETURNING n');
visible_within($other, 'SELECT n FROM hot', 1) or die 'not visible';
my $conf = $node->data_dir . '/postgresql.conf';
PostgreSQL::Test::Utils::append_to_file($conf, "synchronous_standby_names = 'nobody'\n");
my $offset = -s $node->logfile;
$node->reload;
# The checkpointer says for all whether there are standbys, before it begins with anything else.
my $checkpoint = session($node);
begin($checkpoint, 'CHECKPOINT');
$node->wait_for_log(qr/checkpoint starting/, $offset);
$held->release;
ok(waits($writer), 'it waits for a standby that was configured meanwhile');
is($other->query(q{SELECT wait_event FROM pg_stat_activity WHERE query LIKE 'UPDATE hot SET n = 1%'}), 'SyncRep', 'it waits for the standby');
$other->query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'});
is(finish($writer), 1, 'a cancel ends the wait');
finish($checkpoint);
like($writer->{stderr}, qr/WARNING:  canceling wait for synchronous replication/, 'with the warning that core has');

# The real standby, which answers nothing for a while.
names('standby');
$node->poll_query_until('postgres', q{SELECT sync_state = 'sync' FROM pg_stat_replication}) or die;
my $receiver = $standby->safe_psql('postgres', 'SELECT pid FROM pg_stat_wal_receiver');
my $before = $other->query('SELECT engaged, skipped_standby FROM ckpt_stats_group_commit');
$writer->query('UPDATE hot SET n = 2');
my $after = $other->query('SELECT engaged, skipped_standby - 1 FROM ckpt_stats_group_commit');
is($after, $before, 'with a synchronous standby a commit is none of group commit');
kill 'STOP', $receiver;
begin($writer, 'UPDATE hot SET n = 3 RETURNING n');
ok(waits($writer), 'it waits for the standby');
is($other->query('SELECT n FROM hot'), 2, 'and nobody sees it');
kill 'CONT', $receiver;
finish($writer);

$writer->query('SET ckptflush.group_commit_sync_rep = on');
kill 'STOP', $receiver;
begin($writer, 'UPDATE hot SET n = 4 RETURNING n');
ok(visible_within($other, 'SELECT n FROM hot', 4), 'with group_commit_sync_rep it is visible before the standby has it');
ok($other->query("BEGIN; SELECT n FROM hot FOR UPDATE NOWAIT; ROLLBACK") == 4, 'its row is free');
ok(waits($writer), 'its client is told nothing');
my @readers = map { session($node, "ckptflush.group_commit_readers = $_") } qw(commit statement statement);
$readers[$_]->query('BEGIN') foreach 1, 2;
begin($_, 'SELECT n FROM hot') foreach @readers;
ok(waits($readers[0]), 'commit: a reader waits for the standby');
ok(waits($readers[1]), 'statement: a reader in a block waits for the standby');
# A reader that is cancelled is told nothing.
my $pid = $other->query(q{SELECT max(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT n FROM hot%' AND wait_event = 'SyncRep' AND backend_xid IS NULL AND xact_start < query_start});
$other->query("SELECT pg_cancel_backend($pid)");
my ($cancelled) = grep { wait_until(1, sub { ended($_) }) } @readers[ 1, 2 ];
ok($cancelled && $cancelled->{stdout} eq "ended\n", 'a reader that is cancelled is told nothing');
like($cancelled->{stderr}, qr/ERROR:  canceling statement due to user request/, 'and gets an error');
kill 'CONT', $receiver;
is(finish($writer), 4, 'told when the standby has it');
is(finish($_), $_ == $cancelled ? '' : 4, 'and so is a reader') foreach @readers;
is($other->query('SELECT engaged > 0 FROM ckpt_stats_group_commit'), 't', 'it is a group commit');
is(in_flight($node), '0 0', 'nothing in flight');

# The administrator gives the standby up while it is waited for: nobody waits any more, and all are told.
kill 'STOP', $receiver;
begin($writer, 'UPDATE hot SET n = 40 RETURNING n');
ok(visible_within($other, 'SELECT n FROM hot', 40), 'another commit that is visible');
my @told = map { session($node, 'ckptflush.group_commit_readers = statement') } 1, 2;
$told[1]->query('BEGIN');
begin($_, 'SELECT n FROM hot') foreach @told;
ok(waits($_), 'a reader waits for the standby') foreach @told;
names('');
is(finish($_), 40, 'and is told when there is none any more') foreach @told;
is($_->{stderr}, '', 'without a word') foreach @told;
is(finish($writer), 40, 'as the writer is');
kill 'CONT', $receiver;
names('standby');
$node->poll_query_until('postgres', q{SELECT sync_state = 'sync' FROM pg_stat_replication}) or die;

# remote_apply stays with core.
$writer->query('SET synchronous_commit = remote_apply');
$before = $other->query('SELECT skipped_remote_apply + 1 FROM ckpt_stats_group_commit');
$writer->query('UPDATE hot SET n = 5');
is($other->query('SELECT skipped_remote_apply FROM ckpt_stats_group_commit'), $before, 'remote_apply is none of it');

# On the standby readers have nothing to wait for; after a promotion it has group commits of its own.
my $reader = session($standby, 'ckptflush.group_commit_readers = statement');
is($reader->query('SELECT n FROM hot'), 5, 'a reader on the standby');
$node->stop('immediate');
$standby->promote;
$reader->query('SET synchronous_commit = local; SET ckptflush.group_commit = on');
$reader->query('UPDATE hot SET n = 6');
is($reader->query('SELECT n FROM hot'), 6, 'after the promotion');
is($reader->query('SELECT engaged FROM ckpt_stats_group_commit'), 1, 'group commits of its own');
$standby->stop('immediate');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP/, 'no panic') foreach $node, $standby;
done_testing();
