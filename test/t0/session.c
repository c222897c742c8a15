// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A whole recording: references between records, the identity of GPUs, and the counts of all
 * losses.
 */
#include <errno.h>
#include <string.h>

#include "gen.h"
#include "graphs/graph.h"
#include "read/reader.h"
#include "join/session.h"
#include "tap.h"
#include "waits/state.h"

struct fixture {
	struct gen g;
	struct reader r;
	struct session s;
	struct session_opts opts;
};

/*
 * Begins a process with two threads and two call paths: path 1 is from a kernel launch, and path 2
 * is from a graph launch.
 */
static void fixture__begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	gen__header(&f->g);
	gen__process(&f->g, XPU_MISC_PROCESS_ROOT, 100, 1, 10, 0, "app");
	gen__thread(&f->g, 1, 1, 10);
	gen__thread(&f->g, 2, 1, 11);
	gen__callchain(&f->g, XPU_CHAIN_FAILED, 200, 1, 1, 1, 307, NULL, 0);
	gen__callchain(&f->g, XPU_CHAIN_FAILED, 200, 2, 1, 1, 514, NULL, 0);
	gen__batch_begin(&f->g, 300, 1, 12);
	gen__string(&f->g, 1, "cuLaunchKernel");
	gen__api(&f->g, 1, 307, 1);
	gen__string(&f->g, 2, "cuGraphLaunch");
	gen__api(&f->g, 1, 514, 2);
	gen__string(&f->g, 3, "kernel");
	gen__stream(&f->g, 1, 0, 1, 7);
	gen__batch_end(&f->g);
}

static struct session *fixture__run(struct fixture *f)
{
	gen__end(&f->g, 9000, 0);
	if (reader__open_mem(&f->r, f->g.v, f->g.nr, "test"))
		bail("the generated recording is not readable");
	f->opts.trim = true;
	if (session__init(&f->s, &f->opts) ||
	    session__process(&f->s, &f->r, 1))
		bail("out of memory");
	return &f->s;
}

static void fixture__end(struct fixture *f)
{
	session__exit(&f->s);
	gen__free(&f->g);
}

static void batch(struct fixture *f, uint32_t proc, uint32_t id)
{
	gen__batch_begin(&f->g, 2000, proc, 12);
	gen__kernel(&f->g, 0, 1500, 100, id, 3, 1);
	gen__batch_end(&f->g);
}

static void test_refs(void)
{
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__launch(&f.g, 1000, 2, 99, 1);		/* path 99 does not exist */
	gen__launch(&f.g, 1000, 3, 1, 99);		/* thread 99 does not exist: the launch
							 * counts for the path's process */
	gen__launch(&f.g, 1000, 4, 99, 99);		/* neither path nor thread exists */
	gen__launch(&f.g, 1000, 5, 0, 1);		/* the launch has no path */
	gen__process(&f.g, XPU_MISC_PROCESS_FORK, 500, 2, 20, 1, "other");
	gen__thread(&f.g, 3, 2, 20);
	gen__launch(&f.g, 1000, 6, 1, 3);		/* path 1 belongs to another process */
	batch(&f, 1, 1);
	batch(&f, 1, 2);
	batch(&f, 1, 3);
	batch(&f, 1, 4);
	batch(&f, 1, 5);
	gen__batch_begin(&f.g, 2000, 2, 12);
	gen__kernel(&f.g, 0, 1500, 100, 6, 77, 88);	/* neither string 77 nor stream 88 exists */
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->sums.loss.bad_refs, 7, "references: references to undefined things are counted");
	is_int(s->sums.loss.nr_matched, 5,
	       "references: all launches of existing processes are matched");
	is_int(s->sums.loss.nr_orphans, 1,
	       "references: the device record of a launch without a process is an orphan");
	is_int(s->sums.loss.no_stack, 6, "references: launches without a call path are counted");
	is_int(s->status, 0, "references: the recording is not damaged");
	fixture__end(&f);
}

/* A process's false name for a CUDA call is used only for that process's launches. */
static void test_api_names(void)
{
	static const struct xpu_call honest_call = { 0, 9, 10, 0, 307 };
	static const struct xpu_call lying_call = { 0, 10, 10, 0, 307 };
	struct session *s;
	struct fixture f;

	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	gen__process(&f.g, XPU_MISC_PROCESS_ROOT, 90, 2, 20, 0, "liar");
	gen__thread(&f.g, 3, 2, 20);
	gen__callchain(&f.g, XPU_CHAIN_FAILED, 200, 3, 2, 1, 307, NULL, 0);
	gen__batch_begin(&f.g, 300, 2, 20);
	gen__string(&f.g, 1, "cuGraphLaunch of nothing");
	gen__api(&f.g, 1, 307, 1);
	/*
	 * A domain and an id that CUPTI does not have: their lower bits must not be taken for a
	 * known call.
	 */
	gen__api(&f.g, 1u << 8 | 1, 307, 1);
	gen__api(&f.g, 1, 1u << 24 | 307, 1);
	gen__calls(&f.g, 1000, 20, &lying_call, 1);
	gen__batch_end(&f.g);
	gen__launch(&f.g, 1000, 1, 3, 3);
	gen__process(&f.g, XPU_MISC_PROCESS_ROOT, 100, 1, 10, 0, "app");
	gen__thread(&f.g, 1, 1, 10);
	gen__callchain(&f.g, XPU_CHAIN_FAILED, 200, 1, 1, 1, 307, NULL, 0);
	gen__batch_begin(&f.g, 300, 1, 12);
	gen__string(&f.g, 1, "cuLaunchKernel");
	gen__api(&f.g, 1, 307, 1);
	gen__calls(&f.g, 1000, 10, &honest_call, 1);
	gen__batch_end(&f.g);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__process(&f.g, XPU_MISC_PROCESS_ROOT, 100, 3, 30, 0, "silent");
	gen__thread(&f.g, 4, 3, 30);
	gen__callchain(&f.g, XPU_CHAIN_FAILED, 200, 4, 3, 1, 307, NULL, 0);
	gen__launch(&f.g, 1000, 1, 4, 4);
	s = fixture__run(&f);
	is_str(s->model.paths.v[0].api, "cuGraphLaunch of nothing",
	       "API names: a process's own name is used");
	is_str(s->model.paths.v[1].api, "cuLaunchKernel",
	       "API names: another process has its own name");
	ok(s->model.paths.v[1].one_record,
	   "API names: the id, not the name, says how much work a launch can own");
	is_str(s->model.paths.v[2].api, "[api 1:307]",
	       "API names: names of other domains are not used");
	is_int(s->sums.calls.nr, 2, "API names: calls are summed up by name");
	is_str(s->sums.calls.v[0].name, "cuGraphLaunch of nothing",
	       "API names: the calls of one process have its name");
	is_str(s->sums.calls.v[1].name, "cuLaunchKernel",
	       "API names: the calls of the other process have its name");
	fixture__end(&f);
}

