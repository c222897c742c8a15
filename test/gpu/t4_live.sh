#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload attaches to a PyTorch loop many times. The loop does not crash or hang, its memory does
# not grow, and its results do not change.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root gpu bpf torch
times=${XPU_ATTACH_TIMES:-20}

LD_PRELOAD=$XPU_SHIM python3 "$XPU_SRC/test/gpu/more.py" loop >out 2>err &
pid=$!
sleep 8
kill -0 $pid
ok $? "a PyTorch loop with the shim runs"

rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"
}

# Each recording ends when it has launches, however long that takes on a busy machine.
i=0 bad=0 empty=0
while [ $i -lt "$times" ]; do
	attach a -p $pid
	wait_for has_launches a 1 || empty=$((empty + 1))
	leave a || bad=$((bad + 1))
	grep -q 'lost 0' a.log || diag "round $i: $(cat a.log)"
	i=$((i + 1))
	[ $i = 5 ] && before=$(rss)
done
after=$(rss)
is $bad 0 "xpuload attaches and detaches $times times"
is $empty 0 "each time launches are recorded"
xpumerge -i a.data -f folded --unit count -o a.folded 2>merge.log
is $? 0 "the last recording is merged"
diag "$(cat merge.log)"
like "$(cat merge.log)" 'lost 0' "nothing is lost"
diag "resident: $before KiB after 5 rounds, $after KiB after $times"
[ $((after - before)) -lt 20000 ]
ok $? "the loop's memory does not grow"
kill -TERM $pid
wait $pid
is $? 0 "the loop ends with exit status 0"
diag "$(cat out)"
like "$(cat out)" 'different 0' "the loop's results are unchanged"
done_testing
