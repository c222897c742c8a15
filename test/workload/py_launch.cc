/* SPDX-License-Identifier: MIT */
/*
 * Functions that test/workload/py_stacks.py calls. They have C linkage, so that ctypes finds them;
 * they are loaded as a library, or linked into a test. Each launch site has a kernel with its own
 * number.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>

void py_launch_init(void);
void py_launch(int site);
void py_launch_done(void);
void py_through(void (*function)(void));
void py_launch_native(void);

/* Called just before each launch, if a test has set it. */
__attribute__((visibility("default"))) void (*py_before_launch)(int site);

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
	CUfunction function;
	char name[32];

	cuCtxSetCurrent(py_context);
	function = __atomic_load_n(&functions[site % 4096], __ATOMIC_ACQUIRE);
	if (!function) {
		snprintf(name, sizeof(name), "site_%d", site);
		cuModuleGetFunction(&function, py_module, name);
		__atomic_store_n(&functions[site % 4096], function, __ATOMIC_RELEASE);
	}
	if (py_before_launch)
		py_before_launch(site);
	cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	__asm__ volatile("" : : : "memory");
}

__attribute__((visibility("default"))) void py_launch_done(void)
{
	cuCtxSynchronize();
}

/* A native function, called between two Python functions. */
__attribute__((visibility("default"), noinline)) void py_through(void (*function)(void))
{
	function();
	__asm__ volatile("" : : : "memory");
}

static __attribute__((noinline)) void *native_thread(void *arg)
{
	py_launch(7);
	__asm__ volatile("" : : : "memory");
	return arg;
}

/* Launches from a thread that Python does not know. */
__attribute__((visibility("default"))) void py_launch_native(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, native_thread, NULL))
		pthread_join(thread, NULL);
}
