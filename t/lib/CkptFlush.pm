# Helpers of the TAP tests: servers with ckptflush preloaded, and the server log's account of
# its checkpoints, which is what the views are held against.
#
#   use FindBin;
#   use lib "$FindBin::RealBin/lib";
#   use CkptFlush;
package CkptFlush;

use strict;
use warnings;

use Exporter qw(import);
use File::Temp;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(new_node logged_checkpoints wait_for_checkpoints wait_for_history major_version
  ask_for_spread_checkpoint wait_until process_runs children crash_all after_kill memory_directory is_on_tmpfs start_is_refused);

# Tests that are run in the background may inherit that Ctrl-C is ignored. Whatever they start and stop
# so would inherit it from them, and ckpttop heeds it.
$SIG{INT} = 'DEFAULT';

# A started server with the library preloaded and the extension created, and with fsync on, which
# PostgreSQL::Test::Cluster turns off: without it no file is ever synced. Options:
#   preload    value of shared_preload_libraries (default "ckptflush")
#   conf       more lines of postgresql.conf
#   init       reference to a list of parameters of PostgreSQL::Test::Cluster::init
#   extension  0: no CREATE EXTENSION
#   start      0: leave the server stopped (and the extension out)
sub new_node
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(@{ $option{init} // [] });
	my $preload = $option{preload} // 'ckptflush';
	$node->append_conf('postgresql.conf', <<"CONF" . ($option{conf} // ''));
shared_preload_libraries = '$preload'
fsync = on
wal_level = replica
log_checkpoints = on
log_statement = none
log_timezone = UTC
autovacuum = off
CONF
	return $node if !($option{start} // 1);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION ckptflush') if $option{extension} // 1;
	return $node;
}

# 15, 17, ...
sub major_version
{
	my ($node) = @_;
	return int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);
}

# Asks for a spread checkpoint (on a standby: restartpoint) and returns the session in which that
# was done; quit() of the session waits for the end.
sub ask_for_spread_checkpoint
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/asking/, <<'SQL');
\echo asking
SELECT pg_backup_start('spread', false);
SELECT pg_backup_stop(false);
SQL
	return $session;
}

# Waits for something that cannot be asked in SQL: until the code returns true. False after that
# many seconds.
sub wait_until
{
	my ($seconds, $code) = @_;
	my $deadline = time + $seconds;
	until ($code->())
	{
		return 0 if time > $deadline;
		usleep(20_000);
	}
	return 1;
}

# Stops a process, and waits until it does nothing any more: a postmaster makes no more children.
sub freeze
{
	my ($pid) = @_;
	kill 'STOP', $pid or die "could not stop $pid: $!";
	wait_until(60, sub { slurp_file("/proc/$pid/stat") =~ /\) T/ })
	  or die "$pid does not stop";
	return;
}

# Whether there is such a process; not one that has ended and only waits for its parent to notice.
sub process_runs
{
	my ($pid) = @_;
	return 0 if !kill 0, $pid;
	open my $stat, '<', "/proc/$pid/stat" or return kill 0, $pid;
	return (<$stat> // '') !~ /\) Z /;
}

# The processes of a server but the postmaster.
sub children
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
}

# The end of the server without a chance to write anything: all processes at once, so that none sees
# another one die. The postmaster is stopped first, or it starts more while they are listed.
sub crash_all
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	freeze($postmaster);
	my @children = children($node);
	kill 'KILL', @children;
	$node->kill9;
	after_kill($node, @children, $postmaster);
	return;
}

# When a postmaster was killed: waits for the end of these, so that the server can be started again.
sub after_kill
{
	my ($node, @pids) = @_;
	wait_until($PostgreSQL::Test::Utils::timeout_default, sub { !grep { process_runs($_) } @pids })
	  or die 'processes of the killed server are left';
	# Until its parent has taken notice, which takes a second, its lock files look like a living one's.
	unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	return;
}

# A new directory for stats segments, removed at the end of the test; undef where /dev/shm is not
# what it is on Linux.
sub memory_directory
{
	return undef if !-w '/dev/shm' || !is_on_tmpfs('/dev/shm');
	return File::Temp->newdir('ckptflush_test_XXXXXX', DIR => '/dev/shm');
}

