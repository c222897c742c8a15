#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --stalls on the simulated GPU: PC samples of kernels are under the call paths that
# launched the kernels, and the samples add up. Every launch and every sum is the same as without
# samples.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim
export XPU_SIM_MACHINE=$$	# a GPU has one sampler: share none with other tests

record() {		# record NAME ARGS...: records the program "exact"
	name=$1
	shift
	# shellcheck disable=SC2086
	xpuload ${args:---stalls} -o "$name.data" "$XPU_BUILD/workload/exact" \
		"$@" >/dev/null 2>load.log
	is $? 0 "$name: exit status 0"
	xpumerge -i "$name.data" -f folded --unit count -o count.folded 2>merge.log
	# The verdict expects a kernel's frame at the end of a path, as in a recording without
	# samples.
	sed 's/;+[0-9a-fx]*;\[stall\][^ ]* / /' count.folded >"$name.folded"
	like "$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)" \
		"^launches ([0-9]+) matched \1 wrong 0 unmatched 0 lost 0" \
			"$name: every launch is matched, under its own site"
}

record all -n 20000 -p 20000
is "$(cat load.log | grep -c warning)" 0 "all: no warning is printed" || diag "$(cat load.log)"
xpumerge dump all.data -o all.dump
xpumerge -i all.data -f folded --unit ns -o ns.folded 2>/dev/null
xpumerge -i all.data --json --table stalls >stalls.json 2>/dev/null
xpumerge -i all.data --json --table kernels >kernels.json 2>/dev/null
python3 - >got 2>&1 <<'END'
import collections, json, re
reasons = ["selected", "long_scoreboard", "wait", "barrier", "mio_throttle"]
strings, nr, taken = {}, collections.Counter(), collections.Counter()
for line in open("all.dump", errors="replace"):
    m = re.search(r' STRING .*?id=(\d+).*? "(.*)"', line)
    if m:
        strings[m[1]] = m[2]
    m = re.search(r" KERNEL .*duration_ns=(\d+) .* name=(\d+)", line)
    if m:		# the simulated device takes one sample per us
        nr[strings[m[2]]] += max(1, int(m[1]) // 1000)
    m = re.search(r" STALLS_ACCOUNT .*total=(\d+) others=(\d+) dropped=(\d+) .*recorded=(\d+)", line)
    if m:
        account = [int(n) for n in m.groups()]
assert account[0] == sum(account[1:]), account
assert account[3] == sum(nr.values()), (account, sum(nr.values()))
# The table: each kernel has four places, and its name says which stall reason it has.
for row in json.load(open("stalls.json"))["stalls"]:
    taken[row["kernel"]] += row["samples"]
    assert row["reason"] == reasons[len(row["kernel"]) % 5] and row["reason_percent"] == 100, row
    assert 45 < row["not_issued_percent"] <= 50, row
    assert row["place"] in ("+0", "+0x10", "+0x20", "+0x30"), row
assert taken == nr, (taken, nr)
# Flame graphs: each kernel has the same time as without samples.
times = collections.Counter()
for line in open("ns.folded"):
    m = re.match(r".*;\[GPU_Kernel\](\w+);\+[0-9a-fx]+;\[stall\](\w+) (\d+)$", line)
    if m:
        times[m[1]] += int(m[3])
        assert m[2] == reasons[len(m[1]) % 5], line
    else:
        assert "[GPU_Kernel]" not in line, line
kernels = {row["name"]: row["total_ns"] for row in json.load(open("kernels.json"))["kernels"]}
assert times == kernels, (times, kernels)
print("ok")
END
is "$(tail -n 1 got)" ok \
	"all: samples, places, reasons, and the time of each kernel are right" || diag "$(cat got)"
is "$(sed -n 's/.* STALLS .*context=\([0-9]*\).*/\1/p' all.dump | sort -u | wc -l)" 1 \
	"all: exactly one context is recorded"
for format in html pprof perf chrome pftrace; do
	xpumerge -i all.data -f $format -o out.$format 2>/dev/null
	is $? 0 "all: xpumerge writes -f $format"
done
like "$(cat out.html)" '\[stall\]' "html: PC samples are frames"

# A kernel with one call path has its own samples.
xpuload --stalls -o one.data "$XPU_BUILD/workload/shapes" 3000 1 >/dev/null 2>load.log
like "$(xpumerge -i one.data 2>/dev/null)" \
	'stalls: ([1-9][0-9]*) samples of kernels: \1 of one launch path, 0 shared out among several, 0 without' \
	"a kernel with one call path: all its samples belong to that path"

# One kernel at a time: each sample belongs to one known launch, and to the path of that launch.
# This also holds while modules are unloaded: the shim reads samples before each unload.
args=--stalls=exact record serial -n 4000
like "$(cat load.log)" 'kernels run one at a time' \
	"--stalls=exact: a message says that kernels run one at a time"
XPU_SIM_PC=slow "$XPULOAD" --stalls=exact -o unloads.data "$XPU_BUILD/workload/odd" \
	unloads >out 2>load.log
is "$? $(cat out)" "0 odd: launches 2001" \
	"--stalls=exact, a program that unloads modules: the expected exit status"
for name in serial unloads; do
	like "$(xpumerge -i $name.data 2>/dev/null)" \
		'stalls: ([1-9][0-9]*) samples of kernels: \1 of one launch path, 0 shared out among several, 0 without' \
		"--stalls=exact, $name: each sample belongs to one launch"
	xpumerge dump $name.data | python3 -c 'import collections, re, sys
strings, took, nr = {}, {}, collections.Counter()
for line in sys.stdin:
    if m := re.search(r" STRING .*?id=(\d+).*? \"(.*)\"", line):
        strings[m[1]] = m[2]
    if m := re.search(r" KERNEL .*duration_ns=(\d+) correlation_id=(\d+) .*name=(\d+)", line):
        took[m[2], strings[m[3]]] = max(1, int(m[1]) // 1000)
    if m := re.search(r" STALLS .*begin_ns=(\d+) .*function=(\d+)", line):
        nr[m[1], strings[m[2]]] += sum(int(n) for n in
                                       re.findall(r"reason=2[02468] samples=(\d+)", line))
print(len(took) > 1000, nr == took)' >got 2>&1
	is "$(cat got)" "True True" \
		"--stalls=exact, $name: each launch has one sample for each us of its duration"
done

# Source lines of a module that has a line table.
XPU_SIM_CUBIN=$XPU_SRC/test/cubin/shaped.cubin
export XPU_SIM_CUBIN
xpuload --stalls -o lines.data "$XPU_BUILD/workload/shapes" 3000 1 >/dev/null 2>load.log
unset XPU_SIM_CUBIN
xpumerge -i lines.data -f folded --unit ns -o lines.folded 2>/dev/null
is "$(sed -n 's/.*\[GPU_Kernel\]k_shaped;\(.*\);\[stall\].*/\1/p' lines.folded | sort -u |
	tr '\n' ' ')" "shaped.cu:10 shaped.cu:8 " "samples are shown by source line"

# CUPTI delivers samples some time after they are taken. At its end, the program waits for the last
# samples.
for how in "" unfetched; do
	XPU_SIM_PC=$how xpuload --stalls -o short.data "$XPU_BUILD/workload/exact" -n 500 \
		-p 500 >/dev/null 2>load.log
	like "$(xpumerge -i short.data 2>/dev/null)" \
		"samples cover 100\\.0 % of the kernels' time: ([0-9.]+ [mu]s) of \\1\$" \
		"a short program, ${how:-fetched}: samples cover the whole time of its kernels"
	xpumerge dump short.data | awk '
		match($0, / KERNEL .*duration_ns=[0-9]+/) {
			ns = substr($0, RSTART, RLENGTH); sub(/.*=/, "", ns);
			n += ns < 1000 ? 1 : int(ns / 1000)
		}
		match($0, /STALLS_ACCOUNT .* recorded=[0-9]+/) { r = substr($0, RSTART, RLENGTH);
		sub(/.*=/, "", r) }
		END { print (n > 100), r - n }' >got
	is "$(cat got)" "1 0" "a short program, ${how:-fetched}: each sample is recorded"
done
# A killed program cannot wait for its last samples. Which kernels have samples then depends on the
# moment, so the program is stopped repeatedly until some kernels have none.
is_stopped_early() {
	pkill -STOP -P $pid -x exact
	sleep 0.5		# while xpuload writes the data that it has
	xpumerge -i killed.data 2>/dev/null | grep -q 'samples cover at least' && return
	pkill -CONT -P $pid -x exact
	return 1
}
"$XPULOAD" --stalls -o killed.data "$XPU_BUILD/workload/exact" -n 10000000 \
	-p 20000 >/dev/null 2>&1 &
pid=$!
wait_for is_stopped_early
pkill -KILL -P $pid -x exact
wait $pid 2>/dev/null
xpumerge -i killed.data >out 2>merge.log
like "$(cat out)" "samples cover at least [0-9.]+ % of the kernels' time: " \
	"killed: the summary gives a lower bound for the time that the samples cover"
like "$(cat merge.log)" '^ +[0-9]+ us of kernels without PC samples' \
	"killed: the summary counts the time without samples"

# Samples arrive some time after they are taken. Here the last samples arrive when nothing has
# run for a while.
for how in late later; do
	export XPU_SIM_PC=$how
	start $how xpuload --stalls -o $how.data "$live" -t 1
	for _ in 1 2 3 4 5; do		# the sampler may begin after the first bursts
		ask $how "burst 100" >/dev/null
		sleep 0.5
	done
	finish $how
	like "$(xpumerge -i $how.data 2>/dev/null)" \
		'stalls: [1-9][0-9]* samples of kernels: .*, 0 without a launch' \
		"$how: each sample has a launch"
done
unset XPU_SIM_PC
like "$(xpumerge -i late.data 2>/dev/null)" 'stalls: ([1-9][0-9]*) samples of kernels: \1 of one' \
	"attached late: each sample belongs to one launch path"

# While the first context of a GPU is sampled, a second context is not sampled: CUPTI would fail.
xpuload --stalls -o context.data "$XPU_BUILD/workload/ends" context >/dev/null 2>load.log
is $? 0 "two contexts: exit status 0" || diag "$(cat load.log)"
like "$(cat load.log)" 'stall reasons are recorded only for the first context of GPU 0' \
	"two contexts: a message says that only one context is recorded"
like "$(xpumerge -i context.data -o context.folded 2>&1)" \
	'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
	"two contexts: every launch is matched"
like "$(xpumerge -i context.data 2>/dev/null)" 'stalls: [1-9][0-9]* samples' \
	"two contexts: the first context has samples"

# Inlined functions are under their callers.
XPU_SIM_CUBIN=$XPU_SRC/test/cubin/inlined.cubin
export XPU_SIM_CUBIN
xpuload --stalls -o inlined.data "$XPU_BUILD/workload/shapes" 3000 1 >/dev/null 2>load.log
unset XPU_SIM_CUBIN
xpumerge -i inlined.data -f folded --unit ns -o inlined.folded 2>/dev/null
sed -n 's/.*\[GPU_Kernel\]k_shaped;\(.*\);\[stall\].*/\1/p' inlined.folded | sort -u >got
cat >expected <<-'END'
	inlined.cu:14
	inlined.cu:16;float* place<2>(float*) at inlined.cu:11
	inlined.cu:16;float* place<2>(float*) at inlined.cu:11;of_thread(int) at inlined.cu:5
	END
is "$(cat got)" "$(cat expected)" "inlined functions are frames"
is "$(xpumerge -i inlined.data --json --table stalls 2>/dev/null |
	sed -n 's/.*"place": "\([^"]*\)".*/\1/p' |
	sort -u)" "$(cat expected)" "inlined functions are places in the table"
