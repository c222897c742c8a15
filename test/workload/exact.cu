// SPDX-License-Identifier: MIT
/*
 * exact.cu - the exactness workload: every launch site has its own kernel
 *
 *	exact [-t THREADS] [-s SITES] [-n LAUNCHES] [-r SEED] [-p RATE] [-c] [-d] [-m]
 *
 * Threads launch at the same time, each from random sites into random streams of its own, from
 * varying call depths. Kernels have different durations, so they do not end in launch order.
 * kernel_NN is launched only by site_NN. A profile is exact if every kernel is under its site.
 *
 *	-p	RATE launches a second, all threads together; default: as fast as possible
 *	-c	gives each thread its own name, thread-NNN
 *	-d	makes every fourth launch by the driver API, cuLaunchKernel
 *	-m	also copies and sets, one for every eight launches, from site_h2d, site_d2h,
 *		site_d2d and site_set
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define MAX_SITES	32
#define NR_STREAMS	4		/* streams of a thread */
#define COPY_BYTES	4096
#define MAX_DEPTH	5
#define PACE_NS		1000000		/* time between two checks of the rate */

struct worker {
	pthread_t thread;
	int number;
	uint64_t random;
	long nr_launches;
	long nr_copies;			/* number of copies made */
	cudaStream_t streams[NR_STREAMS];
	cudaStream_t stream;		/* stream of the next launch */
	unsigned long long ns;		/* duration of the next launch */
	bool by_driver;
	char *host;			/* COPY_BYTES, pinned */
	char *device;			/* twice COPY_BYTES */
};

typedef void (*site_fn)(struct worker *w);
typedef CUresult (*launch_fn)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
			      unsigned int, unsigned int, unsigned int, CUstream, void **, void **);

static int nr_threads = 8;
static int nr_sites = 16;
static long nr_launches = 160000;
static uint64_t seed = 1;
static long rate;			/* launches a second, all threads together; 0: as fast as
					 * possible */
static bool use_driver;
static bool use_copies;
static bool use_names;
static launch_fn driver_launch;		/* not linked: the runtime returns the function's address */

/* Makes a launch by the driver API, directly from the site's frame. */
#define DRIVER_LAUNCH(kernel, w)						\
	do {									\
		static CUfunction func = function_of((const void *)kernel);	\
		void *args[] = { &(w)->ns };					\
										\
		if (driver_launch(func, 1, 1, 1, 1, 1, 1, 0, (w)->stream, args, NULL)) {	\
			fputs("exact: cuLaunchKernel failed\n", stderr);	\
			exit(1);						\
		}								\
	} while (0)

static CUfunction function_of(const void *host)
{
	cudaFunction_t func;

	CHECK(cudaGetFuncBySymbol(&func, host));
	return (CUfunction)func;
}

