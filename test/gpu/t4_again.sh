#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload attaches again and again, on a real GPU, to a server whose threads launch and wait all the time: each
# recording is exact, also those after a detach that came while threads were inside of calls that wait.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
	-I"$XPU_SRC/test/workload" -o demo "$XPU_SRC/test/workload/demo.cu" -lcuda 2>nvcc.log
ok $? "nvcc builds demo" || diag "$(cat nvcc.log)"

LD_PRELOAD=$XPU_SHIM ./demo -s 30 >out &
pid=$!
sleep 3
for i in 1 2 3 4 5; do
	xpuload -o again.data -p $pid --duration 1 2>load.log
	is $? 0 "recording $i: status" || diag "$(cat load.log)"
	xpumerge again.data -f folded --unit count -o again.folded 2>merge.log
	like "$("$XPU_SRC/test/lib/verdict.sh" again.folded merge.log)" \
		'^launches ([1-9][0-9]{2,}) matched \1 wrong 0 unmatched 0 lost 0$' "recording $i: exact"
	diag "$(cat merge.log)"
	is "$(grep -c duplicate merge.log)" 0 "recording $i: no launches with one correlation id"
done
wait $pid
is $? 0 "the server ends well"
done_testing