for format in html pprof perf chrome pftrace; do
	xpumerge -i inlined.data -f $format -o out.$format 2>/dev/null
	is $? 0 "inlined functions: xpumerge writes -f $format"
done
like "$(gunzip -c <out.pprof | strings)" 'of_thread.int. at inlined.cu:5' \
	"pprof: an inlined function has its own line"

# The page has the source of these lines, if the user says where it is.
texts() {		# texts DIRS: prints the source lines that are in the page, one per line
	xpumerge -i inlined.data --source "$1" -o source.html 2>source.log
	sed -n '/"texts":/,/"reasons":/p' source.html | tr -d '\n' |
		sed 's/.*"texts":\[\(.*\)\],"reasons".*/\1/; s/","/"\n"/g; s/.u003c/</g' | sort
}
mkdir -p src/one src/two src/.git
cp "$XPU_SRC/test/cubin/inlined.cu" src/one
echo other >src/.git/inlined.cu
is "$(texts src/one:src | tr -d ' ')" "$(sed -n '5p;11p;14p' src/one/inlined.cu |
	sed 's/^[[:space:]]*\(.*\)$/"\1"/; s/[[:space:]]*"$/"/' | sort | tr -d ' ')" \
	"--source: each place has the text of its line"
like "$(cat source.log)" '^xpumerge: --source: src/one/inlined.cu is newer than the recording' \
	"--source: a message says that the file is newer than the recording"
