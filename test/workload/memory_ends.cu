// SPDX-License-Identifier: MIT
/*
 * memory_ends.cu - memory that ends in other ways than by its own free, and memory that is left
 * allocated
 *
 *	memory_ends WHAT [ARG]
 *
 * double	frees twice, frees an invalid pointer, and asks for an impossible size
 * reset	cudaDeviceReset() with memory of each kind, then allocates more
 * context	cuCtxDestroy() with memory of each kind, while another context has memory
 * exec		a child has its own memory, and the program execs itself while it has memory:
 *		ARG is internal
 * exit		frees in an exit handler, in a destructor, and in a pthread key's destructor
 * hook LIB	calls PyTorch's reporting function in LIB with impossible values
 * loop [US]	allocates and frees, in several threads, until it is killed; each thread sleeps for
 *		US us after every 100 allocations
 *
 * Prints "leaked SITE KIND BYTES", as memory.cu does, for memory that is not freed.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE	extern "C" __attribute__((noinline))

NOINLINE void *mem_site_00(size_t bytes);
NOINLINE void *mem_site_01(size_t bytes);
NOINLINE void *mem_site_02(size_t bytes);
NOINLINE void *mem_site_03(size_t bytes);

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "memory_ends: %s: error %d\n", what, err);
	exit(1);
}

void *mem_site_00(size_t bytes)
{
	void *at = NULL;

	check(cudaMalloc(&at, bytes), "cudaMalloc");
	return at;
}

void *mem_site_01(size_t bytes)
{
	void *at = NULL;

	check(cudaMallocAsync(&at, bytes, 0), "cudaMallocAsync");
	return at;
}

void *mem_site_02(size_t bytes)
{
	void *at = NULL;

	check(cudaHostAlloc(&at, bytes, 0), "cudaHostAlloc");
	return at;
}

void *mem_site_03(size_t bytes)
{
	void *at = NULL;

	check(cudaMallocManaged(&at, bytes, cudaMemAttachGlobal), "cudaMallocManaged");
	return at;
}

static void each_kind(void)
{
	mem_site_00(1000);
	mem_site_01(2000);
	mem_site_02(3000);
	mem_site_03(4000);
}

static void *driver(const char *name)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *fn = cuda ? dlsym(cuda, name) : NULL;

	check(!fn, name);
	return fn;
}

static void free_twice(void)
{
	void *at = mem_site_00(1000), *kept = mem_site_00(70);
	int on_stack;

	check(cudaFree(at), "cudaFree");
	cudaFree(at);
	cudaFree(&on_stack);
	cudaFree((char *)kept + 1);
	cudaFreeHost(kept);
	cudaFreeAsync((void *)0x123456000, 0);
	cudaHostUnregister(&on_stack);
	check(!cudaMalloc(&at, (size_t)-1), "cudaMalloc of all there is");
	check(!cudaMalloc(&at, (size_t)1 << 63), "cudaMalloc of half of it");
	cudaGetLastError();
	printf("leaked mem_site_00 device 70\n");
}

static void reset(void)
{
	each_kind();
	check(cudaDeviceReset(), "cudaDeviceReset");
	mem_site_00(7);
	mem_site_01(70);
	printf("leaked mem_site_00 device 7\nleaked mem_site_01 pool 70\n");
}

static void end_context(void)
{
	CUresult (*init)(unsigned int);
	CUresult (*create)(CUcontext *, unsigned int, CUdevice);
	CUresult (*destroy)(CUcontext);
	CUresult (*set)(CUcontext);
	CUcontext first, second;

	*(void **)&init = driver("cuInit");
	*(void **)&create = driver("cuCtxCreate_v2");
	*(void **)&destroy = driver("cuCtxDestroy_v2");
	*(void **)&set = driver("cuCtxSetCurrent");
	check(init(0), "cuInit");
	check(create(&first, 0, 0), "cuCtxCreate");
	mem_site_00(9);
	check(create(&second, 0, 0), "cuCtxCreate");
	each_kind();
	check(destroy(second), "cuCtxDestroy");
	check(set(first), "cuCtxSetCurrent");
	mem_site_02(90);
	printf("leaked mem_site_00 device 9\nleaked mem_site_02 pinned 90\n");
}

static void execute(char **argv)
{
	char *again[] = { argv[0], argv[1], (char *)"again", NULL };

	if (argv[2]) {
		mem_site_00(500);
		printf("leaked mem_site_00 device 500\n");
		return;
	}
	if (!fork()) {
		mem_site_00(40);
		printf("leaked mem_site_00 device 40\n");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	mem_site_00(6);
	printf("leaked mem_site_00 device 6\n");
	fflush(stdout);
	execv("/proc/self/exe", again);
	check(1, "execv");
}

/* ---- at the end ------------------------------------------------------------------------------ */

