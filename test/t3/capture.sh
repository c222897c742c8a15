#!/bin/sh
# SPDX-License-Identifier: MIT
# --capture records exactly the launches in the windows that the program opens, on every thread, and
# CUPTI makes no records outside of them. Threads that launch at a window's edges lose nothing.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim
capture="$XPU_BUILD/workload/capture"
"$capture" -t 1 -n 1 -m push >/dev/null
nvtx=$?

# counts NAME: prints the launches of each site, as "in N any N", and the last line of the summary.
counts() {
	xpumerge -i "$1.data" -f folded --gpu-only --unit count -o "$1.folded" 2>merge.log
	sed -n 's/.*\[GPU_Kernel\]kernel_\([a-z]*\)\(;.*\)* \([0-9]*\)$/\1 \3/p' "$1.folded" |
		sort | awk '{ n[$1] += $2 } END { for (i in n) print i, n[i] }' | sort | tr '\n' ' '
	sed -n 's/^.*\(launches [0-9].* lost [0-9]*\)$/\1/p' merge.log
}

# run NAME CAPTURE IN OPTIONS-OF-XPULOAD ARGS...: checks that exactly the IN launches of site_in are
# recorded, and that CUPTI made no records of other launches
run() {
	name=$1 what=$2 in=$3 opts=$4
	shift 4
	rm -f stats
	# shellcheck disable=SC2086
	XPU_SIM_STATS=$PWD/stats xpuload --strict --capture "$what" $opts -o "$name.data" \
		"$capture" "$@" >/dev/null 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	is "$(counts "$name")" "in $in launches $in matched $in unmatched 0 lost 0" \
		"$name: exactly the launches in windows are recorded" ||
		diag "$(cat load.log)"
	is "$(awk '$2 == "records" { n += $3 } END { print n + 0 }' stats)" "$in" \
		"$name: CUPTI made device records only of launches in windows"
	is "$(awk '$2 == "kernels_late" { n += $3 } END { print n + 0 }' stats)" 0 \
		"$name: records of kernels are enabled before records of copies"
}

for transport in bpf shm; do
	run "profiler-$transport" cuda-profiler-api $((8 * 200 * 25)) \
		"--gpu-only --transport $transport" -t 8 -w 200 -n 25
done
is "$(xpumerge dump profiler-bpf.data | grep -c 'WINDOW misc=open')" 200 \
	"the recording has a record for the opening of each window"
is "$(xpumerge dump profiler-bpf.data | grep -c 'WINDOW misc=closed')" 200 \
	"the recording has a record for the closing of each window"
# Each window has the launches that the shim counted in it.
xpumerge -i profiler-bpf.data >summary 2>/dev/null
like "$(head -n 1 summary)" '^[0-9.]+ [mu]?s in 200 windows: GPU 0 busy [0-9]' \
	"the summary shows the total time in windows"
like "$(cat summary)" "windows: 200, [0-9.]+ [mu]?s of [0-9.]+ [mu]?s recorded" \
	"the summary compares the time in windows with the whole time"
is "$(xpumerge -i profiler-bpf.data --window 7 -f folded --gpu-only --unit count 2>/dev/null |
	awk '{ n += $NF } END { print n + 0 }')" 200 \
	"--window 7: shows the launches of this window alone"
is "$(xpumerge -i profiler-bpf.data --window 1,3-4,200-300 -f folded --gpu-only \
	--unit count 2>/dev/null |
	awk '{ n += $NF } END { print n + 0 }')" 800 \
		"--window 1,3-4,200-300: shows the launches of four windows"
is "$(xpumerge -i profiler-bpf.data --window 201 -f folded 2>/dev/null | wc -l)" 0 \
	"--window 201, which does not exist: nothing is shown"
is "$(xpumerge -i profiler-bpf.data --window 3-5 -f chrome 2>/dev/null |
	grep -c '"cat":"window","name":"window [345]"')" 6 \
	"timelines show where windows begin and end"