/* A false record count of one process does not hide another process's losses. */
static void test_false_account(void)
{
	struct xpu_record_counters honest = {
		.nr_batches = 3, .nr_launches = 10, .nr_kernels = 4, .nr_dropped_cupti = 7,
		.nr_dropped_shim = 8, .nr_calls = 9,
	};
	struct xpu_record_counters lies = {
		.nr_batches = UINT64_MAX - 2, .nr_launches = UINT64_MAX - 9,
		.nr_kernels = UINT64_MAX - 3, .nr_dropped_cupti = UINT64_MAX - 6,
		.nr_dropped_shim = UINT64_MAX - 7, .nr_calls = UINT64_MAX - 8,
	};
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__batch_begin(&f.g, 300, 1, 10);
	gen__counters(&f.g, &honest);
	gen__batch_end(&f.g);
	gen__process(&f.g, XPU_MISC_PROCESS_ROOT, 90, 2, 20, 0, "liar");
	gen__batch_begin(&f.g, 300, 2, 20);
	gen__counters(&f.g, &lies);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	ok(s->sums.loss.missing_launches >= 10, "false accounts: missing launches are counted");
	ok(s->sums.loss.missing_works >= 4, "false accounts: missing device records are counted");
	ok(s->sums.loss.missing_batches >= 1, "false accounts: missing batches are counted");
	ok(s->sums.loss.missing_calls >= 9, "false accounts: missing calls are counted");
	ok(s->sums.loss.dropped_cupti >= 7,
	   "false accounts: records that CUPTI dropped are counted");
	ok(s->sums.loss.dropped_shim >= 8,
	   "false accounts: records that the shim dropped are counted");
	ok(loss__lost(&s->sums.loss) > 15, "false accounts: the losses are in the sum");
	fixture__end(&f);
}

static void test_late(void)
{
	struct session *s;
	struct fixture f;

	/*
	 * A kernel launch is removed once its record has arrived. A second record still finds the
	 * launch; a third record is an orphan.
	 */
	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	batch(&f, 1, 1);
	gen__launch(&f.g, 1100, 2, 1, 1);
	batch(&f, 1, 1);
	batch(&f, 1, 3);
	s = fixture__run(&f);
	is_int(s->join.nr_forgotten, 1, "kernel launch: it is removed when it is matched");
	is_int(s->join.nr_late, 1, "kernel launch: a second record is matched by a second look-up");
	is_int(s->sums.loss.nr_launches, 2, "kernel launch: the launch is counted once");
	is_int(s->sums.loss.nr_matched, 1, "kernel launch: the launch is matched once");
	is_int(s->sums.loss.nr_orphans, 1, "kernel launch: the further record is an orphan");
	fixture__end(&f);

	/* A graph launch stays in the join, so further records match the launch. */
	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 2, 1);
	batch(&f, 1, 1);
	batch(&f, 1, 1);
	batch(&f, 1, 1);
	s = fixture__run(&f);
	is_int(s->join.nr_late, 0, "graph launch: no second look-up is needed");
	is_int(s->join.nr_works_matched, 3, "graph launch: all its records are matched");
	is_int(s->sums.aggregates.nr, 1, "graph launch: the launch has one line");
	is_int(s->sums.aggregates.v[0].nr, 3, "graph launch: the line has three records");
	is_int(s->sums.aggregates.v[0].sum_ns, 300,
	       "graph launch: the line has the time of all records");
	fixture__end(&f);
}

/* No work is expected for a refused launch. If its work arrives, it is matched. */
static void test_refused(void)
{
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__launch(&f.g, 1100, 2, 1, 1);
	gen__launch(&f.g, 1200, 3, 1, 1);
	gen__launch(&f.g, 1300, 4, 1, 1);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__refused(&f.g, 2, 1);
	gen__refused(&f.g, 2, 1);
	gen__refused(&f.g, 3, 700);
	gen__refused(&f.g, 4, XPU_REFUSED_NO_BYTES);
	gen__refused(&f.g, 99, 700);		/* the launch of this refusal is missing */
	gen__batch_end(&f.g);
	batch(&f, 1, 1);
	batch(&f, 1, 3);
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_refused, 1, "refused launches: they are counted separately");
	is_int(s->sums.loss.nr_no_bytes, 1,
	       "refused launches: a copy of no bytes is counted separately");
	is_int(s->sums.loss.nr_launches, 2, "refused launches: they are not counted as launches");
	is_int(s->sums.loss.nr_matched, 2, "refused launches: existing work is matched");
	is_int(s->sums.loss.nr_pending, 0, "refused launches: no launch is pending");
	fixture__end(&f);
}

static void device(struct fixture *f, uint32_t proc, uint32_t ordinal, const char *uuid,
		   uint32_t stream)
{
	uint8_t bytes[16] = { 0 };

	if (uuid)
		memcpy(bytes, uuid, strlen(uuid));
	gen__batch_begin(&f->g, 2000, proc, 12);
	gen__string(&f->g, 3, "kernel");
	gen__device(&f->g, ordinal, 0, bytes);
	gen__stream(&f->g, stream, ordinal, 1, 7);
	gen__kernel(&f->g, 0, 1500, 100, 1000 + stream, 3, stream);
	gen__batch_end(&f->g);
}

