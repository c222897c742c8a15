// SPDX-License-Identifier: MIT
/*
 * launch.cu - a loop of null kernels
 *
 *	launch [-t THREADS] [-n LAUNCHES]	prints ns of wall time per launch of a thread
 *	launch ... -c CONTROL			as above, once for each line that it reads from
 *						FIFO CONTROL.go. CONTROL.said gets "ready", then ns.
 *						A single thread stays on one CPU.
 *	launch ... -x cycle|random		from 16 more sites, in turn or in random order
 *	launch ... -x alloc			one launch; then cudaMallocAsync() and
 *						cudaFreeAsync() in place of each further launch
 *	launch ... -x mixalloc			memory from the 16 sites in random order: a site
 *						allocates if it has no memory, else frees it
 *	launch ... -w				the first 1,000 launches are in a window that
 *						cudaProfilerStart() opens
 *	launch ... -s SECONDS [-r RATE]		runs for SECONDS, at no more than RATE launches a
 *						second. Prints launches per second. Both rates are
 *						of all threads. Says "running" after the warm-up.
 *
 * Each thread has its own stream, kernel and launch site (only site_NN launches kernel_NN, so a
 * profile shows whether it is exact). It launches a dozen frames deep, as programs do. Threads
 * start together, after their warm-up; making them and warming them up is not timed.
 */
#include <cuda_profiler_api.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define NR_SITES	8
#define NR_MIXED	16
#define NR_ORDER	4096		/* a power of two */
#define MAX_THREADS	256
#define DEPTH		12
#define CHUNK		1000		/* launches between two reads of the clock */

#ifdef __CUDACC__
#define NULL_KERNEL(name) extern "C" __global__ void name(unsigned long long) {}
#else
#define NULL_KERNEL(name) KERNEL(name)
#endif

struct worker {
	pthread_t thread;
	int nr;
	cudaStream_t stream;
	long nr_launched;
	double start, end;
};

static struct worker workers[MAX_THREADS];
static int nr_threads = 1;
static long nr_launches = 100000;	/* per thread */
static double seconds;			/* not 0: run for this time, not for nr_launches */
static double rate;			/* not 0: launches a second, of all threads together */
static const char *control;		/* name of the FIFOs; NULL: one run */
static unsigned char order[NR_ORDER];	/* the sites in the order of the launches */
static bool mixed;			/* launches follow @order */
static bool allocates, mix_allocates;
static bool window;
static bool done;
static pthread_barrier_t turn;		/* a barrier for all threads and main() */
static pthread_barrier_t start_line;	/* for all threads, after their warm-up */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

