// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_odd FILE WHAT [NAMES] - unusual recordings, for tests of the outputs that people read
 *
 * WHAT:
 *	names	each NUL-terminated name in the file NAMES is the name of a kernel, a function, a
 *		thread, an NVTX range and a mapped file; the first name is also the name of the
 *		command and of the GPU. Each function holds memory. The function whose name has an
 *		escape character holds the most memory
 *	years	a kernel of ten years, and a kernel of 1 ns
 *	zero	one launch, whose kernel takes no time
 *	one	one launch, of 5 us
 *	back	each kernel begins before its launch, and is launched before the previous one
 *	crowd	300 threads, 64 GPUs, 10,000 kernels
 *	deep	a launch and two CPU samples; the call path of one sample is truncated
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define SECOND	1000000000ull
#define YEAR	(365 * 86400 * SECOND)
#define NAMED(string)	(XPU_FRAME_NAMED | (string))

enum { DRIVER = 1, CBID_LAUNCH = 307, PROC = 1, PID = 1000, S_LAUNCH = 1, S_MAIN, S_GPU, S_FIRST };

/* A recording that is being made. The batches come after all other records. */
struct odd {
	struct gen records, batches;
	uint32_t nr_launches, nr_strings, nr_allocs;
	const char *command;
};

static void begin_batch(struct odd *o)
{
	gen__batch_begin(&o->batches, 20 * YEAR, PROC, PID);
}

/* Begins a new batch early enough for the longest string to fit. */
static void room_in_batch(struct odd *o)
{
	if (gen__batch_bytes(&o->batches) < XPU_BATCH_MAX / 2)
		return;
	gen__batch_end(&o->batches);
	begin_batch(o);
}

static uint32_t add_string(struct odd *o, const char *text)
{
	uint32_t id = S_FIRST + o->nr_strings++;

	room_in_batch(o);
	gen__string(&o->batches, id, text);
	return id;
}

/*
 * Adds memory that is never freed. The first event says that all of the process's events are
 * recorded.
 */
static void add_memory(struct odd *o, uint32_t path, uint32_t thread, uint64_t bytes)
{
	const struct xpu_alloc start = {
		.what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE,
	}, made = {
		.path_id = path, .thread_id = thread, .what = XPU_ALLOC_MADE,
		.space = XPU_SPACE_DEVICE, .extra = 1,
		.address = 0x7f0000000000 + ((uint64_t)path << 24), .bytes = bytes,
	};
	struct xpu_record_allocs rec = {
		.time_ns = 2 * SECOND + path, .order = ++o->nr_allocs, .proc_id = PROC, .nr = 1,
	};

	if (rec.order == 1) {
		gen__record(&o->records, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), &start,
			    sizeof(start));
		rec.order = ++o->nr_allocs;
	}
	gen__record(&o->records, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), &made, sizeof(made));
}

/* Threads are numbered from 1; thread 1 is the process's first. */
static void add_thread(struct odd *o, uint32_t thread, const char *name)
{
	if (thread > 1)
		gen__fork(&o->records, SECOND, PID, PID + thread - 1, PID, PID);
	gen__comm(&o->records, 0, SECOND + 1, PID, PID + thread - 1, name);
	gen__thread(&o->records, thread, PROC, PID + thread - 1);
}

/* Adds a call path of two functions. */
static void add_path(struct odd *o, uint32_t path, uint64_t innermost)
{
	const uint64_t frames[] = { innermost, NAMED(S_MAIN) };

	gen__callchain(&o->records, XPU_CHAIN_SHIM, SECOND, path, PROC, DRIVER, CBID_LAUNCH, frames,
		       2);
}

/* Adds a launch at @time_ns in @range (0: none), and its kernel, which starts @after_ns later. */
static void add_launch(struct odd *o, uint64_t time_ns, uint32_t path, uint32_t thread,
		       uint32_t range, int64_t after_ns, uint64_t duration_ns, uint32_t name,
		       uint32_t stream)
{
	struct xpu_launch launch = {
		.correlation_id = ++o->nr_launches, .path_id = path, .thread_id = thread,
	};

	if (range)
		gen__launches_in(&o->records, time_ns, &launch, &range, 1);
	else
		gen__launches(&o->records, time_ns, &launch, 1);
	room_in_batch(o);
	gen__kernel(&o->batches, 0, time_ns + after_ns, duration_ns, o->nr_launches, name, stream);
}

static void make_names(struct odd *o, const char *names, size_t bytes)
{
	uint64_t at = 2 * SECOND;
	char range[XPU_RANGE_NAME_MAX];
	uint32_t n = 0, string;
	const char *name;

	for (name = names; name < names + bytes; name += strlen(name) + 1) {
		n++;
		gen__mmap(&o->records, SECOND, PID, n << 20, 1 << 20, 0, name, NULL, 0);
		string = add_string(o, name);
		add_thread(o, n, name);
		snprintf(range, sizeof(range), "%s", name);
		gen__range(&o->records, SECOND, PROC, n, 0, n % 2 ? "domain" : "", range);
		add_path(o, 2 * n, NAMED(string));
		add_path(o, 2 * n + 1, (n << 20) + 16);
		add_memory(o, 2 * n, n, (strchr(name, '\033') ? 3 : 1) << 20);
		add_launch(o, at, 2 * n, n, n, 10, 5000, string, 1);
		add_launch(o, at + 6000, 2 * n + 1, n, n, 10, 3000, string, 1);
		at += 20000;
	}
}

