#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory: what is left of memory that is freed twice, goes with its context, its process or a reset, is freed by exit
# handlers and ends of threads; a hook that is told nonsense; recorders and targets that are killed at it.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
need root bpf
quiet_sanitizers
use_sim
ends=$XPU_BUILD/workload/memory_ends

# left NAME: compares what was never freed with what the program says; and each event has what it needs
left() {
	xpumerge -i "$1.data" --memory leaked -f folded -o "$1.folded" 2>"$1.merge"
	memory_sums "$1.folded" | grep -v fragmentation >got
	memory_truth "$1.out" leaked >expected
	is "$(cat got)" "$(cat expected)" "$1: what is left"
}

for how in bpf shm; do
	for what in double reset context exec exit; do
		xpuload --memory --gpu-only --transport $how -o $what-$how.data "$ends" $what >$what-$how.out 2>load.log
		is $? 0 "$what-$how: status" || diag "$(cat load.log)"
		like "$(tail -n 1 load.log)" 'lost 0$' "$what-$how: nothing lost"
		left $what-$how
		unlike "$(cat $what-$how.merge)" 'events of memory' "$what-$how: no event is missing or cannot be"
	done
done
is "$(xpumerge dump double-bpf.data | grep -o 'what=NOT_FREED' | wc -l)" 6 "frees that CUDA refused are recorded as that"
is "$(xpumerge -i double-bpf.data --table memory_failures --csv 2>/dev/null | awk -F, 'NR > 1 { print $2 }' | paste -sd' ' -)" \
	"18446744073709551614 9223372036854775808" "sizes that were refused"

xpuload --memory --gpu-only -o hook.data "$ends" hook "$XPU_BUILD/workload/torch_libs/libc10.so" >hook.out 2>load.log
is $? 0 "hook: status" || diag "$(cat load.log)"
xpumerge -i hook.data --memory leaked -f folded -o hook.folded 2>hook.merge
like "$(grep '\[GPU_Memory\]block' hook.folded || grep '\[GPU0_Memory\]block' hook.folded)" ' 512$' \
	"hook: a block among nonsense"
unlike "$(xpumerge dump hook.data | grep -o 'space=BLOCK [^}]*' )" 'device=(3|77) ' "hook: no block of other devices' types"

unlike "$(xpumerge dump hook.data | grep -o 'what=MADE space=BLOCK [^}]* bytes=0 ')" . "hook: no block of 0 bytes"

# Many threads that free each other's memory, with few addresses.
xpuload --memory --gpu-only -o many.data "$XPU_BUILD/workload/memory" -t 64 -n 30 >many.out 2>load.log
is $? 0 "64 threads: status" || diag "$(cat load.log)"
memory_wrong many.data many.out >verdict
is "$(tail -n 1 verdict)" "wrong 0" "64 threads: each byte under its path" || diag "$(cat verdict)"

# sound NAME REGEX TEST: no event is without those before it; the ring has room for them on a busy machine, too
sound() {
	unlike "$(cat "$1.merge")" "events of memory $2" "$3" || diag "$(cat "$1.merge")"
}

# has_both NAME: the recording has memory of both of the program's sites
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
is $? 0 "target killed: status" || diag "$(cat load.log)"
xpumerge -i killed.data --memory live -f folded -o killed.folded 2>killed.merge
sound killed '(that|told)' "target killed: no event is missing or cannot be"
is "$(awk '/mem_site/ { n++; if ($NF > 64 * 1000) n = 99 } END { print n }' killed.folded)" 2 \
	"target killed: what it held, and no more"

# The recorder is killed, and another one comes.
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
is $? 0 "recorder killed, another one: status" || diag "$(cat load.log)"
kill -9 "$again_pid"
for name in first second; do
	xpumerge -i $name.data --memory live -f folded -o $name.folded 2>$name.merge
	sound $name 'that cannot' "$name: no event cannot be"
	is "$(awk '/mem_site/ { n++; if ($NF > 64 * 1000) n = 99 } END { print n }' $name.folded)" 2 \
		"$name: what the program held, and no more"
done
done_testing
