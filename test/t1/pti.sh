#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --gpu: the Chrome JSON of Intel's unitrace and onetrace, and PyTorch's traces of Intel GPUs.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/merges.sh"
need python3

gen() {
	python3 "$XPU_SRC/test/lib/gen_pti.py" "$@"
}

# one_gpu NAME WANTED OPTIONS...: checks the same as same(), with one name for all devices
one_gpu() {
	name=$1 wanted=$2
	shift 2
	xpumerge "$@" --waits -f folded --unit ns 2>log | sed 's/\[GPU[0-9]*_/[GPU_/' >out.folded
	LC_ALL=C sort "$wanted" >want
	LC_ALL=C sort out.folded | diff want - >diff
	ok $? "$name" || diag "$(head -n 5 diff; cat log)"
}

# ---- unitrace and onetrace: keys link work with its call

for args in "seed=1" "seed=2 procs=3" "seed=3 opencl=1" "seed=4 tiles=1" \
	"seed=5 procs=2 opencl=1" "seed=6 form=unitrace2023 opencl=1" \
	"seed=7 form=onetrace" "seed=8 form=onetrace stages=1"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	gen p.json $args
	one_gpu "$args" p.json.folded --gpu p.json
	like "$(cat log)" '^launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
		"$args: each launch has its work"
done
for args in "seed=9" "seed=10 form=onetrace"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	gen p.json calls=0 $args
	one_gpu "$args, without calls" p.json.folded --gpu p.json
	like "$(cat log)" ' device records whose launch is not in the recording \(orphans\)' \
		"$args, without calls: a message counts the work without launches"
done
# Programs that edit traces may sort their events.
gen p.json seed=11 opencl=1
python3 - <<'END'
import json
trace = json.load(open("p.json"))
trace["traceEvents"].sort(key=lambda e: json.dumps(e))
json.dump(trace, open("sorted.json", "w"))
END
one_gpu "events in another order" p.json.folded --gpu sorted.json
xpumerge --gpu p.json -o p.data 2>log
one_gpu "as a recording" p.json.folded p.data
xpumerge --gpu p.json -f text >out 2>log
like "$(cat out)" 'Intel\(R\) GPU 0' "the summary has the devices' names"
like "$(xpumerge --gpu p.json --csv --table api_calls 2>/dev/null)" \
	'zeCommandQueueExecuteCommandLists' "the table of API calls has Level Zero's calls"

opencl=$(grep -o '"t"[^}]*"CL_Flow_H2D' p.json | wc -l)
zero=$(grep -o '"t"[^}]*"Flow_H2D' p.json | wc -l)
is "$(apis device --gpu p.json)" "1: $opencl 3: $zero " "the tables name OpenCL and Level Zero"

# ---- a file written by hand: waits, and names that only resemble unitrace's names

cat >h.json <<'END'
{ "traceEvents":[
{"ph": "M", "name": "process_name", "pid": 7, "ts": 1, "args": {"name": "RANK 3 HOST<n>"}},
{"ph": "X", "tid": 7, "pid": 7, "name": "aten::add", "cat": "cpu_op", "ts": 10, "dur": 80, "id": 0},
{"ph": "X", "tid": 7, "pid": 7, "name": "zeKernelSetGroupSize", "cat": "cpu_op", "ts": 20, "dur": 0, "id": 0},
{"ph": "X", "tid": 7, "pid": 7, "name": "zeCommandListAppendLaunchKernel", "cat": "cpu_op", "ts": 20, "dur": 5, "id": 0},
{"ph": "s", "tid": 7, "pid": 7, "name": "dep", "cat": "Flow_H2D_1_3", "ts": 20, "id": 1},
{"ph": "X", "tid": 4294967190, "pid": 4294967195, "name": "clear<zero>[SIMD32 {2; 1; 1} {16; 1; 1}]", "cat": "gpu_op", "ts": 30, "dur": 4.25, "args": {"id": "1"}},
{"ph": "t", "tid": 4294967190, "pid": 4294967195, "name": "dep", "cat": "Flow_H2D_1_3", "ts": 30, "id": 1},
{"ph": "X", "tid": 4294967190, "pid": 4294967195, "name": "k[x]", "cat": "gpu_op", "ts": 36, "dur": 1, "args": {"id": "99999999999999999999"}},
{"ph": "s", "tid": 7, "pid": 7, "name": "dep", "cat": "Flow_H2D_", "ts": 20, "id": 1},
{"ph": "s", "tid": 7, "pid": 7, "name": "dep", "cat": "Flow_H2D_2_3", "ts": 21, "id": 1},
{"ph": "X", "tid": 7, "pid": 7, "name": "zeEventHostSynchronize", "cat": "cpu_op", "ts": 26, "dur": 10, "id": 0}
]}
END
cat >wanted <<'END'
rank 3;[no launch];[GPU_Kernel]k[x] 1000
rank 3;aten::add;zeCommandListAppendLaunchKernel;[GPU_Kernel]clear<zero> 4250
[waits];rank 3;aten::add;zeEventHostSynchronize;[GPU_Wait](idle) 5750
[waits];rank 3;aten::add;zeEventHostSynchronize;[GPU_Wait]clear<zero> 4250
END
same "calls that begin together, waits, work without a call" wanted --gpu h.json
like "$(xpumerge --gpu h.json --json --table kernels 2>/dev/null)" \
	'"name": "clear<zero>", "grid": "2", "block": "16"' "kernels have their launch shapes"

