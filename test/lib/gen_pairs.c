// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_pairs CPU GPU TRUTH [KEY=VALUE...] - makes a recording in two files, and writes the call path
 * of each launch to TRUTH
 * gen_pairs verdict TRUTH <PERF - compares the truth with the output of xpumerge -f perf. Prints
 * how many launches are right, wrong, uncertain and without a stack, and how many launches are in
 * one file or in both
 *
 * Each thread computes, then reaches a launch: one tool takes its stack, then the thread makes the
 * call, which the other tool sees. The call returns, and the thread computes again. So a stack is
 * always between the previous call and its own call. Launch i takes i + 1 ns on the device, which
 * identifies its kernel.
 *
 * Times are in us, and shares are from 0 to 1. "delay" is the least time from a stack to its call,
 * and "jitter" is added to it. "gap" is the least time from the end of a call to the next stack,
 * and "work" is added to it. "shape" is the distribution of jitter and work. Before every burst of
 * "burst" launches, a thread computes longer, by "pause" on average. Losses come in runs, whose
 * mean length is "run". The file of calls lacks the share "head" of the time at the beginning, and
 * the file of stacks lacks the share "tail" at the end. Both files lack the shares "both" at the
 * beginning and "both_end" at the end. The clock of the stacks steps by "step" ms after the share
 * "step_at" of the time. With "apis" the files have copies, memsets and graphs, too.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opts {
	double nr, threads, procs, devices, kernels, paths, seed;
	double gap, work, delay, jitter, dur, dur_jitter, noise;
	double burst, pause;
	double lost, lost_calls, lost_works, cut;
	double offset, drift;		/* ms, ppm */
	double loop, own, apart;
	double run, head, tail, late, both, both_end, step, step_at, apis;
	const char *shape;		/* distribution of times: uniform, exp */
	const char *tids;		/* same, other, pid */
	const char *names;		/* none, nvcc, hip, plain, caller, template */
	const char *kernel;		/* mangled, demangled */
};

struct launch {
	double stack_ns, call_ns, end_ns;
	uint32_t thread, kernel, path;
	bool has_stack, has_call;
};

struct event {
	double time_ns;
	uint32_t launch;
};

static const uint64_t base_ns = 17000000000000ull;
static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 11) * 0x1p-53;
}

/*
 * Return: @least plus a random duration, in ns. @more is the mean of this duration if the
 * distribution is exponential, and its maximum if the distribution is uniform.
 */
static double time_of(const struct opts *o, double least, double more)
{
	double u = uniform();

	return 1000 * (least + more * (strcmp(o->shape, "exp") ? u : -log(1 - u)));
}

static void set(struct opts *o, const char *key, const char *value)
{
	const struct {
		const char *key;
		double *value;
	} numbers[] = {
		{ "nr", &o->nr }, { "threads", &o->threads }, { "procs", &o->procs },
		{ "devices", &o->devices }, { "kernels", &o->kernels }, { "paths", &o->paths },
		{ "seed", &o->seed }, { "gap", &o->gap }, { "work", &o->work },
		{ "delay", &o->delay }, { "jitter", &o->jitter }, { "dur", &o->dur },
		{ "dur_jitter", &o->dur_jitter }, { "noise", &o->noise }, { "burst", &o->burst },
		{ "pause", &o->pause }, { "lost", &o->lost }, { "lost_calls", &o->lost_calls },
		{ "lost_works", &o->lost_works }, { "cut", &o->cut }, { "offset", &o->offset },
		{ "drift", &o->drift }, { "loop", &o->loop }, { "own", &o->own },
		{ "apart", &o->apart }, { "run", &o->run }, { "head", &o->head },
		{ "tail", &o->tail }, { "late", &o->late }, { "step", &o->step },
		{ "apis", &o->apis }, { "both", &o->both }, { "both_end", &o->both_end },
		{ "step_at", &o->step_at },
	};
	const struct {
		const char *key;
		const char **value;
	} words[] = {
		{ "shape", &o->shape }, { "tids", &o->tids }, { "names", &o->names },
		{ "kernel", &o->kernel },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(key, numbers[i].key)) {
			*numbers[i].value = atof(value);
			return;
		}
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(key, words[i].key)) {
			*words[i].value = value;
			return;
		}
	fprintf(stderr, "gen_pairs: unknown key %s\n", key);
	exit(2);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Prints the name of kernel @k: a function, a template, or a function in a namespace. */
