// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_ranks DIR [KEY=VALUE...] - recordings of ranks that communicate by NCCL, with known truth
 *
 * Writes DIR/0.data and so on, and prints the truth, line by line:
 *
 *	ops NR paired NR captured NR	for all ranks
 *	rank NR wait NS transfer NS	of the kernels of paired operations
 *
 * All ranks run one random program. It has collectives of several communicators, each on its own
 * stream, in and out of groups, even groups of several communicators; rings of sends and receives;
 * and launches of a CUDA graph with collectives. A communicator is destroyed and made again with
 * the same ID. Between these, ranks run other kernels and wait off the CPU. Keys, with times in us:
 *
 *	ranks, steps, seed
 *	files		number of recordings; rank R is in recording R % files
 *	hosts		number of hosts; recording F is from host F % hosts
 *	offset		each host's clock is this much ahead of the previous host's clock
 *	drift		each host's clock is faster than the previous host's clock by this many ppm
 *	apart		the longest time between the ends of one collective on two ranks
 *	slow_host	the rank that loads its data slowly; -1: none
 *	slow_gpu	the rank that has a slow kernel; -1: none
 *	cut		the last rank ends after this many steps; 0: after all
 *	lose		the last rank has no events of one collective
 *	payload		0: NCCL makes no payloads
 *	blocking	0: communicators do not block, and NCCL launches outside of the
 *			calls' ranges, on a third thread; only one communicator
 *	attach		xpuload attaches to rank R before step R * attach
 *	destroy		0: attached ranks do not destroy their communicators
 *	other		1: the other kernels are from another communication library
 *	hostile		1: names of hosts, programs, functions and kernels contain markup
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define MAX_RANKS	1024
#define US		1000ull

enum { COMM_WORLD, COMM_OTHER, COMM_HALF, COMM_AGAIN, NR_COMMS, COMPUTE = NR_COMMS, NR_STREAMS };
enum { P_LAUNCH = 1, P_LOAD, P_NCCL, P_GRAPH, P_LOADER, P_CAPTURE, NR_PATHS = P_CAPTURE };
enum { S_LAUNCH = 1, S_GRAPH, S_MAIN, S_TRAIN, S_FORWARD, S_BACKWARD, S_LOAD, S_SLEEP,
       S_NCCL_KERNEL, S_KERNEL, S_SLOW, S_GPU, S_HOST, S_SEND_RECV };
enum { DRIVER = 1, CBID_LAUNCH = 307, CBID_GRAPH = 514 };

struct range {
	const char *name;
	struct xpu_range_payload payload;
	uint32_t thread;
};

struct rank {
	struct gen *g;
	uint32_t proc, path, thread;	/* ids; paths and threads are unique in a recording */
	uint32_t next_correlation;
	uint64_t host_ns, free_ns[NR_STREAMS];
	struct range ranges[4096];
	uint32_t nr_ranges;
	uint64_t wait_ns, transfer_ns;
	double rate;			/* rate of the host's clock */
	int64_t ahead_ns;
	bool done;
	bool quiet;			/* the rank is not recorded yet */
};

static struct {
	double ranks, steps, seed, files, hosts, offset, drift, apart, slow_host, slow_gpu;
	double cut, lose, payload, hostile, attach, destroy, blocking, other;
} o = {
	.ranks = 4, .steps = 40, .seed = 1, .files = 0, .hosts = 1, .apart = 2, .slow_host = -1,
	.slow_gpu = -1, .payload = 1, .destroy = 1, .blocking = 1,
};

static struct rank *ranks;
static struct gen *files;
static uint32_t nr_ranks, nr_comms;
static uint64_t nr_ops, nr_paired, nr_captured, state;

/* ---- chance and time ------------------------------------------------------------------------- */

static uint32_t chance(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % limit;
}

static uint64_t local(const struct rank *r, uint64_t ns)
{
	return ns + (uint64_t)(r->rate * (double)ns) + r->ahead_ns;
}

