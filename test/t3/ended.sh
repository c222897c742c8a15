#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that have ended before a busy recorder reads of them: /proc has no mappings of them any
# more. Their launches have names all the same, or the loss is counted.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live.sh"
need root bpf
quiet_sanitizers
use_sim
exact=$XPU_BUILD/workload/exact

attach all -a --gpu-only
start_dormant idle
awake all

# Their execs have been read while nothing was known of them, their launches and ends have not.
for name in a b c; do
	start $name env LD_PRELOAD="$XPU_SHIM" "$live" -s 1800 -i
done
sleep 0.5
kill -STOP "$all_pid"
for name in a b c; do
	is "$(ask $name "burst 10")" "burst 10" "$name launches while nobody reads"
	finish $name >/dev/null
done

# All of their lives is unread.
LD_PRELOAD=$XPU_SHIM "$exact" -t 2 -n 1000 >exact.out 2>&1
is $? 0 "a program that nobody reads of at all"
kill -CONT "$all_pid"
finish idle >/dev/null
leave all
is $? 0 "xpuload ends as it should"
like "$(cat all.log)" '; lost 0$' "nothing is lost"
# A burst has three copies, too.
exact all $((3 * 13 + 1000)) "each launch is in its place"
done_testing
