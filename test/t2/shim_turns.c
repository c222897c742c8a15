// SPDX-License-Identifier: MIT
/*
 * --stalls=exact: launches take turns, so that each launch has the samples of its own kernel. A
 * launch may wait more than a second for its turn, as long as other turns end.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "device.h"
#include "life/life.h"
#include "listener.h"
#include "sim.h"
#include "tap.h"
#include "xpu_slot.h"

#define NR_THREADS	8
#define KERNEL_NS	300000000ull	/* duration of each kernel; the last launch waits for seven
					 * kernels */

static CUcontext context;
static CUfunction function;

static void *launcher(void *arg)
{
	cuCtxSetCurrent(context);
	device__launch(function, arg, KERNEL_NS);
	return arg;
}

/* Return: the number of launches that have their own samples. */
static unsigned int nr_with_samples(void)
{
	unsigned int nr = 0;
	uint32_t i, k;

	for (i = 0; i < heard(nr_kernels); i++) {
		for (k = 0; k < heard(nr_sampled); k++)
			if (listener.sampled[k] == listener.kernels[i].correlation_id)
				break;
		nr += k < heard(nr_sampled);
	}
	return nr;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	CUstream streams[NR_THREADS];
	uint64_t began_ns;
	CUmodule module;
	uint32_t i;

	setenv(XPU_STALLS_ENV, XPU_STALLS_PERIOD XPU_STALLS_EXACT, 1);
	listener__attach();
	device__start(&context, &module, &function);
	sim_core(SIM_ABI)->kernel_cost_arg(function, 0);
	for (i = 0; i < NR_THREADS; i++)
		cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
	began_ns = now_ns(CLOCK_MONOTONIC);
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, launcher, streams[i]);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(now_ns(CLOCK_MONOTONIC) - began_ns >= NR_THREADS * KERNEL_NS,
	   "kernels ran one at a time");
	cuCtxSynchronize();
	shim__before_end();
	is_int(heard(nr_kernels), NR_THREADS, "each kernel is recorded");
	is_int(nr_with_samples(), NR_THREADS, "each launch has its own samples");
	cuDevicePrimaryCtxRelease(0);
	for (i = 0; i < 64; i++) {	/* the shim remembers 64 contexts, ended ones included */
		cuCtxCreate(&context, NULL, 0, 0);
		cuCtxDestroy(context);
	}
	ok(strstr(listener.message, "only for the first 64 contexts"),
	   "more contexts than the shim can sample: a message says so");
	return done_testing();
}
