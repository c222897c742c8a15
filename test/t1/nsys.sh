#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Exports of Nsight Systems: the events equal the output of nsys2json, and call chains become
# stacks.
. "$XPU_SRC/test/lib/tap.sh"
need python3
sqlite="$XPU_BUILD/gen_sqlite"

# Serialized IDs of process 100 on VMs 0 and 1, and of process 200. A thread's ID is its process's
# ID plus the tid.
P1=$((100 << 24)) P2=$((1 << 48 | 100 << 24)) P3=$((200 << 24))

schema() {
	cat <<END
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaGraphLaunch_v10000'),
	(3, 'cudaMemcpyAsync_v3020'), (4, 'saxpy'), (5, 'saxpy<float>(float*, int)'),
	(6, 'gemm; "quoted"'), (7, 'step'), (8, 'main'), (9, 'train::step()'), (10, '/usr/bin/app'),
	(11, '/usr/lib/libcudart.so.13'), (12, '/usr/lib/libhidden.so'), (13, '0x7f00'),
	(14, 'worker'), (15, 'cuLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
	correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
	shortName INTEGER NOT NULL, registersPerThread INTEGER NOT NULL,
	gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
	staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
	eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
	nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
END
}

nvtx() {
	cat <<END
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
	rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
	endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
END
}

kernel() {		# START END DEVICE STREAM ID PROCESS
	echo "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ($1, $2, $3, 1, $4, $5, $6, 5, 4, 32," \
		"2, 1, 1, 128, 1, 1, 16, 8, NULL);"
}

call() {		# START END TID ID NAME CHAIN
	echo "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ($1, $2, 0, $3, $4, $5, 0, $6);"
}

range() {		# START END TYPE TEXT TID TEXTID
	echo "INSERT INTO NVTX_EVENTS VALUES ($1, $2, $3, NULL, NULL, NULL, $4, $5, NULL, $6," \
		"NULL);"
}

# show FILE [CATEGORY]: prints "cat name ts dur pid tid args..." of each event, in order
show() {
	python3 - "$@" <<'END'
import json, sys
for e in json.load(open(sys.argv[1])):
    assert e["ph"] == "X"
    if len(sys.argv) < 3 or e["cat"] == sys.argv[2]:
        print(e["cat"], e["name"], e["ts"], e["dur"], e["pid"], e["tid"],
              ",".join(e["args"].get("NVTXRegions", [])) + e.get("cname", "") +
              ("open" if e["args"].get("open") else ""), sep="|")
END
}

# ---- how kernels were launched

{
	schema
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	kernel 2000 2500 0 7 1 $P1
	call 3000 3500 $((P1 + 101)) 2 1 NULL
	kernel 4000 4250 0 7 2 $P1 | sed 's/ 2, 1, 1, 128,/ 3, 1, 1, 64,/'
	call 5000 5500 $((P1 + 101)) 3 1 NULL
	kernel 6000 6250 0 7 3 $P1
} | "$sqlite" shapes.sqlite
xpumerge --nsys shapes.sqlite -o shapes.data 2>/dev/null
is "$(xpumerge shapes.data --by shape --json --table kernels 2>/dev/null |
	sed -n \
	's/.*"instances": \([0-9]*\),.*"name": "\(.*\)", "grid": "\([^"]*\)", "block": "\([^"]*\)".*"registers": \([0-9]*\), "static_shared_bytes": \([0-9]*\), "dynamic_shared_bytes": \([0-9]*\).*/\1 \2 \3 \4 \5 \6 \7/p')" \
	"2 saxpy<float>(float*, int)<<<2, 128, 8 B>>> 2 128 32 16 8
1 saxpy<float>(float*, int)<<<3, 64, 8 B>>> 3 64 32 16 8" \
	"launch shapes have grid, block, registers and memory"

# ---- one process, one device: the output equals that script's output

{
	schema
	nvtx
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	kernel 2000 2500 0 7 1 $P1
	call 3000 3500 $((P1 + 101)) 2 1 NULL
	kernel 4000 4250 0 13 2 $P1
	range 900 3600 59 "'epoch'" $((P1 + 101)) NULL
	range 2900 3600 59 "'send data'" $((P1 + 101)) NULL
	range 950 NULL 34 "'a mark'" $((P1 + 101)) NULL
} | "$sqlite" one.sqlite
xpumerge --nsys one.sqlite -o out.json -t kernel nvtx nvtx-kernel cuda-api 2>log
is $? 0 "one process: exit status 0"
is "$(cat log)" "" "one process: no message is printed"
schema | "$sqlite" none.sqlite
xpumerge --nsys none.sqlite -f text >out 2>log
like "$(cat log)" 'none.sqlite: has no GPU work \(nsys profile --trace=cuda records it\)' \
	"an export without GPU work: a message says so"
show out.json >got
cat >expected <<'END'
cuda_api|cudaLaunchKernel_v7000|1.0|0.5|Device 0|CUDA API Thread 101|
cuda_api|cudaLaunchKernel_v7000|3.0|0.5|Device 0|CUDA API Thread 101|
nvtx-kernel|epoch|2.0|2.25|Device 0|NVTX Kernel Thread 101|
nvtx-kernel|send data|4.0|0.25|Device 0|NVTX Kernel Thread 101|
nvtx|epoch|0.9|2.7|Device 0|NVTX Thread 101|
nvtx|send data|2.9|0.7|Device 0|NVTX Thread 101|
cuda|saxpy|4.0|0.25|Device 0|Stream 13|epoch,send data
cuda|saxpy|2.0|0.5|Device 0|Stream 7|epoch
END
diff expected got >diff
ok $? "one process: the events equal the script's output" || diag "$(cat diff)"
xpumerge --nsys one.sqlite -f chrome >default.json 2>log
is "$(show default.json | cut -d '|' -f 1 | sort | uniq -c | tr -s ' \n' ' ')" \
	" 2 cuda 2 nvtx-kernel " "without -t: the output has kernels, and ranges on kernels"
