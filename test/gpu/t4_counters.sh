#!/bin/sh
# SPDX-License-Identifier: MIT
# From the samples of a run, xpumerge computes counters of each kernel. The test compares these
# counters with the values of Nsight Compute, which runs each kernel several times.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch
command -v ncu >/dev/null || skip_all "no ncu"

seconds=${XPU_COUNTERS_SECONDS:-10}
share=avg.pct_of_peak_sustained_elapsed
metrics=sm__cycles_active.$share,sm__inst_executed_realtime.$share
metrics=$metrics,sm__pipe_tensor_cycles_active.$share
metrics=$metrics,dram__bytes_read.sum.pct_of_peak_sustained_elapsed
metrics=$metrics,dram__bytes_write.sum.pct_of_peak_sustained_elapsed
metrics=$metrics,gpu__time_duration.sum,gpc__cycles_elapsed.max

for kind in big small; do
	ncu --csv --profile-from-start off --clock-control none --cache-control none \
		--metrics "$metrics" python3 "$XPU_SRC/test/gpu/counters.py" $kind once \
		>$kind.csv 2>ncu.log
	grep -q '^"' $kind.csv
	ok $? "$kind: Nsight Compute measures one step" ||
		diag "$(tail -n 5 ncu.log)" "$(tail -n 5 $kind.csv)"
done
cp small.csv graph.csv
for kind in big small graph; do
	for hz in ${XPU_COUNTERS_HZ:-1000 5000}; do
		name=$kind.$hz
		xpuload --gpu-metrics=$hz -o $name.data \
			python3 "$XPU_SRC/test/gpu/counters.py" $kind "$seconds" \
			>$name.out 2>$name.log
		is "$(grep -c 'lost 0$' $name.log)" 1 "$name: nothing is lost" ||
			diag "$(cat $name.log)"
		xpumerge -i $name.data --json --table kernel_metrics >$name.json 2>merge.log
		python3 "$XPU_SRC/test/gpu/counters_compare.py" $name.json $kind.csv >$name.seen
		diag "$name" "$(grep -v '^#' $name.seen)"
		diag "$(grep '^#' $name.seen)"
		# Nsight Compute runs a kernel alone, with different cache contents and at another
		# clock rate. Nine out of ten kernels must be within the stated error or within 5
		# points.
		is "$(awk '/ known / { for (i = 2; i < NF; i++) if ($(i + 2) == "kernels") {
				far += $(i - 1); nr += $(i + 1) } }
			END { print (nr > 0 && far <= nr / 10 ? "within" : far " of " nr) }' \
			$name.seen)" within "$name: values are within their stated errors"
	done
done
[ -z "${XPU_KEEP:-}" ] || cp ./*.data ./*.csv ./*.json ./*.seen ./*.log "$XPU_KEEP"
done_testing
