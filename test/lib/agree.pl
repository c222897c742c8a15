#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
#
# agree.pl NAMES NR FILE [DEBUG_FILE] - compares xpumerge's names of NR random addresses in the
# code of FILE with addr2line -fCi, outermost function. DEBUG_FILE has the symbols that were
# stripped from it.
#
# A rule must explain each difference from FILE's own symbol tables:
#	alias	both are names of one symbol
#	beyond	addr2line takes the last symbol before the address, although it has ended
#	plt	xpumerge names the PLT's entries
#	root	xpumerge names stripped functions at the root of stacks (roots.h)
#	nested	both functions cover the address; xpumerge's function is the inner one
#	clone	a part or copy of a function, such as f.cold, has the function's name in DWARF
# Prints a line of figures, up to 5 examples of each rule as comments, and fails on differences that
# no rule explains.
use strict;
use warnings;

my ($names, $nr, $file, $debug) = @ARGV;
srand(4711);

# The addresses are in executable sections, in proportion to the sections' sizes.
my (@sections, $total);
for (`readelf -SW '$file' 2>/dev/null`) {
	next unless /^\s*\[\s*\d+\]\s+(\S+)\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+
		([0-9a-f]+)\s+\S+\s+AX/x;
	push @sections, [hex $2, hex $3];
	$total += hex $3;
}
die "$file: no code\n" unless $total;
my %seen;
while (keys %seen < $nr && keys %seen < $total / 2) {
	my $at = int rand $total;
	for (@sections) {
		if ($at < $_->[1]) {
			$seen{sprintf '%x', $_->[0] + $at} = 1;
			last;
		}
		$at -= $_->[1];
	}
}
my @addr = sort { hex $a <=> hex $b } keys %seen;
open my $list, '>', 'addresses' or die;
print $list "$_\n" for @addr;
close $list or die;

my $dirs = $debug ? '' : "''";
chomp(my @ours = `$names '$file' $dirs < addresses`);
die "$file: $names gave " . @ours . " names for " . @addr . "\n" if @ours != @addr;

# addr2line -a prints the address to which the next functions belong.
my (@theirs, $at);
for (`addr2line -afCi -e '$file' < addresses 2>/dev/null`) {
	chomp;
	if (/^0x0*([0-9a-f]+)$/) {
		push @theirs, undef;
		$at = 0;
	} elsif ($at++ % 2 == 0) {
		$theirs[-1] = $_;
	}
}
die "$file: addr2line gave " . @theirs . " names\n" if @theirs != @addr;

# The symbols, with names demangled as addr2line does: [start, size, name].
my (@syms, %by_name);
for my $f ($file, $debug // ()) {
	for my $table ('', '-D') {
		for (`nm -CS $table --defined-only '$f' 2>/dev/null`) {
			my ($start, $size, $type, $name) =
				/^([0-9a-f]+) (?:([0-9a-f]+) )?(\S) (.*)$/ or next;
			next if $type =~ /[bBdDrRaAN]/;
			$name = plain($name);
			push @{$by_name{$name}}, [hex $start, hex($size // '0')];
		}
	}
}

sub plain {
	my $s = shift;
	$s =~ s/(?<=[^\s@])@@?[A-Z][A-Za-z0-9_.]*$//;	# a symbol version
	return $s;
}

my %roots = map { $_ => 1 } qw(_start clone3 start_thread __libc_start_call_main
	execute_native_thread_routine);

sub explain {
	my ($addr, $ours, $theirs) = @_;
	return 'plt' if $ours =~ /\@plt$/;
	my $clone = qr/\.(cold|part|constprop|isra|lto_priv|localalias)(\.\d+)?/;
	(my $whole = $ours) =~ s/( \[clone [^]]*\]|$clone)+$//;
	return 'clone' if $whole ne $ours && same_function($whole, $theirs);
	my $their = $by_name{$theirs} // [];
	my $our = $by_name{$ours} // [];
	my @covers = grep { $_->[0] <= $addr && ($addr < $_->[0] + $_->[1]) } @$their;
	return 'root' if $roots{$ours} && !@$our && !@covers;
	for my $o (@$our) {
		next unless $o->[0] <= $addr;
		return 'alias' if grep { $_->[0] == $o->[0] } @$their;
		return 'nested' if grep { $_->[0] < $o->[0] } @$their;
	}
	return 'beyond' if !@covers && ($ours eq '??' || @$our) &&
		grep { $_->[0] <= $addr } @$their;
	return '';
}

# Return: whether both are names of one function.
sub same_function {
	my ($one, $other) = @_;
	return 1 if $one eq $other;
	my %at = map { $_->[0] => 1 } @{$by_name{$one} // []};
	return scalar grep { $at{$_->[0]} } @{$by_name{$other} // []};
}

my ($agree, %nr, %examples, $unexplained) = (0, (), ());
for my $i (0 .. $#addr) {
	my ($ours, $theirs) = ($ours[$i], plain($theirs[$i]));
	if ($ours eq $theirs) {
		$agree++;
		next;
	}
	my $why = explain(hex $addr[$i], $ours, $theirs) || 'UNEXPLAINED';
	push @{$examples{$why}}, "0x$addr[$i] ours '$ours' addr2line '$theirs'" if $nr{$why}++ < 5;
}
my $bad = $nr{UNEXPLAINED} // 0;
my $differ = @addr - $agree;
printf "# %s: addresses %d agree %d differ %d explained %d (%s)\n", $file =~ s{.*/}{}r,
	scalar @addr, $agree, $differ, $differ - $bad,
	join(', ', map { "$_ $nr{$_}" } sort keys %nr) || 'none';
for my $why (sort keys %examples) {
	my $last = $why eq 'UNEXPLAINED' ? $#{$examples{$why}} : 0;
	print "#   $why: $_\n" for @{$examples{$why}}[0 .. $last];
}
exit($bad ? 1 : 0);
