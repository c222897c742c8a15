#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# windows.pl XPUMERGE RECORDING TRUTH WINDOW...: compares the off-CPU time in windows (FROM-TO, in s
# since the recording began) with TRUTH, the output of test/workload/blocks. Prints a table window |
# truth | xpumerge | error for each thread.
#
# In each wait that it measures, a thread also runs for some us, or longer if an interrupt comes or
# the machine is busy. So the sum of a thread's windows may differ by 5 %, and a single window by 1
# % of its share of the sum, or by 20 us. A sum of short waits covers up to 10 ms, so in a window of
# less than 100 ms the edges may cost up to 1 ms. A result is also right if it is between the waits
# with and without the thread's own CPU time in them, or within 0.5 % of that. Adjacent windows must
# add up to the whole, to the ns. Otherwise the line says WRONG.
use strict;
use warnings;

my ($xpumerge, $recording, $truth, @windows) = @ARGV;
my ($start) = `$xpumerge dump $recording` =~ /^0 .* HEADER .*start_mono_ns=(\d+)/ or die "no start";
my %spans;
open my $f, '<', $truth or die "$truth: $!";
while (<$f>) {
	my ($name, $begin, $stop, $cpu) = split;
	push @{$spans{$name}}, [$begin - $start, $stop - $start, $cpu];
}

# Returns the off-CPU time in waits, by thread.
sub merged {
	my %ns;
	open my $m, '-|', "$xpumerge -i $recording --cpu-only --waits " .
		"-f folded --unit ns @_ 2>/dev/null"
		or die;
	while (<$m>) {
		$ns{$1} += $2 if /^\[waits\];([^;]*);.*(?:nanosleep|mutex|futex).*
				  \[Off_CPU\].*\ (\d+)$/x;
	}
	close $m;
	return \%ns;
}

# Returns how long the waits lasted, and the CPU time in them.
sub true_ns {
	my ($name, $from, $to) = @_;
	my ($sum, $cpu_ns) = (0, 0);
	for my $span (@{$spans{$name}}) {
		my ($begin, $stop, $cpu) = @$span;
		my $a = $begin > $from ? $begin : $from;
		my $b = $stop < $to ? $stop : $to;
		next if $b <= $a;
		$sum += $b - $a;
		$cpu_ns += $cpu < $b - $a ? $cpu : $b - $a;
	}
	return ($sum, $cpu_ns);
}

sub is_between {
	my ($ns, $wall, $cpu) = @_;
	return $ns >= ($wall - $cpu) * 0.995 && $ns <= $wall * 1.005;
}

my $whole = merged();
my (%got, %sums, %within, %true_within, %cpu_within);
for my $window (@windows) {
	my ($from, $to) = split /-/, $window;
	my $got = $got{$window} = merged($to eq 'end' ? "--from $from" : "--from $from --to $to");
	for my $name (keys %spans) {
		$sums{$name} += $got->{$name} // 0;
		# The thread begins before its first line and ends after its last one, so the outer
		# windows are skipped.
		next if $from == 0 || $to eq 'end';
		$within{$name} += $got->{$name} // 0;
		my ($wall, $cpu) = true_ns($name, $from * 1e9, $to * 1e9);
		$true_within{$name} += $wall;
		$cpu_within{$name} += $cpu;
	}
}
for my $name (sort keys %spans) {
	my $scale = $within{$name} / $true_within{$name};
	for my $window (@windows) {
		my ($from, $to) = split /-/, $window;
		next if $from == 0 || $to eq 'end';
		my ($wall, $cpu) = true_ns($name, $from * 1e9, $to * 1e9);
		my $true = $wall * $scale;
		my $ns = $got{$window}{$name} // 0;
		my $bound = $true * 0.01 > 20e3 ? $true * 0.01 : 20e3;
		$bound = 1e6 if $to - $from < 0.0999;
		my $right = abs($ns - $true) <= $bound || is_between($ns, $wall, $cpu);
		printf "%-8s %-9s | %12.3f ms | %12.3f ms | %8.3f %%%s\n", $name, $window,
			$true / 1e6, $ns / 1e6, $true ? 100 * ($ns - $true) / $true : 0,
			$right ? '' : ' WRONG';
	}
	printf "%-8s all       | %12.3f ms | %12.3f ms | %8.3f %% sum %s%s\n", $name,
		$true_within{$name} / 1e6, $within{$name} / 1e6, 100 * ($scale - 1),
		$sums{$name} == ($whole->{$name} // 0) ? 'exact' :
			"WRONG: $sums{$name} of $whole->{$name} ns",
		abs($scale - 1) <= 0.05 ||
			is_between($within{$name}, $true_within{$name}, $cpu_within{$name}) ? '' :
			' WRONG';
}
