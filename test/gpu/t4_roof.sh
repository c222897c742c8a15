#!/bin/sh
# SPDX-License-Identifier: MIT
# The metrics that doc/results.md names for a roof of instructions and bytes fit into one pass on a
# real GPU. Their units are recorded, and the bytes and instructions of kernels are right.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch

metrics=$(sed -n 's/.*`--gpu-metrics=\(dram__[a-z_.,]*\)`.*/\1/p' "$XPU_SRC/doc/results.md")
like "$metrics" '^dram__.*,sm__' "the documents name metrics"
xpuload --gpu-metrics="$metrics@5000" -o r.data \
	python3 "$XPU_SRC/test/gpu/roof.py" "${XPU_ROOF_SECONDS:-8}" >truth 2>log
is "$(grep -c 'lost 0$' log)" 1 "nothing is lost" || diag "$(cat log)"
is "$(grep -c 'no GPU metrics' log)" 0 "the metrics fit into one pass" || diag "$(cat log)"
units=$(xpumerge dump r.data | sed -n 's/.* METRIC set=1 .*" unit="\(.*\)"/\1/p' | tr '\n' ' ')
is "$units" "byte/s byte/s instruction/s " "units are recorded"
xpumerge -i r.data --json --table kernel_roof >roof.json 2>merge.log
cat >check.py <<'END'
import json, subprocess
rows = json.load(open("roof.json"))["kernel_roof"]
product = next(r for r in rows if "nvjet" in r["name"] or "gemm" in r["name"])
neg = next(r for r in rows if "neg_kernel" in r["name"])
for row in product, neg:
    print("#", row)
    row["inst"] = row["instructions_per_ns"] * row["total_ns"] / row["instances"]
    row["bytes"] = row["inst"] / row["instructions_per_byte"]
    print("# a launch has", row["inst"], "instructions and", row["bytes"], "bytes")
bytes = float(open("truth").read())
print("bytes" if abs(neg["bytes"] / bytes - 1) < 0.05 else "BYTES?")
print("order" if product["instructions_per_byte"] > 5 * neg["instructions_per_byte"] else "ORDER?")
END
python3 check.py >checked 2>&1
diag "$(grep '^#' checked)"
is "$(grep -v '^#' checked | tr '\n' ' ')" "bytes order " \
	"bytes of a negation are right, and a product has more instructions for a byte" ||
	diag "$(cat checked)"
diag "$(xpumerge -i r.data --table gpu_metrics 2>&1)" \
	"$(xpumerge -i r.data --table kernel_roof 2>&1)" \
	"$(xpumerge -i r.data --table kernel_metrics 2>&1)"
[ -z "${XPU_KEEP:-}" ] || cp ./*.data ./*.json ./*.log "$XPU_KEEP"
done_testing
