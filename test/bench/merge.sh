#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# merge.sh [LAUNCHES]: time and memory of merging a million launches (or so many) from 8 threads, 9
# call paths of 20 frames; and of harder recordings of the same size. The median of 5 runs.
set -u
: "${XPU_BUILD:?run it as: make bench}"
launches=${1:-1000000}
time=/usr/bin/time
[ -x $time ] || { echo "merge.sh: $time is missing (Debian: time)" >&2; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

median() {
	sort -n | sed -n 3p
}

# bench NAME OUTPUT GEN_ARGS...: prints seconds and MB; says so if not every launch is matched.
bench() {
	name=$1 output=$2
	shift 2
	"$XPU_BUILD/gen_data" -o bench.data --launches "$launches" --threads 8 "$@" || exit 1
	for _ in 1 2 3 4 5; do
		$time -f '%e %M' -a -o figures "$XPU_BUILD/xpumerge" -i bench.data -o "$output" \
			2>log || { cat log; exit 1; }
	done
	grep -q "launches $launches matched $launches unmatched 0 lost 0" log ||
		{ echo "$name: not all matched:"; cat log; exit 1; }
	printf '%-34s %9s s %7s MB  recording %5s MB, result %5s MB\n' "$name" \
		"$(cut -d' ' -f1 figures | median)" \
		"$(cut -d' ' -f2 figures | median | awk '{ print int($1 / 1024) }')" \
		"$(($(stat -c %s bench.data) / 1000000))" "$(($(stat -c %s "$output") / 1000000))"
	rm -f figures
}

echo "merging $launches launches, 8 threads, $(nproc) CPUs:"
bench "9 call paths" a.folded
bench "9 call paths, summary" a.txt
bench "9 call paths, timeline" a.json
bench "records of 200,000 in flight" a.folded --window 200000
bench "10,000 call paths of 60 frames" a.folded --paths 10000 --frames 60
bench "half of them copies" a.folded --memcpy-every 2
bench "records before their launches" a.folded --early --window 200000
