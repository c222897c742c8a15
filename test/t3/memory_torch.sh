#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory: blocks that PyTorch's allocator cuts from CUDA memory are distinguished from that
# memory. Libraries that replace PyTorch's libraries know the truth.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
. "$XPU_SRC/test/lib/memory_torch_checks.sh"
need root bpf
quiet_sanitizers
use_sim
torch=$XPU_BUILD/workload/torch libs=$XPU_BUILD/workload/torch_libs

# blocks NAME: compares the recorded blocks with the blocks that the program printed, by call path:
# blocks held at each of ten moments, all blocks, and leaked blocks
blocks() {
	start=$(memory_start "$1.data")
	grep '^moment' "$1.out" |
		awk -v start="$start" '{ printf "live %d --at %.0fns\n", NR, $2 - start }
		END { print "leaked 0"; print "allocated 0" }' >moments
	while read -r what nr at; do
		# shellcheck disable=SC2086 # two words, or none
		xpumerge -i "$1.data" --memory "$what" $at -f folded 2>/dev/null |
			grep -E '\]block [0-9]+$' >got.folded
		memory_sums got.folded >got
		memory_truth "$1.out" "$what" "$nr" >expected
		[ -s expected ] && cmp -s got expected && echo same
	done <moments >same
	is "$(wc -l <same)" 12 "$1: by path, held, allocated and leaked blocks are right"
}

for name in plain expandable; do
	[ $name = plain ] && how='' || how=-e
	# shellcheck disable=SC2086 # an option, or none
	xpuload --memory --gpu-only -o $name.data "$torch" $how "$libs" >$name.out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	like "$(tail -n 1 load.log)" 'lost 0$' "$name: nothing is lost"
	like "$(cat $name.out)" '^reports ([1-9][0-9]*) of \1$' \
		"$name: all of the allocator's reports also reach libc10"
	torch_agrees $name
	blocks $name
	held=$(xpumerge -i $name.data --memory peak -f folded 2>/dev/null |
		awk '{ t += $NF } END { printf "%.0f", t }')
	peak_ns=$(xpumerge -i $name.data --table memory_devices --csv 2>/dev/null |
		awk -F, '/GPU/ { print $2 }')
	is "$held" \
		"$(xpumerge -i $name.data --memory live --at "${peak_ns}ns" --table memory_moments \
		--csv 2>/dev/null | awk -F, '/GPU/ { print $3 }')" \
			"$name: blocks and fragmentation add up to the reserved memory"
done
xpumerge -i plain.data -f chrome -o plain.json 2>/dev/null
is "$(grep -o '"memory used","args":{"value":[0-9]*' plain.json | sed 's/.*://' | sort -n |
	tail -n 1)" "$(sed -n 's/^peak 0 \([0-9]*\) .*/\1/p' plain.out)" \
		"the timeline's memory track shows the peak"
like "$(xpumerge -i plain.data --memory peak -f folded 2>/dev/null)" \
	'add_segment\(unsigned long\);cudaMalloc;\[GPU_Memory\]fragmentation [1-9]' \
		"fragmentation is shown under the allocator's call of CUDA"
like "$(xpumerge -i expandable.data --memory peak -f folded 2>/dev/null)" \
	'add_segment\(unsigned long\);cuMemCreate;\[GPU_Memory\]fragmentation [1-9]' \
		"fragmentation of mapped memory is shown under the allocator's call of CUDA"

export XPU_SIM_DEVICES=2
for how in '' -e; do
	# shellcheck disable=SC2086 # an option, or none
	xpuload --memory --gpu-only -o devices.data "$torch" -d 2 -m 20 $how \
		"$libs" >devices.out 2>load.log
	is $? 0 "two devices: exit status 0" || diag "$(cat load.log)"
	torch_agrees devices
	is "$(wc -l <said) $(torch_differs devices.data devices.out 1 '1 0' | head -n 1 | wc -l)" \
		"40 1" "two devices: each has only its own memory"
done
unset XPU_SIM_DEVICES

xpuload --gpu-only -o without.data "$torch" -n 20 "$libs" >without.out 2>load.log
like "$(cat without.out)" '^reports ([1-9][0-9]*) of \1$' \
	"without --memory: all reports reach libc10"
LD_PRELOAD=$XPU_SHIM "$torch" -n 20 "$libs" >dormant.out
like "$(cat dormant.out)" '^reports ([1-9][0-9]*) of \1$' "shim asleep: all reports reach libc10"

xpuload --memory --gpu-only -o other.data "$torch" -n 100 \
	"$XPU_BUILD/workload/torch_other_libs" >other.out 2>load.log
is $? 0 "unknown ABI of libc10: exit status 0"
like "$(cat other.out)" '^reports ([1-9][0-9]*) of \1$' \
	"unknown ABI of libc10: all reports reach libc10"
is "$(xpumerge dump other.data | grep -c 'space=BLOCK')" 0 \
	"unknown ABI of libc10: no block is recorded"

# A late attach: the blocks that were allocated before the attach are recorded as one sum.
start late env LD_PRELOAD="$XPU_SHIM" sh -c 'echo ready; exec "$@"' sh "$torch" -w -m 10 -n 30 \
	"$libs"
wait_for grep -qs waits late.out
xpuload --memory --gpu-only -z 0 -o late.data -p "$late_pid" 2>load.log &
loader=$!
wait_for is_awake late
# The shim sends the start event of memory once it records memory.
starts_memory() {
	xpumerge dump late.data 2>/dev/null | grep -q ' ALLOCS .*{what=START'
}
wait_for starts_memory
ok $? "attached late: the shim watches the allocator"
echo go >late.cmd
wait "$late_pid"
wait $loader
diag "$(tail -n 1 load.log)"
# A segment from before the attach has no known size when it is freed: the allocator reports the
# size only later.
torch_agrees late 7 0 3
before=$(xpumerge -i late.data --memory live -f folded 2>/dev/null |
	awk '/before attach.*\]before / { print $NF }')
[ "${before:-0}" -gt 0 ]
ok $? "attached late: blocks from before the attach are recorded: $before"
done_testing
