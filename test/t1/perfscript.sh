#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --cpu: the text of perf script, alone and with device work.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/merges.sh"
need python3

gen() {
	python3 "$XPU_SRC/test/lib/gen_perfscript.py" "$@"
}

# ---- the forms of perf script's text

for args in "seed=1" "seed=2 ids=both" "seed=3 ids=pid cpu=1" "seed=4 cpu=1 mode=1" \
	"seed=5 time=ns" \
	"seed=6 inline=1" "seed=7 srcline=1" "seed=8 wide=1 ids=both cpu=1" "seed=9 crlf=1" \
	"seed=10 event=task-clock:u nr=2000" "seed=11 event=cpu-clock other=1" \
	"seed=12 time=none ids=tid" "seed=13 time=none ids=both cpu=1" "seed=14 ids=none"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	gen p.txt $args
	same "$args" p.txt.folded --cpu p.txt
done
gen p.txt srcline=2 seed=21
same "places in the source" p.txt.folded --cpu p.txt --srcline
gzip -c p.txt >p.txt.gz
same "gz" p.txt.folded --cpu p.txt.gz --srcline
gen p.txt seed=22 ids=both
xpumerge --cpu p.txt -o p.data 2>log
same "as a recording" p.txt.folded p.data
gen p.txt seed=23 junk=1
xpumerge --cpu p.txt -f folded --unit ns -o out.folded 2>log
is $? 0 "junk: exit status 0"
LC_ALL=C sort out.folded | diff p.txt.folded - >/dev/null
ok $? "junk: the samples between the junk are read"
like "$(cat log)" 'p.txt: [0-9]+ lines are not what perf script prints: ignored' \
	"junk: a message counts the ignored lines"
xpumerge --strict --cpu p.txt -f folded >out 2>log
is $? 1 "junk: --strict fails"

# ---- text before the samples, of any length

# repeat NR LINE: prints LINE NR times
repeat() {
	yes "$2" | head -n "$1"
}
gen p.txt seed=24 ids=both
mv p.txt plain.txt
for before \
	in "263 # bpf_prog_info 9: bpf_prog_7cc47bbf07148bfe_hid_tail_call addr 0xffffffffc0000000 size 113" \
	"200000 # bpf_prog_info 9: bpf_prog_7cc47bbf07148bfe_hid_tail_call" "1000 " \
	"199 a line of a program" \
	"1000 perf 1 [000] 9.000000: PERF_RECORD_MMAP2 1/1: [0x1(0x1) @ 0 08:01 1 1]: r-xp /usr/bin/app" \
	"1000 perf 1 [000] 9.000000: PERF_RECORD_COMM: app:1/1"; do
	{ repeat "${before%% *}" "${before#* }"; cat plain.txt; } >p.txt
	same "after ${before%%:*}" p.txt.folded --cpu p.txt
done
{ cat plain.txt; echo "perf 1 [000] 9.000000: PERF_RECORD_LOST lost 12";
	echo "perf 1 [000] 9.000000: PERF_RECORD_LOST_SAMPLES lost 3"; } >p.txt
same "samples that the kernel lost" p.txt.folded --cpu p.txt
like "$(cat log)" ' 15 CPU samples lost: ' "samples that the kernel lost are counted"
{ printf '\357\273\277'; repeat 300 "# a line of --header"; cat plain.txt; } >p.txt
same "a byte order mark and comments" p.txt.folded --cpu p.txt
unlike "$(cat log)" 'ignored' "a byte order mark and comments: no line is ignored"
{ printf '\357\273\277'; cat plain.txt; } >p.txt
same "a byte order mark" p.txt.folded --cpu p.txt
unlike "$(cat log)" 'ignored' "a byte order mark: no line is ignored"
{ repeat 300 "# a line of --header"; cat plain.txt; } | sed 's/$/\r/' >p.txt
same "comments, with CR at the ends of lines" p.txt.folded --cpu p.txt
repeat 1000 "a line of a program" >p.txt
fails "no sample" 'p.txt: expected perf.data or the output of perf script' --cpu p.txt

# ---- the time that a sample represents

freq="size = 128, { sample_period, sample_freq } = 1000, sample_type = IP, freq = 1, use_clockid = 1, clockid = 1"
gen p.txt seed=31 event=cycles:P period=123456 want=1000000 comment="$freq"
same "cycles by frequency: 1 ms each" p.txt.folded --cpu p.txt
unlike "$(cat log)" 'does not say how long' "cycles by frequency: nothing is guessed"
gen p.txt seed=32 event=cpu_core/cycles/P period=123456 want=2000000 distance=400000 nr=5000
xpumerge --cpu p.txt -f folded --unit ns -o out.folded 2>log
like "$(cat log)" \
	'p.txt does not say how long a sample of cpu_core/cycles/P stands for: each counts as [12]\.[0-9]+ ms, the usual time between two samples of a thread' \
	"cycles: a message says that times are guessed"
is "$(awk '{ s += $NF } END { print (s > 5e9 && s < 10.1e9) }' out.folded)" 1 \
	"cycles: samples have times"
gen p.txt seed=33 event=cpu-clock period=0 want=1 comment="$freq"
xpumerge --cpu p.txt -f folded --unit ns -o out.folded 2>log
is "$(awk '{ s += $NF } END { print s }' out.folded)" 300000000 \
	"without periods, each sample represents 1 / frequency"
gen p.txt event=instructions:u
fails "no time" \
	'^xpumerge: p.txt: has no samples of CPU time, which .* give, but of instructions:u$' \
	--cpu p.txt
