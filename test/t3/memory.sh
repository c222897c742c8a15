#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory: each byte is under the call path that allocated it, for memory that is live at any
# moment, memory at the peak, all allocated memory, and memory that is never freed. Real BPF and
# real uprobes on the simulated device, with a program that knows the truth.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
need root bpf
quiet_sanitizers
use_sim

exact() {		# exact NAME: compares NAME.data with the program's output
	memory_wrong "$1.data" "$1.out" >verdict
	[ "$(tail -n 1 verdict)" = "wrong 0" ] || diag "$(cat verdict)"
	is "$(grep -c ': [0-9]* sums' verdict) $(tail -n 1 verdict)" "$2 wrong 0" \
		"$1: bytes by path are right (ten moments, peak, total, leaked, refused)"
}

xpuload --memory -o run.data "$XPU_BUILD/workload/memory" >run.out 2>load.log
is $? 0 "a run: exit status 0"
like "$(cat load.log)" ', [0-9]{5} events of memory, .* lost 0$' \
	"a run: xpuload counts the memory events"
exact run 14
bytes=$(wc -c <run.data)
events=$(sed -n 's/.*, \([0-9]*\) events of memory.*/\1/p' load.log)
diag "$bytes bytes, $events events"
[ "$bytes" -le $((24 * events)) ]
ok $? "a run: an event takes at most 24 bytes"

xpumerge -i run.data >run.txt 2>merge.log
like "$(cat merge.log)" ' lost 0$' "a run: nothing is lost"
unlike "$(cat merge.log)" 'events of memory' "a run: no event is missing or impossible"
peak=$(awk '$1 == "peak" && $3 !~ /pinned|registered/ { sum += $4 } END { printf "%.0f", sum }' \
	run.out)
like "$(cat run.txt)" "^memory: at most $peak bytes \([0-9.]+ [KMG]iB\) of GPU memory were used" \
	"the summary names the peak"
like "$(cat run.txt)" \
	'^largest holder then: 217055233 bytes \(207 MiB\): .*mem_site_07 .*\[GPU_Memory\]device$' \
	"the summary names the largest holder"
is "$(grep -n '^memory: at most\|^recording: ' run.txt | sed 's/^[0-9]*:\([a-z]*\).*/\1/' |
	tr '\n' ' ')" "memory recording " "the summary names the peak of memory in its first lines"
xpumerge -i run.data --memory live --at 1ns >moment.txt 2>/dev/null
is "$(grep '^memory: at most\|^largest holder' moment.txt)" \
	"$(grep '^memory: at most\|^largest holder' run.txt)" \
	"--at: the summary still shows the peak of the recording and the largest holder"
unlike "$(head -n 1 moment.txt)" "nothing was recorded" \
	"--at: the summary does not say that nothing was recorded"
is "$(xpumerge -i run.data --table memory_failures --csv 2>/dev/null |
	awk -F, 'NR > 1 { print $2, $6 }' | sort -u)" \
	"$((1 << 50)) 2" "failed allocations: the table has the size and CUDA's error"
managed=$(awk '$1 == "leaked" && $3 == "managed" { sum += $4 } END { printf "%.0f", sum }' run.out)
free=$(xpumerge -i run.data --table memory_failures --csv 2>/dev/null |
	awk -F, 'NR == 2 { printf "%.0f", $3 + $5 }')
is "$((free - managed))" "$((80 << 30))" \
	"failed allocations: free and reserved memory add up to the device's memory"
xpumerge -i run.data --memory live --at failed -f folded -o failed.folded 2>/dev/null
memory_sums failed.folded >got
memory_truth run.out leaked >expected
is "$(diff got expected)" "" "--at failed shows the holders of memory at the failed allocation"
peak_ns=$(xpumerge -i run.data --csv --table memory_devices 2>/dev/null |
	awk -F, '$NF ~ /GPU/ { print $2; exit }')
xpumerge diff -f folded --memory live --at "0s,${peak_ns}ns" run.data \
	run.data 2>/dev/null >diff.folded
is "$? $(awk '{ if ($(NF - 1)) print "before"; if ($NF) n++ } END { print (n > 9) }' diff.folded)" \
	"0 1" "diff of two moments: memory is held only at the second moment"
xpumerge -i run.data --memory peak -o peak.html 2>/dev/null
like "$(cat peak.html)" '"unit":"bytes"' "the page shows memory in bytes"
xpumerge -i run.data --memory live -o live.pb.gz 2>/dev/null
is $? 0 "a pprof profile is written"
if command -v protoc >/dev/null 2>&1; then
	gzip -dc live.pb.gz |
		protoc --decode=perftools.profiles.Profile -I"$XPU_SRC/third_party/pprof" \
		"$XPU_SRC/third_party/pprof/profile.proto" >live.pb.txt 2>/dev/null
	is "$(grep -oE '(alloc|inuse)_(objects|space)' live.pb.txt | tr '\n' ' ')" \
		"alloc_objects alloc_space inuse_objects inuse_space " \
			"pprof: the sample types are the types of Go's heap profiles"