static uint32_t comm_ranks(uint32_t comm, uint32_t rank)
{
	return comm == COMM_HALF ? (nr_ranks + 1 - rank % 2) / 2 : nr_ranks;
}

/* Return: the communicator ID that a rank uses */
static uint64_t comm_id(uint32_t comm, uint32_t rank)
{
	return 0xc0ffee00ull + comm * 16 + (comm == COMM_HALF ? rank % 2 : 0);
}

static uint32_t comm_rank(uint32_t comm, uint32_t rank)
{
	return comm == COMM_HALF ? (nr_ranks - 1 - rank) / 2 : rank;
}

/* Return: whether a rank takes part and is recorded. */
static bool is_recorded(uint32_t rank)
{
	return !ranks[rank].done && !ranks[rank].quiet;
}

/* Return: whether another recorded rank takes part in the operation. */
static bool has_partner(uint32_t comm, uint32_t rank)
{
	uint32_t i;

	for (i = 0; i < nr_ranks; i++)
		if (i != rank && is_recorded(i) && comm_id(comm, i) == comm_id(comm, rank))
			return true;
	return false;
}

static void count(uint32_t comm, uint32_t rank)
{
	if (ranks[rank].quiet)
		return;
	nr_ops++;
	nr_paired += has_partner(comm, rank) && (!o.attach || o.destroy);
}

/* ---- the records of a rank ------------------------------------------------------------------- */

static void range_event(struct rank *r, uint32_t thread, uint32_t what, uint32_t id)
{
	const struct xpu_range_event e = { .range_id = id,
					   .thread_id = r->thread + thread,
					   .what = what };

	if (!r->quiet)
		gen__ranges(r->g, local(r, r->host_ns), &e, 1);
	r->host_ns += 100;
}

/* Return: the ID of a range on a thread */
static uint32_t range_id(struct rank *r, uint32_t thread, const char *name,
			 const struct xpu_range_payload *payload)
{
	static const struct xpu_range_payload none;
	struct range *range;
	uint32_t i;

	for (i = 0; i < r->nr_ranges; i++) {
		range = &r->ranges[i];
		if (range->thread == thread && range->name == name &&
		    !memcmp(&range->payload, payload ?: &none, sizeof(none)))
			return i + 1;
	}
	if (r->nr_ranges == sizeof(r->ranges) / sizeof(r->ranges[0]))
		abort();
	r->ranges[r->nr_ranges++] = (struct range){ name, payload ? *payload : none, thread };
	if (payload && o.payload)
		gen__nccl_range(r->g, 1, r->proc, r->nr_ranges, 0, name, payload);
	else
		gen__range(r->g, 1, r->proc, r->nr_ranges, 0, "NCCL", name);
	return r->nr_ranges;
}

/* Opens an NCCL range. Return: its ID. */
static uint32_t open_call(struct rank *r, uint32_t thread, const char *name,
			  const struct xpu_range_payload *payload)
{
	uint32_t id = range_id(r, thread, name, payload);

	range_event(r, thread, XPU_RANGE_PUSH, id);
	return id;
}

static void close_call(struct rank *r, uint32_t thread)
{
	range_event(r, thread, XPU_RANGE_POP, 0);
}

static uint32_t launch(struct rank *r, uint32_t thread, uint32_t path, uint32_t range)
{
	const struct xpu_launch l = {
		.correlation_id = ++r->next_correlation, .path_id = r->path + path,
		.thread_id = r->thread + thread,
	};

	if (!r->quiet)
		gen__launches_in(r->g, local(r, r->host_ns), &l, &range, 1);
	r->host_ns += 3 * US;
	return l.correlation_id;
}

/*
 * Adds a launch by NCCL. If communicators do not block, another thread, without an open range,
 * launches.
 */
static uint32_t launch_nccl(struct rank *r, uint32_t thread, uint32_t range)
{
	return o.blocking ? launch(r, thread, P_NCCL, range) : launch(r, 1, P_NCCL, 0);
}