: >p.txt
fails "an empty file" 'p.txt: expected perf.data or the output of perf script' --cpu p.txt
fails "a missing file" 'nothere: cannot be read' --cpu nothere

# ---- with device work

python3 "$XPU_SRC/test/lib/gen_kineto.py" t.json seed=1
gen p.txt seed=41 ids=both time=ns start=6000 distance=50
cat p.txt.folded t.json.folded >both
same "with PyTorch's trace" both --cpu p.txt --gpu t.json
unlike "$(cat log)" 'clock' "with PyTorch's trace: no message about clocks"
xpumerge --cpu p.txt --gpu t.json -o out.json 2>log
python3 - >got <<'END'
import json
events = json.load(open("out.json"))["traceEvents"]
print(sum(e["ph"] == "X" and e.get("cat") == "kernel" for e in events) > 100,
      sum(e.get("cat") == "cpu" for e in events))
END
is "$(cat got)" "True 300" "with PyTorch's trace: the timeline has samples and kernels"
gen p.txt seed=42 start=7000000000000
cat p.txt.folded t.json.folded >both
same "of another clock" both --cpu p.txt --gpu t.json
like "$(cat log)" \
	'p.txt: its times, 7000.000 s to 7000.299 s, are not from the clock of t.json, .*CLOCK_MONOTONIC' \
	"samples of another clock: a message says that the clocks differ"
gen p.txt seed=43 ids=both time=ns start=6000 distance=50 comment="${freq%use_clockid*}"
xpumerge --cpu p.txt --gpu t.json -f folded >out 2>log
like "$(cat log)" 'p.txt: not recorded with the clock of t.json' \
	"samples of perf's own clock: a message says that the clocks differ"
gen p.txt seed=44 time=none
xpumerge --cpu p.txt --gpu t.json -f folded >out 2>log
like "$(cat log)" 'p.txt: no times' "samples without times: a message says that times are missing"

"$XPU_BUILD/gen_sqlite" one.sqlite <<'END'
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'k');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
	shortName, demangledName);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9, 12, 0, 1, 7, 1, 1677721600, 2, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3, 8, 1677721700, 1, 1);
END
gen p.txt seed=45 nr=20
xpumerge --nsys one.sqlite -f folded --unit ns >out 2>log
cat p.txt.folded out >both
same "with an export of Nsight Systems" both --cpu p.txt --nsys one.sqlite
xpumerge --cpu p.txt --nsys one.sqlite -o out.json 2>log
like "$(cat out.json)" '"cat":"cpu"' \
	"with an export of Nsight Systems: the timeline has the samples"
fails "stacks of the two-file import, with Nsight Systems" \
	'need --gpu: an export for --nsys' --cpu both \
	--nsys one.sqlite

# A thread that is in both files is one thread, and belongs to the trace's process.
cat >p.txt <<'END'
python3  1235 1.000000:    1000000 cpu-clock: 
	1234 work (/usr/bin/python3)

END
cat >one.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1234,"tid":1235,"ts":1000000,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1000010,"dur":9,"args":{"device":0,"context":1,"stream":7,"correlation":1}}
]}
END
xpumerge --cpu p.txt --gpu one.json --by pid,tid,comm -f folded --unit ns >out 2>log
is "$(cat out)" "[pid 1234];[tid 1235];python3;[no stack];cudaLaunchKernel;[GPU_Kernel]k 9000
[pid 1234];[tid 1235];python3;work 1000000" "a thread in both files is one thread of the result"

# ---- stacks of probes on CUDA's functions become the stacks of launches

"$XPU_BUILD/gen_twofile" cpu.txt gpu.json nr=5000 threads=3 >/dev/null
xpumerge --cpu cpu.txt --gpu gpu.json -f folded --unit ns >want 2>want.log
# Stacks of launches as perf prints them, with frames inside CUDA. Between these stacks, there are
# time-based samples.
python3 - >p.txt <<'END'
for nr, line in enumerate(open("cpu.txt")):
    ns, comm, pid, tid, cpu, stack = line.rstrip("\n").split(" ", 5)
    frames = stack.split(";")[::-1]
    first = "%s %s/%s [%s] %d.%09d: " % (comm, pid, tid, cpu, int(ns) // 10**9, int(ns) % 10**9)
    print(first + "probe_libcudart:cudaLaunchKernel: (7f0000)")
    print("\t7f0000 cuLaunchKernel+0x0 (/usr/lib/libcuda.so.1)")
    for i, frame in enumerate(frames):
        print("\t1234 %s+0x1 (%s)" % (frame, "/bin/app" if i else "/usr/lib/libcudart.so.13"))
    print()
    if nr % 10 == 0:
        print(first + "1000000 cpu-clock:\n\t1234 busy+0x0 (/bin/app)\n")
END
xpumerge --cpu p.txt --gpu gpu.json -f folded --unit ns --gpu-only >out 2>log
is "$(grep '^by time' log)" "$(grep '^by time' want.log)" \
	"stacks of launches from perf: the account of matches is the same as from lines"
diff want out >diff
ok $? \
	"stacks of launches from perf: the output is the same as for stacks from lines" ||
	diag "$(head -n 5 diff)"
xpumerge --cpu p.txt --gpu gpu.json -f folded --unit count --cpu-only >out 2>log
is "$(awk '{ s += $NF } END { print s }' out)" 500 \
	"stacks of launches from perf: CPU samples between the stacks are counted"
sed '/cpu-clock/,/^$/d' p.txt >launches.txt
fails "stacks of launches alone" 'stacks of launches only: give the device records' \
	--cpu launches.txt
done_testing
