// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_data - a recording with given contents, as a file
 *
 * Threads launch from many call paths, each of which has its own kernel. The device records come
 * later, in another order. A merge is right if every kernel is under its own call path, and the
 * counts are known beforehand. Equal options give equal bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen.h"

#define APP_BASE	0x400000ull
#define CUDART_BASE	0x7f0000000000ull
#define CUDA_BASE	0x7f1000000000ull
#define CUPTI_BASE	0x7f2000000000ull
#define SHIM_BASE	0x7f3000000000ull
#define LIB_BYTES	0x1000000ull

#define FLUSH_BYTES	(4u << 20)
#define LAUNCHES_MAX	256		/* launches in one record, by default */
#define DOMAIN_DRIVER	1

enum { CBID_KERNEL = 307, CBID_MEMCPY = 276, CBID_GRAPH = 514, CBID_INNER = 40 };

struct options {
	uint64_t launches, paths, frames, threads, procs, streams, gpus;
	uint64_t window;		/* the largest number of launches in flight */
	uint64_t jitter;		/* the next launch to end is one of this many oldest
					 * launches; 0: any launch */
	uint64_t thread_batch;		/* number of launches that a thread makes in a row */
	uint64_t memcpy_every, graph_every, graph_nodes;
	uint64_t parts;			/* number of files that begin while a graph runs; with
					 * @early, as many begin between device records and their
					 * launches */
	uint64_t lose_launch, lose_record;
	uint64_t seed;
	uint64_t cut;
	uint64_t block_bytes;		/* bytes of records per block; 0: no blocks */
	uint64_t level;			/* compression level of the blocks */
	uint64_t host;			/* number of the host, part of its name; 0: none */
	uint64_t pid;			/* pid of the first process */
	uint64_t nccl_every;		/* every Nth call path is an operation of NCCL */
	uint64_t slow;			/* percent by which kernels other than NCCL's are longer */
	uint64_t samples_every;		/* a CPU sample for every N launches */
	uint64_t off_every;		/* a wait off the CPU for every N launches */
	uint64_t pause_every;		/* 100 us without a launch after every N launches */
	uint64_t noise;			/* random ns, up to N, that are added to timestamps */
	uint64_t rank;			/* rank of the first process; each next process has the
					 * next rank (UINT64_MAX: no ranks) */
	bool early;			/* device records precede their launches */
	bool reuse;			/* all processes have one pid, by exec */
	bool shim;			/* call chains unwound in the process */
	bool api;			/* with API calls, too: each launch, and a call within the
					 * launch */
	bool no_end;
	bool name_all;			/* takes names of threads and functions from --names, too */
	const char *map;
	const char *names;		/* file of names for the first paths' kernels; a NUL ends
					 * each name */
	const char *output;
};

/* A launch whose device record is not written yet. */
struct flight {
	uint32_t correlation_id;
	uint32_t path;
	uint32_t thread;
	uint64_t time_ns;
};

struct held {
	struct xpu_launch *launches;
	uint32_t *ranges;		/* with nccl_every: the ranges of the launches */
	size_t nr;
	uint64_t base_ns;
};

struct state {
	const struct options *o;
	struct gen g;			/* records to write next, complete batches included */
	struct gen batch;		/* records inside the next batch */
	struct held *held;		/* launches not written yet: one list for all threads, or a
					 * list for each thread */
	struct flight *window;
	size_t nr_window, window_head;
	struct xpu_record_counters counters;
	uint32_t proc_id;
	uint64_t now_ns;
	uint64_t random;
	uint64_t nr_records, nr_launched, nr_until_sample, nr_until_off;
	struct block_packer *packer;
	struct gen packed;
	int fd;
};