static uint32_t gpu_index(struct session *s, uint32_t stream)
{
	return s->model.gpus.list.v[s->model.streams.v[stream].gpu].number;
}

static void test_gpus(void)
{
	struct session *s;
	struct fixture f;

	/* Each process sees one GPU and calls it 0 (CUDA_VISIBLE_DEVICES), but the GPUs differ. */
	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	device(&f, 1, 0, "GPU-A", 1);
	device(&f, 2, 0, "GPU-B", 1);
	device(&f, 3, 0, "GPU-A", 1);
	device(&f, 4, 2, "GPU-B", 1);
	s = fixture__run(&f);
	is_int(gpus__nr_used(&s->model.gpus), 2, "GPUs: two GPUs are used");
	is_int(gpu_index(s, 0), 0, "GPUs: the first GPU has number 0");
	is_int(gpu_index(s, 1), 1,
	       "GPUs: a second GPU with the same number gets the next free number");
	is_int(gpu_index(s, 2), 0, "GPUs: a known UUID is the same GPU");
	is_int(gpu_index(s, 3), 1,
	       "GPUs: a known UUID is the same GPU, whatever its number in the process");
	fixture__end(&f);

	/* A recording without UUIDs: equal numbers mean equal GPUs. */
	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	device(&f, 1, 0, NULL, 1);
	device(&f, 1, 3, NULL, 2);
	device(&f, 2, 3, NULL, 1);
	s = fixture__run(&f);
	is_int(gpus__nr_used(&s->model.gpus), 2, "GPUs without UUID: two GPUs are used");
	is_int(gpu_index(s, 1), 3, "GPUs without UUID: the number identifies a GPU");
	is_int(gpu_index(s, 2), 3,
	       "GPUs without UUID: the number identifies a GPU in all processes");
	fixture__end(&f);

	/* The GPU is known, but has no work. */
	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	device(&f, 1, 0, "GPU-A", 1);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__device(&f.g, 1, 0, "GPU-B-0123456789");
	gen__stream(&f.g, 9, 1, 1, 7);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(gpus__nr_used(&s->model.gpus), 1, "GPUs: a GPU without work is not counted");
	fixture__end(&f);
}

static void counters(struct fixture *f, uint32_t proc, struct xpu_record_counters c)
{
	gen__batch_begin(&f->g, 2000, proc, 12);
	gen__counters(&f->g, &c);
	gen__batch_end(&f->g);
}

static void test_account(void)
{
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	batch(&f, 1, 1);
	/* Two threads sent counters at once, and the later total arrived first. */
	counters(&f, 1, (struct xpu_record_counters){
		.nr_batches = 7, .nr_launches = 5, .nr_kernels = 2, .nr_memcpys = 3,
		.nr_memsets = 1, .nr_dropped_cupti = 10, .nr_dropped_shim = 20,
		.nr_unfinished = 1,
	});
	counters(&f, 1, (struct xpu_record_counters){ .nr_batches = 6, .nr_launches = 4 });
	gen__process(&f.g, XPU_MISC_PROCESS_FORK, 500, 2, 20, 1, "other");
	/* More launches have arrived than the last total says: no launch is missing. */
	gen__thread(&f.g, 3, 2, 20);
	gen__launch(&f.g, 1000, 1, 0, 3);
	counters(&f, 2, (struct xpu_record_counters){ .nr_batches = 1, .nr_dropped_cupti = 100 });
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, XPU_MISC_BAD_TIME, 0, 0, 50, 3, 1);
	gen__kernel(&f.g, XPU_MISC_BAD_TIME, 0, 0, 51, 3, 1);
	gen__kernel(&f.g, 0, 0, 5, 52, 3, 1);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->sums.loss.missing_launches, 4,
	       "account: missing launches are counted, by the last total");
	is_int(s->sums.loss.missing_works, 2, "account: missing device records are counted");
	is_int(s->sums.loss.missing_batches, 2, "account: missing batches are counted");
	is_int(s->sums.loss.dropped_cupti, 110,
	       "account: records dropped by CUPTI are summed up over all processes");
	is_int(s->sums.loss.dropped_shim, 20, "account: records dropped by the shim are counted");
	is_int(s->sums.loss.unfinished, 1, "account: unfinished work is counted");
	is_int(s->sums.loss.bad_times, 2,
	       "account: work without times is counted, except unfinished work");
	is_int(loss__lost(&s->sums.loss), 4 + 2 + 110 + 20,
	       "account: the sum of all losses is right");
	ok(!loss__clean(&s->sums.loss), "account: the recording is not clean");
	fixture__end(&f);
}

/* Totals of format 1.1 have fewer members; the bytes behind them belong to the next record. */
static void test_old_account(void)
{
	struct xpu_record_counters c = { .nr_batches = 1, .nr_launches = 2, .nr_slots = 1 };
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__record(&f.g, XPU_RECORD_COUNTERS, 0, &c,
		    offsetof(struct xpu_record_counters, nr_calls), NULL, 0);
	gen__string(&f.g, 50, "a name that is not a number of calls");
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->status, 0, "old account: the recording is not damaged");
	is_int(s->sums.loss.missing_launches, 2, "old account: missing launches are counted");
	is_int(s->sums.loss.missing_calls, 0, "old account: no calls are missing");
	is_int(s->sums.loss.bad_calls, 0, "old account: no calls count as bad");
	fixture__end(&f);
}

/*
 * Makes graph nodes: launch 1 captured node 10, and node 20 was added explicitly. Nodes 11 and 21
 * are their copies, which run.
 */
