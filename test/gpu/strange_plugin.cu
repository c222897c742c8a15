// SPDX-License-Identifier: MIT
/* strange_plugin.cu - a library with a kernel, for strange.cu to load and unload */
#include <cuda_runtime.h>

#define NO_TAIL_CALL()	__asm__ volatile("" : : : "memory")

extern "C" __global__ void kernel_plug(unsigned int *p)
{
	atomicAdd(p, 1);
}

static __attribute__((noinline)) void site_plug(unsigned int *p)
{
	kernel_plug<<<1, 1>>>(p);
	NO_TAIL_CALL();
}

/* Return: the number of launches. */
extern "C" unsigned int plug(unsigned int *p)
{
	for (int i = 0; i < 5; i++)
		site_plug(p);
	return 5;
}