static uint64_t next_random(struct state *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static uint32_t proc__pid(const struct options *o, uint32_t proc_id)
{
	return o->reuse ? o->pid : o->pid + proc_id - 1;
}

static bool path__is_nccl(const struct options *o, uint32_t path)
{
	return o->nccl_every && path % o->nccl_every == o->nccl_every - 1;
}

static uint32_t path__cbid(const struct options *o, uint32_t path)
{
	if (path__is_nccl(o, path))
		return CBID_KERNEL;
	if (o->memcpy_every && path % o->memcpy_every == o->memcpy_every - 1)
		return CBID_MEMCPY;
	if (o->graph_every && path % o->graph_every == o->graph_every - 1)
		return CBID_GRAPH;
	return CBID_KERNEL;
}

static size_t nr_held(const struct options *o)
{
	return o->thread_batch ? o->threads : 1;
}

static size_t held_max(const struct options *o)
{
	return o->thread_batch ? o->thread_batch : LAUNCHES_MAX;
}

/* Opens and closes the range around each launch that has a range. */
static void emit_range_events(struct state *s, const struct held *h)
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		const struct xpu_launch *l = &h->launches[i];
		const struct xpu_range_event events[] = {
			{ h->ranges[i], l->thread_id, (int32_t)l->delta_ns - 20, XPU_RANGE_PUSH,
			  0 },
			{ 0, l->thread_id, (int32_t)l->delta_ns + 20, XPU_RANGE_POP, 0 },
		};

		if (h->ranges[i])
			gen__ranges(&s->g, h->base_ns, events, sizeof(events) / sizeof(events[0]));
	}
}

static void emit_samples(struct state *s, const struct held *h)
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		const struct xpu_launch *l = &h->launches[i];
		const struct xpu_sample sample = { l->path_id, l->thread_id, l->delta_ns + 5000, 0,
						   0 };

		/* The last launch before a pause has a sample. */
		if (++s->nr_until_sample % s->o->samples_every == s->o->samples_every - 1)
			gen__samples(&s->g, h->base_ns, 1000000, &sample, 1);
	}
}

static void emit_off(struct state *s, const struct held *h)
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		const struct xpu_launch *l = &h->launches[i];
		uint64_t nr = ++s->nr_until_off / s->o->off_every, ns = 2000 + nr % 64 * 500;

		if (s->nr_until_off % s->o->off_every == 0)
			gen__off_cpu(&s->g, nr % XPU_OFF_CALL, h->base_ns + l->delta_ns + 6000, 2,
				     ns, ns / 2, l->path_id, l->thread_id);
	}
}

static void emit_held(struct state *s, struct held *h)
{
	if (h->nr && h->ranges) {
		emit_range_events(s, h);
		gen__launches_in(&s->g, h->base_ns, h->launches, h->ranges, h->nr);
	} else if (h->nr) {
		gen__launches(&s->g, h->base_ns, h->launches, h->nr);
	}
	if (s->o->samples_every)
		emit_samples(s, h);
	if (s->o->off_every)
		emit_off(s, h);
	h->nr = 0;
}

/* With thread batches, launches are written independently of device records. */
static void emit_launches(struct state *s)
{
	if (!s->o->thread_batch)
		emit_held(s, s->held);
}

static void emit_batch(struct state *s)
{
	if (!s->batch.nr)
		return;
	s->counters.nr_batches++;
	gen__batch_begin(&s->g, s->now_ns, s->proc_id, 77);
	gen__counters(&s->g, &s->counters);
	gen__bytes(&s->g, s->batch.v, s->batch.nr);
	gen__batch_end(&s->g);
	s->batch.nr = 0;
}

/* Writes all records except the last bytes, so that the recording is cut short. */
static void flush(struct state *s)
{
	struct gen *g = &s->g;

	if (s->packer) {
		gen__pack(&s->packed, s->packer, g->v, g->nr, s->o->block_bytes);
		g->nr = 0;
		g = &s->packed;
	}
	g->nr = g->nr > s->o->cut ? g->nr - s->o->cut : 0;
	gen__flush(g, s->fd);
}

