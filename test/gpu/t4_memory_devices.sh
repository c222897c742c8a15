#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory of PyTorch on two GPUs, in one process and in one process per GPU. The numbers equal
# PyTorch's own numbers for each device at each moment, and a leak on one of the GPUs is found.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
. "$XPU_SRC/test/lib/memory_torch_checks.sh"
need root gpu bpf torch
nr=$(python3 -c 'import torch; print(torch.cuda.device_count())')
[ "$nr" -ge 2 ] || skip_all "$nr GPU: expected two"
unset CUDA_VISIBLE_DEVICES
train=$XPU_SRC/test/gpu/memory.py

first() {		# first NAME TABLE: prints the table's first row
	xpumerge -i "$1.data" --table "$2" --csv --limit 1 2>/dev/null | tail -n 1
}

# ---- two devices, one process

CUDA_VISIBLE_DEVICES=0,1 xpuload --memory --gpu-only -o both.data python3 "$train" devices \
	22 >both.out 2>load.log
is $? 0 "both: exit status 0" || diag "$(tail -n 5 load.log both.out)"
like "$(tail -n 1 load.log)" 'lost 0$' "both: nothing is lost"
torch_agrees both
is "$(awk '{ print $1 }' said | uniq | wc -l) $(awk '{ print $2 }' said | sort -u | wc -l)" "22 2" \
	"both: 22 moments of 2 devices are compared"
line=$(grep -n 'kept.append' "$train" | cut -d: -f1)
like "$(first both memory_leaks)" "memory.py:plant_leak:$line.*\\[GPU1_Memory\\]block" \
	"both: the planted leak is the first row, with its line and its device"
like "$(first both memory_holders)" 'memory.py:plant_peak:' \
	"both: the planted peak is the first row, with its line"

# ---- one process per device

# shellcheck disable=SC2016 # the shell's own $1
xpuload --memory --gpu-only -o each.data sh \
	-c 'CUDA_VISIBLE_DEVICES=0 python3 "$1" train 22 >each.0 2>each.log &
	CUDA_VISIBLE_DEVICES=1 python3 "$1" train 22 >each.1 && wait $!' sh "$train" 2>load.log
is $? 0 "each: exit status 0" || diag "$(tail -n 5 load.log each.log)"
like "$(tail -n 1 load.log)" 'lost 0$' "each: nothing is lost"
# Either GPU may be the first in the recording.
for order in "0 1" "1 0"; do
	torch_differs each.data each.0 1 "${order% *}" >differ
	nr=$(awk '{ print $1 }' said | uniq | wc -l)
	torch_differs each.data each.1 1 "${order#* }" >>differ
	echo "$nr $(awk '{ print $1 }' said | uniq | wc -l) $(wc -l <differ)"
done >both_ways
diag "$(cat both_ways)"
is "$(sort -n -k 3 both_ways | head -n 1)" "22 22 0" \
	"each: each process's device is right, at each moment and at the peaks"
xpumerge -i each.data --limit 3 >each.txt 2>merge.log
like "$(tr '\n' ' ' <each.txt | tr -s ' ')" \
	'[1-9][0-9]* totals of the allocator.s own compared, 0 differ' \
	"each: the allocators' own totals do not differ"
unlike "$(cat merge.log)" 'events of memory' "each: no event is missing or impossible"
like "$(first each memory_leaks)" 'memory.py:plant_leak:' "each: the planted leak is the first row"

# ---- ranks whose NCCL imports and releases memory of a peer

WRAP="$XPULOAD --memory --api --gpu-only -o fsdp-%q{RANK}.data" NR_RANKS=2 \
	python3 "$XPU_SRC/test/gpu/ranks.py" fsdp none >ranks.out 2>load.log
is $? 0 "fsdp: exit status 0" || diag "$(tail -n 5 load.log ranks.out)"
for rank in 0 1; do
	xpumerge -i fsdp-$rank.data >out.txt 2>merge.log
	like "$(xpumerge dump fsdp-$rank.data)" 'what=MADE space=IMPORTED' \
		"fsdp, rank $rank: memory was imported"
	unlike "$(cat merge.log)" 'events of memory' \
		"fsdp, rank $rank: no event is missing or impossible" ||
		diag "$(cat merge.log)"
	like "$(tr '\n' ' ' <out.txt | tr -s ' ')" \
		'[1-9][0-9]* totals of the allocator.s own compared, 0 differ' \
		"fsdp, rank $rank: the allocator's own totals do not differ"
done
done_testing
