// SPDX-License-Identifier: MIT
/*
 * shaped.cu - the source of shaped.cubin: nvcc -lineinfo -cubin -arch=sm_90 -o shaped.cubin
 * shaped.cu
 */
static __device__ __forceinline__ float twice(float x)
{
	return x * 2 + 1;
}

extern "C" __global__ void k_shaped(float *p, int n)
{
	for (int i = threadIdx.x; i < n; i += 32)
		p[i] = twice(p[i]);
	__syncthreads();
	if (threadIdx.x == 0)
		p[0] = p[n - 1];
}

extern "C" __global__ void k_other(float *p)
{
	p[threadIdx.x] = twice(p[threadIdx.x]) + twice(threadIdx.x);
}
