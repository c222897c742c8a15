// SPDX-License-Identifier: MIT
/*
 * XPUSHIM_CUPTI_FOR=share: a program's profiler beside the shim. Both have all that they asked for,
 * and what the shim cannot serve makes it let go.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "sim.h"
#include "tap.h"

#define MS		1000000ull
#define BUFFER_BYTES	(64 * 1024)
#define SET_BYTES	4096
#define NR_SETS		50
#define NR_THREADS	4

static CUcontext context;
static CUfunction function;
static CUstream stream;
static CUdeviceptr memory;
static __typeof__(&cuptiActivityGetNextRecord) get_next_record;

/* ---- the program's profiler ------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* the program's own */
static atomic_int nr_sets, nr_kernels, nr_unfinished, nr_bad_times;

static uint64_t CUPTIAPI odd_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 3 * (ts.tv_sec * 1000000000ull + ts.tv_nsec) + 7;	/* not ns */
}

static void CUPTIAPI requested(uint8_t **data, size_t *bytes, size_t *max_records)
{
	pthread_mutex_lock(&lock);
	*data = malloc(BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*max_records = 0;
	pthread_mutex_unlock(&lock);
}

static void CUPTIAPI completed(CUcontext ctx, uint32_t stream_id, uint8_t *data, size_t bytes,
			       size_t valid_bytes)
{
	uint64_t now = odd_ns() + 3 * 10000;
	CUpti_Activity *record = NULL;

	(void)ctx, (void)stream_id, (void)bytes;
	pthread_mutex_lock(&lock);
	while (get_next_record(data, valid_bytes, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *k = (const void *)record;
		const CUpti_ActivityMemset4 *set = (const void *)record;

		if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			nr_sets++;
			nr_bad_times += set->end < set->start || set->end > now ||
					set->start + 3 * 60000 * MS < now;
		} else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			nr_kernels++;
			nr_unfinished += !k->end;
		}
	}
	pthread_mutex_unlock(&lock);
	free(data);
}

static void forget(void)
{
	nr_sets = nr_kernels = nr_unfinished = nr_bad_times = 0;
}

static void set_all(void)
{
	int i;

	for (i = 0; i < NR_SETS; i++)
		cuMemsetD8Async(memory, i, SET_BYTES, stream);
	cuStreamSynchronize(stream);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static atomic_int nr_entries, nr_exits, nr_wrong_words, nr_without_name, nr_no_context;
static atomic_bool gone;

static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	const CUpti_CallbackData *d = data;

	(void)cbid;
	if (gone || userdata != &gone)
		abort();
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	if (d->callbackSite == CUPTI_API_ENTER) {
		nr_entries++;
		nr_wrong_words += *d->correlationData != 0;
		*d->correlationData = 0xabcd000000000000ull | d->correlationId;
		nr_without_name += strstr(d->functionName, "LaunchKernel") && !d->symbolName;
	} else {
		nr_exits++;
		nr_wrong_words += *d->correlationData !=
				  (0xabcd000000000000ull | d->correlationId);
	}
	nr_no_context += !d->contextUid;
}

/* ---- the shim -------------------------------------------------------------------------------- */

static bool wait_awake(void)
{
	uint32_t before = heard(nr_launches);
	int i;

	for (i = 0; i < 500 && heard(nr_launches) == before; i++) {
		device__launch(function, stream, 1);
		cuStreamSynchronize(stream);
		pause_ms(20);
	}
	listener__settle();
	return i < 500;
}

static bool records(void)
{
	uint32_t launches = heard(nr_launches), kernels = heard(nr_kernels);
	int i;

	for (i = 0; i < 100; i++)
		device__launch(function, stream, 1);
	cuStreamSynchronize(stream);
	return listener__wait(&listener.nr_kernels, kernels + 100) &&
	       listener__wait(&listener.nr_launches, launches + 100) &&
	       heard(nr_launches) == launches + 100 && heard(nr_kernels) == kernels + 100;
}

