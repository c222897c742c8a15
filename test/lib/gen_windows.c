// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_windows SHAPE FILE [MS] - a recording of 4 s with time spans of each kind. SHAPE is their
 * length: "long" spans are longer than windows of 1 s, "across" spans lie in many windows of 100
 * ms, "tiny" spans are some us long
 *
 * With MS, writes a recording as xpuload --every does, for xpumerge split: it has a cut every MS
 * ms, records in the order of their arrival, and memory.
 *
 * Prints the truth, a line KIND BEGIN END for each span, in ns since the recording began. Launches
 * come long before their device work.
 *
 * Other shapes have one kind of data each. Their lines have other words before BEGIN and END:
 *
 *	memory		memory BYTES PATH: memory that a call path holds
 *			graphs BYTES: memory that graphs hold
 *	stalls, exact	sample KERNEL PLACE: PC samples, one every 10 us. "stalls" reads them
 *			every 50 ms, "exact" after each launch
 *	nccl		nccl RANK, nccl_wait RANK: the two parts of an NCCL kernel, for two ranks
 *	captured	captured NUMBER: a kernel of a capture window
 *			open NUMBER: the capture window
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define START_NS	1000ull		/* the start that gen__header() sets */
#define END_NS		3950000000ull
#define PROC		1
#define PID		100
#define IDS		100
#define DRIVER		1
#define SAMPLE_NS	1000000
#define SUM_NS		10000000	/* length of a sum of short waits off the CPU */

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
	uint64_t cpu_ns, cpu_every_ns;	/* length and interval of spans of complete CPU samples */
} shapes[] = {
	{ "long", 1700000003, 1900000007, 1900000007, 1700000000, 1900000007 },
	{ "across", 170000003, 230000007, 230000007, 170000000, 230000007 },
	{ "tiny", 7001, 1970003, 37003, 1000000, 10000019 },
};

struct state {
	struct gen g, batch;
	uint32_t proc;			/* the process of the next records; the IDs of its threads
					 * and call paths begin after (proc - 1) * IDS */
	uint32_t correlation_id;
	uint64_t first_ns, nr, sum_ns;	/* the current sum of short waits off the CPU */
	uint64_t cut_ns, cut_every_ns;	/* the next cut; 0: none */
	uint32_t nr_allocs;		/* memory events written so far */
};