/* Begins new files, one every 10 ms. */
static void cut(struct state *s)
{
	struct xpu_record_cut cut;
	uint64_t i;

	for (i = 0; i < s->o->parts; i++) {
		s->now_ns += 10000000;
		cut = (struct xpu_record_cut){ .time_ns = s->now_ns };
		gen__record(&s->g, XPU_RECORD_CUT, 0, &cut, sizeof(cut), NULL, 0);
	}
}

static void emit(struct state *s)
{
	if (s->o->early) {
		emit_batch(s);
		cut(s);
		emit_launches(s);
	} else {
		emit_launches(s);
		emit_batch(s);
	}
	if (s->g.nr >= FLUSH_BYTES && !s->o->cut)
		flush(s);
}

/* Adds two API calls: the call of the launch, and a call inside it. */
static void add_calls(struct state *s, const struct flight *f, uint32_t cbid)
{
	const struct xpu_call calls[] = {
		{ 10, f->correlation_id + 1, 100, 0, CBID_INNER },
		{ -50, f->correlation_id, 250, 0, cbid },
	};
	uint32_t tid = proc__pid(s->o, s->proc_id) + 100000 * f->thread;

	gen__calls(&s->batch, f->time_ns, tid, calls, sizeof(calls) / sizeof(calls[0]));
	s->counters.nr_calls += sizeof(calls) / sizeof(calls[0]);
}

/* Return: how many ns to add to a timestamp */
static uint64_t noise_ns(struct state *s)
{
	return s->o->noise ? next_random(s) % s->o->noise : 0;
}

static uint64_t path__duration_ns(struct state *s, uint32_t path)
{
	const struct options *o = s->o;

	if (path__is_nccl(o, path))
		return 1000 + noise_ns(s);
	return (1000 + path + noise_ns(s)) * (100 + o->slow) / 100;
}

static void finish_one(struct state *s)
{
	const struct options *o = s->o;
	size_t oldest = o->jitter && o->jitter < s->nr_window ? o->jitter : s->nr_window;
	size_t at = (s->window_head + next_random(s) % oldest) % o->window;
	struct flight f = s->window[at];
	uint64_t start_ns = f.time_ns + 2000 + noise_ns(s), i, nr = 1;
	uint32_t cbid = path__cbid(o, f.path), stream = 1 + f.correlation_id % o->streams;

	s->window[at] = s->window[s->window_head];
	s->window_head = (s->window_head + 1) % o->window;
	s->nr_window--;
	if (o->api)
		add_calls(s, &f, cbid);
	if (cbid == CBID_GRAPH)
		nr = o->graph_nodes;
	for (i = 0; i < nr; i++) {
		if (o->parts && nr > 1 && i == nr / 2) {
			emit(s);
			cut(s);
		}
		s->nr_records++;
		if (cbid == CBID_MEMCPY)
			s->counters.nr_memcpys++;
		else
			s->counters.nr_kernels++;
		if (o->lose_record && s->nr_records % o->lose_record == 0)
			continue;
		if (cbid == CBID_MEMCPY)
			gen__memcpy(&s->batch, 0, start_ns, 1500, f.correlation_id, stream, 4096,
				    1);
		else
			gen__kernel(&s->batch, nr > 1 ? XPU_MISC_GRAPH_NODE : 0,
				    start_ns + i * 1100, path__duration_ns(s, f.path),
				    f.correlation_id, 100 + f.path, stream);
	}
	if (s->batch.nr > 60000)
		emit(s);
}

