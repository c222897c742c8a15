#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The rest of a device is all used memory that was not recorded. Here several processes use one
# device: in one recording, in several recordings made at the same time, and in a recording of a
# late attach. CUDA reports to each process how much memory all processes use together.
. "$XPU_SRC/test/lib/tap.sh"

# held FILES... -- OPTIONS...: prints the total bytes by kind, as "block 5,rest 10"
held() {
	xpumerge "$@" -f folded 2>merge.log | awk '{
		kind = $0; sub(/.*_Memory\]/, "", kind); sub(/ .*/, "", kind); sum[kind] += $NF;
		nr[kind]++
	} END { for (kind in sum) print kind,
	sum[kind] (kind == "rest" && nr[kind] > 1 ? " in " nr[kind] : "") }' |
		LC_ALL=C sort | paste -sd, -
}

# Contexts take 50 bytes of the device's memory. Process 1 has 30 bytes and asks CUDA how much
# memory is used. Process 2 has 20 bytes and asks, too. Then process 1 has 200 more bytes and asks
# again.
first() {
	cat <<-'X'
		record 1 10000 1
		START 0 1023 0 0 0
		MADE DEVICE 0 0x1000 30 0 1
		LEVEL REST 0 1000 80 1 0 10
		MADE DEVICE 0 0x2000 200 2 2 2000
		LEVEL REST 0 1000 300 3 0 2010
	X
}

second() {
	cat <<-'X'
		record 2 11000 1
		START 0 1023 0 0 0
		MADE DEVICE 0 0x1000 20 0 1
		LEVEL REST 0 1000 100 1 0 10
	X
}

# Both processes have a device 0: the same device, or two different devices.
together() {
	echo "proc 1"; echo "proc 2"; echo "device 1 0 7"; echo "device 2 0 7"; first; second
}
together | "$XPU_BUILD/gen_memory" one.data
{ echo "proc 1"; echo "device 1 0 7"; first; } | "$XPU_BUILD/gen_memory" a.data
{ echo "start 5"; echo "proc 2"; echo "device 2 0 7"; second; } | "$XPU_BUILD/gen_memory" b.data
{ echo "start 5"; echo "proc 2"; echo "device 2 0 8"; second; } | "$XPU_BUILD/gen_memory" other.data
{ echo "start 900000"; echo "proc 1"; echo "device 1 0 7"; first | sed 's/10000/910000/'; } |
	"$XPU_BUILD/gen_memory" later.data

while read -r at expected; do
	for files in one.data "a.data b.data" "b.data a.data"; do
		# shellcheck disable=SC2086 # several files
		is "$(held $files --memory live --at "$at")" "$expected" \
			"$files at $at: at most one rest is shown, without recorded memory"
	done
done <<'X'
9001ns device 30
9500ns device 30,rest 50
10005ns device 50,rest 50
10500ns device 50,rest 50
11005ns device 250,rest 50
11500ns device 250,rest 50
X
for files in one.data "a.data b.data" "b.data a.data"; do
	# shellcheck disable=SC2086 # several files
	is "$(held $files --memory live) $(held $files --memory peak)" \
		"device 250,rest 50 device 250,rest 50" \
		"$files at the end and at the peak: one rest is shown"
	# shellcheck disable=SC2086 # several files
	is "$(xpumerge $files --table memory_holders --csv --memory live --at 10500ns 2>/dev/null |
		awk -F, '/rest/ { print $2 }')" 50 "$files: the table has one row for the rest"
done
is "$(held a.data b.data --memory leaked)" "device 250" "the rest is not reported as leaked"
is "$(held a.data other.data --memory live --at 10500ns)" "device 50,rest 130 in 2" \
	"two devices: the rest is computed for each device"
is "$(held a.data later.data --memory live)" "device 460,rest 140" \
	"two recordings of different times each have their own rest"

# Split files: the rest is the same in each file, whatever the other process has allocated since.
for cut in 1 2 3; do
	{
		echo "blocks"; echo "proc 1"; echo "proc 2"; echo "device 1 0 7"; echo \
			"device 2 0 7"
		first | sed -n 1,4p
		[ $cut = 1 ] && echo "cut 10500"
		second
		[ $cut = 2 ] && echo "cut 11500"
		echo "record 1 12000 3"; first | sed -n 5,6p |
			sed 's/ 2 2 2000/ 0 2 0/; s/ 3 0 2010/ 1 0 10/'
		echo "record 2 12500 3"; echo "MADE DEVICE 0 0x2000 1000 0 1"
		[ $cut = 3 ] && echo "cut 12700"
		echo "record 2 13000 4"; echo "MADE DEVICE 0 0x3000 5 0 1"
	} | "$XPU_BUILD/gen_memory" cut.data
	rm -f part.*
	xpumerge split -o part <cut.data >split.log 2>&1
	for at in 9001 9500 10005 10500 11005 11500 11700 12100; do
		held part.1 part.2 --memory live --at ${at}ns
	done >got
	is "$(paste -sd' ' got)" \
		"device 30 device 30,rest 50 device 50,rest 50 device 50,rest 50 device 250,rest 50 device 1250,rest 50 device 1250,rest 50 device 1255,rest 50" \
		"cut $cut: one rest is shown at each moment"
	is "$(held part.2 --memory live),$(held part.1 part.2 --memory live)" \
		"device 1255,rest 50,device 1255,rest 50" \
		"cut $cut: the file after the cut also has the rest of the used memory"
done

# The process that last asked CUDA for the used memory may have ended.
{ together; echo "exit 2 11500"; } | "$XPU_BUILD/gen_memory" gone.data
is "$(held gone.data --memory live --at 10750ns)" "device 30,rest 50" \
	"the memory of an ended process is not in the rest"

# A late attach: when the process asked CUDA, the rest still included the memory that PyTorch's
# allocator had before the attach.
{ echo "proc 1"; cat <<-'X'; } | "$XPU_BUILD/gen_memory" late.data
	record 1 10000 1
	START 0 1023 0 1 0
	MADE DEVICE 0 0x200000 2097152 0 1
	LEVEL REST 0 100000000 22097252 1 0 10
	MADE BLOCK 0 0x200000 1000 2 2 20
	TOTALS BLOCK 0 15001000 22097152 3 0 20
X
is "$(held late.data --memory live --at 9010ns),$(held late.data --memory live --at 9030ns)" \
	"fragmentation 2097152,rest 20000100,before 15000000,block 1000,fragmentation 7096152,rest 100" \
		"attached late: all memory is counted once"

# The largest holder of used memory differs from the largest holder of unused memory.
{ echo "proc 1"; cat <<-'X'; } | "$XPU_BUILD/gen_memory" large.data
	record 1 10000 1
	START 0 1023 0 0 0
	LEVEL REST 0 100000 90000 0 0
	LEVEL UNUSED 0 0 5000 1 0
	MADE DEVICE 0 0x1000 300 2 1
X
xpumerge large.data 2>/dev/null >large.txt
like "$(cat large.txt)" '^largest holder then: 300 bytes: .*\[GPU_Memory\]device$' \
	"the summary names the largest holder of used memory" ||
	diag "$(head large.txt)"
done_testing