xpumerge --nsys one.sqlite -t nvtx --nvtx-event-prefix send recv -o out.json \
	--nvtx-color-scheme '{"s.nd|recv": "thread_state_iowait", "e": "other"}' 2>log
is "$(show out.json)" "nvtx|send data|2.9|0.7|Device 0|NVTX Thread 101|thread_state_iowait" \
	"ranges are chosen by prefix, and get colours"
xpumerge --nsys one.sqlite -t kernel -o out.json 2>log
like "$(cat out.json)" \
	'"demangled": "saxpy<float>\(float\*, int\)", "grid": \[2, 1, 1\], "block": \[128, 1, 1\], "registersPerThread": 32, "sharedMemory": 24' \
	"the arguments of a kernel's event contain the launch shape"

# ---- exports that the script reads incorrectly

{
	schema
	nvtx
	# One process on two devices.
	call 1000 1100 $((P1 + 101)) 1 1 NULL
	kernel 2000 2100 0 7 1 $P1
	call 1200 1300 $((P1 + 101)) 2 1 NULL
	kernel 2200 2300 1 7 2 $P1
	range 900 1400 59 "'both'" $((P1 + 101)) NULL
	# This launch of another thread, at the same time, is not in the first thread's range.
	call 1150 1160 $((P1 + 102)) 3 1 NULL
	kernel 5000 5100 0 8 3 $P1
	# A process of another VM has the same pid and the same correlation IDs.
	call 1050 1060 $((P2 + 101)) 1 1 NULL
	kernel 7000 7100 2 7 1 $P2
	range 1040 NULL 59 NULL $((P2 + 101)) 7
	# A graph launch: one call has many kernels. The driver call inside it has the same ID.
	call 8000 8900 $((P3 + 201)) 1 2 NULL
	call 8100 8200 $((P3 + 201)) 1 15 NULL
	kernel 9000 9100 3 7 1 $P3
	kernel 9200 9300 3 7 1 $P3
	kernel 9400 9500 3 7 1 $P3
	range 7900 8050 59 "'graph'" $((P3 + 201)) NULL
	range 8090 8300 59 "'inside the call'" $((P3 + 201)) NULL
	# This process has no kernels at all.
	range 100 200 59 "'idle'" $(((300 << 24) + 301)) NULL
	cat <<END
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
	copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9600, 9900, 3, 1, 7, 9, $P3, 4096, 1);
END
	call 9550 9560 $((P3 + 201)) 9 3 NULL
} | "$sqlite" hard.sqlite
xpumerge --nsys hard.sqlite -o out.json -t kernel nvtx nvtx-kernel cuda-api 2>log
is $? 0 "a difficult export: exit status 0"
show out.json nvtx-kernel >got
cat >expected <<'END'
nvtx-kernel|both|2.0|0.1|Device 0|NVTX Kernel Thread 101|
nvtx-kernel|both|2.2|0.1|Device 1|NVTX Kernel Thread 101|
nvtx-kernel|step|7.0|0.1|Device 2|NVTX Kernel Thread 101|
nvtx-kernel|graph|9.0|0.5|Device 3|NVTX Kernel Thread 201|
END
diff expected got >diff
ok $? \
	"ranges on kernels are right: two devices, two threads, processes with equal ids, graphs" ||
	diag "$(cat diff)"
show out.json nvtx >got
cat >expected <<'END'
nvtx|step|1.04|8.86|Device 2|NVTX Thread 101|open
nvtx|graph|7.9|0.15|Device 3|NVTX Thread 201|
nvtx|inside the call|8.09|0.21|Device 3|NVTX Thread 201|
nvtx|both|0.9|0.5|Process 100|NVTX Thread 101|
nvtx|idle|0.1|0.1|Process 300|NVTX Thread 301|
END
diff expected got >diff
ok $? "open ranges, ranges named by textId, and ranges on no or several devices are right" ||
	diag "$(cat diff)"
is "$(show out.json cuda | grep -c Memcpy)" 1 "a difficult export: the memory copy is in the output"
is "$(show out.json cuda | wc -l)" 8 "a difficult export: each kernel and copy is in the output"

{ schema; call 1 2 $P1 1 1 NULL; kernel 3 4 0 7 1 $P1; } | "$sqlite" none.sqlite
xpumerge --nsys none.sqlite -o out.json -t kernel nvtx 2>log
is $? 0 "no NVTX table: exit status 0"
like "$(cat log)" 'NVTX was not traced' "no NVTX table: a message says that NVTX was not traced"
is "$(show out.json | wc -l)" 1 "no NVTX table: kernels are in the output"

# ---- call chains

{
	schema
	cat <<END
CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL,
	unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL);