touch -d 2020-01-01 src/one/inlined.cu
texts src/one:src >/dev/null
is "$(grep -c -- --source source.log)" 0 "--source: no message about a file that is found twice"
cp src/one/inlined.cu src/two
is "$(texts src | wc -l)" 3 "--source: two equal files count as one file"
is "$(grep -c -- --source source.log)" 0 \
	"--source: no message if the older of two equal files is older than the recording"
tr p q <src/one/inlined.cu >src/two/inlined.cu
is "$(texts src | tr -d '\n')" "" "--source: two different files have one name: no text is shown"
like "$(cat source.log)" \
	'--source: several different files are called inlined.cu: their lines are not shown$' \
	"--source: a message says that two files have one name"
echo "one line" >src/two/inlined.cu
is "$(texts src/two | tr -d '\n')" "" "--source: a file that is too short has no text"
texts none >/dev/null
like "$(cat source.log)" '--source: cannot read none: No such file' \
	"--source: a message names a directory that does not exist"
like "$(cat source.log)" \
	'--source: no file below none has the name of a recorded source file, such as inlined.cu$' \
	"--source: a message says that no file was found"
truncate -s 17M src/two/inlined.cu
is "$(texts src/two | tr -d '\n')" "" "--source: a file above 16 MiB has no text"
like "$(cat source.log)" '--source: cannot read src/two/inlined.cu: File too large' \
	"--source: a message says that the file is too large"
