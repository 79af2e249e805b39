# Backends that come and go: what they counted stays, never goes backwards, and costs nothing more.
# CKPTFLUSH_CONNECT_SECONDS is how long, 5 unless set; CKPTFLUSH_CONNECT_CLIENTS how many at a
# time, 20 unless set.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{CKPTFLUSH_CONNECT_SECONDS} // 5;
my $clients = $ENV{CKPTFLUSH_CONNECT_CLIENTS} // 20;
my $node = new_node('connections', conf => 'max_connections = ' . ($clients + 20) . "\n");
my $watcher = $node->background_psql('postgres');
$watcher->query_safe('SET ckptflush.track_commands = off');

sub counters
{
	my %found;
	for (split /\n/, $watcher->query_safe(<<'SQL'))
SELECT command || ' ' || checkpoint_phase, count, total_time FROM ckpt_stats_commands
UNION ALL SELECT name, count, total FROM ckpt_stats_counters WHERE name LIKE 'transaction%'
SQL
	{
		my ($name, @values) = split /\|/;
		$found{$name} = \@values;
	}
	return \%found;
}
my $monitor = $node->safe_psql('postgres', "SELECT pid FROM ckpt_stats_workers WHERE name = 'ckptflush monitor'");
my $segment = $node->safe_psql('postgres', 'SELECT ckpt_stats_segment_path()');
# Memory of its own, in kB.
sub memory { return slurp_file("/proc/$monitor/status") =~ /RssAnon:\s+(\d+)/ ? $1 : die 'no RssAnon' }

my $bytes = -s $segment;
my $script = $node->basedir . '/script';
append_to_file($script, "SELECT 1;\n");
$watcher->query_safe("SELECT ckpt_stats_reset('counters')");
my $before = counters();
my $output = '';
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-C', '-h', $node->host, '-p', $node->port, '-c', $clients, '-j', 2, '-T', $seconds, '-f', $script, 'postgres' ],
	'>', \$output, '2>&1');
my ($looks, @backwards, $memory) = (0);
my $last = $before;
while ($load->pump_nb, $load->pumpable)
{
	my $now = counters();
	for my $name (keys %$last)
	{
		push @backwards, $name
		  if grep { $now->{$name}[$_] < $last->{$name}[$_] } 0 .. 1;
	}
	$last = $now;
	# What it needs for this many it has after a while.
	$memory = memory() if ++$looks == 20;
}
ok($load->finish, 'all connections were made') or diag $output;
my ($done) = $output =~ /actually processed: (\d+)/ or die $output;
note "$done connections, $looks looks";
cmp_ok($looks, '>', 20, 'the counters were looked at while backends came and went');
is("@backwards", '', 'no counter ever goes backwards');

# Backends that have answered their client may still be counting.
wait_until(30, sub {
	return $watcher->query_safe("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'") == 0;
}) or die 'backends that do not end';
my $after = counters();
my $count = 0;
$count += $after->{$_}[0] - $before->{$_}[0] for grep { /^execute / } keys %$after;
is($count, $done, 'every statement of every backend is counted once');
is(-s $segment, $bytes, 'the segment is as large as before');
cmp_ok(memory() - $memory, '<', 1024, 'the monitor does not grow');

$watcher->quit;
$node->stop;
done_testing();
