#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh FUZZER...: runs each fuzzer for its share of FUZZ_SECONDS, from seeds made here and the
# seeds of corpus/FUZZER, which include inputs that once crashed it. A new finding stays next to the
# fuzzer as crash-*, and fails this script.
set -u
: "${XPU_BUILD:?run it as: make fuzz}" "${XPU_SRC:?}"
seconds=$((${FUZZ_SECONDS:-600} / $#))
status=0

seed_reader() {
	n=0
	while read -r args; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # several arguments on purpose
		"$XPU_BUILD/gen_data" -o "$1/gen-$n.data" --paths 3 --frames 7 --launches 12 $args
	done <<-END
	--threads 2
	--memcpy-every 2 --graph-every 3 --window 4
	--early --lose-record 4 --lose-launch 5
	--procs 2 --reuse --threads 4 --launches 6
	--gpus 2 --streams 3 --shim --no-end
	--map $XPU_BUILD/gen_data --frames 12
	--blocks 600
	--blocks 1200 --level 0 --threads 2
	--blocks 100000 --memcpy-every 2 --launches 60 --api
	END
	# Copies a recording of each format version, with every record type.
	cp "$XPU_SRC"/test/t1/corpus/*.xpu "$1/"
	"$XPU_BUILD/gen_corpus" --skeleton "$1/skeleton.data"
	memory "$1/memory.data"
	# The golden recordings have nearly every feature.
	if [ -x "$XPU_BUILD/test/t1/golden.t" ]; then
		(cd "$1" && "$XPU_BUILD/test/t1/golden.t" >/dev/null 2>&1
		find . -type f ! -name '*.data' -delete)
	fi
}

seed_ranks() {
	n=0
	while read -r args; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # several arguments on purpose
		"$XPU_BUILD/gen_ranks" "$1" files=1 steps=4 $args >/dev/null
		mv "$1/0.data" "$1/gen-$n.data"
	done <<-END
	ranks=2
	ranks=3 seed=3 slow_host=1
	ranks=4 seed=9 payload=0
	ranks=3 seed=7 cut=2 lose=1
	END
	cp "$XPU_SRC"/test/t1/corpus/2.[3-9].xpu "$1/"
}

# Makes memory recordings of two processes on one device, with every kind of memory, in three files.
memory() {
	"$XPU_BUILD/gen_memory" "$1" <<-END
	proc 1
	proc 2
	device 1 0 7
	device 2 0 7
	record 1 10000 1
	START 0 1023 0 0 0
	MADE DEVICE 0 0x200000 4194304 0 1 0 1
	LEVEL REST 0 9000000 5000000 1 0
	MADE BLOCK 0 0x200000 512 2 2
	TOTALS BLOCK 0 512 4194304 3 0
	MADE PHYSICAL 0 5 2097152 4 3
	HANDLE MAPPING 0 5 0 5 3
	MADE MAPPING 0 0x8000000 2097152 6 3
	RETAINED PHYSICAL 0 5 0 7 3
	record 2 11000 1
	START 0 1023 0 1 0
	FREED BLOCK 0 0x1000 4096 0 1
	TOTALS BLOCK 0 8192 2097152 1 0
	MADE POOL 0 0x400000 77 2 1 0 1
	cut 12000
	record 1 11500 9
	FREED PHYSICAL 0 5 0 0 3
	FAILED DEVICE 0 55 4096 1 4
	CONTEXT_END DEVICE 0 0 0 2 1 0 1
	cut 13000
	record 2 12500 4
	LEVEL UNUSED 0 0 50 0 0
	LEVEL REST 0 9000000 7000000 1 0
	NOT_FREED POOL 0 0x400000 0 2 1
	exit 2 13500
	END
}

seed_memory() {
	memory "$1/memory"
	"$XPU_BUILD/gen_corpus" --plain "$1/plain"
	for file in memory plain; do
		n=0
		for head in '\0\0\0\077' '\1\0\0\011' '\2\0\1\5' '\0\1\0\6' '\0\2\1\100' \
			'\4\0\0\0'; do
			n=$((n + 1))
			# shellcheck disable=SC2059 # escapes
			{ printf "$head\0\0\0\0"; tail -c +65 "$1/$file"; } >"$1/$file.$n"
		done
	done
	rm "$1/memory" "$1/plain"
}

seed_split() {
	"$XPU_BUILD/gen_corpus" --plain "$1/plain"
	"$XPU_BUILD/gen_corpus" --skeleton "$1/skeleton"
	memory "$1/memory"
	for file in "$1/plain" "$1/skeleton" "$1/memory" "$XPU_SRC/test/t1/corpus/1.2.xpu"; do
		tail -c +65 "$file" >"$1/$(basename "$file").records"
	done
	rm "$1/plain" "$1/skeleton" "$1/memory"
}

seed_dso() {
	cat >"$1/seed.c" <<-END
	static int f(int a) { return a + 1; }
	int _ZN3foo3barEi(int a) { return f(a); }
	END
	${CC:-cc} -O0 -shared -fPIC -nostdlib -o "$1/a.so" "$1/seed.c" 2>/dev/null
	${CC:-cc} -O0 -shared -fPIC -nostdlib -s -o "$1/b.so" "$1/seed.c" 2>/dev/null
	${CC:-cc} -O2 -shared -fPIC -nostdlib -Wl,-z,noseparate-code -o "$1/c.so" "$1/seed.c" \
		2>/dev/null
	# Makes a minimal C library with the functions at the root of stacks. xpumerge finds these
	# functions by their code.
	cat >"$1/libc.c" <<-END
	void pthread_create(void *, void *, void *);
	void exit(int code) { for (;;) code++; }
	struct thread { char pad[0x638]; void (*fn)(void *); void *arg; };
	static __attribute__((noinline)) void begin(struct thread *t) { t->fn(t->arg); }
	static __attribute__((noinline)) void call_main(int (*f)(void)) { exit(f()); }
	void __libc_start_main(int (*f)(void)) { call_main(f); }
	void create(struct thread *t) { begin(t); pthread_create(t, 0, begin); }
	__asm__(".cfi_startproc\nmov \$435, %eax\n.cfi_endproc\nsyscall\n"
		"test %rax, %rax\n.cfi_startproc\n.cfi_undefined rip\ncall *%rdx\n.cfi_endproc\n");
	END
	${CC:-cc} -O1 -fno-optimize-sibling-calls -shared -fPIC -nostdlib -s \
		-Wl,-soname,libc.so.6 -Wl,-Bsymbolic -o "$1/libc.so" "$1/libc.c" 2>/dev/null
	# Adds MiniDebugInfo, and a link to a debug file.
	${CC:-cc} -O0 -shared -fPIC -nostdlib -o "$1/full.so" "$1/libc.c" 2>/dev/null
	objcopy -S "$1/full.so" "$1/mini.so"
	xz -k "$1/a.so" && objcopy --add-section .gnu_debugdata="$1/a.so.xz" "$1/mini.so"
	objcopy --add-gnu-debuglink="$1/a.so" "$1/b.so" "$1/link.so"
	rm -f "$1/seed.c" "$1/libc.c" "$1/a.so.xz"
	if [ -x "$XPU_BUILD/test/t1/golden.t" ]; then
		(cd "$1" && "$XPU_BUILD/test/t1/golden.t" >/dev/null 2>&1
		find . -type f ! -name '*.so' ! -name '*.so.*' -delete)
	fi
}

seed_cgroup() {
	id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
	n=0
	while read -r line; do
		n=$((n + 1))
		echo "$line" >"$1/$n"
	done <<-END
	0::/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-$id.scope
	11:memory:/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef/$id
	4:cpuset:/slurm/uid_1000/job_4711/step_batch
	0::/lxc.payload.box
	0::/docker/$id/kubelet/docker/$id
	END
}

seed_pyelf() {
	cat >"$1/seed.c" <<-END
	const unsigned long Py_Version = 0x030c01f0;
	struct { char cookie[8]; unsigned long version; } _PyRuntime = { "xdebugpy", 0x030d00f0 };
	char PyCode_Type[8] = "c", PyUnicode_Type[8] = "u";
	int run(void) { return 1; }
	END
	${CC:-cc} -shared -fPIC -nostdlib -o "$1/a.so" "$1/seed.c" 2>/dev/null
	${CC:-cc} -shared -fPIC -nostdlib -s -Wl,-z,noseparate-code -o "$1/b.so" \
		"$1/seed.c" 2>/dev/null
	rm -f "$1/seed.c"
}

seed_jitmap() {
	printf '7f0000001000 40 first\n7f0000001040 20 py::f:/a/b.py\n7f0000001000 8 again\n' \
		>"$1/map"
}

seed_twofile() {
	for format in chrome array lines text; do
		"$XPU_BUILD/gen_twofile" "$1/cpu" "$1/gpu" nr=8 lost=0.2 format=$format >/dev/null
		{ cat "$1/cpu"; echo %%; cat "$1/gpu"; } >"$1/$format"
	done
	for names in nvcc hip caller; do
		"$XPU_BUILD/gen_pairs" "$1/cpu" "$1/gpu" "$1/truth" nr=8 kernels=3 names=$names
		{ cat "$1/cpu"; echo %%; cat "$1/gpu"; } >"$1/$names"
		rm "$1/truth"
	done
	cat >"$1/odd" <<-END
	1000 my app 2 42 43 3 main;run(int, char);<no-symbol>;cudaLaunchKernel<char>(char const*)
	2000 12 34 42 43 0 main;cudaMemcpyAsync
	%%
	{"traceEvents":[{"name":"Runtime: cudaMemcpy_v3020","ts":1.5e0,"dur":2,"cat":"CUDA_Runtime",
	"pid":1,"tid":2,"args":{"correlationId":5}},{"name":"\ud83d\ude00\u0000","ts":3,"dur":1,
	"cat":"MemCopy","args":{"correlationId":5,"size":4096,"deviceId":1}}]}
	END
	printf 'MEMCPY "HtoD" [ 5, 9 ] duration 4, size 8, copyCount 1, srcKind PINNED, dstKind DEVICE, correlationId 3\n\tdeviceId 1, contextId 2, streamId 3\nMEMSET [ 1, 2 ] duration 1, value 0, size 4, correlationId 4\n' >"$1/memory"
	rm "$1/cpu" "$1/gpu"
}

seed_trace() {
	seed_twofile "$1"
	for args in "nr=3 threads=2" "nr=2 threads=1 old=1" \
		"nr=2 threads=1 xpu=1" "nr=2 rank=1 base=1775078550000000000"; do
		# shellcheck disable=SC2086 # several arguments on purpose
		python3 "$XPU_SRC/test/lib/gen_kineto.py" "$1/kineto" $args
		mv "$1/kineto" "$1/kineto-$(echo "$args" | tr -c 'a-z0-9\n' -)"
	done
	for args in "opencl=1" "tiles=1" "form=onetrace" "form=onetrace stages=1"; do
		# shellcheck disable=SC2086 # several arguments on purpose
		python3 "$XPU_SRC/test/lib/gen_pti.py" "$1/pti" nr=3 threads=1 $args
		mv "$1/pti" "$1/pti-$(echo "$args" | tr -c 'a-z0-9\n' -)"
	done
	for args in "nr=2 threads=1 hsa=1 ranges=1" "nr=2 threads=1 old=1" \
		"nr=2 threads=1 rccl=1" \
		"nr=6 threads=1 memory=1 counters=2 samples=2 scratch=1"; do
		# shellcheck disable=SC2086 # several arguments on purpose
		python3 "$XPU_SRC/test/lib/gen_rocprof.py" "$1/rocprof" $args
		mv "$1/rocprof" "$1/rocprof-$(echo "$args" | tr -c 'a-z0-9\n' -)"
	done
	python3 "$XPU_SRC/test/lib/gen_rocprof.py" "$1/rocprof" nr=6 threads=1 format=csv ranges=1 \
		memory=1
	rm -f "$1"/*.folded "$1"/*.nvtx "$1"/*.allocated "$1"/*.live
	cat >"$1/odd-kineto" <<-END
	{"deviceProperties":[{"id":0,"name":"G"}],"distributedInfo":{"rank":3,"world_size":8},
	"baseTimeNanoseconds":1775078550000000000,"traceEvents":[
	{"ph":"B","cat":"cpu_op","name":"a","pid":1,"tid":2,"ts":1,"args":{"Call stack":"x;y;z","Module Hierarchy":"T(N)::f.g(L)::f"}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":2,"dur":1,"args":{"correlation":1}},
	{"ph":"X","cat":"user_annotation","name":"r","pid":1,"tid":2,"ts":0,"dur":NaN},
	{"ph":"X","cat":"user_annotation","name":"s","pid":1,"tid":2,"ts":0,"dur":90},
	{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":2,"ts":4,"dur":9,"args":{"correlation":2}},
	{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":4,"dur":9,"args":{"stream":7,"context":1,"correlation":2}},
	{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":5,"args":{"device":0,"context":1,"stream":7,"correlation":1}},
	{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"thread 2 (bwd)"}},
	{"ph":"E","pid":1,"tid":2,"ts":80}]}
	END
	printf 'RUNTIME cbid=211 [ 100 - 200 ] process 5, thread 6, correlation 7\nCONCURRENT KERNEL "s" [ 300 - 450 ] device 0, context 1, stream 7, correlation 7\nMEMCPY HtoD [ 5 - 6 ] device 0, size 64, correlation 8\nRUNTIME [ 1, 2 ] "cudaLaunchKernel", correlationId 7\n' >"$1/old"
}

seed_perfscript() {
	for args in "ids=both cpu=1 inline=1" "srcline=1 mode=1 other=1" "time=none junk=1" \
		"ids=none crlf=1" \
		"event=cycles:P period=5 comment=sample_freq}=9,freq=1,clockid=1"; do
		# shellcheck disable=SC2086 # several arguments on purpose
		python3 "$XPU_SRC/test/lib/gen_perfscript.py" "$1/text" nr=6 $args
		mv "$1/text" "$1/text-$(echo "$args" | tr -c 'a-z0-9\n' -)"
	done
	for args in "dwarf=1" "events=2 order=1" "pipe=1" "chains=0 identifier=1 events=2" \
		"zstd=1" "wall=99 lost=1"; do
		# shellcheck disable=SC2086 # several arguments on purpose
		python3 "$XPU_SRC/test/lib/gen_perfdata.py" "$1/data" nr=8 $args 2>/dev/null &&
			mv "$1/data" "$1/data-$(echo "$args" | tr -c 'a-z0-9\n' -)"
	done
	rm -f "$1"/*.folded
	printf '%s\n' \
		'# event : name = cycles, , { sample_period, sample_freq } = 99, freq = 1, use_clockid = 1, clockid = 1,' \
		'app 5/6 [001] 1.5: 9 cycles: ' \
		'	ffffffff81000000 f+0x1 ([kernel.kallsyms])' '	12 g (/a)' '' \
		'app 6 1.000001: probe_libcudart:cudaLaunchKernel: (7f00)' \
		'	12 cudaLaunchKernel+0x0 (/libcudart.so)' >"$1/launch"
}

seed_nsys() {
	"$XPU_BUILD/gen_sqlite" "$1/all" <<-END
	PRAGMA page_size = 512;
	CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
	INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'k'), (3, 'main'), (4, '/lib/x.so');
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
		globalPid, shortName, demangledName, gridX);
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9, 12, 0, 1, 7, 1, 1677721600, 2, 2, 1),
		(13, 15, 1, 1, 7, 1, 1677721600, 2, 2, 1), (16, 19, 0, 1, 7, 2, NULL, 2, 2, 1);
	CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId,
		globalPid, bytes, copyKind);
	INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20, 30, 0, 1, 7, 3, 1677721600, 4096, 1);
	CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, callchainId);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3, 8, 1677721700, 1, 1, 1), (4, 5, 1677721700, 1, 1, 1),
		(9, 10, 1677721700, 2, 1, NULL);
	CREATE TABLE CUDA_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
	INSERT INTO CUDA_CALLCHAINS VALUES (1, 1, 4, 0, 0), (1, 2, 4, 1, 1), (1, 3, 4, 0, 2);
	CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, text, textId);
	INSERT INTO NVTX_EVENTS VALUES (1, 20, 59, 1677721700, 'step', NULL), (2, NULL, 59, 1677721700, NULL, 3),
		(3, 9, 60, 1677721700, 'x', NULL), (4, NULL, 34, 1677721700, 'm', NULL);
	CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId,
		correlationId, globalPid, graphId);
	INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (30, 40, 0, 1, 7, 4, 1677721600, 3);
	CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, contextId, streamId, correlationId,
		globalPid, syncType);
	INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (9, 20, 1, 7, 2, 1677721600, 3);
	CREATE TABLE TARGET_INFO_GPU (id, name, uuid);
	INSERT INTO TARGET_INFO_GPU VALUES (0, 'G', '0123456789abcdef0123456789abcdef');
	CREATE TABLE COMPOSITE_EVENTS (id, start, globalTid, cpu);
	INSERT INTO COMPOSITE_EVENTS VALUES (1, 5, 1677721700, 0), (2, 15, 1677721700, 0);
	CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
	INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 3, 4, 0, 0);
	CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);
	INSERT INTO SCHED_EVENTS VALUES (1, 0, 1, 1677721700), (9, 0, 0, 1677721700), (30, 0, 1, 1677721700),
		(50, 0, 0, 1677721700);
	CREATE TABLE OSRT_API (start, end, globalTid, nameId, callchainId);
	INSERT INTO OSRT_API VALUES (8, 31, 1677721700, 3, 1), (45, 60, 1677721700, 3, 0);
	CREATE TABLE OSRT_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
	INSERT INTO OSRT_CALLCHAINS VALUES (1, 3, 4, 0, 0);
	END
	"$XPU_BUILD/gen_sqlite" "$1/nodes" <<-END
	PRAGMA page_size = 512;
	CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
	INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'k'), (3, 'cudaEventSynchronize');
	CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (3, 8, 1677721700, 1, 1), (9, 20, 1677721700, 2, 3);
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
		globalPid, shortName, graphNodeId);
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9, 12, 0, 1, 7, 1, 1677721600, 2, 12);
	CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start, globalTid, graphNodeId, originalGraphNodeId);
	INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (4, 1677721700, 11, NULL), (5, 1677721700, 12, 11);
	CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId, globalPid, eventId, eventSyncId);
	INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (7, 1677721600, 2, 5), (8, 1677721600, 3, NULL);
	CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, contextId, correlationId, globalPid,
		syncType, eventId, eventSyncId);
	INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (9, 20, 1, 2, 1677721600, 1, 2, 5);
	CREATE TABLE CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS (start, end, deviceId, contextId, streamId,
		correlationId, globalPid);
	INSERT INTO CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS VALUES (30, 40, 0, 1, 7, 4, 1677721600);
	END
}

# Any bytes are valid steps. Long seeds reach more code than short ones.
seed_steps() {
	for n in $(seq 24); do
		perl -e 'srand($ARGV[0]); print chr(int(rand(256))) for 1 .. 100 * $ARGV[0]' "$n" \
			>"$1/seed-$n"
	done
}

for fuzzer; do
	name=$(basename "$fuzzer")
	corpus=$XPU_BUILD/fuzz/corpus-$name seeds=$XPU_BUILD/fuzz/seeds-$name
	rm -rf "$seeds"
	mkdir -p "$corpus" "$seeds"
	max=8192
	case $name in
	fuzz_reader)	seed_reader "$seeds" ;;
	fuzz_jitmap)	seed_jitmap "$seeds" ;;
	fuzz_twofile)	seed_twofile "$seeds" ;;
	fuzz_trace)	seed_trace "$seeds"; max=20000 ;;
	fuzz_perfscript)	seed_perfscript "$seeds"; max=16384 ;;
	fuzz_nsys)	seed_nsys "$seeds"; max=20000 ;;
	fuzz_ranks)	seed_ranks "$seeds" ;;
	fuzz_memory)	seed_memory "$seeds" ;;
	fuzz_split)	seed_split "$seeds" ;;
	fuzz_ring | fuzz_shm)	seed_steps "$seeds"; max=4096 ;;
	fuzz_cgroup)	seed_cgroup "$seeds"; max=4096 ;;
	fuzz_pyelf)	seed_pyelf "$seeds"; max=20000 ;;
	fuzz_dso|fuzz_cfi)	seed_dso "$seeds"; max=20000 ;;
	esac
	if [ -d "$XPU_SRC/test/fuzz/corpus/$name" ]; then
		cp "$XPU_SRC/test/fuzz/corpus/$name"/* "$seeds/"
	fi
	echo "fuzz: $name for $seconds s"
	if (cd "$XPU_BUILD/fuzz" && "$fuzzer" -max_total_time="$seconds" -max_len="$max" \
			-rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
			"$corpus" "$seeds" >"$name.log" 2>&1); then
		grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' \
			"$XPU_BUILD/fuzz/$name.log"
	else
		echo "fuzz: $name FAILED; $XPU_BUILD/fuzz/$name.log ends with:"
		tail -n 40 "$XPU_BUILD/fuzz/$name.log"
		status=1
	fi
done
exit $status