static void launch_one(struct state *s, uint32_t correlation_id)
{
	const struct options *o = s->o;
	uint32_t path = next_random(s) % o->paths, thread = next_random(s) % o->threads;
	struct held *h;

	s->now_ns += 500 + noise_ns(s);
	if (o->pause_every && s->nr_launched % o->pause_every == o->pause_every - 1)
		s->now_ns += 100000;
	s->counters.nr_launches++;
	s->nr_launched++;
	s->window[(s->window_head + s->nr_window++) % o->window] =
		(struct flight){ correlation_id, path, thread, s->now_ns };
	if (o->lose_launch && s->nr_launched % o->lose_launch == 0)
		return;
	h = &s->held[o->thread_batch ? thread : 0];
	if (!h->nr)
		h->base_ns = s->now_ns;
	if (h->ranges)
		h->ranges[h->nr] = path__is_nccl(o, path) ? s->proc_id : 0;
	h->launches[h->nr++] = (struct xpu_launch){
		.correlation_id = correlation_id,
		.path_id = (s->proc_id - 1) * o->paths + path + 1,
		.delta_ns = s->now_ns - h->base_ns,
		.thread_id = (s->proc_id - 1) * o->threads + thread + 1,
	};
	if (h->nr < held_max(o))
		return;
	if (o->thread_batch)
		emit_held(s, h);
	else
		emit(s);
}

/*
 * Return: the file's next name; the first name follows the last one. Without a file: @fallback
 */
static const char *next_name(FILE *names, char **buf, size_t *size, const char *fallback)
{
	if (!names)
		return fallback;
	if (getdelim(buf, size, 0, names) > 0)
		return *buf;
	rewind(names);
	return getdelim(buf, size, 0, names) > 0 ? *buf : fallback;
}

/* Makes the program's ELF file, with as many functions as a page holds. Return: 0 or -errno. */
static int make_program(const struct options *o)
{
	enum { NR = 32, BYTES = GEN_TEXT_BYTES / NR };
	struct gen_symbol symbols[NR];
	struct gen g = { 0 };
	FILE *names = fopen(o->names ? o->names : "/dev/null", "r");
	char *name = NULL, fallback[] = "function";
	size_t size = 0, i;
	int err;

	if (!names)
		return -errno;
	for (i = 0; i < NR; i++)
		symbols[i] = (struct gen_symbol){
			strdup(next_name(names, &name, &size, fallback)),
			GEN_TEXT_OFFSET + i * BYTES, BYTES, 2,	/* a local function */
		};
	gen__elf(&g, symbols, NR, NULL, 0);
	err = gen__save(&g, o->map);
	for (i = 0; i < NR; i++)
		free((char *)symbols[i].name);
	gen__free(&g);
	free(name);
	fclose(names);
	return err;
}

static void emit_maps(struct state *s)
{
	const struct options *o = s->o;
	uint32_t pid = proc__pid(o, s->proc_id);
	uint64_t bytes = LIB_BYTES;
	struct stat st;

	if (!stat(o->map, &st))
		bytes = (st.st_size + 0xfff) & ~0xfffull;
	gen__mmap(&s->g, s->now_ns, pid, APP_BASE, bytes, 0, o->map, NULL, 0);
	gen__mmap(&s->g, s->now_ns, pid, CUDART_BASE, LIB_BYTES, 0,
		  "/nonexistent/libcudart.so.13.0.96", NULL, 0);
	gen__mmap(&s->g, s->now_ns, pid, CUDA_BASE, LIB_BYTES, 0,
		  "/nonexistent/libcuda.so.580.159", NULL, 0);
	gen__mmap(&s->g, s->now_ns, pid, CUPTI_BASE, LIB_BYTES, 0,
		  "/nonexistent/libcupti.so.13", NULL, 0);
	gen__mmap(&s->g, s->now_ns, pid, SHIM_BASE, LIB_BYTES, 0,
		  "/nonexistent/libxpushim.so", NULL, 0);
}

