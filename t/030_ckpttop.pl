# ckpttop on a real server: it shows what SQL shows, by the segment and by libpq; it shows the
# last state of a server that is stopped in the middle of everything; and it finds the server
# again after a restart.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use IPC::Run qw(start);
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = memory_directory();
plan skip_all => '/dev/shm is not a tmpfs one can write to' if !$directory;
my $node = new_node('main', conf => "ckptflush.segment_directory = '$directory'\n");
$node->safe_psql('postgres', 'CREATE TABLE t AS SELECT generate_series(1, 10000) AS n; CHECKPOINT');
ok($node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM ckpt_stats_history'), 'history');

# One look, as JSON; with the local server that --directory finds, or as the options say.
sub look
{
	my @options = @_ ? @_ : ('--directory', $directory);
	my ($out, $err) = run_command([ 'ckpttop', '--once', '--json', @options ]);
	is($err, '', "ckpttop @options");
	return decode_json($out);
}

my $local  = look();
my $remote = look('--dsn', $node->connstr('postgres'));
is($local->{ckpttop}{port}, $node->port, 'port');
is($local->{ckpttop}{server_state}, 'running', 'the server runs');
foreach my $view (grep { /^ckpt_stats/ } sort keys %$remote)
{
	my ($row) = map { ref $_ eq 'ARRAY' ? $_->[0] : $_ } $local->{$view};
	my $columns = $node->safe_psql('postgres',
		"SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute "
		  . "WHERE attrelid = '$view'::regclass AND attnum > 0");
	is(join(' ', sort keys %$row), $columns, "columns of $view") if $row;
}
is_deeply($local->{ckpt_stats_history}, $remote->{ckpt_stats_history}, 'the same history');
# Those that the checkpoint has synced: the flusher goes on with others between the two looks.
my %sync_time = map {
	$_ => [ map { [ @$_{qw(path syncs sync_time)} ] } grep { $_->{syncs} } @{ $_->{ckpt_stats_files} } ]
} ($local, $remote);
ok(@{ $sync_time{$local} } > 0, 'files');
is_deeply($sync_time{$local}, $sync_time{$remote}, 'the same files in the same order');
is( $node->safe_psql('postgres', 'SELECT buffers_written, redo_lsn, sync_time FROM ckpt_stats_history '
		  . 'ORDER BY checkpoint_id DESC LIMIT 1'),
	join('|', @{ $local->{ckpt_stats_history}[0] }{qw(buffers_written redo_lsn sync_time)}),
	'as SQL says');

# Rights.
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
my ($out, $err) = run_command([ 'ckpttop', '--once', '--dsn', $node->connstr('postgres') . ' user=nobody' ]);
is($out, '', 'nothing for a role without rights');
like($err, qr/^ckpttop: error: permission denied for .*\nckpttop: hint: .*pg_monitor\.$/, 'and why');

# A viewer that goes on looking.
my $lines = '';
my $top = start [ 'ckpttop', '--json', '--interval', '0.1', '--directory', $directory ], '>', \$lines;
sub sees
{
	my ($name, $holds) = @_;
	my $seen = wait_until($PostgreSQL::Test::Utils::timeout_default, sub {
		$top->pump_nb;
		# Each line once; what it has printed of the next one stays.
		while ($lines =~ s/^(.*)\n//)
		{
			return 1 if $holds->(decode_json($1));
		}
		return 0;
	});
	return ok($seen, "a running viewer sees $name");
}
sees('the server', sub { $_[0]{ckpttop}{server_state} eq 'running' });

# The whole server stops, as on a machine that hangs. A test that dies leaves it so that it can
# be stopped.
my @processes;
END { kill 'CONT', @processes }
my $postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ s/\n.*//sr;
@processes = ($postmaster, split ' ', `ps -o pid= --ppid $postmaster`);
kill 'STOP', @processes;
sees('that nothing moves',
	sub { $_[0]{ckpttop}{server_state} eq 'still' && $_[0]{ckpttop}{still_time} > 3000 });
my $stopped = look();
is($stopped->{ckpttop}{server_state}, 'still', 'so does a new one');
is_deeply($stopped->{ckpt_stats_history}, $local->{ckpt_stats_history}, 'with the last state');
kill 'CONT', splice @processes;
sees('it move again', sub { $_[0]{ckpttop}{server_state} eq 'running' });

$node->stop;
sees('it stop', sub { $_[0]{ckpttop}{server_state} eq 'waiting' });
$node->start;
$postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ s/\n.*//sr;
sees('the new one', sub { ($_[0]{ckpttop}{postmaster_pid} // 0) == $postmaster });
$top->kill_kill;
$node->stop;
done_testing();
