#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# formats.sh [LAUNCHES]: time and memory of writing five million launches (or so many) in each format.
set -u
: "${XPU_BUILD:?run it as: make bench}"
launches=${1:-5000000}
time=/usr/bin/time
[ -x $time ] || { echo "formats.sh: $time is missing (Debian: time)" >&2; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
"$XPU_BUILD/gen_data" -o bench.data --launches "$launches" --threads 8 || exit 1
echo "writing $launches launches, recording of $(($(stat -c %s bench.data) / 1000000)) MB:"
for format in folded text pprof html chrome pftrace perf; do
	bytes=$($time -f '%e s elapsed, %U s user, %S s system, %M' -o figures \
		"$XPU_BUILD/xpumerge" bench.data -f $format 2>log | wc -c)
	grep -q "launches $launches matched $launches unmatched 0 lost 0" log || { cat log; exit 1; }
	printf '%-8s %s' $format "$(sed 's/, \([0-9]*\)$/, &/; s/, , / /' figures)" |
		awk -v mb=$((bytes / 1000000)) '{ kb = $NF; sub(/ [0-9]+$/, "")
			printf "%s, %d MB memory, result %d MB\n", $0, kb / 1024, mb }'
done