INSERT INTO CUDA_CALLCHAINS VALUES (1, 1, 11, NULL, 1, 0), (1, 9, 10, NULL, 2, 1),
	(1, 13, 12, 1, 3, 2), (1, 8, 10, NULL, 4, 3), (2, 8, 10, NULL, 4, 1), (2, 2, 11, NULL, 1, 0);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES ($P1, 100, '/usr/bin/app');
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (14, 1, $((P1 + 102)));
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (9600, 9660, 0, 1, 7, 77, $P1, 4096);
END
	call 1000 1100 $((P1 + 101)) 1 1 1
	kernel 2000 2100 0 7 1 $P1
	call 1200 1300 $((P1 + 102)) 2 1 1
	kernel 2200 2400 0 7 2 $P1
	call 1400 1500 $((P1 + 101)) 3 2 2
	kernel 3000 3010 0 7 3 $P1
	kernel 3020 3030 0 7 3 $P1
	call 1410 1450 $((P1 + 101)) 3 15 NULL		# in the driver, inside the previous call
	call 1600 1700 $((P1 + 101)) 4 1 NULL
	kernel 4000 4001 0 7 4 $P1
} | "$sqlite" chains.sqlite
xpumerge --nsys chains.sqlite -o out.folded --unit ns 2>log
is $? 0 "call chains: exit status 0"
sort out.folded >got
sort >expected <<'END'
app;main;[libhidden.so];train::step();cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 100
worker;main;[libhidden.so];train::step();cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 200
app;main;cudaGraphLaunch;[GPU_Kernel]saxpy<float>(float*, int) 20
app;[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 1
app;[no launch];[GPU_Memset] 60
END
diff expected got >diff
ok $? "call chains: folded stacks are as expected" || diag "$(cat diff)"
xpumerge --nsys chains.sqlite -o chains.data 2>log
is $? 0 "call chains, written as a recording: exit status 0" || diag "$(cat log)"
xpumerge chains.data --waits -f folded --unit ns 2>log | cmp - out.folded
ok $? "call chains, written as a recording: the stacks are the same" || diag "$(cat log)"
xpumerge --nsys chains.sqlite --table api_calls --csv 2>log | cut -d, -f2,3,9 >got
cat >expected <<'END'
total_ns,calls,name
300,3,"cudaLaunchKernel"
100,1,"cudaGraphLaunch"
END
diff expected got >diff
ok $? "call chains: the table of API calls is as expected" || diag "$(cat diff)"
for format in text pprof html perf; do
	xpumerge --nsys chains.sqlite -f $format >out 2>log
	is $? 0 "-f $format: exit status 0"
done

# ---- CPU samples

{
	schema
	cat <<END
INSERT INTO StringIds VALUES (20, 'busy'), (21, 'do_syscall_64'), (22, 'idle');
CREATE TABLE COMPOSITE_EVENTS (id INT NOT NULL PRIMARY KEY, start INT NOT NULL, cpu INT NOT NULL,
	threadState INT NOT NULL, globalTid INT NOT NULL, cpuCycles INT NOT NULL);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL,
	kernelMode INTEGER, unresolved INTEGER, stackDepth INTEGER NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (14, 1, $((P1 + 101)));
END
	i=0
	while [ $i -lt 10 ]; do
		i=$((i + 1))
		echo "INSERT INTO COMPOSITE_EVENTS VALUES ($i, $((i * 2000000)), 1, 0, $((P1 + 101)), 5);"
		[ $i = 10 ] && continue
		echo "INSERT INTO SAMPLING_CALLCHAINS VALUES ($i, 8, 10, 0, 0, 1);"
		echo "INSERT INTO SAMPLING_CALLCHAINS VALUES ($i, $((i < 4 ? 21 : 20)), 10, $((i < 4)), 0, 0);"
	done
} | "$sqlite" samples.sqlite
xpumerge --nsys samples.sqlite -o out.folded --unit ns 2>log
is $? 0 "CPU samples: exit status 0"
sort out.folded >got
sort >expected <<'END'
worker;main;busy 12000000
worker;main;do_syscall_64_[k] 6000000
worker;[no stack] 2000000
END
diff expected got >diff
ok $? "CPU samples: folded stacks are as expected" || diag "$(cat diff)"
like "$(cat log)" 'each of 10 CPU samples stands for 2000 us' \
	"CPU samples: a message says how much time each sample represents"

# ---- ranges, whole-graph records, waits, and other contents of a recent export

{
	schema
	nvtx
	cat <<END
INSERT INTO StringIds VALUES (30, 'cudaStreamSynchronize_v3020'), (31, 'cudaDeviceSynchronize_v3020'),
	(32, 'from StringIds');
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
	streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL,
	graphExecId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (3000, 9000, 0, 1, NULL, 7, 3, $P1, 5, 6),
	(2000, 2500, 0, 1, NULL, 7, 1, $P1, 8, 9);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
	deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
	streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER,
	syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (4000, 9500, 0, 1, NULL, 7, 4, $P1, 3, 3, 0, NULL),
	(9600, 9700, 0, 1, NULL, 7, 9, $P1, 2, 2, 0, NULL),
	(9800, 9900, 0, 1, NULL, 4294967295, 5, $P1, 4, 4, 0, NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, uuid TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'Other GPU', NULL), (1, 'Some GPU', '01234567-89ab-cdef-0123-456789abcdef');
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL,
	uuid TEXT, numMultiprocessors INTEGER);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 100, NULL, 132), (0, 1, 100, NULL, 132);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('CpuCores', '4'), ('Hostname', 'somehost');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1775078550000000000, '', '');
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER,
	severity INTEGER, text TEXT, globalPid INTEGER);
INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 1, 'all is well', 0), (2, 1, 1, 2, '7 events were lost', 0),
	(3, 1, 1, 2, '7 events were lost', 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
	copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9910, 9920, 0, 1, 7, 0, $P1, 4096, 12);
INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, NULL, NULL, 'NCCL', $((P1 + 101)), NULL, NULL, 3);
INSERT INTO NVTX_EVENTS VALUES (2600, 9990, 60, 1, NULL, NULL, NULL, $((P1 + 101)), $((P1 + 102)), 32, 3);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (9700, 9750, 0, $((P1 + 101)), 6, 1, 2, NULL);
END
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	kernel 2000 2500 0 7 1 $P1
	call 2700 2900 $((P1 + 101)) 3 2 NULL
	call 4000 9500 $((P1 + 101)) 4 30 NULL
	call 9800 9900 $((P1 + 101)) 5 31 NULL
	range 900 3600 59 "'epoch'" $((P1 + 101)) NULL
	range 950 NULL 34 "'a mark'" $((P1 + 101)) NULL
	range 800 NULL 59 "'never popped'" $((P1 + 101)) NULL
	range 900 2600 59 "'of another thread'" $((P1 + 102)) NULL
	range 900 2600 59 "'of no thread'" NULL NULL
} | "$sqlite" recent.sqlite
xpumerge --nsys recent.sqlite --waits -f folded --unit ns -o out.folded 2>log
is $? 0 "a recent export: exit status 0"
cat >expected <<'END'
[waits];[unknown];[no stack];cudaDeviceSynchronize;[GPU_Wait](idle) 100
[unknown];[no stack];cudaGraphLaunch;[GPU_Kernel]CUDA graph 5 6000
[unknown];[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 500
[waits];[unknown];[no stack];cudaStreamSynchronize;[GPU_Wait](idle) 500
[waits];[unknown];[no stack];cudaStreamSynchronize;[GPU_Wait]CUDA graph 5 5000
END
sort -o expected expected
sort out.folded | diff expected - >diff
ok $? \
	"a graph's work is under its launch, and synchronizations are waits" ||
	diag "$(cat diff log)"
unlike "$(cat log)" 'whose launch is not in the recording' \
	"a migration of managed memory is not reported as a copy whose launch is missing"
like "$(xpumerge --nsys recent.sqlite --csv --table memory_migrations 2>/dev/null)" \
	'^100.0,0,4096,0,1,10,0,0,0,' "a migration of managed memory is in the table of migrations"
like "$(cat log)" 'recent.sqlite: Nsight Systems says: 7 events were lost' \
	"the export's own warnings are printed"
is "$(grep -c 'Nsight Systems says' log)" 1 "the export's own warnings are printed once each"
like "$(cat log)" '1 NVTX range without a thread ignored' "ranges without a thread are counted"
like "$(cat log)" '1 launch of a graph is recorded both as a whole and by node' \
	"a graph that is exported both as a whole and by nodes is counted once"
like "$(cat log)" '1 launch that CUDA or OpenCL refused' "a launch that failed is not pending"
xpumerge --nsys recent.sqlite --waits -f folded --unit ns --by nvtx --gpu-only -o out.folded 2>log
cat >expected <<'END'
[NVTX]never popped;[NVTX]epoch;[NVTX]NCCL:from StringIds;[no stack];cudaGraphLaunch;[GPU_Kernel]CUDA graph 5 6000
[NVTX]never popped;[NVTX]epoch;[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 500
END
sort -o expected expected
sort out.folded | diff expected - >diff
ok $? \
	"--by nvtx shows ranges that are nested, in a domain, never popped or named in StringIds" ||
	diag "$(cat diff log)"
xpumerge --nsys recent.sqlite --waits -f folded --unit ns --nvtx 'from String' -o out.folded 2>log
is "$(grep -c 'GPU_Kernel' out.folded)" 1 \
	"--nvtx RANGE keeps only the kernel that was launched in the range"
xpumerge --nsys recent.sqlite --table nvtx_ranges --csv 2>/dev/null >out
is "$(grep -c 'never popped\|epoch\|NCCL:from StringIds\|of another thread' out)" 4 \
	"the table of ranges has all ranges" || diag "$(cat out)"
xpumerge --nsys recent.sqlite -f text >out 2>log
unlike "$(cat out)" 'frame pointers' "the summary does not say that stacks follow frame pointers"
like "$(cat out)" 'Some GPU' "the summary has the name of the process's GPU 0"
like "$(cat out)" '^host: somehost' "the summary has the name of the host"
like "$(cat out)" '^start: 2026-04-01 21:22:30 UTC' "the summary has the time of day"
# Older exports, and exports from which tables were removed.
old() {			# old TEXT: prints an export with a range named TEXT
	schema
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	kernel 2000 2500 0 7 1 $P1
	echo "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, globalTid INTEGER);"
	echo "INSERT INTO NVTX_EVENTS VALUES (900, 1600, $1, $((P1 + 101)));"
	echo "CREATE TABLE TARGET_INFO_GPU (x INTEGER); INSERT INTO TARGET_INFO_GPU VALUES (1);"
	echo "CREATE TABLE DIAGNOSTIC_EVENT (x INTEGER); INSERT INTO DIAGNOSTIC_EVENT VALUES (1);"
}
for text in "'plain'" NULL; do
	old "$text" | "$sqlite" small.sqlite
	xpumerge --nsys small.sqlite --waits -f folded --unit ns --by nvtx 2>log >out
	name=$(echo "$text" | tr -d "'")
	is "$? $(cat out)" \
		"0 [NVTX]${name#NULL};[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 500" \
		"a range without a type: $text is shown" || diag "$(cat log)"
done

# ---- nodes of graphs, waits for events, work without a name

# Two launches are captured at two sites, and one node is added explicitly. The graph is
# instantiated, and launched twice. The copies of the nodes have their own ids. The creation of
# one copy is recorded, too. A fourth node also runs, but only its kernels are recorded.
{
	schema
	cat <<END
INSERT INTO StringIds VALUES (40, 'site_a'), (41, 'site_b'), (42, 'builder'), (43, 'replay'),
	(44, 'cudaGraphAddKernelNode_v10000'), (45, 'cudaGraphInstantiate_v12000'),
	(46, 'cudaEventSynchronize_v3020'), (47, 'cuMemBatchDecompressAsync');
CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, unresolved INTEGER,
	originalIP INTEGER, stackDepth INTEGER NOT NULL);
INSERT INTO CUDA_CALLCHAINS VALUES (1, 40, 10, 0, 0, 0), (1, 8, 10, 0, 0, 1), (2, 41, 10, 0, 0, 0),
	(2, 8, 10, 0, 0, 1), (3, 42, 10, 0, 0, 0), (3, 8, 10, 0, 0, 1), (4, 43, 10, 0, 0, 0),
	(4, 8, 10, 0, 0, 1);
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL,
	eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL,
	graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER);
INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (150, 150, 0, $((P1 + 101)), 1, 11, NULL),
	(250, 250, 0, $((P1 + 101)), 1, 12, NULL), (350, 350, 0, $((P1 + 101)), 1, 13, NULL),
	(450, 450, 0, $((P1 + 101)), 1, 21, NULL), (451, 451, 0, $((P1 + 101)), 1, 21, 11),
	(452, 452, 0, $((P1 + 101)), 1, 22, 12), (453, 453, 0, $((P1 + 101)), 1, 23, 13),
	(250, 250, 0, $((P1 + 102)), 1, 31, NULL), (460, 460, 0, NULL, 1, 99, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER,
	bytes INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3000, 3007, 0, 1, 7, 5, $P1, 0, 64, 31);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, ChannelID INTEGER,
	sourceBytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS VALUES (6000, 6300, 0, 1, 7, 9, $P1, 1, 4096);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, contextId INTEGER,
	streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 0, 1, 8, 20, $P1, 2, 5),
	(0, 0, 1, 7, 21, $P1, 2, 6), (0, 0, 1, 8, 22, $P1, 3, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER,
	eventId INTEGER, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
	(4000, 4100, 0, 1, 4294967295, 10, $P1, 1, 2, 5), (4200, 4300, 0, 1, 4294967295, 11, $P1, 1, 3, NULL),
	(4400, 4500, 0, 1, 4294967295, 12, $P1, 1, 2, 6);
INSERT INTO StringIds VALUES (48, 'on seven'), (49, 'on eight');
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3990, 4600, 0, 1, 7, 6, $P1, 48, 48, 1, 1, 1, 1, 1, 1, 1, 0, 0, NULL),
	(3990, 4600, 0, 1, 8, 7, $P1, 49, 49, 1, 1, 1, 1, 1, 1, 1, 0, 0, NULL);