is "$(xpumerge -i profiler-bpf.data --window 3-5 -f html 2>/dev/null |
	sed -n 's/.*"nr_windows":3,"recorded"://p' |
	grep -o '\[[0-9]*,[0-9]*,[0-9]*\]' | wc -l)" 3 "the page shows where windows begin and end"
# With PC sampling on, CUPTI does not resume recording device work after a window has ended.
xpuload --strict --gpu-only --stalls --capture cuda-profiler-api -o stalls.data "$capture" -t 2 \
	-w 3 -n 100 -p 20 >/dev/null 2>load.log
is $? 0 "stalls: exit status 0" || diag "$(cat load.log)"
is "$(counts stalls)" "in 600 launches 600 matched 600 unmatched 0 lost 0" \
	"stalls: exactly the launches in windows are recorded"
# Contexts that are made between windows are sampled, too.
XPU_SIM_DEVICES=3 XPU_SIM_MACHINE=$$ xpuload --gpu-only --stalls --capture cuda-profiler-api \
	-o devices.data "$capture" -d -w 3 -n 100 -p 20 >/dev/null 2>load.log
is "$(xpumerge dump devices.data | sed -n 's/.* STALLS .*device=\([0-9]*\).*/\1/p' | sort -u |
	tr '\n' ' ')" "0 1 2 " "stalls: contexts that are made between windows are sampled" ||
	diag "$(cat load.log)"
# A forked child has its own windows; the parent has none.
run fork cuda-profiler-api 1200 '' -t 4 -w 3 -n 100 -f
run stop cuda-profiler-api 400 '--capture-end stop' -t 4 -w 3 -n 100
run most cuda-profiler-api 800 '--capture-end repeat:2' -t 4 -w 3 -n 100
xpuload --strict --gpu-only --capture cuda-profiler-api --capture-end repeat -o 'w%n.folded' \
	-o 'w%n.json' "$capture" -t 2 -w 3 -n 10 >/dev/null 2>load.log
is $? 0 "repeat: exit status 0" || diag "$(cat load.log)"
is "$(ls w*.folded w*.json 2>/dev/null | tr '\n' ' ')" \
	"w1.folded w1.json w2.folded w2.json w3.folded w3.json " \
	"repeat: each window has one result of each format"
is "$(grep -c '"cat":"kernel"' w2.json) $(grep -c '"name":"window 2"' w2.json)" "20 2" \
	"repeat: a result has only the launches of its window"
xpuload --gpu-only --capture cuda-profiler-api --capture-end repeat -o 'e%n.folded' "$capture" \
	-w 3 -n 10 -e >/dev/null 2>load.log
is "$? $(awk '{ sum += $NF } END { print (sum > 0) }' e3.folded)" "0 1" \
	"repeat: a window without launches does not end the recording" || diag "$(cat load.log)"
[ -e e2.folded ] && [ ! -s e2.folded ]
ok $? "repeat: the result of a window without launches is empty"
for bad in 'repeat -o w.html' 'repeat -o w%n.svg' repeat:0 repeat:x none stop-shutdown \
	repeat-shutdown:2 x; do
	# shellcheck disable=SC2086
	xpuload --capture cuda-profiler-api --capture-end $bad true 2>log
	is "$? $(wc -l <log)" "125 1" "--capture-end $bad: refused, with one line" ||
		diag "$(cat log)"
done
run each cuda-profiler-api 1200 '--probe launch' -t 4 -w 3 -n 100
run fp cuda-profiler-api 1200 '--call-graph fp' -t 4 -w 3 -n 100
run api cuda-profiler-api 1200 '--api' -t 4 -w 3 -n 100
is "$(xpumerge -i api.data --table api_calls --csv 2>/dev/null |
	awk -F, '/cudaLaunchKernel/ { print $3 }')" 1200 \
	"--api: only the calls in windows are recorded"