static void callbacks(CUpti_SubscriberHandle s)
{
	const CUpti_CallbackDomain driver = CUPTI_CB_DOMAIN_DRIVER_API;
	uint32_t on = 0;

	is_int(cuptiEnableDomain(1, s, driver), CUPTI_SUCCESS, "a domain is enabled");
	ok(records(), "the shim records");
	ok(nr_entries >= 100 && nr_exits >= 100, "the program sees the launches");
	is_int(nr_wrong_words, 0, "its word of each call is its own");
	is_int(nr_without_name, 0, "with the kernel's name");
	is_int(cuptiGetCallbackState(&on, s, driver, 307), CUPTI_SUCCESS, "state of a callback");
	is_int(on, 1, "is on");
	is_int(cuptiEnableDomain(0, s, driver), CUPTI_SUCCESS, "disabled");
	is_int(cuptiGetCallbackState(&on, s, driver, 307), CUPTI_SUCCESS, "state of a callback");
	is_int(on, 0, "is off, though the shim uses it");
	nr_entries = 0;
	ok(records(), "and the shim goes on");
	is_int(nr_entries, 0, "without the program");
	is_int(cuptiEnableAllDomains(1, s), CUPTI_SUCCESS, "all domains");
	ok(records() && nr_entries >= 100, "are enabled");
	is_int(cuptiEnableAllDomains(0, s), CUPTI_SUCCESS, "and disabled");
	ok(records(), "and the shim goes on");
}

static void *flusher(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);	/* as a program that asks CUPTI with its lock held */
	pause_ms(600);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void windows(void)
{
	uint32_t sets = heard(nr_memsets);
	pthread_t thread;
	int i;

	is_int(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS, "registered");
	for (i = 0; i < 5; i++) {
		forget();
		set_all();
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
		set_all();
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
		set_all();
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		is_int(nr_sets, NR_SETS, "window %d: its own records", i);
		is_int(nr_bad_times, 0, "window %d: by its clock", i);
	}
	ok(listener__wait(&listener.nr_memsets, sets + 15 * NR_SETS), "the shim has all");

	forget();
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	pthread_create(&thread, NULL, flusher, NULL);
	pause_ms(100);
	sets = heard(nr_launches);
	records();
	ok(records(), "while the program holds its lock, other records come all the same");
	pthread_join(thread, NULL);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	cuptiActivityFlushAll(0);
	is_int(nr_sets, NR_SETS, "and then its own");
}

/* The edges of a window are where calls are made, not where the device works. */
static void edges(void)
{
	forget();
	sim_core(SIM_ABI)->kernel_cost_arg(function, 0);
	device__launch(function, stream, 300 * MS);
	device__launch(function, stream, 1);	/* starts inside of the window */
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	device__launch(function, stream, 1);
	device__launch(function, stream, 1);	/* starts behind it */
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuStreamSynchronize(stream);
	cuptiActivityFlushAll(0);
	is_int(nr_kernels, 2, "kernels launched in the window, and no others");

	forget();
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	device__launch(function, stream, 1500 * MS);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	is_int(nr_kernels, 1, "a forced flush returns a kernel that goes on");
	is_int(nr_unfinished, 1, "without an end");
	cuStreamSynchronize(stream);
	ok(records(), "and the shim goes on");
}

static atomic_bool launchers_end;

static void *launcher(void *arg)
{
	CUstream own;

	(void)arg;
	cuCtxSetCurrent(context);
	cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
	while (!launchers_end) {
		device__launch(function, own, 1);
		cuStreamSynchronize(own);
	}
	cuStreamDestroy(own);
	return NULL;
}

