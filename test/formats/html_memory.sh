#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html page's memory tab: each number equals the number in the tables, to the byte, at the peak,
# when memory ran out, and at other moments.
. "$XPU_SRC/test/lib/tap.sh"

merge=$XPU_BUILD/xpumerge

# A process with an allocator, memory outside of the allocator, a pool and unattributed memory. CUDA
# refuses a request; after that, memory is freed.
{
	cat <<-'X'
		options --memory
		proc 1
		device 1 0 7
		device 1 1 8
		record 1 10000 1
		START 0 1023 0 0 0
		MADE DEVICE 0 0x10000000 8388608 0 1 5
		MADE BLOCK 0 0x10000000 3000001 1 2 10
		MADE DEVICE 0 0x1000 70002 2 3 20
		MADE MANAGED 1 0x2000 500003 3 3 30
		MADE PINNED 1023 0x3000 4004 4 4 40
		LEVEL UNUSED 0 0 60005 5 0 50
		LEVEL REST 0 90000000 9000008 8 0 80
	X
	# Blocks are allocated and freed, on two call paths.
	awk 'BEGIN {
		for (i = 0; i < 1500; i++)
			printf "MADE BLOCK 0 0x%x %d %d %d %d\n", 268435456 + 3000064 + i * 1024,
				700 + i % 5, 10 + 2 * i, 2 + i % 2 * 3, 1000 + i * 997
		for (i = 0; i < 900; i++)
			printf "FREED BLOCK 0 0x%x %d %d %d %d\n", 268435456 + 3000064 + i * 1024,
				700 + i % 5, 4000 + i, 2 + i % 2 * 3, 1600000 + i * 1009
	}'
	cat <<-'X'
		FAILED DEVICE 0 5000 7000012 5000 6 2600000 2
		FREED BLOCK 0 0x10000000 3000001 5001 2 2600100
		FREED DEVICE 0 0x1000 0 5002 3 2700000
		MADE DEVICE 0 0x5000 1000013 5003 6 2800000
	X
} | "$XPU_BUILD/gen_memory" run.data
"$merge" run.data -o run.html 2>/dev/null
"$merge" run.data --json --table memory_devices -o devices.json 2>/dev/null
"$merge" run.data --memory peak --json --table memory_holders -o holders.json 2>/dev/null
"$merge" run.data --memory live --at failed --json --table memory_moments -o failed.json 2>/dev/null
"$XPU_BUILD/gen_data" --launches 1000 --paths 9 -o app.data
"$merge" app.data -o app.html 2>/dev/null
# The page of another recording with memory shows time first, because no option asks for memory.
"$merge" "$XPU_SRC/test/t1/corpus/2.7.xpu" -o all.html 2>/dev/null

exec node "$XPU_SRC/test/formats/html_memory.js"
