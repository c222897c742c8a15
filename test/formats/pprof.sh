#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Reads profiles with Go's pprof, and compares whole stacks with the folded stacks.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"
need root bpf shim go
use_sim

gen=$XPU_BUILD/gen_data

"$gen" --launches 5000 --paths 60 --threads 8 --procs 3 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 7 -o app.data
"$gen" --launches 3000 --threads 4 --lose-record 9 -o lossy.data
for name in app lossy; do
	same $name go cat "-f pprof" ns count bytes
done
odd_names >names
"$gen" --launches 200 --paths 40 --threads 30 --names names --name-all --map "$PWD/odd" -o odd.data
same odd go cat "-f pprof" ns
"$gen" --launches 300 --paths 60 --map "$XPUMERGE" -o inline.data
both="--inline --srcline"
same inline go cat "-f pprof" ns
like "$(cat want)" '\([^()]*:[0-9]+\) \(inlined\);' \
	"some of the functions are inlined, with their lines"
both=
xpuload -q --off-cpu -o live.data "$XPU_BUILD/workload/demo" -s 0.5 >/dev/null 2>load.log
is $? 0 "the program is recorded" || diag "$(cat load.log)"
same live go cat "-f pprof" all=ns
both=--cpu-only
same live go drop_waits "-f pprof" cpu=ns

# The first commands that people try.
xpumerge app.data -o app.pb.gz 2>/dev/null
for unit in gpu:ns launches:count; do
	go tool pprof -top -nodefraction=0 -nodecount=9999 -unit=ns -sample_index="${unit%:*}" \
		app.pb.gz >top 2>top.log
	is $? 0 "go tool pprof -top: ${unit%:*}: exit status 0" || diag "$(cat top.log)"
	total=$(xpumerge app.data -f folded --unit "${unit#*:}" 2>/dev/null |
		awk '{ n += $NF } END { printf "%.0f", n }')
	like "$(cat top)" "^Showing nodes accounting for $total(ns)?, 100% of $total(ns)? total" \
		"${unit%:*}: pprof shows all of $total"
	like "$(cat top)" \
		'^ +[0-9]+(ns)? +[0-9.]+% +[0-9.]+% +[0-9]+(ns)? +[0-9.]+% +\[GPU0_Kernel\]site' \
		"${unit%:*}: pprof shows kernels by name"
done

# Memory in the form that users know from Go programs.
xpuload -q --memory --gpu-only -o memory.data "$XPU_BUILD/workload/memory" >/dev/null 2>load.log
is $? 0 "memory: the program is recorded" || diag "$(cat load.log)"
xpumerge memory.data --memory live -o memory.pb.gz 2>/dev/null
for type in inuse_space:live:bytes inuse_objects:live:count alloc_space:allocated:bytes \
	alloc_objects:allocated:count; do
	unit=${type##*:} view=${type#*:}
	go tool pprof -top -nodefraction=0 -nodecount=9999 -unit=B -sample_index="${type%%:*}" \
		memory.pb.gz >top 2>top.log
	is $? 0 "go tool pprof -top: ${type%%:*}: exit status 0" || diag "$(cat top.log)"
	total=$(xpumerge memory.data --memory "${view%:*}" --unit "$unit" -f folded 2>/dev/null |
		awk '{ n += $NF } END { printf "%.0f", n }')
	like "$(cat top)" "^Showing nodes accounting for ${total}B?, 100% of ${total}B? total" \
		"${type%%:*}: pprof shows all of $total"
	like "$(cat top)" ' mem_site_07$' "${type%%:*}: pprof shows functions"
done
done_testing
