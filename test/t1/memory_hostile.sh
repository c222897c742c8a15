#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Impossible and nearly impossible memory events: sizes, sums and device numbers beyond all limits;
# events out of order, repeated or missing. Then combinations of moments, views, formats and
# filters.
. "$XPU_SRC/test/lib/tap.sh"

START='START 0 1023 0 0 0'
printf 'proc 1\nrecord 1 10000 1\n' >head

# events NAME: makes NAME.data from START and the events on standard input, and merges it in all
# views
events() {
	{ cat head; echo "$START"; cat; } | "$XPU_BUILD/gen_memory" "$1.data"
	for what in live peak allocated leaked failed; do
		timeout 60 "$XPUMERGE" -i "$1.data" --memory $what -f folded \
			-o "$1.$what" 2>"$1.log" || diag "$(cat "$1.log")"
		sed -i 's/.*\[api 1:4\([0-9]\)\];/\1 /' "$1.$what"
	done
}

view() {		# view NAME VIEW: prints VIEW's lines "PATH LEAF BYTES", joined by commas
	sort "$1.$2" | paste -sd, -
}

# ---- sizes

events huge <<'X'
sum MADE DEVICE 0 0x1000 0x7fffffffffff0000 0 5 0x10
MADE DEVICE 0 0x100 5 5 2
X
is "$(view huge live)" "1 [GPU_Memory]device 9223372036854710272,2 [GPU_Memory]device 5" \
	"huge sizes: sums stay below 2^63"
like "$(cat huge.log)" ' 4 events of memory that are impossible' "sizes beyond 2^63 are counted"
events large <<'X'
sum MADE DEVICE 0 0x1000 0x10000000000 0 100 0x100
X
is "$(view large peak)" "1 [GPU_Memory]device 109951162777600" \
	"100 pieces of 2^40 bytes are summed up"
events refused <<'X'
sum FAILED DEVICE 0 5 0xffffffffffffffff 0 3 0
FAILED DEVICE 0 5 7 3 2
X
is "$(view refused failed)" "2 [GPU_Memory]failed 7" \
	"refused sizes beyond 64 bits are not in the sum"
is "$(xpumerge -i refused.data --table memory_failures --csv 2>/dev/null |
	awk -F, 'NR == 2 { print $2 }')" \
	18446744073709551614 "refused sizes beyond 64 bits are in the table"
events around <<'X'
MADE DEVICE 0 0xfffffffffffffff0 100 0 1
MADE BLOCK 0 0xfffffffffffffff0 100 1 1
X
is "$(view around live)" "" "memory that would end beyond the last address is not live"

# ---- devices

events devices <<'X'
MADE DEVICE 0 0x1000 1 0 1
MADE DEVICE 1022 0x2000 2 1 2
MADE PINNED 1023 0x3000 4 2 3
MADE DEVICE 1024 0x4000 8 3 4
MADE DEVICE 65535 0x5000 16 4 5
X
is "$(view devices live)" \
	"1 [GPU0_Memory]device 1,2 [GPU1022_Memory]device 2,3 [Host_Memory]pinned 4" \
	"memory of devices with unusual numbers is shown"
awk 'BEGIN { for (p = 1; p <= 20; p++) {
	print "proc", p; print "record", p, 10000, 1; print "START 0 1023 0 0 0"
	for (d = 0; d < 500; d++) print "MADE DEVICE", d, 4096 * (d + 1), 10, d, 1 } }' |
	"$XPU_BUILD/gen_memory" many.data
is "$(timeout 60 "$XPUMERGE" -i many.data --memory live -f folded 2>/dev/null |
	awk '{ nr++; sum += $NF } END { print nr, sum }')" "500 100000" \
		"20 processes with 500 devices have their memory"

# More GPUs than exist, each with its own UUID.
awk 'BEGIN {
	for (proc = 1; proc <= 300; proc++) {
		print "proc", proc
		for (i = 0; i < 1000; i++) print "device", proc, i, proc * 1000 + i
		print "record", proc, 10000, 1
		print "START 0 1023 0 0 0"
		for (i = 0; i < 1000; i++) print "MADE DEVICE", i, 4096 * (i + 1), 10, i, 1
	}
}' | "$XPU_BUILD/gen_memory" gpus.data
is "$(timeout 60 "$XPUMERGE" -i gpus.data --memory peak -f folded 2>/dev/null | wc -l)" 300000 \
	"300,000 GPUs: each has a row"

# ---- order

events disorder <<'X'
FREED DEVICE 0 0x1000 0 1
MADE DEVICE 0 0x2000 7 2 2
MADE DEVICE 0 0x1000 100 0 1
X
is "$(view disorder live) $(view disorder peak)" "2 [GPU_Memory]device 7 1 [GPU_Memory]device 100" \
	"events out of order give the right sums"
