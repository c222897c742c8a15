// SPDX-License-Identifier: MIT
/*
 * torch.cu - blocks of an allocator like PyTorch's own, whose figures are known
 *
 *	torch [-t THREADS] [-n STEPS] [-m MOMENTS] [-d DEVICES] [-e] [-w] [-p MS] DIR
 *
 * Loads libc10_cuda.so and libc10.so from DIR as Python loads PyTorch's libraries, so that no other
 * library can see their symbols. Prints the same as memory.cu, with "block" as the kind of memory,
 * and for each device at each moment
 *
 *	moment NS DEVICE ALLOCATED RESERVED
 *
 * At the end it prints "peak DEVICE ALLOCATED RESERVED", and how many of the allocator's reports
 * have reached libc10.so: "reports N of N".
 *
 *	-e	mapped physical memory instead of cudaMalloc()
 *	-p	half of the pause at each moment, in ms (3)
 *	-w	waits for a line on stdin after the first half of the moments
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NR_SITES	16
#define MAX_LIVE	4096

struct live {
	void *at;
	int site, device;
	size_t bytes;
};

static int nr_threads = 4, nr_moments = 10, nr_devices = 1;
static long nr_steps = 400;
static bool waits;
static long pause_ms = 3;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct live live[MAX_LIVE];
static int nr_live;
static size_t sums[NR_SITES], allocated[NR_SITES];
static long nr_calls;
static pthread_barrier_t still;

static void *(*fake_alloc)(int, size_t);
static void (*fake_free)(int, void *), (*fake_empty_cache)(void), (*fake_totals)(int, size_t[4]);
static long (*fake_nr_reports)(void);

static void check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "torch: %s\n", what);
	exit(1);
}

#define SITE(n)									\
	extern "C" __attribute__((noinline)) void *mem_site_##n(int, size_t);	\
	extern "C" void *mem_site_##n(int device, size_t bytes)			\
	{									\
		void *at = fake_alloc(device, bytes);				\
										\
		asm volatile("" : : "r"(at) : "memory");			\
		return at;							\
	}

SITE(00) SITE(01) SITE(02) SITE(03) SITE(04) SITE(05) SITE(06) SITE(07)
SITE(08) SITE(09) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)

static void *(*const sites[NR_SITES])(int, size_t) = {
	mem_site_00, mem_site_01, mem_site_02, mem_site_03, mem_site_04, mem_site_05, mem_site_06,
	mem_site_07, mem_site_08, mem_site_09, mem_site_10, mem_site_11, mem_site_12, mem_site_13,
	mem_site_14, mem_site_15,
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void make(int site, int device, size_t bytes)
{
	struct live l = { sites[site](device, bytes), site, device, (bytes + 511) & ~(size_t)511 };

	check(l.at, "out of memory");
	pthread_mutex_lock(&lock);
	sums[site] += l.bytes;
	allocated[site] += l.bytes;
	live[nr_live++] = l;
	nr_calls++;
	pthread_mutex_unlock(&lock);
}

static void drop(uint64_t random)
{
	struct live l;

	pthread_mutex_lock(&lock);
	random %= nr_live--;
	l = live[random];
	live[random] = live[nr_live];
	sums[l.site] -= l.bytes;
	nr_calls++;
	pthread_mutex_unlock(&lock);
	fake_free(l.device, l.at);
}

static void *work(void *arg)
{
	uint64_t random = (uintptr_t)arg * 7919;

	for (int moment = 0; moment < nr_moments; moment++) {
		for (long step = 0; step < nr_steps; step++) {
			uint64_t r = next_random(&random);
			bool full;

			pthread_mutex_lock(&lock);
			full = nr_live > 200 + (int)(r >> 8) % 100;
			pthread_mutex_unlock(&lock);
			if (full || ((r >> 4) % 5 < 2 && nr_live > 50))
				drop(next_random(&random));
			else
				make((r >> 12) % NR_SITES, (r >> 9) % nr_devices,
				     1 + ((r >> 16) % 3 ? r % 60000 : r % 9000000));
			if (r % 97 == 0)
				fake_empty_cache();
		}
		pthread_barrier_wait(&still);
		pthread_barrier_wait(&still);
	}
	return NULL;
}

static void rest(void)
{
	struct timespec ts = { 0, pause_ms * 1000000 };

	nanosleep(&ts, NULL);
}

static void print_sums(const char *what, const size_t *of)
{
	for (int site = 0; site < NR_SITES; site++)
		if (of[site])
			printf("%s mem_site_%02d block %zu\n", what, site, of[site]);
}

static void watch(void)
{
	struct timespec ts;
	size_t totals[4];
	char line[16];

	for (int moment = 0; moment < nr_moments; moment++) {
		pthread_barrier_wait(&still);
		rest();
		clock_gettime(CLOCK_MONOTONIC, &ts);
		for (int i = 0; i < nr_devices; i++) {
			fake_totals(i, totals);
			printf("moment %lld %d %zu %zu\n", ts.tv_sec * 1000000000ll + ts.tv_nsec, i,
			       totals[0], totals[1]);
		}
		print_sums("live", sums);
		rest();
		if (waits && moment == nr_moments / 2 - 1) {
			printf("waits\n");
			fflush(stdout);
			check(fgets(line, sizeof(line), stdin), "end of input");
		}
		pthread_barrier_wait(&still);
	}
	for (int i = 0; i < nr_devices; i++) {
		fake_totals(i, totals);
		printf("peak %d %zu %zu\n", i, totals[2], totals[3]);
	}
}

int main(int argc, char **argv)
{
	bool expandable = false;
	char path[4096];
	bool (*init)(bool);
	pthread_t threads[64];
	void *c10, *c10_cuda;
	int c;

	while ((c = getopt(argc, argv, "t:n:m:d:ewp:")) != -1) {
		switch (c) {
		case 't': nr_threads = atoi(optarg); break;
		case 'n': nr_steps = atol(optarg); break;
		case 'm': nr_moments = atoi(optarg); break;
		case 'd': nr_devices = atoi(optarg); break;
		case 'e': expandable = true; break;
		case 'p': pause_ms = atol(optarg) % 1000; break;
		case 'w': waits = true; break;
		default: return 2;
		}
	}
	check(argc == optind + 1 && nr_threads > 0 && nr_threads <= 64 && nr_devices > 0 &&
		      nr_devices <= 8,
	      "usage: torch [OPTION...] DIR");
	check(!cudaFree(NULL), "no CUDA");
	snprintf(path, sizeof(path), "%s/libc10.so", argv[optind]);
	c10 = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	check(c10, dlerror());
	snprintf(path, sizeof(path), "%s/libc10_cuda.so", argv[optind]);
	c10_cuda = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	check(c10_cuda, dlerror());
	*(void **)&fake_nr_reports = dlsym(c10, "fake_nr_reports");
	*(void **)&init = dlsym(c10_cuda, "fake_init");
	*(void **)&fake_alloc = dlsym(c10_cuda, "fake_alloc");
	*(void **)&fake_free = dlsym(c10_cuda, "fake_free");
	*(void **)&fake_empty_cache = dlsym(c10_cuda, "fake_empty_cache");
	*(void **)&fake_totals = dlsym(c10_cuda, "fake_totals");
	check(fake_nr_reports && init && fake_alloc && fake_free && fake_empty_cache && fake_totals,
	      "no functions");
	check(init(expandable), "init");
	pthread_barrier_init(&still, NULL, nr_threads + 1);
	for (int i = 0; i < nr_threads; i++)
		check(!pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)),
		      "thread");
	watch();
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	print_sums("leaked", sums);
	print_sums("allocated", allocated);
	printf("reports %ld of %ld\n", fake_nr_reports(), nr_calls);
	return 0;
}