fi

xpuload --memory --gpu-only --probe launch --call-graph fp -o fp.data \
	"$XPU_BUILD/workload/memory" -n 100 >fp.out 2>load.log
exact fp 14
xpuload --memory --gpu-only --transport shm -o shm.data "$XPU_BUILD/workload/memory" \
	-r 7 >shm.out 2>load.log
like "$(cat load.log)" 'through shared memory; .* lost 0$' \
	"--transport shm: a recording with memory events loses nothing"
exact shm 14

xpuload --memory-only -o only.data "$XPU_BUILD/workload/memory" -r 3 >only.out 2>load.log
like "$(cat load.log)" ': 0 launches .* 0 device records, [0-9]{5} events of memory, .* lost 0$' \
	"--memory-only: only memory is recorded"
exact only 14
xpuload --memory-only -o exact.data "$XPU_BUILD/workload/exact" -t 2 -n 1000 >exact.out 2>load.log
like "$(cat load.log)" ': 0 launches .* 0 device records, ' \
	"--memory-only: a program's launches are not recorded"

# Two programs run at the same time on one device: each has its own peak, and the peak of both
# together is at another time.
xpuload --memory --gpu-only -o two.data sh -c "'$XPU_BUILD/workload/memory' -n 100 >a.out &
	'$XPU_BUILD/workload/memory' -n 200 -r 5 >b.out; wait" 2>load.log
for pid in $(xpumerge dump two.data 2>/dev/null | grep 'PROCESS misc=.* comm="memory"' |
	grep -o ' pid=[0-9]*' |
		cut -d= -f2 | sort -u); do
	for what in allocated leaked; do
		xpumerge -i two.data --pid "$pid" --memory $what -f folded 2>/dev/null >got.folded
		memory_sums got.folded >got
		for name in a b; do
			memory_truth $name.out $what >expected
			[ -s expected ] && cmp -s got expected && echo "$what $name"
		done
	done
done | sort -u >same
is "$(tr '\n' ' ' <same)" "allocated a allocated b leaked a leaked b " \
	"two programs: each has only its own memory"

XPU_SIM_MEMORY=$((1 << 30)) xpuload --memory -o oom.data "$XPU_BUILD/workload/memory" \
	-n 20 >oom.out 2>load.log
is $? 1 "out of memory: the program exits with status 1"
asked=$(xpumerge -i oom.data --table memory_failures --csv 2>/dev/null |
	awk -F, 'NR == 2 { print $2 }')
last=$((asked / 1048576 - 201))
[ "$last" -ge 0 ] && [ "$last" -le 6 ] && [ "$asked" = $(((201 + last) * 1048576 + 1)) ]
ok $? "out of memory: the refused request is recorded: $asked"
like "$(xpumerge -i oom.data --memory live --at failed -f folded 2>/dev/null)" \
	"mem_site_0$last;.*\[GPU_Memory\]device $((asked - 1048576))\$" \
		"out of memory: the paths that hold memory at the failure are shown"

xpuload -o without.data "$XPU_BUILD/workload/memory" -n 10 >without.out 2>load.log
unlike "$(cat load.log)" 'events of memory' "without --memory: no message mentions memory events"
is "$(xpumerge dump without.data | grep -c ' ALLOCS ')" 0 \
	"without --memory: no memory event is recorded"
xpuload --memory --cpu-only true 2>load.log
is $? 125 "--memory with --cpu-only: exit status 125"
like "$(cat load.log)" 'cannot be combined with --memory' \
	"--memory with --cpu-only: the message says that they cannot be combined"
xpuload --memory-only --capture launch:1-2 true 2>load.log
is $? 125 "--memory-only with --capture: exit status 125"
like "$(cat load.log)" '--memory-only records no launches: it cannot be combined with --capture' \
	"--memory-only with --capture: the message says why"

# Launches are recorded only in windows, but memory events are always recorded: the recording has
# the allocations of all memory that is live in a window.
for transport in bpf shm; do
	xpuload --memory --gpu-only --transport $transport --capture cuda-profiler-api \
		-o windows.data "$XPU_BUILD/workload/memory" -n 100 -w >windows.out 2>load.log
	is $? 0 "--memory with --capture, $transport: exit status 0" || diag "$(cat load.log)"
	like "$(cat load.log)" ' lost 0$' "--memory with --capture, $transport: nothing is lost"
	is "$(xpumerge dump windows.data | grep -c 'WINDOW misc=open')" 5 \
		"--memory with --capture, $transport: five windows are recorded"
	exact windows 14
done
xpuload --memory --gpu-only --capture cuda-profiler-api -o launches.data \
	"$XPU_BUILD/workload/capture" -t 4 -w 3 -n 100 >/dev/null 2>load.log
like "$(cat load.log)" ': 1200 launches from .* lost 0$' \
	"--memory with --capture: the launches in windows are recorded"
is "$(xpumerge -i launches.data -f folded --unit count 2>/dev/null | grep -c 'kernel_out')" 0 \
	"--memory with --capture: launches outside windows are not recorded"
done_testing