sub is_on_tmpfs
{
	my ($path) = @_;
	return qx(stat -f -c %T '$path') eq "tmpfs\n";
}

# Three tests: the server does not start, says why in one message, and what else there is to say.
# "start" is code that tries it.
sub start_is_refused
{
	my ($node, $name, $message, $rest, $start) = @_;
	my $offset = -s $node->logfile;
	$start //= sub { $node->start(fail_ok => 1) };
	ok(!$start->(), "$name: the server does not start");
	my $log = slurp_file($node->logfile, $offset);
	is(scalar(() = $log =~ /(?:FATAL|PANIC|ERROR):/g), 1, "$name: one error");
	like($log, qr/FATAL:  $message\n.*$rest/s, "$name: a clear one");
	return;
}

# One regular expression for the messages of all supported versions. 18 has the SLRU pages apart,
# before they are among the buffers; 16 appended the two positions.
my $number = qr/(\d+)/;
my $seconds = qr/(\d+\.\d{3}) s/;
my $complete = qr/(checkpoint|restartpoint)\ complete:\ wrote\ $number\ buffers\ \([^)]*\)
  (?:,\ wrote\ $number\ SLRU\ buffers)?
  ;\ $number\ WAL\ file\(s\)\ added,\ $number\ removed,\ $number\ recycled
  ;\ write=$seconds,\ sync=$seconds,\ total=$seconds
  ;\ sync\ files=$number,\ longest=$seconds,\ average=$seconds
  ;\ distance=$number\ kB,\ estimate=$number\ kB
  (?:;\ lsn=\S+,\ redo\ lsn=(\S+))?/x;
my @complete_fields = qw(kind buffers slru added removed recycled write sync total files longest
  average distance estimate redo_lsn);

# The checkpoints in the server's log from $offset on, in order: references to hashes. Times are
# milliseconds as whole numbers, sizes kB; "flags" is what follows "starting:", "cause" what the
# views make of it; what the version does not say is undef; "complete" is 0 for one without a
# "complete" message.
sub logged_checkpoints
{
	my ($node, $offset) = @_;
	my @checkpoints;
	foreach my $line (split /\n/, slurp_file($node->logfile, $offset // 0))
	{
		my ($at) = $line =~ /^(\d{4}-\S+ \S+ \S+) \[\d+\]/ or next;
		if ($line =~ /LOG:  (checkpoint|restartpoint) starting: ?(.*)$/)
		{
			push @checkpoints,
			  { kind => $1, flags => $2, cause => cause($2), started_at => $at, complete => 0 };
		}
		elsif (my @values = $line =~ /LOG:  $complete$/)
		{
			push @checkpoints, {} if !@checkpoints || $checkpoints[-1]{complete};
			my %value;
			@value{@complete_fields} = @values;
			$value{$_} = sprintf '%.0f', $value{$_} * 1000 for qw(write sync total longest average);
			%{ $checkpoints[-1] } = (
				%{ $checkpoints[-1] }, %value,
				ended_at => $at,
				complete => 1,
				result => 'completed');
		}
		elsif ($line =~ /LOG:  (?:checkpoint|restartpoint) complete/)
		{
			die "not understood: $line";
		}
	}
	return @checkpoints;
}

# The cause as the views call it, from the flags of a "starting" message.
sub cause
{
	my ($flags) = @_;
	foreach my $pair (
		[ shutdown => 'shutdown' ],
		[ 'end-of-recovery' => 'end-of-recovery' ],
		[ wal => 'wal' ],
		[ time => 'timed' ])
	{
		return $pair->[1] if $flags =~ /\b$pair->[0]\b/;
	}
	return 'requested';
}

# Waits until the log has $count complete checkpoints from $offset on.
sub wait_for_checkpoints
{
	my ($node, $count, $offset) = @_;
	$node->wait_for_log("(?s)(?:point complete: .*?){$count}", $offset // 0);
	return;
}

# Waits until the history has a row for each of $count checkpoints. The row is what the monitor
# writes last: the progress is gone by then, and the counters know of the checkpoint.
sub wait_for_history
{
	my ($node, $count) = @_;
	$node->poll_query_until('postgres', "SELECT count(*) >= $count FROM ckpt_stats_history")
	  or die "timed out waiting for $count checkpoints in the history";
	return;
}

1;