static void emit_path(struct state *s, uint32_t path)
{
	const struct options *o = s->o;
	uint64_t frames[XPU_MAX_FRAMES], bytes = 0x100000;
	size_t nr = o->frames, i;
	struct stat st;

	if (o->name_all)
		bytes = GEN_TEXT_BYTES;
	else if (!stat(o->map, &st) && (uint64_t)st.st_size > 0x2000)
		bytes = st.st_size - 0x1000;
	for (i = 0; i < nr; i++) {
		/* All paths have the same outer half of frames, like main() and a framework. */
		uint64_t seed = i < nr / 2 ? path * 131 + i + 1 : 100000 + i;

		frames[i] = APP_BASE + 0x1000 + seed * 2654435761u % bytes;
	}
	if (nr > 4) {
		frames[0] = SHIM_BASE + 0x1000;
		frames[1] = CUPTI_BASE + 0x1000;
		frames[2] = CUDA_BASE + 0x1000;
		frames[3] = CUDART_BASE + 0x1000;
	}
	gen__callchain(&s->g, o->shim ? XPU_CHAIN_SHIM : 0, s->now_ns,
		       (s->proc_id - 1) * o->paths + path + 1, s->proc_id, DOMAIN_DRIVER,
		       path__cbid(o, path), frames, nr);
}

static void emit_names(struct state *s)
{
	static const struct {
		uint32_t cbid;
		const char *name;
	} apis[] = {
		{ CBID_KERNEL, "cuLaunchKernel" },
		{ CBID_MEMCPY, "cuMemcpyHtoDAsync_v2" },
		{ CBID_GRAPH, "cuGraphLaunch" },
		{ CBID_INNER, "cuCtxGetCurrent" },
	};
	const struct options *o = s->o;
	char *given = NULL, site[32], name[64];
	FILE *names = o->names ? fopen(o->names, "r") : NULL;
	size_t given_bytes = 0;
	uint8_t uuid[16] = { 0xab };
	uint64_t i;

	for (i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		gen__string(&s->batch, 1 + i, apis[i].name);
		gen__api(&s->batch, DOMAIN_DRIVER, apis[i].cbid, 1 + i);
	}
	gen__string(&s->batch, 10, "Simulated GPU");
	for (i = 0; i < o->gpus; i++) {
		uuid[15] = i;
		gen__device(&s->batch, i, 10, uuid);
	}
	for (i = 0; i < o->streams; i++)
		gen__stream(&s->batch, 1 + i, i % o->gpus, 1, 7 + i);
	for (i = 0; i < o->paths; i++) {
		snprintf(site, sizeof(site), "site%u", (unsigned int)i);
		snprintf(name, sizeof(name), "_Z%zu%sPf", strlen(site), site);
		if (path__is_nccl(o, i))
			snprintf(name, sizeof(name), "ncclDevKernel_AllReduce_%u", (unsigned int)i);
		if (names && getdelim(&given, &given_bytes, 0, names) > 0)
			gen__string(&s->batch, 100 + i, given);
		else
			gen__string(&s->batch, 100 + i, name);
		/* Keeps space for the longest record. */
		if (s->batch.nr > 40000)
			emit(s);
	}
	free(given);
	if (names)
		fclose(names);
}

