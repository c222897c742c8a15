/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - kernels that last as long as their argument says, on a GPU and on the simulated
 * device
 *
 *	KERNEL(k_norm)				at file scope
 *	LAUNCH(k_norm, stream, 20000)		launches it for 20 us, by <<<>>>
 *
 * Compiled with nvcc, the kernel spins on the GPU. Compiled with gcc or g++ (-x c++), it has no
 * body, and the simulated device takes its duration from its argument. Either way the host side is
 * the code that nvcc generates: a stub with the kernel's name that calls __cudaLaunchKernel.
 *
 * Only a function NAME launches k_NAME, and only site_NAME launches kernel_NAME, whatever the
 * namespace and template arguments of the function. So a profile alone shows whether each kernel is
 * under its launch site.
 */
#ifndef TEST_WORKLOAD_KERNELS_H
#define TEST_WORKLOAD_KERNELS_H

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
#define KERNELS_C	extern "C"
#else
#define KERNELS_C
#endif

/* Marks a launch site: it has its own frame, and its caller does not tail-call it. */
#define NOINLINE	__attribute__((noinline))
#define NO_TAIL_CALL()	__asm__ volatile("" : : : "memory")

#define CHECK(call)								\
	do {									\
		cudaError_t err_ = (call);					\
		if (err_ != cudaSuccess) {					\
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,	\
				cudaGetErrorString(err_));			\
			exit(1);						\
		}								\
	} while (0)

/* On the simulated device, the kernel's first argument is its duration. */
static inline void kernels_set_cost(const void *func)
{
	void (*set)(const void *, unsigned int);

	*(void **)&set = dlsym(RTLD_DEFAULT, "sim_kernel_cost_arg");
	if (set)
		set(func, 0);
}

#ifdef __CUDACC__

static __device__ __forceinline__ void kernels_spin(unsigned long long ns)
{
	unsigned long long start, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - start < ns);
}

#define KERNEL(name)								\
	extern "C" __global__ void name(unsigned long long ns)			\
	{									\
		kernels_spin(ns);						\
	}									\
	__attribute__((constructor)) static void kernels_init_##name(void)	\
	{									\
		kernels_set_cost((const void *)name);				\
	}

#define LAUNCH(name, stream, ns) name<<<1, 1, 0, (stream)>>>(ns)

#else /* the code that nvcc generates, written by hand */

#ifdef __cplusplus
extern "C" {
#endif
void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_fun, char *device_fun,
			    const char *device_name, int thread_limit, uint3 *tid, uint3 *bid,
			    dim3 *block, dim3 *grid, int *warp_size);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
					 struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared, cudaStream_t stream);
#ifdef __cplusplus
}
#endif

static void **kernels_handle;

static inline void kernels_unregister(void)
{
	__cudaUnregisterFatBinary(kernels_handle);
}

static inline void kernels_register(const void *func, const char *name)
{
	if (!kernels_handle) {
		kernels_handle = __cudaRegisterFatBinary(NULL);
		atexit(kernels_unregister);
	}
	__cudaRegisterFunction(kernels_handle, (const char *)func, (char *)name, name, -1, NULL,
			       NULL, NULL, NULL, NULL);
	kernels_set_cost(func);
}

/* Runs once per kernel; if several threads run it, they all store the same value. */
static inline cudaKernel_t kernels_get(cudaKernel_t *cached, const void *func)
{
	cudaKernel_t kernel = __atomic_load_n(cached, __ATOMIC_ACQUIRE);

	if (!kernel && __cudaGetKernel(&kernel, func) == cudaSuccess)
		__atomic_store_n(cached, kernel, __ATOMIC_RELEASE);
	return kernel;
}

static inline dim3 kernels_dim3(unsigned int x)
{
	dim3 dim;

	dim.x = x;
	dim.y = 1;
	dim.z = 1;
	return dim;
}

#define KERNEL(name)								\
	KERNELS_C void name(unsigned long long ns);				\
	KERNELS_C NOINLINE void name(unsigned long long ns)			\
	{									\
		static cudaKernel_t cached;					\
		cudaKernel_t kernel;						\
		void *args[] = { &ns };						\
		cudaStream_t kstream;						\
		dim3 grid, block;						\
		size_t shared;							\
										\
		kernel = kernels_get(&cached, (const void *)name);		\
		if (__cudaPopCallConfiguration(&grid, &block, &shared, &kstream))	\
			return;							\
		__cudaLaunchKernel(kernel, grid, block, args, shared, kstream);	\
		NO_TAIL_CALL();							\
	}									\
	__attribute__((constructor)) static void kernels_init_##name(void)	\
	{									\
		kernels_register((const void *)name, #name);			\
	}

#define LAUNCH(name, stream, ns)						\
	do {									\
		if (!__cudaPushCallConfiguration(kernels_dim3(1), kernels_dim3(1), 0,	\
						 (stream)))			\
			name(ns);						\
	} while (0)

#endif /* __CUDACC__ */

#endif /* TEST_WORKLOAD_KERNELS_H */
