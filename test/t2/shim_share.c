// SPDX-License-Identifier: MIT
/*
 * XPUSHIM_CUPTI_FOR=share: a program's profiler runs together with the shim. Both get all records
 * that they ask for. If the program makes a call that the shim cannot serve, the shim releases
 * CUPTI.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cupti/copies.h"
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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* the program's own lock */
static atomic_int nr_sets, nr_kernels, nr_unfinished, nr_bad_times;

static uint64_t CUPTIAPI odd_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 3 * (ts.tv_sec * 1000000000ull + ts.tv_nsec) + 7;	/* not in ns */
}

static atomic_int nr_requested, nr_inside;
static size_t buffer_bytes = BUFFER_BYTES, max_records;	/* 0 bytes: the buffer is NULL */
static bool calls_cupti;			/* calls CUPTI in its callbacks */

static void CUPTIAPI requested(uint8_t **data, size_t *bytes, size_t *max)
{
	pthread_mutex_lock(&lock);
	*data = buffer_bytes ? malloc(buffer_bytes) : NULL;
	*bytes = buffer_bytes;
	*max = max_records;
	nr_requested++;
	pthread_mutex_unlock(&lock);
}

static void call_cupti(void)
{
	uint64_t now;

	nr_inside += cuptiGetTimestamp(&now) == CUPTI_SUCCESS &&
		     cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS &&
		     cuptiActivityFlushAll(0) == CUPTI_SUCCESS &&
		     cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS &&
		     cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS;
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
	if (calls_cupti)
		call_cupti();
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
static atomic_bool gone, leaves_inside, left;
static atomic_bool finalizes_inside;
static atomic_bool alone;		/* no shim: correlationData is undefined at entry */
static CUpti_SubscriberHandle subscriber;

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
		nr_wrong_words += !alone && *d->correlationData != 0;
		*d->correlationData = 0xabcd000000000000ull | d->correlationId;
		nr_without_name += strstr(d->functionName, "LaunchKernel") && !d->symbolName;
	} else {
		nr_exits++;
		nr_wrong_words += *d->correlationData !=
				  (0xabcd000000000000ull | d->correlationId);
	}
	nr_no_context += !d->contextUid;
	if (finalizes_inside && atomic_exchange(&finalizes_inside, false))
		left = cuptiFinalize() == CUPTI_SUCCESS;
	if (calls_cupti && strstr(d->functionName, "LaunchKernel")) {
		call_cupti();
		cuptiEnableCallback(d->correlationId % 2, subscriber, domain, 1);
		if (leaves_inside && atomic_exchange(&leaves_inside, false))
			left = cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS;
	}
}

/* ---- the shim -------------------------------------------------------------------------------- */

/* Launches until a launch is tagged. */
static bool tags(void)
{
	uint32_t before = heard(nr_launches);
	int i;

	for (i = 0; i < 500 && heard(nr_launches) == before; i++) {
		device__launch(function, stream, 1);
		cuStreamSynchronize(stream);
		pause_ms(20);
	}
	return i < 500;
}

static bool wait_awake(void)
{
	bool does = tags();

	listener__settle();
	return does;
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
	ok(records(), "with the program subscribed the shim records");
	ok(nr_entries >= 100 && nr_exits >= 100, "the program sees the launches");
	is_int(nr_wrong_words, 0,
	       "each call still has the word that the program stored at the call's entry");
	is_int(nr_without_name, 0, "the program gets the kernels' names");
	is_int(cuptiGetCallbackState(&on, s, driver, 307), CUPTI_SUCCESS,
	       "a query of a callback's state is answered");
	is_int(on, 1, "the callback is on");
	is_int(cuptiEnableDomain(0, s, driver), CUPTI_SUCCESS, "a domain is disabled");
	is_int(cuptiGetCallbackState(&on, s, driver, 307), CUPTI_SUCCESS,
	       "a query of a callback's state is answered again");
	is_int(on, 0, "the callback is off for the program, though the shim uses it");
	nr_entries = 0;
	ok(records(), "with the domain disabled the shim still records");
	is_int(nr_entries, 0, "with the domain disabled the program sees no launches");
	is_int(cuptiEnableAllDomains(1, s), CUPTI_SUCCESS, "all domains are enabled");
	ok(records() && nr_entries >= 100,
	   "with all domains enabled the program sees the launches");
	is_int(cuptiEnableAllDomains(0, s), CUPTI_SUCCESS, "all domains are disabled");
	ok(records(), "with all domains disabled the shim still records");
}

