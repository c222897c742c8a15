#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures the cost of a context switch with --off-cpu: a million switches between two threads, and
# a tenth as many between two Python programs, each 30 functions deep. Runs take turns. Prints the
# medians of the time per switch, and of its difference to the bare run of the same round. Needs
# root.
# XPU_BEFORE=DIR: also measures the xpuload in DIR. PYTHON=python3
[ "$(id -u)" = 0 ] || { echo "switches: not run: needs root"; exit 0; }
dir=$(mktemp -d) && cd "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
n=${1:-1000000} python=${PYTHON:-python3}

record() {		# record OUT DIR OPTION...: appends the program's output to OUT
	out=$1 tool=$2/xpuload
	shift 2
	"$tool" -q --cpu-only "$@" >>"$out" 2>>log || { cat log; exit 1; }
}

round() {		# round NAME PROGRAM ARG...: runs it bare and with each recorder
	name=$1
	shift
	"$@" >>"$name.bare"
	record "$name.cpu-only" "$XPU_BUILD" -o x.data "$@"
	record "$name.off-cpu" "$XPU_BUILD" --off-cpu -o "$name.data" "$@"
	[ -z "${XPU_BEFORE:-}" ] ||
		record "$name.off-cpu-before" "$XPU_BEFORE" --off-cpu -o x.data "$@"
}

for _ in 1 2 3 4 5; do
	round native "$XPU_BUILD/bench/switches" "$n"
	round python "$python" "$XPU_SRC/test/bench/switches.py" $((n / 10))
done
echo "a switch, ns, medians of 5:           all   more than bare"
for name in native python; do
	for mode in bare cpu-only off-cpu off-cpu-before; do
		[ -e $name.$mode ] || continue
		printf '  %-30s %10s %16s\n' "$name $mode" "$(sort -n $name.$mode | sed -n 3p)" \
			"$(paste $name.$mode $name.bare | awk '{ print $1 - $2 }' | sort -n |
			sed -n 3p)"
	done
	printf '  %s: recording %s bytes\n' $name "$(wc -c <$name.data)"
	"$XPU_BUILD/xpumerge" -i $name.data --table threads --csv 2>/dev/null |
		cut -d, -f1-4,9,12,15
done