#define SITE(nn)								\
	NULL_KERNEL(kernel_##nn)						\
	extern "C" NOINLINE void site_##nn(struct worker *w, long nr)		\
	{									\
		for (long i = 0; i < nr; i++)					\
			LAUNCH(kernel_##nn, w->stream, 0);			\
		NO_TAIL_CALL();							\
	}

SITE(00) SITE(01) SITE(02) SITE(03) SITE(04) SITE(05) SITE(06) SITE(07)

static void (*const sites[NR_SITES])(struct worker *, long) = {
	site_00, site_01, site_02, site_03, site_04, site_05, site_06, site_07,
};

#define MIXED(nn)								\
	NULL_KERNEL(kernel_m##nn)						\
	extern "C" NOINLINE void site_m##nn(struct worker *w)			\
	{									\
		static void *at;						\
										\
		if (!mix_allocates) {						\
			LAUNCH(kernel_m##nn, w->stream, 0);			\
		} else if (at) {						\
			CHECK(cudaFreeAsync(at, w->stream));			\
			at = NULL;						\
		} else {							\
			CHECK(cudaMallocAsync(&at, 4096, w->stream));		\
		}								\
		NO_TAIL_CALL();							\
	}

MIXED(00) MIXED(01) MIXED(02) MIXED(03) MIXED(04) MIXED(05) MIXED(06) MIXED(07)
MIXED(08) MIXED(09) MIXED(10) MIXED(11) MIXED(12) MIXED(13) MIXED(14) MIXED(15)

static void (*const mixed_sites[NR_MIXED])(struct worker *) = {
	site_m00, site_m01, site_m02, site_m03, site_m04, site_m05, site_m06, site_m07,
	site_m08, site_m09, site_m10, site_m11, site_m12, site_m13, site_m14, site_m15,
};

static void set_order(const char *how)
{
	unsigned int seed = 12345;
	int i;

	allocates = !strcmp(how, "alloc");
	mix_allocates = !strcmp(how, "mixalloc");
	mixed = !allocates;
	for (i = 0; i < NR_ORDER; i++) {
		seed = seed * 1103515245u + 12345u;
		order[i] = (unsigned char)(strcmp(how, "random") && !mix_allocates ? i % NR_MIXED :
					   seed >> 16 & (NR_MIXED - 1));
	}
}

static NOINLINE void launch_mixed(struct worker *w, long nr)
{
	if (mix_allocates)
		sites[0](w, 1);
	for (long i = 0; i < nr; i++)
		mixed_sites[order[i & (NR_ORDER - 1)]](w);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_alloc(struct worker *w, long nr)
{
	void *at;

	sites[w->nr % NR_SITES](w, 1);
	for (long i = 1; i < nr; i++) {
		CHECK(cudaMallocAsync(&at, 4096, w->stream));
		CHECK(cudaFreeAsync(at, w->stream));
	}
	NO_TAIL_CALL();
}

extern "C" NOINLINE void launch_deep(struct worker *w, int depth, long nr)
{
	if (depth)
		launch_deep(w, depth - 1, nr);
	else if (mixed)
		launch_mixed(w, nr);
	else if (allocates)
		site_alloc(w, nr);
	else
		sites[w->nr % NR_SITES](w, nr);
	NO_TAIL_CALL();
}

static void launch(struct worker *w, long nr)
{
	launch_deep(w, DEPTH, nr);
	w->nr_launched += nr;
}

static void run(struct worker *w)
{
	launch(w, nr_launches / 10 + 1);
	CHECK(cudaStreamSynchronize(w->stream));
	w->nr_launched = 0;
	if (pthread_barrier_wait(&start_line) == PTHREAD_BARRIER_SERIAL_THREAD && seconds > 0) {
		puts("running");
		fflush(stdout);
	}

	w->start = now();
	if (rate > 0) {
		double each = nr_threads / rate;

		while ((w->end = now()) < w->start + seconds)
			if (w->end >= w->start + (double)w->nr_launched * each)
				launch(w, 1);
	} else if (seconds > 0) {
		while (now() < w->start + seconds)
			launch(w, CHUNK);
	} else {
		launch(w, nr_launches);
	}
	CHECK(cudaStreamSynchronize(w->stream));
	w->end = now();
}

/* Moves this thread to the last CPU. CUDA's existing threads stay on their CPUs. */
static void stay_here(void)
{
	cpu_set_t all, one;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(all), &all);
	while (cpu && !CPU_ISSET(cpu, &all))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *worker_main(void *arg)
{
	struct worker *w = (struct worker *)arg;
	bool stays = !control || nr_threads > 1;

	CHECK(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
	for (;;) {
		pthread_barrier_wait(&turn);
		if (done)
			break;
		run(w);
		if (!stays)
			stay_here();
		stays = true;
		pthread_barrier_wait(&turn);
	}
	CHECK(cudaStreamDestroy(w->stream));
	return NULL;
}

/* Makes one run of all threads, and prints its figure. */
static void take_turn(FILE *out)
{
	double start = 1e300, end = 0;
	long nr = 0;

	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	for (int i = 0; i < nr_threads; i++) {
		start = workers[i].start < start ? workers[i].start : start;
		end = workers[i].end > end ? workers[i].end : end;
		nr += workers[i].nr_launched;
	}
	if (seconds > 0)
		fprintf(out, "%.0f\n", (double)nr / (end - start));
	else
		fprintf(out, "%.1f\n", (end - start) * 1e9 / (double)nr_launches);
	fflush(out);
}

static int take_turns(void)
{
	char name[4096], line[64];
	FILE *go, *said;

	snprintf(name, sizeof(name), "%s.go", control);
	go = fopen(name, "re");
	snprintf(name, sizeof(name), "%s.said", control);
	said = fopen(name, "we");
	if (!go || !said) {
		perror(name);
		return 1;
	}
	fputs("ready\n", said);
	fflush(said);
	while (fgets(line, sizeof(line), go))
		take_turn(said);
	return 0;
}

int main(int argc, char **argv)
{
	int i, opt, status = 0;

	while ((opt = getopt(argc, argv, "t:n:s:r:c:x:w")) != -1) {
		if (opt == 't')
			nr_threads = atoi(optarg);
		else if (opt == 'n')
			nr_launches = atol(optarg);
		else if (opt == 's')
			seconds = atof(optarg);
		else if (opt == 'r')
			rate = atof(optarg);
		else if (opt == 'c')
			control = optarg;
		else if (opt == 'x')
			set_order(optarg);
		else if (opt == 'w')
			window = true;
		else
			return 2;
	}
	if (nr_threads < 1 || nr_threads > MAX_THREADS || nr_launches < 1 ||
	    (rate > 0 && !seconds)) {
		fputs("usage: launch [-t THREADS] [-n LAUNCHES [-c CONTROL] | "
		      "-s SECONDS [-r RATE]]\n", stderr);
		return 2;
	}
	CHECK(cudaFree(NULL));
	if (window) {
		CHECK(cudaProfilerStart());
		workers[0].nr = 0;
		launch(&workers[0], 1000);
		CHECK(cudaProfilerStop());
		CHECK(cudaDeviceSynchronize());
		workers[0].nr_launched = 0;
	}
	pthread_barrier_init(&turn, NULL, (unsigned int)nr_threads + 1);
	pthread_barrier_init(&start_line, NULL, (unsigned int)nr_threads);
	for (i = 0; i < nr_threads; i++) {
		workers[i].nr = i;
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i])) {
			fputs("launch: pthread_create failed\n", stderr);
			return 1;
		}
	}
	if (control)
		status = take_turns();
	else
		take_turn(stdout);
	done = true;
	pthread_barrier_wait(&turn);
	for (i = 0; i < nr_threads; i++)
		pthread_join(workers[i].thread, NULL);
	return status || cudaGetLastError() != cudaSuccess;
}