static void graph_begin(struct fixture *f)
{
	fixture__begin(f);
	gen__callchain(&f->g, XPU_CHAIN_FAILED, 200, 3, 1, 3, 13, NULL, 0);
	gen__graph_node(&f->g, 400, 10, 1, 1, 1, 2);
	gen__graph_node(&f->g, 410, 20, 1, 0, 3, 2);
	/* Instantiating makes the copies; the records that name their originals arrive later. */
	gen__graph_node(&f->g, 420, 11, 1, 0, 2, 1);
	gen__graph_node(&f->g, 430, 21, 1, 0, 2, 1);
	gen__launch(&f->g, 400, 1, 1, 2);
	gen__launch(&f->g, 500, 2, 2, 1);
	gen__batch_begin(&f->g, 2000, 1, 12);
	gen__graph_clone(&f->g, 11, 10);
	gen__graph_clone(&f->g, 21, 20);
	f->g.node = 11;
	gen__kernel(&f->g, XPU_MISC_GRAPH_NODE, 1500, 100, 2, 3, 1);
	f->g.node = 21;
	gen__kernel(&f->g, XPU_MISC_GRAPH_NODE, 1600, 30, 2, 3, 1);
	f->g.node = 99;
	gen__memset(&f->g, XPU_MISC_GRAPH_NODE, 1700, 5, 2, 1, 64);
	gen__batch_end(&f->g);
}

/* Return: the device time of call path @path_id, in ns. */
static uint64_t path_ns(const struct session *s, uint32_t path_id)
{
	uint64_t sum_ns = 0;
	size_t i;

	for (i = 0; i < s->sums.aggregates.nr; i++) {
		const struct chain *chain = &s->model.chains.v[s->sums.aggregates.v[i].chain];

		if (chain->path != NO_INDEX && s->model.paths.v[chain->path].path_id == path_id)
			sum_ns += s->sums.aggregates.v[i].sum_ns;
	}
	return sum_ns;
}

static void test_graph(void)
{
	static const struct graphs_opts launch = { GRAPH_LAUNCH }, both = { GRAPH_BOTH };
	struct session *s;
	struct fixture f;

	graph_begin(&f);
	s = fixture__run(&f);
	is_int(path_ns(s, 1), 100, "graph: a captured node's work is at the capturing launch");
	is_int(path_ns(s, 3), 30,
	       "graph: the work of a node added by the program is at the path that added it");
	is_int(path_ns(s, 2), 5,
	       "graph: the work of a node of unknown origin is at the graph's launch");
	is_int(s->sums.loss.unknown_nodes, 1, "graph: a node of unknown origin is counted");
	is_int(s->sums.loss.nr_launches, 1, "graph: a captured launch is not among the launches");
	is_int(s->sums.loss.nr_captured, 1, "graph: a captured launch is counted separately");
	is_int(s->sums.loss.nr_matched, 1, "graph: the graph's launch is matched");
	is_int(s->sums.loss.nr_pending, 0, "graph: no launch is pending");
	is_int(s->sums.loss.no_stack, 3, "graph: launches and nodes without a stack are counted");
	fixture__end(&f);

	graph_begin(&f);
	f.opts.values[FEATURE_graphs] = &launch;
	s = fixture__run(&f);
	is_int(path_ns(s, 2), 135, "graph, by launch: all work is at the graph launch");
	is_int(s->sums.loss.unknown_nodes, 0, "graph, by launch: no node counts as unknown");
	is_int(s->sums.loss.nr_captured, 1, "graph, by launch: the captured launch is not pending");
	fixture__end(&f);

	graph_begin(&f);
	f.opts.values[FEATURE_graphs] = &both;
	s = fixture__run(&f);
	is_int(path_ns(s, 1) + path_ns(s, 3), 0, "graph, both: each line has the graph's launch");
	is_int(path_ns(s, 2), 5,
	       "graph, both: the work of an unknown node has only the graph's launch");
	is_int(s->sums.aggregates.nr, 3, "graph, both: each pair of capture and launch has a line");
	fixture__end(&f);

	/* Without its launch, a node's work is an orphan, but its capture path is known. */
	graph_begin(&f);
	gen__batch_begin(&f.g, 2000, 1, 12);
	f.g.node = 11;
	gen__kernel(&f.g, XPU_MISC_GRAPH_NODE, 1500, 1000, 77, 3, 1);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_orphans, 1, "graph, launch lost: the work is an orphan");
	is_int(path_ns(s, 1), 1100, "graph, launch lost: the work is under the capture path");
	fixture__end(&f);

	/* A captured launch that nevertheless has work is counted like any other launch. */
	graph_begin(&f);
	batch(&f, 1, 1);
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_launches, 2,
	       "graph: a captured launch with its own work counts as a launch");
	is_int(s->sums.loss.nr_captured, 0,
	       "graph: a captured launch with its own work is not counted separately");
	fixture__end(&f);
}

/*
 * Begins a recording that attaches to a process with two threads. The process's launches 100, 110,
 * ... 190 are recorded.
 */
static void attach_begin(struct fixture *f, uint32_t nr_slots)
{
	struct xpu_record_counters c = {
		.nr_batches = 7, .nr_launches = 1000, .nr_kernels = 990, .nr_dropped_cupti = 5,
		.nr_dropped_shim = 6, .nr_slots = nr_slots, .nr_unfinished = 3,
	};
	uint32_t id;

	memset(f, 0, sizeof(*f));
	gen__header(&f->g);
	gen__process(&f->g, XPU_MISC_PROCESS_ATTACH, 100, 1, 10, 0, "app");
	gen__thread(&f->g, 1, 1, 10);
	gen__thread(&f->g, 2, 1, 11);
	gen__callchain(&f->g, XPU_CHAIN_FAILED, 200, 1, 1, 1, 307, NULL, 0);
	gen__batch_begin(&f->g, 300, 1, 12);
	gen__counters(&f->g, &c);
	gen__string(&f->g, 1, "cuLaunchKernel");
	gen__api(&f->g, 1, 307, 1);
	gen__string(&f->g, 3, "kernel");
	gen__stream(&f->g, 1, 0, 1, 7);
	gen__kernel(&f->g, 0, 200, 10, 90, 3, 1);
	gen__kernel(&f->g, 0, 200, 10, 91, 3, 1);
	gen__batch_end(&f->g);
	for (id = 100; id < 200; id += 10) {
		gen__launch(&f->g, 1000, id, 1, 1);
		batch(f, 1, id);
	}
}