sed "5s/.*/$(printf 'x%.0s' $(seq 236))\\xc3\\xa4 of 240/" src/one/inlined.cu >src/two/inlined.cu
like "$(texts src/two)" '"x{236}\.\.\."' "--source: a long line is cut between two characters"
texts "$(seq -s : 10)" >/dev/null
is "$(grep -c -- '--source: cannot read [0-9]' source.log)" 8 \
	"--source: eight directories that cannot be read are named"
like "$(cat source.log)" '--source: 2 other files or directories cannot be read' \
	"--source: further directories that cannot be read are counted"
texts "$(yes src/one | head -n 64 | tr '\n' :)src/two" >/dev/null
is "$(grep -c -- '--source: only the first 64 directories' source.log)" 1 \
	"--source: a message says that there are more than 64 directories"
rm src/two/inlined.cu
ln -s ../one src/two/out
ln -s ../one/inlined.cu src/two/inlined.cu
is "$(texts src/two | tr -d '\n')" "" "--source: symbolic links are not followed"
like "$(xpumerge -i inlined.data --source src -f folded 2>&1)" '--source is for -f html' \
	"-f folded refuses --source"

# Whenever CUPTI refuses or loses samples, a message says so, and the launches are recorded as
# usual.
XPU_SIM_PC=refused
export XPU_SIM_PC
record refused -n 4000
like "$(xpumerge -i refused.data 2>/dev/null)" 'stalls: [1-9]' \
	"CUPTI refuses the buffer's size: samples are still taken"
