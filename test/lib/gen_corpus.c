// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_corpus - a small recording that has every record type, in this version's format
 *
 *	gen_corpus FILE [LEVEL]		version 2, blocks compressed with LEVEL (default 3)
 *	gen_corpus --plain FILE		version 1, without blocks
 *
 * For each version of the format, the output is put into test/t1/corpus/ once and never changed.
 * Later versions of xpumerge must read it and write equal results. See test/t1/corpus/README.md.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "skeleton.h"

#define NR(a)		(sizeof(a) / sizeof((a)[0]))
#define BLOCK_BYTES	1200		/* small, so that there are several blocks */

enum { APP = 0x400000, LIBRARY = 0x7f0000001000, KERNEL_TEXT = 0x81000000 };
enum { DRIVER = 1, RUNTIME = 2, CBID_LAUNCH = 307, CBID_COPY = 276, CBID_SET = 280,
       CBID_GRAPH = 514, CBID_SYNC = 131, CBID_RUNTIME_LAUNCH = 211 };

/* String ids of the process "app". */
enum { S_LAUNCH = 1, S_COPY, S_SET, S_GRAPH, S_SYNC, S_RUNTIME, S_KERNEL, S_NODE, S_GPU, S_MAIN,
       S_STEP, S_PY_NAME, S_PY_FILE, S_STALL, S_STALL_NOT, S_WAIT };

enum { P_LAUNCH = 1, P_COPY, P_SET, P_GRAPH, P_NODE, P_SYNC, P_CPU, P_OFF, P_PENDING, P_FAILED,
       P_REFUSED, P_ENTRY };

static const uint8_t uuid[16] = { 0xde, 0xad };

#define NAMED(string)	(XPU_FRAME_NAMED | (string))
#define KERNEL_FRAME	(0xffffffff00000000ull | KERNEL_TEXT)