/* Like attach_begin(), but threads 2 and 3 launch late. Thread 3 starts after the first launch. */
static void late_begin(struct fixture *f)
{
	attach_begin(f, 2);
	gen__comm(&f->g, 0, 90, 10, 10, "app");
	gen__comm(&f->g, 0, 90, 10, 11, "app");
	gen__comm(&f->g, 0, 1900, 10, 12, "app");
	gen__thread(&f->g, 3, 1, 12);
	gen__launch(&f->g, 1000, 165, 1, 2);
	gen__launch(&f->g, 1000, 185, 1, 3);
	batch(f, 1, 165);
	batch(f, 1, 185);
}

static void test_attach(void)
{
	struct xpu_record_counters c = {
		.nr_batches = 18, .nr_launches = 1010, .nr_kernels = 1000, .nr_dropped_cupti = 5,
		.nr_dropped_shim = 6, .nr_slots = 2, .nr_unfinished = 3,
	};
	struct session *s;
	struct fixture f;

	attach_begin(&f, 2);
	gen__launch(&f.g, 1000, 185, 1, 2);
	counters(&f, 1, c);
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_launches, 10, "attach: launches with work are counted");
	is_int(s->sums.loss.nr_matched, 10, "attach: all launches are matched");
	is_int(s->sums.loss.at_detach, 1, "attach: one launch has no record yet at the detach");
	is_int(s->sums.loss.before_attach, 2,
	       "attach: two records belong to launches before the attach");
	is_int(loss__unmatched(&s->sums.loss), 0, "attach: no other launch or record is unmatched");
	is_int(loss__lost(&s->sums.loss), 0,
	       "attach: records sent before the attach are not a loss");
	is_int(s->sums.loss.unfinished, 0,
	       "attach: work unfinished before the attach does not count");
	s->sums.loss.no_stack = s->sums.loss.unsymbolized = 0;
	ok(loss__clean(&s->sums.loss), "attach: the recording is clean");
	fixture__end(&f);

	/*
	 * Between taking its launch id and calling the probe, a thread can be overtaken by one
	 * launch of each other thread.
	 */
	attach_begin(&f, 2);
	batch(&f, 1, 105);
	batch(&f, 1, 185);
	batch(&f, 1, 195);
	batch(&f, 1, 115);
	batch(&f, 1, 175);
	s = fixture__run(&f);
	is_int(s->sums.loss.before_attach, 3,
	       "edges: records of launches in progress at the attach are counted separately");
	is_int(s->sums.loss.after_detach, 2,
	       "edges: records of launches in progress at the detach are counted separately");
	is_int(s->sums.loss.nr_orphans, 2, "edges: records between the edges are orphans");
	fixture__end(&f);
	attach_begin(&f, 4);
	batch(&f, 1, 115);
	batch(&f, 1, 175);
	batch(&f, 1, 145);
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_orphans, 1,
	       "edges: at most one launch of each thread ran at an edge");
	fixture__end(&f);

	/*
	 * A launch from before the attach may take its id late, but before the next launch of its
	 * thread takes an id.
	 */
	late_begin(&f);
	batch(&f, 1, 145);
	batch(&f, 1, 145);
	s = fixture__run(&f);
	is_int(s->sums.loss.before_attach, 4,
	       "late: all records of a launch in progress at the attach are counted separately");
	is_int(s->sums.loss.nr_orphans, 0,
	       "late: records of a launch in progress at the attach are not orphans");
	fixture__end(&f);
	late_begin(&f);
	batch(&f, 1, 145);
	batch(&f, 1, 135);
	batch(&f, 1, 175);
	s = fixture__run(&f);
	is_int(s->sums.loss.before_attach, 3,
	       "late: at most one launch of each thread was in progress");
	is_int(s->sums.loss.nr_orphans, 2,
	       "late: no launch of a thread that began later was in progress");
	fixture__end(&f);

	/* A batch that is lost in the middle counts as a loss. */
	attach_begin(&f, 2);
	c.nr_batches += 2;
	c.nr_launches += 3;
	c.nr_kernels += 4;
	c.nr_dropped_cupti += 7;
	c.nr_dropped_shim += 9;
	c.nr_taken += 13;
	c.nr_unfinished += 1;
	counters(&f, 1, c);
	s = fixture__run(&f);
	is_int(s->sums.loss.missing_batches, 2,
	       "attach: batches missing since the attach are counted");
	is_int(s->sums.loss.missing_works, 4,
	       "attach: device records missing since the attach are counted");
	is_int(s->sums.loss.dropped_cupti, 7,
	       "attach: records dropped by CUPTI since the attach are counted");
	is_int(s->sums.loss.dropped_shim, 9,
	       "attach: records dropped by the shim since the attach are counted");
	is_int(s->sums.loss.taken, 13,
	       "attach: records that the program collected since the attach are counted");
	is_int(s->sums.loss.at_edges, 3, "attach: launches at the edges are counted");
	is_int(s->sums.loss.missing_launches, 0, "attach: launches at the edges are not missing");
	is_int(s->sums.loss.unfinished_at_detach, 1,
	       "attach: work still running at the detach is counted");
	fixture__end(&f);

	/* A process that ends while it is recorded has no detach record. */
	attach_begin(&f, 2);
	gen__launch(&f.g, 1000, 185, 1, 2);
	c.nr_unfinished = 4;
	counters(&f, 1, c);
	gen__process_exit(&f.g, 3000, 1, 10, 0);
	s = fixture__run(&f);
	is_int(s->sums.loss.at_detach, 0,
	       "attach, then exit: no launch counts as waiting for records at a detach");
	is_int(s->sums.loss.nr_pending, 1, "attach, then exit: a launch without work is pending");
	is_int(s->sums.loss.unfinished, 1, "attach, then exit: unfinished work is counted");
	fixture__end(&f);

	/* A process that execs while it is recorded has no detach record. */
	attach_begin(&f, 2);
	gen__launch(&f.g, 1000, 185, 1, 2);
	gen__process(&f.g, XPU_MISC_PROCESS_EXEC, 2500, 2, 10, 1, "next");
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_pending, 1, "attach, then exec: a launch without work is pending");
	fixture__end(&f);

	/* A process recorded from its start must not miss any launch. */
	fixture__begin(&f);
	gen__launch(&f.g, 1000, 100, 1, 1);
	batch(&f, 1, 90);
	batch(&f, 1, 110);
	s = fixture__run(&f);
	is_int(s->sums.loss.nr_orphans, 2, "no attach: a record without a launch is an orphan");
	is_int(s->sums.loss.nr_pending, 1, "no attach: a launch without work is pending");
	fixture__end(&f);
}

