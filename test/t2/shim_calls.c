// SPDX-License-Identifier: MIT
/*
 * CUDA API calls: none is recorded until a listener asks for them; then each call is recorded once,
 * with its thread.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launch/calls.h"
#include "gpu/cupti/callback.h"
#include "gpu/cupti/cupti_lib.h"
#include "device.h"
#include "listener.h"
#include "sim.h"
#include "tap.h"

#define NR_THREADS	4
#define NR_CALLS	3000		/* calls by each thread: more than fit into one record */
#define MS		1000000ull

#define DRIVER(name)	CUPTI_DRIVER_TRACE_CBID_##name
#define RUNTIME(name)	(CUPTI_RUNTIME_TRACE_CBID_##name | XPU_CALL_RUNTIME)

static CUcontext context;
static CUfunction function;

static void *caller(void *arg)
{
	int i;

	(void)arg;
	cuCtxSetCurrent(context);
	for (i = 0; i < NR_CALLS; i++)
		cudaGetLastError();
	device__launch(function, NULL, 1);
	return (void *)(intptr_t)gettid();
}

/*
 * Return: the number of calls with @cbid among the calls received since number @from. @tid: counts
 * only calls of this thread; 0: counts calls of all threads.
 */
static uint32_t nr_heard(uint32_t from, uint32_t cbid, pid_t tid)
{
	uint32_t i, nr = 0;

	for (i = from; i < heard(nr_calls); i++)
		nr += listener.calls[i].cbid == cbid && (!tid || listener.calls[i].tid == tid);
	return nr;
}

static const struct listener_call *find(uint32_t from, uint32_t cbid)
{
	uint32_t i;

	for (i = from; i < heard(nr_calls); i++)
		if (listener.calls[i].cbid == cbid)
			return &listener.calls[i];
	return NULL;
}

static const char *name_of(uint32_t cbid)
{
	bool runtime = cbid & XPU_CALL_RUNTIME;

	return listener.strings[listener.api_names[runtime][cbid & ~XPU_CALL_RUNTIME]];
}

static void trivial_calls(void)
{
	static const char *const are[] = {
		"cudaGetDevice_v3020", "cudaStreamIsCapturing_v10000", "cudaGetLastError_v3020",
		"cudaPeekAtLastError_v3020", "cuCtxGetCurrent", "cuCtxSetCurrent",
		"cuCtxPushCurrent_v2", "cuCtxGetDevice", "cudaStreamGetCaptureInfo_v2_v11030",
		"cudaEventQuery_v3020", "cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6000",
		"cuPointerGetAttribute", "cudaDeviceGetAttribute_v5000",
		"__cudaPushCallConfiguration_v9000", "cuGetProcAddress_v2",
	};
	static const char *const are_not[] = {
		"cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMalloc_v3020",
		"cudaSetDevice_v3020", "cudaMemGetInfo_v3020", "cudaGetDeviceCount_v3020",
		"cudaFuncGetAttributes_v3020", "cuModuleGetFunction", "cuLibraryGetKernel",
		"cudaGetSymbolAddress_v3020", "cudaEventSynchronize_v3020", "cuStreamSynchronize",
		"cudaGraphLaunch_v10000", "cudaGetDeviceProperties_v12000", "cuIpcGetMemHandle",
		"cudaStreamCreate_v3020", "cudaEventRecord_v3020", "cuMemGetAddressRange_v2",
		"cuEventDestroy_v2", "cuDevicePrimaryCtxRetain",
	};
	size_t i;

	for (i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		is_int(calls__weigh(are[i]), CALL_TRIFLE,
		       "%s is a short call, which is not recorded", are[i]);
	for (i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++)
		is_int(calls__weigh(are_not[i]), CALL_TAKES_TIME,
		       "%s is a call that may take time", are_not[i]);
	is_int(calls__weigh("cudaFrobnicate_v99000"), CALL_UNKNOWN, "cudaFrobnicate is unknown");
}

/*
 * Every function in the toolkit's headers is classified as a short call or as a call that may take
 * long. The simulated CUPTI has the names of these functions.
 */
static void all_functions(void)
{
	static const CUpti_CallbackDomain domains[] = {
		CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
	};
	unsigned int domain, nr = 0, nr_unknown = 0;
	const char *name;
	uint32_t cbid;

	for (domain = 0; domain < 2; domain++)
		for (cbid = 1; cbid < 4096; cbid++) {
			name = NULL;
			callback__cupti->get_callback_name(domains[domain], cbid, &name);
			if (!name)
				continue;
			nr++;
			if (calls__weigh(name) != CALL_UNKNOWN)
				continue;
			nr_unknown++;
			diag("%s: trivial, or can it take time? See calls.c", name);
		}
	ok(nr > 600, "%u functions have callbacks", nr);
	is_int(nr_unknown, 0, "the rules classify all functions with callbacks");
}

static void threads(void)
{
	uint32_t from = heard(nr_calls), i, bad = 0, wrong = 0;
	pthread_t thread[NR_THREADS];
	void *tids[NR_THREADS];
	uint64_t before, after;

	before = now_ns(CLOCK_MONOTONIC);
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, caller, NULL);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], &tids[i]);
	after = now_ns(CLOCK_MONOTONIC);
	/*
	 * Each thread also calls cuCtxSetCurrent before its calls, and cuLaunchKernel after them.
	 */
	ok(listener__wait(&listener.nr_calls, from + NR_THREADS * (NR_CALLS + 2)),
	   "all calls are sent without a request");
	is_int(heard(nr_calls), from + NR_THREADS * (NR_CALLS + 2), "each call is sent once");
	for (i = 0; i < NR_THREADS; i++) {
		pid_t tid = (intptr_t)tids[i];

		wrong += nr_heard(from, RUNTIME(cudaGetLastError_v3020), tid) != NR_CALLS ||
			 nr_heard(from, DRIVER(cuLaunchKernel), tid) != 1;
	}
	is_int(wrong, 0, "each call has its own thread");
	for (i = from; i < heard(nr_calls); i++)
		bad += listener.calls[i].start_ns < before ||
		       listener.calls[i].start_ns + listener.calls[i].duration_ns > after;
	is_int(bad, 0, "each call has possible times");
	is_str(name_of(RUNTIME(cudaGetLastError_v3020)), "cudaGetLastError_v3020",
	       "cudaGetLastError is named");
	is_str(name_of(DRIVER(cuLaunchKernel)), "cuLaunchKernel", "cuLaunchKernel is named");
}

