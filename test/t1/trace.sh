#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --gpu alone: call paths from PyTorch's traces, traces with B and E events, and the text that
# CUPTI's sample programs print.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/merges.sh"
need python3

gen() {
	python3 "$XPU_SRC/test/lib/gen_kineto.py" "$@"
}

# ---- PyTorch's traces: paths by nesting

for args in "seed=1" "seed=2 threads=8 nr=100" "seed=3 old=1" "seed=4 base=1775078550000000000" \
	"seed=5 rank=3 threads=1"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	gen t.json $args
	same "$args" t.json.folded --gpu t.json
	unlike "$(cat log)" 'left out' "$args: nothing is left out"
	same "$args: ranges" t.json.nvtx --gpu t.json --by nvtx
done
gen t.json.gz seed=1
gen t.json seed=1
same "gz" t.json.folded --gpu t.json.gz
xpumerge --gpu t.json -o t.data 2>log
same "as a recording" t.json.folded t.data
xpumerge --gpu t.json -f text >out 2>log
like "$(cat log)" \
	'^by nesting: launches 400 in operators or functions [0-9]+ in annotations only [0-9]+ in nothing [0-9]+$' \
	"the account says where launches got their call paths"
like "$(cat out)" 'of 400 launches [0-9]+ came with a stack' \
	"the summary says how many launches have a stack"
unlike "$(cat out)" 'frame pointers' "the summary does not say that stacks follow frame pointers"
like "$(cat out)" 'Simulated GPU' "the summary has the device's name"
like "$(cat out)" 'ProfilerStep#7' "the summary has annotations as ranges"
gen t.json base=1775078550000000000
xpumerge --gpu t.json -f text >out 2>log
like "$(cat out)" '^start: 2026-04-01 21:22:30 UTC' "the summary has the time of day"
like "$(cat out)" ', from 0\.0' "time 0 of the recording is its first event"

# ---- ranges of equal duration are ordered by name, not by address

python3 - >ties.json <<'END'
import json
names = ["zz", "mm", "aa", "yy", "bb"]
events = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1,
           "ts": 1000 + 100 * i, "dur": 50} for i, name in enumerate(names)]
events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5000, "dur": 5,
               "args": {"correlation": 1, "device": 0, "stream": 7}})
json.dump({"traceEvents": events}, __import__("sys").stdout)
END
is "$(xpumerge --gpu ties.json --table nvtx_ranges --csv 2>log | sed 1d | sed 's/.*,//' | tr '\n' ' ')" \
	'"aa" "bb" "mm" "yy" "zz" ' "ranges that took equally long are sorted by name"

# ---- launch shapes, which PyTorch's profiler stores in arguments

xpumerge -i "$XPU_SRC/test/t1/corpus/2.5.xpu" -o shapes.json 2>/dev/null
shape() { xpumerge "$@" --json --table kernels 2>/dev/null |
	sed -n \
	's/.*"name": "saxpy", "grid": "\(.*\)", "registers": \([0-9]*\), "static_shared_bytes": \([0-9]*\), .*"local_bytes": \([0-9]*\),.*/\1 \2 \3 \4/p'; }
is "$(shape --gpu shapes.json)" '64x2", "block": "256", "cluster": "2 40 33792 16' \
	"launch shapes have grid, block, cluster, registers and memory"
sed 's/"grid":\[[^]]*\]/"grid": {"x": [1, 2]}/; s/"block":\[[^]]*\]/"block": [256, "1", 1]/' \
	shapes.json >odd.json
is "$(xpumerge --gpu odd.json --json --table kernels 2>/dev/null |
	grep -c '"name": "saxpy", "grid": "", "block": ""')" 1 \
	"shapes that are not three numbers are left out"

# ---- lines of Python: own time and total time

gen t.json seed=6
# awk: a line of Python is FILE.py(LINE): FUNCTION, or has <...> instead of the file name.
awk '{ n = split(substr($0, 1, length($0) - length($NF) - 1), frame, ";"); launched = 0;
	split("", seen)
	for (i = n; i; i--) {
		if (frame[i] !~ /(\.py|^<.*>[.0-9]*)\([0-9]+\): /)
			continue
		own[frame[i]] += launched++ ? 0 : $NF
		total[frame[i]] += seen[frame[i]]++ ? 0 : $NF
	} } END { for (f in total) print own[f], total[f], f }' t.json.folded | LC_ALL=C sort >want
