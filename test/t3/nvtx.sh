#!/bin/sh
# SPDX-License-Identifier: MIT
# NVTX ranges: every launch is in the ranges that were open on its thread, whatever the threads, the
# domains, the order in which ranges end, and the module that opened them. A recording without
# ranges has no extra cost.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim
ranges="$XPU_BUILD/workload/ranges"
"$ranges" -t 1 -n 1 >/dev/null
[ $? = 77 ] && skip_all "no NVTX headers next to CUPTI's"

run() {			# run NAME LAUNCHES OPTIONS-OF-XPULOAD ARGS...
	name=$1 launches=$2 opts=$3
	shift 3
	# shellcheck disable=SC2086
	xpuload $opts -o "$name.data" "$ranges" "$@" >/dev/null 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	like "$(tail -n 1 load.log)" 'lost 0$' "$name: nothing is lost" || diag "$(cat load.log)"
	xpumerge -i "$name.data" -f folded --gpu-only --by nvtx --unit count -o "$name.folded" \
		2>merge.log
	line=$("$XPU_SRC/test/lib/ranges_verdict.sh" "$name.folded" merge.log)
	diag "$name: $line"
	is "$line" "launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: every launch is matched, and in the right ranges"
}

# Of three successive rounds of a thread, one makes seven launches, one makes four, and one makes
# three.
run threads $((8 * 300 / 3 * 14 + 2)) '' -t 8 -n 300
is "$(grep -c 'other:three' threads.folded)" 1 "ranges of a domain show the domain's name"
table=$(xpumerge -i threads.data --table nvtx_ranges --csv 2>/dev/null)
is "$(echo "$table" | awk -F, '$11 == "\"two\"" { print $3, $5 }')" "800 800" \
	"the table counts launches and instances"
is "$(echo "$table" | awk -F, '$11 == "\"thread\"" { print $3, $5 }')" \
	"$((8 * 300 / 3 * 14)) $((8 + 1600))" \
		"an outer range's row includes launches in inner ranges"
# A range that is not popped ends with its thread.
unlike "$(xpumerge -i threads.data 2>&1 | grep '^NVTX')" 'open at the end' \
	"the summary reports no range that is open at the end"
is "$(xpumerge -i threads.data --nvtx '^one$' -f folded --unit count --gpu-only 2>/dev/null |
	awk '{ n += $NF } END { print n }')" 2400 "--nvtx shows only launches in the range"
# Threads' accounts are in no range: they must not hide that a filter matches nothing.
xpuload --off-cpu --api -o off.data "$ranges" -t 1 -n 30 >/dev/null 2>&1
for filter in '--nvtx nothing' '--window 1'; do
	# shellcheck disable=SC2086 # two words
	xpumerge -i off.data $filter >out 2>log
	is "$? $(grep -c "nothing in the recording matches $filter" log)" "1 1" \
		"$filter: a message says that nothing matches" || diag "$(cat out log)"
done
xpumerge -i threads.data -o threads.json 2>/dev/null
is "$(grep -c '"cat":"nvtx"' threads.json)" $((2400 * 3 + 1600 * 2 + 800 * 2 + 8 + 1)) \
	"the timeline has each range and each mark"
check_python() {
	python3 - threads.json <<'END'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "nvtx"]
stacks = {}
for e in sorted(events, key=lambda e: (e["tid"], e["ts"], -e["dur"])):
	stack = stacks.setdefault(e["tid"], [])
	while stack and stack[-1] <= e["ts"] + 1e-9:
		stack.pop()
	if stack and e["ts"] + e["dur"] > stack[-1] + 1e-6:
		sys.exit("%s does not nest" % e)
	stack.append(e["ts"] + e["dur"])
END
}
check_python
ok $? "ranges nest in the timeline"