static void make_crowd(struct odd *o)
{
	char name[64];
	uint32_t i;

	for (i = 1; i <= 300; i++) {
		snprintf(name, sizeof(name), "thread%03u", i);
		add_thread(o, i, name);
		add_path(o, i, 0x400000 + 16 * i);
	}
	for (i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "kernel%05u", i);
		add_launch(o, 2 * SECOND + 1000 * i, i % 300 + 1, i % 300 + 1, 0, 50, 100 + i,
			   add_string(o, name), i % 64 + 1);
	}
}

static void make_times(struct odd *o, const char *what)
{
	const uint64_t at = 100 * SECOND;
	bool years = !strcmp(what, "years"), zero = !strcmp(what, "zero");
	uint32_t i, kernel = add_string(o, "kernel");

	add_thread(o, 1, "app");
	add_path(o, 1, 0x400010);
	if (years)
		add_launch(o, at + 1000, 1, 1, 0, 10, 1, add_string(o, "short"), 1);
	if (strcmp(what, "back"))
		add_launch(o, at, 1, 1, 0, 10, years ? 10 * YEAR : zero ? 0 : 5000, kernel, 1);
	else
		for (i = 0; i < 20; i++)
			add_launch(o, at - 10000 * i, 1, 1, 0, -2000, 15000, kernel, 1);
}

static void make_deep(struct odd *o)
{
	const struct xpu_sample samples[] = {
		{ .path_id = 2, .thread_id = 1 },
		{ .path_id = 3, .thread_id = 1, .delta_ns = 10000 },
	};
	const uint64_t frames[] = { 0x400010, NAMED(S_MAIN) };

	make_times(o, "one");
	gen__callchain(&o->records, XPU_CHAIN_CPU, SECOND, 2, PROC, 0, 0, frames, 2);
	gen__callchain(&o->records, XPU_CHAIN_CPU | XPU_CHAIN_TRUNCATED, SECOND, 3, PROC, 0, 0,
		       frames, 2);
	gen__samples(&o->records, 100 * SECOND, 10000, samples, 2);
}

/* Defines the devices, each with one stream, and begins a batch. */
static void add_devices(struct odd *o, uint32_t nr)
{
	uint8_t uuid[16] = { 0 };
	uint32_t i;

	begin_batch(o);
	gen__string(&o->batches, S_LAUNCH, "cuLaunchKernel");
	gen__api(&o->batches, DRIVER, CBID_LAUNCH, S_LAUNCH);
	gen__string(&o->batches, S_MAIN, "main");
	gen__string(&o->batches, S_GPU, o->command);
	for (i = 0; i < nr; i++) {
		uuid[0] = i + 1;
		gen__device(&o->batches, i, S_GPU, uuid);
		gen__stream(&o->batches, i + 1, i, i + 1, 7);
	}
}

static int save(struct odd *o, const char *path)
{
	struct gen g = { 0 };
	int err;

	gen__batch_end(&o->batches);
	gen__header(&g);
	gen__info(&g, XPU_INFO_VERSION, "1", 1);
	gen__info(&g, XPU_INFO_HOSTNAME, o->command, strlen(o->command));
	gen__info(&g, XPU_INFO_CMDLINE, o->command, strlen(o->command) + 1);
	gen__info(&g, XPU_INFO_ARCH, "x86_64", 6);
	gen__process(&g, XPU_MISC_PROCESS_ROOT, SECOND, PROC, PID, 0, "app");
	gen__bytes(&g, o->records.v, o->records.nr);
	gen__bytes(&g, o->batches.v, o->batches.nr);
	gen__end(&g, 21 * YEAR, 0);
	err = gen__save(&g, path);
	gen__free(&g);
	gen__free(&o->records);
	gen__free(&o->batches);
	return err;
}

static char *read_names(const char *path, size_t *bytes)
{
	char *names = calloc(1, 1 << 20);
	FILE *f = fopen(path, "r");

	if (!f || !names) {
		perror(path);
		exit(1);
	}
	*bytes = fread(names, 1, (1 << 20) - 1, f);
	fclose(f);
	return names;
}

int main(int argc, char **argv)
{
	struct odd o = { .command = "./odd" };
	bool crowd, named = argc == 4;
	char *names = NULL;
	size_t bytes = 0;
	int err;

	if (argc < 3 || named != !strcmp(argv[2], "names")) {
		fprintf(stderr, "gen_odd FILE WHAT [NAMES]\n");
		return 2;
	}
	crowd = !strcmp(argv[2], "crowd");
	if (named)
		o.command = names = read_names(argv[3], &bytes);
	add_devices(&o, crowd ? 64 : 1);
	if (named) {
		make_names(&o, names, bytes);
	} else if (crowd) {
		make_crowd(&o);
	} else if (!strcmp(argv[2], "deep")) {
		make_deep(&o);
	} else {
		make_times(&o, argv[2]);
	}
	err = save(&o, argv[1]);
	if (err)
		fprintf(stderr, "gen_odd: %s: %s\n", argv[1], strerror(-err));
	free(names);
	return err ? 1 : 0;
}