lines() {		# lines OPTIONS...: prints "OWN TOTAL LINE"
	xpumerge "$@" --table python_lines --csv 2>log |
		awk -F, 'NR > 1 { gsub("\"", "", $6); print $2, $4, $6 }' | LC_ALL=C sort
}
lines --gpu t.json >got
diff want got >diff && [ "$(wc -l <got)" -eq 4 ]
ok $? "lines of Python have their own time and their total time" || diag "$(cat diff)"
xpumerge --gpu t.json -o t.data 2>log
lines t.data >got
cmp -s want got
ok $? "a recording made from the trace: lines of Python have the same times"

# ---- ranks

gen r0.json rank=0 pid=100 seed=1
gen r1.json rank=1 pid=200 seed=2
gen r2.json.gz rank=2 pid=300 seed=3
cat r0.json.folded r1.json.folded r2.json.gz.folded >all
same "three ranks" all --gpu r0.json --gpu r1.json --gpu r2.json.gz
same "three ranks, as a shell's pattern gives them" all --gpu r0.json r1.json r2.json.gz
# As in containers, all ranks have the same pid.
gen r1.json rank=1 pid=100 seed=2 threads=1
gen r0.json rank=0 pid=100 seed=1 threads=1
cat r0.json.folded r1.json.folded >all
same "two ranks of one pid" all --gpu r0.json --gpu r1.json
cp r0.json again.json
xpumerge --gpu r0.json --gpu again.json -f folded >out 2>log
like "$(cat log)" 'r0.json and again.json have the same rank, 0: both are counted' \
	"two files of one rank: a message names both files"
fails "ranks with stacks" 'goes with one --gpu' --cpu x --gpu r0.json --gpu r1.json
fails "one that is missing" 'nothere.json: cannot be read' --gpu r0.json --gpu nothere.json

# ---- other contents of traces

