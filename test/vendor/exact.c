// SPDX-License-Identifier: MIT
/* exact - launches from many call sites on many threads: only site_NN launches kernel_NN */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

#define NR_THREADS	8
#define NR_EACH		2000
#define SLOW_NS		50000000

#define SITE(n)										\
	static __attribute__((noinline)) void site_##n(struct toy_stream *s)		\
	{										\
		toy_launch(s, "kernel_" #n, 0);						\
		__asm__ volatile("");							\
	}
SITE(00) SITE(01) SITE(02) SITE(03) SITE(04) SITE(05) SITE(06) SITE(07)

static void (*const sites[])(struct toy_stream *) = {
	site_00, site_01, site_02, site_03, site_04, site_05, site_06, site_07,
};

static __attribute__((noinline)) void site_08(struct toy_stream *s)
{
	toy_launch(s, "kernel_08", SLOW_NS);
	__asm__ volatile("");
}

static __attribute__((noinline)) void wait_for(struct toy_stream *s)
{
	toy_wait(s);
	__asm__ volatile("");
}

static void *launcher(void *arg)
{
	struct toy_stream *s = toy_stream_new();
	unsigned int seed = (uintptr_t)arg;
	int i;

	for (i = 0; i < NR_EACH; i++)
		sites[rand_r(&seed) % (sizeof(sites) / sizeof(sites[0]))](s);
	site_08(s);
	wait_for(s);
	return NULL;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	int i;

	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, launcher, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d launches\n", NR_THREADS * (NR_EACH + 1));
	return 0;
}