END
	call 100 200 $((P1 + 101)) 1 1 1	# captured at site_a, after the driver's call
	call 110 120 $((P1 + 101)) 1 15 NULL
	call 200 300 $((P1 + 101)) 2 1 2	# captured at site_b
	call 240 260 $((P1 + 102)) 30 3 4	# another thread at the same time
	call 300 400 $((P1 + 101)) 3 44 3	# made by an explicit call, not captured
	call 420 500 $((P1 + 101)) 4 45 4	# the copies are made
	call 600 650 $((P1 + 101)) 5 2 4	# launched
	call 660 690 $((P1 + 101)) 6 1 4
	call 691 692 $((P1 + 101)) 7 1 4
	call 700 750 $((P1 + 101)) 8 2 4
	call 760 770 $((P1 + 101)) 9 47 4
	call 4000 4100 $((P1 + 101)) 10 46 4
	call 4200 4300 $((P1 + 101)) 11 46 4
	call 4400 4500 $((P1 + 101)) 12 46 4
	for launch in 5 8; do
		for node in 21 22 23 77; do
			echo "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ($((launch * 200 + node))," \
				"$((launch * 200 + 2 * node)), 0, 1, 7, $launch, $P1, 5, 4, 32, 2, 1, 1, 128, 1," \
				"1, 16, 8, $node);"
		done
	done
} | "$sqlite" nodes.sqlite
xpumerge --nsys nodes.sqlite --waits -f folded --unit ns -o out.folded 2>log
is $? 0 "graphs' nodes: exit status 0"
cat >expected <<'END'
[unknown];main;builder;cudaGraphAddKernelNode;[GPU_Kernel]saxpy<float>(float*, int) 46
[unknown];main;replay;cuMemBatchDecompressAsync;[GPU_Kernel][memory decompression] 300
[waits];[unknown];main;replay;cudaEventSynchronize;[GPU_Wait]on eight 200
[waits];[unknown];main;replay;cudaEventSynchronize;[GPU_Wait]on seven 100
[unknown];main;replay;cudaGraphLaunch;[GPU_Kernel]saxpy<float>(float*, int) 154
[unknown];main;replay;cudaLaunchKernel;[GPU_Kernel]on eight 610
[unknown];main;replay;cudaLaunchKernel;[GPU_Kernel]on seven 610
[unknown];main;replay;cudaMemcpyAsync;[GPU_Memset] 7
[unknown];main;site_a;cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 42
[unknown];main;site_b;cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 44
END
sort -o expected expected
sort out.folded | diff expected - >diff
ok $? \
	"a graph's work is under the calls that made its nodes; waits for events belong to the event's stream" ||
	diag "$(cat diff log)"
xpumerge --nsys nodes.sqlite --graph launch --waits -f folded --unit ns -o out.folded 2>log
is "$(grep -c 'site_[ab]\|builder' out.folded) $(grep -c 'replay;cudaGraphLaunch;.*saxpy.* 286$' \
	out.folded)" "0 1" \
		"--graph launch: a graph's work is under the call that launched the graph" ||
		diag "$(cat out.folded)"
like "$(xpumerge --nsys nodes.sqlite -f text 2>&1)" 'unmatched 0 lost 0' \
	"captured launches do not count as unmatched"

# ---- context switches, and why threads waited

# The thread is off the CPU from 5 ns before the session until 100, and runs until 1100. It waits
# for a lock, with a stack, until 1600, runs until 2000, sleeps in a call without a stack until
# 2300, and runs until 3000. It waits in a CUDA call until 3500, runs until 4000, is off outside of
# all calls until 4250, and runs until 5000. Events of other threads change nothing.
{
	schema
	cat <<END
INSERT INTO StringIds VALUES (50, 'pthread_cond_wait'), (51, 'usleep'), (52, 'wait_for_batch'),
	(53, '[NSys Comms]'), (54, 'cudaStreamSynchronize_v3020'), (55, 'poll');
CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL,
	globalTid INTEGER);
INSERT INTO SCHED_EVENTS VALUES (100, 1, 1, $((P1 + 101))), (1100, 1, 0, $((P1 + 101))),
	(1600, 1, 1, $((P1 + 101))), (2000, 1, 0, $((P1 + 101))), (2300, 2, 1, $((P1 + 101))),
	(3000, 2, 0, $((P1 + 101))), (3500, 2, 1, $((P1 + 101))), (4000, 2, 0, $((P1 + 101))),
	(4250, 2, 1, $((P1 + 101))), (5000, 2, 0, $((P1 + 101))),
	(100, 3, 1, $((P1 + 199))), (9000, 3, 0, $((P1 + 199))),
	(100, 3, 1, $((P3 + 301))), (9000, 3, 0, $((P3 + 301))), (-5, 3, 0, $((P1 + 101))),
	(700, 3, 0, NULL);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
	globalTid INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER,
	callchainId INTEGER NOT NULL);