# At the end of a window, the shim waits for launches that are in the driver. A launch may take
# longer than the shim waits.
for transport in bpf shm; do
	XPU_SIM_LAUNCH_MS=300 xpuload --strict --gpu-only --transport $transport \
		--capture cuda-profiler-api -o slow.data "$capture" -t 1 -w 3 -n 1 -r 2 \
		>/dev/null 2>load.log
	is $? 0 "launches of 0.3 s, $transport: exit status 0" || diag "$(cat load.log)"
	like "$(counts slow)" \
		'^any [1-9][0-9]* in 3 launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
		"launches of 0.3 s, $transport: each launch of a window has its kernel"
done

if [ $nvtx != 77 ]; then
	run push nvtx:^window$ 2000 '' -t 4 -w 5 -n 100 -m push
	run start nvtx:window 2000 '' -t 4 -w 5 -n 100 -m start
	run domain 'nvtx:^test:wi.*w$' 2000 '' -t 4 -w 5 -n 100 -m domain
	xpuload --capture 'nvtx:^window$' -o none.data "$capture" -t 2 -w 2 -n 10 \
		-m domain >/dev/null 2>&1
	is "$(counts none)" "launches 0 matched 0 unmatched 0 lost 0" \
		"an NVTX range of another domain opens no window"
	is "$(xpumerge -i push.data --nvtx '^window$' -f folded --gpu-only \
		--unit count 2>/dev/null |
		awk '{ n += $NF } END { print n + 0 }')" 0 \
		"the range is on the pushing thread alone"
fi

# Launches by number: launches that threads make at the same time are counted one by one.
launch() {		# launch N-M IN OUT
	xpuload --strict --gpu-only --capture "launch:$1" -o launch.data "$capture" -t 8 -w 1 \
		-n 200 -m none >/dev/null 2>load.log
	is $? 0 "launch:$1: exit status 0" || diag "$(cat load.log)"
	is "$(counts launch)" \
		"${2:+in $2 }${3:+out $3 }launches $((${2:-0} + ${3:-0})) matched $((${2:-0} +
		${3:-0})) unmatched 0 lost 0" \
			"launch:$1: exactly the launches with these numbers are recorded"
}
launch 1-10 "" 10
launch 1 "" 1
launch 1601-3200 1600 ""
launch 1401-2600 1000 200
launch 3201- "" 1600
launch 5000-6000 "" ""
# If a thread loses its CPU after it took a number in the window, its launch is recorded, however
# late the thread continues.
xpuload --strict --gpu-only --capture launch:1-10 -o late.data "$XPU_BUILD/workload/late" \
	10 >/dev/null 2>load.log
is $? 0 "late: exit status 0" || diag "$(cat load.log)"
is "$(counts late)" "in 10 launches 10 matched 10 unmatched 0 lost 0" \
	"late: the window stays open until the thread has launched"

# Threads launch all the time, even at a window's edges: each launch is inside or outside, and each
# launch inside has its kernel.
for transport in bpf shm; do
	xpuload --strict --transport $transport --capture cuda-profiler-api \
		-o "race-$transport.data" "$capture" -t 4 -w 150 -n 10 -r 4 >race.out 2>load.log
	is $? 0 "racers, $transport: exit status 0" || diag "$(cat load.log)"
	like "$(counts "race-$transport")" \
		'^any [0-9]+ in 6000 launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
		"racers, $transport: no launch lacks its device work, and no device work lacks its launch"
	xpumerge dump "race-$transport.data" >race.dump
	sed -n 's/.*WINDOW misc=closed.* time_ns=\([0-9]*\) open_ns=\([0-9]*\) .*/\2 \1/p' \
		race.dump >windows
	is "$(sed -n 's/.* WAIT .*start_ns=\([0-9]*\) .*/\1/p' race.dump | sort -n | awk '
		NR == FNR { open[NR] = $1; close_[NR] = $2; next }
		{ while (close_[at + 1] && close_[at + 1] < $1) at++; if ($1 < open[at + 1]) n++ }
		END { print n + 0 }' windows -)" 0 \
		"racers, $transport: no wait began outside of the windows"
	sed -n 's/.*WINDOW misc=closed number=\([0-9]*\) .*nr_launches=/\1 /p' race.dump |
		awk '$1 % 30 == 1' | while read -r window nr; do
		[ "$(xpumerge -i "race-$transport.data" --window "$window" -f folded --gpu-only \
			--unit count \
			2>/dev/null | awk '{ n += $NF } END { print n + 0 }')" = "$nr" ] ||
			echo "$window"
	done >wrong
	is "$(cat wrong)" "" \
		"racers, $transport: --window shows as many launches as the shim counted"
	[ "$(sed -n 's/.*kernel_any //p' "race-$transport.folded")" \
		-lt "$(sed 's/.*any //' race.out)" ]
	ok $? "racers, $transport: some launches are outside of windows"
