#!/bin/sh
# SPDX-License-Identifier: MIT
# The table memory_leaks: memory that grows steadily comes first, whatever other memory was never
# freed.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim

xpuload --memory-only -o leaks.data "$XPU_BUILD/workload/leaks" 2>load.log
is $? 0 "a program with leaks: exit status 0" || diag "$(cat load.log)"
xpumerge -i leaks.data --table memory_leaks --csv 2>/dev/null >leaks.csv
# the table's rows: shape, bytes grown, parts, bytes left, pieces
tr -d '"' <leaks.csv | awk -F, 'NR > 1 && match($0, /leak_[a-z_]+/) {
	print substr($0, RSTART + 5, RLENGTH - 5), $1, $2, $3, $4 }' >rows
diag "$(cat rows)"
is "$(head -n 4 rows | cut -d' ' -f1 | tr '\n' ' ')" "steady handed ending slow " \
	"the table begins with paths that grow steadily, sorted by growth"
is "$(sed 1,4d rows | awk '{ print $1, $2 }' | sort | tr '\n' ' ')" \
	"cache 0 one_time 0 ring 0 saw 0 " \
	"a large block, a cache, a sawtooth and a ring of buffers do not count as growing steadily"
is "$(awk '$1 == "one_time" { print $4, $5 }' rows)" "$((64 << 20)) 1" \
	"the table also has memory that was allocated once and never freed"
is "$(awk '$1 == "ending" { print $4, $5 }' rows)" "0 0" \
	"a path whose memory was freed before the end has no bytes left"
is "$(awk '$1 == "steady" { print $3, $4, $5 }' rows)" "7 $((256 * 40 << 10)) 256" \
	"a steady leak grows in each part of the recording"
for shape in handed slow; do
	parts=$(awk -v shape=$shape '$1 == shape { print $3 }' rows)
	[ "${parts:-0}" -ge 4 ]
	ok $? "$shape: memory grows in $parts of 7 parts of the time"
done
like "$(xpumerge -i leaks.data 2>/dev/null | grep '^memory never freed')" \
	'; 4 of 8 call paths grew steadily' "the summary counts the paths that grew steadily"

# Two programs, one after the other: each program's lifetime is divided into its own parts.
xpuload --memory-only -o two.data sh \
	-c "'$XPU_BUILD/workload/leaks' 200; '$XPU_BUILD/workload/leaks' 300" 2>load.log
xpumerge -i two.data --table memory_leaks --csv 2>/dev/null | tr -d '"' | awk -F, 'NR > 1 && $1 {
	print substr($0, match($0, /leak_[a-z_]+/) + 5, RLENGTH - 5) }' | sort | tr '\n' ' ' >grown
is "$(cat grown)" "ending handed slow steady " "two programs: the leaks of both are found"

# together MOMENT RANK...: checks the moment when all ranks together held the most memory. Then only
# these ranks hold memory of leak_one_time, and all amounts add up to the summary's number.
together() {
	moment=$1
	shift
	xpumerge rank?.data 2>/dev/null | tr -s ' \n' ' ' >ranks.txt
	together='s/.* memory of the . recordings together: about \([0-9]*\) bytes[^,]* used, '
	together=$together'by their clocks: --memory live --at \([0-9]*ns\).*/\1 \2/p'
	said=$(sed -n "$together" ranks.txt)
	xpumerge rank?.data --by rank --memory live --at "${said#* }" \
		-f folded 2>/dev/null >ranks.folded
	# In the page, many events in a short time become one point, at the time of the first event,
	# with the largest sum.
	awk -v said="${said% *}" \
		'{ sum += $NF } END { exit !(sum && sum <= said && sum > .95 * said) }' ranks.folded
	ok $? \
		"$moment: the memory of all ranks adds up to the summary's number" ||
		diag "$said: $(awk '{ sum += $NF } END { print sum }' ranks.folded)"
	is "$(sed -n 's/.*\[rank \(.\)\];.*leak_one_time.*/\1/p' ranks.folded | sort | xargs)" \
		"$*" "$moment: each rank has its own memory"
}

# Until a rank ends, it holds all memory that it has not freed, even if it has no more events; after
# its end it holds none.
mkfifo stay
RANK=0 WORLD_SIZE=2 xpuload --memory-only -o rank0.data "$XPU_BUILD/workload/leaks" 100 \
	stay <stay >stay.out 2>load.0.log &
exec 3>stay
wait_for grep -qs "done" stay.out
RANK=1 WORLD_SIZE=2 xpuload --memory-only -o rank1.data "$XPU_BUILD/workload/leaks" 150 2>load.1.log
exec 3>&-
wait
together "two ranks at a time" 0 1
RANK=1 WORLD_SIZE=2 xpuload --memory-only -o rank1.data "$XPU_BUILD/workload/leaks" 150 2>load.1.log
together "one after the other" 1
done_testing
