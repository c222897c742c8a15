#!/bin/sh
# SPDX-License-Identifier: MIT
# A profile of torch.profiler's, imported: the device's time is the file's own, and launches stand
# under the operators and Python functions that the file has.
. "$XPU_SRC/test/lib/tap.sh"
need gpu torch

python3 "$XPU_SRC/test/gpu/kineto.py" t.json >out 2>&1
is $? 0 "torch.profiler: a profile" || diag "$(cat out)"

# own FILE: the device's nanoseconds and works as the file has them
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

device() {		# device UNIT: the sum of what the import has on the device
	xpumerge --gpu t.json -f folded --unit "$1" 2>merge.log |
		awk '/\[GPU_(Kernel|Memcpy|Memset)/ { sum += $NF } END { printf "%d\n", sum }'
}

diag "$(own t.json) ns and works, $(wc -c <t.json) bytes"
is "$(device ns) $(device count)" "$(own t.json)" "device ns and works are the file's own"
line=$(grep '^by nesting:' merge.log)
diag "$line"
echo "$line" | awk '{ exit !($4 > 500 && $8 >= 0.99 * $4) }'
ok $? "99 of 100 launches are in operators or functions"
xpumerge --gpu t.json -f folded >t.folded 2>merge.log
like "$(cat t.folded)" 'nn.Module: Block.*aten::.*\[GPU_Kernel\]' "modules and operators are on the way to kernels"
like "$(xpumerge --gpu t.json -f folded --by nvtx 2>/dev/null)" 'backward;.*\[GPU_Kernel\]' "annotations are ranges"
done_testing
