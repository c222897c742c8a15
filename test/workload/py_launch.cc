/* SPDX-License-Identifier: MIT */
/*
 * What test/workload/py_stacks.py calls: C, so that ctypes finds it; loaded as a library, or part of
 * a test. Kernels are called by number, one for each place that launches.
 */
#include <cuda.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

void py_launch_init(void);
void py_launch(int site);
void py_launch_done(void);
void py_through(void (*function)(void));

static CUmodule py_module;
static CUcontext py_context;

__attribute__((visibility("default"))) void py_launch_init(void)
{
	CUdevice device;

	cuInit(0);
	cuDeviceGet(&device, 0);
	cuDevicePrimaryCtxRetain(&py_context, device);
	cuCtxSetCurrent(py_context);
	cuModuleLoadData(&py_module, "image");
}

__attribute__((visibility("default"), noinline)) void py_launch(int site)
{
	static CUfunction functions[4096];
	unsigned long long ns = 1000;
	void *args[] = { &ns };
	char name[32];

	cuCtxSetCurrent(py_context);
	if (!functions[site % 4096]) {
		snprintf(name, sizeof(name), "site_%d", site);
		cuModuleGetFunction(&functions[site % 4096], py_module, name);
	}
	cuLaunchKernel(functions[site % 4096], 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	__asm__ volatile("" : : : "memory");
}

__attribute__((visibility("default"))) void py_launch_done(void)
{
	cuCtxSynchronize();
}

/* A native function between two of Python's. */
__attribute__((visibility("default"), noinline)) void py_through(void (*function)(void))
{
	function();
	__asm__ volatile("" : : : "memory");
}

#ifdef __cplusplus
}
#endif