static void *flusher(void *arg)
{
	(void)arg;
	/* Holds the lock of the program's callbacks, as some programs do while they call CUPTI. */
	pthread_mutex_lock(&lock);
	pause_ms(600);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void windows(void)
{
	uint32_t sets = heard(nr_memsets);
	pthread_t thread;
	int i;

	is_int(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS,
	       "the program's callbacks for buffers are registered");
	for (i = 0; i < 5; i++) {
		forget();
		set_all();
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
		set_all();
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
		set_all();
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		is_int(nr_sets, NR_SETS, "window %d: the program has its own records", i);
		is_int(nr_bad_times, 0, "window %d: records have times of the program's clock", i);
	}
	ok(listener__wait(&listener.nr_memsets, sets + 15 * NR_SETS),
	   "the shim has all records of the windows");

	forget();
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	pthread_create(&thread, NULL, flusher, NULL);
	pause_ms(100);
	sets = heard(nr_launches);
	records();
	ok(records(), "while the program holds its lock, the shim still gets records");
	pthread_join(thread, NULL);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	cuptiActivityFlushAll(0);
	is_int(nr_sets, NR_SETS, "later the program gets its own records");
}

/* The times of calls determine the edges of a window. The times of the device work do not. */
static void edges(void)
{
	forget();
	sim_core(SIM_ABI)->kernel_cost_arg(function, 0);
	device__launch(function, stream, 300 * MS);
	device__launch(function, stream, 1);	/* starts inside the window */
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	device__launch(function, stream, 1);
	device__launch(function, stream, 1);	/* starts after the window */
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuStreamSynchronize(stream);
	cuptiActivityFlushAll(0);
	is_int(nr_kernels, 2, "the program has the kernels launched in the window, and no others");

	forget();
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	device__launch(function, stream, 1500 * MS);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	is_int(nr_kernels, 1, "a forced flush returns a kernel that is still running");
	is_int(nr_unfinished, 1, "a kernel that is still running has no end");
	cuStreamSynchronize(stream);
	ok(records(), "after a forced flush the shim still records");
}

static atomic_bool launchers_end, launchers_pause;

static void *launcher(void *arg)
{
	CUstream own;

	(void)arg;
	cuCtxSetCurrent(context);
	cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
	while (!launchers_end) {
		device__launch(function, own, 1);
		cuStreamSynchronize(own);
		if (launchers_pause)
			pause_ms(1);	/* a million launches would take the listener too long */
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
		gone = true;		/* on_call() aborts after this */
	}
	gone = false;
	launchers_end = true;
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(t[i], NULL);
	is_int(nr_failed, 0, "the program subscribes and unsubscribes while threads launch");
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
	is_int(nr_sets, NR_SETS, "when the listener has left the program still gets its records");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	listener__attach();
	ok(wait_awake() && records(), "when a listener comes back the shim records again");
}

/* ---- hard cases ------------------------------------------------------------------------------ */

static size_t take_dropped(void)
{
	size_t nr = 0;

	cuptiActivityGetNumDroppedRecords(NULL, 0, &nr);
	return nr;
}

static void one_window(uint32_t flag)
{
	forget();
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	cuptiActivityFlushAll(flag);
}

static void buffers(void)
{
	uint64_t record[4] = { CUPTI_ACTIVITY_KIND_DEVICE };

	take_dropped();
	buffer_bytes = 0;
	nr_requested = 0;
	one_window(0);
	is_int(nr_sets + (int)take_dropped(), NR_SETS,
	       "without a buffer the program's records are dropped and counted");
	ok(nr_requested < NR_SETS / 2,
	   "without a buffer the program is asked for a buffer only %d times", nr_requested);
	is_int(take_dropped(), 0, "dropped records are reported once");
	buffer_bytes = 24;
	one_window(0);
	is_int(nr_sets, 0, "a tiny buffer holds no record");
	is_int(take_dropped(), NR_SETS, "records that a tiny buffer cannot hold are counted");
	buffer_bytes = BUFFER_BYTES;
	max_records = 1;
	nr_requested = 0;
	one_window(0);
	is_int(nr_sets, NR_SETS, "buffers of one record each hold all records");
	/* The thread that delivers a buffer also requests a buffer in advance. */
	ok(nr_requested >= NR_SETS && nr_requested <= NR_SETS + 2,
	   "as many buffers of one record are requested as there are records (%d)", nr_requested);
	max_records = 0;
	copies__keep((const CUpti_Activity *)record, 0);
	copies__keep((const CUpti_Activity *)record, 4 << 20);
	is_int(take_dropped(), 2,
	       "records of an unknown size, and records that are too long, are dropped");
}

static void many_windows(void)
{
	uint32_t sets = heard(nr_memsets);
	int i, nr_wrong = 0;

	for (i = 0; i < 100; i++) {
		one_window(i % 2 ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
		nr_wrong += nr_sets != NR_SETS;
	}
	is_int(nr_wrong, 0, "100 windows: the program has the records of each window");
	ok(listener__wait(&listener.nr_memsets, sets + 100 * NR_SETS),
	   "100 windows: the shim has all records");

	/* Work that ends long after its calls, in more windows than the shim remembers. */
	forget();
	take_dropped();
	device__launch(function, stream, 300 * MS);
	for (i = 0; i < 100; i++) {
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
		cuMemsetD8Async(memory, i, SET_BYTES, stream);
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	}
	cuStreamSynchronize(stream);
	cuptiActivityFlushAll(0);
	ok(nr_sets > 10, "100 windows at once: the program has %d of its records", nr_sets);
	is_int(nr_sets + (int)take_dropped(), 100,
	       "100 windows at once: the other records are counted");
}

static void calls_inside(void)
{
	int i;

	cuptiSubscribe(&subscriber, on_call, &gone);
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	calls_cupti = true;
	nr_inside = 0;
	one_window(0);
	is_int(nr_sets, NR_SETS, "the program's callback for buffers calls CUPTI");
	ok(nr_inside >= 1, "calls of CUPTI inside the callback for buffers work");
	for (i = 0; i < 10; i++)
		device__launch(function, stream, 1);
	ok(nr_inside >= 21, "calls of CUPTI inside callbacks of calls work (%d)", nr_inside);
	leaves_inside = true;
	device__launch(function, stream, 1);
	gone = true;			/* on_call() aborts after this */
	device__launch(function, stream, 1);
	gone = false;
	ok(left, "the program unsubscribes inside a callback, and is not called again");
	calls_cupti = false;
	listener__settle();
	ok(records(), "after the program unsubscribed inside a callback the shim still records");
}

static void forks(void)
{
	int status = -1;
	pid_t pid;

	cuptiSubscribe(&subscriber, on_call, &gone);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	forget();
	pid = listener__fork();
	if (!pid) {
		alarm(20);
		cuptiActivityFlushAll(0);
		_exit(nr_sets || cuptiUnsubscribe(subscriber) != CUPTI_SUCCESS);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0,
	       "a forked child flushes and unsubscribes: it gets nothing and does not hang");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	cuptiActivityFlushAll(0);
	is_int(nr_sets, NR_SETS, "the parent has its records");
	cuptiUnsubscribe(subscriber);
}

/* A process that ends with an open window, while threads launch. */
static int open_window(void)
{
	pthread_t t[NR_THREADS];
	int i;

	listener__attach();
	if (!wait_awake())
		return 2;
	cuptiSubscribe(&subscriber, on_call, &gone);
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&t[i], NULL, launcher, NULL);
	pause_ms(100);
	exit(nr_sets != 0);
}

static atomic_bool togglers_end;

static void *toggler(void *arg)
{
	uint32_t i;

	(void)arg;
	for (i = 0; !togglers_end; i++) {
		cuptiEnableCallback(i & 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 2);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
		cuptiActivityFlushAll(i % 16 ? 0 : CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY);
		pause_ms(1);
	}
	return NULL;
}

/*
 * The shim releases CUPTI while threads launch, set up CUPTI, flush, and hold the program's lock.
 */
static void gives_back_busily(void)
{
	pthread_t t[NR_THREADS], other, holder;
	uint32_t on;
	int i, k, nr_failed = 0, nr_deaf = 0;

	launchers_end = false;
	launchers_pause = true;
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&t[i], NULL, launcher, NULL);
	for (k = 0; k < 4; k++) {
		togglers_end = false;
		nr_failed += cuptiSubscribe(&subscriber, on_call, &gone) != CUPTI_SUCCESS ||
			     cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
		set_all();
		pthread_create(&holder, NULL, flusher, NULL);
		pthread_create(&other, NULL, toggler, NULL);
		pause_ms(200);
		nr_failed += cuptiActivityEnableLatencyTimestamps(1) != CUPTI_SUCCESS;
		nr_entries = 0;
		device__launch(function, stream, 1);
		nr_deaf += !nr_entries;
		togglers_end = true;
		pthread_join(other, NULL);
		pthread_join(holder, NULL);
		nr_failed +=
			cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307) ||
			!on;
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
		nr_failed += cuptiUnsubscribe(subscriber) != CUPTI_SUCCESS;
		nr_failed += !tags();
	}
	launchers_end = true;
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(t[i], NULL);
	is_int(nr_failed, 0, "CUPTI is released four times while threads call it");
	is_int(nr_deaf, 0, "each time CUPTI is released, the program gets its callbacks");
	ok(wait_awake() && records(),
	   "after CUPTI was released four times, the shim records again");
}

