# What README.md and docs/ tell the reader to type works: every block of code is run, in the order of
# the text, or says why not; what they show as a result has the columns that the server gives; the
# defaults of docs/settings.md are the server's. README.md comes last, with a server of its own that has
# never heard of ckptflush: its four steps make it run, and its removal leaves nothing.
use strict;
use warnings;

use File::Basename qw(basename);
use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use Documents;
use IPC::Run qw(start);
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/..";
my $directory = memory_directory();
plan skip_all => '/dev/shm is not a tmpfs one can write to' if !$directory;

# Where commands run: with the names that the documents use, and a ckpttop that sees no server but ours.
my $place = PostgreSQL::Test::Utils::tempdir();
mkdir "$place/$_" or die "could not make a directory: $!" for qw(bin textfile pcp pcp/mmv);
my ($ckpttop) = grep { -x } map { "$_/ckpttop" } split /:/, $ENV{PATH};
append_to_file("$place/bin/ckpttop", <<"SH");
#!/bin/sh
case " \$* " in
*' --dsn '* | *' report '* | *' statsfile '*) exec '$ckpttop' "\$@" ;;
*) exec '$ckpttop' "\$@" --directory '$directory' ;;
esac
SH
chmod 0755, "$place/bin/ckpttop";
append_to_file("$place/service.conf", "[production]\ndbname=postgres\n");
$ENV{PATH} = "$place/bin:$ENV{PATH}";
$ENV{TERM} = 'xterm';
@ENV{qw(PGSERVICEFILE TEXTFILE_DIRECTORY PCP_TMP_DIR)} =
  ("$place/service.conf", "$place/textfile", "$place/pcp");
my ($node, @endless, $not_run);

# Commands run where they can make files. Their output goes to a file: a server that is started keeps it.
sub run_shell
{
	my ($block) = @_;
	my $log = "$place/shell.log";
	local %ENV = %ENV;
	@ENV{qw(PGHOST PGPORT PGDATABASE PGDATA PLACE COMMANDS LOG)} =
	  ($node->host, $node->port, 'postgres', $node->data_dir, $place, $block->{text}, $log);
	my $status = system('cd "$PLACE" && exec sh -euc "$COMMANDS" >"$LOG" 2>&1 </dev/null');
	is($status, 0, "$block->{name}: runs") or diag(slurp_file($log));
}

