#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --every with -o: files cannot be written for a while, or the process that writes them is
# killed. The recording continues, prints a message, and counts the losses.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
use_sim
start_dormant a -t 4

# begin OPTIONS...: records the program, in the background
begin() {
	: >load.log
	nice -n 5 "$XPULOAD" -p "$a_pid" "$@" 2>load.log &
	load=$!
	wait_for grep -q 'attached to' load.log
}

# burst_until COMMAND...: the program launches until COMMAND succeeds
burst_until() {
	wait_for so_or_burst "$@"
}

so_or_burst() {
	"$@" && return
	ask a "burst 100" >/dev/null
	return 1
}

# end STATUS: ends the recording
end() {
	kill -INT $load
	wait $load
	is $? "$1" "$what: the expected exit status" || diag "$(cat load.log)"
}

has_file() {
	[ -s "$1" ]
}

says() {
	grep -Eq "$1" load.log
}

# newest NAME: prints the highest number of NAME's files; prints nothing if none exists
newest() {
	find "$(dirname "$1")" -name "$(basename "$1").*" |
		sed -n 's/.*\.\([0-9]\{1,\}\)\(\.data\)\{0,1\}$/\1/p' | sort -n | tail -n 1
}

# reached NAME NUMBER: tests whether file NUMBER or a later file exists; --keep may have removed
# earlier files
reached() {
	[ "0$(newest "$1")" -ge "$2" ]
}

# later NAME: launches until one more file has begun and is complete. A file is complete when the
# next one exists.
later() {
	burst_until reached "$1" $(($(newest "$1") + 2))
}

# recorded: prints the number of launches that xpuload received. The program may have made other
# launches before the shim was awake.
recorded() {
	sed -n 's/^xpuload: \([0-9]*\) launches from.*/\1/p' load.log
}