static void print_kernel(FILE *f, const struct opts *o, uint32_t k, bool mangled)
{
	char name[32];
	int len = snprintf(name, sizeof(name), "kern_%u", k / 3);

	if (!strcmp(o->names, "plain"))
		fprintf(f, "%s_%u", name, k % 3);
	else if (k % 3 == 0)
		fprintf(f, mangled ? "_Z%d%sPfi" : "%.0d%s(float*, int)", mangled ? len : 0, name);
	else if (k % 3 == 1)
		fprintf(f, mangled ? "_ZN2ns%d%sEPd" : "%.0dns::%s(double*)", mangled ? len : 0,
			name);
	else
		fprintf(f, mangled ? "_Z%d%sIfLi4EEvPT_" : "%.0dvoid %s<float, 4>(float*)",
			mangled ? len : 0, name);
}

/* Prints the frames between the program's own function and cudaLaunchKernel. */
static void print_stub(FILE *f, const struct opts *o, uint32_t k)
{
	if (!strcmp(o->names, "none"))
		return;
	if (!strcmp(o->names, "plain")) {
		fprintf(f, "__device_stub__kern_%u_%u;", k / 3, k % 3);
	} else if (!strcmp(o->names, "caller")) {
		print_kernel(f, o, k, false);
		fputc(';', f);
	} else if (!strcmp(o->names, "hip")) {
		fprintf(f, k % 3 == 0 ? "__device_stub__kern_%u(float*, int);" :
			   k % 3 == 1 ? "ns::__device_stub__kern_%u(double*);" :
			   "void __device_stub__kern_%u<float, 4>(float*);", k / 3);
	} else {
		fputs("__device_stub_", f);
		print_kernel(f, o, k, true);
		fputs(k % 3 == 0 ? "(float*, int)" : "(float*)", f);
		fputs(";cudaLaunchKernel<char>(char const*, dim3, dim3, void**);", f);
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint32_t kernel_of(const struct opts *o, uint32_t thread, uint32_t step)
{
	uint32_t nr = o->kernels, k;

	k = o->loop ? step % (uint32_t)o->loop * 2654435761u % nr : uniform() * nr;
	return o->own ? k + thread * nr : k;
}

/* Return: whether the next event is lost; @lost is the share of lost events. */
static bool loses(const struct opts *o, double lost, bool *losing)
{
	if (o->run <= 1)
		return uniform() < lost;
	*losing = *losing ? uniform() >= 1 / o->run :
			    uniform() < lost / (1 - lost) / o->run;
	return *losing;
}

static void run(const struct opts *o, struct launch *launches)
{
	uint32_t nr = o->nr, nr_threads = o->threads, t, i, step;
	double at, last = 0;

	for (t = 0; t < nr_threads; t++) {
		bool losing_stacks = false, losing_calls = false;

		at = 1e3 * o->apart * uniform();
		for (i = t, step = 0; i < nr; i += nr_threads, step++) {
			struct launch *l = &launches[i];

			at += time_of(o, o->gap, o->work);
			if (o->burst && step % (uint32_t)o->burst == 0)
				at += 1000 * o->pause * (0.5 + uniform());
			l->stack_ns = at;
			at += time_of(o, o->delay, o->jitter);
			l->call_ns = at;
			at += time_of(o, o->dur, o->dur_jitter);
			l->end_ns = at;
			l->thread = t;
			l->kernel = kernel_of(o, t, step);
			l->path = l->kernel + (uint32_t)(o->kernels * (o->own ? nr_threads : 1)) *
				  (uint32_t)(o->paths * uniform());
			l->has_stack = !loses(o, o->lost, &losing_stacks);
			l->has_call = !loses(o, o->lost_calls, &losing_calls);
			last = fmax(last, at);
			/* One tool started late, and the other one stopped early. */
			if (o->cut && step < o->cut)
				l->has_call = false;
			if (o->cut && i + o->cut * nr_threads >= nr)
				l->has_stack = false;
		}
	}
	for (i = 0; i < nr; i++) {
		launches[i].has_call &= launches[i].call_ns >= o->head * last;
		launches[i].has_stack &= launches[i].stack_ns <= (1 - o->tail) * last;
		launches[i].has_stack &= launches[i].stack_ns >= o->late * last;
		launches[i].has_call &= launches[i].call_ns <= (1 - o->late) * last;
		/* Both files are cut at the same moments, at the beginning and at the end. */
		launches[i].has_stack &= launches[i].stack_ns >= o->both * last &&
					 launches[i].stack_ns <= (1 - o->both_end) * last;
		launches[i].has_call &= launches[i].call_ns >= o->both * last &&
					launches[i].call_ns <= (1 - o->both_end) * last;
		if (o->step && launches[i].stack_ns > o->step_at * last)
			launches[i].stack_ns += 1e6 * o->step;
		launches[i].stack_ns = launches[i].stack_ns * (1 + o->drift * 1e-6) +
				       1e6 * o->offset + 1000 * o->noise * uniform();
	}
}

static int event__compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->launch > y->launch) - (x->launch < y->launch);
}

