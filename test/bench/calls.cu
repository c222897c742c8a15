// SPDX-License-Identifier: MIT
/*
 * calls.cu - the cost of observing a call of CUDA's API, in each way that CUPTI offers
 *
 *	calls [ROUNDS]		prints ns per call for each way and function, and the difference to
 *				"path"
 *
 * Each way has a process of its own. The processes take turns, so a slow moment of the machine
 * affects all of them. CUPTI may only be called after the first fork. The way "path" enables what
 * xpuload enables for every recording: activity records of kernels, copies and sets, and callbacks
 * of the driver's launches, copies, sets, waits and event records. Callbacks read the CPU's counter
 * twice and keep the difference, as the shim does.
 */
#include <cuda.h>
#include <cupti.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#ifdef __CUDACC__
extern "C" __global__ void null_kernel(unsigned long long) {}
#else
KERNEL(null_kernel)
#endif

#define MAX_CBID	4096
#define MAX_ROUNDS	1000
#define NR_CALLS	400		/* calls in a row: fewer than a stream's queue holds */

enum way {
	BARE, KERNELS, PATH, RUNTIME_TIMED, RUNTIME_ALL, BOTH_TIMED, DRIVER_TIMED, ACTIVITY_TIMED,
	ACTIVITY_ALL, NR_WAYS,
};

static const char *const way_names[NR_WAYS] = {
	"bare", "kernels", "path", "+rt timed", "+rt all", "+both timed", "+drv timed",
	"+act timed", "+act all",
};

static const char *const function_names[] = {
	"GetDevice", "StreamIsCapturing", "PeekAtLastError", "EventQuery", "EventRecord",
	"StreamWaitEvent", "LaunchKernel", "MemcpyAsync", "MemsetAsync", "cuCtxGetCurrent",
	"cuLaunchKernel",
};

#define NR_FUNCTIONS ((int)(sizeof(function_names) / sizeof(function_names[0])))

static cudaStream_t stream;
static cudaEvent_t event;
static void *memory;
static void *function;			/* null_kernel, as the driver API's handle */
static CUresult (*get_current)(CUcontext *);
static CUresult (*launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
			  unsigned int, unsigned int, unsigned int, CUstream, void **, void **);
static __thread struct {
	unsigned long long ticks;
	unsigned int id, cbid;
} entries[128];
static __thread unsigned int nr_entries;

static unsigned long long ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	unsigned long long t;

	asm volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

static void CUPTIAPI on_call(void *, CUpti_CallbackDomain, CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *d = (const CUpti_CallbackData *)data;

	if (d->callbackSite == CUPTI_API_ENTER) {
		*d->correlationData = ticks();
		return;
	}
	entries[nr_entries % 128].ticks = ticks() - *d->correlationData;
	entries[nr_entries % 128].id = d->correlationId;
	entries[nr_entries++ % 128].cbid = cbid;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 1024 * 1024;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*max_records = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
	free(buffer);
}

/* Return: whether one of @words is a whole word of @name, which is in CamelCase */
static bool has_word(const char *name, const char *const *words)
{
	for (; *words; words++)
		for (const char *at = name; (at = strstr(at, *words)); at++)
			if (at[strlen(*words)] < 'a' || at[strlen(*words)] > 'z')
				return true;
	return false;
}

static bool is_trivial(const char *name)
{
	static const char *const trivial[] = {
		"Get", "Peek", "Is", "Query", "Push", "Pop", "Current", "Occupancy", NULL,
	};
	static const char *const timed[] = {
		"Count", "Func", "Function", "Graph", "Ipc", "Kernel", "Library", "Mem", "Module",
		"Properties", "Symbol", NULL,
	};

	return has_word(name, trivial) && !has_word(name, timed);
}

static bool is_path(const char *name)
{
	static const char *const prefixes[] = {
		"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuStreamSynchronize",
		"cuCtxSynchronize", "cuEventSynchronize", "cuEventRecord", "cuMemFree",
	};

	for (const char *prefix : prefixes)
		if (!strncmp(name, prefix, strlen(prefix)))
			return true;
	return false;
}

#define CUPTI(call)	do {							\
	CUptiResult err = (call);						\
	if (err != CUPTI_SUCCESS) {						\
		fprintf(stderr, "calls: %s: error %d\n", #call, (int)err);	\
		exit(1);							\
	}									\
} while (0)

static void watch(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
		  bool (*wanted)(const char *))
{
	for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
		const char *name = NULL;

		if (cuptiGetCallbackName(domain, cbid, &name) == CUPTI_SUCCESS && name &&
		    wanted(name))
			cuptiEnableCallback(1, subscriber, domain, cbid);
	}
}

static bool is_timed(const char *name)
{
	return !is_trivial(name) && strcmp(name, "cuKernelGetName");
}

static void measure_calls(bool all)
{
	CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
		const char *name = NULL;

		if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, &name) ==
			    CUPTI_SUCCESS &&
		    name && !all && is_trivial(name))
			cuptiActivityEnableRuntimeApi(cbid, 0);
		if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) ==
			    CUPTI_SUCCESS &&
		    name && (!strcmp(name, "cuKernelGetName") || (!all && is_trivial(name))))
			cuptiActivityEnableDriverApi(cbid, 0);
	}
}