/* Makes one rank's recording: ids, pids and GPU numbers are equal in all ranks. */
static void rank(struct gen *g, const char *host, uint64_t mono_ns, uint64_t real_ns,
		 const char *comm, uint32_t nr_kernels)
{
	struct xpu_file_header *h;
	uint32_t i;

	memset(g, 0, sizeof(*g));
	gen__header(g);
	h = (void *)g->v;
	h->start_mono_ns = mono_ns;
	h->start_real_ns = real_ns;
	gen__info(g, XPU_INFO_HOSTNAME, host, strlen(host));
	gen__process(g, XPU_MISC_PROCESS_ROOT, mono_ns, 1, 10, 0, comm);
	gen__comm(g, XPU_MISC_COMM_EXEC, mono_ns, 10, 10, comm);
	gen__thread(g, 1, 1, 10);
	gen__callchain(g, XPU_CHAIN_FAILED, mono_ns, 1, 1, 1, 307, NULL, 0);
	gen__batch_begin(g, mono_ns, 1, 12);
	gen__string(g, 1, "cuLaunchKernel");
	gen__api(g, 1, 307, 1);
	gen__string(g, 3, comm);
	gen__stream(g, 1, 0, 1, 7);
	for (i = 1; i <= nr_kernels; i++)
		gen__kernel(g, 0, mono_ns + 1000 * i, 100, i, 3, 1);
	gen__batch_end(g);
	for (i = 1; i <= nr_kernels; i++)
		gen__launch(g, mono_ns + 1000 * i - 500, i, 1, 1);
	gen__end(g, mono_ns + 100000, 0);
}

/* Return: the thread name of an aggregate. */
static const char *comm_of(const struct session *s, size_t aggregate)
{
	return aggregate__owner(&s->sums.aggregates, &s->sums.aggregates.v[aggregate])->comm;
}

static void test_several(void)
{
	struct reader readers[3];
	struct gen gens[3];
	struct session s;
	uint32_t i;

	/*
	 * Two recordings from one boot, with a small step of the clock between them; one recording
	 * from another host.
	 */
	rank(&gens[0], "node1", 5000000, 1700000005000000, "one", 1);
	rank(&gens[1], "node1", 7000000, 1700000007000100, "two", 2);
	rank(&gens[2], "node2", 900000000, 1700000006000000, "three", 4);
	gen__lost(&gens[1], 1, XPU_LOST_LAUNCH, 3);
	for (i = 0; i < 3; i++)
		if (reader__open_mem(&readers[i], gens[i].v, gens[i].nr, "rank"))
			bail("a generated recording is not readable");

	if (session__init(&s, &(struct session_opts){ .trim = true }) ||
	    session__process(&s, readers, 2))
		bail("out of memory");
	is_int(s.sums.loss.nr_matched, 3, "two recordings: all launches are matched");
	is_int(s.sums.loss.nr_orphans, 0,
	       "two recordings: equal ids of both recordings do not match");
	is_int(s.model.machine.procs.nr, 2,
	       "two recordings: each has a process, and both have the same pid");
	is_str(model__proc_name(&s.model, 0), "one",
	       "two recordings: the first process has its name");
	is_str(model__proc_name(&s.model, 1), "two",
	       "two recordings: the second process has its name");
	is_int(s.sums.aggregates.nr, 2, "two recordings: each recording has a line");
	is_str(comm_of(&s, 1), "two",
	       "two recordings: the second line has the second thread's name");
	is_int(gpus__nr_used(&s.model.gpus), 1, "two recordings of one host have one GPU");
	is_int(s.model.realtime, false, "one boot: both recordings use the monotonic clock");
	is_int(s.sums.first_ns, 5000500, "one boot: the time of the first launch is right");
	is_int(s.sums.last_ns, 7002100, "one boot: the time of the end is right");
	is_int(loss__lost(&s.model.inputs.v[0].loss), 0,
	       "two recordings: the first recording has lost nothing");
	is_int(loss__lost(&s.model.inputs.v[1].loss), 3,
	       "two recordings: the second recording has lost records");
	is_int(loss__lost(&s.sums.loss), 3, "two recordings: the sum of all losses is right");
	is_str(model__host(&s.model, 1), "", "a single host is not named");
	session__exit(&s);

	if (session__init(&s, &(struct session_opts){ .trim = true }) ||
	    session__process(&s, readers, 3))
		bail("out of memory");
	is_int(s.sums.loss.nr_matched, 7, "two hosts: all launches are matched");
	is_int(gpus__nr_used(&s.model.gpus), 2,
	       "two hosts: there are two GPUs, though both have number 0");
	is_int(s.model.realtime, true,
	       "two hosts: the recordings have no monotonic clock in common");
	is_int(s.sums.first_ns, 1700000005000500, "two hosts: the first launch is in real time");
	is_int(s.sums.last_ns, 1700000007002100,
	       "two hosts: recordings of one boot use the first recording's real time");
	is_str(model__host(&s.model, 2), "node2", "two hosts: a process has its host's name");
	is_str(comm_of(&s, 2), "three",
	       "two hosts: threads have their names, whatever the clock is");
	session__exit(&s);
	for (i = 0; i < 3; i++)
		gen__free(&gens[i]);
}

