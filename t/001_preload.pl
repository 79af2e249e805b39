# Without shared_preload_libraries every view and function says what to do, and harms nothing;
# with it all work, whatever other libraries are loaded before or after.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use PostgreSQL::Test::Utils;
use Test::More;

my $refusal = '55000 | ckptflush must be loaded via "shared_preload_libraries" | '
  . 'Add "ckptflush" to "shared_preload_libraries" and restart the server.';

# Runs a statement and tells the error, in the session of the caller, which must survive it.
my $attempt = <<'SQL';
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text;
	message text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', state, message, hint);
END
$$
SQL

# A statement for each view and each function of the extension, arguments without a default
# being '1' of their type.
my $statements = <<'SQL';
SELECT CASE classid
	WHEN 'pg_class'::regclass THEN 'TABLE ' || objid::regclass
	ELSE format('SELECT * FROM %s(%s)', p.oid::regproc,
		(SELECT string_agg(format('%L::%s', 1, format_type(a.type, NULL)), ', ' ORDER BY a.n)
		 FROM unnest(p.proargtypes) WITH ORDINALITY a(type, n)
		 WHERE a.n <= p.pronargs - p.pronargdefaults))
	END
FROM pg_depend LEFT JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ckptflush')
	AND classid IN ('pg_class'::regclass, 'pg_proc'::regclass)
ORDER BY 1
SQL

my $node = new_node('preload', preload => '');
$node->safe_psql('postgres', $attempt);
my @statements = split /\n/, $node->safe_psql('postgres', $statements);
cmp_ok(scalar @statements, '>', 10, 'the extension has views and functions');

# All in one session, which tells its pid before and after.
my $calls = join "\n", map { my $s = $_ =~ s/'/''/gr; "SELECT attempt('$s');" } @statements;
my ($before, @answers) = split /\n/,
  $node->safe_psql('postgres', "SELECT pg_backend_pid();\n$calls\nSELECT pg_backend_pid();");
my $after = pop @answers;
foreach my $i (0 .. $#statements)
{
	is($answers[$i], $refusal, "not preloaded: $statements[$i]");
}
is($after, $before, 'the session that was refused lives on');
my ($status, undef, $stderr) = $node->psql('postgres', 'TABLE ckpt_stats');
is($status, 3, 'an error at top level is an ordinary one');
like($stderr, qr/must be loaded via "shared_preload_libraries"/, 'with the same message');

$node->append_conf('postgresql.conf', 'auto_explain.log_min_duration = 0');
foreach my $libraries ('ckptflush, pg_stat_statements, auto_explain',
	'auto_explain, pg_stat_statements, ckptflush')
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'\n");
	$node->restart;
	my $offset = -s $node->logfile;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
	$node->safe_psql('postgres', "SELECT 'told apart'; CHECKPOINT");
	wait_for_history($node, 1);

	foreach my $view (grep { /^TABLE/ } @statements)
	{
		is($node->safe_psql('postgres', "SELECT attempt('$view')"), 'no error',
			"$libraries: $view");
	}
	is( $node->safe_psql(
			'postgres', q{SELECT calls > 0 FROM pg_stat_statements WHERE query = 'CHECKPOINT'}),
		't',
		"$libraries: pg_stat_statements counts");
	$node->wait_for_log(qr/plan:\s+Query Text: SELECT 'told apart'/, $offset);
	ok(1, "$libraries: auto_explain explains");
}
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal/, 'nothing crashed');

done_testing();