unlike "$(cat disorder.log)" 'events of memory' "events out of order are not counted as odd"
events twice <<'X'
MADE DEVICE 0 0x1000 1 0 1
MADE DEVICE 0 0x2000 2 0 1
MADE DEVICE 0 0x3000 4 1 1
MADE DEVICE 0 0x4000 8 1 1
X
is "$(view twice live)" "1 [GPU_Memory]device 5" \
	"repeated event numbers: only the first event of a number is counted"
like "$(cat twice.log)" ' 2 events of memory that are impossible' \
	"repeated event numbers: each repetition is counted as impossible"
events gap <<'X'
MADE DEVICE 0 0x1000 1 0 1
MADE DEVICE 0 0x3000 4 9 1
X
is "$(view gap live)" "1 [GPU_Memory]device 5" "missing event numbers: the other events are counted"
like "$(cat gap.log)" ' 8 calls to free memory in progress' \
	"missing event numbers: a message gives the number of frees in progress"
events far <<'X'
MADE DEVICE 0 0x1000 1 0 1
MADE DEVICE 0 0x3000 4 0x7fffffff 1
MADE DEVICE 0 0x4000 8 -5 1
X
is "$(view far live)" "1 [GPU_Memory]device 13" "events with huge or negative numbers are counted"
START='MADE DEVICE 0 0x900 16 0 1' events no_start <<'X'
FREED DEVICE 0 0x1000 0 1
MADE DEVICE 0 0x1000 1 2 1
X
is "$(view no_start live)" "1 [GPU_Memory]device 17" \
	"without a START event: allocations are counted"
unlike "$(cat no_start.log)" 'cannot be' \
	"without a START event: freeing unknown memory does not count as impossible"
events again <<'X'
MADE DEVICE 0 0x1000 1 0 1
START 0 1023 0 1 1
MADE DEVICE 0 0x2000 2 1 1
START 0 1023 0 0 2
FREED DEVICE 0 0x1000 0 2 1
X
is "$(view again live)" "1 [GPU_Memory]device 2" "several START events: the last one is used"
START='START 0 1023 0 1 9' events before <<'X'
MADE DEVICE 0 0x1000 1 5 1
MADE DEVICE 0 0x2000 2 9 1
FREED DEVICE 0 0x3000 0 10 1
X
is "$(view before live)" "1 [GPU_Memory]device 2" \
	"events before START do not belong to the recording"
unlike "$(cat before.log)" 'events of memory' "events before START are not counted as odd"
{ cat head; echo "$START"; echo 'MADE DEVICE 0 0x1000 1 0 1'; echo 'record 1 10000 2 7'; echo \
	'MADE DEVICE 0 0x2000 2 0 1'
} | "$XPU_BUILD/gen_memory" cut.data
xpumerge -i cut.data --memory live -f folded -o cut.live 2>cut.log
like "$(cat cut.log)" 'ALLOCS with more events than its record holds; [0-9]* bytes ignored' \
	"a cut record: a message says that the record holds too few events"
like "$(cat cut.live)" '\[GPU_Memory\]device 1$' \
	"a cut record: the events before the cut are counted"
events odd <<'X'
200 DEVICE 0 0x1000 1 0 1
MADE 200 0 0x1000 2 1 1
FREED DEVICE 0 0x1000 0 2 1
FREED DEVICE 0 0 0 3 1
NOT_FREED DEVICE 0 0x1000 0 4 1
CONTEXT_END DEVICE 0 0 0 5 1 0 77
RETAINED PHYSICAL 0 0x1000 0 6 1
HANDLE MAPPING 0 0x1000 0 7 1
MADE MAPPING 0 0x1000 4096 8 1
FREED MAPPING 0 0x1000 0xffffffffffffffff 9 1
FREED PHYSICAL 0 0x1000 0 10 1
TOTALS BLOCK 0 0xffffffffffffffff 0xffffffffffffffff 11 1
LEVEL REST 0 0 0xffffffffffffffff 12 0
LEVEL UNUSED 0 0 0xffffffffffffffff 13 0
X
is "$(view odd live)" "" "impossible events add no live memory"
like "$(cat odd.log)" ' [0-9]+ events of memory that are impossible' "impossible events are counted"

# ---- moments

events moments <<'X'
MADE DEVICE 0 0x1000 100 0 1 0
MADE DEVICE 0 0x2000 10 1 2 1000
FREED DEVICE 0 0x1000 0 2 0 2000
MADE DEVICE 0 0x1000 1000 3 3 2000
FAILED DEVICE 0 50 1000000 4 4 2500
X
while read -r at sum; do
	is "$(xpumerge -i moments.data --memory live --at "$at" -f folded 2>/dev/null |
		awk '{ s += $NF } END { print s + 0 }')" \
		"$sum" "--at $at: an event counts at its own moment and later"
