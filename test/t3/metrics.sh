#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --gpu-metrics on the simulated GPU: its counters, power and energy are recorded together
# with every launch, joined by time, and shown. If metrics are impossible, nothing else is lost.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

# record NAME ARGS...: records a program of 8 threads; load.log has xpuload's messages
record() {
	name=$1
	shift
	xpuload "$@" -o "$name.data" "$XPU_BUILD/workload/exact" -n "${launches:-4000}" \
		-p "${rate:-8000}" >/dev/null 2>load.log
	is $? 0 "$name: exit status 0"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	like "$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)" \
		"^launches ([0-9]+) matched \1 wrong 0 unmatched 0 lost 0" \
			"$name: every launch is matched, under its own site"
}
table() { xpumerge -i "$1.data" --json --table "$2" 2>/dev/null; }
nr_samples() { sed -n 's/.*; \([0-9]*\) samples of GPU metrics.*/\1/p' load.log; }

record all --gpu-metrics
nr=$(nr_samples)
[ "${nr:-0}" -gt 300 ]
ok $? "all metrics: $nr samples are recorded"
is "$(grep -c warning load.log)" 0 "all metrics: no warning is printed" || diag "$(cat load.log)"
xpumerge dump all.data -o all.dump
for t in kernel path gpu; do
	table all ${t}_metrics >$t.json
done
is "$(python3 "$XPU_SRC/test/lib/metrics.py" all.dump kernel.json path.json gpu.json 2>&1 |
	tail -n 1)" ok "all metrics: samples, averages by kernel, and energy are right"
like "$(xpumerge -i all.data 2>/dev/null)" 'SM active % +SM issue %.* power W +energy J .*path' \
	"the summary has metrics by call path"
xpumerge -i all.data -o all.json 2>/dev/null
python3 - all.json >counters <<'END'
import collections, json, sys
tracks = collections.Counter(e["name"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "C")
print(*sorted(n for n in tracks if n not in ("work in flight", "bytes being copied")), sep="\n")
print(tracks["SM active %"] > 300)
END
is "$(tail -n 1 counters)" True "chrome: each sample is a point of a counter track"
is "$(grep -c . counters)" 16 "chrome: 15 counter tracks exist" || diag "$(cat counters)"
xpumerge -i all.data -o all.pftrace 2>/dev/null
like "$(strings all.pftrace)" "DRAM write" "pftrace: a counter track exists"
xpumerge -i all.data -o all.html 2>/dev/null
like "$(cat all.html)" '; power 200 W; energy [0-9.]+ J"' \
	"html: a kernel's frame has its metrics"

# If a filter drops work, the metrics of that work are not attributed to other work.
is "$(xpumerge -i all.data --kernel '^kernel_03' --json --table path_metrics 2>/dev/null |
	python3 -c 'import json, sys
rows = json.load(sys.stdin)["path_metrics"]
kept = sum(r["energy_j"] or 0 for r in rows[:-1])
want = [r for r in json.load(open("kernel.json"))["kernel_metrics"]
        if r["name"].startswith("kernel_03")]
print(len(want), rows[-1]["path"], abs(kept - want[0]["energy_j"]) < 1e-3 * kept)')" \
"1 [idle] True" \
	"a filter on kernels: the kernels that stay keep their share of the energy"

record hz --gpu-metrics=100
nr=$(nr_samples)
[ "${nr:-0}" -gt 20 ]
ok $? "100 samples a second: $nr samples are recorded"
is "$(xpumerge dump hz.data | sed -n 's/.* METRICS set=1 .*duration_ns=\([0-9]*\).*/\1/p' |
	awk '{ n[int($1 / 1e6 + 0.5)]++ } END { for (ms in n) print n[ms], ms }' | sort -rn |
	sed -n '1s/.* //p')" 10 "100 samples a second: each sample covers 10 ms"
record named --gpu-metrics=sm__one,sm__two
is "$(table named gpu_metrics | grep -c '"metric": "sm__')" 2 \
	"two metrics given by name are recorded"
record rate --gpu-metrics=dram__bytes_read.sum.per_second
is "$(xpumerge dump rate.data | sed -n 's/.*"dram__.*" unit=//p')" '"byte/s"' \
	"a metric given by name: its unit is recorded"
is "$(xpumerge -i rate.data --table gpu_metrics 2>rate.err | grep -c ' dram__bytes_read byte/s$')" \
	1 "the table leaves out the end of a metric's name if the unit repeats it"
