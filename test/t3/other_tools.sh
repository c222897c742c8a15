#!/bin/sh
# SPDX-License-Identifier: MIT
# Recording together with other tools: another CUPTI subscriber, other preloaded and injected
# libraries, other versions of CUPTI.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
exact="$XPU_BUILD/workload/exact"

# ---- another subscriber -------------------------------------------------------------------------

# Another subscriber before the recording: it has CUPTI when xpuload attaches, and releases CUPTI
# later.
start_dormant a -t 2
is "$(ask a subscribe)" "subscribe 0" "shim asleep: CUPTI is free for other tools"
attach one -p "$a_pid"
wait_for grep -qs 'CUPTI is in use' one.log
ok $? "another tool uses CUPTI: a message says so" || diag "$(cat one.log)"
like "$(cat one.log)" "^xpuload: .*pid $a_pid.*in use by .*profiler-in-the-program" \
	"another tool uses CUPTI: the message names the tool and the target's pid"
is "$(ask a "burst 100")" "burst 100" "another tool uses CUPTI: the target keeps running"
is "$(ask a unsubscribe)" "unsubscribe 0" "the other tool releases CUPTI"
wait_for grep -qs 'CUPTI is free again' one.log
ok $? "CUPTI is free again: a message says that recording resumes"
ask a "burst 100" >/dev/null
is "$(grep -c 'CUPTI is in use' one.log)" 1 \
	"another tool uses CUPTI: the message is printed only once"
leave one
is $? 0 "CUPTI is free again: exit status 0"
exact one 103 "CUPTI is free again: every later launch is recorded"

# Another subscriber during the recording: it subscribes while the shim is awake, and does not get
# CUPTI.
attach two -p "$a_pid"
awake two
is "$(ask a subscribe)" "subscribe 39" "shim awake: another tool cannot subscribe to CUPTI"
is "$(ask a "burst 100")" "burst 100" "shim awake: the target keeps running"
leave two
exact two 103 "shim awake: the recording is complete"

# After the recording, another tool can subscribe.
wait_released() {
	[ "$(ask a subscribe)" = "subscribe 0" ]
}
wait_for wait_released
ok $? "shim asleep again: CUPTI is free for other tools"

# A program that is linked to CUPTI gets CUPTI as soon as it subscribes; after that it sees the same
# results as without the shim.
for how in "" activity; do
	own="$XPU_BUILD/workload/own_cupti"
	"$own" $how >own.want
	want=$?
	# shellcheck disable=SC2086 # one argument or none
	xpuload -o own.data "$own" $how >own.out 2>own.log
	is "$? $want" "0 0" "own_cupti $how: exit status 0, as without xpuload" ||
		diag "$(cat own.log)"
	cmp own.want own.out
	ok $? \
		"own_cupti $how: the program's profiler sees the same results as without xpuload" ||
		diag "$(cat own.out)"
	like "$(cat own.log)" \
		'^xpuload: warning: pid [0-9]+: the program uses CUPTI itself \(cupti[A-Za-z]+\): nothing is recorded until it releases CUPTI' \
		"own_cupti $how: a message says that the program uses CUPTI itself"
	like "$(cat own.log)" 'CUPTI is free again: recording' "own_cupti $how: recording resumes"
	exact own 200 \
		"own_cupti $how: all launches before and after the program's profiling are recorded"
	is "$(sed -n 's/.*;\(before\|after\);.*\[GPU_Memset\] /\1 /p' own.folded | sort |
		tr '\n' ' ')" \
		"after 100 before 100 " "own_cupti $how: each launch is under its call path"
done

"$own" activity first >own.want
xpuload -o own.data "$own" activity first >own.out 2>own.log
is $? 0 "own_cupti before CUDA: exit status 0" || diag "$(cat own.log)"
cmp own.want own.out
ok $? \
	"own_cupti before CUDA: the program's profiler sees the same as without xpuload" ||
	diag "$(cat own.out)"
like "$(cat own.log)" \
	'^xpuload: warning: pid [0-9]+: CUPTI is in use by the program itself: nothing' \
	"own_cupti before CUDA: a message says that the program uses CUPTI itself"
exact own 100 "own_cupti before CUDA: all later launches are recorded"

# A subscriber that never releases CUPTI.
attach three -p "$a_pid"
wait_for grep -qs 'CUPTI is in use' three.log
ask a "burst 100" >/dev/null
leave three
is $? 125 "CUPTI is never free: exit status 125"
like "$(cat three.log)" '^xpuload: 0 launches' "CUPTI is never free: nothing is recorded"
ask a unsubscribe >/dev/null

