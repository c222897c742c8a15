#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables in DuckDB, hyparquet and parquet-wasm: all three agree on every value.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"
need root bpf shim
use_sim

gen=$XPU_BUILD/gen_data

"$gen" --launches 150000 --paths 300 --threads 8 --procs 2 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 7 -o many.data
"$gen" --launches 3000 --threads 4 --lose-record 9 --lose-launch 11 --early --api -o lossy.data
odd_names >names
"$gen" --launches 2000 --paths 40 --threads 30 --names names --name-all --map "$PWD/odd.so" \
	-o odd.data
cp "$(find "$XPU_SRC/test/t1/corpus" -name '*.xpu' | LC_ALL=C sort | tail -n 1)" corpus.data
xpuload -q --api --off-cpu -F 999 -o live/ "$XPU_BUILD/workload/demo" \
	-s 0.5 >/dev/null 2>load.log ||
	{ cat load.log; echo "Bail out! cannot record"; exit 1; }
for name in many lossy odd corpus; do
	xpumerge $name.data -o $name/ 2>$name.log || [ $? = 1 ] || { cat $name.log; exit 1; }
done
find many lossy odd corpus live -name '*.parquet' | while read -r file; do
	"$XPU_BUILD/unparquet" "$file" >"$file.tsv" || echo "$file" >>unreadable
done
[ -e unreadable ] && { echo "Bail out! $(cat unreadable)"; exit 1; }

exec node "$XPU_SRC/test/formats/tables.js" many lossy odd corpus live