XPU_SIM_PC=full
record full -n 20000 -p 20000
like "$(cat merge.log)" "times? the GPU's memory for PC samples was full" \
	"the hardware's buffer is full: a message says how often it was full"
XPU_SIM_PC=unsupported
record unsupported -n 4000
like "$(cat load.log)" 'no stall reasons are recorded: cuptiPCSamplingEnable' \
	"a GPU without PC sampling: a message says that stalls are not recorded"
is "$(xpumerge -i unsupported.data 2>/dev/null | grep -c '^stalls: [0-9]* samples')" 0 \
	"a GPU without PC sampling: no table is shown"
unset XPU_SIM_PC
XPU_SIM_CUPTI_VERSION=24
export XPU_SIM_CUPTI_VERSION
xpuload --stalls -o old.data "$XPU_BUILD/workload/shapes" 100 1 >/dev/null 2>load.log
like "$(cat load.log)" 'no stall reasons are recorded: CUPTI before 12.8' \
	"an older CUPTI: a message says that CUPTI is too old"
unset XPU_SIM_CUPTI_VERSION

# A GPU has one sampler. CUPTI lets a second sampler start, but then gives neither sampler any data.
# Therefore the shim does not start a second sampler.
start first xpuload --stalls -o first.data "$live" -t 1
ask first "burst 100" >/dev/null
record second -n 4000
like "$(cat load.log)" 'no stall reasons are recorded: another recorded process samples this GPU' \
	"a second process on a GPU: a message says that another process samples"
is "$(xpumerge -i second.data 2>/dev/null | grep -c '^stalls: [0-9]* samples')" 0 \
	"a second process on a GPU has no samples"
finish first
like "$(xpumerge -i first.data 2>/dev/null)" 'stalls: [1-9][0-9]* samples' \
	"a second process on a GPU: the recording of the first process has samples"
record third -n 4000
is "$(grep -c warning load.log)" 0 \
	"a process starts after the first has ended: no warning" || diag "$(cat load.log)"
XPU_SIM_PM=busy
export XPU_SIM_PM
record busy -n 4000
unset XPU_SIM_PM
like "$(cat load.log)" 'no stall reasons are recorded: another program samples this GPU' \
	"another program samples the GPU: a message says that no samples are taken"
args="--stalls --gpu-metrics" record beside -n 4000
like "$(cat load.log)" '--gpu-metrics with --stalls: 10 samples a second, by NVML' \
	"with --gpu-metrics: a message says that the metrics come from NVML"
like "$(xpumerge -i beside.data 2>/dev/null)" 'stalls: [1-9][0-9]* samples' \
	"with --gpu-metrics: PC samples are taken"
like "$(xpumerge -i beside.data --json --table gpu_metrics 2>/dev/null)" '"power"' \
	"with --gpu-metrics: power is recorded, too"

while read -r options; do
	# shellcheck disable=SC2086
	xpuload $options true >bad.log 2>&1
	is "$? $(grep -c -e '--stalls' bad.log)" "125 1" "$options: refused"
done <<-END
	--stalls --gpu-metrics=sm__one
	--stalls=exact --cupti share
	END
for bad in 4 32 x '' exact,4 exactly; do
	xpuload "--stalls=$bad" true >bad.log 2>&1
	is "$? $(grep -c -e '--stalls' bad.log)" "125 1" "--stalls=$bad is refused"
done
xpuload --stalls=exact -p $$ >bad.log 2>&1
like "$(cat bad.log)" 'needs a COMMAND to start' \
	"--stalls=exact with -p: refused, because the shim reads the option at its start"
done_testing
