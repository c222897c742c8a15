// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_windows SHAPE FILE - a recording of 4 s with times of each kind. SHAPE is their length:
 * "long" ones are longer than windows of 1 s, "across" ones lie in many windows of 100 ms, "tiny"
 * ones are some us long
 *
 * Prints the truth, a line KIND BEGIN END for each time, in ns since the recording began. Launches
 * come long before their work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define START_NS	1000ull		/* of gen__header() */
#define END_NS		3950000000ull
#define PROC		1
#define PID		100
#define DRIVER		1
#define SAMPLE_NS	1000000
#define SUM_NS		10000000	/* that short times off the CPU are summed up over */

enum { CBID_LAUNCH = 307, CBID_COPY = 276, CBID_GRAPH = 514, CBID_SYNC = 17 };
enum { P_KERNEL = 1, P_COPY, P_GRAPH, P_NODE, P_SYNC, P_OFF, P_CPU };
enum { T_LAUNCH = 1, T_WAIT, T_RANGE, T_OFF, T_CPU, NR_THREADS = T_CPU };

enum kind { KERNEL, MEMCPY, NODE, CALL, WAIT, RANGE, OFF, CPU, NR_KINDS };

static const char *const kinds[NR_KINDS] = {
	"kernel", "memcpy", "node", "call", "wait", "range", "off", "cpu",
};

static const struct shape {
	const char *name;
	uint64_t ns, every_ns, off_every_ns;
	uint64_t cpu_ns, cpu_every_ns;	/* of whole samples */
} shapes[] = {
	{ "long", 1700000003, 1900000007, 1900000007, 1700000000, 1900000007 },
	{ "across", 170000003, 230000007, 230000007, 170000000, 230000007 },
	{ "tiny", 7001, 1970003, 37003, 1000000, 10000019 },
};

struct state {
	struct gen g, batch;
	uint32_t correlation_id;
	uint64_t first_ns, nr, sum_ns;	/* of times off the CPU that are summed up */
};

static void emit_batch(struct state *s, bool full)
{
	if (!s->batch.nr || (!full && s->batch.nr < 40000))
		return;
	gen__batch_begin(&s->g, START_NS + END_NS, PROC, PID);
	gen__bytes(&s->g, s->batch.v, s->batch.nr);
	gen__batch_end(&s->g);
	s->batch.nr = 0;
}

static void emit_off(struct state *s, uint64_t end_ns)
{
	if (s->nr)
		gen__off_sum(&s->g, 0, s->first_ns, end_ns, s->nr, s->sum_ns, P_OFF, T_OFF);
	s->nr = s->sum_ns = 0;
}

/* Adds a launch that was made half a period before its work. */
static uint32_t add_launch(struct state *s, uint64_t ns, uint64_t early_ns, uint32_t path)
{
	const struct xpu_launch launch = {
		.correlation_id = ++s->correlation_id, .path_id = path, .thread_id = T_LAUNCH,
	};
	const uint32_t range = path == P_KERNEL;

	gen__launches_in(&s->g, ns - early_ns, &launch, &range, 1);
	return launch.correlation_id;
}

static void add_range(struct state *s, uint64_t ns, uint64_t end_ns)
{
	const struct xpu_range_event events[] = {
		{ .range_id = 2, .thread_id = T_RANGE, .what = XPU_RANGE_PUSH },
		{ .thread_id = T_RANGE, .delta_ns = end_ns - ns, .what = XPU_RANGE_POP },
	};

	gen__ranges(&s->g, ns, events, 2);
}

static void add(struct state *s, enum kind kind, uint64_t ns, uint64_t end_ns, uint64_t early_ns)
{
	const struct xpu_sample sample = { .path_id = P_CPU, .thread_id = T_CPU };
	const struct xpu_call call = { .duration_ns = end_ns - ns, .cbid = CBID_SYNC };
	uint64_t at;

	printf("%s %" PRIu64 " %" PRIu64 "\n", kinds[kind], ns, end_ns);
	ns += START_NS;
	end_ns += START_NS;
	switch (kind) {
	case KERNEL:
		gen__kernel(&s->batch, 0, ns, end_ns - ns, add_launch(s, ns, early_ns, P_KERNEL),
			    10, 1);
		break;
	case MEMCPY:
		gen__memcpy(&s->batch, 0, ns, end_ns - ns, add_launch(s, ns, early_ns, P_COPY), 2,
			    1000, 1);
		break;
	case NODE:
		s->batch.node = 50;
		gen__kernel(&s->batch, XPU_MISC_GRAPH_NODE, ns, end_ns - ns,
			    add_launch(s, ns, early_ns, P_GRAPH), 11, 3);
		break;
	case CALL:
		gen__calls(&s->batch, ns, PID, &call, 1);
		break;
	case WAIT:
		gen__wait(&s->g, XPU_WAIT_STREAM, ns, end_ns - ns, P_SYNC, T_WAIT, 1, 7, 0);
		break;
	case RANGE:
		add_range(s, ns, end_ns);
		break;
	case OFF:
		if (s->nr && ns - s->first_ns >= SUM_NS)
			emit_off(s, ns);
		if (!s->nr)
			s->first_ns = ns;
		s->nr++;
		s->sum_ns += end_ns - ns;
		if (end_ns - ns >= SUM_NS)
			emit_off(s, end_ns);
		break;
	default:
		for (at = ns + SAMPLE_NS; at <= end_ns; at += SAMPLE_NS)
			gen__samples(&s->g, at, SAMPLE_NS, &sample, 1);
	}
	emit_batch(s, false);
}

