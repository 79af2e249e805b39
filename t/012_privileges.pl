# Who may see what: totals are for everybody; what names files, relations or databases is for
# pg_monitor; the reset is for nobody but superusers and whoever was granted it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Test::More;

# Without the sweep, which finds files at any time.
my $node = new_node('privileges', conf => "ckptflush.flush_sweep = off\n");
sub ask { return $node->safe_psql('postgres', shift) }
ask('CREATE ROLE plain LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CHECKPOINT');
wait_for_history($node, 1);

# What a statement is answered in a session of that role: "ok" or its error.
sub attempt
{
	my ($role, $statement) = @_;
	my ($status, undef, $stderr) = $node->psql('postgres', $statement, extra_params => [ '-U', $role ]);
	return 'ok' if $status == 0;
	return $stderr =~ /ERROR:  (permission denied) for/ ? $1 : $stderr;
}

# All views and functions of the extension, whatever will be added to it.
my %for_everybody = map { $_ => 1 } qw(ckpt_stats ckpt_stats_commands ckpt_stats_counters
	ckpt_stats_flush ckpt_stats_forecast ckpt_stats_group_commit ckpt_stats_histogram ckpt_stats_timeline ckpt_stats_waits);
my %for_nobody = map { $_ => 1 } qw(ckpt_stats_reset ckpt_stats_restore_database ckpt_stats_write_database);
# Of functions that cannot do without.
my %arguments = (ckpt_stats_write_database => '0', ckpt_stats_restore_database => "0, 'file'");
my @objects = map { [ split /\|/ ] } split /\n/, ask(<<'SQL');
SELECT coalesce(relname, proname), CASE WHEN relname IS NULL THEN 'SELECT * FROM ' || proname || '()'
	ELSE 'TABLE ' || relname END
FROM pg_depend
LEFT JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
LEFT JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ckptflush')
	AND coalesce(relname, proname) IS NOT NULL
ORDER BY 1, 2
SQL
foreach my $name (keys %for_everybody, keys %for_nobody)
{
	ok((grep { $_->[0] eq $name } @objects), "there is $name");
}
foreach my $object (@objects)
{
	my ($name, $statement) = @$object;
	$statement =~ s/\(\)/($arguments{$name})/ if defined $arguments{$name};
	is(attempt('plain', $statement), $for_everybody{$name} ? 'ok' : 'permission denied', "plain user: $statement");
	is(attempt('watcher', $statement), $for_nobody{$name} ? 'permission denied' : 'ok', "pg_monitor: $statement");
}

# What everybody sees names no file, no relation and no database.
my $seen = join "\n", map {
	$node->safe_psql('postgres', $_ eq 'ckpt_stats_forecast' ? "SELECT * FROM $_()" : "TABLE $_", extra_params => [ '-U', 'plain' ])
} sort keys %for_everybody;
unlike($seen, qr{base/|global/|pg_xact|postgres\b|template}, 'no names in the public views');
like(ask('SELECT path FROM ckpt_stats_files'), qr{base/|global/}, 'though there are some');

# The reset can be granted.
is(ask('SELECT stats_reset FROM ckpt_stats'), '', 'those who were refused have not reset anything');
ask('GRANT EXECUTE ON FUNCTION ckpt_stats_reset(text) TO plain');
is(attempt('plain', "SELECT ckpt_stats_reset('files')"), 'ok', 'granted');
is(ask('SELECT count(*) FROM ckpt_stats_files'), 0, 'and done');
is(attempt('plain', 'TABLE ckpt_stats_files'), 'permission denied', 'nothing else is granted with it');

$node->stop;
done_testing();
