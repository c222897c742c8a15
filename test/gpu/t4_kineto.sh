#!/bin/sh
# SPDX-License-Identifier: MIT
# An imported profile of torch.profiler: the device time equals the time in the file, and launches
# are under the file's operators and Python functions.
. "$XPU_SRC/test/lib/tap.sh"
need gpu torch

python3 "$XPU_SRC/test/gpu/kineto.py" t.json >out 2>&1
is $? 0 "torch.profiler makes a profile" || diag "$(cat out)"

# own FILE: prints the nanoseconds and the number of device activities in the file
own() {
	python3 - "$1" <<-'END'
		import json, sys
		from decimal import Decimal
		kinds = "kernel", "gpu_memcpy", "gpu_memset"
		events = json.load(open(sys.argv[1]), parse_float=Decimal)["traceEvents"]
		durations = [e["dur"] for e in events if e.get("ph") == "X" and e.get("cat") in kinds]
		print(round(sum(durations) * 1000), len(durations))
	END
}

device() {		# device UNIT: prints the sum of all device work in the import
	xpumerge --gpu t.json -f folded --unit "$1" 2>merge.log |
		awk '/\[GPU_(Kernel|Memcpy|Memset)/ { sum += $NF } END { printf "%d\n", sum }'
}

diag "$(own t.json) ns and works, $(wc -c <t.json) bytes"
is "$(device ns) $(device count)" "$(own t.json)" "device time and works equal the file's own"
line=$(grep '^by nesting:' merge.log)
diag "$line"
echo "$line" | awk '{ exit !($4 > 500 && $8 >= 0.99 * $4) }'
ok $? "99 of 100 launches are in operators or functions"
xpumerge --gpu t.json -f folded >t.folded 2>merge.log
like "$(cat t.folded)" 'nn.Module: Block.*aten::.*\[GPU_Kernel\]' \
	"the paths to kernels have modules and operators"
like "$(xpumerge --gpu t.json -f folded --by nvtx 2>/dev/null)" 'backward;.*\[GPU_Kernel\]' \
	"annotations are ranges"
done_testing
