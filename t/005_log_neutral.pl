# The server's log is the same with and without the library, whatever level the user has set and
# however it changes in mid-checkpoint: two servers get the same work, one of them without
# ckptflush, and their logs are compared line by line.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

# Spread checkpoints take four seconds here: a pause of 100 ms after each of 40 buffers.
my $conf = <<'CONF';
checkpoint_timeout = 1h
checkpoint_completion_target = 0.9
bgwriter_lru_maxpages = 0
log_min_messages = warning
log_line_prefix = '%m [%p] %b '
CONF
my $with    = new_node('with', conf => $conf);
my $without = new_node('without', conf => $conf, preload => '');
my @nodes = ($with, $without);

# The same in both servers, one after the other.
sub ask { my ($sql) = @_; return map { $_->safe_psql('postgres', $sql) } @nodes }

# In both at once: a spread checkpoint over new tables, in the middle of it a change of settings.
sub checkpoint_with_reload
{
	my ($name, $change) = @_;
	ask(join ';', map { "CREATE TABLE ${name}_$_ AS SELECT 1 AS a" } 1 .. 10);
	my @offsets  = map { -s $_->logfile } @nodes;
	my @sessions = map { ask_for_spread_checkpoint($_) } @nodes;
	foreach my $i (0 .. $#nodes)
	{
		$nodes[$i]->wait_for_log(qr/checkpoint starting: force wait/, $offsets[$i]);
		$nodes[$i]->safe_psql('postgres', "ALTER SYSTEM $change");
		$nodes[$i]->reload;
		unlike(slurp_file($nodes[$i]->logfile, $offsets[$i]), qr/checkpoint complete/,
			"$name: the reload is in mid-checkpoint");
	}
	$_->quit for @sessions;
	return map { slurp_file($nodes[$_]->logfile, $offsets[$_]) } 0 .. $#nodes;
}

# A log without what is different by nature: times, process IDs, numbers, the order in which files
# are synced, what the other processes say below LOG, and the lines that name ckptflush.
sub comparable
{
	my ($log) = @_;
	my @lines;
	foreach my $line (split /\n/, $log)
	{
		next if $line =~ /ckptflush/;
		# Below LOG only what the checkpointer says. The others tell at debug1 and debug2 which process
		# left when, and a reload is read by each of them in its own time.
		next if $line =~ /\] (?!checkpointer)[^:]* DEBUG:/;
		# What the checkpointer says at debug2 of the very reload that asks for it. Ours follows the
		# user below debug1 from the next record on.
		next if $line =~ /updated shared memory configuration/;
		my $file = $line =~ s/file=(\S+)// ? $1 : '';
		$line =~ s/^\S+ \S+ \S+ \[\d+\] //;
		$line =~ s/"[^"]*"/"..."/g if $line =~ /socket|directory|listening/;
		$line =~ s/0\/[0-9A-F]+/LSN/g;
		$line =~ s/\d+(?:\.\d+)?/N/g;
		push @lines, "$line$file";
	}
	return [ sort @lines ];
}

# Once in a checkpoint, near its end.
my $removes = qr/DEBUG:  attempting to remove WAL segments/;
# Each file of a checkpoint.
my $synced = qr/DEBUG:  checkpoint sync: number=\d+ file=/;

# The user's level, from the file, is warning. An unrelated reload.
my @logs = checkpoint_with_reload('unrelated', "SET deadlock_timeout = '2s'");
is(scalar(() = $logs[0] =~ /$synced/g), 0, 'warning: no per-file messages');

# Up and down again in mid-checkpoint.
@logs = checkpoint_with_reload('up', 'SET log_min_messages = debug1');
cmp_ok(scalar(() = $logs[1] =~ /$synced/g), '>=', 10, 'up to debug1: stock PostgreSQL logs each file');
is(scalar(() = $logs[0] =~ /$synced/g), scalar(() = $logs[1] =~ /$synced/g), 'and so do we');
@logs = checkpoint_with_reload('down', 'RESET log_min_messages');
is(scalar(() = $logs[1] =~ /$synced/g), 0, 'down to warning: stock PostgreSQL logs none');
is(scalar(() = $logs[0] =~ /$synced/g), 0, 'and neither do we');

# Short checkpoints with every level that makes a difference to ours.
foreach my $level (qw(info notice warning error log fatal panic debug1))
{
	ask("ALTER SYSTEM SET log_min_messages = $level");
	$_->reload for @nodes;
	ask("CREATE TABLE $level AS SELECT 1 AS a; CHECKPOINT");
}
ask('ALTER SYSTEM RESET log_min_messages');
$_->reload for @nodes;

# At debug2 the checkpointer says more than we need to hear. Set before a checkpoint or during one,
# it is the user's.
ask('ALTER SYSTEM SET log_min_messages = debug2');
$_->reload for @nodes;
my @before = map { -s $_->logfile } @nodes;
ask('CREATE TABLE debug2 AS SELECT 1 AS a; CHECKPOINT');
ask('ALTER SYSTEM RESET log_min_messages');
$_->reload for @nodes;
my @said = map { scalar(() = slurp_file($nodes[$_]->logfile, $before[$_]) =~ /$removes/g) } 0 .. $#nodes;
is("@said", '1 1', 'debug2: what the checkpointer says at that level is logged');
@logs = checkpoint_with_reload('lower', 'SET log_min_messages = debug2');
is(join(' ', map { scalar(() = /$removes/g) } @logs), '1 1', 'and if it is set in mid-checkpoint');
ask('ALTER SYSTEM RESET log_min_messages');
$_->reload for @nodes;

# A failed checkpoint lowers the level too.
foreach my $node (@nodes)
{
	$node->safe_psql('postgres', 'CREATE TABLE unreadable AS SELECT 1 AS a');
	my $path = $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('unreadable')");
	chmod 0, $path or die "could not chmod \"$path\": $!";
	$node->psql('postgres', 'CHECKPOINT');
	chmod 0600, $path or die "could not chmod \"$path\": $!";
}
ask("CREATE TABLE afterwards AS SELECT 1 AS a; CHECKPOINT");

# What was swallowed was known: each file of these checkpoints has its times.
is($with->safe_psql('postgres', <<'SQL'), '', 'every checkpoint that was logged has the times of its files');
SELECT checkpoint_id FROM ckpt_stats_history WHERE files_synced > 0 AND longest_sync_file IS NULL
SQL
is( $with->safe_psql('postgres',
		"SELECT count(*) FROM ckpt_stats_files WHERE syncs > 0 AND path = pg_relation_filepath('unrelated_1')"),
	1,
	'an unrelated reload in mid-checkpoint does not end them');

# Stop, start and stop again at debug1; hint bits that the queries above have set are out of the way.
ask('CHECKPOINT');
ask('ALTER SYSTEM SET log_min_messages = debug1');
$_->reload for @nodes;
$_->restart for @nodes;
$_->stop for @nodes;
my ($ours, $stocks) = map { comparable(slurp_file($_->logfile)) } @nodes;
cmp_ok(scalar(grep { /checkpoint sync/ } @$stocks), '>=', 10, 'there are per-file messages to compare');
is_deeply($ours, $stocks, 'the logs are the same');

# The comparison would have found one message more, and another file.
isnt("@{ comparable(slurp_file($with->logfile) . qq(x x x [1] checkpointer DEBUG:  checkpoint sync\n)) }",
	"@$stocks", 'one line more is a difference');
my $other = slurp_file($with->logfile);
$other =~ s/(checkpoint sync: number=\d+ file=base)/$1_/ or die;
isnt("@{ comparable($other) }", "@$stocks", 'another file is a difference');

done_testing();
