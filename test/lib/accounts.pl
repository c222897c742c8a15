#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# accounts.pl OUT CSV FOLDED: compares what test/workload/shares measured itself (OUT) with the table of
# threads that xpumerge made (CSV) and the call paths (FOLDED, in ns). A line for each thread; what is
# off says WRONG.
#
# A share may be 5 % off, or 3 ms: on a busy machine the thread's own clock runs on while it waits for a
# CPU, within what it measures. So the wall time of a phase is a bound from above, and the time that the
# program asked for one from below.
use strict;
use warnings;

my ($out, $csv, $folded) = @ARGV;
my %asked = (sleep => 200e6, lock => 150e6, read => 100e6, gpu => 250e6);
my (%threads, %path_ns);

open my $f, '<', $csv or die "$csv: $!";
chomp(my $head = <$f>);
my @keys = split /,/, $head;
while (<$f>) {
	chomp;
	my @cells = split /,/;
	my %row = map { $keys[$_] => $cells[$_] } 0 .. $#keys;
	$threads{$row{tid}} = \%row;
}
open $f, '<', $folded or die "$folded: $!";
while (<$f>) {
	$path_ns{$1} += $2 if /^(shares-\d+);.*\[GPU_Wait\].* (\d+)$/;
}
open $f, '<', $out or die "$out: $!";
while (<$f>) {
	my ($name, $tid, @rest) = split;
	next unless $name =~ /^shares-/;
	my (%wall, %cpu, @wrong);
	while (my ($phase, $wall, $cpu) = splice @rest, 0, 3) {
		($wall{$phase}, $cpu{$phase}) = ($wall, $cpu);
	}
	my $row = $threads{$tid} or do { print "thread $name WRONG: not in the table\n"; next };
	my %got = (sleep => $row->{sleep_ns}, lock => $row->{lock_ns}, read => $row->{io_ns},
		   gpu => $row->{gpu_wait_ns});
	for my $what (sort keys %got) {
		my ($low, $high) = ($asked{$what} * 0.95, $wall{$what} * 1.05 + 3e6);
		# It begins at a barrier and waits for its partner, too.
		$high += $wall{life} - $wall{spin} - $wall{sleep} - $wall{lock} - $wall{read} -
			$wall{gpu} if $what eq 'lock';
		push @wrong, "$what $got{$what} not in $low..$high"
			if $got{$what} < $low || $got{$what} > $high;
	}
	# What it computes, and some of what it does around waiting.
	my $low = $cpu{spin} * 0.95;
	my $high = $cpu{life} * 1.05 + 3e6;
	push @wrong, "on CPU $row->{on_cpu_ns} not in $low..$high"
		if $row->{on_cpu_ns} < $low || $row->{on_cpu_ns} > $high;
	my $sum = 0;
	$sum += $row->{$_} for qw(on_cpu_ns lock_ns io_ns sleep_ns poll_ns child_ns other_ns
				  runnable_ns gpu_wait_ns);
	push @wrong, "sum $sum of $row->{life_ns}"
		if abs($sum - $row->{life_ns}) > 0.02 * $row->{life_ns};
	push @wrong, "life $row->{life_ns}, $wall{life} measured"
		if abs($row->{life_ns} - $wall{life}) > 0.02 * $wall{life} + 20e6;
	push @wrong, "paths of waiting $path_ns{$name}"
		if abs($path_ns{$name} - $row->{gpu_wait_ns}) > 1e6;
	printf "thread %s on-CPU %.1f sleep %.1f lock %.1f read %.1f GPU %.1f runnable %.1f sum %.2f %%%s\n",
		$name, (map { $_ / 1e6 } @$row{qw(on_cpu_ns sleep_ns lock_ns io_ns gpu_wait_ns runnable_ns)}),
		100 * $sum / $row->{life_ns}, @wrong ? " WRONG: @wrong" : '';
}