static void *at_exit, *at_destruction;

static void free_at_exit(void)
{
	cudaFree(at_exit);
}

static __attribute__((destructor)) void free_at_destruction(void)
{
	if (at_destruction && cudaFree(at_destruction))		/* CUDA's runtime has ended */
		printf("leaked mem_site_00 device 20\n");
}

static void free_key(void *at)
{
	cudaFree(at);
}

static pthread_key_t key;

static void *end_thread(void *arg)
{
	pthread_setspecific(key, mem_site_01(300));
	return arg;
}

static void free_late(void)
{
	pthread_t thread;
	int i;

	check(pthread_key_create(&key, free_key), "pthread_key_create");
	for (i = 0; i < 20; i++)
		check(pthread_create(&thread, NULL, end_thread, NULL) || pthread_join(thread, NULL),
		      "thread");
	at_exit = mem_site_00(10);
	at_destruction = mem_site_00(20);
	atexit(free_at_exit);
	mem_site_00(3);
	printf("leaked mem_site_00 device 3\n");
}

/* ---- PyTorch's function ---------------------------------------------------------------------- */

struct device {
	int8_t type, index;
};

static void absurd_reports(const char *lib)
{
	void (*report)(void *, int64_t, size_t, size_t, struct device);
	const struct device cuda = { 1, 0 }, cpu = { 0, -1 }, other = { 77, 3 }, none = { 1, -1 },
			    last = { 1, 127 };
	const struct device devices[] = { cuda, cpu, other, none, last };
	char *block = (char *)mem_site_00(2 << 20);
	size_t i;

	check(!dlopen(lib, RTLD_NOW | RTLD_LOCAL), lib);
	*(void **)&report = dlsym(RTLD_DEFAULT,
				  "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	if (!report)			/* the shim is not loaded */
		return;
	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		report(NULL, INT64_MIN, SIZE_MAX, SIZE_MAX, devices[i]);
		report((void *)-1, INT64_MAX, 0, 0, devices[i]);
		report(NULL, 0, 0, 0, devices[i]);
		report((void *)-1, INT64_MIN, 5, 5, devices[i]);
		report(NULL, -1, 5, 5, devices[i]);
	}
	report(block, 4096, 4096, 2 << 20, cuda);
	report(block + 8192, 512, 4608, 2 << 20, cuda);
	report(block, -4096, 512, 2 << 20, cuda);
	report(block + 8192, 0, 512, 2 << 20, cuda);
	report(block + 16384, 0, 512, 2 << 20, cuda);
	printf("leaked none block 512\n");
}

/* ---- until it is killed ---------------------------------------------------------------------- */

static useconds_t pause_us;

static void *loop(void *arg)
{
	void *ring[16] = { NULL };
	size_t i;

	for (i = 0;; i++) {
		if (ring[i % 16])
			check(cudaFree(ring[i % 16]), "cudaFree");
		ring[i % 16] = i % 3 ? mem_site_00(1 + i % 1000) : mem_site_01(1 + i % 1000);
		if (pause_us && i % 100 == 0)
			usleep(pause_us);
		if (i == 1000 && arg) {
			printf("ready\n");
			fflush(stdout);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t threads[4];
	size_t i;

	if (!strcmp(what, "double")) {
		free_twice();
	} else if (!strcmp(what, "reset")) {
		reset();
	} else if (!strcmp(what, "context")) {
		end_context();
	} else if (!strcmp(what, "exec")) {
		execute(argv);
	} else if (!strcmp(what, "exit")) {
		free_late();
	} else if (!strcmp(what, "hook") && argc > 2) {
		absurd_reports(argv[2]);
	} else if (!strcmp(what, "loop")) {
		pause_us = argc > 2 ? atoi(argv[2]) : 0;
		for (i = 0; i < 4; i++)
			check(pthread_create(&threads[i], NULL, loop, i ? NULL : (void *)1),
			      "thread");
		pthread_join(threads[0], NULL);
	} else {
		fprintf(stderr,
			"usage: memory_ends double|reset|context|exec|exit|hook LIB|loop [US]\n");
		return 2;
	}
	fflush(stdout);
	return 0;
}