INSERT INTO OSRT_API VALUES (1050, 1650, 27, $((P1 + 101)), 50, 0, 0, 1),
	(1990, 2310, 27, $((P1 + 101)), 51, 0, 0, 0), (1090, 1095, 27, $((P1 + 101)), 55, 0, 1, 0),
	(2950, 3510, 27, $((P1 + 101)), 55, 0, 0, 0), (1000, 9000, 27, $((P1 + 102)), 55, 0, 0, 1);
CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL,
	unresolved INTEGER, stackDepth INTEGER NOT NULL);
INSERT INTO OSRT_CALLCHAINS VALUES (1, 52, 10, 0, 0), (1, 8, 10, 0, 1);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (14, 1, $((P1 + 101))), (53, 1, $((P1 + 199)));
END
	call 200 250 $((P1 + 101)) 1 1 NULL
	kernel 300 400 0 7 1 $P1
	call 2900 3600 $((P1 + 101)) 2 54 NULL
} >switches.sql
"$sqlite" switches.sqlite <switches.sql
xpumerge --nsys switches.sqlite --waits -f folded --unit ns -o out.folded 2>log
is $? 0 "context switches: exit status 0"
cat >expected <<'END'
[waits];worker;[no stack];[Off_CPU]sleep 300
worker;[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 100
[waits];worker;main;wait_for_batch;pthread_cond_wait;[Off_CPU]lock 500
END
sort -o expected expected
sort out.folded | diff expected - >diff
ok $? "off-CPU time lies between context switches; the thread's current call says why and where" ||
	diag "$(cat diff log)"
xpumerge --nsys switches.sqlite --table threads --csv 2>/dev/null >out
is "$(python3 -c 'import csv
for r in csv.DictReader(open("out")):
    print(r["tid"], {k: int(v) for k, v in r.items()
                     if k.endswith("_ns") and v not in ("", "0")}, r["switches"])')" \
	"101 {'life_ns': 5005, 'on_cpu_ns': 3350, 'lock_ns': 500, 'sleep_ns': 300, 'other_ns': 855} 6" \
	"context switches: the table of threads has the thread's account" || diag "$(cat out)"
grep -v SCHED_EVENTS switches.sql | grep -v '^	([0-9-]*, [0-9], [01],\|^	(700' >none.sql
sed -i '/^	globalTid INTEGER);$/d' none.sql
"$sqlite" none.sqlite <none.sql 2>log
xpumerge --nsys none.sqlite --waits -f folded --unit ns -o out.folded 2>>log
is "$(cat out.folded)" \
	"worker;[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 100" \
	"without context switches, time in calls is not shown as time off the CPU" ||
	diag "$(cat log)"

# ---- times before the session

# An export has events before time 0. One row begins more than a day before time 0, and two rows end
# before their start.
before() {		# before SHIFT: prints an export whose timestamps are SHIFT later
	schema
	nvtx
	cat <<END
INSERT INTO StringIds VALUES (56, 'cudaStreamSynchronize_v3020');
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, contextId INTEGER,
	streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ($(($1 - 280)), $(($1 - 180)), 1, 7, 2, $P1, 3);
CREATE TABLE COMPOSITE_EVENTS (id INT, start INT, cpu INT, threadState INT, globalTid INT);
INSERT INTO COMPOSITE_EVENTS VALUES (1, $(($1 - 450)), 0, 0, $((P1 + 101))), (2, $(($1 + 550)), 0, 0, $((P1 + 101)));
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ($((1775078550000000000 - $1)));
END
	call $(($1 - 500)) $(($1 - 400)) $((P1 + 101)) 1 1 NULL
	kernel $(($1 - 390)) $(($1 - 300)) 0 7 1 $P1
	call $(($1 - 290)) $(($1 - 170)) $((P1 + 101)) 2 56 NULL
	call $(($1 - 100)) $(($1 + 100)) $((P1 + 101)) 3 1 NULL
	kernel $(($1 + 200)) $(($1 + 320)) 0 7 3 $P1
	range $(($1 - 501)) $(($1 - 295)) 59 "'early'" $((P1 + 101)) NULL
}
before 0 | "$sqlite" before.sqlite
before 501 | "$sqlite" after.sqlite
for what in "-f folded --by nvtx" "--table api_calls --csv" "--table nvtx_ranges --csv" \
	"-f chrome -t kernel nvtx cuda-api" "-f perf" "-f text"; do
	# shellcheck disable=SC2086 # words are arguments
	xpumerge --nsys before.sqlite $what 2>log | sed s/before.sqlite/x/ >before.out
	# shellcheck disable=SC2086
	xpumerge --nsys after.sqlite $what 2>/dev/null | sed s/after.sqlite/x/ >after.out
	cmp before.out after.out && [ -s before.out ]
	ok $? "events before the session give the same result as later events: $what" ||
		diag "$(diff before.out after.out)"
	like "$(cat log)" 'the first event is 0\.501 us before the session' \
		"events before the session: a message says how early they are"
done
like "$(xpumerge --nsys before.sqlite -f text 2>&1)" 'launches 2 matched 2 unmatched 0 lost 0' \
	"events before the session: a call has its kernel"
{
	before 0
	call -86400000000001 50 $((P1 + 101)) 4 1 NULL
	call 60 50 $((P1 + 101)) 5 1 NULL
	kernel 70 60 0 7 5 $P1
} | "$sqlite" odd.sqlite
xpumerge --nsys odd.sqlite --strict -o out.folded 2>log
is $? 1 "skipped rows: --strict fails"
like "$(cat log)" 'table CUPTI_ACTIVITY_KIND_RUNTIME: 2 rows with impossible times' \
	"skipped rows: calls are counted"
like "$(cat log)" 'table CUPTI_ACTIVITY_KIND_KERNEL: 1 row with impossible times' \
	"skipped rows: kernels are counted"

# ---- numbers that changed between versions

# numbers EVENT WAIT STREAM CONTEXT HTOD: prints an export whose enumerations have these numbers
numbers() {
	schema
	cat <<END
INSERT INTO StringIds VALUES (60, 'cudaEventSynchronize_v3020'), (61, 'cudaStreamWaitEvent_v3020'),
	(62, 'cudaStreamSynchronize_v3020'), (63, 'cudaDeviceSynchronize_v3020'), (64, 'on seven'), (65, 'on eight');
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId INTEGER, globalPid INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (8, $P1, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, contextId INTEGER,
	streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (4000, 4100, 1, 4294967295, 10, $P1, $1, 2),
	(4200, 4203, 1, 8, 11, $P1, $2, 2), (4300, 4350, 1, 7, 12, $P1, $3, 0),
	(4400, 4410, 1, 4294967295, 13, $P1, $4, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
	contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9900, 9910, 0, 1, 7, 0, $P1, 4096, $5);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3990, 4600, 0, 1, 7, 6, $P1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 0, 0, NULL),
	(3990, 4600, 0, 1, 8, 7, $P1, 65, 65, 1, 1, 1, 1, 1, 1, 1, 0, 0, NULL);
END
	call 660 690 $((P1 + 101)) 6 1 NULL
	call 691 692 $((P1 + 101)) 7 1 NULL
	call 4000 4100 $((P1 + 101)) 10 60 NULL
	call 4200 4203 $((P1 + 101)) 11 61 NULL
	call 4300 4350 $((P1 + 101)) 12 62 NULL
	call 4400 4410 $((P1 + 101)) 13 63 NULL
}
# names EVENT WAIT STREAM CONTEXT HTOD: prints tables that give names to these numbers
names() {
	cat <<END
CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES ($1, 'CUPTI_SYNC_TYPE_EVENT_SYNCHRONIZE', 'Event synchronize'),
	($2, 'x', 'Stream wait event'), ($3, NULL, 'Stream synchronize'), ($4, '', 'Context synchronize');
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES ($5, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Host-to-Device'), (99, 'NEW', 'New');
END
}
waits() {		# waits FILE: prints how long threads waited, and for which work
	xpumerge --nsys "$1" --waits -f folded --unit ns 2>log |
		sed -n 's/.*;\(cuda[A-Za-z]*\);\[GPU_Wait\]/\1 /p' | sort
}
cat >expected <<'END'
cudaDeviceSynchronize on eight 5
cudaDeviceSynchronize on seven 5
cudaEventSynchronize on eight 100
cudaStreamSynchronize on seven 50
END
# CUPTI, Nsight Systems 2022 and schema 3.24 number the kinds of waits differently. In Nsight
# Systems 2022, the number 2 is an event.
for with in "1 2 3 4" "2 3 4 5" "2 1 1 3" "7 8 9 10"; do
	# shellcheck disable=SC2086 # words are arguments
	numbers $with 1 | "$sqlite" numbers.sqlite
	waits numbers.sqlite | diff expected - >diff
	ok $? "kinds of waits have the numbers $with: the call's name determines the kind" ||
		diag "$(cat diff log)"
done
# If IDs are reused, by the same process or by another one, each wait keeps its call.
for pid in "$P1" $((200 << 24)); do
	{
		numbers 2 3 4 5 1
		at=20000
		for id in 10 11 12 13 12; do
			call $((at += 10)) $((at + 1)) $((pid + 101)) $id 1 NULL
		done
	} | "$sqlite" again.sqlite
	waits again.sqlite | diff expected - >diff
	is "$? $(grep -c 'correlation ids restart' log)" "0 1" \
		"ids begin again in process $((pid >> 24)): each wait keeps its call" ||
		diag "$(cat diff log)"
done
# If a call's name does not say what the call waits for, the export's table of names does.
{ numbers 7 8 9 10 21; names 7 8 9 10 21; } |
	sed "s/'cuda\(Event\|Stream\|Device\)\(Sync[a-z]*\|Wait[A-Za-z]*\)_v3020'/'cudaUnknown\1'/" |
	"$sqlite" named.sqlite
waits named.sqlite | sed 's/cudaUnknown\([A-Z][a-z]*\)/cuda\1Synchronize/' | diff expected - >diff
ok $? "wait kinds are read from the export's table of names" || diag "$(cat diff log)"
like "$(xpumerge --nsys named.sqlite --csv --table memory_migrations 2>/dev/null)" \
	'^100.0,4096,0,0,1,10,0,0,0,' \
	"copy kinds are read from the export's table of names"
echo "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5000, 5100, 1, 7, 77, $P1, 3, 0);" \
	>more.sql
{ numbers 1 2 3 4 1; cat more.sql; } | "$sqlite" nowhere.sqlite
waits nowhere.sqlite >out
like "$(cat log)" 'the call is missing for 1 wait' \
	"a message counts the waits whose call is missing" ||
	diag "$(cat log)"
# Range types and severities as names instead of numbers.
{
	schema
	nvtx
	cat <<END
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (159, 'NvtxPushPopRange', 'NVTX push/pop'), (59, 'SomethingElse', 'x'),
	(160, 'NvtxStartEndRange', NULL);
CREATE TABLE ENUM_DIAGNOSTIC_SEVERITY_LEVEL (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_DIAGNOSTIC_SEVERITY_LEVEL VALUES (1, 'ANALYSIS_ERROR', 'Error'), (4, 'INFO', 'Info');
CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);
INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'an error'), (4, 'a note');
END
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	kernel 2000 2500 0 7 1 $P1
	range 900 1600 159 "'moved'" $((P1 + 101)) NULL
} | "$sqlite" types.sqlite
is "$(xpumerge --nsys types.sqlite --waits -f folded --unit ns --by nvtx 2>log)" \
	"[NVTX]moved;[no stack];cudaLaunchKernel;[GPU_Kernel]saxpy<float>(float*, int) 500" \
	"range types are read from the export's table of names" || diag "$(cat log)"
is "$(grep -c 'Nsight Systems says: an error' log) $(grep -c note log)" "1 0" \
	"severities are read from the export's table of names" || diag "$(cat log)"

# ---- what is left out is counted or named

{
	schema
	nvtx
	cat <<END
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start, globalTid, graphNodeId, originalGraphNodeId);
INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (1000, NULL, 5, 0), (1000, $((P1 + 101)), 0, 0);
CREATE TABLE OSRT_API (start, end, globalTid, nameId);
INSERT INTO OSRT_API VALUES (1000, 1100, $((P1 + 101)), 7);
CREATE TABLE GPU_METRICS (timestamp, value);
INSERT INTO GPU_METRICS VALUES (1000, 1);
CREATE TABLE CUBLAS_EVENTS (start, end);
CREATE TABLE TARGET_INFO_OTHER (name);
INSERT INTO TARGET_INFO_OTHER VALUES (1);
END
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	call 1010 1400 $((P1 + 101)) 1 15 NULL
	call 3000 3500 $((P1 + 101)) 0 1 NULL
	kernel 2000 2500 0 7 1 $P1
	range 900 1600 99 "'odd'" $((P1 + 101)) NULL
	range 0 NULL 33 "'a category'" $((P1 + 101)) NULL
} | "$sqlite" left.sqlite
xpumerge --nsys left.sqlite -f folded -o out 2>log
is $? 0 "left out: exit status 0"
like "$(cat log)" '1 launch without a correlation id ignored' "launches without an id are counted"
like "$(cat log)" '1 NVTX range of unknown types ignored' "ranges of unknown types are counted"
like "$(cat log)" 'table CUDA_GRAPH_NODE_EVENTS: 2 rows with impossible times or ids ignored' \
	"nodes of graphs without a thread or an id are counted"
