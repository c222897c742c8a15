#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# accounts.pl OUT CSV FOLDED: compares the measurements of test/workload/shares (OUT) with
# xpumerge's table of threads (CSV) and with the call paths (FOLDED, in ns). Prints a line for each
# thread, with WRONG for each figure that differs too much.
#
# A share may be off by 5 %, or by 3 ms. On a busy machine a thread waits for a CPU during the times
# that it measures, so the program asks the Linux kernel how long the thread was blocked. The wait
# for the device is at most as long as its phase. It is at least as long as the thread was blocked
# or, if the thread spins, as the GPU ran after the launch.
use strict;
use warnings;

my ($out, $csv, $folded) = @ARGV;
my $gpu_work = 250e6;
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
	$path_ns{$1} += $2 if /^\[waits\];(shares-\d+);.*\[GPU_Wait\].* (\d+)$/;
}
open $f, '<', $out or die "$out: $!";
while (<$f>) {
	my ($name, $tid, @rest) = split;
	next unless $name =~ /^shares-/;
	my (%wall, %cpu, %blocked, @wrong);
	while (my ($phase, $wall, $cpu, $blocked) = splice @rest, 0, 4) {
		($wall{$phase}, $cpu{$phase}, $blocked{$phase}) = ($wall, $cpu, $blocked);
	}
	my $row = $threads{$tid} or do { print "thread $name WRONG: not in the table\n"; next };
	my %got = (sleep => $row->{sleep_ns}, lock => $row->{lock_ns}, read => $row->{io_ns},
		   gpu => $row->{gpu_wait_ns});
	# The phase begins at a barrier, where it also waits for its partner.
	$blocked{lock} = $blocked{life};
	$blocked{lock} -= $blocked{$_} for qw(spin sleep read gpu);
	for my $what (sort keys %got) {
		my ($low, $high) = ($blocked{$what} * 0.95 - 3e6, $blocked{$what} * 1.05 + 3e6);
		if ($what eq 'gpu') {
			my $left = ($gpu_work - $wall{launch}) * 0.95 - 3e6;
			($low, $high) = ($left > $low ? $left : $low, $wall{gpu} * 1.05 + 3e6);
		}
		push @wrong, "$what $got{$what} not in $low..$high"
			if $got{$what} < $low || $got{$what} > $high;
	}
	# CPU time includes the computing phase, and some work around the waits.
	my $low = $cpu{spin} * 0.95;
	my $high = $cpu{life} * 1.05 + 3e6;
	push @wrong, "on CPU $row->{on_cpu_ns} not in $low..$high"
		if $row->{on_cpu_ns} < $low || $row->{on_cpu_ns} > $high;
	my $sum = 0;
	$sum += $row->{$_} for qw(on_cpu_ns lock_ns io_ns sleep_ns poll_ns child_ns other_ns
				  runnable_ns gpu_wait_ns);
	push @wrong, "sum $sum of $row->{life_ns}"
		if abs($sum - $row->{life_ns}) > 0.02 * $row->{life_ns};
	push @wrong, "life $row->{life_ns} not in $wall{life}..$wall{whole}"
		if $row->{life_ns} < $wall{life} - 1e6 || $row->{life_ns} > $wall{whole} + 1e6;
	push @wrong, "paths of waiting $path_ns{$name}"
		if abs($path_ns{$name} - $row->{gpu_wait_ns}) > 1e6;
	my @keys = qw(on_cpu_ns sleep_ns lock_ns io_ns gpu_wait_ns runnable_ns);
	printf "thread %s on-CPU %.1f sleep %.1f lock %.1f read %.1f GPU %.1f runnable %.1f " .
		"sum %.2f %%%s\n", $name, (map { $_ / 1e6 } @$row{@keys}),
		100 * $sum / $row->{life_ns}, @wrong ? " WRONG: @wrong" : '';
}