# Each round has a new name; other threads end ranges; a module has its own copy of NVTX.
run unique $((8 * 300 / 3 * 12 + 2)) '' -t 8 -n 300 -u
run foreign $((4 * 60 / 3 * 14 + 2)) '' -t 4 -n 60 -f
run module $((4 * 300 / 3 * 14 + 2)) '' -t 4 -n 300 -m "$XPU_BUILD/workload/ranges_module.so"
is "$(grep -c 'two;\[NVTX\]module;' module.folded)" 1 "ranges from a loaded module are recorded"
# Launches that are not logged, and stacks that the shim does not copy.
run launch $((4 * 60 / 3 * 14 + 2)) '--probe launch' -t 4 -n 60
run fp $((4 * 60 / 3 * 14 + 2)) '--call-graph fp --gpu-only' -t 4 -n 60

# Off: no ranges are recorded, and the program's NVTX finds no tool.
xpuload --nvtx=off -o off.data "$ranges" -t 2 -n 30 >/dev/null 2>&1
xpumerge -i off.data --by nvtx --gpu-only --unit count -o off.folded 2>/dev/null
is "$(sort -u off.folded | cut -d';' -f1 | sort -u)" "[no NVTX range]" \
	"--nvtx=off: no range is recorded"
is "$(xpuload --nvtx=off -o off.data sh -c 'echo "$NVTX_INJECTION64_PATH"' 2>/dev/null)" "" \
	"--nvtx=off: the environment does not make NVTX load the shim"
# Another tool's injection variable is left unchanged, with a message.
NVTX_INJECTION64_PATH=/nonexistent/tool.so xpuload -o other.data "$ranges" -t 1 \
	-n 3 >/dev/null 2>other.log
is $? 0 "NVTX_INJECTION64_PATH names another library: exit status 0"
like "$(cat other.log)" \
	'NVTX ranges are not recorded: NVTX_INJECTION64_PATH names another library' \
	"NVTX_INJECTION64_PATH names another library: a message says that ranges are not recorded"

xpuload --nvtx=some true 2>log
is $? 125 "--nvtx=some: refused"
like "$(cat log)" 'expected on or off' "--nvtx=some: the message says what is expected"

# A running program: ranges that were opened before the attach are unknown, and later ranges are
# recorded. This is done twice, because the first recording must leave no state.
slow=false
case ${XPU_TOOLS_SAN:-} in *thread*) slow=true ;; esac
LD_PRELOAD="$XPU_SHIM" "$ranges" -t 2 -n 100000000 >/dev/null &
pid=$!
# in_both: tests whether more than 100 launches of the innermost kernel are in both of its ranges
in_both() {
	xpumerge -i live.data -f folded --by nvtx --gpu-only --unit count 2>/dev/null |
		awk '/\[NVTX\]one;\[NVTX\]two;.*kernel_02 / { n += $NF } END { exit !(n > 100) }'
}
for time in first second; do
	attach live -m 256M -p $pid
	wait_for in_both
	leave live
	is $? 0 "attached, the $time time: exit status 0" || diag "$(cat live.log)"
	diag "$(tail -n 1 live.log)"
	if $slow; then
		skip "attached, the $time time: nothing lost" \
			"the program is faster than the recorder"
		skip \
			"attached, the $time time: launches are in ranges that were opened since the attach" \
			"or not all is known"
		continue
	fi
	like "$(tail -n 1 live.log)" 'lost 0$' "attached, the $time time: nothing is lost"
	xpumerge -i live.data -f folded --by nvtx --gpu-only --unit count 2>/dev/null |
		grep -v '^[^;]*;\[\(before attach\|after detach\)\]' >live.folded
	# When xpuload attaches, each thread may be in any range.
	is "$(grep 'kernel_02 ' live.folded | awk '
		/\[NVTX\]one;\[NVTX\]two;[^[]/ { right += $NF; next }
		{ wrong += $NF }
		END { print (right > 100), (wrong <= 2) }')" "1 1" \
		"attached, the $time time: launches are in ranges that were opened since the attach" ||
		diag "$(grep 'kernel_02 ' live.folded | cut -c1-300)"
done
kill $pid
wait $pid 2>/dev/null

done_testing
