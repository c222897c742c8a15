# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# live_checks.sh - functions for tests of running programs. Source it after tap.sh:
# . "$XPU_SRC/test/lib/live_checks.sh"
#
# A target called NAME is test/workload/live. NAME.cmd has its commands, NAME.out its answers,
# NAME.err its errors, and $NAME_pid its pid.

live="$XPU_BUILD/workload/live"

# uptime_s: prints the seconds since the machine booted, even if its clock was set
uptime_s() {
	read -r now_s _ </proc/uptime
	echo "${now_s%.*}"
}

# wait_for COMMAND...: waits at most two minutes until COMMAND succeeds; prints a message if it
# never does. COMMAND may wait, too.
wait_for() {
	set -- $(($(uptime_s) + 120)) "$@"
	until behind_limit "$@"; do
		if [ "$(uptime_s)" -ge "$1" ]; then
			shift
			diag "not within two minutes: $*"
			return 1
		fi
		sleep 0.02
	done
}

behind_limit() {
	shift
	"$@"
}

# start NAME COMMAND...: runs COMMAND, which ends in the program "live". This program reads commands
# from NAME.cmd; its output goes to NAME.out and NAME.err.
start() {
	name=$1
	shift
	rm -f "$name.cmd" "$name.out"	# an earlier target's output says "ready", too
	mkfifo "$name.cmd"
	"$@" <>"$name.cmd" >"$name.out" 2>"$name.err" &
	eval "${name}_pid=$!"
	wait_for grep -qs ready "$name.out" || diag "$name does not get ready"
}

start_dormant() {	# start_dormant NAME ARGS...: starts $live with the shim, unrecorded
	name=$1
	shift
	start "$name" env LD_PRELOAD="$XPU_SHIM" "$live" -s 1800 "$@"
}

has_lines() {		# has_lines FILE NUMBER
	[ "$(wc -l <"$1")" -ge "$2" ]
}

# is_over NAME: succeeds if the target has exited, so that nobody reads its FIFO
is_over() {
	! dd if=/dev/null of="$1.cmd" oflag=nonblock conv=nocreat,notrunc status=none 2>/dev/null
}

has_answered() {	# has_answered NAME LINES: succeeds if the target has answered or exited
	has_lines "$1.out" "$2" || is_over "$1"
}

# Opens the FIFO for reading and writing, which does not block if there is no reader.
tell() {		# tell NAME COMMAND
	echo "$2" 1<>"$1.cmd"
}

# ask NAME COMMAND: prints the last line of the answer; fails without an answer
ask() {
	nr_lines=$(wc -l <"$1.out")
	tell "$1" "$2"
	wait_for has_answered "$1" $((nr_lines + 1))
	if has_lines "$1.out" $((nr_lines + 1)); then
		tail -n 1 "$1.out"
	else
		diag "$1 does not answer '$2'"
		return 1
	fi
}

finish() {		# finish NAME: ends the target, and returns its exit status
	tell "$1" quit
	eval "wait \$${1}_pid"
}

attach() {		# attach NAME ARGS...: runs xpuload in the background, with -o NAME.data
	observer=$1
	shift
	rm -f "$observer.data" "$observer.log"	# removes the output of the previous observer
	"$XPULOAD" -z 0 -o "$observer.data" "$@" 2>"$observer.log" &
	eval "${observer}_pid=$!"
}

# is_attached: succeeds when all probes are attached. Then xpuload has opened its file, and waits
# for events in poll(), which is system call 7.
is_attached() {
	[ -e "$1.data" ] && eval "grep -qs '^7 ' \"/proc/\$${1}_pid/syscall\""
}

# attached OBSERVER: waits until the observer is attached, even if no process has a shim
attached() {
	wait_for is_attached "$1" || diag "$1 does not attach: $(cat "$1.log")"
}

# An awake shim sends definitions first. attach() makes xpuload write them uncompressed. A shim that
# falls asleep because the previous observer has left also sends definitions, but marks these as its
# last records.
is_awake() {
	grep -aqs cuLaunchKernel "$1.data" && "$XPUMERGE" dump "$1.data" 2>/dev/null | awk '
		/ COUNTERS / { awake = !/ misc=LAST/ }
		/cuLaunchKernel"/ && awake { found = 1; exit }
		END { exit !found }'
}

# are_awake OBSERVER NUMBER: succeeds if NUMBER processes have sent records
are_awake() {
	[ "$("$XPUMERGE" dump "$1.data" 2>/dev/null |
		sed -n 's/.* BATCH .*\(proc_id=[0-9]*\).*/\1/p' | sort -u | wc -l)" -ge "$2" ]
}

# has_launches OBSERVER NUMBER: succeeds if the recording has at least NUMBER launches
has_launches() {
	nr_there=$("$XPUMERGE" -i "$1.data" -f folded 2>&1 >/dev/null |
		sed -n 's/^launches \([0-9]*\) .*/\1/p')
	[ "${nr_there:-0}" -ge "$2" ]
}

awake() {		# awake OBSERVER...: waits until the recording shows that the shim is awake
	for observer; do
		wait_for is_awake "$observer" ||
			diag "$observer hears nothing: $(cat "$observer.log")"
	done
}

# holds FILE NUMBER: succeeds if the recording, which is still being written, has NUMBER launches
# with their device work.
holds() {		# holds FILE NUMBER
	"$XPUMERGE" -i "$1" -f folded 2>&1 >/dev/null | grep -q " matched $2 "
}

# asleep NAME: waits until the target's shim has unsubscribed from CUPTI because no observer is left
asleep() {
	wait_for gets_cupti "$1" && ask "$1" unsubscribe >/dev/null
}

gets_cupti() {
	[ "$(ask "$1" subscribe)" = "subscribe 0" ]
}

leave() {		# leave OBSERVER [SIGNAL]: ends the observer, and returns its exit status
	eval "kill -${2:-INT} \$${1}_pid; wait \$${1}_pid" 2>/dev/null
}

verdict() {		# verdict NAME: prints the results of xpumerge and verdict.sh for NAME.data
	# shellcheck disable=SC2086 # options, or none
	xpumerge -i "$1.data" ${merge_options:-} -f folded --unit count -o "$1.folded" 2>"$1.mlog"
	"$XPU_SRC/test/lib/verdict.sh" "$1.folded" "$1.mlog"
}

# exact NAME LAUNCHES TEST: checks that NAME.data has exactly LAUNCHES launches, each under its own
# site
exact() {
	line=$(verdict "$1")
	is "$line" "launches $2 matched $2 wrong 0 unmatched 0 lost 0" "$3" ||
		diag "$(cat "$1.mlog")"
}
