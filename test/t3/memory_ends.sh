#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory: memory that is still held after double frees, the end of a context or a process, a
# reset, and frees in exit handlers and at thread ends. Also a hook with nonsense arguments, and
# recorders and targets that are killed while memory is recorded.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
need root bpf
quiet_sanitizers
use_sim
ends=$XPU_BUILD/workload/memory_ends

# left NAME: compares the memory that was never freed with the program's own list
left() {
	xpumerge -i "$1.data" --memory leaked -f folded -o "$1.folded" 2>"$1.merge"
	memory_sums "$1.folded" | grep -v fragmentation >got
	memory_truth "$1.out" leaked >expected
	is "$(cat got)" "$(cat expected)" "$1: the live memory equals the program's own list"
}

for how in bpf shm; do
	for what in double reset context exec exit; do
		xpuload --memory --gpu-only --transport $how -o $what-$how.data "$ends" \
			$what >$what-$how.out 2>load.log
		is $? 0 "$what-$how: exit status 0" || diag "$(cat load.log)"
		like "$(tail -n 1 load.log)" 'lost 0$' "$what-$how: nothing is lost"
		left $what-$how
		unlike "$(cat $what-$how.merge)" 'events of memory' \
			"$what-$how: no event is missing or impossible"
	done
done
is "$(xpumerge dump double-bpf.data | grep -o 'what=NOT_FREED' | wc -l)" 6 \
	"refused calls to free memory are recorded as refused"
is "$(xpumerge -i double-bpf.data --table memory_failures --csv 2>/dev/null |
	awk -F, 'NR > 1 { print $2 }' | paste -sd' ' -)" \
	"18446744073709551614 9223372036854775808" "the refused sizes are recorded"

xpuload --memory --gpu-only -o hook.data "$ends" hook \
	"$XPU_BUILD/workload/torch_libs/libc10.so" >hook.out 2>load.log
is $? 0 "hook: exit status 0" || diag "$(cat load.log)"
xpumerge -i hook.data --memory leaked -f folded -o hook.folded 2>hook.merge
like "$(grep '\[GPU_Memory\]block' hook.folded || grep '\[GPU0_Memory\]block' hook.folded)" \
	' 512$' "hook: a valid block among invalid reports is recorded"
unlike "$(xpumerge dump hook.data | grep -o 'space=BLOCK [^}]*' )" 'device=(3|77) ' \
	"hook: no block of another type of device is recorded"

unlike "$(xpumerge dump hook.data | grep -o 'what=MADE space=BLOCK [^}]* bytes=0 ')" . \
	"hook: no block of 0 bytes is recorded"

# Many threads that free each other's memory, at few addresses.
xpuload --memory --gpu-only -o many.data "$XPU_BUILD/workload/memory" -t 64 \
	-n 30 >many.out 2>load.log
is $? 0 "64 threads: exit status 0" || diag "$(cat load.log)"
memory_wrong many.data many.out >verdict
is "$(tail -n 1 verdict)" "wrong 0" "64 threads: bytes by path are right" || diag "$(cat verdict)"

# sound NAME REGEX TEST: checks that xpumerge reports no missing or impossible events that match
# REGEX; even on a busy machine the ring has space for all events
sound() {
	unlike "$(cat "$1.merge")" "events of memory $2" "$3" || diag "$(cat "$1.merge")"
}

# has_both NAME: tests whether the recording has memory of both sites of the program
has_both() {
	[ "$(xpumerge -i "$1.data" --memory live -f folded 2>/dev/null | grep -c mem_site)" = 2 ]
}

# The target is killed.
start killed env LD_PRELOAD="$XPU_SHIM" "$ends" loop
xpuload --memory --gpu-only -m 256M -o killed.data -p "$killed_pid" 2>load.log &
loader=$!
wait_for has_both killed
kill -9 "$killed_pid"
wait $loader
is $? 0 "target killed: exit status 0" || diag "$(cat load.log)"
xpumerge -i killed.data --memory live -f folded -o killed.folded 2>killed.merge
sound killed '(that|sent)' "target killed: no event is missing or impossible"
is "$(awk '/mem_site/ { n++; if ($NF > 64 * 1000) n = 99 } END { print n }' killed.folded)" 2 \
	"target killed: the recording has exactly the memory that the target held"

