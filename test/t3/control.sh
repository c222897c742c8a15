#!/bin/sh
# SPDX-License-Identifier: MIT
# --control and --capture after:S,for:S: the program runs with CUPTI asleep, not even loaded, until it is told to
# record; each window is a recording of its own, with exactly its launches.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live.sh"
need root bpf
use_sim

mkfifo ctl ack
exec 5<>ctl 7<>ack
order() {		# order COMMAND: prints the answer, for a minute at most
	echo "$1" 1<>ctl
	timeout 60 head -n 1 <&7
}

start a "$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'w%n.data' "$live" -s 600 -t 2
xpuload_pid=$a_pid
a_child=$(pgrep -P "$xpuload_pid" -x live)
is "$(order ping)" ack "ping: ack"
is "$(ask a "burst 100")" "burst 100" "the target runs"
! grep -q libcupti "/proc/$a_child/maps"
ok $? "CUPTI is not loaded"
is "$(order enable)" ack "enable: ack"
is "$(order enable)" ack "again: ack"
ask a "burst 200" >/dev/null
is "$(order disable)" ack "disable: ack"
is "$(order disable)" ack "again: ack"
exact w1 203 "what was launched between is in a recording"
ask a "burst 300" >/dev/null
expected="error: expected enable, disable, ping or stop"
is "$(order nonsense)" "$expected" "an unknown command: an answer that is no ack"
is "$(order "$(head -c 100000 /dev/zero | tr '\0' a)")" "$expected" "a line of 100 kB, too"
printf ena 1<>ctl
is "$(order ble)" ack "a command in two halves"
is "$(order disable)" ack "disable"
mv ctl ctl.old
ln -s /etc/passwd ctl
echo ping 1<>ctl.old
is "$(timeout 60 head -n 1 <&7)" ack "another file in the place of the FIFO changes nothing"
mv ctl.old ctl
is "$(order enable)" ack "enable a second time: ack"
ask a "burst 50" >/dev/null
is "$(order stop)" ack "stop: ack"
exact w3 53 "a further window is a further recording"
ask a "burst 10" >/dev/null
[ ! -e w4.data ]
ok $? "and there is no third"
finish a
is $? 0 "the target's status"
like "$(cat a.err)" "warning: --control: 'nonsense': expected enable, disable, ping or stop" "it was said"

# The target ends in a window; its status is xpuload's.
mkfifo cmds
exec 8<>cmds
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'e%n.data' sh -c "'$live' -t 1 <cmds; exit 7" >e.out 2>e.log &
e_pid=$!
wait_for grep -qs ready e.out
is "$(order enable)" ack "a second target: ack"
echo 'burst 40' >&8
wait_for grep -qs 'burst 40' e.out
echo quit >&8
wait $e_pid
is $? 7 "it ends in a window: its status"
exact e1 43 "and its recording is whole"

# By the clock: the first launches are before the window, and the last ones behind it.
start b "$XPULOAD" --gpu-only --capture after:0.5,for:1.5 -o clock.data "$live" -s 600 -t 2
ask b on >/dev/null
wait_for grep -qs 'launches from' b.err
ask b off >/dev/null
ask b "burst 10" >/dev/null
finish b
is $? 0 "by the clock: status"
xpumerge -i clock.data -f folded --unit count -o clock.folded 2>clock.mlog
like "$(cat clock.mlog)" ' unmatched 0 lost 0$' "by the clock: nothing lost" || diag "$(cat clock.mlog)"
[ "$(grep -c 'site_bg;.*kernel_bg' clock.folded)" -gt 0 ]
ok $? "by the clock: those in the window"
is "$(grep -c 'kernel_0\|copy' clock.folded)" 0 "by the clock: nothing of behind it"

# The time begins when the program is recorded, however long that takes; the window may open with the program.
xpuload --gpu-only --capture for:2 -o for.data "$XPU_BUILD/workload/exact" -t 2 -n 40000 -p 10000 >/dev/null 2>for.log
is $? 0 "for:2 from the start: status"
like "$(xpumerge -i for.data -f folded 2>&1 >/dev/null)" '^launches ([1-9][0-9]{0,3}|[1-3][0-9]{4}) ' \
	"for:2 from the start: has launches, and not all" || diag "$(cat for.log)"
unlike "$(cat for.log)" 'no process has the shim' "for:2 from the start: no warning of a program that is being started"
xpuload --capture after:100,for:1 -o none.data sh -c 'exit 4' 2>log
is "$? $(cat log)" "4 xpuload: warning: the command has ended before --capture after: nothing is recorded" \
	"a program that ends before its window"