static uint64_t tid_of(const struct opts *o, uint32_t thread, bool gpu)
{
	uint32_t proc = thread % (uint32_t)o->procs;

	if (!gpu && !strcmp(o->tids, "pid"))
		return 1000 + 100 * proc;
	if (gpu && !strcmp(o->tids, "other"))
		return 0xe7000000 - (uint32_t)(thread * 2654435761u) / 256;
	return 1000 + 100 * proc + thread / (uint32_t)o->procs;
}

/* The API call of a launch, which depends on the launch's path. */
static const struct {
	const char *call, *work;
} apis[] = {
	{ "cudaLaunchKernel", NULL }, { "cudaMemcpyAsync", "MEMCPY" },
	{ "cudaMemsetAsync", "MEMSET" }, { "cudaGraphLaunch", "CONCURRENT_KERNEL" },
	{ "cudaLaunchKernel", NULL },
};

static uint32_t api_of(const struct opts *o, const struct launch *l)
{
	return o->apis ? l->path % 5 : 0;
}

static void write_stack(FILE *f, const struct opts *o, const struct launch *l)
{
	fprintf(f, "%" PRIu64 " app %u %" PRIu64 " 0 main;site_%u;", base_ns + (int64_t)l->stack_ns,
		1000 + 100 * (l->thread % (uint32_t)o->procs), tid_of(o, l->thread, false),
		l->path);
	if (!apis[api_of(o, l)].work)
		print_stub(f, o, l->kernel);
	fprintf(f, "%s\n", apis[api_of(o, l)].call);
}

static void write_call(FILE *f, const struct opts *o, const struct launch *l, uint32_t i)
{
	uint64_t start = base_ns + (uint64_t)l->call_ns, end = base_ns + (uint64_t)l->end_ns;

	fprintf(f, "{\"type\":\"RUNTIME\",\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"name\":"
		"\"%s_v7000\",\"correlationId\":%u,\"processId\":%u,\"threadId\":%"
		PRIu64 "}\n", start, end, apis[api_of(o, l)].call, i + 1,
		1000 + 100 * (l->thread % (uint32_t)o->procs),
		tid_of(o, l->thread, true));
	if (uniform() < o->lost_works)
		return;
	fprintf(f, "{\"type\":\"%s\",\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"name\":\"",
		apis[api_of(o, l)].work ?: "CONCURRENT_KERNEL", end + 1000, end + 1000 + i + 1);
	if (!apis[api_of(o, l)].work)
		print_kernel(f, o, l->kernel, !strcmp(o->kernel, "mangled"));
	else
		fputs("in_a_graph", f);
	fprintf(f, "\",\"correlationId\":%u,\"grid\":[1,1,1],\"block\":[32,1,1],\"deviceId\":%u,"
		"\"streamId\":7}\n", i + 1, l->thread % (uint32_t)o->devices);
}