like "$(cat log)" 'the events of these tables are not read: OSRT_API, GPU_METRICS$' \
	"tables with events that are not read are named"
{
	schema
	cat <<END
CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);
INSERT INTO SCHED_EVENTS VALUES (1000, 0, 1, $((P1 + 101))), (1200, 0, 0, NULL),
	(1300, 0, 0, $((P1 + 101)));
END
	call 1000 1500 $((P1 + 101)) 1 1 NULL
	kernel 2000 2500 0 7 1 $P1
} | "$sqlite" switch.sqlite
xpumerge --nsys switch.sqlite -f folded -o out 2>log
like "$(cat log)" 'table SCHED_EVENTS: 1 row with impossible times or ids ignored' \
	"switches without a thread are counted"

# ---- invalid files

fails() {		# fails NAME REGEX ARGS...
	name=$1 regex=$2
	shift 2
	xpumerge "$@" >out 2>log
	is $? 2 "$name: exit status 2"
	like "$(cat log)" "$regex" "$name: the message says why"
	is "$(wc -l <log)" 1 "$name: prints one line"
}

fails "an export for --gpu" 'an export of Nsight Systems: read it with --nsys' --gpu none.sqlite
fails "no such file" 'nothere: cannot be opened' --nsys nothere
fails "a file that is no SQLite" 'cannot be read as an SQLite file' --nsys "$XPUMERGE"
: >empty
fails "an empty file" 'not an export of Nsight Systems' --nsys empty
echo 'CREATE TABLE x (y); CREATE VIEW StringIds AS SELECT 1 AS id, 2 AS value;' |
	"$sqlite" other.sqlite