/*
 * The program holds a lock that its callbacks take, and makes a call that causes the shim to
 * release CUPTI.
 */
static void gives_back_locked(void)
{
	uint64_t start;
	int i;

	cuptiSubscribe(&subscriber, on_call, &gone);
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	forget();
	set_all();
	pthread_mutex_lock(&lock);
	pause_ms(600);			/* the shim has the records now, and calls the program */
	start = now_ns(CLOCK_MONOTONIC);
	cuptiActivityEnableLatencyTimestamps(1);
	ok(now_ns(CLOCK_MONOTONIC) - start < 4000 * MS,
	   "CUPTI is released although the program holds its lock");
	pthread_mutex_unlock(&lock);
	nr_entries = 0;
	device__launch(function, stream, 1);
	ok(nr_entries, "CUPTI was released under the lock: the program gets its callbacks");
	cuptiActivityFlushAll(0);
	/* Records that waited for the lock arrive on the shim's thread. */
	for (i = 0; i < 500 && nr_sets != NR_SETS; i++)
		pause_ms(10);
	is_int(nr_sets, NR_SETS,
	       "CUPTI was released under the lock: the program has all its records");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	is_int(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS, "the program unsubscribes");
	ok(wait_awake() && records(), "when the program has unsubscribed the shim records again");
}

