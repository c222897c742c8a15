#!/bin/sh
# SPDX-License-Identifier: MIT
# However a program ends, its exit status is unchanged, the recording has everything that was
# delivered before, and every other launch is counted.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
ends="$XPU_BUILD/workload/ends"

# account NAME: prints the numbers of launches with and without device work, and of all launches.
account() {		# account NAME
	line=$(verdict "$1")
	set -- $line
	nr_all=${2:-0} nr_matched=${4:-0} nr_wrong=${6:-0} nr_unmatched=${8:-0} nr_lost=${10:-0}
}

run() {			# run HOW ARGS...: runs $ends with and without xpuload; sets made, nr_*
	how=$1
	shift
	"$ends" "$@" "$how" >"$how.want" 2>&1
	want=$?
	"$XPULOAD" -o "$how.data" "$ends" "$@" "$how" >"$how.out" 2>"$how.log"
	is $? $want "$how: the expected exit status"
	made=$(sed -n 's/^ends: launches //p' "$how.out" | tail -n 1)
	account "$how"
	diag "$how: made $made; $line"
	is "$nr_wrong $nr_lost" "0 0" "$how: no launch is lost, and no launch is under a wrong site"
	is "$(grep -Evc '^xpuload: |^(Aborted|Segmentation fault|Killed)' "$how.log")" 0 \
		"$how: the target's stderr is silent"	# the shell prints the other lines
}

all_matched() {		# all_matched HOW [LAUNCHES]
	run "$1"
	is "$nr_all $nr_matched $nr_unmatched" "${2:-$made} ${2:-$made} 0" \
		"$1: all launches are recorded and matched"
}

all_counted() {		# all_counted HOW
	run "$1"
	is "$nr_all $((nr_matched + nr_unmatched))" "$made $made" \
		"$1: every launch is counted, matched or not"
}

# Programs end in ways that the shim notices in advance: nothing is missing.
for how in return exit _exit quick_exit reset context badexec vfork fork abort kill int; do
	all_matched $how
done
is "$(sed -n 's/.*\[GPU_Kernel\]\(kernel_[a-z]*\) /\1 /p' context.folded | sort | tr '\n' ' ')" \
	"kernel_again 1000 kernel_last 1000 kernel_work 1000 " \
		"context: each kernel is under its own call path"
all_matched exec 2000

# The program ends while one of its threads holds the dynamic loader's lock, so that the shim's
# thread cannot take this lock.
for how in loading loading_exit beside; do
	all_matched $how
done

# A signal handler that interrupted malloc() ends the process: the thread must not allocate any
# more.
if [ -n "${XPU_SAN:-}" ]; then
	skip "a process that ends inside malloc()" "a sanitizer has an allocator of its own"
else
	for options in "" "--memory --api" "--transport shm"; do
		# shellcheck disable=SC2086 # words, or none
		"$XPULOAD" $options -o in_malloc.data "$XPU_BUILD/workload/in_malloc" >out 2>log
		is $? 0 "a process that ends inside malloc()${options:+, $options} ends as without xpuload" ||
			diag "$(cat log)"
		exact in_malloc 1000 \
			"a process that ends inside malloc()${options:+, $options}: all launches are recorded"
	done
fi

# Programs end in ways that the shim cannot notice: launches that it had not delivered are counted.
all_counted segv

# Ctrl-C without a handler: Python prints a traceback and then kills itself with the signal.
if command -v python3 >/dev/null; then
	cat >interrupt.py <<'END'
import ctypes
import time
cuda = ctypes.CDLL("libcudart.so.13")
memory = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(memory), 4096)
try:
    print("ready", flush=True)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    for i in range(100):
        cuda.cudaMemset(memory, i, 4096)
    raise
END
	: >python.out
	setsid env --default-signal=INT "$XPULOAD" -o python.data \
		"$(python3 -c 'import sys; print(sys.executable)')" \
		interrupt.py >python.out 2>python.log &
	pid=$!
	wait_for grep -qs ready python.out
	kill -INT -$pid
	wait $pid 2>/dev/null
	is $? 130 "KeyboardInterrupt: exit status 130"
	like "$(cat python.log)" '^KeyboardInterrupt' \
		"KeyboardInterrupt: Python prints the exception"
	exact python 100 "KeyboardInterrupt: the last launches are recorded"
else
	skip "KeyboardInterrupt" "no python3"
fi

