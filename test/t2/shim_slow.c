// SPDX-License-Identifier: MIT
/*
 * The process ends while the shim's thread has much to send, on a slow machine. The exit waits
 * while the thread makes progress, and stops waiting if the thread hangs.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>

#include "device.h"
#include "listener.h"
#include "life/life.h"
#include "tap.h"

#define NR_THREADS	40		/* each thread has a buffer from CUPTI */
#define NR_LAUNCHES	400		/* launches by each thread */
#define BATCH_MS	400		/* the launches fill about ten batches */

static CUcontext context;
static CUfunction function;
static CUstream stream;

static void *launcher(void *arg)
{
	int i;

	cuCtxSetCurrent(context);
	for (i = 0; i < NR_LAUNCHES; i++)
		device__launch(function, stream, 1);
	return arg;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	uint64_t began_ns;
	CUmodule module;
	int i;

	listener__attach();
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	atomic_store(&listener__batch_ms, BATCH_MS);
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, launcher, NULL);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	cuStreamSynchronize(stream);
	shim__before_end();
	is_int(heard(nr_kernels), NR_THREADS * NR_LAUNCHES,
	       "a slow machine: all ended work is sent");
	atomic_store(&listener__batch_ms, 0);
	listener__settle();

	device__launch(function, stream, 1);
	cuStreamSynchronize(stream);
	pthread_mutex_lock(&listener__lock);
	began_ns = now_ns(CLOCK_MONOTONIC);
	shim__before_end();
	ok(now_ns(CLOCK_MONOTONIC) - began_ns < 20000000000ull,
	   "the shim's thread hangs: the process still ends");
	pthread_mutex_unlock(&listener__lock);
	return done_testing();
}
