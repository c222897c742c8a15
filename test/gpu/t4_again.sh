#!/bin/sh
# SPDX-License-Identifier: MIT
# On a real GPU, xpuload attaches many times to servers whose threads launch and wait all the time.
# Each recording is exact, even after a detach while threads are inside calls that wait.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root gpu nvcc bpf

for name in demo again; do
	"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
		-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-I"$XPU_SRC/test/workload" -o $name "$XPU_SRC/test/workload/$name.cu" -lcuda \
		-ldl 2>nvcc.log
	ok $? "nvcc builds $name" || diag "$(cat nvcc.log)"
done

# again NAME OPTIONS...: attaches to the server with pid $pid until there are launches
again() {
	name=$1
	shift
	attach again "$@" -p $pid
	wait_for has_launches again 100
	leave again
	is $? 0 "$name $*: exit status 0" || diag "$(cat again.log)"
	xpumerge again.data -f folded --unit count -o again.folded 2>merge.log
	like "$("$XPU_SRC/test/lib/verdict.sh" again.folded merge.log)" \
		'^launches ([1-9][0-9]+) matched \1 wrong 0 unmatched 0 lost 0$' \
			"$name $*: every launch is matched, under its own site" ||
		diag "$(cat merge.log)"
	is "$(grep -c duplicate merge.log)" 0 "$name $*: no two launches have one correlation id"
}

LD_PRELOAD=$XPU_SHIM ./demo -s 12 >out &
pid=$!
sleep 3
for i in 1 2 3; do
	again "demo, $i"
done
wait $pid
is $? 0 "demo ends with exit status 0"

# In the first program, each thread is nearly always inside a call that waits, and there are threads
# for each kind of call. In the second program, threads make calls for which only --api has
# callbacks.
for kind in '' '-k free -t 8'; do
	rm -f out		# an earlier program's output contains "ready", too
	# shellcheck disable=SC2086
	LD_PRELOAD=$XPU_SHIM ./again -s 60 -w 200 $kind >out &
	pid=$!
	wait_for grep -qs ready out
	again "again $kind"
	again "again $kind" --api
	again "again $kind" --api
	again "again $kind" --memory
	again "again $kind"
	kill $pid
	wait $pid
done
done_testing
