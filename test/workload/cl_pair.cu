// SPDX-License-Identifier: MIT
/*
 * cl_pair - launches by CUDA and by OpenCL in one process: only site_NN launches kernel_NN
 *
 * Both APIs number their launches, contexts, queues and devices from 1 or 0, so all numbers
 * collide.
 */
#include <pthread.h>
#include <stdint.h>

#include "kernels.h"
#undef CHECK
#include "cl.h"

#define NR_THREADS	8
#define NR_EACH		1500

struct worker {
	pthread_t thread;
	unsigned int seed;
	cudaStream_t cuda;
	cl_command_queue queue;
	cl_kernel kernels[CL_NR_KERNELS];
};

#define CUDA_SITE(nn)								\
	KERNEL(kernel_##nn)							\
	extern "C" NOINLINE void site_##nn(struct worker *w)			\
	{									\
		LAUNCH(kernel_##nn, w->cuda, 1000);				\
		NO_TAIL_CALL();							\
	}
#define CL_SITE(nn)								\
	extern "C" NOINLINE void site_##nn(struct worker *w)			\
	{									\
		const size_t one[] = { 1 };					\
										\
		CHECK(clEnqueueNDRangeKernel(w->queue, w->kernels[nn], 1, NULL,	\
					     one, one, 0, NULL, NULL));		\
		NO_TAIL_CALL();							\
	}
CUDA_SITE(00) CUDA_SITE(01) CUDA_SITE(02) CUDA_SITE(03)
CL_SITE(10) CL_SITE(11) CL_SITE(12) CL_SITE(13)

static void (*const sites[])(struct worker *) = {
	site_00, site_01, site_02, site_03, site_10, site_11, site_12, site_13,
};

static void *launcher(void *arg)
{
	struct worker *w = (struct worker *)arg;
	int i;

	for (i = 0; i < NR_EACH; i++)
		sites[rand_r(&w->seed) % (sizeof(sites) / sizeof(sites[0]))](w);
	cudaStreamSynchronize(w->cuda);
	CHECK(clFinish(w->queue));
	return NULL;
}

int main(void)
{
	struct worker workers[NR_THREADS] = {};
	cl_mem buffer;
	int i, k;

	cl_begin();
	buffer = cl_make_buffer(64);
	for (i = 0; i < NR_THREADS; i++) {
		workers[i].seed = i + 1;
		workers[i].queue = cl_make_queue(0);
		for (k = 0; k < CL_NR_KERNELS; k++)
			workers[i].kernels[k] = cl_numbered_kernel(k, buffer);
		if (cudaStreamCreate(&workers[i].cuda))
			return 1;
		pthread_create(&workers[i].thread, NULL, launcher, &workers[i]);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%d launches\n", NR_THREADS * NR_EACH);
	return 0;
}