static void add_names(struct state *s)
{
	static const struct {
		uint32_t cbid;
		const char *name;
	} apis[] = {
		{ CBID_LAUNCH, "cuLaunchKernel" }, { CBID_COPY, "cuMemcpyHtoDAsync" },
		{ CBID_GRAPH, "cuGraphLaunch" }, { CBID_SYNC, "cuStreamSynchronize" },
	};
	uint32_t i;

	for (i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		gen__string(&s->batch, 1 + i, apis[i].name);
		gen__api(&s->batch, DRIVER, apis[i].cbid, 1 + i);
	}
	gen__string(&s->batch, 9, "Simulated GPU");
	gen__string(&s->batch, 10, "kernel");
	gen__string(&s->batch, 11, "node");
	gen__device(&s->batch, 0, 9, "0123456789abcde");
	for (i = 1; i <= 3; i++)
		gen__stream(&s->batch, i, 0, 1, 6 + i);
	emit_batch(s, true);
	gen__range(&s->g, START_NS, PROC, 1, 0, "", "launching");
	gen__range(&s->g, START_NS, PROC, 2, 0, "", "range");
}

static void add_path(struct state *s, uint32_t path, uint16_t flags, uint32_t cbid)
{
	const uint64_t frames[] = { 0x400100 + path * 16, 0x400040 };

	gen__callchain(&s->g, flags, START_NS, path, PROC, cbid ? DRIVER : 0, cbid, frames, 2);
}

static void generate(struct state *s, const struct shape *shape)
{
	uint64_t ns, length_ns, every_ns;
	uint32_t i;

	gen__header(&s->g);
	gen__process(&s->g, XPU_MISC_PROCESS_ROOT, START_NS, PROC, PID, 0, "app");
	gen__comm(&s->g, XPU_MISC_COMM_EXEC, START_NS, PID, PID, "app");
	for (i = 1; i <= NR_THREADS; i++)
		gen__thread(&s->g, i, PROC, PID + i - 1);
	add_path(s, P_KERNEL, 0, CBID_LAUNCH);
	add_path(s, P_COPY, 0, CBID_COPY);
	add_path(s, P_GRAPH, 0, CBID_GRAPH);
	add_path(s, P_NODE, 0, CBID_LAUNCH);
	add_path(s, P_SYNC, 0, CBID_SYNC);
	add_path(s, P_OFF, XPU_CHAIN_CPU | XPU_CHAIN_OFF, 0);
	add_path(s, P_CPU, XPU_CHAIN_CPU, 0);
	add_names(s);
	gen__graph_node(&s->g, START_NS, 50, PROC, 0, P_NODE, T_LAUNCH);
	for (i = 0; i < NR_KINDS; i++) {
		length_ns = i == CPU ? shape->cpu_ns : shape->ns;
		every_ns = i == CPU ? shape->cpu_every_ns : i == OFF ? shape->off_every_ns :
			   shape->every_ns;
		for (ns = 60000000 + 1370011 * i; ns + length_ns < END_NS; ns += every_ns)
			add(s, i, ns, ns + length_ns,
			    10000 + 50000000 / (1 + s->correlation_id % 3));
		emit_off(s, START_NS + ns - every_ns + length_ns);
	}
	emit_batch(s, true);
	gen__process_exit(&s->g, START_NS + END_NS, PROC, PID, 0);
	gen__end(&s->g, START_NS + END_NS, 0);
}

int main(int argc, char **argv)
{
	struct state s = { 0 };
	size_t i;
	int err;

	for (i = 0; argc == 3 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(argv[1], shapes[i].name))
			continue;
		generate(&s, &shapes[i]);
		err = gen__save(&s.g, argv[2]);
		gen__free(&s.g);
		gen__free(&s.batch);
		return err ? 1 : 0;
	}
	fputs("usage: gen_windows long|across|tiny FILE\n", stderr);
	return 2;
}