# Threads that end while they launch: the recording has every launch that they logged.
for how in killed killed killed killed rawexec; do
	run $how
	# shellcheck disable=SC2046 # two numbers
	set -- $(perl -e 'local $/; my @c = unpack("q*", <>); my ($begun, $done) = (0, 0);
		while (@c) { $begun += shift @c; $done += shift @c } print "$begun $done"' counts)
	[ $((nr_all - made)) -ge "$2" ] && [ $((nr_all - made)) -le "$1" ]
	ok $? "$how: every launch before the end is counted" ||
		diag "$((nr_all - made)) of $1 that were begun, $2 done"
done

# Kernels that still run are in the recording, marked as unfinished.
for how in running running_exit; do
	run $how
	is "$nr_all $((nr_matched + nr_unmatched))" "$made $made" "$how: every launch is counted"
	like "$(cat $how.log)" 'lost: [0-9]+ device records unfinished at exit' \
		"$how: a message counts the unfinished device records"
	like "$(cat $how.folded)" 'site_last;.*\[GPU_Kernel\]kernel_last 1$' \
		"$how: the last kernel is recorded"
done

# Other threads still launch while the process ends.
for how in threads threads_exit; do
	run $how
	[ "$nr_all" -gt "$made" ] && [ $((nr_matched + nr_unmatched)) = "$nr_all" ]
	ok $? "$how: every launch before the end is counted"
	is "$(sed -n 's/.*\[GPU_Kernel\]kernel_work //p' $how.folded)" 1000 \
		"$how: kernels that ended before the process are recorded"
done

# Other threads launch even while the last flush runs.
export XPU_SIM_FLUSH_US=30000
run threads
unset XPU_SIM_FLUSH_US
is "$nr_all" $((nr_matched + nr_unmatched)) \
	"a slow flush while threads launch: every launch before the end is counted"

# Signals from outside, after everything was delivered.
rm -f wait.out
setsid env --default-signal=INT "$XPULOAD" -o group.data "$ends" wait >wait.out 2>group.log &
pid=$!
wait_for holds group.data 1000
kill -INT -$pid
wait $pid 2>/dev/null
is $? 130 "SIGINT to the group: exit status 130"
exact group 1000 "SIGINT to the group: all device work that CUPTI delivered is recorded"
like "$(tail -n 1 group.log)" '^xpuload: 1000 launches' \
	"SIGINT to the group: xpuload prints its counts"

# SIGALRM ends the recording after its time limit.
timeout -s INT 600 "$XPULOAD" -o timeout.data "$ends" wait >wait.out 2>timeout.log &
pid=$!
wait_for holds timeout.data 1000
kill -ALRM $pid
wait $pid
is $? 124 "timeout -s INT: exit status 124"
exact timeout 1000 "timeout -s INT: all device work that CUPTI delivered is recorded"

"$XPULOAD" -o waiting.data "$ends" waiting >wait.out 2>waiting.log &
pid=$!
wait_for grep -qs 'launches 1001' wait.out
pkill -KILL -P $pid
wait $pid 2>/dev/null
is $? 137 "killed from outside while kernels run: exit status 137"
account waiting
is "$nr_all $((nr_matched + nr_unmatched)) $nr_lost" "1001 1001 0" \
	"killed from outside while kernels run: every launch is counted"
like "$(cat waiting.mlog)" " $nr_unmatched of these have a process without a last report: killed" \
	"killed from outside while kernels run: a message says why launches have no device work"

# Here the launches are logged with their times in ticks. The last launches are read from a thread's
# memory when the thread ends.
start late "$XPULOAD" -o late.data "$live" -s 1800
ask late on >/dev/null
sleep 1.5
pkill -KILL -P "$late_pid"
wait "$late_pid" 2>/dev/null
is $? 137 "killed while it launches: exit status 137"
account late
xpumerge --from 0 --to 60 -f folded --unit count -o timely.folded late.data 2>/dev/null
is "$(grep -o 'kernel_bg [0-9]*$\|Pending\] [0-9]*$' timely.folded |
	awk '{ n += $2 } END { print n }')" \
	"$(grep -o 'kernel_bg [0-9]*$\|Pending\] [0-9]*$' late.folded |
	awk '{ n += $2 } END { print n }')" \
	"killed while it launches: all times are within the recording"

# A daemon outlives its parent and the recording.
rm -f stop daemon
xpuload -o daemon.data "$ends" daemon >daemon.out 2>daemon.log
is $? 0 "a daemon is left behind: the exit status is its parent's exit status"
account daemon
diag "daemon: $line"
[ "$nr_all" -ge 1000 ] && [ $((nr_matched + nr_unmatched)) = "$nr_all" ]
ok $? "a daemon is left behind: launches before its parent's end are counted"
is "$nr_wrong $nr_lost" "0 0" \
	"a daemon is left behind: every launch is under the right site, none is lost"
[ "$nr_unmatched" -lt $((nr_all / 2)) ]
ok $? "a daemon is left behind: CUPTI delivered the work that the daemon waited for"
like "$(cat daemon.folded)" '\[GPU_Kernel\]kernel_work 1000$' \
	"a daemon is left behind: the work that the daemon waited for is recorded"
[ ! -e daemon ] && sleep 0.3
xpuload -o again.data "$XPU_BUILD/workload/exact" -t 2 -n 1000 >/dev/null 2>again.log
exact again 1000 "a daemon is left behind: another xpuload does not record the daemon"
touch stop
wait_for test -e daemon
like "$(cat daemon)" '^daemon: launches [0-9]+000$' \
	"a daemon is left behind: the daemon keeps running, and ends on its own"
is "$(grep -vc '^xpuload: ' daemon.log)" 0 \
	"a daemon is left behind: nothing is printed on the daemon's stderr"

done_testing
