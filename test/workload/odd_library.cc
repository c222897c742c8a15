// SPDX-License-Identifier: MIT
/*
 * odd_library.cc - a library that uses CUDA when it is loaded: in_constructor() makes ten memsets;
 * written in C
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>

static __attribute__((noinline, constructor)) void in_constructor(void)
{
	void *memory;
	int i;

	if (cudaMalloc(&memory, 4096) != cudaSuccess)
		exit(1);
	for (i = 0; i < 10; i++)
		if (cudaMemset(memory, i, 4096) != cudaSuccess)
			exit(1);
}