done
# Threads that open and close windows at random, NVTX ranges that are popped twice, and launches in
# between: each launch that the shim counted in a window is recorded with its kernel.
for what in cuda-profiler-api 'nvtx:^window$' 'nvtx:^test:' launch:1000-2000; do
	[ $nvtx = 77 ] && [ "${what#nvtx}" != "$what" ] && continue
	for transport in bpf shm; do
		xpuload --strict --gpu-only --transport $transport --capture "$what" \
			-o random.data "$capture" -t 32 -w 1000 -m random >/dev/null 2>load.log
		is $? 0 "random windows, $what, $transport: exit status 0" || diag "$(cat load.log)"
		got=$(counts random)
		xpumerge dump random.data >random.dump
		n=$(sed -n 's/.*WINDOW misc=closed.* nr_launches=//p' random.dump |
			awk '{ n += $1 } END { print n + 0 }')
		any=
		[ "$n" = 0 ] || any="any $n "
		is "$got" "${any}launches $n matched $n unmatched 0 lost 0" \
			"random windows, $what, $transport: exactly the launches in windows are recorded"
		[ "$n" -gt 0 ] || [ "$what" = 'nvtx:^test:' ]	# windows of some microseconds
		ok $? "random windows, $what, $transport: some launches are recorded"
	done
done
# CPU samples, too, are taken only in windows.
for transport in bpf shm; do
	xpuload --transport $transport --capture cuda-profiler-api -F 999 -o cpu.data "$capture" \
		-t 2 -w 0 -n 40000 >/dev/null 2>&1
	is "$(xpumerge -i cpu.data -f folded 2>/dev/null | wc -l)" 0 \
		"$transport: without a window no CPU samples are taken"
	xpuload --transport $transport --capture launch:1- -F 999 -o cpu.data "$capture" -t 2 -w 0 \
		-n 40000 >/dev/null 2>&1
	[ "$(xpumerge -i cpu.data --cpu-only -f folded 2>/dev/null | wc -l)" -gt 0 ]
	ok $? "$transport: CPU samples are taken in a window"
done

groups=$(printf '%100000s' '' | tr ' ' '(')
for bad in 'nvtx:' 'nvtx:(' 'nvtx:(a)\1' "nvtx:$groups" launch:0-3 launch:5-4 launch:x launch:1-2x \
	profiler ''; do
	xpuload --capture "$bad" true 2>log
	is "$? $(wc -l <log)" "125 1" \
		"--capture '$(echo "$bad" | head -c 20)': refused, with one line"
done
for bad in '--capture launch:1 --off-cpu' '--capture launch:1 --cpu-only' '--capture-end stop' \
	'--capture nvtx:x --nvtx=off' '--capture launch:1 --cupti share' \
	'--capture launch:1 -p 1'; do
	# shellcheck disable=SC2086
	xpuload $bad 2>log
	is $? 125 "$bad: refused"
done
done_testing