# adds_up NAME: checks that each file can be read alone, and that all launches are either in the
# files or counted as lost
adds_up() {
	bad=''
	sum=$(sed -n 's/.*lost: .*[ ,]\([0-9][0-9]*\) launches of files that could not be written.*/\1/p' load.log)
	sum=${sum:-0}
	find . -path "./$1.*.data" | sort -V >parts
	while read -r part; do
		xpumerge "$part" -f folded -o part.folded 2>part.log
		[ $? -le 1 ] || bad="$bad $part"
		grep -q 'that nothing defines' part.log && bad="$bad $part"
		sum=$((sum + $(awk '/^launches / && !n { n = $2 }
			/ launch.* that the shim counted/ && !t { t = $1 }
			END { print n + t }' part.log)))
	done <parts
	is "$bad" "" "$what: each file can be read without the other files"
	is "$sum" "$(recorded)" \
		"$what: launches in files and lost launches add up to all launches"
}

split_of() {
	pgrep -P "$load" -f 'xpumerge split'
}

# ---- the process that writes the files is killed

what=killed
begin --every 0.2 -o killed.%n.data
burst_until reached killed 2
ask a "burst 100" >/dev/null
nice=$(ps -o ni= -p "$(split_of)")
kill -9 "$(split_of)"
burst_until says 'continues after xpumerge split was killed'
like "$(cat load.log)" \
	'xpumerge split, which writes the files, was ended by signal 9 \(Killed\): it is restarted' \
	"killed: a message reports the kill at once"
first=$(split_of)
number=$(newest killed)
later killed
ask a "burst 100" >/dev/null
later killed
is "$(split_of)" "$first" "killed: the new process keeps running"
is "$(ps -o ni= -p "$first")" "$nice" \
	"killed: the new process has the priority of the first process"
end 0
like "$(cat load.log)" 'lost: 1 restarts of xpumerge split' \
	"killed: a message counts the restarts of xpumerge split"
adds_up killed
xpumerge dump "$(ls -v killed.*.data | tail -n 1)" >last.dump 2>/dev/null
for part in killed.*.data; do
	xpumerge dump "$part" 2>/dev/null
done | grep ' CALLCHAIN ' | grep -o 'path_id=[0-9]*' | sort -u >paths
is "$(grep -c ' CALLCHAIN ' last.dump)" "$(wc -l <paths)" "killed: the last file has all call paths"
while [ $((number += 1)) -lt "$(newest killed)" ]; do
	xpumerge "killed.$number.data" 2>&1
done >last
like "$(cat last)" 'main > copy\(\) > site_h2d' "killed: the last files have the names of functions"

what="killed, --strict"
begin --strict --every 0.2 -o strict.%n.data
burst_until reached strict 2
kill -9 "$(split_of)"
burst_until says 'continues after xpumerge split was killed'
end 125

what="killed six times"
begin --every 0.1 --keep 3 -o storm.%n.data
burst_until reached storm 1
for i in 1 2 3; do
	wait_for split_of >/dev/null
	kill -9 "$(split_of)"
	nr=$i
	ends() {
		[ "$(grep -c 'was ended by signal 9' load.log)" = "$nr" ]
	}
	burst_until ends
done
burst_until split_of >/dev/null
later storm
end 0
is "$(find . -name 'storm.*.data' | wc -l)" 3 "killed often: --keep 3 still removes older files"

what="killed, --memory"
"$XPULOAD" --memory --gpu-only --every 0.2 -o memory.data "$XPU_BUILD/workload/memory" -n 300 \
	-p 20 -e continues >memory.out 2>load.log &
load=$!
wait_for reached memory.data 2
kill -9 "$(split_of)"
wait_for says 'memory.data.[0-9]+ continues after xpumerge split was killed'
ok $? "$what: a message says that the file continues after a kill"
: >continues
wait $load
is $? 0 "$what: exit status 0" || diag "$(cat load.log)"
for part in $(find . -name 'memory.data.*' | sort -rV); do
	xpumerge -i "$part" --memory leaked -f folded -o last.folded 2>last.log
	[ ! -s last.folded ] || break
done
memory_sums last.folded >got
memory_truth memory.out leaked >expected
is "$(diff got expected | head -n 4)" "" \
	"$what: the last file has all live memory, whenever it was allocated"

# tried NUMBER: tests whether NUMBER senders had a profile and could not send it
tried() {
	[ "$(grep -c 'tried again later' load.log)" -ge "$1" ]
}

# stops: stops the process that makes a profile
stops() {
	stopped=$(pgrep -P "$(split_of)" -x xpumerge) && kill -STOP "$stopped" &&
		grep -q '^State:.*stopped' "/proc/$stopped/status"
}

is_gone() {
	[ ! -e "/proc/$1" ]
}

# The process that makes a profile is stopped. Then its parent is killed, either at once, or after
# more files than the journal can hold.
for nr_files in 0 20; do
	what="killed, --push, $nr_files files later"
	if [ ! -e "$XPU_BUILD/xpuload-push" ]; then
		skip "$what" "xpuload-push is not built"
		continue
	fi
	mkdir pushed
	: >load.log		# may exist from the previous round
	(cd pushed && exec "$XPULOAD" -p "$a_pid" --every 0.1 \
		--push http://127.0.0.1:9/v1development/profiles 2>../load.log) &
	load=$!
	wait_for grep -q 'attached to' load.log
	burst_until tried 1
	burst_until stops
	[ $nr_files = 0 ] ||
		burst_until reached pushed/xpu.data $(($(newest pushed/xpu.data) + nr_files))
	kill -9 "$(split_of)"
	burst_until says 'continues after xpumerge split was killed'
	burst_until tried 2
	end 0
	kill -CONT "$stopped" 2>/dev/null
	wait_for is_gone "$stopped"
	like "$(cat load.log)" '0 profiles sent, [1-9][0-9]* lost; [0-9]+ files? without profiles' \
		"$what: lost profiles are counted"
	is "$(ls pushed)" "" "$what: no profile is left on the disk"
	rm -rf pushed
done

# ---- a disk that is full for a while

mkdir full
if mount -t tmpfs -o size=2m none full 2>/dev/null; then
	what="full"
	begin --every 0.2 -o full/x.%n.data
	burst_until reached full/x 2
	cp full/x.1.data before
	dd if=/dev/zero of=full/filler bs=4k 2>/dev/null
	burst_until says 'cannot write full/x.*: No space left'
	rm full/filler
	burst_until says 'full/x.[0-9]*.data can be written again: [0-9]+ interval'
	later full/x
	end 0
	is "$(grep -c 'No space left' load.log)" 1 \
		"disk full: one message says that the disk is full"
	like "$(cat load.log)" 'lost: [0-9]+ files not written, or only in part' \
		"disk full: lost files are counted"
	like "$(cat load.log)" 'can be written again: [0-9]+ intervals? w[a-z]+ lost, with [0-9]+ launch' \
		"disk full: a message says how many launches are lost"
	for part in full/x.*.data; do
		xpumerge "$part" -f folded -o part.folded 2>&1
	done >part.log
	unlike "$(cat part.log)" 'that the shim counted are not in' \
		"disk full: no file counts losses of other intervals"
	unlike "$(cat part.log)" 'timed outside of the recording' \
		"disk full: launches that waited for their file are not counted as forged"
	cmp -s before full/x.1.data
	ok $? "disk full: a file from before the failure is unchanged"
	adds_up full/x
	rm -f full/*

	what="full, one file"
	begin -o full/y.data
	burst_until has_file full/y.data
	dd if=/dev/zero of=full/filler bs=4k 2>/dev/null
	burst_until says \
		'cannot write full/y.data: No space left.*the program and the recording go on'
	rm full/filler
	burst_until says 'full/y.data can be written again'
	end 0
	like "$(cat load.log)" 'lost 0$' "disk full, one file: nothing is lost"
	xpumerge full/y.data -f folded -o y.folded 2>merge.log
	like "$(cat merge.log)" "launches $(recorded) matched $(recorded) unmatched 0 lost 0" \
		"disk full, one file: all launches are recorded"
	umount full
else
	skip "a full disk" "cannot mount"
fi

# ---- a name that is already in use

what="a directory has the name"
mkdir taken.2.data
begin --every 0.2 -o taken.%n.data
burst_until reached taken 4
end 0
like "$(cat load.log)" 'cannot write taken.2.data: Is a directory' \
	"$what: a message says that the name belongs to a directory"
rmdir taken.2.data
ok $? "$what: the directory still exists"
adds_up taken

what="a directory that was removed"
mkdir gone
begin --every 0.2 -o gone/x.%n.data
burst_until reached gone/x 2
rm -r gone
burst_until says 'cannot write gone/x.*No such file'
mkdir gone
burst_until says 'gone/x.[0-9]+.data can be written again'
end 0

what="--keep"
begin --every 0.1 --keep 2 -o mine.%n.data
burst_until reached mine 1
taken=mine.$(newest mine).data
echo precious >other && mv other "$taken"
later mine && later mine && later mine
end 0
is "$(cat "$taken")" precious \
	"--keep: a file of another program is kept, although it has the name of one of our files"

finish a
done_testing
