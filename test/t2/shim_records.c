// SPDX-License-Identifier: MIT
/*
 * The shim's output: each launch is tagged exactly once, on its own thread, and each record is sent
 * exactly once.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "listener.h"
#include "tap.h"

#define NR_THREADS	8
#define NR_LAUNCHES	4000		/* launches by each thread */

int InitializeInjection(void);

static CUcontext context;
static CUfunction functions[NR_THREADS];

static void *launcher(void *arg)
{
	CUfunction function = functions[(intptr_t)arg];
	uint64_t one = 1;
	void *args[] = { &one };
	CUstream stream;
	int i;

	cuCtxSetCurrent(context);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < NR_LAUNCHES; i++)
		cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL);
	cuStreamSynchronize(stream);
	return (void *)(intptr_t)gettid();
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * Return: the number of ids that do not occur exactly once among the kernels and once among the
 * launches.
 */
static int nr_unmatched(void)
{
	uint32_t nr = heard(nr_launches), i;
	uint32_t *a = calloc(nr, sizeof(*a)), *b = calloc(nr, sizeof(*b));
	int bad = 0;

	for (i = 0; i < nr && i < heard(nr_kernels); i++) {
		a[i] = listener.launches[i].correlation_id;
		b[i] = listener.kernels[i].correlation_id;
	}
	qsort(a, nr, sizeof(*a), compare_u32);
	qsort(b, nr, sizeof(*b), compare_u32);
	for (i = 0; i < nr; i++)
		bad += a[i] != b[i] || (i && a[i] == a[i - 1]);
	free(a);
	free(b);
	return bad;
}

/* Return: the number of kernels whose name and launch belong to different threads. */
static int nr_wrong_thread(void **ids)
{
	uint32_t max = 0, i;
	pid_t *by_id;
	int bad = 0;

	for (i = 0; i < heard(nr_launches); i++)
		if (listener.launches[i].correlation_id > max)
			max = listener.launches[i].correlation_id;
	by_id = calloc(max + 1, sizeof(*by_id));
	for (i = 0; i < heard(nr_launches); i++)
		by_id[listener.launches[i].correlation_id] = listener.launches[i].tid;
	for (i = 0; i < heard(nr_kernels); i++) {
		const struct listener_kernel *k = &listener.kernels[i];
		const char *name = listener.strings[k->name];

		bad += !name || strncmp(name, "kernel_", 7) || k->correlation_id > max ||
			by_id[k->correlation_id] != (intptr_t)ids[name[7] - '0'];
	}
	free(by_id);
	return bad;
}

static void at_end(void)
{
	/* Runs after the shim's own exit handler, because exit handlers run in reverse order. */
	ok(heard(nr_string_records) >= 2 * NR_THREADS, "definitions are repeated at exit");
	is_int(heard(nr_bad), 0, "after the exit handlers nothing ill-formed was sent");
	if (done_testing())
		_exit(1);
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	void *tids[NR_THREADS];
	char name[] = "kernel_0", data[256];
	uint32_t i, bad_times = 0;
	CUdeviceptr memory;
	CUmodule module;
	CUdevice device;

	atexit(at_end);
	listener__attach();
	cuInit(0);
	is_int(InitializeInjection(), 1, "InitializeInjection() succeeds");
	cuDeviceGet(&device, 0);
	cuDevicePrimaryCtxRetain(&context, device);
	cuCtxSetCurrent(context);
	cuModuleLoadData(&module, "image");
	for (i = 0; i < NR_THREADS; i++) {
		name[7] = '0' + i;
		cuModuleGetFunction(&functions[i], module, name);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, launcher, (void *)(intptr_t)i);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], &tids[i]);
	ok(listener__wait(&listener.nr_kernels, NR_THREADS * NR_LAUNCHES),
	   "all kernels are sent without a request");

	is_int(heard(nr_launches), NR_THREADS * NR_LAUNCHES, "every launch is tagged once");
	is_int(heard(nr_kernels), NR_THREADS * NR_LAUNCHES, "every kernel is sent once");
	is_int(nr_unmatched(), 0, "launches and kernels have the same ids");
	is_int(nr_wrong_thread(tids), 0, "each launch is tagged on the thread that made it");
	for (i = 0; i < heard(nr_kernels); i++)
		bad_times += !listener.kernels[i].start_ns || !listener.kernels[i].duration_ns;
	is_int(bad_times, 0, "every kernel has its times");
	ok(heard(nr_apis) > 10, "the launch APIs are named");
	ok(heard(nr_devices) >= 1, "the device is named");

	cuMemAlloc(&memory, sizeof(data));
	cuMemcpyHtoD(memory, data, sizeof(data));
	cuMemcpyDtoH(data, memory, sizeof(data));
	cuMemsetD8(memory, 0, sizeof(data));
	ok(listener__wait(&listener.nr_memsets, 1), "a memset is sent");
	is_int(heard(nr_memcpys), 2, "two copies are sent");
	is_int(heard(nr_launches), NR_THREADS * NR_LAUNCHES + 3,
	       "the memset and the copies are tagged");
	cuMemFree(memory);
	cuModuleUnload(module);
	return 0;
}
