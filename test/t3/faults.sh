#!/bin/sh
# SPDX-License-Identifier: MIT
# Calls of xpuload fail because resources run out: the summary names everything that is missing.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer's library must be the first that is loaded"
use_sim
${CC:-gcc} -shared -fPIC -o failing.so "$XPU_SRC/test/lib/failing.c" -ldl 2>cc.log ||
	skip_all "no C compiler"

# fault FAULT NAME ARGS...: runs xpuload in the background, as attach() does
fault() {
	XPU_FAILING=$1
	export XPU_FAILING
	shift
	observer=$1
	shift
	rm -f "$observer.data" "$observer.log"
	LD_PRELOAD=$PWD/failing.so "$XPULOAD" -z 0 -o "$observer.data" "$@" 2>"$observer.log" &
	eval "${observer}_pid=$!"
	unset XPU_FAILING
}

# The shim's file in a child cannot be opened.
start a sh -c '"$@"; exit' sh env LD_PRELOAD="$XPU_SHIM" "$live" -s 1800
fault shim unread --strict -p "$a_pid"
wait_for grep -qs 'Ctrl-C ends' unread.log
leave unread
is "$? $(grep -c 'cannot look for libxpushim.so in pid' unread.log)" "125 1" \
	"a shim that cannot be opened: a message, and --strict fails" || diag "$(cat unread.log)"
like "$(cat unread.log)" ' 1 process could not be attached to: its launches may be missing' \
	"a shim that cannot be opened: the summary counts the process"
finish a

# More processes than have probes of their own, and no probe that watches all processes.
sh -c 'for i in $(seq 139); do sleep 1800 & done; wait' &
many=$!
has_children() {
	[ "$(pgrep -c -P $many)" = 139 ]
}
wait_for has_children
fault everywhere many -p $many
wait_for grep -qs 'Ctrl-C ends' many.log
leave many
like "$(cat many.log)" ' 12 processes could not be attached to: their launches may be missing' \
	"140 processes, only 128 of which can be watched: the summary counts the others" ||
	diag "$(cat many.log)"
! grep -q 'more than 128 processes' many.log
ok $? "140 processes: no message says that all shims are woken"
pkill -P $many
wait $many
done_testing
