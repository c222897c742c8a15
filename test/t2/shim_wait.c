// SPDX-License-Identifier: MIT
/* The shim reports calls that wait: how long they wait, and for which context and stream. */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "gpu/cupti/kinds.h"
#include "launch/allocs.h"
#include "listener.h"
#include "sim.h"
#include "tap.h"

#define MS		1000000ull

static CUcontext context;
static CUfunction function;
static CUstream streams[2];
static uint32_t context_id, stream_ids[2], null_id;

static void launch(CUstream stream, uint64_t ns)
{
	device__launch(function, stream, ns);
}

static void find_ids(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	CUptiResult (*get_stream)(CUcontext, CUstream, uint8_t, uint32_t *);
	CUptiResult (*get_context)(CUcontext, uint32_t *);

	*(void **)&get_context = cupti ? dlsym(cupti, "cuptiGetContextId") : NULL;
	*(void **)&get_stream = cupti ? dlsym(cupti, "cuptiGetStreamIdEx") : NULL;
	if (!get_context || !get_stream)
		bail("the shim has not opened CUPTI");
	get_context(context, &context_id);
	get_stream(context, streams[0], 0, &stream_ids[0]);
	get_stream(context, streams[1], 0, &stream_ids[1]);
	get_stream(context, NULL, 0, &null_id);
}

static uint64_t begin_ns;
static uint32_t nr_before;

static void begin(void)
{
	nr_before = heard(nr_waits);
	begin_ns = now_ns(CLOCK_MONOTONIC);
}

/*
 * Return: the longest wait since begin(). The wait must have lasted at least @ms, and must lie
 * between begin() and now.
 */
static const struct listener_wait *waited(uint64_t ms, const char *what)
{
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC);
	const struct listener_wait *longest = NULL;
	uint32_t i;

	for (i = nr_before; i < heard(nr_waits); i++)
		if (!longest || listener.waits[i].wait_ns > longest->wait_ns)
			longest = &listener.waits[i];
	if (!longest) {
		ok(false, "%s: the wait is reported", what);
		exit(done_testing());
	}
	/* On a busy machine the device may have started long before the wait. */
	ok(longest->wait_ns >= ms * MS / 2 && longest->start_ns + MS / 2 > begin_ns &&
	   longest->start_ns + longest->wait_ns < end_ns + MS / 2,
	   "%s: the wait lasts long enough", what);
	diag("%s: %llu us", what, (unsigned long long)longest->wait_ns / 1000);
	is_int(longest->context, context_id, "%s: the wait has the id of its context", what);
	return longest;
}

static void *wait_elsewhere(void *arg)
{
	cuCtxSetCurrent(context);
	cuStreamSynchronize(streams[1]);
	return arg;
}

/* ---- a thread for which there is no memory --------------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static __thread bool no_memory;

__attribute__((visibility("default"))) void *mmap(void *at, size_t bytes, int protection,
						  int flags, int fd, off_t offset)
{
	if (no_memory) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

static void *without_memory(void *arg)
{
	CUdeviceptr memory;

	cuCtxSetCurrent(context);
	no_memory = true;
	cuStreamSynchronize(streams[1]);
	cuMemAlloc(&memory, 4096);
	cuMemFree(memory);
	no_memory = false;
	return arg;
}

/* Return: how many memory events are counted but were not received. */
static int nr_missing(void)
{
	uint32_t nr = heard(counters.nr_allocs), i;

	for (i = 0; i < heard(nr_allocs); i++)
		nr -= listener.allocs[i].what != XPU_ALLOC_START &&
		      listener.allocs[i].what != XPU_ALLOC_LEVEL;
	return nr;
}

static void test_without_memory(void)
{
	pthread_t thread;
	int i;

	listener__want_memory(true);
	for (i = 0; i < 200 && !allocs__are_on(); i++)
		pause_ms(100);
	launch(streams[1], 1000 * MS);
	pthread_create(&thread, NULL, without_memory, NULL);
	pthread_join(thread, NULL);
	launch(streams[1], 1);		/* the kernel's record brings all counts */
	cuCtxSynchronize();
	for (i = 0; i < 100 && (!heard(counters.nr_dropped_shim) || nr_missing() != 2); i++)
		pause_ms(100);
	ok(heard(counters.nr_dropped_shim) >= 1, "no memory for a thread: its waits are counted");
	is_int(nr_missing(), 2, "no memory for a thread: its memory events are counted");
}
#else
static void test_without_memory(void)
{
	skip(2, "the sanitizer has its own mmap()");
}
#endif

