#!/bin/sh
# SPDX-License-Identifier: MIT
# Time namespaces: processes whose CLOCK_MONOTONIC is shifted, and a recorder whose clock is
# shifted. All timestamps in a recording use the machine's clock: a process with a shifted clock
# changes neither the span of the recording nor the sums or the order of other processes.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim
unshare --time --monotonic 1 true 2>/dev/null ||
	skip_all "unshare --time fails: no time namespaces here"
exact=$XPU_BUILD/workload/exact
# No clock can be set to a time before boot.
back=-$(awk '{ print int($1 / 2) }' /proc/uptime)
[ "$back" -lt -120 ] ||
	diag "NOT RUN: clocks that are set back: the machine has run for less than 4 minutes"

# Prints the number of processes and kernels, and whether all events are within one minute.
cat >times.py <<'END'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
ends = [e["ts"] + e["dur"] for e in events]
pids = {e["pid"] for e in events if e.get("cat") == "launch"}
works = [e for e in events if e.get("cat") == "kernel"]
cats = {e.get("cat") for e in events}
span = (max(ends) - min(e["ts"] for e in events)) / 1e6
print("processes", len(pids), "kernels", len(works), "within a minute", span < 60, "kinds", *sorted(cats))
END

kernels() {		# kernels NAME: prints the device time of each kernel
	xpumerge -i "$1.data" -f folded --unit ns -o - 2>/dev/null |
		awk '/\[GPU_Kernel\]kernel_/ { sub(/.*\]/, "", $0); ns[$1] += $2 }
		END { for (k in ns) print k, ns[k] }' |
		sort
}

run() {			# run NAME SHIFT OPTIONS...: records two processes, one with a shifted clock
	name=$1 shift=$2
	shift 2
	# shellcheck disable=SC2086 # several words
	$recorder "$XPULOAD" "$@" -o "$name.data" sh -c \
		"unshare --time --monotonic $shift $exact -t 1 -s 4 -n 1000 -m &
		$exact -t 1 -s 4 -n 1000 -m; wait" >out 2>load.log
	is $? 0 "$name: exit status 0"
	xpumerge -i "$name.data" >summary 2>merge.log
	like "$(cat merge.log)" '^launches 2250 matched 2250 unmatched 0 lost 0' \
		"$name: every launch is matched"
	unlike "$(cat merge.log)" 'outside|valid times' "$name: every time is within the recording"
	xpumerge -i "$name.data" -o "$name.json" 2>/dev/null
	like "$(head -n 1 summary)" \
		'^[0-9.]+ ms: GPU 0 busy |^[1-5]?[0-9](\.[0-9]+)? s: GPU 0 busy ' \
		"$name: the headline has the right time"
	is "$(python3 times.py "$name.json")" "$want" "$name: the timeline has the right times"
	kernels "$name" >"$name.kernels"
}

recorder=
want="processes 2 kernels 2000 within a minute True kinds kernel launch memcpy memset"
for how in bpf shm; do
	run "plain-$how" 0 --transport "$how"
	[ -s "plain-$how.kernels" ]
	ok $? "plain-$how: a run without a shift records kernel times, to compare with"
	for shift in 100000 "$back"; do
		[ "$shift" -gt 0 ] || [ "$shift" -lt -120 ] || continue
		run "shift$shift-$how" "$shift" --transport "$how"
		is "$(cmp "plain-$how.kernels" "shift$shift-$how.kernels" 2>&1)" "" \
			"shift$shift-$how: the device time of each kernel is the same as without a shift"
	done
done

# A recording with every single launch, API calls and memory events.
want="processes 2 kernels 2000 within a minute True kinds api kernel launch memcpy memset"
run each 100000 --probe launch --api --memory
like "$(xpumerge -i each.data --memory peak -f folded 2>/dev/null)" '^exact;.* [0-9]+$' \
	"memory events are recorded"

# The recorder has a shifted clock, which its targets inherit; one of the two targets has its clock
# shifted once more.
want="processes 2 kernels 2000 within a minute True kinds kernel launch memcpy memset"
for how in bpf shm; do
	recorder="unshare --time --monotonic 5000"
	run "recorder-$how" 100000 --transport "$how"
	recorder=