/* Tests that driver calls inside a runtime call are not recorded separately. */
static void nested(void)
{
	uint32_t from = heard(nr_calls), kernel = heard(nr_kernels), i, found = 0;
	const struct listener_call *call;
	uint64_t before, end, kernel_end;

	device__launch(function, NULL, 30 * MS);
	before = now_ns(CLOCK_MONOTONIC);
	cudaDeviceSynchronize();
	ok(listener__wait(&listener.nr_calls, from + 2),
	   "a launch and a synchronization are two calls");
	is_int(heard(nr_calls), from + 2, "driver calls inside them are not sent");
	call = find(from, RUNTIME(cudaDeviceSynchronize_v3020));
	end = call ? call->start_ns + call->duration_ns : 0;
	listener__wait(&listener.nr_kernels, kernel + 1);
	kernel_end = listener.kernels[kernel].start_ns + listener.kernels[kernel].duration_ns;
	ok(call && call->start_ns >= before && end >= kernel_end && end < kernel_end + 1000 * MS,
	   "the synchronization lasts until the kernel has ended");
	ok(heard(nr_waits) && !listener.waits[heard(nr_waits) - 1].flags,
	   "the synchronization is also sent as a wait for its context");
	call = find(from, DRIVER(cuLaunchKernel));
	for (i = 0; call && i < heard(nr_launches); i++)
		found += listener.launches[i].correlation_id == call->correlation_id;
	is_int(found, 1, "the call of the launch has the launch's correlation id");
}

/* Makes one callback of a runtime call, as CUPTI does. */
static __attribute__((noinline)) void call_end(CUpti_ApiCallbackSite site, uint32_t cbid,
					       uint32_t id)
{
	uint64_t between = 0;
	CUresult result = CUDA_SUCCESS;
	CUpti_CallbackData d = {
		.callbackSite = site,
		.correlationId = id,
		.correlationData = &between,
		.functionReturnValue = &result,
	};

	callback__call(NULL, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, &d);
}

static __attribute__((noinline)) void call_within(uint32_t cbid, uint32_t id)
{
	volatile char deeper[256] = { 0 };

	(void)deeper[id % sizeof(deeper)];
	call_end(CUPTI_API_ENTER, cbid, id);
	call_end(CUPTI_API_EXIT, cbid, id);
}

