#!/bin/sh
# SPDX-License-Identifier: MIT
# --api with OpenCL: every call of a program is recorded once, with the duration that the program
# measured, and a launch belongs to its call. The test uses a real device of this machine (PoCL).
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/opencl_checks.sh"
. "$XPU_SRC/test/lib/merges.sh"
need root bpf shim opencl
quiet_sanitizers

table() {		# table NAME: prints "FUNCTION CALLS NS" for each function
	xpumerge -i "$1.data" --table api_calls --csv --limit 0 2>"$1.log" | tr -d '"' |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			NR > 1 { print $at["name"], $at["calls"], $at["total_ns"] }'
}

for how in bpf shm; do
	xpuload --api=all --transport $how -o all.data "$odd" calls >all.out 2>load.log
	is $? 0 "$how: --api=all: exit status 0"
	table all >all.txt
	is "$(sed -n 's/^calls \([^ ]*\) \([0-9]*\) .*/\1 \2/p' all.out | sort)" \
		"$(cut -d' ' -f1,2 all.txt | grep -Fw -e clGetKernelInfo \
			-e clEnqueueNDRangeKernel -e clFinish -e clEnqueueWriteBuffer -e clFlush \
			-e clGetEventInfo -e clSetUserEventStatus -e clReleaseEvent \
			-e clReleaseMemObject | sort)" \
		"$how: all calls of each function are recorded, except calls inside other calls"
	awk 'NR == FNR { if ($1 == "calls") us[$2] = $4; next }
		$1 in us { print $1, $3, us[$1] }' \
		all.out all.txt >times.txt
	is "$(awk '$2 > $3 * 1000 + 1000 || !$2' times.txt)" "" \
		"$how: no function takes longer than the program measured"
	is "$(awk '$1 == "clFinish" && $2 < $3 * 900 - 1e6' times.txt)" "" \
		"$how: clFinish takes as long as the program measured"
	like "$(cat all.txt)" '^clBuildProgram 1 ' \
		"$how: functions that the shim does not watch are recorded, too"
done
is "$(xpumerge -i all.data -f chrome 2>/dev/null | python3 -c '
import collections, json, sys
nr = collections.Counter()
for e in json.load(sys.stdin)["traceEvents"]:
    if e["ph"] == "X" and e["cat"] in ("api", "launch"):
        nr[e["cat"], e["name"]] += 1
for name in ("clEnqueueNDRangeKernel", "clEnqueueWriteBuffer", "clFinish"):
    print(name, nr["launch", name], nr["api", name])')" \
	"clEnqueueNDRangeKernel 50 0
clEnqueueWriteBuffer 7 0
clFinish 0 5" "in a timeline, a launch is its call, and the other calls are shown, too"

xpuload --api -o some.data "$odd" calls >some.out 2>load.log
table some >some.txt
cut -d' ' -f1 all.txt | sort >all.names
cut -d' ' -f1 some.txt | sort >some.names
is "$(comm -23 all.names some.names | tr '\n' ' ')" \
	"clGetEventInfo clGetKernelInfo clRetainEvent clSetKernelArg " \
	"--api leaves out calls that take no time"
xpuload -o none.data "$odd" calls >none.out 2>load.log
unlike "$(cat load.log)" 'API call' "without --api no call is recorded"

xpuload --api=all -o exact.data "$exact" -n 2500 >/dev/null 2>load.log
is "$(verdict exact)" "launches 20000 matched 20000 wrong 0 unmatched 0 lost 0" \
	"--api: every launch is matched, under its own site"
is "$(table exact | grep clEnqueueNDRangeKernel | cut -d' ' -f2)" 20000 \
	"--api: each launch of 8 threads is in the table of calls"
is "$(apis calls -i exact.data)" "1: $(table exact | awk '{ nr += $2 } END { print nr }') " \
	"the table of calls names OpenCL as the API of each call"
like "$(cat exact.folded)" ';launcher;site_03;clEnqueueNDRangeKernel;\[GPU_Kernel\]kernel_03 ' \
	"--api: frames below the call are left out"
xpuload --api=all --memory -o memory.data "$odd" memory >/dev/null 2>load.log
xpumerge -i memory.data -f folded --memory peak -o memory.folded 2>/dev/null
like "$(cat memory.folded)" ';make_two;.*clCreateBuffer.* 2097152$' \
	"--api: frames below calls that allocate memory are left out"

LD_PRELOAD=$XPU_SHIM "$exact" -t 2 -n 3000000 >/dev/null 2>&1 &
pid=$!
sleep 1
xpuload --api -p $pid --duration 1 -o late.data 2>load.log
kill $pid
wait $pid 2>/dev/null
like "$(table late)" '^clEnqueueNDRangeKernel [0-9]{3,} ' \
	"attached: calls of a running program are recorded"
done_testing
