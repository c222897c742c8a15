// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Golden merges: this test makes recordings and the files that they name. xpumerge merges them in
 * each format, and the results are compared with the files in golden/ next to this file.
 *
 * After a change that is meant to change the output, XPU_UPDATE_GOLDEN=1 rewrites these files. Read
 * the difference before you commit it.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"
#include "tap.h"

#define FUNC		ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define NR(a)		(sizeof(a) / sizeof((a)[0]))

/*
 * Each function has 0x100 bytes. IN() is an address in the middle of a function, like a return
 * address.
 */
#define IN(file, function)	((file) + 0x100 * (function) + 0x20)

enum { APP = 0x400000, CUDART = 0x7f0000001000, CUDA = 0x7f1000001000, CUPTI = 0x7f2000001000,
       SHIM = 0x7f3000001000, PLUGIN = 0x7f4000001000 };

static const struct gen_symbol app[] = {
	{ "_start", 0x1000, 0x100, FUNC }, { "main", 0x1100, 0x100, FUNC },
	{ "_ZN5Model4stepEi", 0x1200, 0x100, FUNC }, { "_ZN5Model4loadEv", 0x1300, 0x100, FUNC },
	{ "worker;with\nodd\x80name", 0x1400, 0x100, FUNC },
};

enum { START, MAIN, STEP, LOAD, WORKER };

static const struct gen_symbol cudart[] = {
	{ "cudaLaunchKernel", 0x1000, 0x100, FUNC }, { "cudaMemcpyAsync", 0x1100, 0x100, FUNC },
	{ "cudaGraphLaunch", 0x1200, 0x100, FUNC }, { "inner", 0x1300, 0x100, FUNC },
};

static const struct gen_symbol cuda[] = {
	{ "cuLaunchKernel", 0x1000, 0x100, FUNC }, { "inner", 0x1100, 0x100, FUNC },
};

static const struct gen_symbol plugin_a[] = { { "plugin_a_run", 0x1000, 0x800, FUNC } };
static const struct gen_symbol plugin_b[] = { { "plugin_b_run", 0x1000, 0x800, FUNC } };

static const uint8_t gpu_a[16] = { 0xaa }, gpu_b[16] = { 0xbb };
static const uint8_t app_id[20] = { 1, 2, 3, 4 }, stale_id[20] = { 9 };

static char directory[400];

static const char *path(const char *name)
{
	static char text[512];

	snprintf(text, sizeof(text), "%s/%s", directory, name);
	return text;
}