static void kernel(struct rank *r, uint32_t correlation, uint32_t name, uint32_t stream,
		   uint64_t begin_ns, uint64_t end_ns, uint64_t node)
{
	uint64_t begin = local(r, begin_ns);

	r->free_ns[stream] = end_ns;
	if (r->quiet)
		return;
	gen__batch_begin(r->g, local(r, end_ns), r->proc, 0);
	r->g->node = node;
	gen__kernel(r->g, node ? XPU_MISC_GRAPH_NODE : 0, begin, local(r, end_ns) - begin,
		    correlation, name, stream + 1);
	r->g->node = 0;
	gen__batch_end(r->g);
}

static void mark(struct rank *r, const char *name, const struct xpu_range_payload *payload)
{
	uint32_t id = range_id(r, 1, name, payload);
	const struct xpu_range_event e = {
		.range_id = id, .thread_id = r->thread + 1, .what = XPU_RANGE_MARK,
	};

	if (!r->quiet)
		gen__ranges(r->g, local(r, r->host_ns), &e, 1);
	r->host_ns += 100;
}

static void mark_comm(struct rank *r, const char *name, uint32_t rank, uint32_t comm)
{
	const struct xpu_range_payload p = {
		.comm = comm_id(comm, rank),
		.fields = XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_RANK | XPU_COLLECTIVE_NR_RANKS,
		.rank = comm_rank(comm, rank),
		.nr_ranks = comm_ranks(comm, rank),
	};

	mark(r, name, &p);
}

/* Splits off half of the ranks. Their keys are in reverse order of their ranks. */
static void split_comm(struct rank *r, uint32_t rank)
{
	const struct xpu_range_payload p = {
		.comm = comm_id(COMM_HALF, rank), .bytes = comm_id(COMM_WORLD, rank), .rank = rank,
		.nr_ranks = nr_ranks, .root = -(int32_t)rank, .fields = XPU_COLLECTIVE_COMM |
		XPU_COLLECTIVE_RANK | XPU_COLLECTIVE_NR_RANKS | XPU_COLLECTIVE_KEY |
		XPU_COLLECTIVE_PARENT,
	};

	mark(r, "ncclCommSplit", &p);
}

static void make_comm(struct rank *r, uint32_t rank, uint32_t comm)
{
	if (comm == COMM_HALF)
		split_comm(r, rank);
	else
		mark_comm(r, "ncclCommInitRankConfig", rank, comm);
}

static void end_comm(struct rank *r, uint32_t rank, uint32_t comm)
{
	mark_comm(r, "ncclCommDestroy", rank, comm);
}

/* ---- operations, on all ranks at once -------------------------------------------------------- */

static uint64_t begins[MAX_RANKS], ends[MAX_RANKS];

/*
 * Sets when the kernels of a collective begin and end. @ready: when each rank's kernel is launched;
 * @take_ns: duration of the transfer
 */
static void run_collective(uint32_t comm, uint32_t stream, const uint64_t *ready, uint64_t take_ns)
{
	uint32_t i, k;

	for (i = 0; i < nr_ranks; i++) {
		begins[i] = ready[i] + (2 + chance(4)) * US + chance(1000);
		if (begins[i] < ranks[i].free_ns[stream])
			begins[i] = ranks[i].free_ns[stream] + US;
	}
	for (i = 0; i < nr_ranks; i++) {
		uint64_t last = 0, all = 0;

		for (k = 0; k < nr_ranks; k++) {
			if (comm_id(comm, k) != comm_id(comm, i) || ranks[k].done)
				continue;
			all = begins[k] > all ? begins[k] : all;
			if (is_recorded(k) && begins[k] > last)
				last = begins[k];
		}
		ends[i] = all + take_ns + 1 + chance((uint32_t)(o.apart * US) + 1);
		if (!is_recorded(i) || !has_partner(comm, i) || (o.attach && !o.destroy))
			continue;
		ranks[i].wait_ns += last - begins[i];
		ranks[i].transfer_ns += ends[i] - last;
	}
}