static int make(const struct opts *o, const char *cpu_name, const char *gpu_name,
		const char *truth_name)
{
	uint32_t nr = o->nr, nr_cpu = 0, nr_gpu = 0, i;
	struct launch *launches = calloc(nr + 1, sizeof(*launches));
	struct event *stacks = calloc(nr + 1, sizeof(*stacks));
	struct event *calls = calloc(nr + 1, sizeof(*calls));
	FILE *cpu = fopen(cpu_name, "w"), *gpu = fopen(gpu_name, "w");
	FILE *truth = fopen(truth_name, "w");

	if (!launches || !stacks || !calls || !cpu || !gpu || !truth) {
		perror("gen_pairs");
		return 2;
	}
	run(o, launches);
	for (i = 0; i < nr; i++) {
		if (launches[i].has_stack)
			stacks[nr_cpu++] = (struct event){ launches[i].stack_ns, i };
		if (launches[i].has_call)
			calls[nr_gpu++] = (struct event){ launches[i].call_ns, i };
		fprintf(truth, "%u %d %d\n", launches[i].path, launches[i].has_stack,
			launches[i].has_call);
	}
	qsort(stacks, nr_cpu, sizeof(*stacks), event__compare);
	qsort(calls, nr_gpu, sizeof(*calls), event__compare);
	for (i = 0; i < nr_cpu; i++)
		write_stack(cpu, o, &launches[stacks[i].launch]);
	for (i = 0; i < nr_gpu; i++)
		write_call(gpu, o, &launches[calls[i].launch], calls[i].launch);
	free(calls);
	free(stacks);
	free(launches);
	return fclose(cpu) || fclose(gpu) || fclose(truth);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Counts verdicts; "no stack" is wrong for a launch that has a stack. */
static int verdict(const char *truth_name)
{
	unsigned long right = 0, wrong = 0, uncertain = 0, none = 0, nr = 0, i, path;
	unsigned long seen = 0;
	struct { uint32_t path; int has_stack; } *truth = NULL;
	FILE *f = fopen(truth_name, "r");
	char line[4096], *p;
	uint32_t site;
	int has_stack, has_call;
	enum { LOST, UNCERTAIN, NONE, SITE } what = LOST;

	if (!f) {
		perror(truth_name);
		return 2;
	}
	while (fscanf(f, "%u %d %d", &site, &has_stack, &has_call) == 3) {
		seen += has_stack || has_call;
		truth = realloc(truth, (nr + 1) * sizeof(*truth));
		if (!truth)
			abort();
		truth[nr].path = site;
		truth[nr++].has_stack = has_stack;
	}
	fclose(f);
	for (i = nr, path = 0; fgets(line, sizeof(line), stdin);) {
		p = strstr(line, " gpu-time:");
		if (p) {
			while (p > line && p[-1] != ' ')
				p--;
			i = strtoul(p, NULL, 10) - 1;
			what = LOST;
		} else if (strstr(line, " [uncertain] ")) {
			what = UNCERTAIN;
		} else if (strstr(line, " [no stack] ")) {
			what = NONE;
		} else if ((p = strstr(line, " site_"))) {
			what = SITE;
			path = strtoul(p + 6, NULL, 10);
		} else if (*line == '\n' && i < nr) {
			if (what == SITE && path == truth[i].path)
				right++;
			else if (what == SITE || (what == NONE && truth[i].has_stack))
				wrong++;
			else if (what == NONE)
				none++;
			else
				uncertain++;
			i = nr;
		}
	}
	free(truth);
	printf("%lu %lu %lu %lu %lu\n", right, wrong, uncertain, none, seen);
	return 0;
}

int main(int argc, char **argv)
{
	struct opts o = {
		.nr = 2000, .threads = 1, .procs = 1, .devices = 1, .kernels = 30, .paths = 1,
		.gap = 0.3, .work = 20, .delay = 1, .jitter = 3, .dur = 2, .dur_jitter = 1,
		.offset = 370, .apart = 5000, .step_at = 0.5, .shape = "uniform", .tids = "same",
		.names = "none", .kernel = "mangled",
	};
	int n;

	if (argc == 3 && !strcmp(argv[1], "verdict"))
		return verdict(argv[2]);
	if (argc < 4) {
		fputs("usage: gen_pairs CPU GPU TRUTH [KEY=VALUE...] | verdict TRUTH\n", stderr);
		return 2;
	}
	for (n = 4; n < argc; n++) {
		char *value = strchr(argv[n], '=');

		if (!value)
			return 2;
		*value = 0;
		set(&o, argv[n], value + 1);
	}
	seed = 1234567 + (uint64_t)o.seed * 7919;
	return make(&o, argv[1], argv[2], argv[3]);
}
