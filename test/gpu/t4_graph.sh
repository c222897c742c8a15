#!/bin/sh
# SPDX-License-Identifier: MIT
# CUDA graphs on a real GPU: every node's work is under the call path that captured or built the
# node, and no time is lost.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
	-I"$XPU_SRC/test/workload" -o graph "$XPU_SRC/test/workload/graph.cu" 2>nvcc.log
ok $? "nvcc builds the program" || diag "$(cat nvcc.log)"

xpuload -o g.data ./graph -n 1000 >out 2>load.log
is $? 0 "the program is recorded" || diag "$(cat load.log)"
diag "$(cat out)"
diag "$(grep 'launches from' load.log)"
kernels=$(sed -n 's/.*kernels \([0-9]*\).*/\1/p' out)
for how in capture launch both; do
	xpumerge -i g.data --graph $how -f folded --unit count -o $how.folded 2>merge.log
	is $? 0 "--graph $how: the recording is merged"
	like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
		"--graph $how: every launch is matched"
	is "$(awk '/_Kernel\]/ { n += $NF } END { print n }' $how.folded)" "$kernels" \
		"--graph $how: every kernel is in the result"
	xpumerge -i g.data --graph $how -f folded --unit ns -o $how.ns 2>/dev/null
done
line=$("$XPU_SRC/test/lib/verdict.sh" capture.folded merge.log)
diag "$line"
like "$line" ' wrong 0 unmatched 0 lost 0' "every node is under its own site"
sum() {
	awk '{ n += $NF } END { printf "%d\n", n }' "$1"
}
is "$(sum capture.ns)" "$(sum launch.ns)" "capture and launch paths have equal times in total"
is "$(sum both.ns)" "$(sum launch.ns)" "capture and launch paths together have the same total as launch paths"
done_testing
