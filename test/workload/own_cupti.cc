// SPDX-License-Identifier: MIT
/*
 * own_cupti.cc - a program that is a profiler itself; written in C
 *
 *	own_cupti [both|activity [first]]
 *
 * Makes 100 memsets in before(), and 100 more while it counts calls and activity records of memsets
 * (with "activity", only the records). Some time after it has released CUPTI, it makes 100 in
 * after(). With "first" it takes CUPTI before it uses CUDA, and skips before(). Prints what it has
 * seen, and whether the timestamps were in CUPTI's clock. Exits with status 1 if CUPTI refuses.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFER_BYTES	(256 * 1024)
#define NR_SETS		100

#define CHECK_CUPTI(call)						\
	do {								\
		CUptiResult err_ = (call);				\
		if (err_ != CUPTI_SUCCESS) {				\
			printf("own_cupti: %s: error %d\n", #call, err_);	\
			exit(1);					\
		}							\
	} while (0)

static int nr_calls, nr_records, nr_right_clock, nr_right_stamp;
static uint64_t begin_ns, begin_stamp;
static void *memory;

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static uint64_t stamp(void)
{
	uint64_t ns = 0;

	CHECK_CUPTI(cuptiGetTimestamp(&ns));
	return ns;
}

static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	const CUpti_CallbackData *d = data;

	(void)userdata;
	(void)cbid;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && d->callbackSite == CUPTI_API_ENTER)
		nr_calls++;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = malloc(BUFFER_BYTES);
	memset(*buffer, 0xa5, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static bool is_between(uint64_t t, uint64_t from, uint64_t to)
{
	const uint64_t slack = 10000000;	/* clocks agree within some microseconds */

	return t > from - slack && t < to + slack;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityMemset4 *set = (const void *)record;

		if (record->kind != CUPTI_ACTIVITY_KIND_MEMSET)
			continue;
		nr_records++;
		nr_right_clock += is_between(set->start, begin_ns, real_ns());
		nr_right_stamp += is_between(set->start, begin_stamp, stamp());
	}
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

static __attribute__((noinline)) void before(void)
{
	set_all();
	__asm__ volatile("");
}

static __attribute__((noinline)) void after(void)
{
	set_all();
	__asm__ volatile("nop");	/* keeps the compiler from merging this function with
					 * before() */
}

int main(int argc, char **argv)
{
	bool calls = argc < 2 || strcmp(argv[1], "activity"), first = argc > 2;
	struct timespec pause = { 1, 500000000 };
	CUpti_SubscriberHandle subscriber;

	if (!first) {
		if (cudaMalloc(&memory, 4096) != cudaSuccess)
			return 1;
		before();
	}
	if (calls) {
		CHECK_CUPTI(cuptiSubscribe(&subscriber, on_call, NULL));
		CHECK_CUPTI(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
						CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020));
	}
	CHECK_CUPTI(cuptiActivityRegisterCallbacks(requested, completed));
	begin_ns = real_ns();
	begin_stamp = stamp();
	CHECK_CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	if (first && cudaMalloc(&memory, 4096) != cudaSuccess)
		return 1;
	set_all();
	CHECK_CUPTI(cuptiActivityFlushAll(1));
	CHECK_CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	if (calls)
		CHECK_CUPTI(cuptiUnsubscribe(subscriber));
	nanosleep(&pause, NULL);
	after();
	printf("own_cupti: %d calls, %d records, %d times on CUPTI's clock, %d by its stamps\n",
	       nr_calls, nr_records, nr_right_clock, nr_right_stamp);
	return 0;
}
