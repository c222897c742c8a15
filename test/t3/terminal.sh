#!/bin/sh
# SPDX-License-Identifier: MIT
# The status line of a recording on a terminal. The status line is printed nowhere else.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf tmux
. "$XPU_SRC/test/lib/live_checks.sh"
quiet_sanitizers
use_sim
unset COLUMNS
nr=0 columns=80
# screen COMMAND: runs COMMAND in a terminal of $columns columns; writes its exit status to $status
screen() {
	nr=$((nr + 1))
	socket=$PWD/tmux$nr
	status=$PWD/status$nr
	tmux -S "$socket" -f /dev/null new-session -d -x $columns -y 24 \
		"env TERM=screen $1; echo \$? >$status; sleep 60"
}
shows() {		# shows REGEX: waits until the terminal shows a line that matches
	wait_for looks "$1"
}
looks() {
	tmux -S "$socket" capture-pane -p >capture 2>/dev/null
	grep -Eq -- "$1" capture
}
# works_and_shows REGEX: tests whether a line matches REGEX while the program launches
works_and_shows() {
	ask a "burst 400" >/dev/null
	looks "$1"
}
end() {
	tmux -S "$socket" kill-server 2>/dev/null
}

start_dormant a -t 2
screen "$XPULOAD -p $a_pid -o a.data"
shows '^xpuload: attached to 1 process, [0-9]+ \(live\), Ctrl-C ends$'
ok $? "-p: the terminal shows to which process xpuload attaches" || diag "$(cat capture)"
wait_for works_and_shows '^[1-9][0-9]* s, [0-9.]+ ?k? launches/s, [0-9.]+ ([KMG]i)?B, lost 0$'
ok $? "-p: the status line shows time, launches/s, bytes and losses" || diag "$(cat capture)"
kill -INT "$(pgrep -o -f "^$XPULOAD -p $a_pid -o a.data$")"
shows '^xpuload: [1-9][0-9]* launches from'
ok $? "-p: the terminal shows the summary at the end" || diag "$(cat capture)"
is "$(grep -c 'launches/s' capture)" 0 \
	"-p: the status line is removed at the end" || diag "$(cat capture)"
end

screen "$XPULOAD -q -p $a_pid -o a.data --duration 2"
wait_for test -s "$status"
tmux -S "$socket" capture-pane -p >capture
is "$(cat "$status"; grep -c . capture)" "0
0" "-q: nothing is printed" || diag "$(cat capture)"
end

# A small terminal: a status line that is wider than the terminal is cut, because it could not be
# removed.
columns=20
screen "$XPULOAD -p $a_pid -o a.data --duration 3.5"
wait_for test -s "$status"
tmux -S "$socket" capture-pane -p >capture
is "$(cat "$status"; grep -c 'launches/' capture)" "0
0" "20 columns: no part of the status line is left over" || diag "$(cat capture)"
end
columns=80

# The command's own output is on the terminal: no progress line comes between its lines.
screen "$XPULOAD -o b.data sh -c 'printf begin; sleep 2.5; echo end'"
shows '^xpuload: 0 launches from'
grep -q '^beginend$' capture
ok $? "a command that writes to the terminal: its output is undisturbed" || diag "$(cat capture)"
end
screen "$XPULOAD -o b.data sleep 1800 >$PWD/out"
shows '^[1-9][0-9]* s, 0 launches/s, [0-9.]+ ([KMG]i)?B, lost 0$'
ok $? "a command whose output goes to a file: the status line is shown" || diag "$(cat capture)"
end
finish a

# A count of 1 is never followed by a plural, in any table.
"$XPULOAD" --api --memory --off-cpu -o one.data "$XPU_BUILD/workload/exact" -t 1 \
	-n 1 >/dev/null 2>log
like "$(cat log)" '^xpuload: 1 launch from .* 1 device record, .* 1 process;' \
	"one launch: the summary says '1 launch'" || diag "$(cat log)"
{
	cat log
	xpumerge one.data 2>&1
	xpumerge one.data --memory allocated 2>&1
	xpumerge diff one.data one.data 2>&1
	for table in $(xpumerge --list-options | sed -n 's/^option table - NAME //p'); do
		xpumerge one.data --table "$table" 2>&1
	done
} | sed -E 's/\b1 ([mun]?s|process)\b//g' | grep -E '(^|[ (])1 [a-z]+s([ ,;:)]|$)' >plurals
is "$(cat plurals)" "" "no table has a plural after a count of 1"

"$XPULOAD" -o c.data sleep 1.5 2>log
is "$(grep -c 'launches/s' log)" 0 "no terminal: no status line is printed"
done_testing
