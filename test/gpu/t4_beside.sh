#!/bin/sh
# SPDX-License-Identifier: MIT
# Ten windows of torch.profiler in the target, in each of XPU_BESIDE_RUNS runs (default 1). The
# profiler has the same events as in a run without xpuload, nothing crashes, and each recorded
# launch has its work. Prints the recorded share of the run. With XPU_BESIDE_WHOLE=1, xpuload shares
# CUPTI with the profiler, and the share must be 100 %: doc/beside.md.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch
runs=${XPU_BESIDE_RUNS:-1}
how="--cupti ${XPU_BESIDE_WHOLE:+share}"
[ -n "${XPU_BESIDE_WHOLE:-}" ] || how="--cupti yield"

cuda=${CUDA_HOME:-/usr/local/cuda}
lib=$(find "$cuda/" -name 'libcupti.so.[0-9]*' 2>/dev/null | head -n 1)
if [ -n "$lib" ] && "${CC:-gcc}" -I"$cuda/include" -o next_record \
		"$XPU_SRC/test/gpu/next_record.c" "$lib" -Wl,-rpath,"$(dirname "$lib")" \
		-Wl,--allow-shlib-undefined 2>cc.log; then
	./next_record >next.out 2>&1
	is $? 0 "$(cat next.out): records are read from any buffer"
else
	skip "records are read from any buffer" \
		"no CUPTI to link to: $(tail -n 1 cc.log 2>/dev/null)"
fi

program="$XPU_SRC/test/gpu/beside.py"
timeout 120 python3 "$program" >want.out 2>want.err
is $? 0 "without xpuload: exit status 0" || diag "$(tail -n 5 want.err)"
diag "$(cat want.out)"
is "$(grep \
	-c '^beside: window [0-9]: 50 tanh, 50 exp, 50 Memcpy HtoD, 50 aten::tanh, .* 150 with a stack, 0 backwards, 0 out of order$' \
	want.out)" 10 "without xpuload: there are ten complete windows"

nr_failed=0 nr_other=0 nr_lossy=0 nr_whole=0
total=$(sed -n 's/^beside: in all \([0-9]*\) tanh.*/\1/p' want.out)
for i in $(seq "$runs"); do
	# shellcheck disable=SC2086 # two arguments
	timeout -k 5 120 "$XPULOAD" $how -o x.data python3 "$program" >x.out 2>x.err || {
		nr_failed=$((nr_failed + 1))
		diag "run $i: failed" "$(tail -n 20 x.err)"
	}
	cmp -s want.out x.out || {
		nr_other=$((nr_other + 1))
		diag "run $i:" "$(diff want.out x.out)"
	}
	xpumerge -i x.data -f folded --unit count -o x.folded 2>x.mlog
	line=$(grep -o 'launches .* matched .* lost [0-9]*' x.mlog | head -n 1)
	case $line in
	*' lost 0') ;;
	*)	nr_lossy=$((nr_lossy + 1)) ;;
	esac
	got=$(awk '/_Kernel\][^;]*tanh/ { n += $NF } END { print n + 0 }' x.folded)
	[ "$got" = "$total" ] && nr_whole=$((nr_whole + 1))
	diag "run $i: $got of $total tanh recorded; $line" "$(grep 'uses CUPTI itself' x.err)"
	rm -rf x.data x.data.files
done
is $nr_failed 0 "$runs runs: each exits with 0"
is $nr_other 0 "$runs runs: the events equal those without xpuload"
is $nr_lossy 0 "$runs runs: recorded launches have their work"
diag "$nr_whole of $runs runs recorded as a whole"
[ -z "${XPU_BESIDE_WHOLE:-}" ] || is $nr_whole "$runs" "$runs runs: each is recorded completely"
done_testing
