#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload attaches to a program fifty times. Each recording is exact, and no memory leaks.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim

start_dormant b -t 4
failed=0
: >failures
for i in $(seq 20); do
	attach again -q -p "$b_pid"
	awake again
	ask b "burst 100" >/dev/null
	leave again
	status=$?
	line=$(verdict again)
	[ "$status $line" = "0 launches 103 matched 103 wrong 0 unmatched 0 lost 0" ] || {
		failed=$((failed + 1))
		echo "round $i: status $status, $line" | cat - again.log again.mlog >>failures
	}
done
is $failed 0 "20 recordings in a row are exact" || diag "$(cat failures)"
failed=0
before=$(ask b rss | cut -d' ' -f2)
for i in $(seq 30); do
	xpuload -q -o again.data -p "$b_pid" --duration 0.12 2>again.log || {
		failed=$((failed + 1))
		echo "round $i" | cat - again.log >>failures
	}
done
is $failed 0 "another 30 recordings are exact" || diag "$(cat failures)"
after=$(ask b rss | cut -d' ' -f2)
diag "resident: $before KiB after 20 rounds, $after KiB after 50"
[ $((after - before)) -lt 768 ]
ok $? "no memory is left behind"

# The target is stopped when xpuload detaches, so the last records are still in the target.
wait_for_late() {	# stops the target and interrupts xpuload, which then waits for the target
	attach late --strict --gpu-only -p "$b_pid"
	awake late
	ask b "burst 100" >/dev/null
	kill -STOP "$b_pid"
	kill -INT "$late_pid"
	wait_for grep -q "waiting for the last records of 1 process:" late.log
}

wait_for_late
kill -CONT "$b_pid"
wait "$late_pid"
is $? 0 "stopped at the detach, and continued: exit status 0 with --strict"
exact late 103 "stopped at the detach, and continued: exact"
wait_for_late
kill -INT "$late_pid"
wait "$late_pid"
is $? 125 "stopped at the detach, and interrupted again: --strict fails"
like "$(cat late.log)" "pid $b_pid \(live\) hardly ran after" \
	"stopped at the detach, and interrupted again: xpuload names the process"
like "$(verdict late)" "lost 1$" \
	"stopped at the detach, and interrupted again: the recording reports the loss" ||
	diag "$(cat late.mlog)"
kill -CONT "$b_pid"
asleep b

finish b
is $? 0 "the program ends with exit status 0"
done_testing