# ---- PyTorch's traces

for args in "seed=1" "seed=2 threads=8 nr=100" "seed=3 rank=3 threads=1"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	python3 "$XPU_SRC/test/lib/gen_kineto.py" t.json xpu=1 $args
	same "PyTorch: $args" t.json.folded --gpu t.json
	like "$(cat log)" '^launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
		"PyTorch: $args: each launch has its work"
done
cat >s.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"xpu_runtime","name":"urEnqueueKernelLaunch","pid":5,"tid":5,"ts":1,"dur":2,"args":{"correlation":8}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":64,"ts":5,"dur":9,"args":{"correlation":8,"device":0,"context":"0x0000000000000010","sycl queue":64,"l0 queue":"0x1"}},
{"ph":"X","cat":"xpu_sync","name":"zeEventHostSynchronize","pid":-1,"tid":5,"ts":4,"dur":12,"args":{"correlation":9,"Type":"HOST_EVENT"}},
{"ph":"X","cat":"xpu_driver","name":"zeEventHostSynchronize","pid":5,"tid":5,"ts":4,"dur":12,"args":{"correlation":9}},
{"ph":"X","cat":"xpu_sync","name":"zeCommandListAppendBarrier","pid":-1,"tid":5,"ts":20,"dur":1,"args":{"correlation":10,"Type":"GPU_BARRIER_EXECUTION"}}]}
END
cat >wanted <<'END'
[unknown];[no stack];urEnqueueKernelLaunch;[GPU_Kernel]k 9000
[waits];[unknown];[no stack];zeEventHostSynchronize;[GPU_Wait](idle) 3000
[waits];[unknown];[no stack];zeEventHostSynchronize;[GPU_Wait]k 9000
END
same "PyTorch: a wait and its record are one wait" wanted --gpu s.json
is "$(apis launches --gpu s.json) $(apis device --gpu s.json)" "4: 1  4: 1 " \
	"PyTorch: the tables have SYCL as the API"

# ---- damaged or strange contents

gen p.json seed=1
head -c 9000 p.json >cut.json
xpumerge --gpu cut.json -f folded >out 2>log
is $? 2 "cut off: exit status 2"
like "$(cat log)" 'cut.json: damaged at offset [0-9]+: ' \
	"cut off: a message says where the file is damaged"
gen p.json seed=1 form=onetrace
head -c 9001 p.json >cut.json
xpumerge --gpu cut.json -f folded >out 2>log
is $? 2 "onetrace, cut off within an event: exit status 2"
cat >flows.json <<'END'
{"traceEvents": [
{"ph": "s", "tid": 7, "pid": 7, "name": "dep", "cat": "Flow_H2D_1_3", "ts": 20, "id": 1},
{"ph": "t", "tid": 7, "pid": 99999999999, "name": "dep", "cat": "CL_Flow_H2D_1_3", "ts": 20, "id": 1}]}
END
fails "only flow events" 'flows.json: cannot find GPU events: expected ' --gpu flows.json
done_testing
