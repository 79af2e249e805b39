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

our @EXPORT = qw($engaged $room session begin ended waits finish hold_flush in_flight visible_within);

# Group commit by default, and readers that wait for nothing unless they say so. The WAL writer soon
# flushes what nobody else does.
our $engaged = <<'CONF';
wal_writer_delay = 10ms
checkpoint_timeout = 1h
ckptflush.group_commit = on
ckptflush.group_commit_readers = relaxed
CONF

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
# commit_delay, with WALWriteLock, and is stopped in its sleep.
sub hold_flush
{
	my ($node) = @_;
	my @alone = ('ckptflush.group_commit = off', 'synchronous_commit = local');
	my $self = bless {
		watch => session($node, 'ckptflush.group_commit_readers = relaxed'),
		probe => session($node, @alone, 'commit_delay = 0'),
		holder => session($node, @alone, 'commit_siblings = 0', 'commit_delay = 100000'),
	};
	my $pid = $self->{holder}->query('SELECT pg_backend_pid()');
	foreach my $try (1 .. 100)
	{
		$self->{holder}->query('BEGIN; CREATE TEMP TABLE held (a int) ON COMMIT DROP');
		begin($self->{holder}, 'COMMIT');
		sleep 0.02 + 0.001 * $try;
		$self->{pid} = $pid;
		kill 'STOP', $pid;
		begin($self->{probe}, "SELECT pg_logical_emit_message(true, 'probe', '')");
		# Twice: on a slow disk somebody else may have the lock for a while.
		return $self if $self->is_held && sleep(0.2) && $self->is_held;
		$self->go_on;
	}
	die 'could not hold up a flush';
}

# Whether another flush waits for the one that is held up. If that was stopped at a wrong place, it
# does not; or it cannot be found out, for a lock that is needed to do so is held.
sub is_held
{
	my ($self) = @_;
	my ($watch, $probe) = @$self{qw(watch probe)};
	my $waits = 0;
	wait_until(2, sub {
		begin($watch, <<'SQL' =~ s/\s*$//r);
SELECT count(*) FROM pg_stat_activity
WHERE query LIKE 'SELECT pg_logical_emit_message%' AND wait_event_type = 'LWLock' AND wait_event = 'WALWrite'
SQL
		$self->{asks} = !wait_until(1, sub { ended($watch) });
		$waits = $self->{asks} ? 0 : finish($watch);
		return $self->{asks} || $waits || ended($probe);
	});
	return $waits && !ended($probe);
}

sub go_on
{
	my ($self) = @_;
	kill 'CONT', $self->{pid};
	$self->{pid} = 0;
	finish($_) foreach @$self{qw(holder probe)};
	finish($self->{watch}) if $self->{asks};
	return;
}

sub release
{
	my ($self) = @_;
	return if !$self->{pid};
	$self->go_on;
	$_->quit foreach @$self{qw(holder probe watch)};
	return;
}

sub DESTROY
{
	my ($self) = @_;
	kill 'CONT', $self->{pid} if $self->{pid};
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
