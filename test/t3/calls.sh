#!/bin/sh
# SPDX-License-Identifier: MIT
# --api=all: every CUDA API call is recorded once, with its thread and its duration; --api: only
# calls that can take long. Real BPF and real uprobes on the simulated device.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim

compare() {		# compare NAME: compares the recording with the program's output
	xpumerge -i "$1.data" --table api_calls --csv --limit 0 >"$1.csv" 2>merge.log
	is $? 0 "$1: --table api_calls succeeds"
	like "$(cat merge.log)" ' unmatched 0 lost 0$' "$1: nothing is lost"
	xpumerge -i "$1.data" -f chrome -o "$1.json" 2>merge.log
	python3 "$XPU_SRC/test/lib/calls.py" "$1.out" "$1.csv" "$1.json" >verdict
	diag "$(cat verdict)"
	is "$(grep -c '^calls' verdict) $(grep -c '^thread' verdict) $(grep -v '^time' verdict |
		grep -c WRONG)" "9 $2 0" "$1: all calls of all threads are recorded"
}

# If the machine itself is halted for a while, the program and CUPTI see different times. The test
# makes up to three recordings: each must have all calls, and one must have the right times.
timed() {		# timed NAME FUNCTION
	for try in 1 2 3; do
		"$2"
		grep -q '^time .*WRONG' verdict || break
		diag "$1: recording $try: not the same time"
	done
	is "$(grep -c '^time' verdict) $(grep -c '^time .*WRONG' verdict)" "1 0" \
		"$1: the calls are as long as the program measured"
}

run_here() {
	xpuload --api=all -o run.data "$XPU_BUILD/workload/calls" >run.out 2>load.log
	is $? 0 "a run: exit status 0"
	like "$(cat load.log)" \
		'^xpuload: 800 launches .* 800 device records, [0-9]{3} API calls, .* lost 0$' \
		"a run: xpuload counts its launches and calls"
	compare run 5
}

# If a thread in another pid namespace launches nothing, its pid in this namespace is unknown.
run_far() {
	xpuload --api=all --gpu-only --probe launch -o far.data unshare -pf \
		--propagation unchanged --mount-proc "$XPU_BUILD/workload/calls" >far.own 2>load.log
	is $? 0 "in a pid namespace: exit status 0"
	grep -v 'calls-asks' far.own | sed '/^thread/s/ [0-9]* \([0-9]*\)$/ 0 \1/' >far.out
	compare far 4
}

timed run run_here
timed far run_far
is "$(grep -c '"cat":"api","name":"cudaPeekAtLastError"' far.json)" 100 \
	"in a pid namespace: calls of a thread without launches are recorded, too"

# --api: except for short calls, each function has as many calls as with --api=all.
trivial='_*cu(da)?[A-Za-z]*(Get|Peek|Is|Can|Query|Push|Pop|Occupancy|Current|Exchange|Elapsed)([^a-z][A-Za-z]*)?'
timed='(Count|External|Func|Function|Graph|Ipc|Kernel|Library|Mem|Module|Properties|Symbol)([^a-z]|$)'
functions() {		# functions FILE: prints "NUMBER NAME" of each function
	xpumerge -i "$1" --table api_calls --csv --limit 0 2>/dev/null | tail -n +2 | tr -d '"' |
		awk -F, '{ print $3, $NF }' | sort
}
xpuload --api -o timed.data "$XPU_BUILD/workload/calls" >timed.out 2>load.log
is $? 0 "--api: exit status 0"
like "$(cat load.log)" \
	'^xpuload: 800 launches .* 800 device records, [0-9]+ API calls, .* lost 0$' \
	"--api: xpuload counts launches and calls"
functions run.data >all.txt
functions timed.data >timed.txt
grep -vE " $trivial\$" all.txt >expected.txt
grep -E " $trivial\$" all.txt | grep -E "$timed" >>expected.txt
sort -o expected.txt expected.txt
is "$(cat timed.txt)" "$(cat expected.txt)" "--api: all calls that can take time are recorded"
like "$(comm -23 all.txt timed.txt)" 'cudaPeekAtLastError' \
	"--api: a call that takes no time is not recorded"
xpuload --api=some true 2>log
is $? 125 "--api=some: refused"

xpuload -o without.data "$XPU_BUILD/workload/calls" >without.out 2>load.log
unlike "$(cat load.log)" 'API calls' "without --api: no message mentions API calls"
is "$(xpumerge -i without.data --table api_calls --csv 2>/dev/null | wc -l)" 1 \
	"without --api: the table of calls is empty"
