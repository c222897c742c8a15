#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Reads timelines in Chrome's JSON and in Perfetto's own format into Perfetto's trace processor.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"
need root bpf shim
use_sim

gen=$XPU_BUILD/gen_data

"$gen" --launches 5000 --paths 60 --threads 8 --procs 3 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 7 -o app.data
"$gen" --launches 3000 --threads 4 --lose-record 9 --early -o lossy.data
odd_names >names
"$gen" --launches 2000 --paths 40 --threads 30 --names names --name-all --map "$PWD/odd" -o odd.data
"$gen" --launches 3000 --threads 4 --procs 2 --memcpy-every 4 --api -o calls.data
xpuload -q --api -o live.data "$XPU_BUILD/workload/demo" -s 0.5 >/dev/null 2>load.log ||
	{ cat load.log; echo "Bail out! cannot record"; exit 1; }
for name in app lossy odd calls live; do
	for format in json pftrace; do
		xpumerge $name.data -o $name.$format 2>$name.log || { cat $name.log; exit 1; }
	done
	for unit in ns count; do
		xpumerge $name.data --gpu-only -f folded --unit $unit -o $name.$unit 2>/dev/null
	done
done
for name in calls live; do
	xpumerge $name.data --csv --table api_calls 2>/dev/null | awk -F, 'NR == 1 {
		for (i = 1; i <= NF; i++) if ($i == "calls") c = i } NR > 1 { n += $c }
		END { print n + 0 }' >$name.calls
done
xpumerge live.data --cpu-only -f folded --unit samples -o live.cpu 2>/dev/null

exec node "$XPU_SRC/test/formats/perfetto.js"
