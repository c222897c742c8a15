#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html page of a program that was recorded here: device work, CPU time and waits in one graph.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf shim
use_sim

xpuload -q -o live.data "$XPU_BUILD/workload/demo" -s 0.5 >/dev/null 2>load.log ||
	{ cat load.log; echo "Bail out! cannot record"; exit 1; }
xpumerge live.data -o live.html 2>live.log
xpumerge live.data -f folded --unit ns -o live.folded 2>/dev/null

exec node "$XPU_SRC/test/formats/html_live.js"
