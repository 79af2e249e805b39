# The directory of the stats segment: two servers can share one; what the server says when a
# segment cannot be made in it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Fcntl qw(S_IMODE);
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = memory_directory();
plan skip_all => '/dev/shm is not a tmpfs one can write to' if !$directory;
my $disk = PostgreSQL::Test::Utils::tempdir();

# Two servers in one directory.
my @nodes = map { new_node($_, conf => "ckptflush.segment_directory = '$directory'\n") } qw(one two);
my @files = map { $_->safe_psql('postgres', 'SELECT segment_path FROM ckpt_stats_info') } @nodes;
is_deeply([ sort glob "$directory/*" ], [ sort @files ], 'two servers, two files in one directory');
is(S_IMODE((stat $files[0])[2]), 0600, 'which nobody else can read');
my $size = -s $files[0];
$nodes[1]->stop;
is_deeply([ glob "$directory/*" ], [ $files[0] ], 'each removes its own');
$nodes[0]->stop;
is_deeply([ glob "$directory/*" ], [], 'and no other');

# From here on one that cannot start.
my ($node, $file) = ($nodes[0], $files[0]);
my $hint = qr/HINT:  Set "ckptflush\.segment_directory" to/;

$node->append_conf('postgresql.conf', "ckptflush.segment_directory = '$disk/missing'\n");
start_is_refused($node, 'missing directory',
	qr/could not open stats segment directory "\Q$disk\E\/missing": No such file or directory/, $hint);
SKIP:
{
	skip 'temporary files are on tmpfs here', 3 if is_on_tmpfs($disk);
	$node->append_conf('postgresql.conf', "ckptflush.segment_directory = '$disk'\n");
	start_is_refused($node, 'disk', qr/stats segment directory "\Q$disk\E" is not on a memory file system/, $hint);
}
$node->append_conf('postgresql.conf', "ckptflush.segment_directory = '$directory'\n");
chmod 0500, $directory or die "could not chmod: $!";
start_is_refused($node, 'read-only directory',
	qr/could not create stats segment "\Q$file\E": Permission denied/, qr//);
chmod 0700, $directory or die "could not chmod: $!";

# A file system that is too small, in a name space of its own.
my @user = ('--map-user=' . $>, '--map-group=' . ($) + 0));
my $small = 'mount -t tmpfs -o size=256k none "$1" && shift && exec "$@"';
my @unshare  = qw(unshare --user --map-root-user --mount);
my @in_small = (@unshare, 'sh', '-c', $small, 'sh', "$directory", qw(unshare --user), @user);
my $reduce = qr/HINT:  Reduce "ckptflush\.files_size" or "ckptflush\.history_size"/;
SKIP:
{
	skip 'user name spaces cannot be made here', 3
	  if system("@unshare true 2>&1") || !run_log([ @in_small, 'true' ]);
	start_is_refused($node, 'no space',
		qr/could not allocate $size bytes for stats segment "\Q$file\E": No space left on device/,
		qr/DETAIL:  The stats segment needs $size bytes\..*$reduce/s,
		sub { run_log([ @in_small, 'pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-w', 'start' ]) });
}
is_deeply([ glob "$directory/*" ], [], 'no attempt has left anything');

done_testing();
