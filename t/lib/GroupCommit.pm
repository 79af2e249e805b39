# Helpers of the tests of group commit: statements that run beside the test, flushes of WAL that are
# held up, and the commits in flight.
#
#   use GroupCommit;
#   my $held = hold_flush($node);
#   begin($session, 'UPDATE ...'); ok(!ended($session), 'waits');
#   $held->release; finish($session);
package GroupCommit;

use strict;
use warnings;

use CkptFlush;
use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

our @EXPORT = qw($room session begin ended waits finish hold_flush in_flight visible_within children after_kill);

# For nodes that stream, which have 1 MB of shared buffers else: who replaces a dirty page of such a
# small pool waits for the flush that a test holds up.
our $room = "shared_buffers = 32MB\nwal_buffers = 4MB\n";

# A session with these settings, one a line.
sub session
{
	my ($node, @settings) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->set_query_timer_restart();
	$session->query("SET $_") foreach @settings;
	return $session;
}

# Sends a statement and does not wait for its end.
sub begin
{
	my ($session, $sql) = @_;
	$session->{stderr} = '';
	my $told = $session->query_until(qr/^begun$/m, "\\echo begun\n$sql;\n\\echo ended\n");
	# The answer may have come at once.
	$session->{stdout} = $told =~ s/^.*?begun\n//sr;
	return;
}

# Whether the statement has ended by now.
sub ended
{
	my ($session) = @_;
	$session->{run}->pump_nb;
	return $session->{stdout} =~ /^ended$/m;
}

# Whether nothing of it is answered within a while.
sub waits
{
	my ($session) = @_;
	sleep 0.3;
	return !ended($session) && $session->{stdout} eq '';
}

# Waits for its end; what it has answered.
sub finish
{
	my ($session) = @_;
	wait_until($PostgreSQL::Test::Utils::timeout_default, sub { ended($session) })
	  or die "the statement does not end: $session->{stdout} $session->{stderr}";
	my $answer = $session->{stdout} =~ s/^ended\n//mr;
	$session->{stdout} = '';
	chomp $answer;
	return $answer;
}

# Whether a query gives the expected answer within a while.
sub visible_within
{
	my ($session, $query, $expected) = @_;
	return wait_until(20, sub { $session->query($query) eq $expected });
}

# Holds up all flushes of WAL, until release(): a session that flushes sleeps before it for
# commit_delay, with WALWriteLock, and is stopped in its sleep. wal_writer_delay must be short.
sub hold_flush
{
	my ($node) = @_;
	my $watch = session($node, 'ckptflush.group_commit_readers = relaxed');
	my $holder = session($node, 'ckptflush.group_commit = off', 'synchronous_commit = local',
		'commit_siblings = 0', 'commit_delay = 100000');
	my $pid = $holder->query('SELECT pg_backend_pid()');
	foreach my $try (1 .. 100)
	{
		$holder->query('BEGIN; CREATE TEMP TABLE held (a int) ON COMMIT DROP');
		begin($holder, 'COMMIT');
		sleep 0.02 + 0.001 * $try;
		kill 'STOP', $pid;
		# Whatever is inserted now stays where it is, if the holder sleeps at the right place. At a
		# wrong one it may hold a lock that is needed to find out.
		begin($watch, <<'SQL' =~ s/\s*$//r);
WITH inserted AS MATERIALIZED (
	SELECT pg_logical_emit_message(false, 'held', 'up') AS up_to, pg_sleep(0.3))
SELECT pg_current_wal_flush_lsn() < up_to FROM inserted
SQL
		wait_until(1, sub { ended($watch) });
		my $answered = ended($watch);
		kill 'CONT', $pid if !$answered;
		my $held = finish($watch) eq 't' && $answered;
		return bless { holder => $holder, pid => $pid, watch => $watch } if $held;
		kill 'CONT', $pid;
		finish($holder);
	}
	die 'could not hold up a flush';
}

sub release
{
	my ($self) = @_;
	return if !$self->{pid};
	kill 'CONT', $self->{pid};
	$self->{pid} = 0;
	finish($self->{holder});
	$_->quit foreach @$self{qw(holder watch)};
	return;
}

sub DESTROY
{
	my ($self) = @_;
	kill 'CONT', $self->{pid} if $self->{pid};
	return;
}

# The processes of a server but the postmaster.
sub children
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
}

# When a postmaster was killed: waits for the end of these, so that the server can be started again.
sub after_kill
{
	my ($node, @pids) = @_;
	wait_until(60, sub { !grep { process_runs($_) } @pids }) or die 'it survives';
	# Until its parent has taken notice, which takes a second, its lock files look like a living one's.
	unlink $node->data_dir . '/postmaster.pid', glob $node->host . '/.s.PGSQL.*.lock';
	return;
}

# The words of the section "group_commit" of the stats segment: docs/segment-layout.md.
sub in_flight
{
	my ($node) = @_;
	my $bytes = slurp_file($node->safe_psql('postgres', 'SELECT ckpt_stats_segment_path()'));
	my $word = sub { unpack 'Q', substr $bytes, 8 * $_[0], 8 };
	foreach my $number (0 .. $word->(4) - 1)
	{
		my $entry = $word->(5) / 8 + 12 * $number;
		next if unpack('Z48', substr $bytes, 8 * ($entry + 6), 48) ne 'group_commit';
		my $section = $word->($entry + 1) / 8;
		return join ' ', map { $word->($section + $_) } 0, 2;
	}
	die 'there is no such section';
}

1;
