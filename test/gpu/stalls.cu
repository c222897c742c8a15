// SPDX-License-Identifier: MIT
/*
 * stalls.cu - kernels that stand still in a known way, each launched by a function of its own
 *
 *	stalls [THREADS]	the same kernels from so many threads
 *	stalls null N		N launches of an empty kernel; prints the ns of each, after a while
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)								\
	do {									\
		cudaError_t err_ = (call);					\
		if (err_ != cudaSuccess) {					\
			fprintf(stderr, "stalls: %s: %s\n", #call, cudaGetErrorString(err_)); \
			exit(1);						\
		}								\
	} while (0)

#define NR_WORDS	(64 << 20)

/* Each load waits for the one before it, far away in memory. */
__global__ void k_global(unsigned int *p, int n)
{
	unsigned int at = (blockIdx.x * blockDim.x + threadIdx.x) * 977u % NR_WORDS;

	for (int i = 0; i < n; i++)
		at = p[at];
	if (at == ~0u)
		p[0] = 1;
}

/* All threads of a warp in one bank. */
__global__ void k_shared(unsigned int *p, int n)
{
	__shared__ unsigned int s[32 * 32];
	unsigned int sum = 0, at = threadIdx.x % 32 * 32;

	for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
		s[i] = i;
	__syncthreads();
	for (int i = 0; i < n; i++) {
		atomicAdd(&s[at + i % 32], 1);
		sum += s[at + (i + 7) % 32];
	}
	if (sum == ~0u)
		p[0] = sum;
}

/* One warp on each scheduler, whose instructions wait for one another. */
__global__ void k_chain(unsigned int *p, int n)
{
	float x = threadIdx.x;

	for (int i = 0; i < n; i++) {
#pragma unroll
		for (int k = 0; k < 64; k++)
			x = x * 1.0001f + 0.5f;
	}
	if (x == 1.5f)
		p[0] = 1;
}

/* One warp of 32 works, the others wait for it. */
__global__ void k_barrier(unsigned int *p, int n)
{
	float x = threadIdx.x;

	for (int i = 0; i < n; i++) {	/* where the others wait */
		if (threadIdx.x < 32)
			for (int k = 0; k < 256; k++)
				x = x * 1.0001f + 0.5f;
		__syncthreads();
	}
	if (x == 1.5f)
		p[0] = 1;
}

template <int N> __device__ __forceinline__ float straight(float x, float y)
{
	if constexpr (N > 1)
		return straight<N / 2>(straight<N - N / 2>(x, y), y + N);
	return x * y + N;
}

/* Straight code that no cache of instructions holds, of one warp. */
__global__ void k_code(unsigned int *p, int n)
{
	float a = threadIdx.x;

#pragma unroll 1
	for (int i = 0; i < n; i++)
		a = straight<16384>(a, i);
	if (a == 1.5f)
		p[0] = 1;
}

__global__ void k_null() {}

static unsigned int *memory;

#define LAUNCH(name, grid, block, n)						\
	static __attribute__((noinline)) void launch_##name(cudaStream_t stream)	\
	{									\
		k_##name<<<grid, block, 0, stream>>>(memory, n);		\
		CHECK(cudaGetLastError());					\
	}

LAUNCH(global, 528, 128, 4000)
LAUNCH(shared, 528, 256, 20000)
LAUNCH(chain, 132, 128, 4000)
LAUNCH(barrier, 132, 1024, 2000)
LAUNCH(code, 132, 32, 100)

static void *run(void *arg)
{
	cudaStream_t stream;

	(void)arg;
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 20; i++) {
		launch_global(stream);
		launch_shared(stream);
		launch_chain(stream);
		launch_barrier(stream);
		launch_code(stream);
	}
	CHECK(cudaStreamSynchronize(stream));
	return NULL;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void null_kernels(int n)
{
	double begin = 0;

	for (int i = 0; i < n; i++) {
		if (i == n / 3)
			begin = now();
		k_null<<<1, 32>>>();
	}
	printf("null %.1f\n", (now() - begin) * 1e9 / (n - n / 3));
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];
	unsigned int *host;

	if (argc > 2 && !strcmp(argv[1], "null")) {
		null_kernels(atoi(argv[2]));
		return 0;
	}
	CHECK(cudaMalloc(&memory, NR_WORDS * sizeof(*memory)));
	host = (unsigned int *)malloc(NR_WORDS * sizeof(*host));
	for (unsigned int i = 0; i < NR_WORDS; i++)
		host[i] = (i * 2654435761u + 12345u) % NR_WORDS;
	CHECK(cudaMemcpy(memory, host, NR_WORDS * sizeof(*host), cudaMemcpyHostToDevice));
	for (int i = 0; i < nr && i < 64; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < nr && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("stalls: over\n");
	return 0;
}
