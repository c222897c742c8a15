#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that end before a busy recorder reads their events. By then /proc no longer has their
# mappings. Their launches still get names, or the loss is counted.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
exact=$XPU_BUILD/workload/exact

attach all -a --gpu-only
start_dormant idle
awake all

# When xpuload is stopped, it has already read the exec events of these programs, because it has
# read all launches of a program that started later. It reads the launches and the exit events of
# these programs only after the programs have ended.
for name in a b c; do
	start $name env LD_PRELOAD="$XPU_SHIM" "$live" -s 1800 -i
done
LD_PRELOAD=$XPU_SHIM "$exact" -t 1 -n 100 >/dev/null 2>&1
wait_for has_launches all 100
kill -STOP "$all_pid"
for name in a b c; do
	is "$(ask $name "burst 10")" "burst 10" "program $name launches while xpuload is stopped"
	finish $name >/dev/null
done

# No event of this program is read while it runs.
LD_PRELOAD=$XPU_SHIM "$exact" -t 2 -n 1000 >exact.out 2>&1
is $? 0 "a program that runs while xpuload is stopped: exit status 0"
kill -CONT "$all_pid"
finish idle >/dev/null
leave all
is $? 0 "xpuload ends with exit status 0"
like "$(cat all.log)" '; lost 0$' "nothing is lost"
# The program's burst also makes three memory copies.
exact all $((3 * 13 + 1100)) "every launch is matched, under its own site"
done_testing
