#!/bin/sh
# SPDX-License-Identifier: MIT
# A roof by operations and bytes: the metrics of doc/results.md fit into one pass on a real GPU, and
# the operations and bytes of kernels whose amounts are known are right.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch

rate=sum.per_second
metrics=dram__bytes_read.$rate,dram__bytes_write.$rate
metrics=$metrics,sm__ops_path_tensor_src_bf16_dst_fp32.$rate
xpuload --gpu-metrics=$metrics -o r.data \
	python3 "$XPU_SRC/test/gpu/roof.py" "${XPU_ROOF_SECONDS:-8}" >truth 2>log
is "$(grep -c 'lost 0$' log)" 1 "nothing is lost" || diag "$(cat log)"
is "$(grep -c warning log)" 0 "the metrics fit into one pass" || diag "$(cat log)"
xpumerge -i r.data --json --table kernel_roof >roof.json 2>merge.log
cat >check.py <<'END'
import json
truth = {kind: (float(operations), float(nr)) for kind, operations, nr in map(str.split, open("truth"))}
rows = json.load(open("roof.json"))["kernel_roof"]
product = next(r for r in rows if "nvjet" in r["name"] or "gemm" in r["name"])
copy = next(r for r in rows if "neg" in r["name"])
for row in product, copy:
    print("#", row)
made = product["operations_per_ns"] * product["total_ns"] / product["instances"]
print("# operations of a product:", made, "of", truth["product"][0])
print("product" if abs(made / truth["product"][0] - 1) < 0.03 else "PRODUCT?")
print("copy" if abs(copy["operations_per_byte"]) < 0.2 else "COPY?")
END
python3 check.py >checked 2>&1
diag "$(grep '^#' checked)"
is "$(grep -v '^#' checked | tr '\n' ' ')" "product copy " \
	"operations of a matrix product are right, and a copy has none" || diag "$(cat checked)"
xpumerge -i r.data --json --table gpu_metrics >gpu.json 2>>merge.log
diag "$(cat gpu.json)" "$(xpumerge -i r.data --table kernel_roof 2>&1)"
[ -z "${XPU_KEEP:-}" ] || cp ./*.data ./*.json ./*.log "$XPU_KEEP"
done_testing
