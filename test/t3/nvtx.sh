#!/bin/sh
# SPDX-License-Identifier: MIT
# NVTX ranges: every launch is in those that were open on its thread, whatever the threads, the
# domains, the order of ends, the module that opened them; and what is not asked for costs nothing.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim
ranges="$XPU_BUILD/workload/ranges"
"$ranges" -t 1 -n 1 >/dev/null
[ $? = 77 ] && skip_all "no NVTX headers beside CUPTI's"

# What each kernel must stand in: see test/workload/ranges.cu.
count() {		# count NAME: launches in the right ranges and in others, of name.folded
	sed 's/^\(.*\);[^;]*\[GPU_Kernel\]/\1;\[GPU_Kernel\]/' "$1.folded" | awk '
	BEGIN {
		in_thread = "^\\[NVTX\\]thread;(\\[NVTX\\]round [0-9.]*;)?"
		want["00"] = in_thread "[^[]|^\\[NVTX\\]main;[^[]|^\\[no NVTX range\\];[^[]"
		want["01"] = in_thread "\\[NVTX\\]one;[^[]"
		want["02"] = in_thread "\\[NVTX\\]one;\\[NVTX\\]two;(\\[NVTX\\]module;)?[^[]"
		want["03"] = "^\\[NVTX\\]other:three;\\[NVTX\\]thread;[^[]"
		want["04"] = in_thread "\\[NVTX\\]four;[^[]"
		want["05"] = in_thread "\\[NVTX\\]five;[^[]"
	}
	{
		nr = $NF
		kernel = $0
		sub(/.*\[GPU_Kernel\]kernel_/, "", kernel)
		kernel = substr(kernel, 1, 2)
		if (kernel in want && $0 ~ want[kernel])
			right += nr
		else
			wrong += nr
	}
	END { print "right", right + 0, "wrong", wrong + 0 }'
}

run() {			# run NAME LAUNCHES ARGS...: -- and then the options of xpuload
	name=$1 launches=$2 args= opts=
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		args="$args $1"
		shift
	done
	[ $# -gt 0 ] && shift
	opts=$*
	# shellcheck disable=SC2086
	xpuload $opts -o "$name.data" "$ranges" $args >/dev/null 2>load.log
	is $? 0 "$name: status" || diag "$(cat load.log)"
	like "$(tail -n 1 load.log)" 'lost 0$' "$name: nothing lost" || diag "$(cat load.log)"
	xpumerge -i "$name.data" --gpu-only --by nvtx --unit count -o "$name.folded" 2>merge.log
	line="$(grep ^launches merge.log), $(count "$name")"
	diag "$name: $line"
	is "$line" "launches $launches matched $launches unmatched 0 lost 0, right $launches wrong 0" \
		"$name: exact"
}

# Of three rounds one has eight launches, one has five, one four, besides that of the round.
run threads $((8 * 300 / 3 * 14 + 2)) -t 8 -n 300
is "$(grep -c 'other:three' threads.folded)" 1 "a domain's ranges have its name"
table=$(xpumerge -i threads.data --table nvtx_ranges --csv 2>/dev/null)
is "$(echo "$table" | awk -F, '$11 == "\"two\"" { print $3, $5 }')" "800 800" \
	"the table counts launches and instances"
is "$(echo "$table" | awk -F, '$11 == "\"thread\"" { print $3, $5 }')" \
	"$((8 * 300 / 3 * 14)) $((8 + 1600))" "and what is in ranges within"
# What is not popped ends with its thread.
unlike "$(xpumerge -i threads.data 2>&1 | grep '^NVTX')" 'open at the end' "none is open at the end"
is "$(xpumerge -i threads.data --nvtx '^one$' -f folded --unit count --gpu-only 2>/dev/null |
	awk '{ n += $NF } END { print n }')" 2400 "--nvtx picks what is in a range"
xpumerge -i threads.data -o threads.json 2>/dev/null
is "$(grep -c '"cat":"nvtx"' threads.json)" $((2400 * 3 + 1600 * 2 + 800 * 2 + 8 + 1)) \
	"each is in the timeline, and so are marks"
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
ok $? "and they nest there"

# Names that are new each time; ends by other threads; a module with a copy of its own.
run unique $((8 * 300 / 3 * 12 + 2)) -t 8 -n 300 -u
run foreign $((4 * 60 / 3 * 14 + 2)) -t 4 -n 60 -f
run module $((4 * 300 / 3 * 14 + 2)) -t 4 -n 300 -m "$XPU_BUILD/workload/ranges_module.so"
is "$(grep -c 'two;\[NVTX\]module;' module.folded)" 1 "of the module, too"
# Where launches are not logged, and where stacks are not the shim's.
run launch $((4 * 60 / 3 * 14 + 2)) -t 4 -n 60 -- --probe launch
run fp $((4 * 60 / 3 * 14 + 2)) -t 4 -n 60 -- --call-graph fp --gpu-only

# Off: none, and the program's NVTX finds nobody.
xpuload --nvtx=off -o off.data "$ranges" -t 2 -n 30 >/dev/null 2>&1
xpumerge -i off.data --by nvtx --gpu-only --unit count -o off.folded 2>/dev/null
is "$(sort -u off.folded | cut -d';' -f1 | sort -u)" "[no NVTX range]" "--nvtx=off: there are none"
is "$(xpuload --nvtx=off -o off.data sh -c 'echo "$NVTX_INJECTION64_PATH"' 2>/dev/null)" "" \
	"nor is NVTX told of the shim"
# Somebody else's injection is left alone, and that is said.
NVTX_INJECTION64_PATH=/nonexistent/tool.so xpuload -o other.data "$ranges" -t 1 -n 3 >/dev/null 2>other.log
is $? 0 "another library for NVTX: status"
like "$(cat other.log)" 'NVTX ranges are not recorded: NVTX_INJECTION64_PATH names another library' \
	"that is said"

done_testing
