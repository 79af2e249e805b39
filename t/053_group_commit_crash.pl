# kill -9 of the whole server under load: no commit that a client was told of is lost, and no value
# is told and lost, as far as the level of the readers promises it. The control commits
# asynchronously: it must lose some, or the test could not fail.
#
# CKPTFLUSH_CYCLES says how often (default: 3 of each level of readers; 334 are a thousand crashes, in
# about twenty minutes). The operating system survives, so what can be lost is WAL that was not written
# when the processes died.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $cycles = $ENV{CKPTFLUSH_CYCLES} // 3;
my $node = new_node('crash', conf => <<'CONF');
checkpoint_timeout = 1h
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
commit_delay = 5000
commit_siblings = 0
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE hot (n bigint) WITH (fillfactor = 20);
INSERT INTO hot VALUES (0);
CREATE TABLE acks (n bigint, worker int);
SQL
my $dir = PostgreSQL::Test::Utils::tempdir();

# A client that repeats a script for ever and writes to a file what it is told.
sub client
{
	my ($name, $settings, $script) = @_;
	my $file = "$dir/$name.sql";
	unlink "$dir/$name";
	PostgreSQL::Test::Utils::append_to_file($file, $script x 5_000) if !-e $file;
	local $ENV{PGOPTIONS} = join ' ', map { "-c $_" } split /, /, $settings;
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ],
		'<', \undef, '>', "$dir/$name", '2>', '/dev/null');
}

# The numbers that were told; the last line may be half a one.
sub told
{
	my ($name) = @_;
	return slurp_file("$dir/$name") =~ /^(\d+)\n/mg;
}

# Cycles of a kind; counts what was told and is gone.
sub crashes
{
	my ($settings, $number) = @_;
	my %lost = (acknowledged => 0, statement => 0, block => 0);
	my $acknowledged = 0;
	foreach my $cycle (1 .. $number)
	{
		my @clients = map {
			client("writer$_", $settings, <<"SQL")
WITH u AS (UPDATE hot SET n = n + 1 RETURNING n) INSERT INTO acks SELECT n, $_ FROM u RETURNING n;
SQL
		} 1 .. 4;
		push @clients, client('statement', $settings, "SELECT n FROM hot;\n");
		push @clients, client('block', $settings, "BEGIN;\nSELECT n FROM hot;\nCOMMIT;\n");
		wait_until(60, sub { (-s "$dir/writer1" // 0) > 100 }) or die 'no commits';
		sleep 0.2 + rand 0.5;
		crash_all($node);
		$_->finish foreach @clients;
		$node->start;
		my %is = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT n FROM acks');
		my $last = $node->safe_psql('postgres', 'SELECT n FROM hot');
		foreach my $writer (1 .. 4)
		{
			my @told = told("writer$writer");
			$acknowledged += @told;
			$lost{acknowledged} += grep { !$is{$_} } @told;
		}
		foreach my $reader (qw(statement block))
		{
			my ($most) = sort { $b <=> $a } told($reader);
			$lost{$reader} += $most - $last if ($most // 0) > $last;
		}
	}
	note("$settings: $acknowledged acknowledged, lost: " . join ', ', map { "$_ $lost{$_}" } sort keys %lost);
	cmp_ok($acknowledged, '>', 20 * $number, 'there were commits');
	return \%lost;
}
my $on = 'ckptflush.group_commit=on, ckptflush.group_commit_readers';
my $lost = crashes('synchronous_commit=off', $cycles < 3 ? $cycles : 3);
cmp_ok($lost->{$_}, '>', 0, "the control loses what was told: $_") foreach sort keys %$lost;
$lost = crashes('ckptflush.group_commit=off', 1);
is_deeply($lost, { acknowledged => 0, statement => 0, block => 0 }, 'without group commit nothing is lost');
$lost = crashes("$on=relaxed", $cycles);
is($lost->{acknowledged}, 0, 'relaxed: no commit that was acknowledged is lost');
$lost = crashes("$on=commit", $cycles);
is($lost->{acknowledged}, 0, 'commit: no commit that was acknowledged is lost');
is($lost->{statement}, 0, 'commit: nothing that a statement told is lost');
$lost = crashes("$on=statement", $cycles);
is_deeply($lost, { acknowledged => 0, statement => 0, block => 0 }, 'statement: nothing that was told is lost');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no panic');
done_testing();
