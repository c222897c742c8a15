#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ranks.sh [FILES...]: measures merging FILES recordings (1, 2, 4, 8, 16), as if each were a rank of
# a job. Each recording has 500,000 launches of 8 threads, from the same 10,000 call paths of 30
# frames. Prints medians of 3 runs; "x one" is the ratio to one recording.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 1 2 4 8 16

for size; do :; done
for i in $(seq 1 "$size"); do
	"$XPU_BUILD/gen_data" -o "rank$i.data" --launches 500000 --threads 8 --blocks 262144 \
		--paths 10000 --frames 30 || exit 1
done
echo "merging recordings of ranks, $(stat -c %s rank1.data |
	awk '{ printf "%.1f", $1 / 1e6 }') MB each"
printf '%8s %8s %8s %8s %8s %8s %8s  %s\n' files "wall s" "CPU s" "x one" "peak MB" "x one" \
	"result" arguments
for args in "-f folded" "-f pprof" "-f text"; do
	cpu1='' mb1=''
	for nr; do
		rm -f figures
		for _ in 1 2 3; do
			# shellcheck disable=SC2046,SC2086 # several arguments
			$time -f '%e %U %S %M' -a -o figures "$XPU_BUILD/xpumerge" \
				$(seq -f 'rank%g.data' 1 "$nr") $args -o out \
				2>log || { cat log; exit 1; }
		done
		grep -q "launches $((nr * 500000)) matched $((nr * 500000)) unmatched 0 lost 0" \
			log || { cat log; exit 1; }
		cpu=$(awk '{ printf "%.2f\n", $2 + $3 }' figures | sort -n | sed -n 2p)
		mb=$(cut -d ' ' -f 4 figures | sort -n | awk 'NR == 2 { printf "%.1f", $1 / 1024 }')
		[ -n "$cpu1" ] || cpu1=$cpu mb1=$mb
		printf '%8s %8s %8s %8s %8s %8s %8s  %s\n' "$nr" \
			"$(cut -d ' ' -f 1 figures | sort -n | sed -n 2p)" "$cpu" \
			"$(echo "$cpu $cpu1" | awk '{ printf "%.2f", $1 / $2 }')" "$mb" \
			"$(echo "$mb $mb1" | awk '{ printf "%.2f", $1 / $2 }')" \
			"$(stat -c %s out | awk '{ printf "%.1f", $1 / 1e6 }')" "$args"
	done
done
