#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory with --every: each file shows all memory that is held, under the call path that allocated
# it, even in an earlier file; and all files together equal one recording.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
. "$XPU_SRC/test/lib/memory_torch_checks.sh"
need root bpf
quiet_sanitizers
use_sim

files() {		# files NAME: prints the files of a recording, in order
	ls "$1".data.* | sort -t. -k 3n
}

# last_file NAME: finds the last file in which the program runs, and the memory that is left in it
last_file() {
	for last in $(files "$1" | tac); do
		xpumerge -i "$last" --memory leaked -f folded -o last.folded 2>last.log
		[ ! -s last.folded ] || break
	done
}

# together NAME [OUTPUT [FILTER...]]: merges all files of a recording, and compares the result with
# the program's own numbers
together() {
	recording=$1 said=${2:-$1.out}
	shift
	[ $# = 0 ] || shift
	memory_start "$recording.data.1" >start
	{
		grep '^moment' "$said" |
			awk -v start="$(cat start)" \
			'{ printf "live %d --at %.0fns\n", ++nr, $2 - start }'
		printf 'peak 0\nleaked 0\nallocated 0\nfailed 0\n'
	} >moments
	while read -r what nr at; do
		# shellcheck disable=SC2086,SC2046 # two words, or none; several files
		xpumerge $(files "$recording") --memory "$what" $at "$@" -f folded \
			-o got.folded 2>merge.log || head -n 1 merge.log
		memory_sums got.folded >got
		memory_truth "$said" "$what" "$nr" >expected
		[ -s expected ] && cmp -s got expected ||
			{ echo "$what $nr"; diff got expected | head -4; }
	done <moments
}

# A file's last moment is the time of its last event: memory that is held then is also in the next
# file.
for how in bpf shm; do
	xpuload --memory --gpu-only --transport $how --every 0.1 -o every.data \
		"$XPU_BUILD/workload/memory" -n 200 -p 40 >every.out 2>load.log
	is $? 0 "$how: exit status 0" || diag "$(cat load.log)"
	like "$(tail -n 1 load.log)" 'lost 0$' "$how: nothing is lost"
	[ "$(files every | wc -l)" -ge 3 ]
	ok $? "$how: several files are written: $(files every | wc -l)"
	is "$(together every)" "" \
		"$how: the files together have the sums of memory that the program prints"
	unlike "$(cat merge.log)" 'events of memory|lost [1-9]' \
		"$how: no event is missing or impossible"
	last_file every
	memory_sums last.folded >got
	memory_truth every.out leaked >expected
	is "$(diff got expected | head -n 4)" "" \
		"$how: the last file alone has all live memory, under its paths"
	for file in $(files every); do
		xpumerge -i "$file" --memory live -f folded -o one.folded 2>one.log
		grep -E 'events of memory|lost [1-9]|nothing defines' one.log
	done >odd
	is "$(cat odd)" "" "$how: in each file alone, no event is missing or impossible"
	rm -f every.data.*
done

# Two programs: one ends early, and the other makes longer pauses.
xpuload --memory --gpu-only --every 0.1 -o two.data sh \
	-c "'$XPU_BUILD/workload/memory' -n 200 -p 40 >a.out &
	'$XPU_BUILD/workload/memory' -n 100 -p 100 -r 5 >b.out; wait" 2>load.log
is $? 0 "two programs: exit status 0" || diag "$(cat load.log)"
pids=$(for file in $(files two); do xpumerge dump "$file" 2>/dev/null; done |
	grep 'PROCESS misc=.* comm="memory"' | grep -o ' pid=[0-9]*' | cut -d= -f2 | sort -u)
for name in a b; do
	for pid in $pids; do
		together two $name.out --pid "$pid" >wrong
		[ -s wrong ] || { echo "$name"; break; }
		cp wrong "wrong.$name.$pid"
	done
done >same
is "$(paste -sd' ' same)" "a b" \
	"two programs: the views live, peak, leaked, allocated and failed are right" ||
	diag "$(head -n 5 wrong.*)"
rm -f two.data.*

# Blocks and segments, physical memory whose handles were released, two devices.
torch=$XPU_BUILD/workload/torch libs=$XPU_BUILD/workload/torch_libs
export XPU_SIM_DEVICES=2
for how in plain -e; do
	opt=$how
	[ $how != plain ] || opt=''
	# shellcheck disable=SC2086 # an option, or none
	xpuload --memory --gpu-only --every 0.1 -o torch.data "$torch" -d 2 -n 300 -p 40 $opt \
		"$libs" >torch.out 2>load.log
	is $? 0 "PyTorch, $how: exit status 0" || diag "$(cat load.log)"
	torch_said torch.out "$(memory_start torch.data.1)" 1 '0 1' | sort >said
	at=$(cut -d' ' -f1 said | sort -nu | sed 's/$/ns/' | paste -sd, -)
	# shellcheck disable=SC2046 # several files
	xpumerge $(files torch) --memory live --at "$at" --table memory_moments --csv 2>merge.log |
		awk -F, 'NR > 1 && $NF ~ /GPU/ {
		gsub(/"|GPU /, "", $NF); b[$1 " " $NF] += $4; s[$1 " " $NF] += $5 }
			END { for (i in b) printf "%s %.0f %.0f\n", i, b[i], s[i] }' | sort >found
	is "$(comm -23 said found)" "" \
		"PyTorch, $how: blocks and segments are right at $(wc -l <said) moments" ||
		diag "$(comm -13 said found | head -n 4)"
	unlike "$(cat merge.log)" 'events of memory' \
		"PyTorch, $how: no event is missing or impossible"
	last_file torch
	grep -E '\]block [0-9]+$' last.folded >got.folded
	memory_sums got.folded >got
	memory_truth torch.out leaked |
		awk '{ sum[$1] += $3 } END { for (i in sum) print i, sum[i] }' | sort >expected
	is "$(awk '{ sum[$1] += $3 } END { for (i in sum) print i, sum[i] }' got | sort)" \
		"$(cat expected)" \
		"PyTorch, $how: the last file alone has each live block, under its path"
	# shellcheck disable=SC2046 # several files
	like "$(xpumerge $(files torch) 2>/dev/null | grep '^memory: [0-9]* events')" \
		'[1-9][0-9]* totals of the allocator.s own compared, 0 differ' \
			"PyTorch, $how: the allocator's own totals match the events"
	rm -f torch.data.*
done
unset XPU_SIM_DEVICES

# A program that runs before and after the recording: the files are from the middle of its run.
start goes env LD_PRELOAD="$XPU_SHIM" "$XPU_BUILD/workload/memory_ends" loop 10000
"$XPULOAD" --memory --gpu-only --every 0.2 --keep 2 -o goes.data -p "$goes_pid" 2>load.log &
loader=$!
# Waits until a file has both sites of the program, and then for newer files.
has_both() {
	for file in $(files goes); do
		[ "$(xpumerge -i "$file" --memory live -f folded 2>/dev/null | grep -c mem_site)" \
			= 2 ] && return
	done
	return 1
}
is_later() {
	[ "$(files goes | tail -n 1)" != "$first" ] && [ "$(files goes | wc -l)" -ge 2 ]
}
wait_for has_both
first=$(files goes | tail -n 1)
wait_for is_later
first=$(files goes | tail -n 1)
wait_for is_later
kill -INT $loader
wait $loader
is $? 0 "attached: exit status 0" || diag "$(cat load.log)"
kill -9 "$goes_pid"
like "$(tail -n 1 load.log)" 'lost 0$' "attached: nothing is lost" || diag "$(cat load.log)"
is "$(files goes | wc -l)" 2 "attached: --keep 2 leaves two files"
for file in $(files goes); do
	xpumerge -i "$file" --memory live -f folded -o one.folded 2>one.log
	awk '/mem_site/ { n++; if ($NF > 64 * 1000) n = 99 } END { print n }' one.folded
	grep 'events of memory that are impossible' one.log
done >held
is "$(tr '\n' ' ' <held)" "2 2 " "attached: each file has exactly the memory that the program holds"
done_testing
