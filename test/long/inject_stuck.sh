#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# While xpuload puts the shim into one program, it records the others. If this takes too long,
# xpuload gives up.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer's allocator wraps every call that waits"
use_sim

# stop_injector: stops the process that puts the shim into the program. An earlier process of the
# same name only checks the program, before xpuload opens the recording.
stop_injector() {
	[ -e both.data ] && injector=$(pgrep -P "$both_pid" -x xpuload-inject) &&
		kill -STOP "$injector"
}

start_dormant a -t 2
# A program that never waits: for three seconds, xpuload looks for a thread that it can borrow.
env LD_PRELOAD="$XPU_BUILD/sim/libcuda.so.1" "$XPU_BUILD/workload/cpu" 1800000 user >cpu.out &
cpu=$!
wait_for grep -qs libcuda.so "/proc/$cpu/maps"
attach both -p "$a_pid,$cpu"
wait_for stop_injector || diag "$(cat both.log)"
awake both
is "$(ask a "burst 1000")" "burst 1000" "the injection is stuck: a program with the shim runs on"
wait_for grep -q "cannot put the shim into pid $cpu (cpu): it takes more than 30 s" both.log
ok $? "the injection is stuck: xpuload gives up after a while" || diag "$(cat both.log)"
wait_for grep -q "attached to 1 process," both.log
ok $? "after the stuck injection, xpuload says that it is attached" || diag "$(cat both.log)"
leave both
exact both 1003 "each launch of the other program is recorded, also during the injection"
like "$(cat both.log)" "the shim could not be put into 1 process, such as pid $cpu .cpu.: it takes" \
	"the summary says which program has no shim, and why"
kill -0 $cpu
ok $? "the program without the shim runs on"
kill $cpu
finish a
is $? 0 "the other program ends with exit status 0"
done_testing
