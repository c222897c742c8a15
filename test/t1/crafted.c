// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Recordings that were made to be slow to read. Each recording has as many things as possible of
 * one kind that is looked up or compared. Reading four times as many things may take about four
 * times as long, but not sixteen times.
 *
 * The least CPU time of a few tries is compared, because other programs can make it longer but not
 * shorter.
 */
#include <string.h>
#include <time.h>

#include "gen.h"
#include "read/reader.h"
#include "join/session.h"
#include "tap.h"

#define TRIES		5
#define RATIO		9
#define LEAST_NS	4000000		/* shorter durations are not compared */

static void begin(struct gen *g)
{
	static const uint64_t frame = 0x1000;

	gen__header(g);
	gen__process(g, XPU_MISC_PROCESS_ROOT, 100, 1, 10, 0, "app");
	gen__thread(g, 1, 1, 10);
	gen__callchain(g, 0, 200, 1, 1, 1, 307, &frame, 1);
	gen__batch_begin(g, 300, 1, 10);
	gen__string(g, 1, "cuLaunchKernel");
	gen__api(g, 1, 307, 1);
	gen__string(g, 3, "kernel");
	gen__stream(g, 1, 0, 1, 7);
	gen__batch_end(g);
}

/* Adds @nr kernels, each @step_ns after the previous one. */
static void kernels(struct gen *g, uint32_t nr, uint64_t start_ns, uint64_t step_ns, uint64_t ns)
{
	uint32_t i;

	gen__batch_begin(g, 300, 1, 10);
	for (i = 0; i < nr; i++)
		gen__kernel(g, 0, start_ns + i * step_ns, ns, i + 1, 3, 1);
	gen__batch_end(g);
	for (i = 0; i < nr; i++)
		gen__launch(g, 1000 + i, i + 1, 1, 1);
}

/* Adds launches whose frames are outside of all mappings. */
static void launches(struct gen *g, uint32_t nr, uint64_t addr)
{
	uint64_t frames[500];
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < 500; k++)
			frames[k] = addr + i * 500 + k;
		gen__callchain(g, 0, 900, 2 + i, 1, 1, 307, frames, 500);
		gen__launch(g, 900, i + 1, 2 + i, 1);
	}
}

static void make_waits(struct gen *g, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		gen__wait(g, 0, 1000000 + i, 1000000000, 1, 1, 1, 7, 0);
	kernels(g, nr, 1000, 1, 2000000000);
}

static void make_works(struct gen *g, uint32_t nr)
{
	gen__wait(g, 0, 1000, 1000000000, 1, 1, 1, 7, 0);
	kernels(g, nr, 2000, 1, 900000000);
}

static void make_off(struct gen *g, uint32_t nr)
{
	static const struct xpu_thread_time time;
	uint32_t i;

	for (i = 0; i < nr; i++)
		gen__off(g, 0, 10, 1000000000000 + i, 1, 1);
	gen__account(g, 1, 100, 1, &time);
	kernels(g, nr, 1000000, 1000000, 10);
}

static void make_maps(struct gen *g, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		gen__mmap(g, 1000 + i, 10, 0x100000, 0x1000, 0, i & 1 ? "/a" : "/b", NULL, 0);
	launches(g, nr / 100, 0x900000);
}

static void make_jit(struct gen *g, uint32_t nr)
{
	uint32_t i;

	gen__mmap(g, 50, 10, 0x100000, 0x10000000, 0, "//anon", NULL, 0);
	for (i = 0; i < nr; i++) {
		gen__process(g, XPU_MISC_PROCESS_ROOT, 100, i + 2, 100000 + i, 0, "p");
		gen__process_exit(g, 200, i + 2, 100000 + i, 0);
	}
	launches(g, nr / 100, 0x100000);
}

/* Adds node ids that would share one hash slot if the hash multiplier were a known constant. */
static void make_nodes(struct gen *g, uint32_t nr)
{
	uint64_t golden = 0x9e3779b97f4a7c15ull, inverse = golden, key;
	uint32_t i;

	for (i = 0; i < 6; i++)
		inverse *= 2 - golden * inverse;
	gen__batch_begin(g, 300, 1, 10);
	for (i = 1; i <= nr; i++) {
		key = (uint64_t)i << 32;
		key ^= key >> 29 ^ key >> 58;
		key *= inverse;
		gen__graph_clone(g, key ^ key >> 32, 1);
	}
	gen__batch_end(g);
}