static const char *const collectives[] = { "ncclAllReduce", "ncclAllGather", "ncclReduceScatter" };

static struct xpu_range_payload payload_of(uint32_t comm, uint32_t rank, uint64_t bytes)
{
	return (struct xpu_range_payload){
		.comm = comm_id(comm, rank), .bytes = bytes,
		.fields = XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_BYTES,
	};
}

/* Runs one collective, launched by the forward thread or the backward thread. */
static void do_single(uint32_t comm, uint32_t thread, const char *name, uint64_t bytes, bool lose)
{
	uint64_t ready[MAX_RANKS] = { 0 };
	uint32_t ids[MAX_RANKS], i;

	for (i = 0; i < nr_ranks; i++) {
		struct rank *r = &ranks[i];
		struct xpu_range_payload p = payload_of(comm, i, bytes);
		uint32_t id;

		if (r->done)
			continue;
		if (lose && i == nr_ranks - 1) {
			ids[i] = launch(r, thread, P_NCCL, 0);
		} else {
			id = open_call(r, thread, name, &p);
			ids[i] = launch_nccl(r, thread, id);
			close_call(r, thread);
		}
		ready[i] = r->host_ns;
		count(comm, i);
	}
	run_collective(comm, comm, ready, 20 * US + bytes / 64);
	for (i = 0; i < nr_ranks; i++)
		if (!ranks[i].done)
			kernel(&ranks[i], ids[i], S_NCCL_KERNEL, comm, begins[i], ends[i], 0);
}

/*
 * Runs a group of collectives of one or two communicators. The group has one kernel for each
 * communicator.
 */
static void do_group(uint32_t first, uint32_t second, uint32_t nr)
{
	uint64_t ready[2][MAX_RANKS] = { { 0 } };
	uint32_t ids[2][MAX_RANKS], i, k, c, nr_units = first == second ? 1 : 2;
	const uint32_t comms[2] = { first, second };
	bool deep = chance(2);

	for (i = 0; i < nr_ranks; i++) {
		struct rank *r = &ranks[i];
		uint32_t end;

		if (r->done)
			continue;
		for (k = 0; k <= deep; k++) {
			open_call(r, 0, "ncclGroupStart", NULL);
			close_call(r, 0);
		}
		for (k = 0; k < nr; k++)
			for (c = 0; c < nr_units; c++) {
				struct xpu_range_payload p = payload_of(comms[c], i, 4096 << k);

				open_call(r, 0, collectives[k % 3], &p);
				close_call(r, 0);
				count(comms[c], i);
			}
		if (deep) {
			open_call(r, 0, "ncclGroupEnd", NULL);
			close_call(r, 0);
		}
		end = open_call(r, 0, "ncclGroupEnd", NULL);
		for (c = 0; c < nr_units; c++) {
			ids[c][i] = launch_nccl(r, 0, end);
			ready[c][i] = r->host_ns;
		}
		close_call(r, 0);
	}
	for (c = 0; c < nr_units; c++) {
		run_collective(comms[c], comms[c], ready[c], 50 * US);
		for (i = 0; i < nr_ranks; i++)
			if (!ranks[i].done)
				kernel(&ranks[i], ids[c][i], S_NCCL_KERNEL, comms[c], begins[i],
				       ends[i], 0);
	}
}

static struct xpu_range_payload payload_to(uint32_t comm, uint32_t rank, uint32_t peer,
					   uint64_t bytes)
{
	struct xpu_range_payload p = payload_of(comm, rank, bytes);

	p.fields |= XPU_COLLECTIVE_PEER;
	p.peer = comm_rank(comm, peer);
	return p;
}

/* Return: the next or the previous rank in a communicator */
static uint32_t neighbour(uint32_t comm, uint32_t rank, uint32_t step)
{
	uint32_t other = rank;

	do
		other = (other + step) % nr_ranks;
	while (comm_id(comm, other) != comm_id(comm, rank));
	return other;
}

