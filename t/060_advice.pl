# Advice: servers with a fault each, provoked under a real load, get the row that names it, and no
# other at warning; a healthy busy one and an idle one get none. Each suggestion is a statement that
# the server takes, and one that was followed is not repeated. The forecast beside it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run ();
use Test::More;

# Checkpoints every 30 seconds are the most frequent that time begins; segments of a megabyte let WAL
# begin them sooner.
my @small = (init => [ extra => ['--wal-segsize=1'] ]);
my %node = (
	idle => new_node('idle', conf => settings()),
	healthy => new_node('healthy', conf => settings('max_wal_size = 4GB')),
	flooded => new_node('flooded', @small, conf => settings('max_wal_size = 4MB', 'min_wal_size = 2MB')),
	crammed => new_node('crammed', conf => settings('max_wal_size = 4GB', 'checkpoint_completion_target = 0.1')),
	breathless => new_node('breathless', @small,
		conf => settings('max_wal_size = 40MB', 'min_wal_size = 2MB', 'checkpoint_completion_target = 1.0')),
	silent => new_node('silent', conf => settings('log_checkpoints = off')),);
sub settings { return join "\n", 'checkpoint_timeout = 30s', @_, '' }
sub ask { return $node{ $_[0] }->safe_psql('postgres', $_[1]) }

# Commits at a moderate rate, over pages enough that a checkpoint has something to do.
my @loads;
foreach my $name (qw(healthy flooded crammed breathless))
{
	my @server = ('-h', $node{$name}->host, '-p', $node{$name}->port);
	$node{$name}->run_log([ 'pgbench', '-i', '-q', '-s', 5, @server, 'postgres' ]);
	push @loads,
	  IPC::Run::start([ 'pgbench', '-n', @server, '-R', 100, '-c', 2, '-T', 600, 'postgres' ],
		'>', '/dev/null', '2>', '/dev/null');
}

# What the disk under this test does is not its matter.
my $of_the_settings = "topic NOT IN ('device_limit', 'device_flush', 'kernel_writeback', 'bulk_writes', "
  . "'sync_bytes', 'sync_files', 'pg_wal_space')";

sub topics
{
	my ($name) = @_;
	return ask($name, "SELECT coalesce(string_agg(topic, ' ' ORDER BY topic), '') FROM ckpt_stats_advice "
		  . "WHERE severity <> 'info' AND $of_the_settings");
}

# The topic comes, with numbers in its evidence; its statement is taken.
sub advised
{
	my ($name, $topic, $setting, $wanted) = @_;
	my $row = "FROM ckpt_stats_advice WHERE topic = '$topic'";
	$node{$name}->poll_query_until('postgres', "SELECT EXISTS (SELECT $row)")
	  or die "no advice on $topic: " . ask($name, 'SELECT * FROM ckpt_stats_advice');
	is(ask($name, "SELECT severity, evidence ~ '= off|\\d', finding <> '', expected_effect <> '', docs $row"),
		"warning|t|t|t|docs/advice.md#$topic", "$name: $topic");
	note(ask($name, "SELECT finding, evidence, suggestion, expected_effect $row"));
	my $suggestion = ask($name, "SELECT suggestion $row");
	like($suggestion, qr/^ALTER SYSTEM SET $setting = '$wanted';$/, "$name: what to do");
	return $suggestion;
}

sub follow
{
	my ($name, $suggestion) = @_;
	my $offset = -s $node{$name}->logfile;
	ask($name, $suggestion);
	$node{$name}->reload;
	$node{$name}->wait_for_log(qr/parameter "\w+" changed to/, $offset);
	return;
}

# Without the log.
my $log = advised('silent', 'log_checkpoints', 'log_checkpoints', 'on');
is(topics('silent'), 'log_checkpoints', 'silent: and nothing else');
follow('silent', $log);
$node{silent}->poll_query_until('postgres', 'SELECT NOT EXISTS (SELECT FROM ckpt_stats_advice)')
  or die 'advice that was followed is repeated';