# Two observers: each gets a message about the subscriber.
ask a subscribe >/dev/null
attach four -p "$a_pid"
wait_for grep -qs 'CUPTI is in use' four.log
ok $? "another tool uses CUPTI: a later xpuload prints the message, too"
attach five -p "$a_pid"
attached five
sleep 1.3
ask a unsubscribe >/dev/null
wait_for grep -qs 'CUPTI is free again' five.log
ok $? "CUPTI is free again: a second xpuload prints that recording begins"
ask a "burst 100" >/dev/null
leave four
leave five
exact four 103 "CUPTI is free again: the first xpuload has all later launches"
exact five 103 "CUPTI is free again: the second xpuload has all later launches"
finish a
is $? 0 "the target ends with exit status 0"

# ---- the user's own libraries -------------------------------------------------------------------

cp "$XPU_BUILD/test/t2/sim_inject.so" user.so
is "$(LD_PRELOAD="$PWD/user.so" xpuload -q -o b.data sh -c 'echo "$LD_PRELOAD"' 2>log)" \
	"$XPU_SHIM:$PWD/user.so" "the user's LD_PRELOAD is kept, after the shim"
cp user.so user2.so
is "$(LD_PRELOAD="$PWD/user.so $PWD/user2.so" xpuload -q -o b.data sh -c 'echo "$LD_PRELOAD"' \
	2>log)" "$XPU_SHIM:$PWD/user.so $PWD/user2.so" \
		"the libraries in the user's LD_PRELOAD keep their order"

export CUDA_INJECTION64_PATH="$PWD/user.so"
start b "$XPULOAD" -o b.data "$live" -s 1800
is "$(ask b "env SIM_INJECTED")" "env 1" \
	"the library in the user's CUDA_INJECTION64_PATH is called once"
ask b "burst 100" >/dev/null
finish b
exact b 103 "with a library in CUDA_INJECTION64_PATH, the recording is complete"
start_dormant c
is "$(ask c "env SIM_INJECTED")" "env 1" \
	"CUDA_INJECTION64_PATH, before xpuload attaches: the library is called once"
attach six -p "$c_pid"
awake six
ask c "burst 100" >/dev/null
leave six
exact six 103 "a program with a library in CUDA_INJECTION64_PATH can be attached to"
is "$(ask c "env SIM_INJECTED")" "env 1" \
	"CUDA_INJECTION64_PATH, attached: the library is still called once"
finish c
is "$(xpuload -q -o d.data sh -c 'sh -c "echo \$XPUSHIM_CHAIN_INJECTION"' 2>log)" "$PWD/user.so" \
	"a grandchild inherits the user's CUDA_INJECTION64_PATH"
CUDA_INJECTION64_PATH=/no/such/library.so xpuload -o d.data "$exact" -t 2 -n 1000 >d.out 2>d.log
exact d 1000 "a missing library in CUDA_INJECTION64_PATH does no harm"
unset CUDA_INJECTION64_PATH

# ---- other versions of CUPTI --------------------------------------------------------------------

mkdir -p elsewhere
cp "$XPU_BUILD/sim/libcupti.so.13" elsewhere/libcupti-of-mine.so
export XPUSHIM_CUPTI="$PWD/elsewhere/libcupti-of-mine.so"
start e "$XPULOAD" -o e.data "$live" -s 1800
ask e "burst 100" >/dev/null
grep -q elsewhere/libcupti-of-mine.so "/proc/$(pgrep -P "$e_pid" -x live)/maps"
ok $? "the library that XPUSHIM_CUPTI names is used"
finish e
exact e 103 "with XPUSHIM_CUPTI, the recording is complete"
unset XPUSHIM_CUPTI

for version in 13 14 17 18 24 26 130000; do
	XPU_SIM_CUPTI_VERSION=$version xpuload -o v.data "$exact" -t 2 -n 1000 -m >v.out 2>v.log
	exact v $((1000 + $(sed -n 's/^exact: copies //p' v.out))) \
		"CUPTI version $version: all records are read"
done
unset LD_LIBRARY_PATH
for major in 11 12; do
	# Each version's libcuda is found by name, because a sanitizer's dlopen() ignores the
	# caller's RUNPATH.
	sim=${XPU_SAN:+$XPU_BUILD/sim$major:}$LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$sim xpuload -o "m$major.data" "$XPU_BUILD/sim$major/exact" -t 2 -n 1000 \
		>m.out 2>m.log
	is $? 0 "CUDA $major: exit status 0" || diag "$(cat m.log)"
	exact "m$major" 1000 \
		"CUDA $major, its CUPTI next to its libcudart: every launch is matched, under its own site"
done

done_testing
