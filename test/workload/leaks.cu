// SPDX-License-Identifier: MIT
/*
 * leaks.cu - memory that is never freed, or freed late, in patterns that are leaks or look like
 * leaks
 *
 *	leaks [STEPS [stay]]
 *
 * With stay, it prints "done" and runs until the end of stdin. Each pattern allocates from its own
 * function, leak_NAME, in all of the 256 steps or in some:
 *
 *	one_time	one large block, before the first step
 *	cache		many blocks, in the first steps only
 *	steady		one block in each step, never freed
 *	slow		one block in each 20th step, never freed
 *	ending		one block in each 2nd step; all are freed after the last step
 *	saw		one block in each step; each 40th step frees all; the last 16 stay
 *	ring		one block in each step, which replaces the block from 60 steps ago
 *	handed		as steady, but each block is from a new thread
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KB		((size_t)1024)
#define MAX_HELD	100000
#define RING		60

static void *held[MAX_HELD];
static int nr_held;

static void *allocate(size_t bytes)
{
	void *at = NULL;

	if (cudaMalloc(&at, bytes)) {
		fprintf(stderr, "leaks: cudaMalloc failed\n");
		exit(1);
	}
	return at;
}

#define SHAPE(name)								\
	extern "C" __attribute__((noinline)) void *leak_##name(size_t bytes);	\
	extern "C" void *leak_##name(size_t bytes)				\
	{									\
		void *at = allocate(bytes);					\
										\
		asm volatile("" : : "r"(at) : "memory");			\
		return at;							\
	}

SHAPE(one_time)
SHAPE(cache)
SHAPE(steady)
SHAPE(slow)
SHAPE(ending)
SHAPE(saw)
SHAPE(ring)
SHAPE(handed)

static void *hand(void *arg)
{
	(void)arg;
	leak_handed(30 * KB);
	return NULL;
}

static void step(int i)
{
	static void *saw[40], *ring[RING];
	pthread_t thread;

	if (i < 16)
		for (int k = 0; k < 50; k++)
			leak_cache(100 * KB);
	leak_steady(40 * KB);
	if (!(i % 20))
		leak_slow(20 * KB);
	if (!(i % 2))
		held[nr_held++] = leak_ending(50 * KB);
	if (!(i % 40))
		for (int k = 0; k < 40; k++) {
			cudaFree(saw[k]);
			saw[k] = NULL;
		}
	saw[i % 40] = leak_saw(300 * KB);
	cudaFree(ring[i % RING]);
	ring[i % RING] = leak_ring(200 * KB);
	/* Each thread has its own name and number; they share only the call path. */
	if (pthread_create(&thread, NULL, hand, NULL) || pthread_join(thread, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 256;

	if (steps < 1 || steps > MAX_HELD)
		return 2;
	leak_one_time(64 * KB * KB);
	for (int i = 0; i < steps; i++)
		step(i);
	while (nr_held)
		cudaFree(held[--nr_held]);
	if (argc > 2) {
		puts("done");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return 0;
}
