#!/bin/sh
# SPDX-License-Identifier: MIT
# When all processes are recorded, a hostile process cannot use up the recorder's memory, the disk
# or the terminal. Messages name it, and the records of the other processes stay exact.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf shim
use_sim
hostile="$XPU_BUILD/workload/hostile"
exact="$XPU_BUILD/workload/exact"
mb=1024				# in kB, the unit of /proc

kb() {			# kb WHAT: prints a value of the recorder's status
	awk -v what="$1:" '$1 == what { print $2 }' "/proc/$all_pid/status"
}

less() {		# less NUMBER MAXIMUM NAME
	[ "${1:-999999999}" -lt "$2" ]
	ok $? "$3" && return
	diag "$1 is not less than $2"
}

# Sanitizers make xpuload two to ten times slower, and need memory for themselves.
slow=false
[ -z "${XPU_TOOLS_SAN:-}" ] || slow=true

# alongside WHAT N: runs hostile while exact makes 4000 launches; makes all.log and all.data
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
	is $? 0 "$1: the hostile process ends with exit status 0"
	hwm=$(kb VmHWM)
	leave all
}

# honest NAME: checks that the recording has all launches of exact, under their own sites
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
	unlike "$(cat all.log)" 'out of memory' "$1: no message reports a lack of memory"
}

alongside entries 1000
honest entries
like "$(cat all.log)" 'lost: .*1000 malformed entries' "malformed log entries are counted"
like "$(cat all.log)" \
	"lost of pid $hostile_pid \(hostile\): 1000 malformed entries, 1000 call paths of launches " \
	"malformed log entries: the message names the process"

alongside unread 500
honest unread
like "$(cat all.log)" "lost of pid $hostile_pid \(hostile\): 1000 slots unreadable" \
	"unreadable slots: the message names the process"

alongside says 100
honest says
is "$(grep -c "pid $hostile_pid: " all.log)" 32 \
	"too many messages: xpuload prints 32, the limit for each process"
like "$(cat all.log)" '^xpuload: warning: 68 more messages from processes are not shown' \
	"too many messages: xpuload counts the messages that it does not print"
is "$(grep -c "(pid $hostile_pid): " all.mlog)" 32 "too many messages: xpumerge prints 32 of them"
like "$(cat all.mlog)" ': 68 more messages from processes are not shown' \
	"too many messages: xpumerge counts the messages that it does not print"
LC_ALL=C grep -aq "$(printf '[\033\007\233]')" all.log all.mlog
is $? 1 "messages: no control characters for a terminal are printed"
unlike "$(cat all.log)" "$(printf '\342\200\256')" \
	"messages: no characters that reverse text are printed"

# The hostile process uses more disk space, but memory stays bounded.
alongside paths 300000
more=1
[ $slow = false ] || more=4
less "$hwm" $((more * 600 * mb)) "endless call paths: xpuload's memory is bounded ($hwm kB)"
like "$(cat all.log)" "lost of pid $hostile_pid \(hostile\):" \
	"endless call paths: losses are attributed to the hostile process"
if $slow; then
	skip \
		"endless call paths: no loss is attributed to the other process" \
		"the flood fills the ring"
else
	# On a busy machine the flood fills the ring, and the other process loses batches.
	unlike "$(sed 's/[0-9]* batch\(es\)\{0,1\} of device records (ring full: try -m)//' all.log)" \
		'\(exact\): .*[0-9]' \
		"endless call paths: no other loss is attributed to the other process" ||
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
	skip "many processes: xpuload's memory does not grow" "the sanitizer's own memory grows"
else
	less "$after" $((before + 16 * mb)) \
		"many processes: xpuload's memory does not grow (from $before to $after kB)"
fi
like "$(cat all.log)" ' 3501 launches from 3501 call paths, 0 device records, 3501 processes' \
	"many processes: all are recorded"
unlike "$(cat all.log)" 'ring full|malformed|beyond|counted but' "many processes: nothing is lost"

# A sparse file of 4 GB that is unlinked as soon as it is mapped: the kept copy is also sparse.
cp "$hostile" sparse
truncate -s 4G sparse
if [ "$(du -k sparse | cut -f 1)" -lt $mb ]; then
	mkfifo lines
	xpuload --cpu-only -F 49 -o map.data "$hostile" map sparse <>lines >map.out 2>map.log &
	map_pid=$!
	wait_for grep -qs ready map.out
	sleep 0.2		# the file is kept now, or at the end
	echo >lines
	wait $map_pid
	is $? 0 "a mapped file with a hole: exit status 0"
	like "$(cat map.log)" 'copied 1 mapped file that is not at its path here to ' \
		"a mapped file with a hole is kept"
	elf=$(find map.data.files -name elf)
	is "$(stat -c %s "$elf")" 4294967296 \
		"a mapped file with a hole: the copy is as long as the file"
	less "$(du -k "$elf" | cut -f 1)" $mb \
		"a mapped file with a hole: the copy has the hole, too"
else
	skip "a mapped file with a hole" "this file system has none"
fi

# A user's FUSE file system never answers a read of its file, so a process that asks the kernel for
# the file's build-id waits.
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
	ok $? "a file system that does not answer: xpuload still ends"
	is "$(grep -c asked mute.out)" 1 \
		"a file system that does not answer: the file was requested once"
	is "$(grep \
		-c "mounted.$$/file: its file system does not answer: its files have no build-ids" \
		mute.log)" 1 "a file system that does not answer: one message names the file"
	kill -KILL $mute_pid		# then every process that waits for the answer can continue
	wait $all_pid
	is $? 0 "a file system that does not answer: exit status 0"
	like "$(xpumerge -i mute.data -f text 2>&1)" 'CPU samples' \
		"a file system that does not answer: the recording has CPU samples"
else
	skip "a file system that does not answer" "no FUSE, or no mounts"
fi

done_testing
