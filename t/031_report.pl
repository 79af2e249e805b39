# A recording of a real server, and its report: what pgbench says it did is in it, whether the
# segment or SQL was asked, and so are the checkpoint, a stall, and what was before the start.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run qw(start finish);
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = memory_directory();
plan skip_all => '/dev/shm is not a tmpfs one can write to' if !$directory;
my $node = new_node('recorded', conf => "ckptflush.segment_directory = '$directory'\n");
my $files = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', 'CREATE TABLE t (n int)');

# Before the recording: a second that only the server's timeline has.
$node->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1, 10000)');
ok($node->poll_query_until('postgres', 'SELECT count(*) > 2 FROM ckpt_stats_timeline'), 'timeline');

# Two recorders look at the same.
my %recorder = (
	local  => [ '--directory', $directory ],
	remote => [ '--dsn', $node->connstr('postgres') ]);
my %run = map { $_ => start [ 'ckpttop', 'record', "$files/$_", '--interval', '0.5', @{ $recorder{$_} } ] }
  sort keys %recorder;
# Nothing is left running when a test dies; $? is the exit code.
END { local $?; $_->kill_kill for grep { $_->pumpable } values %run }
my %read;
sub lines
{
	my ($name) = @_;
	return () if !-e "$files/$name";
	# Each line is read once: they become many, and are asked for often.
	my $read = $read{$name} //= { at => 0, lines => [] };
	my $more = slurp_file("$files/$name", $read->{at});
	while ($more =~ s/^(.*\n)//)
	{
		$read->{at} += length $1;
		push @{ $read->{lines} }, decode_json($1);
	}
	return @{ $read->{lines} };
}

# The entries of a key of all lines but the first, the header.
sub entries
{
	my ($name, $key) = @_;
	my ($header, @ticks) = lines($name);
	return map { @{ $_->{$key} // [] } } @ticks;
}

sub recorded
{
	my ($what, $holds) = @_;
	foreach my $name (sort keys %run)
	{
		ok(wait_until($PostgreSQL::Test::Utils::timeout_default, sub { $holds->($name) }),
			"$name: $what");
	}
	return;
}
recorded('two looks', sub { my @lines = lines($_[0]); @lines >= 3 });

# 300 transactions, a checkpoint, and then nobody gets on for half a second.
append_to_file("$files/insert.sql", "INSERT INTO t VALUES (1);\n");
my @pgbench = ('pgbench', '-n', '-c', 2, '-f', "$files/insert.sql", '-d', $node->connstr('postgres'));
my ($out) = run_command([ @pgbench, '-t', 150 ]);
like($out, qr{actually processed: 300/300}, 'pgbench');
$node->safe_psql('postgres', 'CHECKPOINT');
my $busy = start [ @pgbench, '-T', 10 ], '>', \my $busy_out;
ok( $node->poll_query_until('postgres',
		'SELECT count(*) > 1 FROM ckpt_stats_timeline WHERE commits > 100'), 'busy seconds');
my $held = $node->background_psql('postgres');
$held->query_safe('BEGIN; LOCK TABLE t');
ok($node->poll_query_until('postgres', 'SELECT stalled_time > 500 FROM ckpt_stats_stalls WHERE ongoing'), 'a stall');
$held->query_safe('COMMIT');
$held->quit;
finish $busy;

recorded('the checkpoint', sub { entries($_[0], 'checkpoints') });
recorded('the stall', sub { grep { !$_->{ongoing} && $_->{stalled_time} > 500 } entries($_[0], 'stalls') });
recorded('the files of the checkpoint', sub { entries($_[0], 'files') });
my ($processed) = $busy_out =~ /actually processed: (\d+)/;
my $at_least = 300 + $processed;
recorded("$at_least executed statements", sub {
	my $count = 0;
	$count += $_->[2] for grep { $_->[0] eq 'execute' } entries($_[0], 'commands');
	return $count >= $at_least;
});
recorded('their lengths', sub {
	my $count = 0;
	$count += $_->[1] for map { @{ $_->[1] } } entries($_[0], 'transactions');
	return $count >= $at_least;
});
recorded('the seconds, from before the start too', sub {
	my ($header) = lines($_[0]);
	my ($commits) = grep { $header->{seconds}[$_] eq 'commits' } 0 .. $#{ $header->{seconds} };
	my @seconds = entries($_[0], 'seconds');
	my $sum = 0;
	$sum += $_->[$commits] for @seconds;
	return $sum >= $at_least && $seconds[0][0] lt $header->{started_at};
});

# The end by Ctrl-C, and the page.
foreach my $name (sort keys %run)
{
	$run{$name}->signal('INT');
	finish $run{$name};
	my ($page, $err) = run_command([ 'ckpttop', 'report', "$files/$name" ]);
	is($err, '', "$name: report");
	like($page, qr{^<!DOCTYPE html>.*</html>$}s, "$name: a page");
	is(scalar(() = $page =~ /<path class="(?:line|fill) /g) > 8, 1, "$name: with plots");
	like($page, qr{There (?:was|were) (?:one|\d+) stalls?, }, "$name: and the stall");
}
$node->stop;
done_testing();