static void test_lost(void)
{
	struct loss l = { .recorder = { [XPU_LOST_LAUNCH] = 10, [XPU_LOST_BATCH] = 2 } };
	struct session *s;
	struct fixture f;
	uint32_t kind;

	is_int(loss__lost(&l), 12, "lost: records that the recorder missed are counted");
	l.missing_launches = 10;
	l.missing_works = 800;
	l.missing_batches = 2;
	is_int(loss__lost(&l), 810,
	       "lost: records in lost batches are counted by the shim's totals");
	l.missing_works = 0;
	is_int(loss__lost(&l), 12,
	       "lost: losses that recorder and shim both count are counted once");
	l.recorder[XPU_LOST_DISK] = 4096;
	is_int(loss__lost(&l), 13, "lost: lost bytes are not records");

	/* Each kind of loss has a counter, and a line. */
	for (kind = 1; kind < XPU_LOST_NR + 2; kind++) {
		char *text = NULL;
		size_t size;
		FILE *out;

		fixture__begin(&f);
		gen__lost(&f.g, 1000, kind, 3);
		gen__lost(&f.g, 2000, kind, 4);
		s = fixture__run(&f);
		/* Malformed entries were not launches, so they do not count as lost launches. */
		ok((loss__lost(&s->sums.loss) > 0) == (kind != XPU_LOST_MALFORMED),
		   "lost, kind %u: the records count as lost, except malformed ones", kind);
		out = open_memstream(&text, &size);
		loss__print(&s->sums.loss, out, "");
		fclose(out);
		ok(strstr(text, "\n           7 "), "lost, kind %u: the loss is reported", kind);
		free(text);
		fixture__end(&f);
	}
	fixture__begin(&f);
	s = fixture__run(&f);
	ok(loss__clean(&s->sums.loss), "nothing lost: the recording is clean");
	fixture__end(&f);
}

static void test_bad_batch(void)
{
	struct session *s;
	struct fixture f;
	size_t at;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__launch(&f.g, 1000, 2, 1, 1);
	gen__launch(&f.g, 1000, 3, 1, 1);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, 0, 1500, 100, 1, 3, 1);
	at = f.g.nr;
	gen__kernel(&f.g, 0, 1600, 100, 2, 3, 1);
	((struct xpu_record *)(f.g.v + at))->size = 0;
	gen__batch_end(&f.g);
	batch(&f, 1, 3);
	s = fixture__run(&f);
	is_int(s->status, -EBADMSG, "a batch damaged inside: the status reports damage");
	is_int(s->sums.loss.bad_batches, 1, "a batch damaged inside: the damaged batch is counted");
	is_int(s->sums.loss.nr_matched, 2, "a batch damaged inside: the records around it count");
	is_int(s->msgs.lines.nr, 1, "a batch damaged inside: one message is printed");
	fixture__end(&f);
}

/* A capture window that closes before it opens is left out and counted. */
static void test_impossible_window(void)
{
	struct xpu_record_window window = { .time_ns = 1200, .open_ns = 1300, .number = 1 };
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, 0, 1500, 100, 1, 3, 1);
	gen__record(&f.g, XPU_RECORD_WINDOW, 0, &window, sizeof(window), NULL, 0);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->sums.loss.outside_windows, 1, "an impossible window is counted");
	fixture__end(&f);
}

/* Records of types that a later version may write are left out and counted, in batches, too. */
static void test_unknown_records(void)
{
	struct xpu_record unknown = { .type = 0 };
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__record(&f.g, 30000, 0, &unknown, sizeof(unknown), "future", 6);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, 0, 1500, 100, 1, 3, 1);
	gen__record(&f.g, 30001, 0, &unknown, sizeof(unknown), NULL, 0);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->sums.loss.unknown_records, 2, "records of unknown types are counted");
	is_int(s->sums.loss.nr_matched, 1, "records next to records of unknown types are used");
	is_int(s->status, 0, "records of unknown types are no damage");
	ok(!loss__clean(&s->sums.loss), "records of unknown types are a loss");
	fixture__end(&f);
}

static uint64_t sum_of(const struct session *s, const char *kind, uint64_t *nr, uint64_t *max_ns)
{
	uint64_t sum_ns = 0;
	size_t i;

	*nr = *max_ns = 0;
	for (i = 0; i < s->sums.aggregates.nr; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];
		struct aggregate_spread spread;

		if (strcmp(s->model.leaves.v[a->leaf].name, kind))
			continue;
		*nr += a->nr;
		sum_ns += a->sum_ns;
		spread = aggregate__spread(&s->sums.aggregates, a);
		*max_ns = spread.max_ns > *max_ns ? spread.max_ns : *max_ns;
	}
	return sum_ns;
}

/*
 * Tests older recordings, in which the wakeup and the switch have timestamps from the clocks of two
 * CPUs. The timestamp of the switch is 27,081 ns earlier.
 */