static void emit_batch(struct state *s, bool full)
{
	if (!s->batch.nr || (!full && s->batch.nr < 40000))
		return;
	gen__batch_begin(&s->g, START_NS + END_NS, s->proc, s->proc * PID);
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

static void put_launch(struct state *s, uint64_t ns, uint32_t id, uint32_t path)
{
	const struct xpu_launch launch = {
		.correlation_id = id, .path_id = path, .thread_id = T_LAUNCH,
	};
	const uint32_t range = path == P_KERNEL;

	gen__launches_in(&s->g, ns, &launch, &range, 1);
}

/* Adds a launch that was made @early_ns before its device work. Return: its ID. */
static uint32_t add_launch(struct state *s, uint64_t ns, uint64_t early_ns, uint32_t path)
{
	put_launch(s, ns - early_ns, ++s->correlation_id, path);
	return s->correlation_id;
}

static void add_range_event(struct state *s, uint64_t ns, uint8_t what)
{
	const struct xpu_range_event e = {
		.range_id = what == XPU_RANGE_PUSH ? 2 : 0, .thread_id = T_RANGE, .what = what,
	};

	gen__ranges(&s->g, ns, &e, 1);
}

/* Return: the correlation ID of the @nr-th device work of a kind */
static uint32_t id_of_work(enum kind kind, uint64_t nr)
{
	return 1 + kind + 3 * nr;
}

/* Adds the record at the start of a span: the launch of device work, or a range that opens. */
static void add_begin(struct state *s, enum kind kind, uint64_t nr, uint64_t ns)
{
	static const uint32_t paths[] = {
		[KERNEL] = P_KERNEL, [MEMCPY] = P_COPY, [NODE] = P_GRAPH,
	};

	if (kind == RANGE)
		add_range_event(s, START_NS + ns, XPU_RANGE_PUSH);
	else if (kind <= NODE)
		put_launch(s, START_NS + ns, id_of_work(kind, nr), paths[kind]);
}

/* Adds the record at the end of a span. */
static void add_end(struct state *s, enum kind kind, uint64_t nr, uint64_t ns, uint64_t end_ns)
{
	const struct xpu_call call = { .duration_ns = end_ns - ns, .cbid = CBID_SYNC };
	uint32_t id = id_of_work(kind, nr);

	printf("%s %" PRIu64 " %" PRIu64 "\n", kinds[kind], ns, end_ns);
	ns += START_NS;
	end_ns += START_NS;
	switch (kind) {
	case KERNEL:
		gen__kernel(&s->batch, 0, ns, end_ns - ns, id, 10, 1);
		break;
	case MEMCPY:
		gen__memcpy(&s->batch, 0, ns, end_ns - ns, id, 2, 1000, 1);
		break;
	case NODE:
		s->batch.node = 50;
		gen__kernel(&s->batch, XPU_MISC_GRAPH_NODE, ns, end_ns - ns, id, 11, 3);
		break;
	case CALL:
		gen__calls(&s->batch, ns, PID, &call, 1);
		break;
	case WAIT:
		gen__wait(&s->g, XPU_WAIT_STREAM, ns, end_ns - ns, P_SYNC, T_WAIT, 1, 7, 0);
		break;
	case RANGE:
		add_range_event(s, end_ns, XPU_RANGE_POP);
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
	default:		/* a CPU sample, at the end of its span */
		gen__samples(&s->g, end_ns, end_ns - ns, &(struct xpu_sample){
			.path_id = P_CPU, .thread_id = T_CPU,
		}, 1);
	}
	emit_batch(s, false);
}

/* Return: a number below @below; the sequence is fixed */
static uint64_t chance(uint64_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

static uint32_t id_of(const struct state *s, uint32_t id)
{
	return (s->proc - 1) * IDS + id;
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
	gen__string(&s->batch, 12, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	gen__device(&s->batch, 0, 9, s->proc == PROC ? "0123456789abcde" : "123456789abcdef");
	for (i = 1; i <= 3; i++)
		gen__stream(&s->batch, i, 0, 1, 6 + i);
	emit_batch(s, true);
	gen__range(&s->g, START_NS, s->proc, 1, 0, "", "launching");
	gen__range(&s->g, START_NS, s->proc, 2, 0, "", "range");
}

static void add_path(struct state *s, uint32_t path, uint16_t flags, uint32_t cbid)
{
	const uint64_t frames[] = { 0x400100 + path * 16, 0x400040 };

	gen__callchain(&s->g, flags, START_NS, id_of(s, path), s->proc, cbid ? DRIVER : 0, cbid,
		       frames, 2);
}

/* Begins a process, with its threads, call paths and names. */
static void add_process(struct state *s, uint32_t proc)
{
	uint32_t i;

	s->proc = proc;
	gen__process(&s->g, XPU_MISC_PROCESS_ROOT, START_NS, proc, proc * PID, 0, "app");
	gen__comm(&s->g, XPU_MISC_COMM_EXEC, START_NS, proc * PID, proc * PID, "app");
	for (i = 1; i <= NR_THREADS; i++)
		gen__thread(&s->g, id_of(s, i), proc, proc * PID + i - 1);
	add_path(s, P_KERNEL, 0, CBID_LAUNCH);
	add_path(s, P_COPY, 0, CBID_COPY);
	add_path(s, P_GRAPH, 0, CBID_GRAPH);
	add_path(s, P_NODE, 0, CBID_LAUNCH);
	add_path(s, P_SYNC, 0, CBID_SYNC);
	add_path(s, P_OFF, XPU_CHAIN_CPU | XPU_CHAIN_OFF, 0);
	add_path(s, P_CPU, XPU_CHAIN_CPU, 0);
	add_names(s);
}

/* ---- one kind each --------------------------------------------------------------------------- */

static struct xpu_alloc allocs[4000];
static uint64_t alloc_ns[4000];
static uint32_t alloc_order[4000], nr_allocs;

static void add_alloc(uint64_t ns, uint8_t what, uint8_t space, uint64_t address, uint64_t bytes,
		      uint32_t path)
{
	alloc_ns[nr_allocs] = ns;
	allocs[nr_allocs++] = (struct xpu_alloc){
		.path_id = path,
		.thread_id = T_LAUNCH,
		.what = what,
		.space = space,
		.address = address,
		.bytes = bytes,
	};
}

static int by_alloc_time(const void *va, const void *vb)
{
	uint64_t a = alloc_ns[*(const uint32_t *)va], b = alloc_ns[*(const uint32_t *)vb];

	return a < b ? -1 : a > b;
}

/*
 * Makes memory that is held all the time, memory that is held for over 1 s, and memory that is held
 * for some ms. Also makes memory levels of graphs.
 */
static void make_memory(void)
{
	static const uint64_t life_ns[] = { 0, 1300000011, 3100007 };
	static const uint64_t every_ns[] = { 900000001, 700000003, 37000009 };
	static const uint32_t paths[] = { P_KERNEL, P_COPY, P_GRAPH };
	uint64_t ns, bytes, end_ns, address = 0x100000;
	uint32_t i;

	add_alloc(0, XPU_ALLOC_START, 0, 0, 0, 0);
	for (i = 0; i < 3; i++)
		for (ns = 50000000 + 1370011 * i; ns < END_NS; ns += every_ns[i]) {
			address += 1 << 24;
			bytes = 1000000 + chance(8000000);
			end_ns = life_ns[i] && ns + life_ns[i] < END_NS ? ns + life_ns[i] : END_NS;
			printf("memory %" PRIu64 " %u %" PRIu64 " %" PRIu64 "\n", bytes, paths[i],
			       ns, end_ns);
			add_alloc(ns, XPU_ALLOC_MADE, XPU_SPACE_DEVICE, address, bytes, paths[i]);
			if (end_ns < END_NS)
				add_alloc(end_ns, XPU_ALLOC_FREED, XPU_SPACE_DEVICE, address, 0,
					  paths[i]);
		}
	for (ns = 200000017; ns < END_NS; ns += 500000000) {
		bytes = chance(20000000);
		end_ns = ns + 500000000 < END_NS ? ns + 500000000 : END_NS;
		printf("graphs %" PRIu64 " 0 %" PRIu64 " %" PRIu64 "\n", bytes, ns, end_ns);
		add_alloc(ns, XPU_ALLOC_LEVEL, XPU_SPACE_GRAPHS, 0, bytes, 0);
	}
	for (i = 0; i < nr_allocs; i++)
		alloc_order[i] = i;
	qsort(alloc_order, nr_allocs, sizeof(alloc_order[0]), by_alloc_time);
}

/* Writes the memory events before @until_ns. */
static void emit_memory(struct state *s, uint64_t until_ns)
{
	struct xpu_record_allocs rec = { .proc_id = PROC, .nr = 1 };
	uint32_t i;

	for (; s->nr_allocs < nr_allocs; s->nr_allocs++) {
		i = alloc_order[s->nr_allocs];
		if (alloc_ns[i] >= until_ns)
			break;
		rec.time_ns = START_NS + alloc_ns[i];
		/* The first event, START, has the same number as the next event. */
		rec.order = s->nr_allocs ?: 1;
		gen__record(&s->g, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), &allocs[i],
			    sizeof(allocs[0]));
	}
}

static void add_memory(struct state *s)
{
	make_memory();
	emit_memory(s, UINT64_MAX);
}

enum { READ_NS = 50000000,
       PHASE_NS = 400000000,
       TICK_NS = 10000,
       NR_PLACES = 3,
       S_REASON = 13 };

static void add_stalls(struct state *s, uint16_t misc, uint64_t begin_ns, uint64_t end_ns,
		       uint32_t kernel, const uint32_t *samples)
{
	struct xpu_stall stalls[NR_PLACES];
	struct xpu_record_stalls rec = {
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.context = 1,
		.function = kernel,
	};
	uint32_t i;

	for (i = 0; i < NR_PLACES; i++)
		if (samples[i])
			stalls[rec.nr++] = (struct xpu_stall){ 16 * i, 3, samples[i], 0 };
	if (rec.nr)
		gen__record(&s->batch, XPU_RECORD_STALLS, misc, &rec, sizeof(rec), stalls,
			    rec.nr * sizeof(stalls[0]));
}

/* Adds the samples of a kernel that were taken in the READ_NS before @ns. */
static void add_read(struct state *s, uint64_t ns, uint32_t kernel, const uint32_t *samples)
{
	add_stalls(s, 0, START_NS + ns - READ_NS, START_NS + ns, 10 + kernel, samples);
}

/* Two kernels alternate, launched from two call paths. @exact: some kernels last 0.3 s */
static void add_samples(struct state *s, bool exact)
{
	static const char *const names[] = { "kernel", "node" };
	const struct xpu_record_stall_reason reason = { .index = 3, .name = S_REASON };
	struct xpu_record_stalls_account account = {
		.context = 1,
		.interval_cycles = 1 << 14,
		.begin_ns = START_NS,
		.end_ns = START_NS + END_NS,
	};
	uint32_t samples[2][NR_PLACES] = { { 0 } }, nr = 0, id, kind;
	uint64_t ns, length_ns, read_ns = READ_NS, place;

	gen__string(&s->batch, S_REASON, "smsp__pcsamp_warps_issue_stalled_wait");
	gen__record(&s->batch, XPU_RECORD_STALL_REASON, 0, &reason, sizeof(reason), NULL, 0);
	for (ns = 60000000; ns < END_NS - 500000000; ns += length_ns + 700000, nr++) {
		length_ns = exact && nr % 50 == 49 ? 300000000 : 2000000 + TICK_NS * chance(300);
		for (; read_ns <= ns && !exact; read_ns += READ_NS)
			for (id = 0; id < 2; id++) {
				add_read(s, read_ns, id, samples[id]);
				memset(samples[id], 0, sizeof(samples[id]));
			}
		/* No kernel runs while samples are read. */
		if (!exact && ns + length_ns > read_ns)
			length_ns = (read_ns - ns) / TICK_NS * TICK_NS;
		if (!length_ns)
			continue;
		kind = nr % 3 == 0;
		place = ns / PHASE_NS % NR_PLACES;
		id = add_launch(s, START_NS + ns, 10000, nr % 2 ? P_COPY : P_KERNEL);
		gen__kernel(&s->batch, 0, START_NS + ns, length_ns, id, 10 + kind, 1);
		printf("sample %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", names[kind],
		       16 * place, ns, ns + length_ns);
		account.recorded += length_ns / TICK_NS;
		samples[kind][place] += length_ns / TICK_NS;
		if (!exact)
			continue;
		add_stalls(s, XPU_MISC_STALLS_LAUNCH, id, START_NS + ns + length_ns, 10 + kind,
			   samples[kind]);
		memset(samples[kind], 0, sizeof(samples[kind]));
	}
	for (id = 0; id < 2; id++)
		add_read(s, read_ns, id, samples[id]);
	account.total = account.recorded;
	gen__record(&s->batch, XPU_RECORD_STALLS_ACCOUNT, 0, &account, sizeof(account), NULL, 0);
}

static void add_reads(struct state *s)
{
	add_samples(s, false);
}

static void add_exact(struct state *s)
{
	add_samples(s, true);
}

/* Adds collectives of two ranks, in which the earlier rank waits for the later one. */
static void add_nccl(struct state *s)
{
	static const uint64_t late_ns[] = { 3000017, 41000003, 190000001, 7001, 1200000011 };
	struct xpu_range_payload p = {
		.comm = 7,
		.nr_ranks = 2,
		.fields = XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_RANK | XPU_COLLECTIVE_NR_RANKS,
	};
	const uint32_t range = 22;
	uint64_t ns, begin_ns, end_ns, wait_ns;
	uint32_t rank, nr, late;

	for (rank = 0; rank < 2; rank++) {
		const struct xpu_range_event made = {
			.range_id = 21,
			.thread_id = rank * IDS + T_LAUNCH,
			.what = XPU_RANGE_MARK,
		};

		p.rank = rank;
		gen__nccl_range(&s->g, START_NS, PROC + rank, 21, 0, "ncclCommInitRankConfig", &p);
		gen__nccl_range(&s->g, START_NS, PROC + rank, range, 0, "ncclAllReduce", &p);
		gen__ranges(&s->g, START_NS + 1000, &made, 1);
	}
	for (ns = 60000000, nr = 1;; ns = end_ns + 1000000 + chance(30000000), nr++) {
		wait_ns = late_ns[nr % 5];
		end_ns = ns + wait_ns + 5000000 + chance(20000000);
		if (end_ns > END_NS)
			break;
		late = chance(2);
		for (rank = 0; rank < 2; rank++) {
			uint32_t thread = rank * IDS + T_LAUNCH;
			const struct xpu_launch launch = {
				.correlation_id = nr,
				.path_id = rank * IDS + P_KERNEL,
				.thread_id = thread,
			};
			const struct xpu_range_event events[] = {
				{ .range_id = range, .thread_id = thread, .what = XPU_RANGE_PUSH },
				{ .thread_id = thread, .delta_ns = 8000, .what = XPU_RANGE_POP },
			};

			begin_ns = ns + (rank == late ? wait_ns : 0);
			gen__ranges(&s->g, START_NS + begin_ns - 10000, events, 2);
			gen__launches_in(&s->g, START_NS + begin_ns - 5000, &launch, &range, 1);
			gen__batch_begin(&s->g, START_NS + end_ns, PROC + rank,
					 (PROC + rank) * PID);
			gen__kernel(&s->g, 0, START_NS + begin_ns, end_ns - begin_ns, nr, 12, 1);
			gen__batch_end(&s->g);
			if (rank != late)
				printf("nccl_wait %u %" PRIu64 " %" PRIu64 "\n", rank, ns,
				       ns + wait_ns);
			printf("nccl %u %" PRIu64 " %" PRIu64 "\n", rank, ns + wait_ns, end_ns);
		}
	}
}

/* Adds capture windows of 0.4 s, with kernels that may end after their window. */
static void add_captured(struct state *s)
{
	struct xpu_record_window w = { .number = 0 };
	uint64_t ns, open_ns, close_ns;

	for (open_ns = 150000000; open_ns < END_NS - 600000000; open_ns += 650000011) {
		close_ns = open_ns + 400000000;
		w.number++;
		w.nr_launches = 0;
		w.open_ns = w.time_ns = START_NS + open_ns;
		gen__record(&s->batch, XPU_RECORD_WINDOW, XPU_MISC_WINDOW_OPEN, &w, sizeof(w),
			    NULL, 0);
		for (ns = open_ns + 3000000; ns - 2000000 < close_ns; ns += 35000011) {
			w.nr_launches++;
			gen__kernel(&s->batch, 0, START_NS + ns, 30000003,
				    add_launch(s, START_NS + ns, 2000000, P_KERNEL), 10, 1);
			printf("captured %u %" PRIu64 " %" PRIu64 "\n", w.number, ns,
			       ns + 30000003);
		}
		w.time_ns = START_NS + close_ns;
		gen__record(&s->batch, XPU_RECORD_WINDOW, XPU_MISC_WINDOW_CLOSED, &w, sizeof(w),
			    NULL, 0);
		printf("open %u %" PRIu64 " %" PRIu64 "\n", w.number, open_ns, close_ns);
	}
}

static const struct measure {
	const char *name;
	void (*add)(struct state *s);
} measures[] = {
	{ "memory", add_memory },
	{ "stalls", add_reads },
	{ "exact", add_exact },
	{ "nccl", add_nccl },
	{ "captured", add_captured },
};

static void generate_measure(struct state *s, const struct measure *measure)
{
	gen__header(&s->g);
	add_process(s, PROC);
	if (measure->add == add_nccl)
		add_process(s, PROC + 1);
	s->proc = PROC;
	measure->add(s);
	emit_batch(s, true);
	if (measure->add == add_nccl)
		gen__process_exit(&s->g, START_NS + END_NS, PROC + 1, 2 * PID, 0);
	gen__process_exit(&s->g, START_NS + END_NS, PROC, PID, 0);
	gen__end(&s->g, START_NS + END_NS, 0);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void cut(struct state *s)
{
	const struct xpu_record_cut rec = { .time_ns = START_NS + s->cut_ns };

	gen__record(&s->g, XPU_RECORD_CUT, 0, &rec, sizeof(rec), NULL, 0);
	s->cut_ns += s->cut_every_ns;
}

/* spans of one kind */
struct times {
	uint64_t ns, length_ns, every_ns;	/* end, length and interval of spans */
	uint64_t nr, nr_begun;
};

static uint64_t first_ns(enum kind kind)
{
	return 60000000 + 1370011 * kind;
}

/* Return: the time from the launch of the @nr-th device work to its start */
static uint64_t early_ns(uint64_t nr)
{
	return 10000 + 50000000 / (1 + nr % 3);
}

/* Adds all records before @until_ns, by timestamp. */
static void add_until(struct state *s, enum kind kind, struct times *t, uint64_t until_ns)
{
	uint64_t ns, begin_ns, end_ns;

	for (;;) {
		ns = t->ns + (t->nr_begun - t->nr) * t->every_ns;
		begin_ns = ns + t->length_ns >= END_NS ? UINT64_MAX :
			   kind <= NODE ? ns - early_ns(t->nr_begun) : ns;
		end_ns = t->nr < t->nr_begun ? t->ns + t->length_ns : UINT64_MAX;
		if (begin_ns >= until_ns && end_ns >= until_ns)
			return;
		if (begin_ns < end_ns) {
			add_begin(s, kind, t->nr_begun++, begin_ns);
			continue;
		}
		add_end(s, kind, t->nr++, t->ns, end_ns);
		t->ns += t->every_ns;
	}
}

/* Adds CPU samples before @until_ns. *@ns: the start of the next sample's span */
static void add_samples_until(struct state *s, const struct shape *shape, uint64_t *ns,
			      uint64_t until_ns)
{
	for (; *ns + SAMPLE_NS < until_ns; *ns += SAMPLE_NS) {
		uint64_t at = *ns - first_ns(CPU), block = at / shape->cpu_every_ns;

		if (first_ns(CPU) + block * shape->cpu_every_ns + shape->cpu_ns >= END_NS)
			return;
		if (at % shape->cpu_every_ns + SAMPLE_NS > shape->cpu_ns) {
			*ns = first_ns(CPU) + (block + 1) * shape->cpu_every_ns - SAMPLE_NS;
			continue;
		}
		add_end(s, CPU, 0, *ns, *ns + SAMPLE_NS);
	}
}

static void generate(struct state *s, const struct shape *shape)
{
	uint64_t until_ns, cpu_ns = first_ns(CPU);
	struct times times[CPU];
	uint32_t i;

	gen__header(&s->g);
	add_process(s, PROC);
	gen__graph_node(&s->g, START_NS, 50, PROC, 0, P_NODE, T_LAUNCH);
	if (s->cut_ns)
		make_memory();
	for (i = 0; i < CPU; i++)
		times[i] = (struct times){
			.ns = first_ns(i),
			.length_ns = shape->ns,
			.every_ns = i == OFF ? shape->off_every_ns : shape->every_ns,
		};
	do {
		until_ns = s->cut_ns && s->cut_ns < END_NS ? s->cut_ns : END_NS;
		for (i = 0; i < CPU; i++)
			add_until(s, i, &times[i], until_ns);
		add_samples_until(s, shape, &cpu_ns, until_ns);
		emit_batch(s, true);
		emit_memory(s, until_ns);
		if (until_ns < END_NS)
			cut(s);
	} while (until_ns < END_NS);
	emit_off(s, START_NS + times[OFF].ns - shape->off_every_ns + shape->ns);
	emit_memory(s, UINT64_MAX);
	emit_batch(s, true);
	gen__process_exit(&s->g, START_NS + END_NS, PROC, PID, 0);
	gen__end(&s->g, START_NS + END_NS, 0);
}

int main(int argc, char **argv)
{
	struct gen blocks = { 0 };
	struct state s = { 0 };
	size_t i;
	int err;

	if (argc == 4)
		s.cut_ns = s.cut_every_ns = strtoull(argv[3], NULL, 10) * 1000000;
	for (i = 0; (argc == 3 || s.cut_ns) && i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!strcmp(argv[1], shapes[i].name))
			generate(&s, &shapes[i]);
	for (i = 0; argc == 3 && i < sizeof(measures) / sizeof(measures[0]); i++)
		if (!strcmp(argv[1], measures[i].name))
			generate_measure(&s, &measures[i]);
	if (!s.g.nr) {
		fputs("usage: gen_windows long|across|tiny FILE [MS]\n"
		      "       gen_windows memory|stalls|exact|nccl|captured FILE\n", stderr);
		return 2;
	}
	if (s.cut_ns)
		gen__blocks(&blocks, &s.g, 3, 65536);
	err = gen__save(s.cut_ns ? &blocks : &s.g, argv[2]);
	gen__free(&blocks);
	gen__free(&s.g);
	gen__free(&s.batch);
	return err ? 1 : 0;
}