fails "another database" 'not an export of Nsight Systems' --nsys other.sqlite
{ schema; echo "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN end TO finish;"; } |
	"$sqlite" new.sqlite
fails "a missing column" 'the column end is missing' --nsys new.sqlite
size=$(wc -c <hard.sqlite)
head -c $((size - 4096)) hard.sqlite >cut.sqlite
fails "a cut file" 'malformed' --nsys cut.sqlite
fails "an unknown activity" 'kernel, nvtx' --nsys one.sqlite -t kernels
fails "two kinds at once" 'cannot be combined' --nsys one.sqlite --gpu x
fails \
	"a filter on activities that are written unchanged" 'cannot change the events' \
	--nsys one.sqlite -o out.json --kernel x
fails "activities of another import" '^xpumerge: -t: activities are for --nsys' --gpu one.json \
	-t kernel
fails "a recording next to an export" 'cannot be combined' --nsys one.sqlite x.data
fails "colours that are not JSON" 'nvtx-color-scheme' --nsys one.sqlite -o out.json \
	--nvtx-color-scheme '{a}'
fails \
	"an invalid expression of a colour" 'nvtx-color-scheme' --nsys one.sqlite -o out.json \
	--nvtx-color-scheme '{"(": "x"}'
cp one.sqlite 'a?b%41#.sqlite'
xpumerge --nsys 'a?b%41#.sqlite' -t kernel -f chrome >out 2>log
is $? 0 "a file name with characters that a URI must escape: exit status 0"

# ---- many events

{
	schema
	nvtx
	echo "BEGIN;"
	awk -v p=$P1 'BEGIN {
		for (i = 0; i < 100000; i++) {
			printf "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES " \
				"(%d, %d, 0, %d, %d, 1, 0, NULL);\n",
				i * 1000, i * 1000 + 500, p + 101, i + 1
			printf "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, 7, %d, %d, " \
				"5, 4, 32, 2, 1, 1, 128, 1, 1, 16, 8, NULL);\n",
				i * 1000 + 600, i * 1000 + 700, i + 1, p
			if (i % 10 == 0)
				printf "INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, " \
					"NULL, NULL, NULL, \"r\", %d, NULL, NULL, NULL);\n",
					i * 1000, i * 1000 + 9999, p + 101
		}
	}'
	echo "COMMIT;"
} | "$sqlite" many.sqlite
"$XPUMERGE" --nsys many.sqlite -o out.json -t kernel \
	nvtx-kernel 2>log
is $? 0 "100,000 kernels: exit status 0"
is "$(grep -c '"cat": "nvtx-kernel"' out.json)" 10000 \
	"100,000 kernels: the NVTX ranges of kernels are written"
done_testing