cat >t.json <<'END'
{"deviceProperties": [], "traceEvents": [
{"ph":"X","cat":"Operator","name":"aten::add","pid":7,"tid":"7","ts":10,"dur":50,
 "args":{"Call stack":"model.py(3): forward;<built-in>;train.py(1): main","Module Hierarchy":"TOP(Net)::forward.fc(Linear)::forward"}},
{"ph":"X","cat":"Operator","name":"aten::fill_","pid":7,"tid":"7","ts":12,"dur":40,
 "args":{"Call stack":"model.py(3): forward;<built-in>;train.py(1): main"}},
{"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":7,"tid":"7","ts":15,"dur":2,"args":{"correlation":1}},
{"ph":"X","cat":"Driver","name":"cuLaunchKernel","pid":7,"tid":"7","ts":16,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":20,"dur":9,"args":{"device":0,"context":1,"stream":7,"correlation":1}},
{"ph":"X","cat":"Runtime","name":"cudaStreamSynchronize","pid":7,"tid":"7","ts":18,"dur":12,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":18,"dur":12,"args":{"stream":7,"context":1,"correlation":2}},
{"ph":"X","cat":"Runtime","name":"cudaDeviceSynchronize","pid":7,"tid":"7","ts":70,"dur":3,"args":{"correlation":3}},
{"ph":"X","cat":"Runtime","name":"hipLaunchKernel","pid":7,"tid":"7","ts":55,"dur":1,"args":{"correlation":4}},
{"ph":"X","cat":"python_function","name":"<built-in method x of T object at 0x7f8bb02dcdc0>","pid":7,"tid":"7","ts":69,"dur":9},
{"ph":"X","cat":"kernel","name":"h","pid":0,"tid":7,"ts":71,"dur":2,"args":{"device":0,"context":1,"stream":7,"correlation":4}}]}
END
cat >wanted <<'END'
[unknown];train.py(1): main;<built-in>;model.py(3): forward;TOP(Net)::forward;fc(Linear)::forward;aten::add;aten::fill_;cudaLaunchKernel;[GPU_Kernel]k 9000
[waits];[unknown];train.py(1): main;<built-in>;model.py(3): forward;TOP(Net)::forward;fc(Linear)::forward;aten::add;aten::fill_;cudaStreamSynchronize;[GPU_Wait]k 9000
[waits];[unknown];train.py(1): main;<built-in>;model.py(3): forward;TOP(Net)::forward;fc(Linear)::forward;aten::add;aten::fill_;cudaStreamSynchronize;[GPU_Wait](idle) 3000
[unknown];train.py(1): main;<built-in>;model.py(3): forward;TOP(Net)::forward;fc(Linear)::forward;aten::add;hipLaunchKernel;[GPU_Kernel]h 2000
[waits];[unknown];<built-in method x of T object>;cudaDeviceSynchronize;[GPU_Wait]h 2000
[waits];[unknown];<built-in method x of T object>;cudaDeviceSynchronize;[GPU_Wait](idle) 1000
END
same "stacks as text, modules, calls within calls, waits" wanted --gpu t.json
is "$(lines --gpu t.json)" "0 11000 train.py(1): main
11000 11000 model.py(3): forward" "stacks given as text have lines of Python"

# ---- events with a begin and an end

cat >be.json <<'END'
[{"ph":"E","pid":1,"tid":2,"ts":5},
{"ph":"E","pid":"d","tid":"s","ts":29.5},
{"ph":"B","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":12,"args":{"correlation":1}},
{"ph":"B","cat":"cpu_op","name":"outer","pid":1,"tid":2,"ts":10},
{"ph":"B","cat":"cpu_op","name":"inner","pid":1,"tid":2,"ts":11},
{"ph":"E","pid":1,"tid":2,"ts":13},
{"ph":"E","pid":1,"tid":2,"ts":14},
{"ph":"E","pid":1,"tid":2,"ts":15},
{"ph":"B","cat":"other","name":"x","pid":"d","tid":"s","ts":20},
{"ph":"B","cat":"kernel","name":"k","pid":"d","tid":"s","ts":21,"args":{"correlation":1}},
{"ph":"E","pid":"d","tid":"s","ts":28.5,"args":{"stream":3}},
{"ph":"B","cat":"kernel","name":"never ends","pid":"d","tid":"t","ts":30,"args":{"correlation":9}}]
END
xpumerge --gpu be.json -f folded --unit ns >out 2>log
is "$? $(cat out)" "0 [unknown];outer;inner;cudaLaunchKernel;[GPU_Kernel]k 7500" \
	"B and E events are paired and nested"
like "$(cat log)" 'be.json: 1 event begins and never ends: ignored' \
	"a B event without an E event: a message counts it"
like "$(cat log)" 'be.json: 1 event ends and never begins: ignored' \
	"an E event without a B event: a message counts it"
xpumerge --gpu be.json --strict -f folded >out 2>log
is $? 1 "a B event without an E event: --strict fails"

# ---- calls without a duration, and work at time 0

cat >zero.json <<'END'
[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":0,"dur":2,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGetDevice","pid":1,"tid":2,"ts":3,"dur":0,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":0,"dur":4,"args":{"correlation":1}}]
END
xpumerge --gpu zero.json --table api_calls --csv 2>log | cut -d, -f2,3,9 >out
is "$(sed 1d out)" '2000,1,"cudaLaunchKernel"
0,1,"cudaGetDevice"' "calls of less than a microsecond are in the table of calls"
is "$(xpumerge --gpu zero.json -f folded --unit ns 2>log | sed 's/.*;//')" "[GPU_Kernel]k 4000" \
	"a kernel at time 0 keeps its duration"
sed 's/"dur":2,/"dur":0,/' zero.json >none.json
is "$(xpumerge --gpu none.json --table api_calls --csv 2>log | sed 1d)" "" \
	"a file without durations of calls has no table of calls"
cat >back.lines <<'END'
{"type":"RUNTIME","start":9,"end":2,"name":"cudaLaunchKernel","processId":1,"threadId":1,"correlationId":1}
{"type":"CONCURRENT_KERNEL","start":10,"end":15,"name":"k","correlationId":1}
END
xpumerge --gpu back.lines -f folded >out 2>log
like "$(cat log)" 'back.lines: 1 API call ends before it begins: counted, its time is not' \
	"a call that ends before it begins is counted"

# ---- correlation ids that do not fit

cat >ids.json <<'END'
[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":4294967301}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":3,"dur":1,"args":{"correlation":-7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":5,"dur":1,"args":{"correlation":-1}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":9,"dur":1,"args":{"correlation":4294967301}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":11,"dur":1,"args":{"correlation":-7}},
{"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":13,"dur":1,"args":{"correlation":-1}},
{"ph":"X","cat":"kernel","name":"d","pid":0,"tid":7,"ts":15,"dur":1,"args":{"correlation":1311768467463790320}}]
END
xpumerge --gpu ids.json -f folded --unit ns >out 2>log
is "$(grep -c 'cudaLaunchKernel;\[GPU_Kernel\][ab] 1000' out) $(grep -c '\[no launch\].*[cd] 1000' out)" "2 2" \
	"ids beyond 32 bits: counters link work with its call, other ids do not" || diag "$(cat out)"
like "$(cat log)" 'ids.json: 1 correlation id is no number of 32 bits, nor near the others: not used' \
	"ids beyond 32 bits that are not used are counted"

# ---- waits that cannot be placed

cat >waits.json <<'END'
[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":2,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":5,"dur":4,"args":{"context":1,"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"b","pid":1,"tid":7,"ts":5,"dur":4,"args":{"device":1,"context":2,"stream":7,"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":2,"ts":4,"dur":9,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_driver","name":"cuCtxSynchronize","pid":1,"tid":2,"ts":5,"dur":7,"args":{"correlation":4}},
{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":7,"ts":20,"dur":2,"args":{"context":1,"correlation":9}}]
END
xpumerge --gpu waits.json --strict -f folded >out 2>log
is $? 1 "waits that cannot be placed: --strict fails"
like "$(cat log)" 'waits.json: 1 call waits for a context that the file does not name: left out' \
	"a wait of a process with several contexts is counted, once with the call inside it"
like "$(cat log)" 'waits.json: 1 record of a wait has no call in the file: left out' \
	"a wait record without a call is counted"

# ---- records of kinds that are not read

cat >kinds.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":0.5,"dur":9},
{"ph":"X","cat":"hpu_op","name":"op","pid":0,"tid":7,"ts":3,"dur":4},
{"ph":"b","cat":"stage","name":"copy","pid":0,"tid":7,"ts":3,"id":1},
{"ph":"X","name":"no category","pid":0,"tid":7,"ts":3,"dur":4},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3,"dur":4,"args":{"correlation":1}}]}
END
xpumerge --gpu kinds.json --strict -f folded >out 2>log
is $? 1 "events of other kinds: --strict fails"
like "$(cat log)" 'kinds.json: 3 events of kinds that are not read, such as hpu_op: left out' \
	"events of other kinds: a message counts them"
cat >kinds.lines <<'END'
{"type":"RUNTIME","start":1,"end":2,"name":"cudaLaunchKernel","processId":1,"threadId":1,"correlationId":1}
{"type":"CONCURRENT_KERNEL","start":3,"end":5,"name":"k","correlationId":1}
{"type":"OVERHEAD","start":3,"end":5}
{"type":"GRAPH_TRACE","start":6,"end":9,"graphId":1}
END
xpumerge --gpu kinds.lines -f folded >out 2>log
like "$(cat log)" 'kinds.lines: 1 line of kinds that are not read, such as GRAPH_TRACE: left out' \
	"JSON lines of other kinds: a message counts them"
cat >kinds.txt <<'END'
RUNTIME [ 100, 200 ] "cudaLaunchKernel", correlationId 7
KERNEL [ 300, 450 ] "saxpy", correlationId 7
OVERHEAD COMPILER [ 100, 150 ] duration 50
SYNCHRONIZATION [ 460, 470 ] duration 10, type STREAM_SYNCHRONIZE
UNIFIED_MEMORY_COUNTER [ 480, 490 ] duration 10
END
xpumerge --gpu kinds.txt -f folded >out 2>log
like "$(cat log)" 'kinds.txt: 2 lines of kinds that are not read, such as SYNCHRONIZATION: left out' \
	"lines of text of other kinds: a message counts them"

# ---- numbers that are not JSON

cat >nan.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":1,"x":NaN,"y":[-Infinity,Infinity]}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3,"dur":4,"args":{"correlation":1,"memory bandwidth (GB/s)":Infinity}},
{"ph":"X","cat":"kernel","name":"no time","pid":0,"tid":7,"ts":NaN,"dur":4,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"no length","pid":0,"tid":7,"ts":8,"dur":-Infinity,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"last","pid":0,"tid":7,"ts":9,"dur":5,"args":{"correlation":3}}]}
END
xpumerge --gpu nan.json -f folded --unit ns 2>log | sed 's/.*;//' | sort >out
is "$(cat out)" "[GPU_Kernel]k 4000
[GPU_Kernel]last 5000" "NaN and Infinity: the other events are read"
like "$(cat log)" 'nan.json: 6 numbers are NaN or Infinity' "NaN and Infinity are counted"
like "$(cat log)" 'nan.json: 2 events could not be read' \
	"events with NaN or Infinity as times are counted"

# ---- the text of CUPTI's sample programs

cat >lines.txt <<'END'
hello
RUNTIME [ 100, 200 ] "cudaLaunchKernel", correlationId 7
KERNEL [ 300, 450 ] "saxpy", correlationId 7
CONCURRENT_KERNEL [ 500, 600 ] duration 100, "say "c", "d" x", correlationId 8
	grid [ 1, 1, 1 ], block [ 1, 1, 1 ]
	deviceId 1, contextId 2, streamId 13
RUNTIME [ 460, 470 ] duration 10, "cudaLaunchKernel_v7000", cbid 211, processId 5, threadId 6, correlationId 8
MEMCPY "HtoD" [ 700, 710 ] duration 10, size 64, copyCount 1, srcKind PINNED, dstKind DEVICE, correlationId 9
END
xpumerge --gpu lines.txt -f folded --unit ns 2>log | sort >out
cat >wanted <<'END'
[unknown];[no launch];[GPU0_Memcpy]HtoD 10
[unknown];[no stack];cudaLaunchKernel;[GPU0_Kernel]saxpy 150
[unknown];[no stack];cudaLaunchKernel;[GPU1_Kernel]say "c", "d" x 100
END
diff wanted out >diff
ok $? "the text of the tutorial and of CUDA 12 is read" || diag "$(cat diff log)"
like "$(cat log)" 'lines.txt: 1 line could not be read' \
	"lines that the program itself printed are counted"
cat >lines.txt <<'END'
RUNTIME cbid=211 [ 100 - 200 ] process 5, thread 6, correlation 7
CONCURRENT KERNEL "saxpy" [ 300 - 450 ] device 0, context 1, stream 7, correlation 7
    grid [1,1,1], block [1,1,1], shared memory (static 0, dynamic 0)
RUNTIME cbid=31 [ 460 - 480 ] process 5, thread 6, correlation 8
MEMCPY HtoD [ 500 - 520 ] device 0, context 1, stream 7, size 64, correlation 8
END
xpumerge --gpu lines.txt -f folded --unit ns 2>log | sort >out
cat >wanted <<'END'
[unknown];[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy 150
[unknown];[no stack];cudaMemcpy;[GPU_Memcpy]HtoD 20
END
diff wanted out >diff
ok $? "the text of CUDA 11 is read" || diag "$(cat diff log)"

# ---- invalid files

echo '{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}' \
	>cpu.json
fails "a profile of the CPU alone" 'cpu.json: cannot find GPU events, only what threads did' \
	--gpu cpu.json
cat >jax.json <<'END'
{"traceEvents": [{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"X","pid":3,"tid":1,"ts":5,"dur":2,"name":"loop_add_fusion","args":{"hlo_op":"add"}}]}
END
fails "no event of a known kind" 'jax.json: cannot find GPU events: none of its [12] events? is a kernel' \
	--gpu jax.json
echo '{"schemaVersion": 1}' >none.json
fails "no events" 'none.json: cannot find GPU events: no traceEvents' --gpu none.json
gen t.json
head -c 20000 t.json >cut.json
xpumerge --gpu cut.json -f folded >out 2>log
is $? 2 "cut: exit status 2"
like "$(cat log)" 'cut.json: damaged at offset .* used up to there' \
	"cut: the message says that the file is damaged"
like "$(cat out)" GPU_Kernel "cut: the events before the cut are used"
done_testing
