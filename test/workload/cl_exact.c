// SPDX-License-Identifier: MIT
/*
 * cl_exact [-t THREADS] [-n LAUNCHES] [-e none|all|half] [-o FILE] [-q BITS] [-p PLATFORMS]
 *	[-T]
 *
 * OpenCL launches from many call sites on many threads: only site_NN launches kernel_NN. Each
 * thread launches LAUNCHES times (20000), in random order. With events (-e), FILE gets a line
 * "kernel_NN NS" for each launch, with the device time that the program itself reads. BITS are the
 * queues' properties. The threads use PLATFORMS in turn, by default the first one. With -T, prints
 * how much CPU time each launch took.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cl.h"

#define BATCH	200

enum events { NONE, ALL, HALF };

struct thread {
	pthread_t thread;
	cl_command_queue queue;
	cl_kernel kernels[CL_NR_KERNELS];
	unsigned int seed;
	double cpu_ns;			/* CPU time of the thread's launches and waits */
};

static long nr_launches = 20000, nr_threads = 8;
static unsigned int nr_platforms = 1;
static enum events which = HALF;
static cl_command_queue_properties bits;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const size_t global[] = { 64 }, local[] = { 16 };

#define SITE(n)											\
	static __attribute__((noinline)) void site_##n(struct thread *t, cl_event *event)	\
	{											\
		CHECK(clEnqueueNDRangeKernel(t->queue, t->kernels[1##n - 100], 1, NULL, global,	\
					     local, 0, NULL, event));				\
		__asm__ volatile("");								\
	}
CL_KERNELS(SITE)

#define NAME(n) site_##n,
static void (*const sites[])(struct thread *, cl_event *) = { CL_KERNELS(NAME) };

static void report(const int *kernels, cl_event *events, int nr)
{
	cl_ulong start, end;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr; i++) {
		if (!events[i])
			continue;
		if (out) {
			CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START,
						      sizeof(start), &start, NULL));
			CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END,
						      sizeof(end), &end, NULL));
			fprintf(out, "kernel_%02d %lu\n", kernels[i], (unsigned long)(end - start));
		}
		CHECK(clReleaseEvent(events[i]));
	}
	pthread_mutex_unlock(&lock);
}

static double cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *launcher(void *arg)
{
	cl_event events[BATCH];
	int kernels[BATCH], nr = 0;
	struct thread *t = arg;
	long i;

	for (i = 0; i < nr_launches; i++) {
		bool wants = which == ALL || (which == HALF && i % 2);

		events[nr] = NULL;
		kernels[nr] = rand_r(&t->seed) % CL_NR_KERNELS;
		sites[kernels[nr]](t, wants ? &events[nr] : NULL);
		if (++nr < BATCH && i < nr_launches - 1)
			continue;
		CHECK(clFinish(t->queue));
		report(kernels, events, nr);
		nr = 0;
	}
	t->cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

int main(int argc, char **argv)
{
	struct thread *threads;
	double begin, own = 0;
	bool is_timed = false;
	cl_mem buffer;
	int i, k, c;

	while ((c = getopt(argc, argv, "t:n:e:o:q:p:T")) != -1) {
		switch (c) {
		case 't':
			nr_threads = atol(optarg);
			break;
		case 'n':
			nr_launches = atol(optarg);
			break;
		case 'e':
			which = !strcmp(optarg, "none") ? NONE :
				!strcmp(optarg, "all") ? ALL : HALF;
			break;
		case 'o':
			out = fopen(optarg, "w");
			break;
		case 'T':
			is_timed = true;
			break;
		case 'p':
			nr_platforms = atoi(optarg);
			break;
		case 'q':
			bits = strtoul(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	threads = calloc(nr_threads, sizeof(*threads));
	if (!threads)
		return 1;
	for (; cl_which < nr_platforms; cl_which++) {
		cl_begin();
		for (i = cl_which; i < nr_threads; i += nr_platforms) {
			struct thread *t = &threads[i];

			buffer = cl_make_buffer(64 * sizeof(cl_int));
			t->seed = i + 1;
			t->queue = cl_make_queue(bits | (out ? CL_QUEUE_PROFILING_ENABLE : 0));
			for (k = 0; k < CL_NR_KERNELS; k++)
				t->kernels[k] = cl_numbered_kernel(k, buffer);
		}
	}
	begin = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i].thread, NULL, launcher, &threads[i]);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i].thread, NULL);
	if (out)
		fclose(out);
	printf("%ld launches\n", nr_threads * nr_launches);
	for (i = 0; i < nr_threads; i++)
		own += threads[i].cpu_ns;
	if (is_timed)
		printf("%.0f ns of the thread, %.0f ns of the process\n",
		       own / (nr_threads * nr_launches),
		       (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / (nr_threads * nr_launches));
	free(threads);
	return 0;
}
