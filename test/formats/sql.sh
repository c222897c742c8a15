#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# DuckDB runs the recipes of scripts/sql/ on a job of five ranks and on a live recording. The
# recipes give the same results as xpumerge's own tables.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf shim
use_sim

gen=$XPU_BUILD/gen_data

# Rank 3 is slow, and rank 4 has call paths that the other ranks do not have.
for rank in 0 1 2 3 4; do
	slow=0 paths=40
	[ $rank = 3 ] && slow=60
	[ $rank = 4 ] && paths=52
	"$gen" --rank $rank --pid $((1000 + 10 * rank)) --seed $((2 * rank + 1)) --noise 700 \
		--launches $((20000 + 100 * rank)) \
		--paths $paths --threads 3 --memcpy-every 5 --nccl-every 8 --samples-every 50 \
		--slow $slow -o rank$rank.data
	xpumerge rank$rank.data -o ranks/ 2>rank$rank.log || { cat rank$rank.log; exit 1; }
	for table in launch_sites kernels memory_time; do
		xpumerge rank$rank.data --csv --table $table >rank$rank.$table.csv 2>/dev/null
	done
	xpumerge rank$rank.data --csv --table launch_sites \
		--kernel '^nccl' >rank$rank.nccl.csv 2>/dev/null
done
xpumerge ranks rank?.data --csv 2>ranks.log |
	awk '/^ranks$/ { on = 1; next } on && !NF { exit } on' >ranks.csv
xpuload -q --off-cpu -F 999 -o live.data "$XPU_BUILD/workload/demo" -s 1 >/dev/null 2>load.log ||
	{ cat load.log; echo "Bail out! cannot record"; exit 1; }
xpumerge live.data -o live/ 2>live.log || { cat live.log; exit 1; }
xpumerge live.data --csv --table idle >live.idle.csv 2>/dev/null
xpumerge live.data --cpu-only --waits -f folded --unit ns 2>/dev/null |
	sed 's/^.waits.;//' |
	grep -E '\[(GPU_Wait|Off_CPU)\]' >live.waits
xpuload -q --memory -o memory.data "$XPU_BUILD/workload/memory" -n 60 >/dev/null 2>load.log ||
	{ cat load.log; echo "Bail out! cannot record"; exit 1; }
xpumerge memory.data -o memory/ 2>memory.log || [ $? = 1 ] || { cat memory.log; exit 1; }
xpuload -q --gpu-only --capture cuda-profiler-api -o windows.data "$XPU_BUILD/workload/capture" \
	-t 2 -w 5 -n 300 -p 40 \
	>/dev/null 2>load.log || { cat load.log; echo "Bail out! cannot record"; exit 1; }
xpumerge windows.data -o windows/ 2>windows.log || { cat windows.log; exit 1; }
xpumerge dump windows.data >windows.dump 2>/dev/null
for view in allocated leaked; do
	xpumerge memory.data --memory $view -f folded --unit bytes >memory.$view 2>log ||
		{ cat log; exit 1; }
done

exec node "$XPU_SRC/test/formats/sql.js"
