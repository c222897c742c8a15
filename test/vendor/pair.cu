// SPDX-License-Identifier: MIT
/*
 * pair - launches by CUDA and by toy.h in one process: only site_NN launches kernel_NN
 *
 * Both runtimes number their launches, contexts, streams and devices from 1 or 0, so all numbers
 * collide.
 */
#include <pthread.h>
#include <stdint.h>

#include "kernels.h"
extern "C" {
#include "toy.h"
}

#define NR_THREADS	8
#define NR_EACH		1500

struct worker {
	pthread_t thread;
	unsigned int seed;
	cudaStream_t cuda;
	struct toy_stream *toy;
};

#define CUDA_SITE(nn)								\
	KERNEL(kernel_##nn)							\
	extern "C" NOINLINE void site_##nn(struct worker *w)			\
	{									\
		LAUNCH(kernel_##nn, w->cuda, 1000);				\
		NO_TAIL_CALL();							\
	}
#define TOY_SITE(nn)								\
	extern "C" NOINLINE void site_##nn(struct worker *w)			\
	{									\
		toy_launch(w->toy, "kernel_" #nn, 0);				\
		NO_TAIL_CALL();							\
	}
CUDA_SITE(00) CUDA_SITE(01) CUDA_SITE(02) CUDA_SITE(03)
TOY_SITE(10) TOY_SITE(11) TOY_SITE(12) TOY_SITE(13)

static void (*const sites[])(struct worker *) = {
	site_00, site_01, site_02, site_03, site_10, site_11, site_12, site_13,
};

static void *launcher(void *arg)
{
	struct worker *w = (struct worker *)arg;
	int i;

	for (i = 0; i < NR_EACH; i++)
		sites[rand_r(&w->seed) % (sizeof(sites) / sizeof(sites[0]))](w);
	CHECK(cudaStreamSynchronize(w->cuda));
	toy_wait(w->toy);
	return NULL;
}

int main(void)
{
	struct worker workers[NR_THREADS] = {};
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		workers[i].seed = i + 1;
		workers[i].toy = toy_stream_new();
		CHECK(cudaStreamCreate(&workers[i].cuda));
		pthread_create(&workers[i].thread, NULL, launcher, &workers[i]);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%d launches\n", NR_THREADS * NR_EACH);
	return 0;
}