static void test_below_zero(void)
{
	const uint64_t less = -27081ull;
	struct xpu_thread_time one = { .run_ns = 1000000, .nr_switches = 1 }, two;
	uint64_t nr, max_ns;
	const struct waits_state *w;
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	one.off_ns[XPU_OFF_SLEEP] = 5000000;
	one.off_ns[XPU_OFF_IO] = 5000;
	one.off_ns[XPU_OFF_RUNNABLE] = less;
	two = (struct xpu_thread_time){ .run_ns = -3ull };
	gen__off_cpu(&f.g, XPU_OFF_SLEEP, 1000, 1, 5000000, 5000000, 1, 1);
	gen__off_cpu(&f.g, XPU_OFF_RUNNABLE, 5001000, 1, less, less, 1, 1);
	gen__off_cpu(&f.g, XPU_OFF_LOCK, 2000, 3, 60000 + less, less, 1, 2);
	gen__off(&f.g, XPU_OFF_SLEEP, 1000, 5000000, 1, 1);
	gen__off(&f.g, XPU_OFF_RUNNABLE, 5001000, less, 1, 1);
	gen__account(&f.g, 1000, 1000 + 6005000 - 27081, 1, &one);
	gen__account(&f.g, 1000, 1000 - 3, 2, &two);
	s = fixture__run(&f);
	ok(loss__clean(&s->sums.loss), "a time below zero is not a loss");
	is_int(s->sums.loss.bad_refs, 0, "a time below zero is not damage");
	is_int(sum_of(s, "runnable", &nr, &max_ns), 0, "a time below zero counts as 0 ns");
	is_int(nr, 1, "a time below zero is counted");
	is_int(max_ns, 0, "if all times are below zero, the longest time is 0");
	is_int(sum_of(s, "lock", &nr, &max_ns), 60000 - 27081,
	       "a time below zero is subtracted from the sum of the other times");
	is_int(nr, 3, "a time below zero among others: all times are counted");
	is_int(max_ns, (60000 - 27081) / 3,
	       "a time below zero among others: the longest time is the average");
	is_int(sum_of(s, "sleep", &nr, &max_ns), 5000000,
	       "the time before a time below zero is unchanged");
	w = waits_state__of(&s->model);
	is_int(w->accounts.nr, 2, "both accounts are read");
	is_int(w->accounts.v[0].time.off_ns[XPU_OFF_RUNNABLE], 0,
	       "account: the runnable time is 0");
	is_int(w->accounts.v[0].time.off_ns[XPU_OFF_SLEEP], 5000000 - 27081,
	       "account: the longest time is shortened by the difference");
	is_int(w->accounts.v[0].time.off_ns[XPU_OFF_IO], 5000,
	       "account: other times are unchanged");
	is_int(w->accounts.v[0].time.run_ns, 1000000,
	       "account: the time on the CPU is unchanged");
	is_int(w->accounts.v[1].time.run_ns, 0,
	       "account: a lifetime below zero has no time on the CPU");
	fixture__end(&f);

	/* Clock differences cannot explain a duration so far below zero. */
	fixture__begin(&f);
	gen__off(&f.g, XPU_OFF_SLEEP, 1000, 1ull << 63 | 1ull << 62, 1, 1);
	gen__off(&f.g, XPU_OFF_SLEEP, 1ull << 63, 1ull << 63, 1, 1);
	gen__account(&f.g, 2000001000, 1000, 1, &two);
	s = fixture__run(&f);
	is_int(s->sums.loss.bad_refs, 2, "a time far below zero is damage");
	is_int(s->sums.nr_accounts, 0, "a time far below zero gives no account");
	fixture__end(&f);
}

/*
 * In one process, launches, nodes and streams of two APIs have the same ids. Each kernel's duration
 * is a power of two, so a sum shows which kernels it contains.
 */
static void test_apis(void)
{
	const uint16_t domain = XPU_WITH_API(XPU_API_TEST, 1);
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__callchain(&f.g, XPU_CHAIN_FAILED, 200, 4, 1, domain, 307, NULL, 0);
	gen__launch(&f.g, 400, 5, 1, 1);
	gen__launch(&f.g, 410, 5, 4, 1);
	gen__launch(&f.g, 420, 6, 1, 1);
	gen__launch(&f.g, 430, 6, 4, 1);	/* refused */
	gen__launch(&f.g, 440, 7, 1, 2);	/* captured */
	gen__graph_node(&f.g, 441, 10, 1, 7, 1, 2);
	gen__launch(&f.g, 450, 7, 4, 2);
	gen__launch(&f.g, 460, 8, 99, 1);	/* its path is lost */
	gen__launch(&f.g, 470, 9, 2, 1);
	f.g.api = XPU_API_TEST;
	gen__graph_node(&f.g, 480, 10, 1, 0, 4, 2);
	f.g.api = 0;
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, 0, 1000, 1, 5, 3, 1);
	gen__kernel(&f.g, 0, 1010, 4, 6, 3, 1);
	gen__kernel(&f.g, 0, 1020, 64, 8, 3, 1);
	f.g.node = 10;
	gen__kernel(&f.g, XPU_MISC_GRAPH_NODE, 1100, 16, 9, 3, 1);
	gen__batch_end(&f.g);
	gen__batch_begin(&f.g, 2100, 1, 12);
	f.g.api = XPU_API_TEST;
	gen__api(&f.g, domain, 307, 1);
	gen__stream(&f.g, 2, 0, 1, 7);
	gen__refused(&f.g, 6, 1);
	gen__kernel(&f.g, 0, 1000, 2, 5, 3, 2);
	gen__kernel(&f.g, 0, 1030, 8, 7, 3, 2);
	gen__kernel(&f.g, XPU_MISC_GRAPH_NODE, 1200, 32, 7, 3, 2);
	f.g.api = 0;
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->status, 0, "two APIs: the recording is not damaged");
	is_int(path_ns(s, 1), 1 + 4 + 16, "two APIs: work of CUDA is at CUDA's launches and nodes");
	is_int(path_ns(s, 4), 2 + 8 + 32, "two APIs: the other API has its own work");
	is_int(s->sums.loss.nr_refused, 1, "two APIs: one of two launches with one id was refused");
	is_int(s->sums.loss.nr_captured, 1,
	       "two APIs: one of two launches with one id was captured");
	is_int(s->sums.loss.nr_duplicates, 0, "two APIs: no launch is a duplicate");
	is_int(s->sums.loss.nr_pending, 1, "two APIs: a launch without a path gets no work");
	is_int(s->sums.loss.nr_orphans, 1,
	       "two APIs: work gets no launch if the launch has no path");
	is_int(gpus__nr_used(&s->model.gpus), 2, "two APIs: each API has its own GPU");
	fixture__end(&f);
}

int main(void)
{
	test_refs();
	test_api_names();
	test_false_account();
	test_late();
	test_refused();
	test_gpus();
	test_account();
	test_old_account();
	test_graph();
	test_attach();
	test_several();
	test_lost();
	test_bad_batch();
	test_unknown_records();
	test_impossible_window();
	test_below_zero();
	test_apis();
	return done_testing();
}