static void add_processes(struct gen *g)
{
	static const uint8_t id[XPU_BUILD_ID_LEN] = { 0xc0, 0xff, 0xee };
	static const char cmdline[] = "./app\0--steps\0" "3", options[] = "xpuload\0--off-cpu";

	gen__info(g, XPU_INFO_VERSION, "0.1.0", 5);
	gen__info(g, XPU_INFO_HOSTNAME, "node", 4);
	gen__info(g, XPU_INFO_OS_RELEASE, "6.1.0", 5);
	gen__info(g, XPU_INFO_ARCH, "x86_64", 6);
	gen__info(g, XPU_INFO_CMDLINE, cmdline, sizeof(cmdline));
	gen__info(g, XPU_INFO_OPTIONS, options, sizeof(options));
	gen__info(g, XPU_INFO_SAMPLE_NS, "1000000", 8);
	gen__process(g, XPU_MISC_PROCESS_ROOT, 2000, 1, 100, 0, "sh");
	gen__fork(g, 2000, 100, 100, 50, 50);
	gen__comm(g, XPU_MISC_COMM_EXEC, 2100, 100, 100, "app");
	gen__process(g, XPU_MISC_PROCESS_EXEC, 2101, 2, 100, 1, "app");
	gen__mmap(g, 2110, 100, APP, 0x1000, 0, "/nonexistent/app", id, sizeof(id));
	gen__mmap(g, 2120, 100, LIBRARY, 0x1000, 0x1000, "/nonexistent/lib.so", NULL, 0);
	gen__process(g, XPU_MISC_PROCESS_ATTACH, 2130, 3, 300, 0, "server");
	gen__fork(g, 2200, 101, 101, 100, 100);
	gen__process(g, XPU_MISC_PROCESS_FORK, 2201, 4, 101, 2, "app");
	gen__fork(g, 2300, 100, 102, 100, 100);
	gen__comm(g, 0, 2310, 100, 102, "w\xc3\xb6rker;2");
	gen__label(g, 2, XPU_LABEL_BY_CGROUP, XPU_LABEL_CONTAINER, 0,
		   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	gen__label(g, 2, XPU_LABEL_BY_CGROUP, XPU_LABEL_POD_UID, 0,
		   "01234567-89ab-cdef-0123-456789abcdef");
	gen__thread(g, 1, 2, 100);
	g->ns_tid = 7;
	gen__thread(g, 2, 2, 102);
	g->ns_tid = 0;
}

static void add_path(struct gen *g, uint16_t flags, uint32_t path, uint32_t domain, uint32_t cbid,
		     uint64_t innermost)
{
	const uint64_t frames[] = { innermost, NAMED(S_STEP), NAMED(S_MAIN) };

	gen__callchain(g, flags, 3000, path, 2, domain, cbid, frames, NR(frames));
}

static void add_paths(struct gen *g)
{
	const uint64_t cpu[] = { KERNEL_FRAME + 0x10, APP + 0x20, NAMED(S_MAIN) };
	const uint64_t off[] = { KERNEL_FRAME + 0x110, LIBRARY + 0x20, NAMED(S_MAIN) };
	const uint64_t entry[] = { KERNEL_FRAME + 0x10 };

	gen__ksym(g, KERNEL_FRAME, KERNEL_FRAME + 0x100, "do_work");
	gen__ksym(g, KERNEL_FRAME + 0x100, KERNEL_FRAME + 0x200, "do_wait");
	add_path(g, XPU_CHAIN_SHIM, P_LAUNCH, DRIVER, CBID_LAUNCH,
		 XPU_FRAME_PYTHON | 41ull << 32 | 1);
	add_path(g, 0, P_COPY, DRIVER, CBID_COPY, APP + 0x120);
	add_path(g, XPU_CHAIN_TRUNCATED, P_SET, DRIVER, CBID_SET, LIBRARY + 0x40);
	add_path(g, 0, P_GRAPH, DRIVER, CBID_GRAPH, APP + 0x220);
	add_path(g, 0, P_NODE, DRIVER, CBID_LAUNCH, APP + 0x320);
	add_path(g, 0, P_SYNC, DRIVER, CBID_SYNC, APP + 0x420);
	add_path(g, 0, P_PENDING, DRIVER, CBID_LAUNCH, APP + 0x520);
	add_path(g, 0, P_REFUSED, DRIVER, CBID_LAUNCH, APP + 0x620);
	gen__callchain(g, XPU_CHAIN_FAILED, 3000, P_FAILED, 2, DRIVER, CBID_LAUNCH, NULL, 0);
	gen__callchain(g, XPU_CHAIN_CPU, 3000, P_CPU, 2, 0, 0, cpu, NR(cpu));
	gen__callchain(g, XPU_CHAIN_CPU | XPU_CHAIN_OFF, 3000, P_OFF, 2, 0, 0, off, NR(off));
	gen__callchain(g, XPU_CHAIN_CPU, 3000, P_ENTRY, 2, 0, 0, entry, NR(entry));
}

static void add_launches(struct gen *g)
{
	const struct xpu_launch in_ranges[] = {
		{ 1, P_LAUNCH, 0, 1 }, { 2, P_COPY, 500, 1 }, { 3, P_SET, 1000, 2 },
	};
	const uint32_t range_ids[] = { 2, 1, 0 };
	const struct xpu_launch launches[] = {
		{ 4, P_GRAPH, -100, 1 }, { 5, P_PENDING, 0, 2 }, { 6, P_FAILED, 100, 2 },
		{ 7, P_REFUSED, 200, 1 }, { 9, P_NODE, 300, 1 },
	};
	const struct xpu_range_event events[] = {
		{ 1, 1, 0, XPU_RANGE_PUSH, 0 }, { 2, 1, 100, XPU_RANGE_PUSH, 1 },
		{ 3, 1, 200, XPU_RANGE_MARK, 2 }, { 1, 1, 600, XPU_RANGE_POP, 1 },
		{ 4, 2, 0, XPU_RANGE_START, 0 }, { 0, 2, 900, XPU_RANGE_END, 0 },
		{ 5, 1, 1000, XPU_RANGE_MARK, 0 }, { 0, 1, 2000, XPU_RANGE_SET, 0 },
	};
	const struct xpu_range_payload init = {
		.comm = 0xc0ffee, .fields = XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_RANK |
		XPU_COLLECTIVE_NR_RANKS, .rank = 1, .nr_ranks = 2,
	}, reduce = {
		.comm = 0xc0ffee, .bytes = 1 << 20, .fields = XPU_COLLECTIVE_COMM |
		XPU_COLLECTIVE_BYTES | XPU_COLLECTIVE_ROOT | XPU_COLLECTIVE_OP, .root = 1, .op = 2,
	}, split = {
		.comm = 0xfeed, .bytes = 0xc0ffee,
		.fields = XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_RANK |
		XPU_COLLECTIVE_NR_RANKS | XPU_COLLECTIVE_KEY | XPU_COLLECTIVE_PARENT, .rank = 1,
		.nr_ranks = 2, .root = -7,
	};

	gen__range(g, 3900, 2, 1, 0, "", "step");
	gen__range(g, 3901, 2, 2, 1, "NCCL", "all;reduce");
	gen__range(g, 3902, 2, 3, 2, "", "here");
	gen__range(g, 3903, 2, 4, 0, "", "load");
	gen__nccl_range(g, 3904, 2, 5, 0, "ncclCommInitRank", &init);
	gen__nccl_range(g, 3905, 2, 6, 0, "ncclReduce", &reduce);
	gen__nccl_range(g, 3906, 2, 7, 0, "ncclCommSplit", &split);
	gen__ranges(g, 4000, events, NR(events));
	gen__launches_in(g, 4000, in_ranges, range_ids, NR(in_ranges));
	gen__graph_node(g, 4100, 51, 2, 9, P_NODE, 1);
	gen__launches(g, 6000, launches, NR(launches));
	gen__wait(g, XPU_WAIT_STREAM, 7000, 4000, P_SYNC, 1, 1, 7, 0);
	gen__wait(g, XPU_WAIT_WORK | XPU_WAIT_LAUNCH, 12000, 500, P_COPY, 2, 1, 7, 2);
}

static void add_reason(struct gen *g, uint32_t index, uint32_t name)
{
	const struct xpu_record_stall_reason rec = { .index = index, .name = name };

	gen__record(g, XPU_RECORD_STALL_REASON, 0, &rec, sizeof(rec), NULL, 0);
}

/* Adds samples of both kernels in two windows, and samples of one launch. */
static void add_stalls(struct gen *g)
{
	const struct xpu_stall stalls[] = {
		{ 0x40, 3, 30, 0 }, { 0x40, 4, 20, 0 }, { 0x1a0, 5, 10, 0 }, { 0x1a0, 9, 1, 0 },
	};
	struct xpu_record_stalls rec = {
		.begin_ns = 4500, .end_ns = 8000, .cubin_crc = 0xc0ffee, .context = 1,
		.function = S_KERNEL, .nr = NR(stalls),
	};
	const struct xpu_record_stalls_account account = {
		.context = 1, .total = 123, .others = 5, .dropped = 2, .nr_full = 1,
		.interval_cycles = 1 << 18, .recorded = 112, .begin_ns = 4500, .end_ns = 12000,
	};

	/* One function, whose first row is line 7 of saxpy.cu at 0x40. */
	static const uint8_t lines[] = {
		1, 0, 0, 0, 6, 0, 0, 0, 53, 0, 0, 0,		/* functions, names, table */
		37, 0, 0, 0, 0, 0, 0, 0,			/* the function's address */
		's', 'a', 'x', 'p', 'y', 0,
		49, 0, 0, 0, 2, 0, 24, 0, 0, 0, 16, 1, 0xf6, 0xf5, 10,
		0, 1, 1, 1, 1, 0, 0, 0, 1, 0,
		'm', '.', 'c', 'u', 0, 0, 0, 0, 0,
		0, 9, 2, 0x40, 0, 0, 0, 0, 0, 0, 0,		/* set_address */
		3, 6, 1,					/* advance_line, copy */
		2, 8, 0, 1, 1,					/* advance_pc, end_sequence */
	};
	const struct xpu_record_cubin cubin = {
		.crc = 0xc0ffee, .total_bytes = sizeof(lines), .bytes = sizeof(lines),
	};

	gen__string(g, S_STALL, "smsp__pcsamp_warps_issue_stalled_long_scoreboard");
	gen__string(g, S_STALL_NOT, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued");
	gen__string(g, S_WAIT, "smsp__pcsamp_warps_issue_stalled_wait");
	add_reason(g, 3, S_STALL);
	add_reason(g, 4, S_STALL_NOT);
	add_reason(g, 5, S_WAIT);
	gen__record(g, XPU_RECORD_CUBIN, 0, &cubin, sizeof(cubin), lines, sizeof(lines));
	gen__record(g, XPU_RECORD_STALLS, 0, &rec, sizeof(rec), stalls, sizeof(stalls));
	rec.begin_ns = 8000;
	rec.end_ns = 12000;
	rec.function = S_NODE;
	gen__record(g, XPU_RECORD_STALLS, 0, &rec, sizeof(rec), stalls, sizeof(stalls));
	rec.correlation_id = 4;
	rec.nr = 1;
	gen__record(g, XPU_RECORD_STALLS, XPU_MISC_STALLS_LAUNCH, &rec, sizeof(rec), stalls,
		    sizeof(stalls[0]));
	gen__record(g, XPU_RECORD_STALLS_ACCOUNT, 0, &account, sizeof(account), NULL, 0);
}

static void add_memory(struct gen *g)
{
	const struct xpu_alloc events[] = {
		{ .what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE },
		{ P_LAUNCH, 1, 2, 10, 0, XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0, 1, 0, 0x7f0000000000,
		  8 << 20 },
		{ P_COPY, 1, 2, 20, 1, XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0, 0, 0, 0x7f0000000000,
		  1 << 20 },
		{ P_COPY, 1, 2, 25, 2, XPU_ALLOC_TOTALS, XPU_SPACE_BLOCK, 0, 0, 0, 1 << 20,
		  8 << 20 },
		{ P_SET, 2, 0, 30, 4, XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0, 0, 0, 0x7f0000200000,
		  3 << 20 },
		{ P_COPY, 2, 0, 28, 3, XPU_ALLOC_FREED, XPU_SPACE_BLOCK, 0, 0, 0, 0x7f0000000000,
		  1 << 20 },
		{ P_LAUNCH, 1, 0, 40, 5, XPU_ALLOC_FAILED, XPU_SPACE_DEVICE, 0, 2, 0, 4096,
		  64 << 20 },
		{ P_GRAPH, 1, 0, 50, 6, XPU_ALLOC_MADE, XPU_SPACE_PINNED, XPU_ALLOC_NO_DEVICE, 1, 0,
		  0x5000, 100 },
		{ P_GRAPH, 1, 0, 60, 7, XPU_ALLOC_MADE, XPU_SPACE_GRAPHS, 0, 0, 0, 0x7e0000000000,
		  4 << 20 },
		{ 0, 0, 0, 70, 8, XPU_ALLOC_LEVEL, XPU_SPACE_UNUSED, 0, 0, 0, 0, 2 << 20 },
		{ 0, 0, 0, 70, 9, XPU_ALLOC_LEVEL, XPU_SPACE_GRAPHS, 0, 0, 0, 0, 4 << 20 },
		{ 0, 0, 0, 80, 10, XPU_ALLOC_LEVEL, XPU_SPACE_REST, 0, 0, 0, 80ull << 30,
		  500 << 20 },
	};
	const struct xpu_alloc carried[] = {
		{ .what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE },
		{ P_SET, 2, 0, 0, 0, XPU_ALLOC_MADE, XPU_SPACE_ARRAY, 0, 1, 0, 0x6000, 1 << 20 },
	};
	const struct xpu_record_allocs rec = {
		.time_ns = 12000, .order = 2, .proc_id = 2, .nr = NR(events),
	};
	const struct xpu_record_allocs before = {
		.time_ns = 1000, .order = 1, .proc_id = 2, .nr = NR(carried),
	};

	gen__record(g, XPU_RECORD_ALLOCS, XPU_MISC_ALLOCS_CARRIED, &before, sizeof(before), carried,
		    sizeof(carried));
	gen__record(g, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), events, sizeof(events));
}

static void add_device_work(struct gen *g)
{
	const struct xpu_record_counters counters = {
		.nr_batches = 1, .nr_launches = 9, .nr_kernels = 4, .nr_memcpys = 1,
		.nr_memsets = 1, .nr_dropped_cupti = 2, .nr_dropped_shim = 1, .nr_bad_times = 1,
		.nr_unfinished = 1, .nr_slots = 2, .nr_calls = 2, .nr_bad_calls = 1,
		.nr_ranges = 8, .nr_dropped_ranges = 1, .nr_taken = 3, .nr_allocs = 8,
	};
	const struct xpu_call calls[] = {
		{ 1, 1, 700, 0, XPU_CALL_RUNTIME | CBID_RUNTIME_LAUNCH },
		{ 3000, 10, 1000, 1, CBID_SYNC },
	};
	const struct xpu_record_window windows[] = {
		{ .time_ns = 900, .open_ns = 900, .number = 1 },
		{ .time_ns = 15000, .open_ns = 900, .number = 1, .nr_launches = 9 },
	};
	const struct xpu_record_migration migration = {
		.start_ns = 9000, .duration_ns = 40, .address = 0x7f00a0000000, .value = 65536,
		.number = 7, .source = XPU_ALLOC_NO_DEVICE, .target = 0,
	};
	const struct xpu_record_pmc pmc = {
		.start_ns = 5000, .value = 0x4059000000000000, .correlation_id = 1, .name = S_STEP,
	};
	const struct xpu_record_pycode code = {
		.id = 1, .name = S_PY_NAME, .filename = S_PY_FILE, .first_line = 40,
	};

	gen__batch_begin(g, 20000, 2, 103);
	gen__counters(g, &counters);
	gen__string(g, S_LAUNCH, "cuLaunchKernel");
	gen__api(g, DRIVER, CBID_LAUNCH, S_LAUNCH);
	gen__string(g, S_COPY, "cuMemcpyHtoDAsync_v2");
	gen__api(g, DRIVER, CBID_COPY, S_COPY);
	gen__string(g, S_SET, "cuMemsetD8Async");
	gen__api(g, DRIVER, CBID_SET, S_SET);
	gen__string(g, S_GRAPH, "cuGraphLaunch");
	gen__api(g, DRIVER, CBID_GRAPH, S_GRAPH);
	gen__string(g, S_SYNC, "cuStreamSynchronize");
	gen__api(g, DRIVER, CBID_SYNC, S_SYNC);
	gen__string(g, S_RUNTIME, "cudaLaunchKernel_v7000");
	gen__api(g, RUNTIME, CBID_RUNTIME_LAUNCH, S_RUNTIME);
	gen__string(g, S_KERNEL, "saxpy");
	gen__string(g, S_NODE, "_Z6reducePKfPf");
	gen__string(g, S_GPU, "NVIDIA Simulated");
	gen__string(g, S_MAIN, "main");
	gen__string(g, S_STEP, "Model::step(int)");
	gen__string(g, S_PY_NAME, "Model.forward");
	gen__string(g, S_PY_FILE, "/nonexistent/train.py");
	gen__record(g, XPU_RECORD_PYCODE, 0, &code, sizeof(code), NULL, 0);
	gen__limits(g, 0, S_GPU, uuid);
	gen__shape(g, S_KERNEL, &(struct xpu_shape){
		.grid = { 64, 2, 1 }, .block = { 256, 1, 1 }, .cluster = { 2, 1, 1 },
		.registers = 40, .static_bytes = 1024, .dynamic_bytes = 32768, .local_bytes = 16,
	});
	add_stalls(g);
	gen__stream(g, 1, 0, 1, 7);
	gen__record(g, XPU_RECORD_MIGRATION, XPU_MIGRATION_TO_DEVICE, &migration, sizeof(migration),
		    NULL, 0);
	gen__kernel(g, 0, 5000, 1500, 1, S_KERNEL, 1);
	gen__record(g, XPU_RECORD_PMC, 0, &pmc, sizeof(pmc), NULL, 0);
	gen__memcpy(g, 0, 7000, 300, 2, 1, 4096, 1);
	gen__memset(g, 0, 7500, 200, 3, 1, 512);
	g->node = 71;
	gen__kernel(g, XPU_MISC_GRAPH_NODE, 8000, 2500, 4, S_NODE, 1);
	g->node = 0;
	gen__graph_clone(g, 71, 51);
	gen__kernel(g, XPU_MISC_BAD_TIME, 0, 0, 6, S_KERNEL, 1);
	gen__kernel(g, 0, 11000, 100, 99, S_KERNEL, 1);		/* the record's launch is missing */
	gen__refused(g, 7, 700);
	gen__record(g, XPU_RECORD_WINDOW, XPU_MISC_WINDOW_OPEN, &windows[0], sizeof(windows[0]),
		    NULL, 0);
	gen__record(g, XPU_RECORD_WINDOW, 0, &windows[1], sizeof(windows[1]), NULL, 0);
	gen__calls(g, 4000, 100, calls, NR(calls));
	gen__label(g, 0, XPU_LABEL_BY_TORCH, XPU_LABEL_RANK, 5, NULL);
	gen__label(g, 0, XPU_LABEL_BY_TORCH, XPU_LABEL_LOCAL_RANK, 1, NULL);
	gen__label(g, 0, XPU_LABEL_BY_TORCH, XPU_LABEL_WORLD_SIZE, 8, NULL);
	gen__label(g, 0, XPU_LABEL_BY_TORCH, XPU_LABEL_LOCAL_SIZE, 4, NULL);
	gen__label(g, 0, XPU_LABEL_BY_SLURM, XPU_LABEL_NODE_RANK, 1, NULL);
	gen__label(g, 0, XPU_LABEL_BY_SLURM, XPU_LABEL_JOB, 0, "4711");
	gen__label(g, 0, XPU_LABEL_BY_SLURM, XPU_LABEL_STEP, 0, "0");
	gen__label(g, 0, XPU_LABEL_BY_SLURM, XPU_LABEL_NODE, 0, "node;1");
	gen__label(g, 0, XPU_LABEL_BY_KUBERNETES, XPU_LABEL_POD, 0, "train-0");
	gen__label(g, 0, XPU_LABEL_BY_KUBERNETES, XPU_LABEL_NAMESPACE, 0, "ml");
	gen__label(g, 0, XPU_LABEL_BY_TORCH, XPU_LABEL_RUN, 0, "run 7");
	gen__label(g, 0, XPU_LABEL_BY_TORCH, 999, 1, NULL);
	gen__message(g, XPU_MESSAGE_WARNING, "a message of the shim");
	gen__batch_end(g);
}

static void add_metrics(struct gen *g)
{
	static const uint8_t other[16] = "another GPU";
	static const float rows[][2] = { { 10, 0.5 }, { 60, 1.5 }, { NAN, 2 } }, clock = 1755;
	size_t i;

	gen__metric(g, 1, 0, XPU_METRIC_MEAN, uuid, "DRAM read", "%");
	gen__metric(g, 1, 1, XPU_METRIC_SUM, uuid, "energy", "J");
	gen__metric(g, 2, 0, XPU_METRIC_MEAN, other, "SM clock", "MHz");
	for (i = 0; i < NR(rows); i++)
		gen__metrics(g, 1, 4000 + 2000 * i, 2000, NR(rows[i]), rows[i]);
	gen__metrics(g, 2, 4000, 9000, 1, &clock);
	gen__metrics_end(g, 1, 1, NR(rows) + 1, 5000);
}

static void add_threads(struct gen *g)
{
	static uint8_t stack[200];
	static const uint8_t table[] = { 0x80, 0x00, 0x01 };
	const struct xpu_sample samples[] = {
		{ .path_id = P_CPU, .thread_id = 1, .delta_ns = 0, .cpu = 1 },
		{ .path_id = P_CPU, .thread_id = 2, .delta_ns = 10000, .cpu = 0 },
	};
	static const uint32_t ran_ns[] = { 1100, 900 };
	const struct xpu_thread_time time = {
		.run_ns = 10000, .nr_switches = 3,
		.off_ns = { [XPU_OFF_LOCK] = 5000, [XPU_OFF_RUNNABLE] = 2000 },
	};
	const uint64_t python[] = { XPU_WORD_PYTHON | 2ull << 32 | 1, 0x7ffffffff040 };
	uint64_t regs[XPU_NR_REGS] = { [XPU_REG_SP] = 0x7ffffffff000, [XPU_REG_IP] = APP + 0x20 };

	gen__samples(g, 9000, 1000000, samples, NR(samples));
	gen__samples_ran(g, 13400, 1000000, samples, ran_ns, NR(samples));
	gen__cpu_rest(g, 13600, 19000, 3000, 2, 1);
	gen__cpu_rest(g, 19300, 19300, 700, 2, 0);
	memset(stack, 0x11, sizeof(stack));
	gen__stack(g, 0, 13500, P_ENTRY, 1, 1000000, regs, stack, sizeof(stack), ~0ull);
	gen__pysource(g, 1, 11, "Model.forward", "/nonexistent/train.py", 40, table, sizeof(table));
	g->python = python;
	g->nr_python = NR(python);
	gen__stack(g, XPU_MISC_STACK_DELTA, 13600, 0, 1, 1000000, regs, stack, sizeof(stack), 1);
	g->nr_python = 0;
	gen__stack(g, 0, 13700, P_ENTRY, 1, 123456, regs, stack, sizeof(stack), ~0ull);
	gen__off_cpu(g, XPU_OFF_LOCK, 9700, 2, 5000, 4000, P_OFF, 2);
	gen__off(g, XPU_OFF_LOCK, 9700, 4000, P_OFF, 2);
	gen__off_sum(g, XPU_OFF_IO, 14000, 15000, 1, 1000, P_OFF, 2);
	gen__off_sum(g, XPU_OFF_IO, 15000, 17000, 3, 900, P_OFF, 2);
	gen__account(g, 2300, 19300, 2, &time);
}

/* Adds the records at the start of a recording's second file. */
static void add_part(struct gen *g)
{
	const struct xpu_record_part part = { .time_ns = 1000, .number = 1, .first_mono_ns = 1000 };
	const struct xpu_record_cut cut = { .time_ns = 1000 };
	const struct xpu_record_carried carried = { .proc_id = 2 };
	const struct xpu_record_launches rec = { .time_ns = 1500, .nr = 1 };
	const struct xpu_launch earlier = { 900, P_LAUNCH, 0, 1 };

	gen__record(g, XPU_RECORD_CUT, 0, &cut, sizeof(cut), NULL, 0);
	gen__record(g, XPU_RECORD_PART, 0, &part, sizeof(part), NULL, 0);
	gen__record(g, XPU_RECORD_CARRIED, XPU_MISC_CARRIED_FINAL, &carried, sizeof(carried), NULL,
		    0);
	gen__record(g, XPU_RECORD_EARLIER, 0, &rec, sizeof(rec), &earlier, sizeof(earlier));
	gen__batch_begin(g, 19000, 2, 103);
	gen__kernel(g, 0, 12600, 250, 900, S_KERNEL, 1);
	gen__batch_end(g);
}

/* Adds names of two addresses in the library, and of the chain in the last STACK. */
static void add_names(struct gen *g)
{
	static const char names[] =
		"/nonexistent/lib.so\0"
		"\xa0\x20" "\0" "\1wait_for(int)\0" "\1"
		"\x20" "\0" "\2set\0" "\3" "\3inner\0" "\4lib.c\0" "\x0c" "\2" "\4" "\x22";
	static const uint8_t stacks[] = {
		2, 0x88, 0xd6, 1, XPU_CHAIN_CPU, 1, 0, 1, 0x80, 0x81, 0x80, 0x04,
	};
	const struct xpu_record_names rec = {
		.nr = 2, .path_bytes = sizeof("/nonexistent/lib.so"),
		.bytes = sizeof(names) - 1 - sizeof("/nonexistent/lib.so"),
	};
	const struct xpu_record_unwound unwound = { .nr = 1, .bytes = sizeof(stacks) };

	gen__record(g, XPU_RECORD_NAMES, 0, &rec, sizeof(rec), names, sizeof(names) - 1);
	gen__record(g, XPU_RECORD_UNWOUND, 0, &unwound, sizeof(unwound), stacks, sizeof(stacks));
}

static void add_end(struct gen *g)
{
	const struct xpu_record_task exit = {
		.time_ns = 19300, .pid = 100, .tid = 102, .ppid = 50, .ptid = 50,
	};

	gen__record(g, XPU_RECORD_EXIT, 0, &exit, sizeof(exit), NULL, 0);
	gen__lost(g, 21000, XPU_LOST_LAUNCH, 2);
	gen__lost(g, 21000, XPU_LOST_SAMPLE, 1);
	gen__process_exit(g, 22000, 2, 100, 3 << 8);
	gen__end(g, 23000, 3 << 8);
}

int main(int argc, char **argv)
{
	bool skeleton = argc == 3 && !strcmp(argv[1], "--skeleton");
	bool plain = skeleton || (argc == 3 && !strcmp(argv[1], "--plain"));
	struct gen g = { 0 }, blocks = { 0 };
	const char *path;
	int err;

	if (argc < 2 || argc > 3) {
		fputs("usage: gen_corpus FILE [LEVEL] | --plain FILE | --skeleton FILE\n", stderr);
		return 2;
	}
	path = argv[plain ? 2 : 1];
	gen__header(&g);
	if (skeleton) {
		skeleton__records(&g, 1);
		goto save;
	}
	add_processes(&g);
	add_paths(&g);
	add_launches(&g);
	add_device_work(&g);
	add_threads(&g);
	add_memory(&g);
	add_metrics(&g);
	add_part(&g);
	add_end(&g);
	add_names(&g);
	if (!plain)
		gen__blocks(&blocks, &g, argc == 3 ? atoi(argv[2]) : 3, BLOCK_BYTES);
save:
	err = gen__save(plain ? &g : &blocks, path);
	if (err)
		fprintf(stderr, "gen_corpus: %s: %s\n", path, strerror(-err));
	gen__free(&g);
	gen__free(&blocks);
	return err ? 1 : 0;
}