/* Each rank sends to the next rank and receives from the previous one. */
static void do_ring(uint32_t comm, uint64_t bytes)
{
	uint64_t ready;
	uint32_t ids[MAX_RANKS], i;

	for (i = 0; i < nr_ranks; i++) {
		uint32_t next = neighbour(comm, i, 1), before = neighbour(comm, i, nr_ranks - 1),
			 end;
		struct xpu_range_payload p = payload_to(comm, i, next, bytes);
		struct rank *r = &ranks[i];

		open_call(r, 0, "ncclGroupStart", NULL);
		close_call(r, 0);
		open_call(r, 0, "ncclSend", &p);
		close_call(r, 0);
		p = payload_to(comm, i, before, bytes);
		open_call(r, 0, "ncclRecv", &p);
		close_call(r, 0);
		end = open_call(r, 0, "ncclGroupEnd", NULL);
		ids[i] = launch_nccl(r, 0, end);
		close_call(r, 0);
		ready = r->host_ns + (2 + chance(4)) * US;
		begins[i] = ready > r->free_ns[comm] ? ready : r->free_ns[comm] + US;
	}
	for (i = 0; i < nr_ranks; i++) {
		uint32_t next = neighbour(comm, i, 1), before = neighbour(comm, i, nr_ranks - 1);
		uint64_t last = begins[i];
		bool with_next = next != i && is_recorded(next) && (!o.attach || o.destroy);
		bool with_before = before != i && is_recorded(before) && (!o.attach || o.destroy);

		ends[i] = begins[next] > begins[before] ? begins[next] : begins[before];
		ends[i] = (ends[i] > last ? ends[i] : last) + 30 * US + chance(5000);
		if (!is_recorded(i))
			continue;
		nr_ops += 2;
		nr_paired += with_next + with_before;
		if (with_next && begins[next] > last)
			last = begins[next];
		if (with_before && begins[before] > last)
			last = begins[before];
		if (!with_next && !with_before)
			continue;
		ranks[i].wait_ns += last - begins[i];
		ranks[i].transfer_ns += ends[i] - last;
	}
	for (i = 0; i < nr_ranks; i++)
		kernel(&ranks[i], ids[i], S_SEND_RECV, comm, begins[i], ends[i], 0);
}

enum { NODE_FIRST = 51, NODE_COPY = 71, NR_NODES = 2 };

static void capture_graph(void)
{
	uint32_t i, k, id, correlation;

	for (i = 0; i < nr_ranks; i++) {
		struct rank *r = &ranks[i];

		for (k = 0; k < NR_NODES; k++) {
			struct xpu_range_payload p = payload_of(COMM_OTHER, i, 1024 << k);

			id = open_call(r, 0, collectives[k], &p);
			gen__graph_node(r->g, local(r, r->host_ns), i * 100 + NODE_FIRST + k,
					r->proc, r->next_correlation + 1, r->path + P_CAPTURE,
					r->thread);
			correlation = launch(r, 0, P_CAPTURE, id);
			(void)correlation;
			close_call(r, 0);
			gen__batch_begin(r->g, local(r, r->host_ns), r->proc, 0);
			gen__graph_clone(r->g, i * 100 + NODE_COPY + k, i * 100 + NODE_FIRST + k);
			gen__batch_end(r->g);
			nr_captured++;
		}
	}
}

static void do_graph(void)
{
	uint64_t ready[MAX_RANKS] = { 0 };
	uint32_t ids[MAX_RANKS], i, k;

	for (i = 0; i < nr_ranks; i++) {
		if (ranks[i].done)
			continue;
		ids[i] = launch(&ranks[i], 0, P_GRAPH, 0);
		ready[i] = ranks[i].host_ns;
	}
	for (k = 0; k < NR_NODES; k++) {
		run_collective(COMM_OTHER, COMM_OTHER, ready, 25 * US);
		for (i = 0; i < nr_ranks; i++) {
			if (ranks[i].done)
				continue;
			kernel(&ranks[i], ids[i], S_NCCL_KERNEL, COMM_OTHER, begins[i], ends[i],
			       i * 100 + NODE_COPY + k);
			count(COMM_OTHER, i);
		}
	}
}