/* TEARDOWN_CUPTI=1 makes Kineto finalize CUPTI inside a callback. */
static void finalizes(void)
{
	cuptiSubscribe(&subscriber, on_call, &gone);
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	left = false;
	finalizes_inside = true;
	device__launch(function, stream, 1);
	ok(left, "the program finalizes CUPTI inside a callback");
	gone = true;			/* on_call() aborts after this */
	ok(wait_awake() && records(), "after cuptiFinalize the shim records without the program");
	gone = false;
	is_int(cuptiSubscribe(&subscriber, on_call, &gone), CUPTI_SUCCESS,
	       "the program can subscribe again");
	is_int(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS, "the program can unsubscribe again");
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

/* After the shim has left CUPTI to the program, all of the program's settings remain. */
static void gives_back(CUpti_SubscriberHandle s)
{
	uint32_t launches, on = 0;
	int i;

	forget();
	cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_DRIVER_API);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	is_int(cuptiActivityEnableLatencyTimestamps(1), CUPTI_SUCCESS,
	       "a call that the shim does not serve succeeds");
	ok(was_told("the program uses CUPTI itself (cuptiActivityEnableLatencyTimestamps)"),
	   "a message says that the shim leaves CUPTI to the program");
	for (i = 0; i < 200 && nr_sets < NR_SETS; i++)
		pause_ms(20);
	is_int(nr_sets, NR_SETS, "the program has the records that it got through the shim");
	nr_entries = nr_exits = nr_wrong_words = 0;
	alone = true;
	launches = heard(nr_launches);
	set_all();
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	is_int(nr_sets, 2 * NR_SETS, "the program has the later records, too");
	is_int(nr_bad_times, 0,
	       "all records before and after that call have times of the program's clock");
	ok(nr_entries >= NR_SETS, "CUPTI calls the program's callbacks");
	is_int(nr_wrong_words, 0, "CUPTI gives the program's callbacks the program's own words");
	is_int(heard(nr_launches), launches,
	       "the shim records no launch while the program uses CUPTI itself");
	is_int(cuptiGetCallbackState(&on, s, CUPTI_CB_DOMAIN_DRIVER_API, 307), CUPTI_SUCCESS,
	       "the program's handle is valid");
	is_int(on, 1, "the program's handle has the callbacks that it enabled");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	is_int(cuptiUnsubscribe(s), CUPTI_SUCCESS, "the program unsubscribes from CUPTI");
	is_int(cuptiUnsubscribe(s), CUPTI_ERROR_INVALID_PARAMETER,
	       "the program cannot unsubscribe twice");
	alone = false;
	ok(wait_awake() && records(),
	   "when the program has unsubscribed from CUPTI the shim records again");
}