is "$(xpumerge -i without.data -f chrome 2>/dev/null | grep -c '"cat":"api"')" 0 \
	"without --api: the timeline has no API calls"

# Every loss is reported, and a call takes 16 bytes.
"$XPULOAD" --api=all --gpu-only -m 64K -o small.data "$XPU_BUILD/workload/calls" -t 8 -n 5000 \
	-u 1 >small.out 2>load.log
sent=$(grep -oE '[0-9]+ API calls' load.log | cut -d ' ' -f 1)
there=$(xpumerge -i small.data --table api_calls --csv 2>merge.log |
	awk -F, '{ sum += $3 } END { print sum }')
missing=$(awk '/API calls that the shim sent/ { print $1 }' merge.log)
made=$(awk '$1 == "thread" { sum += $4 } END { print sum + 1 }' small.out)
diag "a small ring: $made made, $sent sent, $there there, ${missing:-0} missing; $(tail -n 1 \
	load.log)"
# The shim's last count may itself be lost. The recording may still have calls that the shim sent
# after an earlier count.
[ "$there" -ge "$made" ] || { [ $((there + ${missing:-0})) -ge "$sent" ] &&
	grep -q ' lost [1-9]' load.log; }
ok $? "a small ring: missing calls are counted"
call_bytes() {		# call_bytes LEVEL: prints the bytes per call, times 100
	for how in '' --api=all; do
		# shellcheck disable=SC2086 # no option, or one
		xpuload --gpu-only -z "$1" $how -o "size$how.data" "$XPU_BUILD/workload/calls" \
			-t 2 -n 10000 -u 0 >size.out 2>load.log
	done
	sent=$(grep -oE '[0-9]+ API calls' load.log | cut -d ' ' -f 1)
	echo $((($(wc -c <size--api=all.data) - $(wc -c <size.data)) * 100 / sent))
}
bytes=$(call_bytes 0)
diag "$bytes hundredths of a byte for each call"
[ "$bytes" -ge 1600 ] && [ "$bytes" -lt 1750 ]
ok $? "a call takes 16 bytes in an uncompressed recording"
bytes=$(call_bytes 1)
diag "$bytes hundredths of a byte for each call, compressed"
[ "$bytes" -lt 1000 ]
ok $? "a call takes less than 10 bytes in a compressed recording"

# A running program records calls while at least one observer asks for them, even if another
# observer does not.
start_dormant a -t 2
attach plain -p "$a_pid"
awake plain
ask a "burst 100" >/dev/null
attach one --api -p "$a_pid"
awake one
sleep 1			# the shim looks for observers ten times a second
ask a "burst 100" >/dev/null
leave one
like "$(cat one.log)" '^xpuload: 103 launches .* [0-9]+ API calls, ' \
	"attached: xpuload counts launches and calls"
sleep 1
ask a "burst 100" >/dev/null
leave plain
xpumerge -i one.data --table api_calls --csv --limit 0 >one.csv 2>merge.log
diag "$(cat one.csv merge.log)"
like "$(cat merge.log)" ' unmatched 0 lost 0$' "attached: nothing is lost"
is "$(sed -n 's/.*,"_*cudaLaunchKernel"$/&/p' one.csv | cut -d, -f3)" 100 \
	"attached: each launch is counted as a call"
is "$(grep '"cudaMemcpy"$' one.csv | cut -d, -f3)" 3 "attached: each copy is counted as a call"
unlike "$(cat one.csv)" 'cuDeviceGetName' "attached: the shim's own calls are left out"
unlike "$(cat one.csv)" 'cuKernelGetName' "attached: calls that CUDA makes for tools are left out"
is "$(xpumerge -i plain.data --table api_calls --csv 2>/dev/null |
	sed -n 's/.*,"_*cudaLaunchKernel"$/&/p' | cut -d, -f3)" 100 \
	"an observer without --api has the calls made while another observer has --api"
attach all -a --api
awake all
ask a "burst 100" >/dev/null
leave all
is "$(xpumerge -i all.data --table api_calls --csv 2>/dev/null |
	sed -n 's/.*,"_*cudaLaunchKernel"$/&/p' | cut -d, -f3)" 100 "-a: each launch is a call"
finish a
is $? 0 "the target ends with exit status 0"

xpuload --cpu-only --api true 2>log
is $? 125 "--cpu-only --api: refused"

done_testing