static void make_again(void)
{
	uint32_t i;

	for (i = 0; i < nr_ranks; i++) {
		struct xpu_range_payload p = payload_of(COMM_AGAIN, i, 0);

		if (ranks[i].done)
			continue;
		open_call(&ranks[i], 1, "ncclCommDestroy", &p);
		close_call(&ranks[i], 1);
		make_comm(&ranks[i], i, COMM_AGAIN);
	}
}

/* ---- a rank's other work --------------------------------------------------------------------- */

/*
 * Each rank loads data, then runs a kernel. One rank may load slowly, and one rank may have a slow
 * kernel.
 */
static void do_own_work(void)
{
	uint32_t i, id;

	for (i = 0; i < nr_ranks; i++) {
		struct rank *r = &ranks[i];
		uint64_t load_ns = (50 + chance(50)) * US, run_ns = (40 + chance(20)) * US,
			 begin_ns;

		if (r->done)
			continue;
		load_ns += i == o.slow_host ? 5000 * US : 0;
		run_ns += i == o.slow_gpu ? 5000 * US : 0;
		if (!r->quiet)
			gen__off(r->g, XPU_OFF_SLEEP, local(r, r->host_ns), load_ns,
				 r->path + P_LOADER, r->thread);
		r->host_ns += load_ns + 5 * US;
		id = launch(r, 0, P_LAUNCH, 0);
		begin_ns = r->host_ns > r->free_ns[COMPUTE] ? r->host_ns + US :
			   r->free_ns[COMPUTE] + US;
		kernel(r, id, S_SLOW, COMPUTE, begin_ns, begin_ns + run_ns, 0);
		/* Collectives wait for the kernel's stream, as after cudaStreamWaitEvent(). */
		r->free_ns[COMM_WORLD] = begin_ns + run_ns > r->free_ns[COMM_WORLD] ?
			begin_ns + run_ns : r->free_ns[COMM_WORLD];
	}
}

/* ---- recordings ------------------------------------------------------------------------------ */

#define NAMED(string)	(XPU_FRAME_NAMED | (string))

static void add_paths(struct rank *r)
{
	static const uint32_t inner[NR_PATHS + 1] = {
		[P_LAUNCH] = S_FORWARD, [P_LOAD] = S_LOAD, [P_NCCL] = S_BACKWARD,
		[P_GRAPH] = S_TRAIN, [P_LOADER] = S_LOAD, [P_CAPTURE] = S_BACKWARD,
	};
	uint32_t path;

	for (path = 1; path <= NR_PATHS; path++) {
		const uint64_t frames[] = {
			NAMED(path == P_LOADER ? S_SLEEP : inner[path]), NAMED(inner[path]),
			NAMED(S_TRAIN), NAMED(S_MAIN),
		};
		bool off = path == P_LOADER;

		gen__callchain(r->g, off ? XPU_CHAIN_CPU | XPU_CHAIN_OFF : XPU_CHAIN_SHIM, 1,
			       r->path + path, r->proc, off ? 0 : DRIVER,
			       off ? 0 : path == P_GRAPH ? CBID_GRAPH : CBID_LAUNCH, frames, 4);
	}
}