static void add_elf(const char *name, const struct gen_symbol *symbols, size_t nr, const void *id,
		    size_t id_len)
{
	struct gen g = { 0 };

	gen__elf(&g, symbols, nr, id, id_len);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

static void add_maps(struct gen *g, uint64_t time_ns, uint32_t pid)
{
	gen__mmap(g, time_ns, pid, APP, 0x1000, 0x1000, path("app"), app_id, sizeof(app_id));
	gen__mmap(g, time_ns, pid, CUDART, 0x1000, 0x1000, path("libcudart.so.13"), NULL, 0);
	gen__mmap(g, time_ns, pid, CUDA, 0x1000, 0x1000, path("libcuda.so.1"), NULL, 0);
	gen__mmap(g, time_ns, pid, CUPTI, 0x1000, 0x1000, "/nonexistent/libcupti.so.13", NULL, 0);
	gen__mmap(g, time_ns, pid, SHIM, 0x1000, 0x1000, "/nonexistent/libxpushim.so", NULL, 0);
}

static void add_names(struct gen *g)
{
	gen__string(g, 1, "cuLaunchKernel");
	gen__api(g, 1, 307, 1);
	gen__string(g, 2, "cuMemcpyHtoDAsync_v2");
	gen__api(g, 1, 276, 2);
	gen__string(g, 3, "cuGraphLaunch");
	gen__api(g, 1, 514, 3);
	gen__string(g, 10, "_Z9vectorAddPKfS0_Pf");
	gen__string(g, 11, "plain_kernel");
	gen__string(g, 12, "odd;name\t\"quoted\\\xff");
	gen__string(g, 20, "NVIDIA H100");
}

/*
 * Adds a launch's call chain: shim, CUPTI, driver, runtime, and then two functions of the program.
 */
static void add_path(struct gen *g, uint16_t flags, uint64_t time_ns, uint32_t id, uint32_t proc,
		     uint32_t cbid, uint64_t api, uint64_t inner, uint64_t outer)
{
	const uint64_t frames[] = {
		SHIM + 0x10, IN(CUPTI, 3), IN(CUDA, 1), IN(CUDA, 0), IN(CUDART, 3), api, inner,
		outer, IN(APP, MAIN), IN(APP, START),
	};

	gen__callchain(g, flags, time_ns, id, proc, 1, cbid, frames, NR(frames));
}

/*
 * Makes a recording with nearly everything: threads, overlapping streams, two GPUs that two
 * processes number differently, a fork, an exec, two images with the same pid and correlation IDs,
 * a library that is replaced by another library at the same address, a graph, and several kinds of
 * losses.
 */
static void make_tour(const char *name)
{
	static const char cmdline[] = "./app\0--epochs\0" "2";
	struct xpu_record_counters c = {
		.nr_batches = 2, .nr_launches = 10, .nr_kernels = 9, .nr_memcpys = 1,
		.nr_dropped_cupti = 4,
	};
	struct xpu_launch launches[] = {
		{ 101, 1, 0, 1 }, { 102, 2, 100, 1 }, { 103, 3, 200, 2 }, { 104, 4, 300, 1 },
		{ 105, 5, 400, 1 }, { 107, 1, 500, 2 }, { 108, 8, 600, 1 },
	};
	struct gen g = { 0 };

	add_elf("app", app, NR(app), app_id, sizeof(app_id));
	add_elf("libcudart.so.13", cudart, NR(cudart), NULL, 0);
	add_elf("libcuda.so.1", cuda, NR(cuda), NULL, 0);
	add_elf("plugin_a.so", plugin_a, NR(plugin_a), NULL, 0);
	add_elf("plugin_b.so", plugin_b, NR(plugin_b), NULL, 0);
	add_elf("stale.so", plugin_a, NR(plugin_a), app_id, sizeof(app_id));

	gen__header(&g);
	gen__info(&g, XPU_INFO_VERSION, "0.1.0", 5);
	gen__info(&g, XPU_INFO_HOSTNAME, "node1", 5);
	gen__info(&g, XPU_INFO_CMDLINE, cmdline, sizeof(cmdline) - 1);

	/* pid 100 is started and execs; its thread 101 is named. */
	gen__process(&g, XPU_MISC_PROCESS_ROOT, 90, 1, 100, 0, "xpuload");
	gen__fork(&g, 80, 100, 100, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 100, 100, "app");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 2, 100, 1, "app");
	add_maps(&g, 97, 100);
	gen__mmap(&g, 98, 100, PLUGIN, 0x1000, 0x1000, path("plugin_a.so"), NULL, 0);
	gen__fork(&g, 200, 100, 101, 100, 100);
	gen__comm(&g, 0, 210, 100, 101, "loader;thread");
	gen__thread(&g, 1, 2, 100);
	gen__thread(&g, 2, 2, 101);
	add_path(&g, 0, 1000, 1, 2, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	add_path(&g, 0, 1000, 2, 2, 276, IN(CUDART, 1), IN(APP, LOAD), IN(APP, STEP));
	add_path(&g, XPU_CHAIN_TRUNCATED, 1000, 3, 2, 307, IN(CUDART, 0), IN(APP, WORKER), 0x1234);
	add_path(&g, XPU_CHAIN_SHIM, 1000, 4, 2, 514, IN(CUDART, 2), IN(APP, STEP), IN(APP, STEP));
	gen__callchain(&g, XPU_CHAIN_FAILED, 1000, 5, 2, 3, 77, NULL, 0);
	add_path(&g, 0, 1000, 8, 2, 307, IN(CUDART, 0), PLUGIN + 0x40, IN(APP, STEP));
	gen__launches(&g, 1000, launches, NR(launches));

	gen__batch_begin(&g, 9000, 2, 102);
	c.nr_batches = 1;
	gen__counters(&g, &c);
	add_names(&g);
	gen__device(&g, 0, 20, gpu_a);
	gen__device(&g, 1, 20, gpu_b);
	gen__stream(&g, 1, 0, 1, 7);
	gen__stream(&g, 2, 1, 2, 13);
	gen__kernel(&g, 0, 3000, 2500, 101, 10, 1);
	/* This kernel overlaps the previous one in the same stream. */
	gen__kernel(&g, 0, 4000, 2500, 103, 12, 1);
	gen__memcpy(&g, 0, 2000, 900, 102, 1, 1 << 20, 1);
	gen__kernel(&g, XPU_MISC_GRAPH_NODE, 7000, 300, 104, 10, 2);
	gen__kernel(&g, XPU_MISC_GRAPH_NODE, 7300, 300, 104, 11, 2);
	gen__memset(&g, XPU_MISC_GRAPH_NODE, 7600, 50, 104, 2, 4096);
	gen__message(&g, XPU_MESSAGE_WARNING, "torch.profiler holds CUPTI\x1b[31m");
	gen__batch_end(&g);
	gen__batch_begin(&g, 9500, 2, 102);
	c.nr_batches = 2;
	gen__counters(&g, &c);
	gen__kernel(&g, XPU_MISC_BAD_TIME, 0, 0, 105, 11, 1);
	/* The next kernel has no launch. */
	gen__kernel(&g, 0, 8000, 700, 999, 11, 1);
	gen__kernel(&g, 0, 8800, 400, 108, 11, 2);
	gen__batch_end(&g);

	/* Since the earlier launch from path 8, plugin_b.so has replaced the library at PLUGIN. */
	gen__mmap(&g, 10000, 100, PLUGIN, 0x1000, 0x1000, path("plugin_b.so"), NULL, 0);
	gen__launch(&g, 11000, 109, 8, 1);
	gen__batch_begin(&g, 12000, 2, 102);
	gen__kernel(&g, 0, 11500, 400, 109, 11, 2);
	gen__batch_end(&g);

	/*
	 * The process execs. Its pid, ids and addresses stay; the files differ, and the GPUs are
	 * swapped.
	 */
	gen__comm(&g, XPU_MISC_COMM_EXEC, 20000, 100, 100, "second");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 20001, 3, 100, 2, "second");
	add_maps(&g, 20002, 100);
	gen__mmap(&g, 20003, 100, PLUGIN, 0x1000, 0x1000, path("stale.so"), stale_id,
		  sizeof(stale_id));
	gen__thread(&g, 3, 3, 100);
	gen__launch(&g, 21000, 101, 9, 3);
	/* A path may be recorded after its first use. */
	add_path(&g, 0, 21000, 9, 3, 307, IN(CUDART, 0), PLUGIN + 0x40, IN(APP, LOAD));
	gen__batch_begin(&g, 29000, 3, 103);
	add_names(&g);
	gen__device(&g, 0, 20, gpu_b);
	gen__stream(&g, 1, 0, 1, 7);
	gen__kernel(&g, 0, 22000, 100, 101, 10, 1);
	gen__batch_end(&g);

	/* A child that never execs has its parent's mappings. */
	gen__fork(&g, 23000, 200, 200, 100, 100);
	gen__process(&g, XPU_MISC_PROCESS_FORK, 23001, 4, 200, 3, "second");
	gen__comm(&g, 0, 23010, 200, 200, "child");
	gen__thread(&g, 4, 4, 200);
	add_path(&g, 0, 24000, 10, 4, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, LOAD));
	gen__batch_begin(&g, 29500, 4, 200);
	add_names(&g);
	gen__device(&g, 0, 20, gpu_a);
	gen__stream(&g, 1, 0, 1, 7);
	/* The launch of this kernel comes later in the file. */
	gen__kernel(&g, 0, 24500, 1234, 101, 11, 1);
	gen__batch_end(&g);
	gen__launch(&g, 24000, 101, 10, 4);

	gen__lost(&g, 29999, XPU_LOST_BATCH, 1);
	gen__end(&g, 30000, 0);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

/*
 * Makes a recording of a program without problems: nothing is lost, one GPU, every frame has a
 * name.
 */