# WAL begins the checkpoints, more often than time does.
my $size = advised('flooded', 'max_wal_size', 'max_wal_size', '\d+(?:MB|GB)');
like(topics('flooded'), qr/^(?:back_to_back )?max_wal_size$/, 'flooded: and nothing that is not so');
follow('flooded', $size);
$node{flooded}->poll_query_until('postgres',
	"SELECT NOT EXISTS (SELECT FROM ckpt_stats_advice WHERE topic = 'max_wal_size')")
  or die 'advice that was followed is repeated';
pass('flooded: advice that was followed is not repeated');

# One checkpoint after the other.
follow('breathless',
	advised('breathless', 'back_to_back', 'checkpoint_completion_target', '0\.9'));
ok( ask('breathless', "SELECT EXISTS (SELECT FROM ckpt_stats_history WHERE cause = 'wal')") eq 't',
	'breathless: its checkpoints were the server\'s own');

# All writes in the tenth part of the time.
my $target = advised('crammed', 'checkpoint_completion_target', 'checkpoint_completion_target', '0\.9');
is(topics('crammed'), 'checkpoint_completion_target', 'crammed: and nothing else');
follow('crammed', $target);
$node{crammed}->poll_query_until('postgres',
	"SELECT NOT EXISTS (SELECT FROM ckpt_stats_advice WHERE topic = 'checkpoint_completion_target')")
  or die 'advice that was followed is repeated';

# The others that the rules can suggest are taken as well: what only a slow disk brings about.
my %others = (
	backend_flush_after => '256kB', bgwriter_flush_after => '512kB', bgwriter_lru_maxpages => 400,
	checkpoint_flush_after => '256kB', checkpoint_timeout => '8min', commit_delay => 2000,
	shared_buffers => '1024MB', track_io_timing => 'off', track_wal_io_timing => 'off',
	'ckptflush.flush' => 'on', 'ckptflush.flush_sweep' => 'on', 'ckptflush.sync_pace_max' => '0.1',
	'ckptflush.wait_sample_interval' => '40ms',);
is(join(' ', grep { $node{silent}->psql('postgres', "ALTER SYSTEM SET $_ = '$others{$_}';") } sort keys %others),
	'', 'every setting is one, and takes such a value');

# Nothing is wrong with these.
$node{healthy}->poll_query_until('postgres',
	"SELECT count(*) >= 3 FROM ckpt_stats_history WHERE cause = 'timed'")
  or die 'no checkpoints';
is(topics('healthy'), '', 'healthy: no warning');
is(ask('idle', 'SELECT * FROM ckpt_stats_advice'), '', 'idle: nothing at all');

# Forecasts of the healthy one: five settings, longer ones cheaper.
is(ask('healthy', 'SELECT checkpoint_timeout, max_wal_size / 1048576, present, cause FROM ckpt_stats_forecast()'),
	join("\n", '00:00:30|1024|f|timed', '00:00:30|2048|f|timed', '00:00:30|4096|t|timed',
		'00:01:00|8192|f|timed', '00:02:00|16384|f|timed'),
	'five settings');
is(ask('healthy', <<'SQL'), 't|t|t|t', 'a longer interval is cheaper, and longer to recover from');
SELECT b.checkpoints_per_hour < a.checkpoints_per_hour, b.write_rate_bytes < a.write_rate_bytes,
    b.wal_rate_bytes <= a.wal_rate_bytes, b.recovery_time > a.recovery_time
FROM ckpt_stats_forecast() a, ckpt_stats_forecast('5min') b WHERE a.present
SQL
is(ask('healthy', <<'SQL'), 'timed|wal', 'time or WAL begins them');
SELECT a.cause, b.cause
FROM ckpt_stats_forecast('1h', max_wal_size => 1099511627776) a, ckpt_stats_forecast('1h', max_wal_size => 33554432) b
SQL

$_->kill_kill for @loads;
$_->stop for values %node;
done_testing();
