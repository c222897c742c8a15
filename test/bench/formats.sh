#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# formats.sh [LAUNCHES]: measures the time and memory that it takes to write five million (or
# LAUNCHES) launches in each format. Then measures timelines of as many launches, each with two API
# calls (--api).
. "$(dirname "$0")/lib.sh"
launches=${1:-5000000}

line() {
	printf '%14s %8s %8s %8s %9s\n' "$@"
}

write() {		# write FORMAT...: prints a line for each format of bench.data
	for format; do
		bytes=$($time -f '%e %U %S %M' -o figures "$XPU_BUILD/xpumerge" bench.data \
			-f "$format" 2>log | wc -c)
		grep -q "launches $launches matched $launches unmatched 0 lost 0" log ||
			{ cat log; exit 1; }
		# shellcheck disable=SC2046 # three words
		line "$format$with" $(awk '{ print $1, $2 + $3, int($4 / 1024) }' figures) \
			$((bytes / 1000000))
	done
}

with=
"$XPU_BUILD/gen_data" -o bench.data --launches "$launches" --threads 8 || exit 1
echo "writing $launches launches, a recording of $(($(stat -c %s \
	bench.data) / 1000000)) MB, in each format"
line format "wall s" "CPU s" "peak MB" "result MB"
write folded text pprof html chrome pftrace perf
with=", --api"
"$XPU_BUILD/gen_data" -o bench.data --launches "$launches" --threads 8 --api || exit 1
write chrome pftrace