# A program that shows something until it is stopped: it gets a terminal. Waits until it has written
# something, there or to a file, and leaves it running.
sub start_endless
{
	my ($block) = @_;
	foreach my $command (grep { /^[^#]/ } split /\n/, $block->{text})
	{
		my $out = '';
		local %ENV = %ENV;
		@ENV{qw(PGHOST PGPORT PGDATABASE PLACE COMMANDS)} =
		  ($node->host, $node->port, 'postgres', $place, $command);
		my $files = "$place/* $place/pcp/mmv/*";
		my %before = map { $_ => 1 } glob $files;
		my $program = start([ 'sh', '-c', 'cd "$PLACE" && eval "exec $COMMANDS"' ], '<pty<', \'', '>pty>', \$out);
		push @endless, [ "$block->{name}: $command", $program, \$out ];
		ok( wait_until(60, sub {
					$program->pump_nb;
					$out =~ /\S/ || grep { !$before{$_} && -s $_ } glob $files;
				}),
			"$block->{name}: $command");
	}
}

sub stop_endless
{
	foreach my $running (splice @endless)
	{
		my ($name, $program, $out) = @$running;
		$program->pump_nb;
		ok($program->pumpable, "$name: runs until it is stopped") or diag($$out);
		$program->signal('INT');
		$program->finish;
	}
}

sub run_block
{
	my ($block) = @_;
	my ($name, $language, $mark, $text) = @$block{qw(name language mark text)};
	if ($mark && $mark =~ /^not run(?: here)?: \S/)
	{
		# A statement for another server, quoted in one that this server does not know.
		is(scalar $node->psql('postgres', $_), 0, "$name: what is between \$\$ runs")
		  for $language eq 'sql' ? $text =~ /\$\$(.*?)\$\$/sg : ();
		return ok(++$not_run, "$name: $mark");
	}
	return start_endless($block) if $language eq 'sh' && $mark && $mark eq 'runs until it is stopped';
	is($mark, undef, "$name: a mark that is understood") if $mark;
	if ($language eq 'sql')
	{
		my ($status, undef, $err) = $node->psql('postgres', $text);
		is("$status$err", '0', "$name: runs");
	}
	elsif ($language eq 'console')
	{
		my @statements = statements_of($text);
		ok(scalar @statements, "$name: has a statement");
		foreach my $statement (@statements)
		{
			my ($query, $shown) = @$statement;
			my ($status, undef, $err) = $node->psql('postgres', $query);
			is("$status$err", '0', "$name: runs");
			next if $shown !~ /\S/;
			my $columns = $node->safe_psql('postgres', "$query \\gdesc");
			is(join(' ', columns_of($shown)), join(' ', $columns =~ /^([^|]*)\|/mg), "$name: has these columns");
		}
	}
	elsif ($language eq 'sh') { run_shell($block) }
	elsif ($language eq 'conf')
	{
		like($node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = '$_'"), qr/^1$/, "$name: $_")
		  for $text =~ /^([\w.]+)\s*=/mg;
	}
	else
	{
		like($language, qr/^(?:text|yaml|rust)$/, "$name: says in which language it is");
		unlike($text, qr/^(?:\w+=[#>] |\$ |(?:SELECT|ALTER|CREATE|DROP)\b|make\b|ckpttop -)/m, "$name: nothing to run");
	}
}

# docs/, in a server that has all they speak of: a database whose OID is 16384, with a stats file.
$node = new_node('documents', conf => "ckptflush.segment_directory = '$directory'\n", extension => 0);
$node->safe_psql('postgres', 'CREATE DATABASE app');
is($node->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = 'app'"), 16384, 'OID of the database');
$node->safe_psql('postgres', 'CREATE EXTENSION ckptflush');
$node->safe_psql('app', 'CREATE TABLE t AS SELECT generate_series(1, 1000) AS i');
$node->safe_psql('postgres', 'CHECKPOINT');
wait_for_history($node, 1);
$node->safe_psql('postgres', 'SELECT ckpt_stats_write_database(0, true)');

# What the table says, as SHOW would: setting | type | default | range | takes effect.
my %effect = (sighup => 'reload', postmaster => 'restart', superuser => 'at once; superusers', user => 'at once');
foreach my $row (slurp_file("$root/docs/settings.md") =~ /^\|\s*`(ckptflush\..*)\|$/mg)
{
	my ($name, undef, $default, undef, $when) = map { s/^[\s`]+|[\s`]+$//gr } split /\|/, $row;
	my $shown = $node->safe_psql('postgres', "SELECT CASE WHEN source = 'default' THEN current_setting(name) ELSE boot_val END, context FROM pg_settings WHERE name = '$name'");
	my ($value, $context) = split /\|/, $shown;
	is("$value, " . ($effect{ $context // '' } // ''), ($default eq 'empty' ? '' : $default) . ", $when", "docs/settings.md: $name");
}

run_block($_) for map { blocks_of($root, $_) } map { 'docs/' . basename($_) } sort glob "$root/docs/*.md";
stop_endless();
$node->stop;

# README.md.
$node = PostgreSQL::Test::Cluster->new('newcomer');
$node->init;
$node->start;
run_block($_) for blocks_of($root, 'README.md');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_extension WHERE extname = 'ckptflush'"), 0, 'no extension');
is(`find '${\$node->data_dir}' -iname '*ckpt*' -o -name '*.cks*'`, '', 'no file');
unlike(slurp_file($node->data_dir . '/postgresql.auto.conf'), qr/ckptflush/, 'no line in the configuration');
note("$not_run blocks are not run");
$node->stop;
done_testing();