static void *leave_calls(void *arg)
{
	(void)arg;
	call_end(CUPTI_API_EXIT, 9, 1000001);		/* begins before a listener attaches */
	call_end(CUPTI_API_ENTER, 9, 1000002);
	call_within(10, 1000003);			/* a driver call inside the outer call */
	call_end(CUPTI_API_EXIT, 9, 1000002);
	call_end(CUPTI_API_ENTER, 9, 1000004);		/* a jump leaves this call */
	call_end(CUPTI_API_ENTER, 9, 1000005);
	call_end(CUPTI_API_EXIT, 9, 1000005);
	call_end(CUPTI_API_ENTER, 9, 1000006);		/* the thread ends in this call */
	return NULL;
}

/* Tests calls without a begin or an end. */
static void cut_off(void)
{
	uint32_t from = heard(nr_calls), i, found = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, leave_calls, NULL);
	pthread_join(thread, NULL);
	ok(listener__wait(&listener.nr_calls, from + 2), "calls with known ends are sent");
	for (i = from; i < heard(nr_calls); i++)
		found |= 1u << (listener.calls[i].correlation_id - 1000000);
	is_int(found, 1u << 2 | 1u << 5, "no other calls are sent");
	is_int(calls__nr_bad(), 2, "calls that were cut off are counted");
}

/* Tests calls that are further apart in time than one record allows. */
static void far_apart(void)
{
	struct call_log *l = aligned_alloc(64, (call_log__bytes() + 63) & ~63ul);
	struct timespec pause = { 2, 250000000 };
	uint32_t from = heard(nr_calls), i, cbid = RUNTIME(cudaDeviceReset_v3020);
	uint64_t begin, apart;

	memset(l, 0, call_log__bytes());
	call_log__start(l);
	begin = now_ns(CLOCK_MONOTONIC);
	for (i = 0; i < 2; i++) {
		call_log__begin(l, cbid, 2000000 + i, &begin);
		call_log__end(l, cbid, 2000000 + i);
		if (!i)
			nanosleep(&pause, NULL);
	}
	is_int(call_log__nr(l), 2, "two calls that are hours apart are logged");
	call_log__send(l);
	apart = listener.calls[from + 1].start_ns - listener.calls[from].start_ns;
	ok(heard(nr_calls) == from + 2 && listener.calls[from].start_ns >= begin &&
		   apart >= 2250 * MS &&
		   listener.calls[from + 1].start_ns <= now_ns(CLOCK_MONOTONIC),
	   "two calls that are hours apart are sent with their own times");
	free(l);
}

static void at_end(void)
{
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	/* far_apart() has its own log, which is not in the shim's list. */
	is_int(listener.counters.nr_calls, heard(nr_calls) - 2,
	       "the shim's count equals the calls that were sent");
	is_int(listener.counters.nr_bad_calls, 2,
	       "the shim's count has the calls that were cut off");
	if (done_testing())
		_exit(1);
}

/* Attaches or detaches a listener that wants calls. Waits at most 20 s for the shim to notice. */
static void want_calls(bool on)
{
	int tries;

	listener__want_calls(on);
	for (tries = 0; calls__are_wanted() != on && tries < 2000; tries++)
		pause_ms(10);
}

int main(void)
{
	uint32_t from;
	CUmodule module;

	atexit(at_end);
	setenv("XPUSHIM_API", "all", 1);
	listener__attach();
	device__start(&context, &module, &function);
	sim_core(SIM_ABI)->kernel_cost_arg(function, 0);
	cudaSetDevice(0);

	device__launch(function, NULL, 1);
	cudaDeviceSynchronize();
	ok(listener__wait(&listener.nr_kernels, 1), "a kernel is recorded");
	is_int(heard(nr_calls), 0, "no call is sent before a listener asks for calls");
	trivial_calls();
	all_functions();
	want_calls(true);
	threads();
	nested();
	cut_off();
	far_apart();
	want_calls(false);
	from = heard(nr_calls);
	cudaDeviceSynchronize();
	pause_ms(300);
	is_int(heard(nr_calls), from, "no call is sent after the last listener has left");
	/* All threads launch once more, and all listeners leave at the same time. */
	want_calls(true);
	cudaDeviceSynchronize();
	listener__detach();
	listener__wait(&listener.nr_calls, from + 1);
	is_int(nr_heard(from, RUNTIME(cudaDeviceSynchronize_v3020), 0), 1,
	       "the last call before the last listener left is not lost");
	return 0;
}