/* Makes correlation IDs whose products with the hash multiplier begin with equal bits. */
static void make_ids(struct gen *g, uint32_t nr)
{
	uint32_t id;

	for (id = 1; nr; id++) {
		if (id * 0x9e3779b97f4a7c15ull >> 53)
			continue;
		gen__launch(g, 1000, id, 1, 1);
		nr--;
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t alloc_order;

/* Adds a memory event. The events of a process are numbered in sequence. */
static void alloc(struct gen *g, uint32_t proc, uint8_t what, uint8_t space, uint64_t address,
		  uint64_t bytes, uint32_t context)
{
	struct xpu_alloc event = {
		.path_id = what == XPU_ALLOC_MADE, .thread_id = 1, .what = what, .space = space,
		.address = address, .bytes = bytes, .extra = context,
	};
	struct xpu_record_allocs rec = {
		.time_ns = 2000, .order = ++alloc_order, .proc_id = proc, .nr = 1
	};

	gen__record(g, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), &event, sizeof(event));
}

static void begin_allocs(struct gen *g, uint32_t proc)
{
	alloc_order = 0;
	alloc(g, proc, XPU_ALLOC_START, 0, 0, 0, 0);
}

static void make_contexts(struct gen *g, uint32_t nr)
{
	uint32_t i;

	begin_allocs(g, 1);
	for (i = 0; i < nr; i++)
		alloc(g, 1, XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x1000 + i, 1, 1);
	for (i = 0; i < nr; i++)
		alloc(g, 1, XPU_ALLOC_CONTEXT_END, 0, 0, 0, 2);
}

static void make_holding_processes(struct gen *g, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		gen__process(g, XPU_MISC_PROCESS_ROOT, 100, i + 2, 100000 + i, 0, "p");
		gen__process_exit(g, 5000 + i, i + 2, 100000 + i, 0);
		begin_allocs(g, i + 2);
		alloc(g, i + 2, XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x1000, 1, 1);
	}
}

/* Adds blocks that span all of the segments. */
static void make_wide_blocks(struct gen *g, uint32_t nr)
{
	uint64_t first = 0x100000000;
	uint32_t i;

	begin_allocs(g, 1);
	for (i = 0; i < nr; i++)
		alloc(g, 1, XPU_ALLOC_MADE, XPU_SPACE_DEVICE, first + ((uint64_t)i << 21), 2 << 20,
		      1);
	for (i = 0; i < nr; i++)
		alloc(g, 1, XPU_ALLOC_MADE, XPU_SPACE_BLOCK, first + i, (uint64_t)nr << 21, 0);
}

/*
 * Return: the CPU time, in ns, of reading the recording. *@crowded: how many things the merge left
 * out
 */
static uint64_t measure(void (*make)(struct gen *g, uint32_t nr), uint32_t nr, uint64_t *crowded)
{
	static const struct session_opts opts = { .trim = true };
	struct timespec from, to;
	struct gen g = { 0 };
	struct session s;
	struct reader r;
	uint64_t ns;

	begin(&g);
	make(&g, nr);
	gen__end(&g, 1u << 30, 0);
	if (reader__open_mem(&r, g.v, g.nr, "test") || session__init(&s, &opts))
		bail("cannot read it");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	if (session__process(&s, &r, 1))
		bail("out of memory");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	*crowded = s.sums.loss.crowded;
	session__exit(&s);
	gen__free(&g);
	ns = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
	return ns < LEAST_NS ? LEAST_NS : ns;
}

static void test(const char *name, void (*make)(struct gen *g, uint32_t nr), uint32_t nr,
		 bool crowded)
{
	uint64_t few, many, left_out = 0;
	double ratio, best = 1e9;
	int i;

	for (i = 0; i < TRIES && best >= RATIO; i++) {
		few = measure(make, nr, &left_out);
		many = measure(make, 4 * nr, &left_out);
		ratio = (double)many / few;
		best = ratio < best ? ratio : best;
	}
	diag("%s: %u in %.0f ms, four times as many in %.1f times that", name, nr, few / 1e6, best);
	ok(best < RATIO, "%s: the time grows less than quadratically", name);
	ok(!left_out == !crowded, "%s: everything that is left out is counted", name);
}

int main(void)
{
	test("waits and works at once", make_waits, 3000, true);
	test("works beside one wait", make_works, 10000, true);
	test("time off the CPU, all at once", make_off, 20000, false);
	test("mappings in one place", make_maps, 10000, true);
	test("processes, and generated code", make_jit, 10000, false);
	test("graph nodes that meet in a table", make_nodes, 20000, false);
	test("launches that meet in a table", make_ids, 20000, false);
	test("contexts that end beside memory of others", make_contexts, 5000, false);
	test("processes that end with memory", make_holding_processes, 16000, false);
	test("blocks that lie in all segments", make_wide_blocks, 4000, true);
	return done_testing();
}