static void threads(void)
{
	CUpti_SubscriberHandle s;
	pthread_t t[NR_THREADS];
	int i, nr_failed = 0;

	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&t[i], NULL, launcher, NULL);
	for (i = 0; i < 5; i++) {
		gone = false;
		nr_failed += cuptiSubscribe(&s, on_call, &gone) ||
			     cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_DRIVER_API);
		pause_ms(20);
		nr_failed += cuptiUnsubscribe(s) != 0;
		gone = true;		/* on_call() aborts from here on */
	}
	gone = false;
	launchers_end = true;
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(t[i], NULL);
	is_int(nr_failed, 0, "subscribes and unsubscribes while threads launch");
}

static void leaves(void)
{
	listener__detach();
	pause_ms(400);
	forget();
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	listener__settle();
	set_all();
	cuptiActivityFlushAll(0);
	is_int(nr_sets, NR_SETS, "nobody listens: the program goes on");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	listener__attach();
	ok(wait_awake() && records(), "a listener comes back");
}

static bool was_told(const char *what)
{
	bool is = false;
	int i;

	for (i = 0; i < 100 && !is; i++) {
		pthread_mutex_lock(&listener__lock);
		is = strstr(listener.message, what) != NULL;
		pthread_mutex_unlock(&listener__lock);
		pause_ms(20);
	}
	return is;
}

/* The program goes on with what it had, without the shim. */
static void gives_back(CUpti_SubscriberHandle s)
{
	uint32_t launches, on = 0;

	forget();
	cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_DRIVER_API);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	is_int(cuptiActivityEnableLatencyTimestamps(1), CUPTI_SUCCESS, "a call that is not served");
	ok(was_told("the program uses CUPTI itself (cuptiActivityEnableLatencyTimestamps)"), "said");
	is_int(nr_sets, NR_SETS, "it has what was served");
	nr_entries = nr_exits = 0;
	launches = heard(nr_launches);
	set_all();
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	is_int(nr_sets, 2 * NR_SETS, "and what came since");
	is_int(nr_bad_times, 0, "by its clock");
	ok(nr_entries >= NR_SETS, "and its callbacks");
	is_int(nr_wrong_words, 0, "with words of its own");
	is_int(heard(nr_launches), launches, "the shim has let go");
	is_int(cuptiGetCallbackState(&on, s, CUPTI_CB_DOMAIN_DRIVER_API, 307), CUPTI_SUCCESS,
	       "its handle is good");
	is_int(on, 1, "for what it enabled");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	is_int(cuptiUnsubscribe(s), CUPTI_SUCCESS, "it unsubscribes");
	is_int(cuptiUnsubscribe(s), CUPTI_ERROR_INVALID_PARAMETER, "once");
	ok(wait_awake() && records(), "and the shim comes back");
}

int main(void)
{
	CUpti_SubscriberHandle s, another;
	CUmodule module;
	void *cupti;

	setenv("XPUSHIM_CUPTI_FOR", "share", 1);
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&memory, SET_BYTES);
	listener__attach();
	ok(wait_awake(), "awake");
	cupti = dlopen("libcupti.so.13", RTLD_NOW);
	*(void **)&get_next_record = dlsym(cupti, "cuptiActivityGetNextRecord");

	is_int(cuptiSubscribe(&s, on_call, &gone), CUPTI_SUCCESS, "the program subscribes");
	is_int(cuptiSubscribe(&another, on_call, NULL),
	       CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "but once");
	is_int(cuptiActivityRegisterTimestampCallback(odd_ns), CUPTI_SUCCESS, "with its clock");
	callbacks(s);
	windows();
	edges();
	leaves();
	is_int(cuptiUnsubscribe(s), CUPTI_SUCCESS, "unsubscribed");
	is_int(cuptiUnsubscribe(s), CUPTI_ERROR_INVALID_PARAMETER, "once");
	threads();
	diag("%d words wrong, of those %d without a context", nr_wrong_words, nr_no_context);
	nr_wrong_words = 0;
	cuptiSubscribe(&s, on_call, &gone);
	gives_back(s);
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	return done_testing();
}
