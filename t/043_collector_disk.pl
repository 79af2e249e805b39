# A disk that does not take the files, and a crash at each step of writing one: under its name there
# is the former file or the new one, the server does its work, and the log is not flooded. The
# trouble is made by a library that is loaded below the server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $trouble   = "$directory/trouble";
plan skip_all => 'there is no C compiler'
  if system("cc -shared -fPIC -O1 -o $directory/trouble.so $FindBin::RealBin/lib/trouble.c -ldl >$directory/cc.log 2>&1");

my $node = collecting_node('disk', start => 0);
{
	local $ENV{LD_PRELOAD} = "$directory/trouble.so";
	local $ENV{TROUBLE}    = $trouble;
	$node->start;
}
sub ask { return $node->safe_psql('postgres', shift) }
sub begin { append_to_file("$trouble.new", "$_[0]\n"); rename "$trouble.new", $trouble or die "could not rename: $!"; return }
sub end { unlink $trouble; return }
ask('CREATE EXTENSION ckptflush');
run($node, 'CREATE TABLE t (a int)');
write_files($node);
my $oid  = ask("SELECT oid FROM pg_database WHERE datname = 'postgres'");
my $path = files_directory($node) . "/$oid.cks";
my $inserted = "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 't'";

# Errors. 28: no space, 5: I/O error, 30: read-only, 13: permission denied.
my %error = (open => 30, write => 28, sync => 5, rename => 13, syncdir => 5);
my $offset = -s $node->logfile;
foreach my $call (sort keys %error)
{
	my $before = slurp_file($path);
	begin("$call $error{$call}");
	run($node, 'INSERT INTO t SELECT generate_series(1, 100)');
	my ($status, undef, $stderr) = $node->psql('postgres', 'SELECT ckpt_stats_write_database(0)');
	isnt($status, 0, "$call fails: who asks for the file is told so");
	like($stderr, qr/could not write statistics files/, 'in a clear message');
	is(slurp_file($path), $before, 'the former file is kept') if $call ne 'syncdir';
	is(join(',', grep { /\.tmp$/ } glob files_directory($node) . '/*'), '', 'no temporary file is left');
	end();
	$node->poll_query_until('postgres', "SELECT NOT pending FROM ckpt_stats_databases WHERE datid = $oid")
	  or die 'it does not come back';
	ok(1, 'and when there is no trouble any more it is written by itself');
}
my $log = slurp_file($node->logfile, $offset);
is(scalar(() = $log =~ /LOG:  could not write ckptflush statistics file/g), 1, 'the log has one line a minute');
is(ask("SELECT last_error FROM ckpt_stats_workers WHERE name = 'ckptflush collector'"), '', 'the worker has no error');

# A crash while the disk takes nothing: attempts to restore cannot be counted, and the files can be read.
foreach my $call (qw(open unlink))
{
	write_files($node);
	my $known = tables_of($node);
	begin("$call 28");
	$offset = -s $node->logfile;
	crash_backend($node);
	$node->poll_query_until('postgres', "SELECT dropped_entries IS NOT NULL FROM ckpt_stats_databases WHERE datid = $oid")
	  or die 'nothing was restored';
	is(tables_of($node), $known, "$call fails at a restart: statistics are restored");
	$node->wait_for_log(qr/LOG:  could not count attempts to restore.*No space left/, $offset);
	$log = slurp_file($node->logfile, $offset);
	like($log, qr/LOG:  ckptflush restored/, 'to the end');
	unlike($log, qr/could not read ckptflush/, 'none is given up');
	end();
	unlink files_directory($node) . '/restoring';
}

# A crash at each step. What is changed is not written before it is asked for.
ask("ALTER SYSTEM SET ckptflush.collector_interval = '1h'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('ckptflush.collector_interval') = '1h'") or die 'no reload';
my $rows = ask($inserted);
foreach my $call (qw(open write sync rename syncdir))
{
	write_files($node);
	my $before = slurp_file($path);
	run($node, 'INSERT INTO t SELECT generate_series(1, 100)');
	$offset = -s $node->logfile;
	begin("$call -1");
	$node->psql('postgres', 'SELECT ckpt_stats_write_database(0)', on_error_stop => 0);
	wait_until($PostgreSQL::Test::Utils::timeout_default,
		sub { slurp_file($node->logfile, $offset) =~ /terminated by signal 9/ }) or die "$call does not crash";
	end();
	wait_until($PostgreSQL::Test::Utils::timeout_default,
		sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ }) or die 'the server does not come back';
	wait_for_restore($node);
	my $now = ask($inserted);
	ok($now == $rows || $now == $rows + 100, "crash at $call: the former file or the new one");
	is($now, $rows, 'the former one') if $call ne 'syncdir';
	unlike(slurp_file($node->logfile, $offset), qr/is damaged/, 'and none is damaged');
	$rows = $now;
}
$node->stop;

done_testing();
