#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --gpu-metrics on a real GPU: copies are bound by memory, products by the tensor pipe, each
# under its own call path. The energy equals NVML's own value. Also measures how much sampling costs
# the program and the recorder.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch

seconds=${XPU_METRICS_SECONDS:-60}
xpuload --gpu-metrics -o m.data python3 "$XPU_SRC/test/gpu/metrics.py" \
	"$seconds" >truth 2>load.log &
# Reads the CPU time of the sampler while it runs.
sleep 10
sampler=$(pgrep -f 'xpuload-metrics 1000' | tail -n 1)
ticks() { awk '{ print $14 + $15 }' "/proc/$sampler/stat"; }
from=$(ticks)
[ "$seconds" -lt 30 ] || sleep 10
[ "$seconds" -lt 30 ] ||
	diag "xpuload-metrics: $(awk -v n="$(($(ticks) - from))" \
	'BEGIN { print n / 10 }') % of a core"
wait
is "$(grep -c 'lost 0$' load.log)" 1 "nothing is lost" || diag "$(cat load.log)"
is "$(grep -c 'warning' load.log)" 0 "there is no warning"
diag "$(cat load.log truth)"
for t in gpu kernel path; do
	xpumerge -i m.data --json --table ${t}_metrics >$t.json 2>merge.log
done
xpumerge dump m.data >m.dump
cat >check.py <<'END'
import json, re
tables = {t: json.load(open(t + ".json"))[t + "_metrics"] for t in ("gpu", "kernel", "path")}
for row in tables["gpu"]:
    print("#", row["title"], row["samples"], row["average"], row["max"], row["total"], row["idle"])
def of(function):
    # The shorter call path belongs to the first phase and also to the other phases.
    rows = [r for r in tables["path"] if ":" + function + ":" in r["path"] and "[GPU" not in r["path"]]
    ns = sum(r["total_ns"] for r in rows)
    mean = lambda key: sum((r[key] or 0) * r["total_ns"] for r in rows) / ns
    return {"dram": mean("dram_read_percent") + mean("dram_write_percent"), "tensor": mean("tensor_percent"),
            "sm": mean("sm_active_percent"), "joules": sum(r["energy_j"] or 0 for r in rows), "ns": ns}
copies, products = of("copies"), of("products")
print("# copies", copies)
print("# products", products)
sets, rows = {}, []
for line in open("m.dump", errors="replace"):
    line = line.split("] ", 1)[1].strip()
    m = re.match(r'METRIC set=(\d+) index=(\d+) .*"energy"', line)
    if m:
        sets[m.group(1)] = int(m.group(2))
    m = re.match(r"METRICS set=(\d+) .*?time_ns=(\d+)", line)
    if m and m.group(1) in sets:
        for row in re.findall(r"\{(.*?)\}", line):
            delta, duration, *values = row.split()
            begin = int(m.group(2)) + int(delta[9:])
            rows.append((begin, begin + int(duration[12:]), float(values[sets[m.group(1)]])))
_, from_ns, to_ns, mj = [line for line in open("truth") if line.startswith("window")][0].split()
from_ns, to_ns = int(from_ns), int(to_ns)
joules = sum(v * (min(e, to_ns) - max(b, from_ns)) / (e - b) for b, e, v in rows if e > from_ns and b < to_ns)
print("# joules", joules, "NVML", int(mj) / 1e3, "ratio", joules * 1e3 / int(mj))
total = next(r["total"] for r in tables["gpu"] if r["metric"] == "energy")
together = sum(r["energy_j"] or 0 for r in tables["path"])
print("dram" if copies["dram"] > 85 and products["dram"] < 60 else "DRAM?")
print("tensor" if products["tensor"] > 80 and copies["tensor"] < 5 else "TENSOR?")
print("energy" if abs(joules * 1e3 / int(mj) - 1) < 0.02 and abs(together / total - 1) < 1e-3 else "ENERGY?")
END
python3 check.py >checked 2>&1
diag "$(grep '^#' checked)"
is "$(grep -v '^#' checked | tr '\n' ' ')" "dram tensor energy " \
	"the memory-bound phase, the tensor-bound phase and the energy are right"

# The cost: training steps with and without metrics, alternately.
pairs=${XPU_METRICS_PAIRS:-4}
for i in $(seq "$pairs"); do
	for how in --gpu-only "--gpu-only --gpu-metrics"; do
		# shellcheck disable=SC2086
		echo "$i ${how##* } $(xpuload $how -o c.data python3 \
			"$XPU_SRC/test/gpu/metrics.py" --steps 200 2>>cost.log |
			awk '/^step/ { print $2 }')"
	done
done >costs
awk '$2 == "--gpu-only" { without = $3; next } { print $3 / without }' costs | sort -n >ratios
diag "$(cat costs)"
diag "ratios: $(tr '\n' ' ' <ratios)"
is "$(awk '{ v[NR] = $1 }
	END { m = (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2; print (m > 0 && m < 1.01) }' \
	ratios)" 1 "a training step takes at most 1.01 times as long"
done_testing