record both --gpu-metrics=sm__one@100
is "$(table both gpu_metrics | grep -c '"metric": "sm__') $(xpumerge dump both.data |
	sed -n 's/.* METRICS set=1 .*duration_ns=\([0-9]*\).*/\1/p' |
	awk '{ n[int($1 / 1e6 + 0.5)]++ } END { for (ms in n) print n[ms], ms }' | sort -rn |
	sed -n '1s/.* //p')" "1 10" "LIST@HZ: one metric by name, in samples of 10 ms"
xpuload --gpu-metrics=nosuch -o bad.data true >bad.log 2>&1
is "$(tail -n 1 bad.log | grep -c 'metric')" 1 "an unknown metric: prints one line" ||
	diag "$(cat bad.log)"

# While one GPU is being set up, no samples of the GPUs that were set up before are lost.
XPU_SIM_DEVICES=4 XPU_SIM_PM=slow
export XPU_SIM_DEVICES XPU_SIM_PM
xpuload --gpu-metrics -o four.data sleep 0.5 2>load.log
is $? 0 "four GPUs: exit status 0"
unset XPU_SIM_DEVICES XPU_SIM_PM
unlike "$(cat load.log)$(xpumerge four.data 2>&1)" \
	'GPU metrics: [0-9.]+ s without|memory for its metrics was full' \
	"four GPUs: no sample is lost" ||
	diag "$(cat load.log)"
is "$(table four gpu_metrics | grep -c '"metric": "SM active')" 4 "four GPUs: each GPU is sampled"

# If metrics are impossible, one line says so, and the launches are recorded as usual.
rate=80000
while read -r what setting said has; do
	[ -n "$what" ] || continue
	export "XPU_SIM_$setting"
	record "$what" --gpu-metrics
	unset "XPU_SIM_${setting%%=*}"
	like "$(cat load.log)" "$said" "$what: a message says why metrics are missing"
	like "$(table "$what" gpu_metrics)" "\"$(echo "$has" | tr _ ' ')\"" \
		"$what: the metric $has is recorded"
done <<END
privilege PM=privilege privilege SM_active
busy PM=busy another.program SM_active
lacks PM=lacks GPU.metrics GPC_clock
END
XPU_SIM_PM=overflow
export XPU_SIM_PM
launches=40000
record overflow --gpu-metrics=20000
unset XPU_SIM_PM
like "$(cat load.log merge.log)" "times the GPU's memory for its metrics was full" \
	"hardware buffer full: a message counts the overflows"
launches=4000
# A sampler that could not run for a while finds more samples than its buffer can hold: samples that
# do not fit are lost and counted.
xpuload --gpu-metrics -o late.data sh -c 'sleep 0.5; p=$(pgrep -P $PPID -x xpuload-metrics)
	kill -STOP "$p"; sleep 1.5; kill -CONT "$p"; sleep 0.7' 2>load.log
like "$(cat load.log)" 'GPU metrics: ([1-9]|0\.[1-9]).* s without' \
	"late drain: a message says how long there were no samples" || diag "$(cat load.log)"
# If a recorder does not read for a while, because it attaches or is stopped, no sample is lost.
xpuload --gpu-metrics -o stopped.data sh \
	-c 'kill -STOP $PPID; sleep 6; kill -CONT $PPID; sleep 0.3' 2>load.log
unlike "$(cat load.log)" 'GPU metrics: ' "xpuload is stopped for 6 s: no sample is lost" ||
	diag "$(cat load.log)"
nr=$(nr_samples)
[ "${nr:-0}" -gt 6000 ]
ok $? "xpuload is stopped for 6 s: there are $nr samples"

# The sampler fails after the target has ended.
mkdir -p failing
cp "$XPULOAD" "$XPU_SHIM" failing
cat >failing/xpuload-metrics <<END
#!/bin/sh
"$XPU_BUILD/xpuload-metrics" "\$@"
exit 1
END
chmod 755 failing/xpuload-metrics
timeout 300 failing/xpuload --gpu-metrics --strict -o failed.data \
	"$XPU_BUILD/workload/exact" -n 4000 >/dev/null 2>load.log
is $? 125 "the sampler fails at its end: --strict fails"
like "$(cat load.log)" 'warning: xpuload-metrics has failed: the last GPU metrics may be missing' \
	"the sampler fails at its end: a message says so" || diag "$(cat load.log)"

XPU_SIM_NVML=old XPU_SIM_PM=busy
export XPU_SIM_NVML XPU_SIM_PM
record old --gpu-metrics
unset XPU_SIM_NVML XPU_SIM_PM
like "$(table old gpu_metrics)" '"power"' "an old NVML: power and energy are recorded"
is "$(table old gpu_metrics | grep -c 'SM active')" 0 \
	"an old NVML: the activity of SMs is not recorded"
done_testing
