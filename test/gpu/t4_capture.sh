#!/bin/sh
# SPDX-License-Identifier: MIT
# --capture on a real GPU records exactly the launches in windows, for a C++ program with eight
# threads and for PyTorch. Also prints the cost of a launch outside of windows.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
	-I"$XPU_SRC/test/workload" -o capture "$XPU_SRC/test/workload/capture.cu" -lcuda \
	-ldl 2>nvcc.log
ok $? "nvcc builds capture" || diag "$(cat nvcc.log)"

counts() {		# counts NAME: prints how often each site launched, and the account
	xpumerge -i "$1.data" -f folded --gpu-only --unit count -o "$1.folded" 2>merge.log
	sed -n 's/.*\[GPU[0-9]*_Kernel\]kernel_\([a-z]*\)\(;.*\)* \([0-9]*\)$/\1 \3/p' "$1.folded" |
		awk '{ n[$1] += $2 } END { for (i in n) print i, n[i] }' | sort | tr '\n' ' '
	sed -n 's/^.*\(launches [0-9].* lost [0-9]*\)$/\1/p' merge.log
}

run() {			# run NAME CAPTURE KERNELS OPTIONS-OF-XPULOAD ARGS...
	name=$1 what=$2 expected=$3 opts=$4
	shift 4
	nr=$(echo "$expected" | awk '{ print $2 + 0 }')
	# shellcheck disable=SC2086
	xpuload --strict --capture "$what" $opts -o "$name.data" ./capture "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	is "$(counts "$name")" \
		"${expected:+$expected }launches $nr matched $nr unmatched 0 lost 0" \
		"$name: exactly the launches in windows are recorded" ||
		diag "$(cat load.log)"
}

run profiler cuda-profiler-api "in 40000" '' -t 8 -w 100 -n 50
run shm cuda-profiler-api "in 20000" '--gpu-only --transport shm' -t 8 -w 50 -n 50
run api cuda-profiler-api "in 8000" '--api' -t 8 -w 20 -n 50
run stalls cuda-profiler-api "in 8000" '--stalls --gpu-metrics' -t 8 -w 20 -n 50
if ./capture -t 1 -n 1 -m push >/dev/null; then
	run push 'nvtx:^window$' "in 20000" '' -t 8 -w 50 -n 50 -m push
	run start nvtx:window "in 8000" '' -t 8 -w 20 -n 50 -m start
fi
run first launch:1-10 "out 10" '--gpu-only' -t 8 -w 1 -n 400 -m none
run second launch:3201-6400 "in 3200" '--gpu-only' -t 8 -w 1 -n 400 -m none
run none launch:100000-200000 "" '--gpu-only' -t 8 -w 1 -n 400 -m none
# Threads launch and wait all the time, even while the callbacks of their current calls are enabled
# or disabled. In this case, CUPTI 13.0 gave all calls of a thread the same correlation ID.
race() {		# race NAME OPTIONS-OF-XPULOAD ARGS...
	name=$1 opts=$2
	shift 2
	# shellcheck disable=SC2086
	xpuload --strict $opts -o race.data ./capture -t 4 -w 100 -n 10 -r 4 "$@" >out 2>load.log
	is $? 0 "racers, $name: exit status 0" || diag "$(cat load.log)"
	like "$(counts race)" \
		'^any [0-9]+ in 4000 launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
		"racers, $name: no part of a launch is missing or left over"
	diag "racers, $name: $(cat out); $(counts race)"
}

race profiler '--capture cuda-profiler-api'
race again '--capture cuda-profiler-api'
race shm '--capture cuda-profiler-api --transport shm'
race api '--capture cuda-profiler-api --api'
! ./capture -t 1 -n 1 -m push >/dev/null || race nvtx '--capture nvtx:^window$' -m push
is "$(xpumerge -i race.data --window 7 -f folded --gpu-only --unit count 2>/dev/null |
	awk '{ n += $NF } END { print n }')" \
	"$(xpumerge dump race.data | sed -n 's/.*WINDOW misc=closed number=7 .*nr_launches=//p')" \
	"--window 7: it has as many launches as the shim counted"

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	for how in profiler nvtx; do
		what=cuda-profiler-api
		[ $how = profiler ] || what='nvtx:^window$'
		xpuload --strict --capture "$what" -o torch.data python3 \
			"$XPU_SRC/test/gpu/capture.py" $how >out 2>load.log
		is $? 0 "PyTorch, $how: exit status 0" || diag "$(cat load.log out)"
		diag "PyTorch, $how: $(grep 'launches from' load.log)"
		xpumerge -i torch.data -f folded --gpu-only --unit count -o torch.folded 2>merge.log
		is "$(sed -n 's/^.*\(launches [0-9].* lost [0-9]*\)$/\1/p' merge.log)" \
			"launches 8000 matched 8000 unmatched 0 lost 0" \
				"PyTorch, $how: exactly the launches in windows are recorded"
		is "$(grep -v -i 'mul' torch.folded | awk '{ n += $NF } END { print n + 0 }')" 0 \
			"PyTorch, $how: no launch outside of windows is recorded"
	done
else
	skip "windows of PyTorch" "no PyTorch with CUDA"
fi

WORKLOADS=null1 ROWS='bare dormant floor capture captured path' ROUNDS=${XPU_BENCH_ROUNDS:-10} \
	python3 "$XPU_SRC/test/bench/gpu.py" >bench.log 2>&1
diag "$(cat bench.log)"
done_testing