xpuload --capture for:100 -o short.data "$XPU_BUILD/workload/exact" -t 1 -n 10 >/dev/null 2>log
is $? 0 "a program that ends in its window: status" || diag "$(cat log)"

# Attached.
start_dormant c -t 2
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'p%n.data' -p "$c_pid" 2>p.log &
p_pid=$!
holds_ctl() {
	find "/proc/$p_pid/fd" -lname "*/ctl" 2>/dev/null | grep -q .
}
wait_for holds_ctl
is "$(order enable)" ack "-p: ack"
ask c "burst 100" >/dev/null
is "$(order disable)" ack "-p: disable: ack"
exact p1 103 "-p: its launches"
is "$(order stop)" ack "-p: stop: ack"
wait $p_pid
is $? 0 "-p: stop ends xpuload"
finish c

# A process that is attached to ends, and xpuload with it; what comes behind stop is not obeyed.
start_dormant d -t 2
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'd%n.data' -p "$d_pid" 2>d.log &
p_pid=$!
is "$(order ping)" ack "-p: ping"
finish d
wait $p_pid
is "$? $(ls d*.data 2>/dev/null)" "0 " "-p: the process ends, and so does xpuload" || diag "$(cat d.log)"
start_dormant d -t 2
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'd%n.data' -p "$d_pid" 2>d.log &
p_pid=$!
is "$(order "stop
enable")" ack "-p: stop, and enable behind it"
wait $p_pid
is "$? $(ls d*.data 2>/dev/null)" "0 " "-p: stop is the end" || diag "$(cat d.log)"
finish d
exec 5<&-			# forgets that enable
exec 5<>ctl
"$XPULOAD" --control fifo:ctl -p 999999999 2>log
is "$? $(cat log)" "125 xpuload: pid 999999999: No such process" "-p: no such process: refused at once"

# A recording that cannot be made is no ack.
start e "$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'nowhere/w%n.data' "$live" -s 600 -t 1
is "$(order enable)" "error: the recording has failed" "a recording that cannot be made: the answer"
is "$(order ping)" ack "and xpuload goes on"
finish e
is $? 125 "its status"

# Commands without end, and answers that nobody reads: the target's end is seen all the same.
mkfifo flood unread
yes ping 1<>flood 2>/dev/null &
yes_pid=$!
exec 9<>unread
timeout 60 "$XPULOAD" --gpu-only --control fd:8,9 -o 'f%n.data' sh -c 'sleep 1; exit 3' 8<flood 2>log
is "$? $(cat log)" "3 xpuload: warning: --control: nobody reads the answers" "commands without end"
kill $yes_pid

# The last line needs no end.
printf stop | timeout 60 "$XPULOAD" --gpu-only --control fd:0 -a -o 'f%n.data' 2>log
is "$? $(cat log)" "0 " "a command without a newline, at the end of a pipe"

# Nothing can be read there: it is said once, and the program goes on.
"$XPULOAD" --gpu-only --control fd:6 -o 'x%n.data' sh -c 'sleep 1; exit 3' 6</tmp 2>log
like "$? $(cat log)" '^3 xpuload: warning: --control: cannot read commands: Is a directory$' "a directory for commands"

for bad in fifo: fifo:ctl,ctl fifo:/nonexistent/ctl fd:x fd:99 pipe:1 fifo:ctl,/nonexistent/ack; do
	xpuload --control "$bad" true 2>log
	is "$? $(wc -l <log)" "125 1" "--control $bad: refused in one line" || diag "$(cat log)"
done
for bad in after:x after:1,after:2 for:0 after:1,for:-1 'after:1,'; do
	xpuload --capture "$bad" true 2>log
	is "$? $(wc -l <log)" "125 1" "--capture $bad: refused in one line" || diag "$(cat log)"
done
xpuload --control fifo:ctl -o one.data true 2>log
like "$?$(cat log)" '^125xpuload: -o one.data: --control may make several recordings: expected %n' "a name without %n"
xpuload --control fifo:ctl --transport shm true 2>log
is $? 125 "--transport shm: refused"
xpuload --control fifo:ctl -o w%n.data -o one.html true 2>log
like "$?$(cat log)" '^125xpuload: -o one.html: --control may make several recordings: expected %n' "nor a second name"
done_testing
