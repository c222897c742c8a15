#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# merge.sh [LAUNCHES...]: measures the time and memory of merging LAUNCHES launches (1, 10 and 30
# million) to folded stacks. The launches are of 8 threads, from 9 call paths of 20 frames. Prints
# medians of 3 runs, for each order of the records:
#
#	near		a record is at most 64 launches behind
#	fifo		200,000 launches in flight, records in about launch order
#	random		200,000 in flight, records in any order
#	records first	200,000 in flight, and records come before their launches
#	by thread	launches come in runs of 4,096 of one thread, as threads send their logs
#
# The recordings consist of blocks, as xpuload writes them; "plain" recordings have no blocks, as
# before version 2. "ns each" is the CPU time per launch. "x linear" is this time, divided by the
# CPU time per launch of the run with the fewest launches. Then merge.sh measures other recordings
# and output formats, with the fewest launches.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 1000000 10000000 30000000

line() {
	printf '%10s %-30s %8s %8s %8s %8s %8s %8s\n' "$@"
}

# bench NAME LAUNCHES OUTPUT GEN_ARGS...: prints a line of figures. If some launch is not matched,
# prints xpumerge's messages and ends.
bench() {
	name=$1 launches=$2 output=$3
	shift 3
	"$XPU_BUILD/gen_data" -o bench.data --launches "$launches" --threads 8 --blocks 262144 \
		"$@" ||
		exit 1
	rm -f figures
	for _ in 1 2 3; do
		$time -f '%e %U %S %M' -a -o figures "$XPU_BUILD/xpumerge" -i bench.data \
			-o "$output" 2>log || { cat log; exit 1; }
	done
	grep -q "launches $launches matched $launches unmatched 0 lost 0" log ||
		{ echo "$name: not all matched:"; cat log; exit 1; }
	seconds=$(cut -d' ' -f1 figures | sort -n | sed -n 2p)
	cpu=$(awk '{ printf "%.2f\n", $2 + $3 }' figures | sort -n | sed -n 2p)
	each=$(echo "$cpu $launches" | awk '{ printf "%.0f", $1 * 1e9 / $2 }')
	[ -n "$first" ] || first=$each
	line "$launches" "$name" "$seconds" "$cpu" "$each" \
		"$(cut -d' ' -f4 figures | sort -n | awk 'NR == 2 { print int($1 / 1024) }')" \
		"$(echo "$each $first" | awk '{ printf "%.2f", $1 / $2 }')" \
		"$(($(stat -c %s bench.data) / 1000000))"
	rm -f bench.data "$output"
}

each_size() {		# each_size NAME SIZES GEN_ARGS...
	name=$1 sizes=$2 first=
	shift 2
	for size in $sizes; do
		bench "$name" "$size" a.folded "$@"
	done
}

echo "merging, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs"
line launches order "wall s" "CPU s" "ns each" "peak MB" "x linear" "input MB"
each_size near "$*"
each_size "near, plain" "$*" --blocks 0
each_size fifo "$*" --window 200000 --jitter 64
each_size random "$*" --window 200000
each_size "records first" "$*" --window 200000 --early
each_size "by thread" "$*" --window 20000 --thread-batch 4096
least=$1
other() {		# other NAME OUTPUT GEN_ARGS...
	name=$1 output=$2 first=
	shift 2
	bench "$name" "$least" "$output" "$@"
}
other "near, summary" a.txt
other "near, timeline" a.json
other "10,000 call paths of 60 frames" a.folded --paths 10000 --frames 60
other "half of them copies" a.folded --memcpy-every 2
