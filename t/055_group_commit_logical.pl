# Group commit beside logical replication: a publisher sends only what is durable, and a subscriber's
# workers commit as ever, whatever its sessions do.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = $room . <<'CONF';
wal_level = logical
wal_writer_delay = 10ms
checkpoint_timeout = 1h
ckptflush.group_commit = on
ckptflush.group_commit_readers = statement
CONF
my $publisher = new_node('publisher', conf => $conf, init => [ allows_streaming => 'logical' ]);
my $subscriber = new_node('subscriber', conf => $conf);
$_->safe_psql('postgres', 'CREATE TABLE t (a int PRIMARY KEY)') foreach $publisher, $subscriber;
$publisher->safe_psql('postgres', 'INSERT INTO t VALUES (0); CREATE PUBLICATION p FOR TABLE t');
my $source = $publisher->connstr('postgres');
$subscriber->safe_psql('postgres', <<"SQL");
CREATE SUBSCRIPTION s CONNECTION \$\$$source application_name=s\$\$ PUBLICATION p WITH (synchronous_commit = on)
SQL
$subscriber->wait_for_subscription_sync($publisher, 's');

# What waits for its flush is not sent.
my $writer = session($publisher);
my $other = session($publisher, 'ckptflush.group_commit_readers = relaxed');
my $read = session($subscriber);
my $held = hold_flush($publisher);
begin($writer, 'INSERT INTO t VALUES (1)');
ok(visible_within($other, 'SELECT count(*) FROM t', 2), 'a commit is visible on the publisher');
ok(waits($writer), 'and waits for its flush');
is($read->query('SELECT count(*) FROM t'), 1, 'it is not sent');
$held->release;
finish($writer);
ok(visible_within($read, 'SELECT count(*) FROM t', 2), 'it is sent when it is durable');

# The apply worker, with synchronous_commit on: nobody waits for its answer.
my $counts = 'SELECT engaged, skipped_background FROM ckpt_stats_group_commit';
my @before = split /\|/, $read->query($counts);
$writer->query("INSERT INTO t VALUES ($_)") foreach 2 .. 6;
ok(visible_within($read, 'SELECT count(*) FROM t', 7), 'more is applied');
my @after = split /\|/, $read->query($counts);
is($after[0], $before[0], "a subscriber's worker makes no group commits");
cmp_ok($after[1], '>=', $before[1] + 5, 'and is counted as what it is');
is(in_flight($_), '0 0', 'nothing in flight') foreach $publisher, $subscriber;

# A crash of the subscriber: it goes on from where it was, and has each row once.
$subscriber->stop('immediate');
$writer->query("INSERT INTO t VALUES ($_)") foreach 7 .. 9;
$subscriber->start;
$publisher->wait_for_catchup('s');
is($subscriber->safe_psql('postgres', 'SELECT count(*), max(a) FROM t'), '10|9', 'after a crash of the subscriber all is there');

$_->quit foreach $writer, $other;
eval { $read->quit };
$_->stop foreach $subscriber, $publisher;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP/, 'no panic') foreach $publisher, $subscriber;
done_testing();
