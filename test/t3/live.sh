#!/bin/sh
# SPDX-License-Identifier: MIT
# Running programs: the shim sleeps until an observer attaches, stays awake until the last observer
# leaves, and does not harm the program.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim

# The numbers that the target prints without any recording.
start plain "$live" -s 1800 -t 2
for i in 1 2 3; do ask plain "burst 1000" >/dev/null; done
finish plain
want=$(tail -n 1 plain.out)

start_dormant a -t 2
ask a "burst 1000" >/dev/null
sleep 0.3
grep -q libxpushim "/proc/$a_pid/maps"
ok $? "the shim is loaded"
! grep -q libcupti "/proc/$a_pid/maps"
ok $? "shim asleep: CUPTI is not loaded"

attach one -p "$a_pid"
awake one
is "$(ask a "burst 1000")" "burst 1000" "attached: the target keeps running"
grep -q libcupti "/proc/$a_pid/maps"
ok $? "shim awake: CUPTI is loaded"
leave one
is $? 0 "SIGINT ends xpuload: exit status 0"
like "$(cat one.log)" '^xpuload: 1003 launches .* 1003 device records, 1 process;.* lost 0' \
	"xpuload prints its counts"
exact one 1003 "attached: each launch in the window is recorded, under its own site"
is "$(grep -c ';copy' one.folded)" 3 "attached: copies are recorded, too"
ask a "burst 1000" >/dev/null
exact one 1003 "detached: no later launch is recorded"
finish a
is $? 0 "the target ends with exit status 0"
is "$(tail -n 1 a.out)" "$want" "the target's results are the same as without xpuload"
is "$(wc -c <a.err)" 0 "nothing was printed on the target's stderr"

