#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# -f stacks and -f cupti write a recording as two files in other tools' formats, for those tools'
# scripts and for xpumerge.
. "$XPU_SRC/test/lib/tap.sh"
need python3

# again NAME: imports the two files again, and checks that all launches of x.data are under their
# own stacks.
again() {
	name=$1
	rm -f x.stacks x.cupti.json
	xpumerge -o x.stacks x.data 2>log
	is $? 0 "$name: -f stacks succeeds"
	xpumerge -o x.cupti.json x.data 2>log
	is $? 0 "$name: -f cupti succeeds"
	nr=$(wc -l <x.stacks)
	xpumerge -f folded --unit ns --gpu-only x.data 2>/dev/null | sed 's/_v2;\[GPU/;[GPU/' |
		sort >want
	xpumerge -f folded --unit ns --gpu-only --cpu x.stacks --gpu x.cupti.json 2>log | sort >got
	is "$(grep '^by time' log)" \
		"by time: launches $nr certain $nr uncertain 0 without stack 0; stacks $nr without launch 0 uncertain 0" \
		"$name: all matches are certain"
	diff want got >diff
	ok $? "$name: each launch has its own stack" || diag "$(head -n 5 diff)"
	[ "$nr" -gt 4 ]
	ok $? "$name: the recording has $nr launches"
}

# Gaps and bursts that allow several offsets between the two clocks.
for args in "threads=8" "threads=1 burst=200 gap=0.3" "threads=3 fixed=1 gap=10" \
	"threads=64 driver=1" "threads=4 lost=0.1"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	"$XPU_BUILD/gen_twofile" cpu.txt gpu.json nr=4000 $args >/dev/null
	xpumerge --cpu cpu.txt --gpu gpu.json -o x.data 2>log
	again "$args"
done
"$XPU_BUILD/gen_data" -o x.data --paths 3 --frames 7 --launches 1200 --memcpy-every 2 --procs 2 \
	--threads 4
again "copies, two processes"
"$XPU_BUILD/gen_data" -o x.data --paths 1 --frames 7 --launches 5
again "few launches"

# If one thread is selected, neither file has the other thread's launches.
"$XPU_BUILD/gen_data" -o x.data --paths 5 --frames 7 --launches 1200 --threads 2 --memcpy-every 2
tid=$(xpumerge -f stacks x.data 2>/dev/null | awk '{ print $4; exit }')
xpumerge -f stacks --tid "$tid" x.data >x.stacks 2>log
xpumerge -f cupti --tid "$tid" x.data >x.json 2>log
is "$(grep -c CUDA_Runtime x.json) $(sort -u -k 4,4 x.stacks | wc -l)" "$(wc -l <x.stacks) 1" \
	"a filter: each launch that passes is in both files once"

# ---- the format of the files, and the results of scripts

cat >cpu.txt <<'END'
2002 my app 1000 1001 2 main;a b(int, char);site_0;cudaLaunchKernel
3002 my app 1000 1001 2 main;site_1;cudaLaunchKernel
END
cat >gpu.json <<'END'
[{"name":"Runtime: cudaLaunchKernel_v7000","ph":"X","ts":2.002,"dur":0.500,"tid":1001,"pid":1000,"cat":"CUDA_Runtime","args":{"correlationId":7}},
{"name":"Kernel: k\"0","ph":"X","ts":3.5,"dur":1.5,"cat":"GPU_Kernel","args":{"correlationId":7,"deviceId":0,"contextId":1,"streamId":7},"tid":"GPU0_Stream7","pid":"Device_0"},
{"name":"Runtime: cudaLaunchKernel_v7000","ph":"X","ts":3.002,"dur":0.500,"tid":1001,"pid":1000,"cat":"CUDA_Runtime","args":{"correlationId":8}},
{"name":"Kernel: k1","ph":"X","ts":5,"dur":2,"cat":"GPU_Kernel","args":{"correlationId":8,"deviceId":0,"contextId":1,"streamId":7},"tid":"GPU0_Stream7","pid":"Device_0"}]
END
xpumerge --cpu cpu.txt --gpu gpu.json -o x.data 2>log
is "$(xpumerge -f stacks x.data 2>/dev/null)" \
	"2002 my_app 1000 1001 0 main;a b(int, char);site_0;cudaLaunchKernel
3002 my_app 1000 1001 0 main;site_1;cudaLaunchKernel" "the lines of -f stacks are as expected"
cat >expected <<'END'
{"traceEvents":[
{"name":"Runtime: cudaLaunchKernel","ph":"X","ts":2.002,"dur":0.000,"cat":"CUDA_Runtime","tid":1001,"pid":1000,"args":{"correlationId":7}},
{"name":"Runtime: cudaLaunchKernel","ph":"X","ts":3.002,"dur":0.000,"cat":"CUDA_Runtime","tid":1001,"pid":1000,"args":{"correlationId":8}},
{"name":"Kernel: k\"0","ph":"X","ts":3.500,"dur":1.500,"cat":"GPU_Kernel","tid":"GPU0_Stream7","pid":"Device_0","args":{"correlationId":7,"processId":1000,"deviceId":0,"contextId":1,"streamId":7}},
{"name":"Kernel: k1","ph":"X","ts":5.000,"dur":2.000,"cat":"GPU_Kernel","tid":"GPU0_Stream7","pid":"Device_0","args":{"correlationId":8,"processId":1000,"deviceId":0,"contextId":1,"streamId":7}}]}
END
is "$(xpumerge -f cupti x.data 2>/dev/null)" "$(cat expected)" \
	"the calls and device work of -f cupti are as expected"

# This script does what scripts for these formats do: for each call, it takes the stack of the same
# thread that is nearest to the start of the call.
"$XPU_BUILD/gen_twofile" cpu.txt gpu.json nr=4000 threads=4 >/dev/null
xpumerge --cpu cpu.txt --gpu gpu.json -o x.data 2>log
xpumerge -o cpu_results.stacks x.data 2>log
xpumerge -o gpu_results.cupti.json x.data 2>log
python3 - >got <<'END'
import bisect, json
stacks = {}
for line in open("cpu_results.stacks"):
    ns, comm, pid, tid, cpu, stack = line.rstrip("\n").split(None, 5)
    stacks.setdefault(int(tid), []).append((int(ns), stack))
calls, right, wrong = {}, 0, 0
events = json.load(open("gpu_results.cupti.json"))["traceEvents"]
for e in events:
    if e["cat"] == "CUDA_Runtime" and "LaunchKernel" in e["name"]:
        mine = stacks[e["tid"]]
        ns = round(e["ts"] * 1000)
        at = bisect.bisect([s[0] for s in mine], ns)
        near = min(mine[max(0, at - 1):at + 1], key=lambda s: abs(s[0] - ns))
        calls[e["args"]["correlationId"]] = near[1]
for e in events:
    if e["cat"] == "GPU_Kernel":
        number = e["name"].rsplit("_", 1)[1]
        ok = ("site_%s;" % number) in calls[e["args"]["correlationId"]]
        right, wrong = right + ok, wrong + (not ok)
print(right, wrong)
END
is "$(cat got)" "4000 0" "without ids, the nearest stack of a launch's thread belongs to the launch"
done_testing
