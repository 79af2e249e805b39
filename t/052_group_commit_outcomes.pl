# Whatever happens to a session, or to the server, while a commit waits for its flush: the outcome
# is PostgreSQL's own. The commit stands, and nobody hangs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use GroupCommit;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = new_node('outcomes', conf => $engaged . <<'CONF');
restart_after_crash = on
CONF
$node->safe_psql('postgres', 'CREATE TABLE t (a int PRIMARY KEY)');
my $watch = session($node);

# A session whose commit waits, what is done to it meanwhile, and what it has answered.
my $next = 0;
sub while_it_waits
{
	my ($act, @settings) = @_;
	my $writer = session($node, @settings);
	my $pid = $writer->query('SELECT pg_backend_pid()');
	my $held = hold_flush($node);
	$next++;
	begin($writer, "INSERT INTO t VALUES ($next) RETURNING a");
	visible_within($watch, "SELECT count(*) FROM t WHERE a = $next", 1) or die 'not visible';
	$act->($pid);
	ok(waits($writer), 'it still waits');
	$held->release;
	return ($writer, $pid);
}
my $there = sub { is($watch->query("SELECT count(*) FROM t WHERE a = $next"), 1, "$_[0]: the row is there") };

my ($writer) = while_it_waits(sub { $watch->query("SELECT pg_cancel_backend($_[0])") });
is(finish($writer), $next, 'cancelled: the commit is answered');
$there->('cancelled');
is($writer->query('SELECT 1'), 1, 'cancelled: the session goes on');
$writer->quit;

($writer) = while_it_waits(sub { sleep 0.5 }, "statement_timeout = '400ms'");
is(finish($writer), $next, 'statement_timeout: the commit is answered');
$there->('statement_timeout');
$writer->quit;

($writer, my $pid) = while_it_waits(sub { $watch->query("SELECT pg_terminate_backend($_[0])") });
$writer->{run}->pump until $writer->{stdout} =~ /^$next$/m;
pass('terminated: the commit is answered');
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die;
$there->('terminated');
eval { $writer->quit };
is(in_flight($node), '0 0', 'nothing in flight');

# Stops in the midst of commits. Every row that a client was told of is there afterwards.
$watch->quit;
$node->safe_psql('postgres', 'CREATE TABLE hot (n int); INSERT INTO hot VALUES (0)');
my $journal = PostgreSQL::Test::Utils::tempdir();
sub load
{
	my $sql = "$journal/load.sql";
	PostgreSQL::Test::Utils::append_to_file($sql, "UPDATE hot SET n = n + 1 RETURNING n;\n" x 20_000)
	  if !-e $sql;
	return map {
		IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $sql ],
			'<', \undef, '>>', "$journal/$_", '2>', '/dev/null')
	} 1 .. 4;
}
sub told
{
	return (sort { $b <=> $a } map { split /\n/, slurp_file("$journal/$_") } 1 .. 4)[0];
}
foreach my $mode (qw(fast immediate))
{
	my @clients = load();
	my $before = -s "$journal/1";
	wait_until(60, sub { -s "$journal/1" > ($before // 0) + 200 }) or die 'no commits';
	my $began = time;
	$node->stop($mode);
	cmp_ok(time - $began, '<', 30, "$mode stop: nobody hangs");
	$_->finish foreach @clients;
	$node->start;
	cmp_ok($node->safe_psql('postgres', 'SELECT n FROM hot'), '>=', told(), "$mode stop: nothing that was told is lost");
}

# A backend that is killed takes all others down; the new shared memory knows of no commit in flight.
my @clients = load();
my $victim;
wait_until(60, sub {
	$victim = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'UPDATE%' LIMIT 1})
}) or die 'no commits';
kill 'KILL', $victim;
$_->finish foreach @clients;
# Not psql: one that is refused ends before its query is written to it, and takes the test with it.
wait_until(60, sub { !system('pg_isready', '-q', '-h', $node->host, '-p', $node->port) }) or die 'no restart';
is(in_flight($node), '0 0', 'after a crash of a backend: nothing in flight');
cmp_ok($node->safe_psql('postgres', 'SELECT n FROM hot'), '>=', told(), 'nothing that was told is lost');

# The postmaster is killed while a commit waits: the backend flushes by itself, and answers.
my @children;
$watch = session($node);
($writer) = while_it_waits(sub {
	@children = children($node);
	$node->kill9;
});
is(finish($writer), $next, 'postmaster killed: the commit is answered');
after_kill($node, @children);
eval { $_->quit } foreach $writer, $watch;
$node->start;
is($node->safe_psql('postgres', "SELECT count(*) FROM t WHERE a = $next"), 1, 'postmaster killed: the row is there');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no panic');
done_testing();
