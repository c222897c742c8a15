#!/bin/sh
# SPDX-License-Identifier: MIT
# Takes CPU samples of one program with xpuload and with perf record, in turns. Prints the shares
# and costs of both. Needs root, perf, perl. XPU_ROUNDS=N (9) rounds, HZ=N (99) samples a second.
#
# The program's parts take equal times under any profiler, so both profilers should report equal
# shares. The program's own CPU time, with the time that profiling adds, shows what each profiler
# costs.
set -eu
: "${XPU_SRC:?run it as: make bench}" "${XPU_BUILD:?}"
rounds=${XPU_ROUNDS:-9} hz=${HZ:-99}
cpu=$XPU_BUILD/workload/parts
command -v perf >/dev/null || { echo "bench cpu: NOT RUN: no perf (Debian: linux-perf)"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "bench cpu: NOT RUN: not root"; exit 0; }
perf record -q -o /dev/null true 2>/dev/null ||
	{ echo "bench cpu: NOT RUN: perf does not work here"; exit 0; }
cd "$(mktemp -d)"

fold_perf() {		# prints the stacks of perf script, innermost frame last, with counts
	perf script -i "$1" -F comm,ip,sym 2>/dev/null | perl -ne '
		if (/^\S/) { @frames = () }
		elsif (/^\s+[0-9a-f]+ (.*)$/) { my $f = $1; $f =~ s/\+0x[0-9a-f]+$//;
		unshift @frames, $f }
		elsif (@frames) { $n{join ";", @frames}++; @frames = () }
		END { $n{join ";", @frames}++ if @frames; print "$_ $n{$_}\n" for keys %n }'
}

# shellcheck disable=SC2120 # a filter, too
# Adds up self time by function (the innermost frame), under the name that both tools print.
self() {
	perl -ne '/^(.*) (\d+)$/ or next; my ($p, $n) = ($1, $2); my $f = (split /;/, $p)[-1];
		$f =~ s/_\[k\]$//; $f =~ s/@.*//; $s{$f} += $n;
		END { print "$_\t$s{$_}\n" for keys %s }' "$@"
}

us() {			# the program prints its CPU time; the tools write to stderr
	"$@" 2>/dev/null
}

bare() { us "$cpu"; }
perf_fp() { us perf record -q -F "$hz" -g -o perf.data "$cpu"; }
perf_dwarf() { us perf record -q -F "$hz" --call-graph dwarf -o dwarf.data "$cpu"; }
xpu_fp() { us "$XPU_BUILD/xpuload" -q --cpu-only -F "$hz" --call-graph fp -o fp.data "$cpu"; }
xpu_dwarf() { us "$XPU_BUILD/xpuload" -q --cpu-only -F "$hz" -o x.data "$cpu"; }

ways="bare perf_fp perf_dwarf xpu_fp xpu_dwarf"
: >perf.self
: >xpu.self
for round in $(seq "$rounds"); do
	for way in $ways; do
		echo "$($way)" >>"$way.us"
		[ "$way" = bare ] || stat -c %s "$(case $way in perf_fp) echo perf.data ;;
			perf_dwarf) echo dwarf.data ;; xpu_fp) echo fp.data ;; *) echo x.data ;;
			esac)" \
			>>"$way.bytes"
	done
	fold_perf perf.data | self >>perf.self
	"$XPU_BUILD/xpumerge" -i fp.data -f folded --unit samples 2>/dev/null | self >>xpu.self
done

perl -e '
	my ($hz, $rounds) = (shift, shift);
	sub sums { my %s; open my $f, "<", $_[0];
	while (<$f>) { /^(.*)\t(\d+)$/ and $s{$1} += $2 } %s }
	my %p = sums("perf.self"); my %x = sums("xpu.self");
	my ($np, $nx) = (0, 0); $np += $_ for values %p; $nx += $_ for values %x;
	printf "samples: perf %d, xpuload %d, over %d rounds at %d Hz\n", $np, $nx, $rounds, $hz;
	printf "%-28s %8s %8s %7s\n", "function (self)", "perf %", "xpu %", "sigmas";
	my ($bad, $i) = (0, 0);
	for my $f (sort { $p{$b} <=> $p{$a} } keys %p) {
		last if $i++ == 20;
		my ($a, $b) = ($p{$f} / $np, ($x{$f} // 0) / $nx);
		my $q = ($p{$f} + ($x{$f} // 0)) / ($np + $nx);
		my $sd = sqrt($q * (1 - $q) * (1 / $np + 1 / $nx)) || 1;
		my $z = ($b - $a) / $sd;
		# In one of twenty runs, chance alone puts one of the twenty functions above 3.
		$bad++ if abs($z) > 3;
		printf "%-28.28s %8.2f %8.2f %7.1f\n", $f, 100 * $a, 100 * $b, $z;
	}
	print "top 20: ", $bad > 1 ? "DIFFER" : "agree within sampling error", "\n";
	sub column { open my $f, "<", $_[0] or return (); my @v = <$f>; chomp @v; @v }
	my @bare = column("bare.us");
	sub median { my @v = sort { $a <=> $b } @_; $v[@v / 2] }
	printf "%-12s %10s %18s %14s\n", "", "CPU ms", "paired with bare", "bytes";
	for my $way (qw(bare perf_fp perf_dwarf xpu_fp xpu_dwarf)) {
		my @v = column("$way.us");
		my @ratio = map { $v[$_] / $bare[$_] } 0 .. $#v;
		my @bytes = column("$way.bytes");
		printf "%-12s %10.1f %17.4fx %14s\n", $way, median(@v) / 1000, median(@ratio),
			@bytes ? median(@bytes) : "-";
	}
	exit($bad > 1);' "$hz" "$rounds"