static void add_names(struct rank *r, uint32_t rank)
{
	const struct {
		uint32_t id;
		const char *name;
	} names[] = {
		{ S_LAUNCH, "cuLaunchKernel" }, { S_GRAPH, "cuGraphLaunch" }, { S_MAIN, "main" },
		{ S_TRAIN, "train" }, { S_FORWARD, "forward" }, { S_BACKWARD, "backward" },
		{ S_LOAD, "load_batch" }, { S_SLEEP, "nanosleep" },
		{ S_NCCL_KERNEL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL" },
		{ S_KERNEL, "kernel" }, { S_SEND_RECV, "ncclDevKernel_SendRecv" },
		{ S_SLOW, o.other ? "nvshmemi_transfer_rma" : "matmul" }, { S_GPU, "Simulated" },
	};
	static const char *const hostile[] = {
		"</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>",
		"\"a\" &amp; `${b}`", "semi;colon\n\001", "bad \377 utf-8", "__proto__", "[rank 1]",
	};
	uint8_t uuid[16] = { 0xaa, rank + 1, rank >> 8 };
	uint32_t i;

	gen__batch_begin(r->g, 1, r->proc, 0);
	/* Losses before the recording are not reported in it. */
	if (o.attach)
		gen__counters(r->g, &(struct xpu_record_counters){ 0 });
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		gen__string(r->g, names[i].id, o.hostile && names[i].id != S_NCCL_KERNEL ?
			    hostile[i % (sizeof(hostile) / sizeof(hostile[0]))] : names[i].name);
	gen__api(r->g, DRIVER, CBID_LAUNCH, S_LAUNCH);
	gen__api(r->g, DRIVER, CBID_GRAPH, S_GRAPH);
	gen__device(r->g, 0, S_GPU, uuid);
	for (i = 0; i < NR_STREAMS; i++)
		gen__stream(r->g, i + 1, 0, 1, 7 + i);
	gen__batch_end(r->g);
}

static void open_files(uint32_t nr_files)
{
	char host[32];
	uint32_t i;
	int len;

	for (i = 0; i < nr_files; i++) {
		len = snprintf(host, sizeof(host), o.hostile ? "<b onclick=alert(3)>%u" : "node%u",
			       i % (uint32_t)o.hosts);
		gen__header(&files[i]);
		gen__info(&files[i], XPU_INFO_HOSTNAME, host, len);
	}
	for (i = 0; i < nr_ranks; i++) {
		struct rank *r = &ranks[i];
		uint32_t file = i % nr_files, host_nr = file % (uint32_t)o.hosts;

		r->g = &files[file];
		r->proc = i / nr_files + 1;
		r->path = (r->proc - 1) * NR_PATHS;
		r->thread = (r->proc - 1) * 2 + 1;
		r->host_ns = 1000000 + 1000000ull * chance(50);
		r->rate = host_nr * o.drift / 1e6;
		r->ahead_ns = host_nr * o.offset * US;
		gen__process(r->g, o.attach ? XPU_MISC_PROCESS_ATTACH : XPU_MISC_PROCESS_ROOT, 1,
			     r->proc, 1000 + i, 0, o.hostile ? "<i>\"'&lt;" : "train");
		gen__thread(r->g, r->thread, r->proc, 1000 + i);
		gen__thread(r->g, r->thread + 1, r->proc, 3000 + i);
		add_names(r, i);
		add_paths(r);
	}
}

static void close_files(const char *dir, uint32_t nr_files)
{
	const struct xpu_record_counters lost = { .nr_dropped_ranges = 1 };
	struct rank *last = &ranks[nr_ranks - 1];
	char path[4096];
	uint32_t i;
	int err;

	if (o.lose) {
		gen__batch_begin(last->g, 1, last->proc, 0);
		gen__counters(last->g, &lost);
		gen__batch_end(last->g);
	}

	for (i = 0; i < nr_files; i++) {
		gen__end(&files[i], 1ull << 40, 0);
		snprintf(path, sizeof(path), "%s/%u.data", dir, i);
		err = gen__save(&files[i], path);
		if (err) {
			fprintf(stderr, "gen_ranks: %s: %s\n", path, strerror(-err));
			exit(1);
		}
		gen__free(&files[i]);
	}
}

/* ---- the program ----------------------------------------------------------------------------- */

static void run_step(uint32_t step)
{
	/* Launches no graph that is older than the recording. */
	uint32_t what = chance(o.attach || !o.blocking ? 7 : 12);
	bool whole = !ranks[nr_ranks - 1].done, lose = o.lose && step == (uint32_t)o.steps / 2;

	do_own_work();
	if (what < 3)
		do_group(COMM_WORLD, COMM_WORLD, 1 + chance(3));
	else if (what < 5)
		do_group(COMM_WORLD, o.blocking ? COMM_OTHER : COMM_WORLD, 1 + chance(2));
	else if (what < 7 && whole && o.payload)
		do_ring(o.blocking && chance(2) ? COMM_HALF : COMM_WORLD, 1024 << chance(8));
	else if (what < 9)
		do_graph();
	else if (what == 9)
		make_again();
	do_single(chance(nr_comms), chance(2), collectives[chance(3)], 256 << chance(8), false);
	do_single(COMM_WORLD, 1, "ncclAllReduce", 1 << 20, lose);
}

static void set(const char *arg)
{
	const struct {
		const char *key;
		double *value;
	} keys[] = {
		{ "ranks", &o.ranks }, { "steps", &o.steps }, { "seed", &o.seed },
		{ "files", &o.files }, { "hosts", &o.hosts }, { "offset", &o.offset },
		{ "drift", &o.drift }, { "apart", &o.apart }, { "slow_host", &o.slow_host },
		{ "slow_gpu", &o.slow_gpu }, { "cut", &o.cut }, { "lose", &o.lose },
		{ "payload", &o.payload }, { "hostile", &o.hostile }, { "attach", &o.attach },
		{ "destroy", &o.destroy }, { "blocking", &o.blocking },
		{ "other", &o.other },
	};
	size_t i, len;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		len = strlen(keys[i].key);
		if (!strncmp(arg, keys[i].key, len) && arg[len] == '=') {
			*keys[i].value = atof(arg + len + 1);
			return;
		}
	}
	fprintf(stderr, "gen_ranks: unknown key %s\n", arg);
	exit(2);
}