static void start(enum way way)
{
	CUpti_SubscriberHandle subscriber;

	if (way == BARE)
		return;
	if (way >= PATH)
		CUPTI(cuptiSubscribe(&subscriber, on_call, NULL));
	CUPTI(cuptiActivityRegisterCallbacks(requested, completed));
	CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	if (way >= PATH)
		watch(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, is_path);
	if (way == BOTH_TIMED || way == DRIVER_TIMED)
		watch(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, is_timed);
	if (way == RUNTIME_TIMED || way == BOTH_TIMED)
		watch(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, is_timed);
	if (way == RUNTIME_ALL)
		CUPTI(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	if (way == ACTIVITY_TIMED || way == ACTIVITY_ALL)
		measure_calls(way == ACTIVITY_ALL);
}

static void call(int nr)
{
	unsigned long long ns = 0;
	void *args[] = { &ns };
	cudaStreamCaptureStatus status;
	CUcontext context;
	dim3 one(1, 1, 1);
	int device;

	switch (nr) {
	case 0: cudaGetDevice(&device); break;
	case 1: cudaStreamIsCapturing(stream, &status); break;
	case 2: cudaPeekAtLastError(); break;
	case 3: cudaEventQuery(event); break;
	case 4: cudaEventRecord(event, stream); break;
	case 5: cudaStreamWaitEvent(stream, event, 0); break;
	case 6: cudaLaunchKernel((const void *)null_kernel, one, one, args, 0, stream); break;
	case 7: cudaMemcpyAsync(memory, (char *)memory + 512, 256, cudaMemcpyDeviceToDevice,
				stream); break;
	case 8: cudaMemsetAsync(memory, 0, 256, stream); break;
	case 9: get_current(&context); break;
	case 10:
		launch((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, args, NULL);
		break;
	}
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double take_turn(int nr)
{
	double from, to;

	if (nr == 10 && !function)
		return 0;
	for (int i = 0; i < NR_CALLS / 4; i++)
		call(nr);
	CHECK(cudaStreamSynchronize(stream));
	from = now_ns();
	for (int i = 0; i < NR_CALLS; i++)
		call(nr);
	to = now_ns();
	CHECK(cudaStreamSynchronize(stream));
	return (to - from) / NR_CALLS;
}

template <typename T> static void find(T *to, const char *name)
{
#if CUDART_VERSION >= 13000
	cudaDriverEntryPointQueryResult result;

	CHECK(cudaGetDriverEntryPointByVersion(name, (void **)to, 12000, cudaEnableDefault,
					       &result));
#else
	CHECK(cudaGetDriverEntryPoint(name, (void **)to, cudaEnableDefault, NULL));
#endif
}

static void serve(enum way way, int go, int said)
{
	int nr;

	start(way);
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaMalloc(&memory, 4096));
	find(&get_current, "cuCtxGetCurrent");
	find(&launch, "cuLaunchKernel");
#ifdef __CUDACC__
	cudaFunction_t f;

	CHECK(cudaGetFuncBySymbol(&f, (const void *)null_kernel));
	function = (void *)f;
#endif
	while (read(go, &nr, sizeof(nr)) == sizeof(nr)) {
		double ns = take_turn(nr);

		if (write(said, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int nr)
{
	qsort(v, (size_t)nr, sizeof(*v), compare);
	return v[nr / 2];
}

int main(int argc, char **argv)
{
	static double figures[NR_WAYS][NR_FUNCTIONS][MAX_ROUNDS];
	int rounds = argc > 1 ? atoi(argv[1]) : 100, go[NR_WAYS], said[NR_WAYS];

	if (rounds < 1 || rounds > MAX_ROUNDS)
		return 2;
	for (int way = 0; way < NR_WAYS; way++) {
		int to[2], from[2];

		if (pipe(to) || pipe(from))
			return 1;
		if (!fork()) {
			close(to[1]);
			close(from[0]);
			for (int i = 0; i < way; i++) {
				close(go[i]);
				close(said[i]);
			}
			serve((enum way)way, to[0], from[1]);
		}
		close(to[0]);
		close(from[1]);
		go[way] = to[1];
		said[way] = from[0];
	}
	srand(1);
	for (int round = -2; round < rounds; round++)
		for (int nr = 0; nr < NR_FUNCTIONS; nr++)
			for (int i = 0, first = rand() % NR_WAYS; i < NR_WAYS; i++) {
				int way = (first + i) % NR_WAYS;
				double ns;

				if (write(go[way], &nr, sizeof(nr)) != sizeof(nr) ||
				    read(said[way], &ns, sizeof(ns)) != sizeof(ns)) {
					fprintf(stderr, "calls: \"%s\" has ended\n",
						way_names[way]);
					return 1;
				}
				if (round >= 0)
					figures[way][nr][round] = ns;
			}
	printf("%-18s", "ns per call");
	for (int way = 0; way < NR_WAYS; way++)
		printf(" %11s", way_names[way]);
	printf("\n");
	for (int nr = 0; nr < NR_FUNCTIONS; nr++) {
		double added[NR_WAYS], one[MAX_ROUNDS];

		for (int way = 0; way < NR_WAYS; way++) {
			for (int i = 0; i < rounds; i++)
				one[i] = figures[way][nr][i] - figures[PATH][nr][i];
			added[way] = median(one, rounds);
		}
		printf("%-18s", function_names[nr]);
		for (int way = 0; way < NR_WAYS; way++)
			printf(" %11.0f", median(figures[way][nr], rounds));
		printf("\n%-18s", "  beside path");
		for (int way = 0; way < NR_WAYS; way++)
			printf(" %+11.0f", added[way]);
		printf("\n");
	}
	return 0;
}
