# A file that is not as it was written is refused alone, and put aside; one that is another
# server's, or of another time, is left alone. So nothing wrong is ever restored, and the rest is.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Collected;
use File::Copy qw(copy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = collecting_node('files', init => [ allows_streaming => 1 ]);
sub ask { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
my @damaged = qw(flipped cut empty noise renamed);
my %oid;
foreach my $database ('intact', @damaged)
{
	ask("CREATE DATABASE $database");
	run($node, 'CREATE TABLE t AS SELECT generate_series(1, 100) AS a; DELETE FROM t WHERE a <= 10', $database);
	$oid{$database} = ask("SELECT oid FROM pg_database WHERE datname = '$database'");
}
write_files($node);
my $directory = files_directory($node);
sub path { return "$directory/$oid{$_[0]}.cks" }

# Puts a file in place.
sub put
{
	my ($path, $bytes) = @_;
	open my $file, '>:raw', $path or die "could not write $path: $!";
	print $file $bytes;
	close $file or die "could not write $path: $!";
	return;
}

# Changes a file, by code that gets its bytes and returns others.
sub change { my ($path, $code) = @_; return put($path, $code->(slurp_file($path))) }
crash_all($node);
change(path('flipped'), sub { my $b = shift; substr($b, length($b) / 2, 1) ^= "\x10"; $b });
change(path('cut'), sub { substr(shift, 0, -7) });
change(path('empty'), sub { '' });
change(path('noise'), sub { join '', map { chr(($_ * 97) % 256) } 1 .. 5000 });
copy(path('intact'), path('renamed')) or die "could not copy: $!";
append_to_file("$directory/1$oid{intact}.cks.bad", 'not ours');
append_to_file("$directory/$oid{intact}.cks.tmp", 'left behind');
my $offset = -s $node->logfile;
$node->start;
wait_for_restore($node);

my $dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 't'";
is(ask($dead, 'intact'), 10, 'an intact file is restored');
foreach my $database (@damaged)
{
	is(ask($dead, $database), 0, "$database: is not restored");
	ok(-e path($database) . '.bad', 'is put aside');
	isnt(ask("SELECT refused_reason FROM ckpt_stats_databases WHERE datname = '$database'"), '', 'and the view says why');
}
my $log = slurp_file($node->logfile, $offset);
is(scalar(() = $log =~ /LOG:  ckptflush statistics file .* is damaged/g), scalar @damaged, 'the log names each');
ok(-e "$directory/1$oid{intact}.cks.bad", 'a foreign file is left alone');
ok(!-e "$directory/$oid{intact}.cks.tmp", 'a temporary one is not');

# Damage to each part of one file, one after the other.
write_files($node);
my $good = slurp_file(path('intact'));
my $length = length $good;
foreach my $at (0, 9, 30, 60, 100, 150, 205, 300, $length - 5, $length - 1)
{
	crash_all($node);
	unlink path('intact') . '.bad';
	put(path('intact'), do { my $b = $good; substr($b, $at, 1) ^= "\x01"; $b });
	$node->start;
	wait_for_restore($node);
	is(ask($dead, 'intact'), 0, "a flipped bit at $at of $length");
	put(path('intact'), $good);
}

# A copy of the data directory. The statistics are those of the copied server.
run($node, 'DELETE FROM t WHERE a <= 20', 'intact');
write_files($node);
$node->stop('immediate');
unlink path('intact') . '.bad';
my $copy = PostgreSQL::Test::Cluster->new('copy');
system_or_bail('cp', '-a', $node->data_dir, $copy->data_dir);
$copy->append_conf('postgresql.conf', 'port = ' . $copy->port . "\nunix_socket_directories = '" . $copy->host . "'\n");
$copy->start;
$copy->poll_query_until('postgres', "SELECT refused_reason <> '' FROM ckpt_stats_databases WHERE datname = 'intact'")
  or die 'it is not refused';
like($copy->safe_psql('postgres', "SELECT refused_reason FROM ckpt_stats_databases WHERE datname = 'intact'"),
	qr/another data directory/, 'a copied directory is refused');
is($copy->safe_psql('intact', $dead), 0, 'and nothing restored');
ok(!-e files_directory($copy) . "/$oid{intact}.cks.bad", 'nor called damaged');
run($copy, 'DELETE FROM t WHERE a <= 25', 'intact');
write_files($copy);
crash_all($copy);
$copy->start;
wait_for_restore($copy);
is($copy->safe_psql('intact', $dead), 5, 'the copy has files of its own from then on');
$copy->stop;

# The directory as it was at an earlier time, the files of later: what happened there never did here.
$node->start;
$node->stop;
my $earlier = PostgreSQL::Test::Utils::tempdir() . '/earlier';
system_or_bail('cp', '-a', $node->data_dir, $earlier);
$node->start;
run($node, 'DELETE FROM t WHERE a > 50', 'intact');
write_files($node);
crash_all($node);
foreach my $name (qw(base pg_wal pg_xact pg_multixact pg_subtrans))
{
	system_or_bail('rm', '-rf', $node->data_dir . "/$name");
	system_or_bail('cp', '-a', "$earlier/$name", $node->data_dir);
}
# In place: it stays the same file.
system_or_bail('cp', "$earlier/global/pg_control", $node->data_dir . '/global/pg_control');
$node->start;
$node->poll_query_until('postgres', "SELECT refused_reason <> '' FROM ckpt_stats_databases WHERE datname = 'intact'")
  or die 'it is not refused';
like(ask("SELECT refused_reason FROM ckpt_stats_databases WHERE datname = 'intact'"), qr/written at|timeline/,
	'files of a time that never was are refused');
$node->stop;

done_testing();