int main(int argc, char **argv)
{
	CUpti_SubscriberHandle s, another;
	CUmodule module;
	void *cupti;

	setenv("XPUSHIM_CUPTI_FOR", "share", 1);
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&memory, SET_BYTES);
	if (argc > 1)
		return open_window();
	listener__attach();
	ok(wait_awake(), "the shim is awake");
	cupti = dlopen("libcupti.so.13", RTLD_NOW);
	*(void **)&get_next_record = dlsym(cupti, "cuptiActivityGetNextRecord");

	is_int(cuptiSubscribe(&s, on_call, &gone), CUPTI_SUCCESS, "the program subscribes");
	is_int(cuptiSubscribe(&another, on_call, NULL),
	       CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	       "the program cannot subscribe twice");
	is_int(cuptiActivityRegisterTimestampCallback(odd_ns), CUPTI_SUCCESS,
	       "the program registers its clock");
	callbacks(s);
	windows();
	edges();
	leaves();
	is_int(cuptiUnsubscribe(s), CUPTI_SUCCESS, "the program has unsubscribed");
	is_int(cuptiUnsubscribe(s), CUPTI_ERROR_INVALID_PARAMETER,
	       "the program cannot unsubscribe a second time");
	threads();
	buffers();
	many_windows();
	calls_inside();
	forks();
	is_int(listener__run(argv[0], "exit", "XPUSHIM_WAITS", "off"), 0,
	       "a process ends with an open window");
	diag("%d words wrong, of those %d without a context", nr_wrong_words, nr_no_context);
	nr_wrong_words = 0;
	cuptiSubscribe(&s, on_call, &gone);
	gives_back(s);
	gives_back_busily();
	gives_back_locked();
	finalizes();
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	return done_testing();
}