#define SITE(nn)								\
	KERNEL(kernel_##nn)							\
	extern "C" NOINLINE void site_##nn(struct worker *w)			\
	{									\
		if (w->by_driver)						\
			DRIVER_LAUNCH(kernel_##nn, w);				\
		else								\
			LAUNCH(kernel_##nn, w->stream, w->ns);			\
		NO_TAIL_CALL();							\
	}

#define SITES(X)								\
	X(00) X(01) X(02) X(03) X(04) X(05) X(06) X(07)				\
	X(08) X(09) X(10) X(11) X(12) X(13) X(14) X(15)				\
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)				\
	X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

SITES(SITE)

#define SITE_ENTRY(nn) site_##nn,
static const site_fn sites[MAX_SITES] = { SITES(SITE_ENTRY) };

extern "C" NOINLINE void site_h2d(struct worker *w)
{
	CHECK(cudaMemcpyAsync(w->device, w->host, COPY_BYTES, cudaMemcpyHostToDevice, w->stream));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_d2h(struct worker *w)
{
	CHECK(cudaMemcpyAsync(w->host, w->device, COPY_BYTES, cudaMemcpyDeviceToHost, w->stream));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_d2d(struct worker *w)
{
	CHECK(cudaMemcpyAsync(w->device + COPY_BYTES, w->device, COPY_BYTES,
			      cudaMemcpyDeviceToDevice, w->stream));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_set(struct worker *w)
{
	CHECK(cudaMemsetAsync(w->device, 0, COPY_BYTES, w->stream));
	NO_TAIL_CALL();
}

static const site_fn copy_sites[] = { site_h2d, site_d2h, site_d2d, site_set };

/* Two functions that call the site from deeper frames, so that many call paths reach it. */
extern "C" void down_left(struct worker *w, site_fn site, unsigned int path, int depth);
extern "C" void down_right(struct worker *w, site_fn site, unsigned int path, int depth);

static inline __attribute__((always_inline)) void down(struct worker *w, site_fn site,
						       unsigned int path, int depth)
{
	if (!depth)
		site(w);
	else if (path & 1)
		down_left(w, site, path >> 1, depth - 1);
	else
		down_right(w, site, path >> 1, depth - 1);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void down_left(struct worker *w, site_fn site, unsigned int path, int depth)
{
	down(w, site, path, depth);
}

extern "C" NOINLINE void down_right(struct worker *w, site_fn site, unsigned int path, int depth)
{
	down(w, site, path, depth);
}

/* xorshift64: each thread has its own state, so that equal seeds give the same launches. */
static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void launch_one(struct worker *w, long i)
{
	uint64_t r = next_random(w);
	int site = (int)(r % (unsigned int)nr_sites);

	w->stream = w->streams[(r >> 16) % NR_STREAMS];
	w->ns = 1000 + 500 * (unsigned int)site + ((r >> 20) & 0xfff);
	w->by_driver = use_driver && !(i & 3);
	down(w, sites[site], (unsigned int)(r >> 32), (int)((r >> 40) % (MAX_DEPTH + 1)));
	if (use_copies && !(i & 7)) {
		r = next_random(w);
		down(w, copy_sites[r % 4], (unsigned int)(r >> 32),
		     (int)((r >> 40) % (MAX_DEPTH + 1)));
		w->nr_copies++;
	}
}

/* Sleeps until the thread's share of the rate allows @nr launches since @start. */
static void pace(const struct timespec *start, long nr)
{
	uint64_t ns = (uint64_t)start->tv_nsec +
		      (uint64_t)nr * 1000000000u / (uint64_t)rate * (uint64_t)nr_threads;
	struct timespec until = { start->tv_sec + (time_t)(ns / 1000000000u),
				  (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

static void *worker_main(void *arg)
{
	struct worker *w = (struct worker *)arg;
	long per_look = rate ? rate / nr_threads * PACE_NS / 1000000000 + 1 : 0;
	struct timespec start;
	char name[16];

	snprintf(name, sizeof(name), "thread-%03d", w->number);
	if (use_names)
		pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < NR_STREAMS; i++)
		CHECK(cudaStreamCreateWithFlags(&w->streams[i], cudaStreamNonBlocking));
	CHECK(cudaMallocHost((void **)&w->host, COPY_BYTES));
	CHECK(cudaMalloc((void **)&w->device, 2 * COPY_BYTES));
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < w->nr_launches; i++) {
		if (rate && i % per_look == 0)
			pace(&start, i);
		launch_one(w, i);
	}
	CHECK(cudaGetLastError());
	for (int i = 0; i < NR_STREAMS; i++)
		CHECK(cudaStreamSynchronize(w->streams[i]));
	for (int i = 0; i < NR_STREAMS; i++)
		CHECK(cudaStreamDestroy(w->streams[i]));
	CHECK(cudaFree(w->device));
	CHECK(cudaFreeHost(w->host));
	return NULL;
}

static long number(const char *s, long min, long max)
{
	char *end;
	long v = strtol(s, &end, 0);

	if (*end || v < min || v > max) {
		fprintf(stderr, "exact: %s is not a number from %ld to %ld\n", s, min, max);
		exit(2);
	}
	return v;
}

static void parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "t:s:n:r:p:cdm")) != -1) {
		switch (opt) {
		case 't':
			nr_threads = (int)number(optarg, 1, 1024);
			break;
		case 's':
			nr_sites = (int)number(optarg, 1, MAX_SITES);
			break;
		case 'n':
			nr_launches = number(optarg, 0, 1000000000);
			break;
		case 'r':
			seed = (uint64_t)number(optarg, 0, 1000000000);
			break;
		case 'p':
			rate = number(optarg, 1, 1000000000);
			break;
		case 'c':
			use_names = true;
			break;
		case 'd':
			use_driver = true;
			break;
		case 'm':
			use_copies = true;
			break;
		default:
			fputs("usage: exact [-t THREADS] [-s SITES] [-n LAUNCHES] [-r SEED] [-p "
			      "RATE] [-c] [-d] [-m]\n", stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct worker *workers;
	long nr_copies = 0;

	parse_options(argc, argv);
	workers = (struct worker *)calloc((size_t)nr_threads, sizeof(*workers));
	if (!workers)
		return 1;
	CHECK(cudaFree(NULL));
	if (use_driver) {
		enum cudaDriverEntryPointQueryResult found;
		void *entry = NULL;

		CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000,
						       cudaEnableDefault, &found));
		driver_launch = (launch_fn)entry;
		if (!driver_launch) {
			fputs("exact: no cuLaunchKernel\n", stderr);
			return 1;
		}
	}
	for (int i = 0; i < nr_threads; i++) {
		workers[i].number = i;
		workers[i].random = (seed + (uint64_t)i + 1) * 0x9e3779b97f4a7c15ull;
		workers[i].nr_launches = nr_launches / nr_threads + (i < nr_launches % nr_threads);
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i])) {
			fputs("exact: pthread_create failed\n", stderr);
			return 1;
		}
	}
	for (int i = 0; i < nr_threads; i++) {
		pthread_join(workers[i].thread, NULL);
		nr_copies += workers[i].nr_copies;
	}
	CHECK(cudaDeviceSynchronize());
	free(workers);
	printf("exact: threads %d sites %d launches %ld\n", nr_threads, nr_sites, nr_launches);
	if (use_copies)
		printf("exact: copies %ld\n", nr_copies);
	return 0;
}
