# Watches the system calls of a server process with strace.
#
#   my $trace = Trace->attach($pid, 'pwrite64,sync_file_range');
#   SKIP: { skip $Trace::why_not, 1 if !$trace; ... }
package Trace;

use strict;
use warnings;

use CkptFlush;
use IPC::Run;
use PostgreSQL::Test::Utils;

# Why attach() gave nothing.
our $why_not;

# Begins to watch a process, with the children it may have: the calls of that list, or all. Undef
# where there is no strace, or it may not attach to a process of the same user.
sub attach
{
	my ($class, $pid, $calls) = @_;
	if (system('strace -V >/dev/null 2>&1') != 0)
	{
		$why_not = 'strace is not installed';
		return undef;
	}
	my $self = bless { file => PostgreSQL::Test::Utils::tempdir() . "/strace.$pid" }, $class;
	my @what = $calls ? ('-e', "trace=$calls") : ();
	$self->{strace} = IPC::Run::start [ 'strace', '-f', '-qq', @what, '-o', $self->{file}, '-p', $pid ],
	  '<', \undef, '2>', "$self->{file}.errors";
	my $attached = sub { slurp_file("/proc/$pid/status") =~ /^TracerPid:\s+[1-9]/m };
	wait_until($PostgreSQL::Test::Utils::timeout_default,
		sub { $attached->() || !process_runs($self->{strace}{KIDS}[0]{PID}) })
	  or die 'strace neither attaches nor ends';
	return $self if $attached->();
	$self->{strace}->finish;
	$why_not = 'strace may not attach to a process: ' . slurp_file("$self->{file}.errors");
	return undef;
}

# What was seen so far, a call in each line.
sub calls
{
	my ($self) = @_;
	return split /\n/, slurp_file($self->{file});
}

# How often a call was seen so far.
sub count
{
	my ($self, $name) = @_;
	return scalar grep { /^\d+\s+$name\(/ } $self->calls;
}

# Ends the watching; calls() still works.
sub detach
{
	my ($self) = @_;
	$self->{strace}->signal('TERM');
	$self->{strace}->finish;
	return;
}

1;