static void emit_process(struct state *s)
{
	const struct options *o = s->o;
	uint32_t pid = proc__pid(o, s->proc_id), thread;
	uint64_t i, nr = o->launches / o->procs;
	char comm[32], *name = NULL;
	FILE *names = o->name_all && o->names ? fopen(o->names, "r") : NULL;
	const struct xpu_range_payload nccl = {
		.comm = 0xc0ffee,
		.bytes = 4096,
		.fields = XPU_COLLECTIVE_COMM | XPU_COLLECTIVE_BYTES,
	};
	size_t size = 0;

	s->now_ns += 1000000;
	snprintf(comm, sizeof(comm), "app%u", (unsigned int)s->proc_id);
	if (s->proc_id == 1 || !o->reuse)
		gen__fork(&s->g, s->now_ns, pid, pid, 1, 1);
	gen__comm(&s->g, XPU_MISC_COMM_EXEC, s->now_ns + 10, pid, pid, comm);
	s->now_ns += 100;
	gen__process(&s->g, s->proc_id > 1 ? XPU_MISC_PROCESS_EXEC : XPU_MISC_PROCESS_ROOT,
		     s->now_ns, s->proc_id, pid, s->proc_id - 1, comm);
	emit_maps(s);
	for (i = 0; i < o->threads; i++) {
		thread = pid + 100000 * i;
		if (i)
			gen__fork(&s->g, s->now_ns, pid, thread, pid, pid);
		if (i % 4 == 3 || names)
			gen__comm(&s->g, 0, s->now_ns + 10, pid, thread,
				  next_name(names, &name, &size, "worker"));
		gen__thread(&s->g, (s->proc_id - 1) * o->threads + i + 1, s->proc_id, thread);
	}
	free(name);
	if (names)
		fclose(names);
	s->now_ns += 1000;
	for (i = 0; i < o->paths; i++)
		emit_path(s, i);
	if (o->nccl_every)
		gen__nccl_range(&s->g, s->now_ns, s->proc_id, s->proc_id, 0, "ncclAllReduce",
				&nccl);
	if (o->rank != UINT64_MAX) {
		gen__batch_begin(&s->g, s->now_ns, s->proc_id, pid);
		gen__label(&s->g, 0, XPU_LABEL_BY_SLURM, XPU_LABEL_RANK,
			   o->rank + s->proc_id - 1, NULL);
		gen__label(&s->g, 0, XPU_LABEL_BY_SLURM, XPU_LABEL_JOB, 0, "job");
		gen__batch_end(&s->g);
	}
	memset(&s->counters, 0, sizeof(s->counters));
	s->counters.nr_slots = o->threads;
	emit_names(s);
	for (i = 0; i < nr; i++) {
		if (s->nr_window == o->window)
			finish_one(s);
		launch_one(s, 10 + 2 * i);
	}
	while (s->nr_window)
		finish_one(s);
	emit(s);
	for (i = 0; i < nr_held(o); i++)
		emit_held(s, &s->held[i]);
	gen__process_exit(&s->g, s->now_ns, s->proc_id, pid, 0);
}

