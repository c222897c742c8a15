#!/bin/sh
# SPDX-License-Identifier: MIT
# --control and --capture after:S,for:S: CUPTI is not loaded until a command or the clock opens a
# window; each window has its own recording, with exactly its launches.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim

mkfifo ctl ack
exec 5<>ctl 7<>ack
# order COMMAND: sends the command, and prints the answer if it comes within a minute
order() {
	echo "$1" 1<>ctl
	timeout 60 head -n 1 <&7
}

start a "$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'w%n.data' "$live" -s 600 -t 2
xpuload_pid=$a_pid
a_child=$(pgrep -P "$xpuload_pid" -x live)
is "$(order ping)" ack "ping is answered by ack"
is "$(ask a "burst 100")" "burst 100" "the target runs"
! grep -q libcupti "/proc/$a_child/maps"
ok $? "CUPTI is not loaded"
is "$(order enable)" ack "enable is answered by ack"
is "$(order enable)" ack "enable while a window is open is answered by ack"
ask a "burst 200" >/dev/null
is "$(order disable)" ack "disable is answered by ack"
is "$(order disable)" ack "disable without a window is answered by ack"
exact w1 203 "a recording has exactly the launches between enable and disable"
ask a "burst 300" >/dev/null
expected="error: expected enable, share, disable, ping or stop"
is "$(order nonsense)" "$expected" "an unknown command is answered by an error"
is "$(order "$(head -c 100000 /dev/zero | tr '\0' a)")" "$expected" \
	"a line of 100 kB is answered by an error"
printf ena 1<>ctl
is "$(order ble)" ack "a command that arrives in two halves is answered by ack"
is "$(order disable)" ack "after a command in two halves, disable is answered by ack"
mv ctl ctl.old
ln -s /etc/passwd ctl
echo ping 1<>ctl.old
is "$(timeout 60 head -n 1 <&7)" ack "replacing the FIFO by another file changes nothing"
mv ctl.old ctl
is "$(order enable)" ack "enable for another window is answered by ack"
ask a "burst 50" >/dev/null
is "$(order stop)" ack "stop is answered by ack"
exact w3 53 "each window makes another recording"
ask a "burst 10" >/dev/null
[ ! -e w4.data ]
ok $? "no recording is made after stop"
finish a
is $? 0 "the target ends with exit status 0"
like "$(cat a.err)" "warning: --control: 'nonsense': expected enable, share, disable, ping or stop" \
	"a message names the unknown command"

# The target ends in a window; xpuload exits with the target's status.
mkfifo cmds
exec 8<>cmds
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'e%n.data' sh \
	-c "'$live' -t 1 <cmds; exit 7" >e.out 2>e.log &
e_pid=$!
wait_for grep -qs ready e.out
is "$(order enable)" ack "a second target: enable is answered by ack"
echo 'burst 40' >&8
wait_for grep -qs 'burst 40' e.out
echo quit >&8
wait $e_pid
is $? 7 "a target that ends in a window: exit status 7, like the target"
exact e1 43 "a target that ends in a window: the recording is complete"

# By the clock: the first launches come before the window, and the last ones after it.
start b "$XPULOAD" --gpu-only --capture after:0.5,for:1.5 -o clock.data "$live" -s 600 -t 2
ask b on >/dev/null
wait_for grep -qs 'launches from' b.err
ask b off >/dev/null
ask b "burst 10" >/dev/null
finish b
is $? 0 "by the clock: exit status 0"
xpumerge -i clock.data -f folded --unit count -o clock.folded 2>clock.mlog
like "$(cat clock.mlog)" ' unmatched 0 lost 0$' "by the clock: nothing is lost" ||
	diag "$(cat clock.mlog)"
[ "$(grep -c 'site_bg;.*kernel_bg' clock.folded)" -gt 0 ]
ok $? "by the clock: the launches in the window are recorded"
is "$(grep -c 'kernel_0\|copy' clock.folded)" 0 \
	"by the clock: no launch after the window is recorded"

# The time in "for:" begins when xpuload starts to record, however long that takes; the window may
# open together with the program. On a busy machine two seconds may pass before the first launch;
# then the test tries a longer time.
for seconds in 2 20; do
	xpuload --gpu-only --capture for:$seconds -o for.data "$XPU_BUILD/workload/exact" -t 2 \
		-n $((20000 * seconds)) -p 10000 >/dev/null 2>for.log
	is $? 0 "for:$seconds from the start: exit status 0"
	part=$(xpumerge -i for.data -f folded 2>&1 >/dev/null |
		sed -n 's/^launches \([0-9]*\) .*/\1/p')
	[ "${part:-0}" = 0 ] || break
done
[ "${part:-0}" -gt 0 ] && [ "$part" -lt $((20000 * seconds)) ]
ok $? "for:$seconds from the start: a part of the launches is recorded: $part" ||
	diag "$(cat for.log)"
unlike "$(cat for.log)" 'no process has the shim' \
	"for:$seconds from the start: no warning that no process has the shim"
