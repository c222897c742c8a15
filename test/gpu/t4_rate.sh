#!/bin/sh
# SPDX-License-Identifier: MIT
# Empty kernels from 8 threads at the highest rate for XPU_RATE_SECONDS (default 10), recorded with
# XPU_RATE_OPTIONS. XPU_TEST_TIMEOUT must be longer than XPU_RATE_SECONDS. Nothing is lost, and
# every launch is matched and under its own site. Prints the rate, and the recorder's memory and CPU
# time.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf
seconds=${XPU_RATE_SECONDS:-10}

"$NVCC" -std=c++17 -O2 -cudart shared -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls -I"$XPU_SRC/test/workload" \
	-o launch "$XPU_SRC/test/bench/launch.cu" 2>nvcc.log
ok $? "nvcc builds launch" || diag "$(cat nvcc.log)"

# shellcheck disable=SC2086
"$XPULOAD" ${XPU_RATE_OPTIONS:-} -o r.data ./launch -t 8 -s "$seconds" >out 2>load.log &
pid=$!
while kill -0 $pid 2>/dev/null; do
	grep VmHWM /proc/$pid/status >memory.new 2>/dev/null && mv memory.new memory
	sed 's/.*) //' /proc/$pid/stat 2>/dev/null >stat.new && [ -s stat.new ] && mv stat.new stat
	sleep 0.2
done
wait $pid
is $? 0 "the program is recorded" || diag "$(cat load.log)"
rate=$(sed -n 2p out)
diag "8 threads, $seconds s: ${rate:-?} launches a second"
diag "$(cat load.log)"
diag "xpuload: $(awk '{ print $2, $3 }' memory) at most, $(awk -v hz="$(getconf CLK_TCK)" \
	-v s="$seconds" '{ printf "%.1f", ($12 + $13) / hz / s * 100 }' stat) % of a core"
like "$(cat load.log)" 'lost 0$' "nothing is lost"
xpumerge -i r.data -f folded --unit count -o r.folded 2>merge.log
is $? 0 "the recording is merged"
line=$(sh "$XPU_SRC/test/lib/verdict.sh" r.folded merge.log)
diag "$line"
like "$line" 'launches ([1-9][0-9]*) matched \1 wrong 0 unmatched 0 lost 0' \
	"every launch is matched, under its own site"
done_testing
