#!/bin/sh
# SPDX-License-Identifier: MIT
# One long recording: XPU_SOAK_GRAPH_ROUNDS rounds of graphs and XPU_SOAK_LAUNCHES plain launches
# (default: a million kernels of each kind). Nothing is lost, and xpuload's memory does not grow.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf
rounds=${XPU_SOAK_GRAPH_ROUNDS:-110000}
launches=${XPU_SOAK_LAUNCHES:-1000000}

for w in graph exact; do
	"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
		-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-I"$XPU_SRC/test/workload" -o $w "$XPU_SRC/test/workload/$w.cu" 2>nvcc.log
	ok $? "nvcc builds $w" || diag "$(cat nvcc.log)"
done
"$XPULOAD" -o s.data sh -c "./graph -n $rounds; ./exact -t 8 -n $launches" >out 2>load.log &
pid=$!
while kill -0 $pid 2>/dev/null; do
	awk '/^VmRSS/ { print $2 }' /proc/$pid/status >>rss 2>/dev/null
	sleep 1
done
wait $pid
is $? 0 "the program is recorded" || diag "$(cat load.log)"
diag "$(cat out)"
diag "$(cat load.log)"
like "$(cat load.log)" 'lost 0$' "nothing is lost"
early=$(sed -n 5p rss) last=$(tail -n 2 rss | head -n 1)
diag "xpuload resident: ${early:-?} KiB after 5 s, ${last:-?} KiB at the end, $(sort -n rss |
	tail -n 1) at most"
[ "${last:-0}" -lt $((${early:-0} + 65536)) ]
ok $? "xpuload's memory does not grow"
xpumerge -i s.data -f folded --unit count -o s.folded 2>merge.log
is $? 0 "the recording is merged"
diag "$(cat merge.log)"
like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
	"every launch is matched"
diag "kernels $(awk '/_Kernel\]/ { n += $NF } END { printf "%d", n }' s.folded)"
unlike "$(cat merge.log)" 'without valid times' "no record has invalid times"
done_testing