done <<'X'
0 0
8999ns 0
9000ns 100
9999ns 100
10000ns 110
10us 110
11000ns 1010
1e9 1010
failed 1010
X
for at in nan inf -1 1e300 '' ',' 1s,0 failed,0 0,failed failed,failed x; do
	xpumerge -i moments.data --memory live --at "$at" -f folded >out 2>log
	is "$? $(wc -l <log) $(wc -c <out)" "2 1 0" "--at '$at': refused, with one line" ||
		diag "$(cat log)"
done

# ---- empty recordings, made with different options

while read -r option account; do
	echo "options $option" | "$XPU_BUILD/gen_memory" "nothing$option.data"
	xpumerge "nothing$option.data" -f folded >out 2>log
	is "$(cat log)" "$account" \
		"an empty recording of xpuload $option: the account is as expected"
done <<'X'
--cpu-only CPU samples 0 lost 0
--cpu CPU samples 0 lost 0
--memory-only memory events 0 lost 0
--memory-o memory events 0 lost 0
--memory launches 0 matched 0 unmatched 0 lost 0
-- launches 0 matched 0 unmatched 0 lost 0
X
xpumerge nothing--cpu-only.data nothing--memory.data -f folded >out 2>log
is "$(cat log)" "launches 0 matched 0 unmatched 0 lost 0" \
	"two empty recordings, of --cpu-only and --memory: the account has only zeros"

# ---- formats, units, filters

for what in live peak allocated leaked failed; do
	for out in x.html x.folded x.pb.gz x.txt x.csv; do
		rm -f $out
		xpumerge -i moments.data --memory $what -o $out 2>log && [ -s $out ] ||
			echo "$what $out"
	done
	for out in x.json x.pftrace x.perf x.stacks x.cupti.json x.data; do
		rm -f $out
		xpumerge -i moments.data --memory $what -o $out 2>log
		[ "$? $(wc -l <log)" = "2 1" ] && [ ! -e $out ] || echo "$what $out"
	done
done >wrong
is "$(cat wrong)" "" "each view in each format is written, or refused with one line"
xpumerge --memory live --csv "$XPU_SRC/test/t1/corpus/2.8.xpu" 2>/dev/null |
	grep -x '[a-z_]\+' >tables
is "$(grep -c '^memory_[dmhlcf]' tables) $(grep -vc '^memory_[dmhlcf]' tables)" "7 0" \
	"with --memory, only the tables of memory are printed"
xpumerge --memory peak --sort pieces --limit 1 "$XPU_SRC/test/t1/corpus/2.8.xpu" >out 2>/dev/null
is "$? $(grep -c '^memory holders' out) $(grep -c '^threads:' out)" "0 1 0" \
	"with --memory the summary has only the tables of memory" || diag "$(cat out)"
for unit in ns us ms samples; do
	xpumerge -i moments.data --memory live --unit $unit -f folded >out 2>log
	is "$? $(cat log)" "2 xpumerge: --memory is in bytes: expected --unit bytes, or count" \
		"--unit $unit is refused"
done
is "$(xpumerge -i moments.data --memory live --unit count -f folded 2>/dev/null |
	awk '{ print $NF }' | paste -sd' ' -)" "1 1" "--unit count counts allocations"
for filter in '--device 0' '--pid 101' '--comm app' '--by tid' '--by device' '--by pid' \
	'--by nvtx' '--by rank' \
		'--from 0' '--to 1s' '--tid 112,113'; do
	# shellcheck disable=SC2086 # two words
	is "$(xpumerge -i moments.data --memory live $filter -f folded 2>/dev/null |
		awk '{ s += $NF } END { print s + 0 }')" \
		1010 "$filter, which matches, keeps all memory"
done
for filter in '--device 1' '--pid 102' '--comm other' '--tid 1' '--from 1s' '--to 1us' '--nvtx x' \
	'--kernel x' '--stream 7'; do
	# shellcheck disable=SC2086 # two words
	is "$(xpumerge -i moments.data --memory live $filter -f folded 2>/dev/null | wc -l)" 0 \
		"$filter, which does not match, keeps no memory"
done
is "$(xpumerge diff --memory live --at 9us,11us -f folded moments.data moments.data 2>/dev/null |
	awk '{
	print $(NF - 1), $NF }' | sort | paste -sd, -)" "0 10,0 1000,100 0" \
		"diff of two moments shows both"
is "$(xpumerge diff --memory live -f folded moments.data huge.data 2>/dev/null |
	awk '{ a += $(NF - 1) } END { print a }')" 1010 "diff of two recordings shows both"
for recording in "$XPU_SRC"/test/t1/corpus/*.xpu; do
	xpumerge -i "$recording" --memory live -f folded >out 2>log
	case $? in
	0)	;;
	1)	grep -q 'no memory in the recording: xpuload --memory records it' log ||
		echo "$recording" ;;
	*)	echo "$recording" ;;
	esac
done >wrong
is "$(cat wrong)" "" "recordings of each version are read, with memory and without"
done_testing
