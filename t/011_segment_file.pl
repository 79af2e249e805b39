# What the server does with a file that is already there in the place of its stats segment: a stale
# one of its own is replaced, anything else stays as it is, and the server does not start.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Fcntl qw(:flock);
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = memory_directory();
plan skip_all => '/dev/shm is not a tmpfs one can write to' if !$directory;
my $node  = new_node('main', conf => "ckptflush.segment_directory = '$directory'\n");
my $file  = $node->safe_psql('postgres', 'SELECT segment_path FROM ckpt_stats_info');
my $valid = slurp_file($file);
my $size  = -s $file;
$node->stop;

# A copy of the server's own segment, with some words of its header set.
sub segment_with
{
	my (%word) = @_;
	my $content = $valid;
	substr($content, 8 * $_, 8) = pack 'Q', $word{$_} for keys %word;
	return $content;
}
sub put
{
	my ($content) = @_;
	open my $out, '>:raw', $file or die "could not create \"$file\": $!";
	print $out $content;
	close $out or die "could not write \"$file\": $!";
	return;
}

# What is in the way is not ours.
my $not_ours = qr/file "\Q$file\E" is not a stats segment of this server/;
my $remove   = qr/HINT:  Remove the file, or set "ckptflush\.segment_directory" to another directory\./;
my ($version, $system_identifier) = (1, 8);
my %foreign = (
	'another program\'s file' => [ "something else\n", 'It does not begin as a stats segment\.' ],
	'another cluster\'s segment' => [ segment_with($system_identifier => 42),
		'It belongs to the cluster with system identifier 42\.' ]);
foreach my $name (sort keys %foreign)
{
	my ($content, $detail) = @{ $foreign{$name} };
	put($content);
	start_is_refused($node, $name, $not_ours, qr/DETAIL:  $detail.*$remove/s);
	ok(slurp_file($file) eq $content, "$name is not touched");
	unlink $file;
}
symlink $node->logfile, $file or die "could not make a link: $!";
start_is_refused($node, 'symbolic link', $not_ours, qr/It is a symbolic link\./);
is(readlink $file, $node->logfile, 'the link is not touched');
unlink $file;
mkdir $file or die "could not make a directory: $!";
start_is_refused($node, 'directory', $not_ours, qr/It is not a regular file\./);
ok(-d $file, 'the directory is not touched');
rmdir $file;

# It is ours, and somebody uses it: a server holds this lock as long as one of its processes lives.
put(segment_with());
open my $lock, '<', $file or die "could not open \"$file\": $!";
flock $lock, LOCK_EX or die "could not lock \"$file\": $!";
start_is_refused($node, 'in use',
	qr/stats segment "\Q$file\E" is in use by another server/,
	qr/DETAIL:  It was created by the postmaster with PID \d+\./);
ok(slurp_file($file) eq segment_with(), 'a segment in use is not touched');
close $lock;

# It is ours, and stale: whatever is in it, a new one takes its place.
my %stale = (
	'left by a crash' => segment_with(),
	'of an older layout' => segment_with($version => 0),
	'of a newer layout' => segment_with($version => 99),
	'truncated' => substr(segment_with(), 0, 100),
	'empty' => '',
	'corrupt' => substr(segment_with(), 0, 4096) . 'x' x 10_000);
foreach my $name (sort keys %stale)
{
	put($stale{$name});
	my $inode = (stat $file)[1];
	$node->start;
	is($node->safe_psql('postgres', 'SELECT segment_bytes, generation FROM ckpt_stats_info'),
		"$size|1", "$name: replaced");
	isnt((stat $file)[1], $inode, "$name: by a new file");
	$node->stop;
}

done_testing();
