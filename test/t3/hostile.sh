#!/bin/sh
# SPDX-License-Identifier: MIT
# A hostile process in a recording of all processes cannot use up the recorder's memory, the disk or
# the terminal. Messages name it, and the other processes' records stay exact.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live.sh"
need root bpf shim
use_sim
hostile="$XPU_BUILD/workload/hostile"
exact="$XPU_BUILD/workload/exact"
mb=1024				# in kB, the unit of /proc

kb() {			# kb WHAT: prints one of the recorder's figures
	awk -v what="$1:" '$1 == what { print $2 }' "/proc/$all_pid/status"
}

less() {		# less NUMBER MAXIMUM NAME
	[ "${1:-999999999}" -lt "$2" ]
	ok $? "$3" && return
	diag "$1 is not less than $2"
}

# Sanitizers make xpuload two to ten times slower, and use memory of their own.
slow=false
[ -z "${XPU_TOOLS_SAN:-}" ] || slow=true

# alongside WHAT N: runs hostile while exact launches 4000; makes all.log and all.data
alongside() {
	attach all -a --gpu-only
	wait_for grep -qs 'attached to' all.log
	LD_PRELOAD=$XPU_SHIM "$hostile" "$@" &
	hostile_pid=$!
	LD_PRELOAD=$XPU_SHIM "$exact" -t 2 -n 4000 >exact.out 2>&1 &
	honest_pid=$!
	wait "$honest_pid"
	is $? 0 "$1: the other process is unharmed"
	wait "$hostile_pid"
	is $? 0 "$1: xpuload ends with exit status 0"
	hwm=$(kb VmHWM)
	leave all
}

# honest NAME: the recording has all launches of exact, under their own sites
honest() {
	xpumerge -i all.data -f folded --unit count -o all.folded 2>all.mlog
	grep '^exact;' all.folded >exact.folded
	is "$(awk '{ n += $NF } END { print n }' exact.folded)" 4000 \
		"$1: all launches of the other process are recorded"
	echo "launches 4000 matched 4000 unmatched 0 lost 0" >exact.mlog
	is "$("$XPU_SRC/test/lib/verdict.sh" exact.folded exact.mlog)" \
		"launches 4000 matched 4000 wrong 0 unmatched 0 lost 0" \
			"$1: each launch is under its own site"
	unlike "$(cat all.log)" '\(exact\)' "$1: nothing of the other process is lost"
	unlike "$(cat all.log)" 'want of memory' "$1: no message says that memory was lacking"
}

alongside entries 1000
honest entries
like "$(cat all.log)" 'lost: .*1000 malformed entries' "entries: malformed entries are counted"
like "$(cat all.log)" "lost of pid $hostile_pid \(hostile\): 1000 malformed entries, 1000 call paths of launches " \
	"entries: the message names the process"

alongside unread 500
honest unread
like "$(cat all.log)" "lost of pid $hostile_pid \(hostile\): 1000 slots unreadable" \
	"unread: the message names the process"

alongside says 100
honest says
is "$(grep -c "pid $hostile_pid: " all.log)" 32 "says: as many lines as a process may have"
like "$(cat all.log)" '^xpuload: warning: 68 more messages from processes are not shown' \
	"says: the other messages are counted"
is "$(grep -c "(pid $hostile_pid): " all.mlog)" 32 "says: xpumerge shows as many lines"
like "$(cat all.mlog)" ': 68 more messages from processes are not shown' \
	"says: xpumerge counts the others, too"
LC_ALL=C grep -aq "$(printf '[\033\007\233]')" all.log all.mlog
is $? 1 "says: nothing that would control a terminal is printed"
unlike "$(cat all.log)" "$(printf '\342\200\256')" "says: nothing that would reverse text is printed"

# The hostile process takes more of the disk, but memory stays bounded.
alongside paths 300000
more=1
[ $slow = false ] || more=4
less "$hwm" $((more * 600 * mb)) "paths: memory is bounded ($hwm kB)"
like "$(cat all.log)" "lost of pid $hostile_pid \(hostile\):" \
	"paths: losses are attributed to the hostile process"
if $slow; then
	skip "paths: the other process is not blamed, or lost nothing" "the flood fills the ring"
else
	unlike "$(cat all.log)" '\(exact\)' "paths: the other process is not blamed, or lost nothing" ||
		diag "$(cat all.log)"
fi
rm -f all.data*

# Short processes, each of which uses the highest path number.
attach all -a --gpu-only
wait_for grep -qs 'attached to' all.log
LD_PRELOAD=$XPU_SHIM "$hostile" numbers 500
wait_for has_launches all 500
before=$(kb VmRSS)
LD_PRELOAD=$XPU_SHIM "$hostile" numbers 3000
wait_for has_launches all 3500
after=$(kb VmRSS)
LD_PRELOAD=$XPU_SHIM "$hostile" numbers 1
leave all
if $slow; then
	skip "numbers: memory is flat" "the sanitizer's own memory grows"
else
	less "$after" $((before + 16 * mb)) "numbers: memory is flat (from $before to $after kB)"
fi
like "$(cat all.log)" ' 3501 launches from 3501 call paths, 0 device records, 3501 processes' \
	"numbers: all processes are recorded"
unlike "$(cat all.log)" 'ring full|malformed|beyond|tagged' "numbers: nothing is lost"

# A file of 4 GB, mostly holes, that is unlinked as soon as it is mapped: the kept copy has holes,
# too.
cp "$hostile" sparse
truncate -s 4G sparse
if [ "$(du -k sparse | cut -f 1)" -lt $mb ]; then
	mkfifo lines
	xpuload --cpu-only -F 49 -o map.data "$hostile" map sparse <>lines >map.out 2>map.log &
	map_pid=$!
	wait_for grep -qs ready map.out
	sleep 0.2		# it is kept now, or at the end
	echo >lines
	wait $map_pid
	is $? 0 "map: exit status 0"
	like "$(cat map.log)" '1 mapped file that is not at its path here: kept' "map: the file is kept"
	elf=$(find map.data.files -name elf)
	is "$(stat -c %s "$elf")" 4294967296 "map: the copy is as long as the file"
	less "$(du -k "$elf" | cut -f 1)" $mb "map: the copy takes as little of the disk"
else
	skip "map: a file with holes" "this file system has none"
fi

# A file system that a user runs never answers a read of its file: whoever asks the kernel for the
# file's build-id waits.
if [ -w /dev/fuse ] && unshare -m true 2>/dev/null; then
	mkdir "mounted.$$"
	unshare -m "$XPU_BUILD/workload/mute" "mounted.$$" 120 >mute.out 2>mute.err &
	mute_pid=$!
	wait_for grep -qs ready mute.out || diag "$(cat mute.err)"
	xpuload -a --cpu-only -o mute.data --duration 0.1 2>mute.log &
	all_pid=$!
	over() {
		! kill -0 $all_pid 2>/dev/null
	}
	wait_for over
	ok $? "mute: xpuload ends all the same"
	is "$(grep -c asked mute.out)" 1 "mute: the file was asked for once"
	is "$(grep -c "mounted.$$/file: its file system does not answer: no build-ids of its files" mute.log)" 1 \
		"mute: one message says so"
	kill -KILL $mute_pid		# every process that waits for it goes on
	wait $all_pid
	is $? 0 "mute: exit status 0"
	like "$(xpumerge -i mute.data -f text 2>&1)" 'CPU samples' "mute: the recording has CPU samples"
else
	skip "mute: a file system that does not answer" "no FUSE, or no mounts"
fi

done_testing
