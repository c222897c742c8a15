#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html pages of programs that this test records: device work, CPU time and waits in one graph;
# windows of --capture; memory.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf shim
use_sim

xpuload -q -o live.data "$XPU_BUILD/workload/demo" -s 0.5 >/dev/null 2>load.log ||
	{ cat load.log; echo "Bail out! cannot record"; exit 1; }
xpumerge live.data -o live.html 2>live.log
xpumerge live.data --waits -f folded --unit ns -o live.folded 2>/dev/null
xpumerge live.data >live.txt 2>/dev/null
# Two programs that only count are helpers.
count='awk "BEGIN { while (i < 3e6) i++ }"'
xpuload -q -o helpers.data sh -c "$count & $count & \"\$0\" -s 0.1; wait" \
	"$XPU_BUILD/workload/demo" >/dev/null 2>&1
xpumerge helpers.data -o helpers.html 2>/dev/null
xpuload -q --gpu-only --capture cuda-profiler-api -o windows.data "$XPU_BUILD/workload/capture" \
	-t 2 -w 5 -n 300 -p 40 >/dev/null 2>&1
xpumerge windows.data -o windows.html 2>/dev/null
xpumerge windows.data >windows.txt 2>/dev/null
xpumerge windows.data --window 2 -f folded --unit count >windows.folded 2>/dev/null
xpuload -q --memory -o memory.data "$XPU_BUILD/workload/memory" >/dev/null 2>&1
for unit in count bytes; do
	xpumerge memory.data --memory peak -f folded --unit $unit >memory.$unit 2>/dev/null
done
xpumerge memory.data --memory peak -o memory.html 2>/dev/null

exec node "$XPU_SRC/test/formats/html_live.js"
