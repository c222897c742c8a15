#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# memory.sh [EVENTS...]: measures the time and memory that xpumerge needs to find the holders of
# memory at the peak. The recordings have EVENTS memory events (1 and 10 million; 50000000 takes
# half a minute more), with 2,000 and with 200,000 live blocks. "ns each" is CPU time per event, and
# "bytes each" is the size of the recording per event.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 1000000 10000000

printf '%10s %8s %8s %8s %8s %8s %10s %8s\n' events live "wall s" "CPU s" "ns each" "peak MB" \
	"bytes each" wrong
bench() {		# bench EVENTS LIVE
	truth=$("$XPU_BUILD/bench/memory" bench.data "$1" "$2") || exit 1
	$time -f '%e %U %S %M' -o figures "$XPU_BUILD/xpumerge" -i bench.data --memory peak \
		-f folded -o bench.folded 2>log || { cat log; exit 1; }
	grep -q 'events of memory' log && { cat log; exit 1; }
	got=$(grep '\]block' bench.folded | awk '{ t += $NF } END { printf "%.0f", t }')
	left=$("$XPU_BUILD/xpumerge" -i bench.data --memory leaked -f folded 2>/dev/null |
		grep '\]block' | awk '{ t += $NF } END { printf "%.0f", t }')
	wrong=0
	[ "peak $got left $left" = "${truth%% bytes*}" ] || wrong=1
	awk -v nr="$1" -v live="$2" -v bytes="${truth##* }" -v wrong=$wrong '{ printf \
		"%10d %8d %8.2f %8.2f %8.0f %8.0f %10.1f %8d\n", nr, live, $1, $2 + $3,
		($2 + $3) * 1e9 / nr, $4 / 1024, bytes / nr, wrong }' figures
	rm -f bench.data bench.folded
}
for live in 2000 200000; do
	for nr; do
		bench "$nr" $live
	done
done
