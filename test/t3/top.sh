#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload top: each interval's work is shown exactly once. On a terminal, the test checks the keys
# of xpuload top, the size of the terminal, and how xpuload top ends.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
. "$XPU_SRC/test/lib/live_checks.sh"
use_sim
unset COLUMNS

# Frames as text: their sums equal the program's work.
: >started
start_dormant a -t 2
# counts TITLE: prints the sum of the counts in the lists titled TITLE, over all frames
counts() {
	awk -v title="$1" 'index($0, title) + length(title) == length($0) + 1 && /%/ { on = 1;
		next }
		/^$/ { on = 0 }
		on { for (i = 1; i < NF; i++)
			if ($i ~ /^[0-9]+$/ && $(i + 1) !~ /^(ns|us|ms|s)$/) { sum += $i; break } }
		END { print sum + 0 }' frames
}
all_are_there() {
	[ "$(counts 'kernel or copy')" = 1212 ]
}
"$XPULOAD" top -p "$a_pid" --batch --every 0.5 >frames 2>log &
top_pid=$!
wait_for grep -q 'launches/s' frames
for i in 1 2 3 4; do
	ask a "burst 300" >/dev/null
	sleep 0.3
done
wait_for all_are_there
kill -INT $top_pid
wait $top_pid
is "$? $(cat log)" "0 " "--batch: exit status 0, and nothing on stderr"
nr=$(grep -c 'launches/s, .*lost 0$' frames)
[ "$nr" -ge 3 ] && [ "$nr" = "$(grep -c 'launches/s, ' frames)" ]
ok $? "--batch prints several frames, and nothing is lost" || diag "$(cat frames)"
is "$(counts 'kernel or copy')" 1212 "the frames together count each kernel once"
is "$(counts 'call path')" 1212 "the frames together count the call path of each kernel once"
[ "$(LC_ALL=C.UTF-8 awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' frames)" \
	-le 80 ]
ok $? "--batch: no line is wider than 80 characters"
"$XPULOAD" top -p "$a_pid" --every 0.2 -n 2 >frames 2>log
is "$? $(grep -c 'launches/s' frames)" "0 2" "no terminal: the output is the same as with --batch"
"$XPULOAD" top --cpu-only -p $$ --every 0.3 -n 1 >frames 2>log
is "$? $(grep -c 'launches/s' frames)" "0 1" "--cpu-only: a frame is shown"
# Other instances of xpuload top may run at the same time.
none_left() {
	[ -z "$(find /dev/shm /tmp -maxdepth 1 -name 'xpuload-top.*' -newer started)" ]
}
wait_for none_left
is "$? $(echo *.data*)" "0 *.data*" "no file is left behind"

while read -r said args; do
	# shellcheck disable=SC2086 # several arguments on purpose
	"$XPULOAD" $args >out 2>log </dev/null
	is "$? $(wc -l <log | tr -d ' ')" "125 1" "$args: refused, with one line" ||
		diag "$(cat log)"
	like "$(cat log)" "$said" "$args: the message says why"
done <<'END'
programs.that.already.run top true
top.shows.*and.makes.no.file top -o x.data
are.for.xpuload.top --batch true
are.for.xpuload.top -n 3 true
END

tmux=$PWD/tmux
if ! command -v tmux >/dev/null; then
	skip "a terminal" "no tmux"
	finish a
	done_testing
fi
shows() {
	wait_for looks "$1"
}
looks() {
	tmux -S "$tmux" capture-pane -p >capture 2>/dev/null
	grep -Eq -- "$1" capture
}
hides() {		# hides SHOWN REGEX: whether a line matches SHOWN and no line matches REGEX
	looks "$1" && ! grep -Eq -- "$2" capture
}
key() {
	tmux -S "$tmux" send-keys "$1"
}
tmux -S "$tmux" -f /dev/null new-session -d -x 80 -y 24 \
	"stty -a >before; env TERM=screen '$XPULOAD' top -p $a_pid --every 0.5; echo status \$?; stty -a >after; sleep 60"
shows '^GPU|launches/s'
(until [ -e enough ]; do ask a "burst 50"; sleep 0.1; done) >/dev/null 2>&1 &
worker=$!
shows '^ time % .*kernel or copy$' && shows '^ time % .*call path$'
ok $? "a terminal: kernels and call paths are shown" || diag "$(cat capture)"
is "$(grep -c 'keys: t time, n count' capture)" 1 "a terminal: the keys are shown"
[ "$(grep -c . capture)" -le 24 ]
ok $? "a terminal: the frame fits the screen"
key k
wait_for hides 'kernel or copy$' 'call path$'
ok $? "key k: only kernels are shown" || diag "$(cat capture)"
key c
wait_for hides 'call path$' 'kernel or copy$'
ok $? "key c: only call paths are shown" || diag "$(cat capture)"
key p
shows '\(paused\)'
ok $? "key p: the display is paused"
key p
tmux -S "$tmux" resize-window -x 100 -y 12 2>/dev/null
key b
shows 'kernel or copy$'
[ "$(grep -c . capture)" -le 12 ]
ok $? "a smaller terminal: the frame fits the screen" || diag "$(cat capture)"
tmux -S "$tmux" resize-window -x 12 -y 8 2>/dev/null
is_narrow() {
	looks '^ time %' && ! grep -qvE '^( time %|GPU| *[0-9.]+ |$|waits|.*:)' capture
}
wait_for is_narrow
ok $? "a terminal of 12 columns: no line is wrapped" || diag "$(cat capture)"
tmux -S "$tmux" resize-window -x 100 -y 12 2>/dev/null
key q
shows '^status 0$'
ok $? "key q: top ends with exit status 0" || diag "$(cat capture)"
wait_for test -s after
is "$(sed 1d after)" "$(sed 1d before)" "the terminal's settings are unchanged"
tmux -S "$tmux" kill-server 2>/dev/null
tmux=$PWD/dumb
tmux -S "$tmux" -f /dev/null new-session -d -x 80 -y 24 \
	"env TERM=dumb '$XPULOAD' top -p $a_pid --every 0.3 -n 1; sleep 60"
shows 'launches/s'
ok $? "a dumb terminal: frames are printed one after the other" || diag "$(cat capture)"
tmux -S "$tmux" kill-server 2>/dev/null
touch enough
wait $worker
ask a "burst 10" >/dev/null
ok $? "after the end of top the program keeps running"
finish a
done_testing
