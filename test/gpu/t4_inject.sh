#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload injects the shim into programs that were started without it: training in PyTorch,
# inference with a CUDA graph, JAX and, on two GPUs, two NCCL ranks in the middle of collectives.
# Each program keeps running with unchanged results, and its launches are recorded. XPU_INJECT_TIMES
# is the number of programs of each kind (default 3), XPU_INJECT_KINDS lists the kinds. The test
# takes about 2 minutes.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root gpu bpf torch
times=${XPU_INJECT_TIMES:-3}
kinds=${XPU_INJECT_KINDS:-train alone graphs}
if [ -z "${XPU_INJECT_KINDS:-}" ]; then
	python3 -c 'import jax' 2>/dev/null && kinds="$kinds jax"
	[ "$(nvidia-smi -L | wc -l)" -ge 2 ] && kinds="$kinds ranks"
fi
diag "programs: $kinds, $times of each"

start_programs() {	# start_programs ROUND: starts a program of each kind, in KIND.ROUND/
	for kind in $kinds; do
		mkdir "$kind.$1"
		python3 "$XPU_SRC/test/gpu/inject.py" "$kind" >"$kind.$1/out" 2>"$kind.$1/err" &
		echo $! >"$kind.$1/pid"
	done
}

is_ready() {		# is_ready DIR: succeeds if all processes of the program run
	want=1
	[ "${1%.*}" = ranks ] && want=2
	[ "$(grep -c '^ready' "$1/out")" = $want ]
}

record() {		# record DIR PID: records the process, and checks the result
	"$XPULOAD" -o a.data -p "$2" --duration 1 2>a.log
	status=$?
	stood=$(sed -n 's/.*put the shim into .* stood still for \([0-9.]*\) ms.*/\1/p' a.log)
	[ -n "$stood" ] && echo "$stood" >>"${1%.*}.stops"
	[ $status = 0 ] && grep -q 'lost 0$' a.log || return 1
	xpumerge -i a.data -f folded -o a.folded 2>merge.log
	grep -qE '^launches ([1-9][0-9]*) matched \1 ' merge.log || return 1
	[ "${1%.*}" != train ] || grep -q 'inject.py' a.folded
}

check() {		# check DIR: records each process, ends the program, and checks its results
	wait_for is_ready "$1" || diag "$(tail -n 5 "$1/err")"
	for pid in $(sed -n 's/^ready //p' "$1/out"); do
		record "$1" "$pid" || {
			# This program may never have a thread that is safe to borrow.
			[ "${1%.*}" = alone ] && grep -q 'could be borrowed' a.log ||
				echo "$1 $pid" >>"${1%.*}.bad"
			diag "$1: $(cat a.log merge.log)"
		}
		kill -0 "$pid" || echo "$1 $pid has ended" >>"${1%.*}.harmed"
	done
	kill "$(cat "$1/pid")"
	wait "$(cat "$1/pid")"
	status=$?
	[ $status = 0 ] && [ "$(grep -c '^steps [1-9][0-9]* different 0$' "$1/out")" = \
		"$(grep -c '^ready' "$1/out")" ] || {
		echo "$1: status $status" >>"${1%.*}.harmed"
		diag "$1: status $status: $(cat "$1/out") $(tail -n 5 "$1/err")"
	}
}

start=$(uptime_s)
for i in $(seq "$times"); do
	start_programs "$i"
	for kind in $kinds; do
		check "$kind.$i"
	done
done
for kind in $kinds; do
	is "$(cat "$kind.harmed" 2>/dev/null)" "" \
		"$kind: each program goes on, with equal results, and ends with exit status 0"
	is "$(cat "$kind.bad" 2>/dev/null)" "" \
		"$kind: each launch is recorded and matched, and nothing is lost"
	[ -e "$kind.stops" ] || continue
	sort -n "$kind.stops" >sorted
	nr=$(wc -l <sorted)
	diag "$kind: $nr times, a thread stood still for" \
		"$(sed -n $(((nr + 1) / 2))p sorted) ms in the median, $(tail -n 1 sorted) at most"
done
diag "$(($(uptime_s) - start)) s"
done_testing
