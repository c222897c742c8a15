#!/bin/sh
# SPDX-License-Identifier: MIT
# Calls of xpuload fail because resources run out: the summary names everything that is missing.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer's library must be the first that is loaded"
use_sim
${CC:-gcc} -shared -fPIC -o failing.so "$XPU_SRC/test/lib/failing.c" -ldl 2>cc.log ||
	skip_all "no C compiler"

# fault FAULT NAME ARGS...: runs xpuload in the background, as attach() does
fault() {
	XPU_FAILING=$1
	export XPU_FAILING
	shift
	observer=$1
	shift
	rm -f "$observer.data" "$observer.log"
	LD_PRELOAD=$PWD/failing.so "$XPULOAD" -z 0 -o "$observer.data" "$@" 2>"$observer.log" &
	eval "${observer}_pid=$!"
	unset XPU_FAILING
}

# The shim's file in a child cannot be opened.
start a sh -c '"$@"; exit' sh env LD_PRELOAD="$XPU_SHIM" "$live" -s 1800
fault shim unread --strict -p "$a_pid"
wait_for grep -qs 'Ctrl-C ends' unread.log
leave unread
is "$? $(grep -c 'cannot look for libxpushim.so in pid' unread.log)" "125 1" \
	"a shim that cannot be opened: a message, and --strict fails" || diag "$(cat unread.log)"
like "$(cat unread.log)" ' 1 process could not be attached to: its launches may be missing' \
	"a shim that cannot be opened: the summary counts the process"
finish a

# The BPF map of processes has no entry for the second program.
start_dormant b
start_dormant c
fault procs=1 full --strict --gpu-only -p "$b_pid" -p "$c_pid"
wait_for grep -qs 'Ctrl-C ends' full.log
ask b "burst 100" >/dev/null
ask c "burst 100" >/dev/null
leave full
is $? 125 "the map of processes is full: --strict fails"
like "$(cat full.log)" 'lost: [0-9]+ process events' \
	"the map of processes is full: the summary counts a loss" || diag "$(cat full.log)"
finish b
finish c

# The BPF map of threads' CPU times has one entry.
XPU_FAILING=cpu_times=1 LD_PRELOAD=$PWD/failing.so xpuload --cpu-only -o times.data \
	"$XPU_BUILD/workload/cpu" 200 threads=4 >times.out 2>times.log
like "$(cat times.log)" 'lost: [0-9]+ accounts of threads' \
	"the map of CPU times is full: the summary counts a loss" || diag "$(cat times.log)"

# A process ends after xpuload has detached, before xpuload reads the accounts of its threads.
start_dormant d
fault accounts late --off-cpu -p "$d_pid"
awake late
ask d "burst 100" >/dev/null
kill -INT "$late_pid"
wait_for test -e paused
finish d
: >go
wait "$late_pid"
xpumerge dump late.data 2>/dev/null >late.dump
main=$(sed -n "s/.* THREAD \(thread_id=[0-9]*\) .* tid=$d_pid .*/\1/p" late.dump)
grep -q " ACCOUNT .* ${main:-missing} " late.dump
ok $? "a process that ends while accounts are written has the account of its thread" ||
	diag "$(cat late.log)"

# A process ends while its mappings are read.
"$XPU_BUILD/workload/cpu" 600000 user &
burner=$!
fault maps cut --cpu-only -p $burner
is_met() {
	xpumerge dump cut.data 2>/dev/null | grep -q ' PROCESS '
}
wait_for is_met
leave cut
like "$(cat cut.log)" 'lost: 1 mmap or comm events' \
	"a process that ends while its mappings are read: a loss is counted" ||
	diag "$(cat cut.log)"
kill $burner

# A CPU that comes online during the recording.
if [ "$(nproc)" -ge 2 ] && taskset -c 1 true 2>/dev/null; then
	start f taskset -c 1 "$live" -s 1800
	fault offline cpu --cpu-only -p "$f_pid"
	wait_for grep -qs 'Ctrl-C ends' cpu.log
	nr_rings() {
		grep -c 'anon_inode:\[perf_event\]' "/proc/$cpu_pid/maps"
	}
	rings=$(nr_rings)
	has_more_rings() {
		[ "$(nr_rings)" -gt "$rings" ]
	}
	: >online
	wait_for has_more_rings
	leave cpu
	like "$(cat cpu.log)" 'lost: 1 mmap or comm events' \
		"a CPU that comes online: a loss is counted" || diag "$(cat cpu.log)"
	finish f
else
	skip "a CPU that comes online" "one CPU"
fi

# More processes than have probes of their own, and no probe that watches all processes.
sh -c 'for i in $(seq 139); do sleep 1800 & done; wait' &
many=$!
has_children() {
	[ "$(pgrep -c -P $many)" = 139 ]
}
wait_for has_children
fault everywhere many -p $many
wait_for grep -qs 'Ctrl-C ends' many.log
leave many
like "$(cat many.log)" ' 12 processes could not be attached to: their launches may be missing' \
	"140 processes, only 128 of which can be watched: the summary counts the others" ||
	diag "$(cat many.log)"
! grep -q 'more than 128 processes' many.log
ok $? "140 processes: no message says that all shims are woken"
pkill -P $many
wait $many
done_testing
