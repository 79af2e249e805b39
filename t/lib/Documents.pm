# The fenced code blocks of a document, and which of them a test is to run.
#
# A block says in which language it is:
#   sql      statements for psql
#   sh       commands for a shell
#   console  a session of psql: the statements after "postgres=# ", and what they gave; the columns are
#            compared, the values are not
#   conf     lines of postgresql.conf
#   text, yaml, rust   nothing to run
# A comment of HTML before it says what is special:
#   <!-- not run: REASON -->            "not run here: REASON" if something else runs it. Of sql what
#                                       is between $$ is run all the same
#   <!-- runs until it is stopped -->   each line is a command that does not end by itself
package Documents;
use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(blocks_of statements_of columns_of);

# References to hashes: name (file and line), language, mark (or undef), text.
sub blocks_of
{
	my ($directory, $file) = @_;
	my @lines = split /\n/, slurp_file("$directory/$file");
	my (@blocks, $block, $indent);
	foreach my $number (1 .. @lines)
	{
		my $line = $lines[ $number - 1 ];
		if ($block && $line =~ /^\s*```\s*$/)
		{
			push @blocks, $block;
			undef $block;
		}
		elsif ($block)
		{
			$block->{text} .= $line =~ s/^ {0,$indent}//r . "\n";
		}
		elsif ($line =~ /^( *)```(\w*)$/)
		{
			($indent, my $language) = (length $1, $2);
			my ($mark) = $number > 1 ? $lines[ $number - 2 ] =~ /^\s*<!-- (.*) -->$/ : ();
			$block = { name => "$file:$number", language => $language, mark => $mark, text => '' };
		}
	}
	die "$file: a block of code does not end\n" if $block;
	return @blocks;
}

# References to pairs of a statement of a console block and the text that follows it.
sub statements_of
{
	my ($text) = @_;
	my @statements;
	while ($text =~ /^\w+=[#>] (.*?);\n(.*?)(?=^\w+=[#>] |\z)/msg)
	{
		push @statements, [ $1, $2 ];
	}
	return @statements;
}

# The names of the columns of what psql has printed, aligned or expanded, in their order.
sub columns_of
{
	my ($output) = @_;
	return $output =~ /^(\w+)\s*\|/mg if $output =~ /^-\[ RECORD/;
	my ($header) = split /\n/, $output;
	return map { s/^\s+|\s+$//gr } split /\|/, $header // '';
}

1;