xpuload --capture after:100,for:1 -o none.data sh -c 'exit 4' 2>log
is "$? $(cat log)" \
	"4 xpuload: warning: the command has ended before the window opened: nothing is recorded" \
	"a program that ends before its window: a warning, and the program's exit status"
xpuload --capture for:100 -o short.data "$XPU_BUILD/workload/exact" -t 1 -n 10 >/dev/null 2>log
is $? 0 "a program that ends in its window: exit status 0" || diag "$(cat log)"

# An attached program.
start_dormant c -t 2
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'p%n.data' -p "$c_pid" 2>p.log &
p_pid=$!
holds_ctl() {
	find "/proc/$p_pid/fd" -lname "*/ctl" 2>/dev/null | grep -q .
}
wait_for holds_ctl
is "$(order enable)" ack "-p: enable is answered by ack"
ask c "burst 100" >/dev/null
is "$(order disable)" ack "-p: disable is answered by ack"
exact p1 103 "-p: exactly the launches of the window are recorded"
is "$(order stop)" ack "-p: stop is answered by ack"
wait $p_pid
is $? 0 "-p: stop ends xpuload with exit status 0"
finish c

# When the target of -p ends, xpuload ends, too. A command after stop is not executed.
start_dormant d -t 2
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'd%n.data' -p "$d_pid" 2>d.log &
p_pid=$!
is "$(order ping)" ack "-p: ping is answered by ack"
finish d
wait $p_pid
is "$? $(ls d*.data 2>/dev/null)" "0 " \
	"-p: xpuload ends with the process, without a recording" || diag "$(cat d.log)"
start_dormant d -t 2
"$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'd%n.data' -p "$d_pid" 2>d.log &
p_pid=$!
is "$(order "stop
enable")" ack "-p: stop, followed by another command, is answered by ack"
wait $p_pid
is "$? $(ls d*.data 2>/dev/null)" "0 " "-p: a command that follows stop is not obeyed" ||
	diag "$(cat d.log)"
finish d
exec 5<&-			# discards the enable command that was not read
exec 5<>ctl
"$XPULOAD" --control fifo:ctl -p 999999999 2>log
is "$? $(cat log)" "125 xpuload: pid 999999999: No such process" \
	"-p of a process that does not exist is refused at once"

# If a recording cannot be made, the answer is not ack.
start e "$XPULOAD" --gpu-only --control fifo:ctl,ack -o 'nowhere/w%n.data' "$live" -s 600 -t 1
is "$(order enable)" "error: the recording has failed" \
	"a recording that cannot be made: enable is answered by an error"
is "$(order ping)" ack "after a recording that cannot be made, the next command is answered"
finish e
is $? 125 "a recording that cannot be made: exit status 125"

# Commands arrive without end, and the answers are not read: xpuload still notices the end of the
# target. The target ends when xpuload has printed a message, or after a minute.
mkfifo flood unread
yes ping 1<>flood 2>/dev/null &
yes_pid=$!
exec 9<>unread
until_log='timeout 60 sh -c "until [ -s log ]; do sleep 0.02; done"; exit 3'
timeout 120 "$XPULOAD" --gpu-only --control fd:8,9 -o 'f%n.data' sh -c "$until_log" 8<flood 2>log
is "$? $(cat log)" "3 xpuload: warning: --control: nobody reads the answers" \
	"endless commands: xpuload notices that the target has ended"
kill $yes_pid

# The last line may lack its newline.
printf stop | timeout 60 "$XPULOAD" --gpu-only --control fd:0 -a -o 'f%n.data' 2>log
is "$? $(cat log)" "0 " "a last command without a newline is obeyed"

# A directory cannot be read as commands: one message says so, and the program runs to its end.
"$XPULOAD" --gpu-only --control fd:6 -o 'x%n.data' sh -c "$until_log" 6</tmp 2>log
like "$? $(cat log)" '^3 xpuload: warning: --control: cannot read commands: Is a directory$' \
	"--control with a directory: one warning, and the program runs to its end"

for bad in fifo: fifo:ctl,ctl fifo:/nonexistent/ctl fd:x fd:99 pipe:1 fifo:ctl,/nonexistent/ack; do
	xpuload --control "$bad" true 2>log
	is "$? $(wc -l <log)" "125 1" "--control $bad: refused, with one line" || diag "$(cat log)"
done
for bad in after:x after:1,after:2 for:0 after:1,for:-1 'after:1,'; do
	xpuload --capture "$bad" true 2>log
	is "$? $(wc -l <log)" "125 1" "--capture $bad: refused, with one line" || diag "$(cat log)"
done
xpuload --control fifo:ctl -o one.data true 2>log
like "$?$(cat log)" '^125xpuload: -o one.data: --control may make several recordings: expected %n' \
	"--control with an -o name that lacks %n: refused"
xpuload --control fifo:ctl --transport shm true 2>log
is $? 125 "--transport shm: refused"
xpuload --control fifo:ctl -o w%n.data -o one.html true 2>log
like "$?$(cat log)" '^125xpuload: -o one.html: --control may make several recordings: expected %n' \
	"--control, a second -o with a name without %n: refused"
done_testing
