#!/bin/sh
# SPDX-License-Identifier: MIT
# --probe launch gives the same results as the default, --probe path: the same tests pass, and the
# results of one single-threaded workload are identical. The ends of processes, which ends.sh tests,
# differ: with --probe launch, no launch waits in a log.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
quiet_sanitizers
use_sim

for mode in path launch; do
	xpuload --probe $mode -o $mode.data "$XPU_BUILD/workload/exact" -t 1 -s 16 \
		-n 4000 >/dev/null 2>$mode.log
	xpumerge -i $mode.data -f folded --unit count -o $mode.folded 2>$mode.mlog
	is "$("$XPU_SRC/test/lib/verdict.sh" $mode.folded $mode.mlog)" \
		"launches 4000 matched 4000 wrong 0 unmatched 0 lost 0" \
			"--probe $mode: every launch is matched, under its own site"
done
cmp path.folded launch.folded
ok $? "both modes give equal stacks"
is "$(sed -n 's/.* launches from \([0-9]*\) .*/\1/p' path.log)" \
	"$(sed -n 's/.* launches from \([0-9]*\) .*/\1/p' launch.log)" \
		"both modes give the same number of call paths"

export XPUSHIM_PROBE=launch
for test in exact graph every_call; do
	mkdir "$test"
	(cd "$test" && sh "$XPU_SRC/test/t3/$test.sh" >out 2>err)
	ok $? \
		"$test.sh passes with --probe launch" ||
		diag "$(grep '^not ok' -A 3 "$test/out"; tail -n 5 "$test/err")"
done

xpuload --probe sometimes true 2>log
is $? 125 "--probe sometimes: refused"
like "$(cat log)" "expected launch or path" "--probe sometimes: the message says what is expected"
xpuload --probe path --call-graph fp true 2>log
like "$(cat log)" "as with --probe launch" \
	"--probe path with frame pointers: a message says that xpuload acts like --probe launch"
xpuload --probe path -p 1 2>log
is $? 125 "--probe for a running program: refused"
like "$(cat log)" "XPUSHIM_PROBE in the program.s environment decides" \
	"--probe for a running program: the message names the variable that decides"

done_testing