int main(void)
{
	const struct listener_wait *w;
	char host[64];
	CUdeviceptr device, more;
	CUmodule module;
	pthread_t thread;
	CUevent event;
	int i;

	listener__attach();
	device__start(&context, &module, &function);
	for (i = 0; i < 2; i++)
		cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
	cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	cuMemAlloc(&device, sizeof(host));
	sim_core(SIM_ABI)->kernel_cost_arg(function, 0);
	find_ids();

	is_int(kinds__sizes[CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D8_v2_ptds], 3 | 4 << 4,
	       "sizes of a set in two dimensions are known");
	/* The parameters of these calls are shorter than three words. */
	is_int(kinds__sizes[CUPTI_DRIVER_TRACE_CBID_cuMemsetD8] |
	       kinds__sizes[CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD], 0,
	       "sizes of the old 32-bit calls are not known");

	begin();
	launch(streams[1], 60 * MS);
	cuStreamSynchronize(streams[1]);
	w = waited(20, "stream");
	is_int(w->stream, stream_ids[1], "stream wait: the wait has the id of its stream");
	is_int(w->flags, XPU_WAIT_STREAM, "stream wait: no other stream is waited for");
	is_int(w->cbid, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
	       "stream wait: the wait has the id of its call");

	begin();
	launch(NULL, 60 * MS);
	cuStreamSynchronize(NULL);
	w = waited(20, "NULL stream");
	is_int(w->stream, null_id, "NULL stream wait: the wait has the id of the NULL stream");
	is_int(w->flags, XPU_WAIT_STREAM | XPU_WAIT_OTHERS,
	       "NULL stream wait: other streams are waited for, too");

	begin();
	launch(streams[0], 60 * MS);
	cuCtxSynchronize();
	w = waited(20, "context");
	is_int(w->flags, 0, "context wait: the whole context is waited for");

	begin();
	launch(streams[0], 60 * MS);
	cuEventRecord(event, streams[0]);
	launch(streams[1], 120 * MS);
	cuEventSynchronize(event);
	w = waited(20, "event");
	is_int(w->stream, stream_ids[0],
	       "event wait: the wait has the stream in which the event was recorded");
	is_int(w->flags, XPU_WAIT_STREAM, "event wait: no other stream is waited for");
	cuCtxSynchronize();

	begin();
	launch(NULL, 60 * MS);
	cuMemcpyDtoH(host, device, sizeof(host));
	w = waited(20, "copy");
	is_int(w->stream, null_id, "copy wait: the wait has the id of the NULL stream");
	is_int(w->flags, XPU_WAIT_STREAM | XPU_WAIT_OTHERS | XPU_WAIT_WORK,
	       "copy wait: the copy itself is waited for, too");

	begin();
	cuMemAlloc(&more, sizeof(host));
	launch(streams[0], 60 * MS);
	cuMemFree(more);
	if (heard(nr_waits) > nr_before) {	/* the simulated device need not wait here */
		w = waited(0, "free");
		is_int(w->flags, XPU_WAIT_WORK, "free wait: the whole context is waited for");
	}
	cuCtxSynchronize();

	begin();
	for (i = 0; i < 3000; i++)
		launch(streams[0], 20000);
	w = waited(0, "full queue");
	is_int(w->flags, XPU_WAIT_LAUNCH | XPU_WAIT_WORK,
	       "full queue: the launch waits for its own stream");
	is_int(w->cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
	       "full queue: the wait has the id of the launch's call");
	cuCtxSynchronize();

	begin();
	launch(streams[1], 60 * MS);
	pthread_create(&thread, NULL, wait_elsewhere, NULL);
	pthread_join(thread, NULL);
	w = waited(20, "a thread that launches nothing");
	is_int(w->stream, stream_ids[1],
	       "a thread that launches nothing: its wait has the id of the stream");
	is_int(heard(nr_introduced), 1,
	       "a thread that launches nothing announces its slot once");

	begin();
	for (i = 0; i < 100; i++)
		cuStreamSynchronize(streams[1]);
	ok(heard(nr_waits) - nr_before < 50,
	   "with nothing to wait for, hardly any waits are reported");
	test_without_memory();
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	return done_testing();
}