int main(int argc, char **argv)
{
	uint32_t i, step, nr_files;

	if (argc < 2) {
		fputs("usage: gen_ranks DIR [KEY=VALUE...]\n", stderr);
		return 2;
	}
	for (i = 2; i < (uint32_t)argc; i++)
		set(argv[i]);
	nr_ranks = o.ranks;
	nr_files = o.files ? o.files : nr_ranks;
	nr_comms = o.blocking ? NR_COMMS : 1;
	if (nr_ranks < 2 || nr_ranks > MAX_RANKS || nr_files > nr_ranks)
		return 2;
	state = o.seed * 7919 + 1;
	ranks = calloc(nr_ranks, sizeof(*ranks));
	files = calloc(nr_files, sizeof(*files));
	if (!ranks || !files)
		return 1;
	open_files(nr_files);
	for (i = 1; i < nr_ranks; i++)
		ranks[i].quiet = o.attach;
	for (i = 0; i < nr_ranks * nr_comms; i++)
		make_comm(&ranks[i / nr_comms], i / nr_comms, i % nr_comms);
	for (i = 0; i < nr_comms; i++)
		do_single(i, 0, "ncclAllReduce", 8, false);
	if (!o.attach && o.blocking)
		capture_graph();
	for (step = 0; step < o.steps; step++) {
		ranks[nr_ranks - 1].done |= o.cut && step >= o.cut;
		for (i = 1; i < nr_ranks; i++)
			ranks[i].quiet &= step < i * o.attach;
		run_step(step);
	}
	for (i = 0; i < nr_ranks * nr_comms && o.attach && o.destroy; i++)
		end_comm(&ranks[i / nr_comms], i / nr_comms, i % nr_comms);
	close_files(argv[1], nr_files);
	printf("ops %" PRIu64 " paired %" PRIu64 " captured %" PRIu64 "\n", nr_ops, nr_paired,
	       nr_captured);
	for (i = 0; i < nr_ranks; i++)
		printf("rank %u wait %" PRIu64 " transfer %" PRIu64 "\n", i, ranks[i].wait_ns,
		       ranks[i].transfer_ns);
	free(files);
	free(ranks);
	return 0;
}
