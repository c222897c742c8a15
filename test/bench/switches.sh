#!/bin/sh
# SPDX-License-Identifier: MIT
# What a switch of the scheduler costs with --off-cpu: a million of them, interleaved runs, medians.
# Needs root.
[ "$(id -u)" = 0 ] || { echo "switches: not run: needs root"; exit 0; }
dir=$(mktemp -d) && cd "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
n=${1:-1000000}

for round in 1 2 3 4 5; do
	"$XPU_BUILD/bench/switches" "$n" >>bare
	for mode in cpu-only off-cpu; do
		more=
		[ $mode = off-cpu ] && more=--off-cpu
		"$XPU_BUILD/xpuload" -q --cpu-only $more -o $mode.data "$XPU_BUILD/bench/switches" \
			"$n" >>$mode 2>>log || { cat log; exit 1; }
	done
done
echo "a switch, median of 5 times $n, in ns:"
for mode in bare cpu-only off-cpu; do
	printf '  %-10s %6s\n' $mode "$(sort -n $mode | sed -n 3p)"
done
printf '  recording of %s switches: %s bytes\n' "$n" "$(wc -c <off-cpu.data)"
"$XPU_BUILD/xpumerge" -i off-cpu.data --table threads --csv 2>/dev/null | cut -d, -f1-3,9,12,15
