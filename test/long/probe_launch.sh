#!/bin/sh
# SPDX-License-Identifier: MIT
# --probe launch gives the same results as the default, --probe path: it runs the same tests; and
# the results of one single-threaded workload must be equal to the byte. The ends of processes,
# which ends.sh tests, differ: with --probe launch, no launch waits in a log.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
quiet_sanitizers
use_sim

for mode in path launch; do
	xpuload --probe $mode -o $mode.data "$XPU_BUILD/workload/exact" -t 1 -s 16 -n 4000 >/dev/null \
		2>$mode.log
	xpumerge -i $mode.data -f folded --unit count -o $mode.folded 2>$mode.mlog
	is "$("$XPU_SRC/test/lib/verdict.sh" $mode.folded $mode.mlog)" \
		"launches 4000 matched 4000 wrong 0 unmatched 0 lost 0" "--probe $mode: exact"
done
cmp path.folded launch.folded
ok $? "both give the same stacks"
is "$(sed -n 's/.* launches from \([0-9]*\) .*/\1/p' path.log)" \
	"$(sed -n 's/.* launches from \([0-9]*\) .*/\1/p' launch.log)" "and the same number of them"

export XPUSHIM_PROBE=launch
for test in exact graph coverage; do
	mkdir "$test"
	(cd "$test" && sh "$XPU_SRC/test/t3/$test.sh" >out 2>err)
	ok $? "$test.sh, at every launch" || diag "$(grep '^not ok' -A 3 "$test/out"; tail -n 5 "$test/err")"
done

xpuload --probe sometimes true 2>log
is $? 125 "--probe sometimes: refused"
like "$(cat log)" "expected launch or path" "--probe sometimes: with what is wanted"
xpuload --probe path --call-graph fp true 2>log
like "$(cat log)" "as with --probe launch" "--probe path with frame pointers: says what is done"
xpuload --probe path -p 1 2>log
is $? 125 "--probe for a running program: refused"
like "$(cat log)" "XPUSHIM_PROBE in the program.s environment decides" "and what decides instead"

done_testing
