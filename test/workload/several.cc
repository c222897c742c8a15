// SPDX-License-Identifier: MIT
/*
 * several.cc - a program whose own profilers share CUPTI with other subscribers, as CUPTI 13.3
 * allows; written in C
 *
 *	several [first] [alone] [threads]
 *
 * Makes 200 memsets in before(), 200 in during() while its own two profilers count calls and
 * records, and 200 in after(), when these profilers have unsubscribed. With the recorder, CUPTI has
 * three subscribers in during(). With "first", the profilers subscribe before CUDA is used, and
 * before() is not called. With "alone", a profiler that uses the old API comes at the end, and all
 * other subscribers must leave CUPTI to it: it counts 200 memsets in alone(). With "threads", four
 * more threads launch all the time. Prints what the profilers have seen. Exits with status 1 if
 * CUPTI refuses.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFER_BYTES	(256 * 1024)
#define NR_SETS		200
#define NR_PROFILERS	2

#define CHECK_CUPTI(call)						\
	do {								\
		CUptiResult err_ = (call);				\
		if (err_ != CUPTI_SUCCESS) {				\
			printf("several: %s: error %d\n", #call, err_);	\
			exit(1);					\
		}							\
	} while (0)

/* The CUDA 13.0 headers lack the following declarations. */
struct params {
	CUpti_SubscriberParams params;
	uint8_t allow_several, padding[7];
};

typedef void request_t(uint8_t **, size_t *, size_t *, void *);
typedef void complete_t(uint8_t *, size_t, size_t, void *);

static CUptiResult (*register_callbacks)(CUpti_SubscriberHandle, request_t *, complete_t *);
static CUptiResult (*enable)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);
static CUptiResult (*disable)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);
static CUptiResult (*next_record)(CUpti_SubscriberHandle, uint8_t *, size_t, CUpti_Activity **);

static CUpti_SubscriberHandle subscribers[NR_PROFILERS];
static int nr_calls, nr_records, nr_alone;
static void *memory;

static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	const CUpti_CallbackData *d = data;

	(void)userdata;
	(void)cbid;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && d->callbackSite == CUPTI_API_ENTER)
		nr_calls++;
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	*buffer = malloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void completed(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	CUpti_Activity *record = NULL;

	(void)size;
	(void)info;
	while (next_record(subscribers[0], buffer, valid, &record) == CUPTI_SUCCESS)
		nr_records += record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
	free(buffer);
}

static void CUPTIAPI alone_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	requested(buffer, size, max_records, NULL);
}

static void CUPTIAPI alone_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				     size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		nr_alone += record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
	free(buffer);
}

static __attribute__((noinline)) void set_all(void)
{
	int i;

	for (i = 0; i < NR_SETS; i++)
		if (cudaMemset(memory, i, 4096) != cudaSuccess)
			exit(1);
	cudaDeviceSynchronize();
}

/* These functions differ, so that the compiler does not merge them. */
#define SET(name, nops) \
	static __attribute__((noinline)) void name(void) { set_all(); __asm__ volatile(nops); }
SET(before, "# before")
SET(during, "# during\n\tnop")
SET(after, "# after\n\tnop\n\tnop")
SET(alone, "# alone\n\tnop\n\tnop\n\tnop")

static bool over;

static void *go_on(void *arg)
{
	const struct timespec pause = { 0, 50000 };

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		if (cudaMemsetAsync(memory, 1, 4096, cudaStreamPerThread) != cudaSuccess)
			exit(1);
		nanosleep(&pause, NULL);
	}
	cudaDeviceSynchronize();
	return NULL;
}

static void find_functions(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	*(void **)&register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks_v2");
	*(void **)&enable = dlsym(library, "cuptiActivityEnable_v2");
	*(void **)&disable = dlsym(library, "cuptiActivityDisable_v2");
	*(void **)&next_record = dlsym(library, "cuptiActivityGetNextRecord_v2");
	if (!register_callbacks || !enable || !disable || !next_record) {
		printf("several: this CUPTI has one subscriber\n");
		exit(1);
	}
}

static void begin(int i)
{
	struct params p = { { sizeof(p), "several", NULL, 0 }, 1, { 0 } };

	CHECK_CUPTI(cuptiSubscribe_v2(&subscribers[i], on_call, NULL, &p.params));
	CHECK_CUPTI(cuptiEnableCallback(1, subscribers[i], CUPTI_CB_DOMAIN_RUNTIME_API,
					CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020));
	CHECK_CUPTI(register_callbacks(subscribers[i], requested, completed));
	CHECK_CUPTI(enable(subscribers[i], CUPTI_ACTIVITY_KIND_MEMSET, NULL));
}

static void finish(int i)
{
	CHECK_CUPTI(disable(subscribers[i], CUPTI_ACTIVITY_KIND_MEMSET, NULL));
	CHECK_CUPTI(cuptiUnsubscribe(subscribers[i]));
}

static void profile_alone(void)
{
	CHECK_CUPTI(cuptiActivityRegisterCallbacks(alone_requested, alone_completed));
	CHECK_CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	alone();
	CHECK_CUPTI(cuptiActivityFlushAll(1));
	CHECK_CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
}

int main(int argc, char **argv)
{
	const struct timespec pause = { 1, 800000000 };
	bool first = false, last = false, threads = false;
	pthread_t thread[4];
	int i, k;

	for (i = 1; i < argc; i++) {
		first |= !strcmp(argv[i], "first");
		last |= !strcmp(argv[i], "alone");
		threads |= !strcmp(argv[i], "threads");
	}
	find_functions();
	if (!first) {
		if (cudaMalloc(&memory, 4096) != cudaSuccess)
			return 1;
		before();
	}
	for (i = 0; threads && i < 4; i++)
		pthread_create(&thread[i], NULL, go_on, NULL);
	/* Profilers subscribe and unsubscribe. */
	for (k = 0; threads && k < 20; k++) {
		begin(0);
		finish(0);
	}
	for (i = 0; i < NR_PROFILERS; i++)
		begin(i);
	if (first && cudaMalloc(&memory, 4096) != cudaSuccess)
		return 1;
	during();
	CHECK_CUPTI(cuptiActivityFlushAll(0));
	for (i = 0; i < NR_PROFILERS; i++)
		finish(i);
	after();
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; threads && i < 4; i++)
		pthread_join(thread[i], NULL);
	if (last) {
		profile_alone();
		nanosleep(&pause, NULL);	/* until the recorder is back */
		after();
	}
	if (threads)
		printf("several: over\n");
	else
		printf("several: %d calls, %d records, alone %d\n", nr_calls, nr_records, nr_alone);
	return 0;
}
