# The files below contrib/ fit the views: every query of the collectors and of the dashboard runs on a
# real server, as a member of pg_monitor, and has the columns that are asked of it; both exporters
# have the same metrics; the alert rules know no others.
use strict;
use warnings;

use CPAN::Meta::YAML;
use FindBin;
use lib "$FindBin::RealBin/lib";
use CkptFlush;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $contrib = "$FindBin::RealBin/../contrib";
my $node = new_node('monitoring', conf => "checkpoint_timeout = 1h\n");
$node->safe_psql('postgres', 'CREATE ROLE exporter LOGIN IN ROLE pg_monitor; CHECKPOINT');
wait_for_history($node, 1);

# Columns of a query, as "name" => "type"; that it runs, and as that role, is a test.
sub columns
{
	my ($name, $query) = @_;
	$query =~ s/;?\s*\z//;
	my ($status, $out, $err) =
	  $node->psql('postgres', "$query;\n$query \\gdesc", extra_params => [ '-U', 'exporter', '-o', '/dev/null' ]);
	is($status . $err, '0', "$name: runs");
	$out = $node->safe_psql('postgres', "$query \\gdesc", extra_params => [ '-U', 'exporter' ]);
	return map { split /\|/, $_, 2 } split /\n/, $out;
}

sub yaml { return CPAN::Meta::YAML->read_string(slurp_file("$contrib/$_[0]"))->[0] }

# A value of a metric is a number, a label is not.
my $number = qr/^(?:bigint|integer|double precision)$/;

# sql_exporter: metrics name their values and labels, and a query by its name.
my %of_sql_exporter;
foreach my $file (qw(ckptflush.collector.yml ckptflush_advice.collector.yml))
{
	my $collector = yaml("sql_exporter/$file");
	like($collector->{collector_name}, qr/^ckptflush/, "$file: has a name");
	my %queries = map { $_->{query_name} => { columns($_->{query_name}, $_->{query}) } } @{ $collector->{queries} };
	foreach my $metric (@{ $collector->{metrics} })
	{
		my $columns = $queries{ $metric->{query_ref} };
		my @missing = grep { ($columns->{$_} // '') !~ $number } @{ $metric->{values} };
		push @missing, grep { ($columns->{$_} // '') ne 'text' } @{ $metric->{key_labels} // [] };
		is("@missing", '', "$metric->{metric_name}: its columns are there");
		ok(length $metric->{help} > 0, "$metric->{metric_name}: has a help") if !$metric->{help};
		$of_sql_exporter{ $metric->{metric_name} } =
		  join ' ', $metric->{type}, sort @{ $metric->{key_labels} // [] };
	}
}

# pg_exporter: a collector's columns are its query's.
my %of_pg_exporter;
my $collectors = yaml('pg_exporter/ckptflush.yml');
foreach my $name (sort keys %$collectors)
{
	my $collector = $collectors->{$name};
	my %columns = columns($name, $collector->{query});
	my %usage = map { my ($column) = keys %$_; ($column => $_->{$column}{usage}) } @{ $collector->{metrics} };
	is(join(' ', sort keys %usage), join(' ', sort keys %columns), "$name: has its query's columns");
	my @labels = sort grep { $usage{$_} eq 'LABEL' } keys %usage;
	foreach my $column (grep { $usage{$_} ne 'LABEL' } keys %usage)
	{
		$of_pg_exporter{"$collector->{name}_$column"} = join ' ', lc $usage{$column}, @labels;
	}
}
is_deeply(\%of_pg_exporter, \%of_sql_exporter, 'both exporters have the same metrics');
my @badly_named = grep { ($of_pg_exporter{$_} =~ /^counter/) != /_total$/ } keys %of_pg_exporter;
is("@badly_named", '', 'counters, and no gauges, end in _total');
is(join(' ', grep { /_(?:time|ms|milliseconds)\b/ } keys %of_pg_exporter), '', 'times are in seconds');

# The alert rules.
my $rules = slurp_file("$contrib/prometheus/ckptflush.rules.yml");
my @expressions = $rules =~ /^\s+expr: (.*(?:\n {10,}.*)*)/mg;
cmp_ok(scalar @expressions, '>', 5, 'alert rules');
my %used = map { $_ => 1 } map { /(ckptflush_\w+)/g } @expressions;
is(join(' ', grep { !$of_pg_exporter{$_} } sort keys %used), '', 'they know no other metrics');

# The dashboard: well formed, nothing overlaps, and each query has what a panel of its kind needs.
my $dashboard = decode_json(slurp_file("$contrib/grafana/ckptflush.json"));
ok($dashboard->{$_}, "dashboard: $_") for qw(title uid schemaVersion panels time templating);
my (%ids, %place);
foreach my $panel (@{ $dashboard->{panels} })
{
	my ($title, $at) = @$panel{qw(title gridPos)};
	ok(!$ids{ $panel->{id} }++, "$title: has an id of its own");
	my @cells = map {
		my $x = $_;
		map { "$x,$_" } $at->{y} .. $at->{y} + $at->{h} - 1
	} $at->{x} .. $at->{x} + $at->{w} - 1;
	ok($at->{x} + $at->{w} <= 24 && !(grep { $place{$_}++ } @cells), "$title: has a place of its own");
	is($panel->{datasource}{uid}, '${datasource}', "$title: of the server that was chosen");
	foreach my $target (@{ $panel->{targets} })
	{
		(my $query = $target->{rawSql}) =~ s/\$__timeFilter\((\w+)\)/$1 BETWEEN now() - interval '1 hour' AND now()/g;
		unlike($query, qr/\$/, "$title: no other macro");
		my %columns = columns($title, $query);
		next if $panel->{type} ne 'timeseries';
		is($columns{time}, 'timestamp with time zone', "$title: has the time");
		is(join(' ', grep { $_ ne 'time' && $columns{$_} !~ $number } keys %columns), '', "$title: and numbers");
	}
}

$node->stop;
done_testing();
