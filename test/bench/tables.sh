#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tables.sh [RANKS [LAUNCHES]]: measures the tables of RANKS ranks (50) with LAUNCHES launches each
# (100,000): how fast xpumerge writes them, their size on disk, and how long each recipe of
# scripts/sql/ takes in DuckDB on all of them. Each recording is made, turned into tables and
# removed before the next one; 1000 ranks take 2 GB of disk. DuckDB comes with make check-formats.
# DIR=... keeps the tables in that directory.
. "$(dirname "$0")/lib.sh"
ranks=${1:-50} launches=${2:-100000} to=${DIR:-$dir/tables}

echo "tables of $ranks ranks x $launches launches, $(sed -n 's/^model name.*: //p' /proc/cpuinfo |
	head -n 1), $(nproc) CPUs"
rank=0
while [ "$rank" -lt "$ranks" ]; do
	slow=0
	[ $((rank % 97)) != 13 ] || slow=30
	"$XPU_BUILD/gen_data" -o rank.data --rank $rank --pid $((1000 + 10 * rank)) \
		--seed $((rank + 1)) --launches "$launches" \
		--threads 4 --paths 60 --frames 30 --memcpy-every 9 --nccl-every 10 \
		--samples-every 100 --off-every 100 --noise 700 \
		--pause-every 200 --slow $slow --blocks 262144 || exit 1
	$time -f '%e %U %S %M' -a -o figures "$XPU_BUILD/xpumerge" rank.data -o "$to/" 2>log ||
		{ cat log; exit 1; }
	grep -q "launches $launches matched $launches unmatched 0 lost 0" log ||
		{ cat log; exit 1; }
	stat -c %s rank.data >>sizes
	rank=$((rank + 1))
done
bytes() {		# bytes TABLE...: prints the size of all files of these tables
	for table; do
		find "$to/$table" -name '*.parquet' -printf '%s\n'
	done | awk '{ n += $1 } END { printf "%.0f", n }'
}
awk -v launches="$launches" '{ cpu += $2 + $3; wall += $1; if ($4 > peak) peak = $4 } END {
	printf "written: %.1f s of CPU, %.1f s: " \
		"%.2f million launches a second of a core; peak %d MB\n",
		cpu, wall, launches * NR / cpu / 1e6, peak / 1024 }' figures
echo "$(bytes launches device) $(bytes launches device paths frames processes ranges calls samples \
	waits allocations metrics losses) $(awk '
	{ n += $1 } END { printf "%.0f", n }' sizes)" | awk -v n=$((ranks * launches)) '{
	printf "disk: %.1f bytes a launch for launches and device, %.1f for all tables; ",
		$1 / n, $2 / n
	printf "the recordings had %.1f\n", $3 / n }'
modules=${NODE_PATH:-$XPU_BUILD/formats/node_modules}
if [ ! -d "$modules/@duckdb" ]; then
	echo "recipes: not run, there is no DuckDB: make check-formats T=test/formats/sql.sh gets" \
		"it"
	exit 0
fi
# Memory events: every rank gets a copy of the tables of one recording.
"$XPU_BUILD/bench/memory" memory.data "$launches" >/dev/null &&
	"$XPU_BUILD/xpumerge" memory.data -o "$dir/memory/" 2>log || {
	cat log
	exit 1
}
rank=0
while [ "$rank" -lt "$ranks" ]; do
	for table in allocations paths; do
		mkdir -p "$dir/memories/$table/rank=$rank"
		cp "$dir"/memory/$table/*/*.parquet "$dir/memories/$table/rank=$rank/"
	done
	rank=$((rank + 1))
done
cp -r "$dir"/memory/* "$dir/memories/"
NODE_PATH=$modules node "$XPU_SRC/test/bench/tables.js" "$to" &&
	NODE_PATH=$modules node "$XPU_SRC/test/bench/tables.js" "$dir/memories" memory