static int generate(const struct options *o)
{
	static const char cmdline[] = "./app\0--size\0" "4096";
	struct state s = { .o = o, .now_ns = 1000000000, .random = o->seed | 1 };
	size_t i, nr = nr_held(o);
	char host[32];
	int err = -1;

	s.fd = open(o->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	s.window = calloc(o->window, sizeof(*s.window));
	s.held = calloc(nr, sizeof(*s.held));
	if (s.fd < 0 || !s.window || !s.held) {
		perror(o->output);
		goto out;
	}
	for (i = 0; i < nr; i++) {
		s.held[i].launches = calloc(held_max(o), sizeof(*s.held[i].launches));
		if (o->nccl_every)
			s.held[i].ranges = calloc(held_max(o), sizeof(*s.held[i].ranges));
		if (!s.held[i].launches || (o->nccl_every && !s.held[i].ranges)) {
			perror("launches");
			goto out;
		}
	}
	if (o->name_all && make_program(o)) {
		perror(o->map);
		goto out;
	}
	gen__header(&s.g);
	if (o->block_bytes) {
		s.packer = block_packer__new(o->level);
		if (!s.packer) {
			perror("blocks");
			goto out;
		}
		gen__seal(&s.g);
		gen__flush(&s.g, s.fd);
	}
	strcpy(host, "host");
	if (o->host)
		snprintf(host, sizeof(host), "host%u", (unsigned int)o->host);
	gen__info(&s.g, XPU_INFO_HOSTNAME, host, strlen(host));
	gen__info(&s.g, XPU_INFO_CMDLINE, cmdline, sizeof(cmdline));
	for (s.proc_id = 1; s.proc_id <= o->procs; s.proc_id++)
		emit_process(&s);
	if (!o->no_end)
		gen__end(&s.g, s.now_ns, 0);
	flush(&s);
	err = 0;
out:
	for (i = 0; s.held && i < nr; i++) {
		free(s.held[i].ranges);
		free(s.held[i].launches);
	}
	free(s.held);
	free(s.window);
	block_packer__free(s.packer);
	gen__free(&s.packed);
	gen__free(&s.batch);
	gen__free(&s.g);
	if (s.fd >= 0 && close(s.fd)) {
		perror(o->output);
		err = -1;
	}
	return err;
}

int main(int argc, char **argv)
{
	struct options o = {
		.launches = 1000, .paths = 9, .frames = 20, .threads = 1, .procs = 1, .streams = 4,
		.gpus = 1, .window = 64, .graph_nodes = 5, .seed = 1, .level = BLOCK_LEVEL_DEFAULT,
		.pid = 1000, .rank = UINT64_MAX, .map = "/nonexistent/app", .output = "xpu.data",
	};
	const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ "launches", &o.launches }, { "paths", &o.paths }, { "frames", &o.frames },
		{ "threads", &o.threads }, { "procs", &o.procs }, { "streams", &o.streams },
		{ "gpus", &o.gpus }, { "window", &o.window }, { "jitter", &o.jitter },
		{ "thread-batch", &o.thread_batch }, { "memcpy-every", &o.memcpy_every },
		{ "graph-every", &o.graph_every }, { "graph-nodes", &o.graph_nodes },
		{ "parts", &o.parts },
		{ "lose-launch", &o.lose_launch }, { "lose-record", &o.lose_record },
		{ "seed", &o.seed }, { "cut", &o.cut }, { "blocks", &o.block_bytes },
		{ "level", &o.level }, { "host", &o.host }, { "pid", &o.pid },
		{ "nccl-every", &o.nccl_every }, { "slow", &o.slow },
		{ "samples-every", &o.samples_every }, { "noise", &o.noise },
		{ "pause-every", &o.pause_every }, { "rank", &o.rank },
		{ "off-every", &o.off_every },
	};
	const struct {
		const char *name;
		bool *value;
	} flags[] = {
		{ "early", &o.early }, { "reuse", &o.reuse }, { "shim", &o.shim },
		{ "no-end", &o.no_end }, { "name-all", &o.name_all }, { "api", &o.api },
	};
	size_t i, nr_numbers = sizeof(numbers) / sizeof(numbers[0]);
	size_t nr_flags = sizeof(flags) / sizeof(flags[0]);
	struct option longs[64] = { { 0 } };
	int opt;

	for (i = 0; i < nr_numbers; i++)
		longs[i] = (struct option){ numbers[i].name, required_argument, NULL, 1000 + i };
	for (i = 0; i < nr_flags; i++)
		longs[nr_numbers + i] = (struct option){ flags[i].name, no_argument, NULL,
							 2000 + i };
	longs[nr_numbers + nr_flags] = (struct option){ "map", required_argument, NULL, 'm' };
	longs[nr_numbers + nr_flags + 1] =
		(struct option){ "names", required_argument, NULL, 'n' };
	while ((opt = getopt_long(argc, argv, "m:o:", longs, NULL)) != -1) {
		if (opt == 'm')
			o.map = optarg;
		else if (opt == 'n')
			o.names = optarg;
		else if (opt == 'o')
			o.output = optarg;
		else if (opt >= 2000)
			*flags[opt - 2000].value = true;
		else if (opt >= 1000)
			*numbers[opt - 1000].value = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (!o.paths || !o.threads || !o.procs || !o.streams || !o.gpus || !o.window ||
	    o.frames > XPU_MAX_FRAMES || optind < argc) {
		fprintf(stderr, "gen_data: paths, threads, procs, streams, gpus and window are at "
			"least 1, frames at most %d\n", XPU_MAX_FRAMES);
		return 2;
	}
	return generate(&o) ? 1 : 0;
}