done
now=$(python3 -c 'import time; print(time.monotonic())')
is "$(xpumerge dump recorder-bpf.data 2>/dev/null |
	sed -n 's/.*HEADER.*start_mono_ns=\([0-9]*\).*/\1/p' |
	awk -v now="$now" '{ print ($1 / 1e9 > now - 600 && $1 / 1e9 <= now + 1) }')" 1 \
	"recorder-bpf: the recording begins by the machine's clock"

# A child gets its clock from its parent, which created a time namespace for its children.
xpuload -o children.data unshare --time --monotonic 100000 --fork "$exact" -t 1 -s 4 \
	-n 1000 >out 2>load.log
xpumerge -i children.data -o children.json 2>merge.log
like "$(cat merge.log)" '^launches 1000 matched 1000 unmatched 0 lost 0' \
	"children: every launch is matched"
want="processes 1 kernels 1000 within a minute True kinds kernel launch"
is "$(python3 times.py children.json)" "$want" "children: the timeline has the right times"

# If /proc is missing and the shift is unknown, the process's timestamps are left out and counted,
# in the recording and in each file; its launches are kept.
cat >hidden.sh <<'END'
mount -t tmpfs none /proc && exec "$@"
END
hidden="unshare --mount --time --monotonic 100000 sh hidden.sh $exact -t 1 -s 4 -n 1000 -m"
if [ -z "${XPU_SAN:-}" ] &&		# a sanitizer's runtime needs /proc
	unshare --mount --time --monotonic 1 sh hidden.sh true 2>/dev/null; then
	xpuload -o hidden.data sh -c "$hidden & $exact -t 1 -s 4 -n 1000 -m; wait" >out 2>load.log
	xpumerge -i hidden.data >summary 2>merge.log
	like "$(cat merge.log)" '^launches 2250 matched 2250 unmatched 0 lost 0' \
		"hidden offset: every launch is matched"
	like "$(cat merge.log)" ' [1-9][0-9]* launches timed outside of the recording' \
		"hidden offset: launches with impossible times are counted"
	like "$(cat merge.log)" ' 1125 device records timed outside of the recording' \
		"hidden offset: device records with impossible times are counted"
	like "$(head -n 1 summary)" \
		'^[0-9.]+ ms: GPU 0 busy |^[1-5]?[0-9](\.[0-9]+)? s: GPU 0 busy ' \
		"hidden offset: the headline has the right time"
	xpumerge -i hidden.data -o hidden.json 2>/dev/null
	want="processes 2 kernels 1000 within a minute True kinds kernel launch memcpy memset"
	is "$(python3 times.py hidden.json)" "$want" \
		"hidden offset: the timeline has the right times"

	xpuload --every 1 -o 'every.%n.data' sh \
		-c "$hidden -p 400 & $exact -t 1 -s 4 -n 1000 -m -p 400; wait" >out 2>load.log
	is $? 0 "--every: exit status 0"
	# shellcheck disable=SC2046 # several files
	xpumerge $(ls every.*.data) >summary 2>merge.log
	like "$(cat merge.log)" '^launches 2250 matched 2250 unmatched 0 lost 0' \
		"--every: every launch is matched"
	for file in every.*.data; do
		like "$(xpumerge -i "$file" 2>/dev/null | head -n 1)" \
			'^no time|^[0-9.]+ [mu]s: |^[1-5]?[0-9](\.[0-9]+)? s: ' \
			"$file: the headline has the right time"
	done

	: >top.out
	LD_PRELOAD=$XPU_SHIM sh -c \
		"until grep -q launches/s top.out; do sleep 0.1; done
			$hidden -p 400 & $exact -t 1 -s 4 -n 1000 -m -p 400; wait" >out &
	xpuload top -p $! --batch >top.out 2>load.log
	is $? 0 "top: exit status 0"
	wait
	is "$(grep -oE '[0-9.]+ ?%' top.out | awk '$1 + 0 > 101' | head -n 1)" "" \
		"top: no share is above 100 %"
	like "$(cat top.out)" 'kernel_' "top: kernels are shown"
else
	diag "NOT RUN: a process without /proc: no mount namespaces here"
fi

done_testing