# has_stack PID BYTES: succeeds if a thread's stack, above its guard page, has at least BYTES
has_stack() {
	below=
	while read -r range perms _; do
		[ "$below $perms" = "---p rw-p" ] &&
			[ $((0x${range#*-} - 0x${range%-*})) -ge "$2" ] && return 0
		below=$perms
	done <"/proc/$1/maps"
	return 1
}

# Calls of runtimes need some stack.
# shellcheck disable=SC2016 # the script expands these
start small sh -c 'ulimit -s 256; LD_PRELOAD=$1 exec "$2" -s 1800' sh "$XPU_SHIM" "$live"
has_stack "$small_pid" 1048576
ok $? "threads with small stacks: the shim's thread has 1 MiB" ||
	diag "$(cat "/proc/$small_pid/maps")"
finish small

# Attaching in the middle of work: there are launches before, in and after the window.
start_dormant b -t 4
ask b on >/dev/null
sleep 0.2
# The ring has space for all launches that four threads can make, however busy the machine is.
xpuload -m 256M -o busy.data -p "$b_pid" --duration 2 2>busy.log
is $? 0 "--duration: exit status 0"
line=$(verdict busy)
diag "$line"
like "$line" 'launches ([1-9][0-9]{2,}) matched \1 wrong 0 unmatched 0 lost 0' \
	"a busy target: all recorded launches are matched; attaching and leaving lose none" ||
	diag "$(cat busy.log busy.mlog)"
like "$(cat busy.log)" 'lost 0$' "a busy target: xpuload counts no loss"
is "$(ask b off)" off "the busy target keeps running"

# xpuload attaches again to threads that are nearly always in calls that wait, also while another
# xpuload records them. Each launch has its own ID, whichever calls were recorded before.
# start_again ARGS...: starts the program, and waits until its threads launch
start_again() {
	rm -f again.out		# may have the "ready" of an earlier program
	LD_PRELOAD=$XPU_SHIM "$XPU_BUILD/workload/again" -s 1800 -w 60 "$@" >again.out &
	again=$!
	wait_for grep -qs ready again.out
}

# attach_again OBSERVER OPTIONS...: attaches, and waits until the observer has some launches
attach_again() {
	attach "$@" -p $again
	wait_for has_launches "$1" 40
}

start_again
for opts in -q '-q --api' '-q --memory' '-q --api --memory' '-q --off-cpu'; do
	# shellcheck disable=SC2086
	attach_again waits $opts
	leave waits
	line=$(verdict waits)
	like "$line" 'launches ([1-9][0-9]+) matched \1 wrong 0 unmatched 0 lost 0' \
		"waiting threads, $opts: every launch is matched, under its own site" ||
		diag "$(cat waits.log waits.mlog)"
done
attach_again waits -q
attach_again calls -q --api
leave calls
nr=$(verdict waits | cut -d' ' -f2)
wait_for has_launches waits $((nr + 40))
leave waits
is $? 0 "waiting threads: exit status 0 after another xpuload attached and detached"
like "$(verdict waits)" 'launches ([1-9][0-9]+) matched \1 wrong 0 unmatched 0 lost 0' \
	"waiting threads: every launch is still matched, under its own site" ||
	diag "$(cat waits.log waits.mlog)"
kill $again
wait $again
# Threads that are always in one kind of call, for which only --api has callbacks.
start_again -t 8 -k free
for opts in '-q --api' '-q --api' -q; do
	# shellcheck disable=SC2086
	attach_again waits $opts
	leave waits
	like "$(verdict waits)" 'launches ([1-9][0-9]+) matched \1 wrong 0 unmatched 0 lost 0' \
		"threads that allocate, $opts: every launch is matched, under its own site" ||
		diag "$(cat waits.log waits.mlog)"
done
kill $again
wait $again

# Two observers: one attaches and leaves while the other records.
attach outer -p "$b_pid"
awake outer
ask b "burst 1000" >/dev/null
attach inner -p "$b_pid"
awake inner
ask b "burst 1000" >/dev/null
leave inner
is $? 0 "two xpuloads attached: the second ends with exit status 0"
ask b "burst 1000" >/dev/null
leave outer
exact inner 1003 "two xpuloads attached: the second has all launches of its time"
exact outer 3009 "two xpuloads attached: the first has all launches of its time"
finish b
is $? 0 "two xpuloads attached: the target ends with exit status 0"

# One observer leaves while another attaches.
start_dormant c
attach first -p "$c_pid"
awake first
ask c "burst 500" >/dev/null
attach second -p "$c_pid"
leave first
awake second
ask c "burst 500" >/dev/null
leave second
exact second 503 "an xpuload that attaches as another detaches has all launches"

# -a records every process that has the shim, and does not record processes without the shim.
start_dormant d -t 2
start stranger "$live" -s 1800
attach all -a
wait_for are_awake all 2
ask c "burst 300" >/dev/null
ask d "burst 400" >/dev/null
ask stranger "burst 500" >/dev/null
leave all
is $? 0 "-a: exit status 0"
exact all 706 "-a: each launch of both programs with the shim is recorded, under its own site"
like "$(cat all.log)" ' 2 processes;' "-a: two processes are counted"
finish stranger

# Programs that cannot be attached to.
start stranger "$live" -s 1800
xpuload --no-inject -o none.data -p "$stranger_pid" 2>log
is $? 125 "--no-inject -p of a process without the shim: exit status 125"
like "$(cat log)" "^xpuload: pid $stranger_pid runs without the shim; start it with LD_PRELOAD=" \
	"--no-inject -p of a process without the shim: the message says what to do"
is "$(ask stranger "burst 10")" "burst 10" \
	"--no-inject -p of a process without the shim: the process keeps running"
finish stranger
# A shim of another version: xpuload accepts only its own shim.
cp "$XPU_SHIM" . && printf x >>libxpushim.so
start other env LD_PRELOAD="$PWD/libxpushim.so" "$live" -s 1800
xpuload -o none.data -p "$other_pid" 2>log
is $? 125 "-p of a process with another shim: exit status 125"
like "$(cat log)" "^xpuload: pid $other_pid runs with a libxpushim.so of another version" \
	"-p of a process with another shim: a message names the other version"
finish other
sh -c 'exit 0' &
gone=$!
wait $gone
xpuload -o none.data -p $gone 2>log
is $? 125 "-p of a process that has ended: exit status 125"
like "$(cat log)" "^xpuload: pid $gone: No such process" \
	"-p of a process that has ended: a message says that the process does not exist"
is_zombie() {
	[ -s zombie ] && grep -qs '^State:.Z' "/proc/$(cat zombie)/status"
}
# If a child ended before the exec, the shell would reap it.
sh -c 'until grep -q sleep /proc/$$/comm; do sleep 0.05; done & echo $! >zombie; exec sleep 600' &
keeper=$!
wait_for is_zombie
for args in "" --cpu-only; do
	# shellcheck disable=SC2086 # an option, or none
	xpuload $args -o none.data -p "$(cat zombie)" 2>log
	is $? 125 "-p of a zombie $args: exit status 125"
	like "$(cat log)" "^xpuload: pid $(cat zombie): No such process" \
		"-p of a zombie $args: a message says that the process does not exist"
done
kill $keeper
thread=$(ls "/proc/$c_pid/task" | grep -vx "$c_pid" | head -n 1)
timeout 300 "$XPULOAD" --cpu-only -o none.data -p "$thread" 2>log
is $? 125 "-p of a thread: exit status 125"
like "$(cat log)" "^xpuload: pid $thread is a thread: attach to its process" \
	"-p of a thread: a message says what to attach to"
[ ! -e none.data ]
ok $? "a refused -p leaves no recording"

# The target ends while an observer is attached.
attach end -p "$c_pid"
awake end
ask c "burst 200" >/dev/null
finish c
is $? 0 "a target ends while xpuload is attached: the target's exit status is 0"
wait "$end_pid"
is $? 0 "a target ends while xpuload is attached: xpuload ends on its own"
exact end 203 "a target ends while xpuload is attached: all launches of the target are recorded"

# xpuload is killed, and the target continues.
attach killed -p "$d_pid"
awake killed
ask d on >/dev/null
sleep 0.2
leave killed KILL
is "$(ask d "burst 100")" "burst 100" "xpuload killed while attached: the target keeps running"
ask d off >/dev/null
asleep d
xpumerge -i killed.data -f folded -o killed.folded 2>killed.mlog
is $? 1 "xpuload killed while attached: the recording can be read, and is reported as incomplete"
attach after -p "$d_pid"
awake after
ask d "burst 100" >/dev/null
leave after
exact after 103 "xpuload killed while attached: the target can be attached to again"
finish d
is $? 0 "xpuload killed while attached: the target ends with exit status 0"

# xpuload is killed, and the target that it started keeps running. The next xpuload does not record
# this target.
start e "$XPULOAD" -o started.data "$live" -s 1800 -t 2
target=$(pgrep -P "$e_pid" -x live)
ask e "burst 100" >/dev/null
kill -KILL "$e_pid"
wait "$e_pid" 2>/dev/null
is "$(ask e "burst 100")" "burst 100" \
	"xpuload killed while running its target: the target keeps running"
xpuload -o next.data "$XPU_BUILD/workload/exact" -t 2 -n 1000 >/dev/null 2>next.log
exact next 1000 \
	"xpuload killed while running its target: another xpuload records only its own launches"
attach after -p "$target"
awake after
ask e "burst 100" >/dev/null
leave after
exact after 103 "xpuload killed while running its target: the target can be attached to"
tell e quit
wait_for grep -q '^live: launches 300' e.out
ok $? "xpuload killed while running its target: the target's results are unchanged"
is "$(wc -c <e.err)" 0 \
	"xpuload killed while running its target: nothing is printed on the target's stderr"

# The target's threads begin and end while xpuload is attached: each thread has one slot, and no
# slot leaks.
start_dormant f -t 32
attach threads -p "$f_pid"
awake threads
for i in 1 2 3 4; do ask f "burst 3200" >/dev/null; done
leave threads
exact threads 12812 "threads that come and go: every launch is matched, under its own site"
finish f

# The test's own functions do not wait for a dead target.
start_dormant dead
kill -KILL "$dead_pid"
wait "$dead_pid" 2>/dev/null
(ask dead "burst 1" >ask.out; echo $? >asked) >log 2>&1 &
asker=$!
wait_for [ -s asked ]
is "$(cat asked 2>/dev/null)" 1 "a target that was killed: ask() does not wait for an answer"
is "$(cat ask.out)" "# dead does not answer 'burst 1'" \
	"a target that was killed: a message says that the target does not answer"
(finish dead; echo $? >finished) >log 2>&1 &
finisher=$!
wait_for [ -s finished ]
ok $? "a target that was killed: finish() does not wait for the target"
kill $asker $finisher 2>/dev/null

done_testing