# The recorder is killed, and another one attaches.
start again env LD_PRELOAD="$XPU_SHIM" "$ends" loop
"$XPULOAD" --memory --gpu-only -m 256M -o first.data -p "$again_pid" 2>load.log &
loader=$!
wait_for has_both first
kill -9 $loader
wait $loader 2>/dev/null
"$XPULOAD" --memory --gpu-only -m 256M -o second.data -p "$again_pid" 2>load.log &
loader=$!
wait_for has_both second
kill -INT $loader
wait $loader
is $? 0 "recorder killed, another recorder: exit status 0" || diag "$(cat load.log)"
kill -9 "$again_pid"
for name in first second; do
	xpumerge -i $name.data --memory live -f folded -o $name.folded 2>$name.merge
	sound $name 'that are impossible' "$name: no event is impossible"
	is "$(awk '/mem_site/ { n++; if ($NF > 64 * 1000) n = 99 } END { print n }' $name.folded)" \
		2 "$name: the recording has exactly the memory that the program held"
done

# The recorder is stopped, and its buffer is too small for all events. Lost events are counted
# exactly once.
start flood env LD_PRELOAD="$XPU_SHIM" "$ends" loop 10000
attach full --memory --gpu-only -m 256K -p "$flood_pid"
wait_for has_both full
# pauses: prints how often the program's threads have paused, which they do after every 100
# allocations
pauses() {
	cat "/proc/$flood_pid/task/"*/status | awk '/^voluntary/ { n += $2 } END { print n }'
}
has_paused() {
	[ "$(pauses)" -ge $((before + $1)) ]
}
kill -STOP "$full_pid"
before=$(pauses)
wait_for has_paused 400
kill -CONT "$full_pid"
# The program's last batch, with its counters, needs space.
before=$(pauses)
wait_for has_paused 100
leave full
kill -9 "$flood_pid"
made=$(xpumerge dump full.data | sed -n 's/.* COUNTERS misc=LAST .* nr_allocs=//p' | tail -n 1)
got=$(sed -n 's/.* \([0-9]*\) events of memory, .*/\1/p' full.log)
lost=$(sed -n 's/.*lost: .*\b\([0-9][0-9]*\) events of memory (ring full.*/\1/p' full.log)
[ "${lost:-0}" -gt 0 ]
ok $? "buffer full: the recorder says how many memory events are lost" || diag "$(cat full.log)"
is $((${got:-0} + ${lost:-0})) "$made" \
	"buffer full: recorded and lost events add up to all events" || diag "$(cat full.log)"
xpumerge -i full.data -f folded -o full.folded 2>full.merge
is "$(sed -n 's/^ *\([0-9]*\) events of memory lost: .*/\1/p' full.merge)" "$lost" \
	"buffer full: xpumerge counts the lost events, too" || diag "$(cat full.merge)"
# Each of the four threads is in at most one call.
[ "$(sed -n 's/^ *\([0-9]*\) calls* to free memory in progress .*/\1/p' full.merge | grep . ||
	echo 0)" -le 4 ]
ok $? "buffer full: lost events are not taken for calls in progress" || diag "$(cat full.merge)"

# The recorder is stopped with shared memory, too. It continues after the program's third stage.
cat >crowd.sh <<'END'
xpuload=$PPID
kill -STOP $xpuload
(until [ "$(grep -c ^moment crowd.out)" -ge 3 ]; do sleep 0.05; done; kill -CONT $xpuload) &
exec "$@"
END
xpuload --memory --gpu-only --transport shm -m 64K -o crowd.data sh crowd.sh \
	"$XPU_BUILD/workload/memory" -t 8 -n 1000 -p 50 >crowd.out 2>crowd.log
like "$(cat crowd.log)" 'lost: .*[1-9][0-9]* events of memory \(ring full' \
	"shared memory full: the recorder says how many memory events are lost" ||
	diag "$(cat crowd.log)"
unlike "$(cat crowd.log)" 'malformed|sent but not received' \
	"shared memory full: the lost events are not counted twice" || diag "$(cat crowd.log)"
done_testing