static void make_clean(const char *name)
{
	struct xpu_launch launches[] = { { 1, 1, 0, 1 }, { 2, 1, 1000, 1 }, { 3, 2, 2000, 1 } };
	struct xpu_record_counters c = {
		.nr_batches = 1, .nr_launches = 3, .nr_kernels = 2, .nr_memcpys = 1,
	};
	struct gen g = { 0 };

	gen__header(&g);
	gen__fork(&g, 80, 100, 100, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 100, 100, "app");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 1, 100, 0, "app");
	add_maps(&g, 97, 100);
	gen__thread(&g, 1, 1, 100);
	add_path(&g, 0, 1000, 1, 1, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	add_path(&g, 0, 1000, 2, 1, 276, IN(CUDART, 1), IN(APP, LOAD), IN(APP, LOAD));
	gen__launches(&g, 1000, launches, NR(launches));
	gen__batch_begin(&g, 9000, 1, 102);
	gen__counters(&g, &c);
	add_names(&g);
	gen__stream(&g, 1, 0, 1, 7);
	gen__kernel(&g, 0, 10000, 1499, 1, 10, 1);
	gen__kernel(&g, 0, 12000, 1000, 2, 10, 1);
	/* This copy is too short to show in microseconds. */
	gen__memcpy(&g, 0, 13000, 499, 3, 1, 64, 1);
	gen__batch_end(&g);
	gen__end(&g, 30000, 3 << 8);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

/*
 * Makes a recording of a graph that is instantiated and launched. One of its two nodes was captured
 * by another thread, and one was added explicitly. The recording also has a node of a graph that
 * was made before the recording. The process runs before and after the recording.
 */
static void make_graph(const char *name)
{
	struct xpu_launch launches[] = {
		{ 10, 1, 0, 2 }, { 20, 2, 1000, 1 }, { 30, 2, 2000, 1 }, { 40, 3, 3000, 1 },
	};
	struct xpu_record_counters c = {
		.nr_batches = 40, .nr_launches = 5000, .nr_kernels = 5000, .nr_slots = 1,
	};
	struct gen g = { 0 };

	gen__header(&g);
	gen__process(&g, XPU_MISC_PROCESS_ATTACH, 96, 1, 100, 0, "app");
	gen__comm(&g, 0, 97, 100, 101, "capturer");
	add_maps(&g, 97, 100);
	gen__thread(&g, 1, 1, 100);
	gen__thread(&g, 2, 1, 101);
	add_path(&g, XPU_CHAIN_SHIM, 1000, 1, 1, 307, IN(CUDART, 0), IN(APP, LOAD), IN(APP, STEP));
	add_path(&g, XPU_CHAIN_SHIM, 1000, 2, 1, 514, IN(CUDART, 2), IN(APP, STEP), IN(APP, STEP));
	add_path(&g, XPU_CHAIN_SHIM, 1000, 3, 1, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	/*
	 * The explicitly added node: its callback has no name, and its stack has no runtime frames.
	 */
	gen__callchain(&g, XPU_CHAIN_SHIM, 1000, 4, 1, 3, 13,
		       (const uint64_t[]){ IN(CUDA, 1), IN(APP, LOAD), IN(APP, MAIN) }, 3);
	gen__graph_node(&g, 1000, 0x10, 1, 10, 1, 2);
	gen__graph_node(&g, 1001, 0x11, 1, 0, 4, 1);
	gen__graph_node(&g, 1002, 0x20, 1, 0, 4, 1);
	gen__graph_node(&g, 1003, 0x21, 1, 0, 4, 1);
	gen__launches(&g, 1000, launches, NR(launches));
	gen__batch_begin(&g, 9000, 1, 102);
	gen__counters(&g, &c);
	add_names(&g);
	gen__stream(&g, 1, 0, 1, 7);
	gen__graph_clone(&g, 0x20, 0x10);
	gen__graph_clone(&g, 0x21, 0x11);
	gen__refused(&g, 99, 1);		/* a refusal whose launch is not recorded */
	gen__kernel(&g, 0, 1900, 10000, 5, 11, 1);
	g.node = 0x20;
	gen__kernel(&g, XPU_MISC_GRAPH_NODE, 12000, 1000, 20, 10, 1);
	gen__kernel(&g, XPU_MISC_GRAPH_NODE, 14000, 3000, 30, 10, 1);
	g.node = 0x21;
	gen__memset(&g, XPU_MISC_GRAPH_NODE, 17000, 5000, 20, 1, 4096);
	g.node = 0x99;
	gen__kernel(&g, XPU_MISC_GRAPH_NODE, 22000, 7000, 20, 11, 1);
	gen__batch_end(&g);
	gen__end(&g, 30000, 0);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

/*
 * Adds samples as stack copies. They are unwound by frame pointers, because these files have no
 * unwind tables.
 */
static void add_stacks(struct gen *g, uint32_t period_ns)
{
	enum { STACK = 0x7ffc00000018, WORDS = 40 };
	uint64_t regs[XPU_NR_REGS] = {
		[XPU_REG_SP] = STACK, [XPU_REG_BP] = STACK + 8, [XPU_REG_IP] = IN(APP, STEP),
	};
	uint64_t stack[WORDS] = {
		/*
		 * [1] is the caller's frame pointer, and [2] is the caller's return address. [20]
		 * and [21] belong to the next caller, and so on.
		 */
		[1] = STACK + 8 * 20, [2] = IN(APP, LOAD), [20] = STACK + 8 * 30,
		[21] = IN(APP, MAIN), [30] = 0, [31] = IN(APP, START),
	};

	/*
	 * Python frames of two interpreter loops: one called by the innermost function, one by
	 * main(). Code 9 was not readable.
	 */
	const uint64_t python[] = {
		XPU_WORD_PYTHON | 1ull << 32 | 1, XPU_WORD_PYTHON | 3ull << 32 | 2, STACK + 8,
		XPU_WORD_PYTHON | 0ull << 32 | 9, STACK + 8 * 25,
	};
	/*
	 * The line table of Python 3.10: the first two bytes of code are on the first line, the
	 * next four are two lines further, and so on.
	 */
	const uint8_t table_310[] = { 2, 0, 4, 2, 2, 0x80 };
	/*
	 * The line table of Python 3.11: short forms, which stay on one line; then a step of one
	 * line.
	 */
	const uint8_t table_311[] = { 0x80, 0x00, 0xd8, 0x04, 0x05 };

	gen__pysource(g, 1, 10, "inner", "/src/train.py", 10, table_310, sizeof(table_310));
	gen__pysource(g, 2, 12, "Model.\xe9tape", "/src/model.py", 20, table_311,
		      sizeof(table_311));
	gen__stack(g, 0, 6000, 0, 1, period_ns, regs, stack, sizeof(stack), 0);
	g->python = python;
	g->nr_python = NR(python);
	gen__stack(g, 0, 6010, 0, 1, period_ns, regs, stack, sizeof(stack), 0);
	g->nr_python = 0;
	/*
	 * A sample in the kernel. One block of the stack has changed: the walk reaches the same
	 * root through other frames.
	 */
	stack[2] = IN(APP, WORKER);
	gen__stack(g, XPU_MISC_STACK_DELTA, 6100, 7, 1, period_ns, regs, stack, sizeof(stack), 1);
	/* The stack is 64 bytes deeper, and the copy ends before the root. */
	regs[XPU_REG_SP] -= 64;
	memmove(stack + 8, stack, sizeof(stack) - 64);
	gen__stack(g, XPU_MISC_STACK_DELTA, 6200, 0, 1, period_ns, regs, stack, 31 * 8, 3);
	/* This stack is relative to an earlier stack, but the thread has no earlier stack. */
	gen__stack(g, XPU_MISC_STACK_DELTA, 6300, 0, 2, period_ns, regs, stack, sizeof(stack), 3);
	/* A stack that could not be read at all, and a thread that does not exist. */
	gen__stack(g, 0, 6400, 0, 2, period_ns, regs, stack, 0, 0);
	gen__stack(g, 0, 6500, 0, 77, period_ns, regs, stack, 0, 0);
}

/*
 * Makes thread accounts. Thread 1 launches a kernel every millisecond and waits for every second
 * kernel; between launches it reads, sleeps or runs. Thread 2 only waits for a lock.
 */
static void make_off(const char *name)
{
	enum { SP = 0x7ffc00000000 };
	static const uint64_t k = 0xffffffff81000000;
	const uint64_t reads[] = { k + 0x20, k + 0x120, k + 0x220, IN(APP, LOAD), IN(APP, MAIN),
				   IN(APP, START) };
	const uint64_t locks[] = { k + 0x120, IN(APP, WORKER), IN(APP, START) };
	const uint64_t runs[] = { IN(APP, STEP), IN(APP, MAIN), IN(APP, START) };
	/* MAIN calls Python. The call chain, which follows frame pointers, has no Python frame. */
	const uint64_t astray[] = { k + 0x20, k + 0x120, k + 0x220, IN(APP, STEP), 0x1234 };
	const uint64_t python[] = { XPU_WORD_PYTHON | 1ull << 32 | 1, XPU_WORD_PYTHON | 2,
				    SP + 40 };
	const uint64_t stack[] = { [1] = SP + 64, [2] = IN(APP, LOAD), [8] = SP + 96,
				   [9] = IN(APP, MAIN), [12] = 0, [13] = IN(APP, START) };
	const uint64_t regs[XPU_NR_REGS] = {
		[XPU_REG_SP] = SP, [XPU_REG_BP] = SP + 8, [XPU_REG_IP] = IN(APP, STEP),
	};
	const uint8_t table[] = { 2, 0, 4, 2, 2, 0x80 };
	const struct xpu_thread_time first = {
		.run_ns = 21000000, .nr_switches = 44,
		.off_ns = {
			[XPU_OFF_IO] = 24000000, [XPU_OFF_SLEEP] = 5000000,
			[XPU_OFF_RUNNABLE] = 2000000, [XPU_OFF_CALL] = 3000000,
		},
	};
	const struct xpu_thread_time second = {
		.run_ns = 1000000, .nr_switches = 3, .off_ns = { [XPU_OFF_LOCK] = 39000000 },
	};
	struct xpu_sample samples[20];
	struct gen g = { 0 };
	uint64_t t;
	uint32_t i;

	gen__header(&g);
	gen__fork(&g, 80, 100, 100, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 100, 100, "app");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 1, 100, 0, "app");
	add_maps(&g, 97, 100);
	gen__fork(&g, 200, 100, 101, 100, 100);
	gen__thread(&g, 1, 1, 100);
	gen__thread(&g, 2, 1, 101);
	gen__ksym(&g, k, k + 0x100, "__schedule");
	gen__ksym(&g, k + 0x100, k + 0x200, "schedule");
	gen__ksym(&g, k + 0x200, k + 0x300, "ksys_read");
	add_path(&g, 0, 1000, 1, 1, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	add_path(&g, 0, 1000, 2, 1, 126, IN(CUDART, 3), IN(APP, MAIN), IN(APP, MAIN));
	gen__callchain(&g, XPU_CHAIN_CPU | XPU_CHAIN_OFF, 1000, 3, 1, 0, 0, reads, NR(reads));
	gen__callchain(&g, XPU_CHAIN_CPU | XPU_CHAIN_OFF, 1000, 4, 1, 0, 0, locks, NR(locks));
	gen__callchain(&g, XPU_CHAIN_CPU, 1000, 5, 1, 0, 0, runs, NR(runs));
	gen__pysource(&g, 1, 10, "read", "/src/loader.py", 10, table, sizeof(table));
	gen__pysource(&g, 2, 10, "next", "/src/loader.py", 20, table, sizeof(table));
	gen__callchain(&g, XPU_CHAIN_CPU | XPU_CHAIN_OFF, 1000, 6, 1, 0, 0, astray, NR(astray));
	g.python = python;
	g.nr_python = NR(python);
	gen__stack(&g, 0, 1000, 6, 1, 0, regs, stack, sizeof(stack), 0);
	gen__batch_begin(&g, 9000, 1, 102);
	add_names(&g);
	gen__stream(&g, 1, 0, 1, 7);
	gen__stream(&g, 2, 0, 1, 8);
	for (i = 0; i < 20; i++) {
		t = 1000000ull * (i + 1);
		gen__kernel(&g, 0, t, 400000, i + 1, 11, 1 + i % 2);
		/* This kernel runs at the same time, in the other stream. */
		gen__kernel(&g, 0, t + 300000, 200000, i + 101, 12, 2 - i % 2);
		samples[i] = (struct xpu_sample){ 5, 1, 1000000 * i, 0, 0 };
	}
	gen__batch_end(&g);
	for (i = 0; i < 20; i++) {
		t = 1000000ull * (i + 1);
		gen__launch(&g, t - 1000, i + 1, 1, 1);
		gen__launch(&g, t - 500, i + 101, 1, i == 19 ? 2 : 1);
		if (i % 2)	/* the wait lasts 100 us longer than the kernel */
			gen__wait(&g, i % 4 == 1 ? 0 : XPU_WAIT_STREAM, t + 100000, 500000, 2, 1, 1,
				  8, 0);
		else
			gen__off(&g, i % 4 ? XPU_OFF_SLEEP : XPU_OFF_IO, t + 600000, 300000,
				 i % 4 ? 0 : 3, 1);
	}
	gen__samples(&g, 1950000, 1000000, samples, NR(samples));
	gen__off_cpu(&g, XPU_OFF_IO, 20000000, 5, 24000000, 9000000, 3, 1);
	gen__off_cpu(&g, XPU_OFF_IO, 20000000, 1, 1000000, 1000000, 6, 1);
	gen__off_cpu(&g, XPU_OFF_SLEEP, 20000000, 5, 5000000, 1000000, 0, 1);
	gen__off_cpu(&g, XPU_OFF_LOCK, 20000000, 2, 39000000, 38000000, 4, 2);
	gen__off_cpu(&g, XPU_OFF_NR, 20000000, 1, 1, 1, 4, 2);
	gen__account(&g, 0, 55000000, 1, &first);
	gen__account(&g, 200, 40000200, 2, &second);
	gen__account(&g, 200, 40000200, 77, &second);
	gen__end(&g, 60000000, 0);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

/*
 * Makes a recording with CPU samples and launches: two threads, one of which changes its name;
 * samples in the program, in CUDA, in the kernel with and without a kernel symbol, and in no
 * mapping; and a thousand kernels of 1 us.
 */
static void make_cpu(const char *name)
{
	enum { KERNEL = 0x100, PERIOD = 1001001 };	/* the sampling period of -F 999, in ns */
	static const uint64_t k = 0xffffffff81000000;
	const uint64_t in_app[] = { IN(APP, STEP), IN(APP, MAIN), IN(APP, START) };
	const uint64_t in_cuda[] = { IN(CUDA, 1), IN(CUDART, 3), IN(CUDART, 0), IN(APP, STEP),
				     IN(APP, MAIN), IN(APP, START) };
	/*
	 * The first address was sampled, so it belongs to the function that begins there. As a
	 * return address, it would belong to the previous function.
	 */
	const uint64_t in_kernel[] = { k + KERNEL, k + 2 * KERNEL + 0x20, APP + 0x100 * LOAD,
				       IN(APP, MAIN), IN(APP, START) };
	/* A kernel address after the program's first frame belongs to no function. */
	const uint64_t unnamed[] = { k + 0x9000, IN(APP, WORKER), k + KERNEL, IN(APP, MAIN) };
	struct xpu_record_counters c = {
		.nr_batches = 1, .nr_launches = 1000, .nr_kernels = 1000,
	};
	struct xpu_sample samples[] = {
		{ 2, 1, 0, 0, 0 }, { 2, 1, 100, 1, 0 }, { 2, 2, 150, 0, 0 }, { 3, 1, 200, 0, 0 },
		{ 4, 1, 300, 0, 0 }, { 5, 2, 350, 1, 0 }, { 6, 1, 400, 0, 0 }, { 2, 2, 900, 0, 0 },
		{ 99, 1, 950, 0, 0 },
	};
	struct xpu_launch launches[1000];
	struct gen g = { 0 };
	uint32_t i;

	gen__header(&g);
	gen__fork(&g, 80, 100, 100, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 100, 100, "app");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 1, 100, 0, "app");
	add_maps(&g, 97, 100);
	gen__fork(&g, 200, 100, 101, 100, 100);
	gen__comm(&g, 0, 5500, 100, 101, "renamed");
	gen__thread(&g, 1, 1, 100);
	gen__thread(&g, 2, 1, 101);
	gen__ksym(&g, k + 2 * KERNEL, k + 3 * KERNEL, "do_syscall_64");
	gen__ksym(&g, k + KERNEL, k + 2 * KERNEL, "ksys_read");
	gen__ksym(&g, k, k + KERNEL, "before");
	add_path(&g, 0, 1000, 1, 1, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	gen__callchain(&g, XPU_CHAIN_CPU, 1000, 2, 1, 0, 0, in_app, NR(in_app));
	gen__callchain(&g, XPU_CHAIN_CPU, 1000, 3, 1, 0, 0, in_cuda, NR(in_cuda));
	gen__callchain(&g, XPU_CHAIN_CPU, 1000, 4, 1, 0, 0, in_kernel, NR(in_kernel));
	gen__callchain(&g, XPU_CHAIN_CPU | XPU_CHAIN_TRUNCATED, 1000, 5, 1, 0, 0, unnamed,
		       NR(unnamed));
	gen__callchain(&g, XPU_CHAIN_CPU | XPU_CHAIN_FAILED, 1000, 6, 1, 0, 0, NULL, 0);
	gen__callchain(&g, XPU_CHAIN_CPU, 1000, 7, 1, 0, 0, in_kernel, 2);
	gen__samples(&g, 5000, PERIOD, samples, NR(samples));
	add_stacks(&g, PERIOD);
	for (i = 0; i < NR(launches); i++)
		launches[i] = (struct xpu_launch){ i + 1, 1, i, 1 };
	gen__launches(&g, 1000, launches, NR(launches));
	gen__batch_begin(&g, 9000, 1, 102);
	gen__counters(&g, &c);
	add_names(&g);
	gen__stream(&g, 1, 0, 1, 7);
	for (i = 0; i < NR(launches); i++)
		gen__kernel(&g, 0, 10000 + 1000 * i, 1000, i + 1, 11, 1);
	gen__batch_end(&g);
	gen__lost(&g, 29999, XPU_LOST_SAMPLE, 3);
	gen__end(&g, 30000, 0);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

/*
 * Makes a recording of API calls. Some are made by a thread that launches, others by a thread that
 * does not. They are calls of the runtime and of the driver, a call inside another call, a call of
 * five seconds, a call without a name, and calls of a process in its own pid namespace. One launch
 * has no call, one call is missing, and one call has no times.
 */
static void make_api(const char *name)
{
	enum { R = XPU_CALL_RUNTIME, SYNC = 131, LAUNCH = 211, GET = 10, FREE = 295 };
	struct xpu_launch launches[] = { { 1, 1, 0, 1 }, { 2, 1, 2000, 1 }, { 3, 1, 4000, 1 } };
	struct xpu_launch far[] = { { 1, 2, 500, 2 } };
	/* Calls in the order of their ends. The first call began before the others did. */
	const struct xpu_call main_calls[] = {
		{ -100, 1, 400, 0, LAUNCH | R }, { 500, 4, 5, 0, GET | R },
		{ 505, 5, 0, 0, GET | R }, { 1800, 2, 700, 0, LAUNCH | R },
		{ 3000, 6, 100, 0, FREE }, { 2900, 7, 300, 0, 999 },
		{ 6000, 8, 5000000000 % (1ull << 32), 5000000000 >> 32, SYNC | R },
	};
	const struct xpu_call other_calls[] = { { 0, 9, 20, 0, GET | R } };
	const struct xpu_call far_calls[] = { { 400, 1, 300, 0, LAUNCH | R } };
	const struct xpu_call unknown_calls[] = { { 600, 2, 30, 0, GET | R } };
	struct xpu_record_counters c = {
		.nr_batches = 1, .nr_launches = 3, .nr_kernels = 3, .nr_calls = 9,
		.nr_bad_calls = 1,
	};
	struct gen g = { 0 };

	gen__header(&g);
	gen__fork(&g, 80, 100, 100, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 100, 100, "app");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 1, 100, 0, "app");
	add_maps(&g, 97, 100);
	gen__fork(&g, 200, 100, 101, 100, 100);
	gen__comm(&g, 0, 300, 100, 101, "reader");
	gen__fork(&g, 80, 200, 200, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 200, 200, "far");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 2, 200, 0, "far");
	add_maps(&g, 97, 200);
	gen__fork(&g, 200, 200, 201, 200, 200);
	gen__comm(&g, 0, 300, 200, 201, "launcher");
	gen__thread(&g, 1, 1, 100);
	gen__thread(&g, 2, 2, 201);
	g.ns_tid = 7;
	gen__thread(&g, 2, 2, 201);
	add_path(&g, 0, 1000, 1, 1, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	add_path(&g, 0, 1000, 2, 2, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	gen__launches(&g, 10000, launches, NR(launches));
	gen__launches(&g, 10000, far, NR(far));
	g.ns_tid = 102;
	gen__batch_begin(&g, 90000, 1, 102);
	gen__counters(&g, &c);
	add_names(&g);
	gen__string(&g, 30, "cudaLaunchKernel_v7000");
	gen__api(&g, 2, LAUNCH, 30);
	gen__string(&g, 31, "cudaGetLastError_v3020");
	gen__api(&g, 2, GET, 31);
	gen__string(&g, 32, "cudaStreamSynchronize_v3020");
	gen__api(&g, 2, SYNC, 32);
	gen__string(&g, 33, "cuMemFree_v2");
	gen__api(&g, 1, FREE, 33);
	gen__stream(&g, 1, 0, 1, 7);
	gen__kernel(&g, 0, 11000, 1000, 1, 10, 1);
	gen__kernel(&g, 0, 13000, 1000, 2, 10, 1);
	gen__kernel(&g, 0, 15000, 1000, 3, 11, 1);
	gen__calls(&g, 10000, 100, main_calls, NR(main_calls));
	gen__calls(&g, 12345, 101, other_calls, NR(other_calls));
	gen__batch_end(&g);
	g.ns_tid = 9;
	gen__batch_begin(&g, 90000, 2, 202);
	add_names(&g);
	gen__string(&g, 30, "cudaLaunchKernel_v7000");
	gen__api(&g, 2, LAUNCH, 30);
	gen__string(&g, 31, "cudaGetLastError_v3020");
	gen__api(&g, 2, GET, 31);
	gen__stream(&g, 1, 0, 1, 7);
	gen__kernel(&g, 0, 17000, 1000, 1, 10, 1);
	gen__calls(&g, 10000, 7, far_calls, NR(far_calls));
	gen__calls(&g, 10000, 8, unknown_calls, NR(unknown_calls));
	gen__batch_end(&g);
	gen__end(&g, 5000100000, 0);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

/* Return: the contents of a file, with DIR instead of this directory's name, which varies. */
static char *slurp(const char *name)
{
	FILE *f = fopen(name, "r");
	char *text = NULL, *at;
	size_t size = 0, len = strlen(directory);

	if (!f)
		return NULL;
	if (getdelim(&text, &size, EOF, f) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(f);
	while ((at = strstr(text, directory))) {
		memcpy(at, "DIR", 3);
		memmove(at + 3, at + len, strlen(at + len) + 1);
	}
	return text;
}

/*
 * Makes NVTX ranges of two threads: nested ranges, ranges of domains, ranges with the same name, a
 * range that ends before an inner range, a mark, ranges that are never closed, a range without a
 * definition, and missing events.
 */
static void make_nvtx(const char *name)
{
	enum { FORWARD = 1, LAYER, SAME, ALL_REDUCE, LOADER, LATE, LATE_ALONE, MARK, UNKNOWN = 77 };
	const struct xpu_range_event first[] = {
		{ FORWARD, 1, 0, XPU_RANGE_PUSH, 0 },
		{ LAYER, 1, 100, XPU_RANGE_PUSH, 0 },
		{ SAME, 1, 200, XPU_RANGE_PUSH, 0 },
		{ LAYER, 1, 300, XPU_RANGE_POP, 2 },
		{ FORWARD, 1, 400, XPU_RANGE_POP, 1 },
		{ MARK, 1, 450, XPU_RANGE_MARK, 0 },
		{ ALL_REDUCE, 1, 500, XPU_RANGE_PUSH, 0 },
		{ FORWARD, 1, 600, XPU_RANGE_POP, 1 },
		{ LAYER, 1, 700, XPU_RANGE_PUSH, 0 },
		{ 0, 1, 1000, XPU_RANGE_SET, 0 },	/* two events are missing */
		{ 0, 77, 0, XPU_RANGE_PUSH, 0 },
	};
	const struct xpu_range_event second[] = {
		{ LOADER, 2, 0, XPU_RANGE_START, 0 },
		{ LATE, 2, 1000, XPU_RANGE_PUSH, 0 },
		{ LATE_ALONE, 2, 2000, XPU_RANGE_END, 0 },
		{ 0, 2, 3000, XPU_RANGE_POP, 0 },
		{ UNKNOWN, 2, 4000, XPU_RANGE_PUSH, 0 },
	};
	const struct xpu_launch launches[] = {
		{ 1, 1, 0, 1 }, { 2, 1, 250, 1 }, { 3, 1, 550, 1 }, { 4, 1, 800, 1 },
		{ 5, 1, 2000, 1 }, { 6, 1, 1500, 2 }, { 7, 1, 2500, 2 }, { 8, 1, 4500, 2 },
		{ 9, 2, 260, 1 },
	};
	const uint32_t range_ids[] = {
		FORWARD, SAME, ALL_REDUCE, LAYER, 0, LATE, LATE_ALONE, UNKNOWN, SAME,
	};
	const uint64_t runs[] = { IN(APP, STEP), IN(APP, MAIN), IN(APP, START) };
	const struct xpu_sample samples[] = {
		{ .path_id = 3, .thread_id = 1, .delta_ns = 150 },
		{ .path_id = 3, .thread_id = 1, .delta_ns = 3000 },
		{ .path_id = 3, .thread_id = 2, .delta_ns = 500 },
	};
	struct gen g = { 0 };
	uint32_t i;

	gen__header(&g);
	gen__fork(&g, 80, 100, 100, 50, 50);
	gen__comm(&g, XPU_MISC_COMM_EXEC, 95, 100, 100, "app");
	gen__process(&g, XPU_MISC_PROCESS_EXEC, 96, 1, 100, 0, "app");
	add_maps(&g, 97, 100);
	gen__fork(&g, 200, 100, 101, 100, 100);
	gen__comm(&g, 0, 210, 100, 101, "loader");
	gen__thread(&g, 1, 1, 100);
	gen__thread(&g, 2, 1, 101);
	add_path(&g, 0, 1000, 1, 1, 307, IN(CUDART, 0), IN(APP, STEP), IN(APP, STEP));
	add_path(&g, 0, 1000, 2, 1, 276, IN(CUDART, 1), IN(APP, LOAD), IN(APP, LOAD));
	gen__callchain(&g, XPU_CHAIN_CPU, 1000, 3, 1, 0, 0, runs, NR(runs));
	gen__range(&g, 900, 1, FORWARD, 0, "", "forward");
	gen__range(&g, 901, 1, LAYER, FORWARD, "", "layer;1");
	gen__range(&g, 902, 1, SAME, LAYER, "", "layer;1");
	gen__range(&g, 903, 1, ALL_REDUCE, FORWARD, "NCCL", "ncclAllReduce");
	gen__range(&g, 904, 1, LOADER, 0, "", "load");
	gen__range(&g, 905, 1, LATE, LOADER, "", "late");
	gen__range(&g, 906, 1, LATE_ALONE, 0, "", "late");
	gen__range(&g, 907, 1, MARK, FORWARD, "", "epoch\n1");
	gen__range(&g, 908, 1, MARK, FORWARD, "", "epoch\n1");	/* a repeated definition */
	gen__ranges(&g, 1000, first, NR(first));
	gen__launches_in(&g, 1000, launches, range_ids, NR(launches));
	gen__ranges(&g, 1000, second, NR(second));
	gen__samples(&g, 1000, 1000000, samples, NR(samples));
	gen__batch_begin(&g, 9000, 1, 102);
	add_names(&g);
	gen__device(&g, 0, 20, gpu_a);
	gen__stream(&g, 1, 0, 1, 7);
	for (i = 1; i < 9; i++)
		gen__kernel(&g, 0, 10000 * i, 1000 * i, i, 10, 1);
	gen__memcpy(&g, 0, 100000, 500, 9, 1, 4096, 1);
	gen__batch_end(&g);
	gen__process_exit(&g, 9500, 1, 100, 0);
	gen__end(&g, 10000, 0);
	if (gen__save(&g, name))
		bail("%s cannot be written", name);
	gen__free(&g);
}

static int spit(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	return f ? fputs(text, f) < 0 || fclose(f) : -1;
}

/* Prints the first line that differs. */
static void explain(const char *got, const char *want)
{
	int line = 1;

	while (*got && *got == *want) {
		line += *got == '\n';
		got++;
		want++;
	}
	diag("line %d: got '%.*s', expected '%.*s'", line, (int)strcspn(got, "\n"), got,
	     (int)strcspn(want, "\n"), want);
}

static void check(const char *args, const char *result, int status)
{
	const char *src = getenv("XPU_SRC"), *build = getenv("XPU_BUILD");
	char command[1024], golden[512], *got, *want;
	int wstatus;

	snprintf(command, sizeof(command), "{ '%s/xpumerge' %s; } >%s 2>stderr", build, args,
		 result);
	wstatus = system(command);
	is_int(WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 256, status, "xpumerge %s: exit status",
	       args);
	snprintf(golden, sizeof(golden), "%s/test/t1/golden/%s", src, result);
	got = slurp(result);
	if (getenv("XPU_UPDATE_GOLDEN"))
		ok(got && !spit(golden, got), "%s: the expected result is written", golden);
	want = slurp(golden);
	if (!ok(got && want && !strcmp(got, want), "xpumerge %s: %s", args, result) && got && want)
		explain(got, want);
	free(got);
	free(want);
}

int main(void)
{
	if (!getenv("XPU_SRC") || !getenv("XPU_BUILD"))
		skip_all("XPU_SRC and XPU_BUILD say where things are: use make check");
	unsetenv("COLUMNS");		/* summaries are 80 columns wide */
	if (!getcwd(directory, sizeof(directory)))
		bail("the directory has no name");
	make_tour("tour.data");
	make_clean("clean.data");
	make_graph("graph.data");
	make_cpu("cpu.data");
	make_off("off.data");
	make_api("api.data");
	make_api("again.data");
	make_nvtx("nvtx.data");

	check("tour.data", "tour.txt", 0);
	check("tour.data -f folded", "tour.folded", 0);
	check("tour.data -f folded --unit ns", "tour.ns.folded", 0);
	check("tour.data -f folded --unit count", "tour.count.folded", 0);
	check("tour.data -f folded --unit samples -F 1000000", "tour.samples.folded", 0);
	check("tour.data -f folded --no-trim", "tour.notrim.folded", 0);
	check("tour.data -f chrome", "tour.json", 0);
	check("tour.data --strict -f folded 3>&1 1>/dev/null 2>&3", "tour.log", 1);
	check("clean.data --unit ns --width 0", "clean.txt", 0);
	check("clean.data -f folded", "clean.folded", 0);
	check("clean.data -f folded --unit ms", "clean.ms.folded", 0);
	check("clean.data --strict -f folded 3>&1 1>/dev/null 2>&3", "clean.log", 0);
	check("tour.data --csv", "tour.csv", 0);
	check("tour.data --json", "tour.tables.json", 0);
	check("tour.data --table launch_sites --limit 3", "tour.sites.txt", 0);
	check("tour.data -f folded --by pid,comm,tid", "tour.tid.folded", 0);
	check("tour.data -f folded --by device,stream", "tour.stream.folded", 0);
	check("tour.data -f folded --unit bytes", "tour.bytes.folded", 0);
	check("graph.data -f folded --by tid,pid", "graph.tid.folded", 0);
	check("graph.data", "graph.txt", 0);
	check("graph.data -f folded", "graph.folded", 0);
	check("graph.data -f folded --graph launch", "graph.launch.folded", 0);
	check("graph.data -f folded --graph both", "graph.both.folded", 0);
	check("graph.data -f chrome", "graph.json", 0);
	/* The page has the stacks of the folded output. */
	check("tour.data -f html | python3 $XPU_SRC/test/lib/html_folded.py ns", "tour.ns.folded",
	      0);
	check("tour.data -f html | python3 $XPU_SRC/test/lib/html_folded.py nr",
	      "tour.count.folded", 0);
	check("graph.data -f html --graph both | python3 $XPU_SRC/test/lib/html_folded.py us",
	      "graph.both.folded", 0);
	check("graph.data -f html --by tid,pid | python3 $XPU_SRC/test/lib/html_folded.py us",
	      "graph.tid.folded", 0);
	check("tour.data -f html --by device,stream | python3 $XPU_SRC/test/lib/html_folded.py us",
	      "tour.stream.folded", 0);
	check("cpu.data -f html | python3 $XPU_SRC/test/lib/html_folded.py ns", "cpu.ns.folded", 0);
	check("graph.data --strict -f folded 3>&1 1>/dev/null 2>&3", "graph.log", 0);
	check("cpu.data", "cpu.txt", 0);
	check("cpu.data -f folded --unit ns", "cpu.ns.folded", 0);
	check("cpu.data -f folded --unit samples --by tid", "cpu.samples.folded", 0);
	check("cpu.data -f folded --unit samples -F 9990", "cpu.more.folded", 0);
	check("cpu.data -f folded --gpu-only", "cpu.gpu.folded", 0);
	check("cpu.data -f folded --cpu-only --comm renamed", "cpu.cpu.folded", 0);
	check("cpu.data -f chrome --cpu-only", "cpu.json", 0);
	check("off.data --unit ms", "off.txt", 0);
	check("off.data -f folded --unit ns", "off.ns.folded", 0);
	check("off.data -f folded --unit ns --waits", "off.waits.folded", 0);
	check("off.data -f folded --unit count --cpu-only --by tid --waits",
	      "off.count.folded", 0);
	check("off.data --table idle --csv --limit 0", "off.idle.csv", 0);
	check("off.data --table threads --csv --tid 100", "off.threads.csv", 0);
	check("api.data --unit ns", "api.txt", 0);
	check("api.data --table api_calls --csv", "api.csv", 0);
	/* These tables cover several recordings together. */
	check("api.data tour.data --table api_calls --csv", "api.csv", 0);
	check("api.data again.data --table api_calls --csv", "api.twice.csv", 0);
	check("api.data --table api_calls --csv --tid 100 --from 12us", "api.tid.csv", 0);
	check("api.data -f chrome", "api.json", 0);
	check("api.data -f chrome --kernel vector --pid 100", "api.kernel.json", 0);
	check("api.data -f chrome --cpu-only", "api.cpu.json", 0);
	check("api.data --strict -f folded 3>&1 1>/dev/null 2>&3", "api.log", 1);
	check("nvtx.data --unit ns", "nvtx.txt", 0);
	check("nvtx.data -f folded --unit ns --by nvtx", "nvtx.by.folded", 0);
	check("nvtx.data -f html --by nvtx | python3 $XPU_SRC/test/lib/html_folded.py ns",
	      "nvtx.by.folded", 0);
	check("nvtx.data -f folded --unit ns --by tid,nvtx,comm --nvtx '^layer'",
	      "nvtx.layer.folded", 0);
	check("nvtx.data -f folded --unit ns", "nvtx.ns.folded", 0);
	check("nvtx.data --table nvtx_ranges --csv --tid 101", "nvtx.tid.csv", 0);
	check("nvtx.data -f chrome", "nvtx.json", 0);
	check("nvtx.data -f pprof --by nvtx | zcat | tr -c '[:print:]' '\\n' | "
	      "grep -o '[a-z]*;[;:A-Za-z0-9]*' | sort", "nvtx.labels", 0);
	check("nvtx.data -f pprof --by nvtx,comm 3>&1 1>/dev/null 2>&3", "nvtx.refused", 2);
	check("cpu.data --strict -f folded 3>&1 1>/dev/null 2>&3", "cpu.log", 1);
	return done_testing();
}
