#!/bin/sh
# SPDX-License-Identifier: MIT
# Simulated CUPTI 13.3, with several subscribers. A program's own profilers and the recording are
# both complete, whichever subscribed first; a profiler with the old API gets CUPTI exclusively.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim
XPU_SIM_CUPTI_VERSION=130300
export XPU_SIM_CUPTI_VERSION
program=$XPU_BUILD/workload/several
[ -x "$program" ] || skip_all "no headers of CUPTI 13"

run() {			# run NAME OPTIONS -- ARGS...: records; NAME.counts: memsets of each phase
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	"$program" "$@" >want
	# shellcheck disable=SC2086 # no option, or several
	xpuload $options -o "$name.data" "$program" "$@" >got 2>load.log
	is $? 0 "$name: exit status 0"
	is "$(cat got)" "$(cat want)" \
		"$name: the program's profilers get the same results as without xpuload"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	sed -n 's/.*;\(before\|during\|after\|alone\);.*\[GPU_Memset\] /\1 /p' "$name.folded" |
		sort | tr '\n' ' ' >"$name.counts"
}

run late --
is "$(cat late.counts)" "after 200 before 200 during 200 " \
	"the other profiler comes later: every memset is under its own call path"
like "$(cat merge.log)" '^launches 600 matched 600 unmatched 0 lost 0' \
	"the other profiler comes later: nothing is lost"
like "$(cat load.log)" 'another profiler uses CUPTI in this program, too: both record' \
	"the other profiler comes later: a message says that CUPTI has several subscribers"
xpumerge -i late.data -o late.json 2>/dev/null
is "$(python3 -c '
import json
events = json.load(open("late.json"))["traceEvents"]
at = {e["args"]["correlation"]: e["ts"] for e in events if e["ph"] == "X" and e["cat"] == "launch"}
works = [e for e in events if e["ph"] == "X" and e["cat"] == "memset"]
# Other clocks differ by years, or by the uptime of the machine.
print(len(works), all(-1e6 < e["ts"] - at[e["args"]["correlation"]] < 3e7 for e in works))')" \
"600 True" \
	"the other profiler comes later: device work is close to its launch, whatever clock CUPTI uses"
run first -- first
is "$(cat first.counts)" "after 200 during 200 " \
	"the other profiler comes first: every memset is recorded"
like "$(cat merge.log)" '^launches 400 matched 400 unmatched 0 lost 0' \
	"the other profiler comes first: nothing is lost"
run share --cupti share -- first
is "$(cat share.counts)" "after 200 during 200 " "--cupti share: every memset is recorded"
run shm --transport shm --
is "$(cat shm.counts)" "after 200 before 200 during 200 " \
	"through shared memory: every memset is recorded"
run alone -- alone
is "$(cat alone.counts)" "after 400 before 200 during 200 " \
	"a profiler with the old API: memsets that it did not collect are recorded"
like "$(tr '\n' ' ' <load.log)" \
	'program uses CUPTI itself .*CUPTI is free again.*collected 200 device records itself' \
	"a profiler with the old API: a message counts the records that it collected"
run api --api -- first
is "$(cat api.counts)" "after 200 during 200 " "--api: every memset is recorded"
is "$(xpumerge -i api.data --table api_calls --csv 2>/dev/null |
	awk -F, '/cudaMemset/ { sum += $3 } END { print sum }')" \
	400 "--api: each memset has its API call"

# Threads launch all the time while profilers attach and leave.
for i in 1 2 3; do
	XPU_SIM_LATE_CALLBACKS=$((i == 3)) run threads -- threads
	# One launch of each of the four threads may be in progress while the shim subscribes again.
	is "$(awk '$1 == "launches" { print ($2 > 600 && $2 - $4 <= 4), $8 }' merge.log)" "1 0" \
		"other threads launch, $i: every launch has its device work" ||
		diag "$(cat merge.log)"
	like "$(cat load.log)" 'launches of other threads in the [0-9.]+ ms' \
		"other threads launch, $i: a message says that some launches are not recorded"
	is "$(cat threads.counts)" "after 200 before 200 during 200 " \
		"other threads launch, $i: all memsets of the first thread are recorded"
done

# CUPTI 13.0 to 13.2 allows only one subscriber.
XPU_SIM_CUPTI_VERSION=130200
"$program" first >old.out
is "$? $(grep -c 'error' old.out)" "1 1" "CUPTI before 13.3 refuses a second subscriber"
done_testing
