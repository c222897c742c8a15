// SPDX-License-Identifier: MIT
/*
 * Tests a listener in a program that uses CUPTI itself. The program and the shim each get their own
 * buffers and records, whoever is registered with CUPTI when a buffer comes back. The shim never
 * touches memory in front of the program's buffers.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cupti/activity.h"
#include "device.h"
#include "listener.h"
#include "sim.h"
#include "tap.h"

#define MS		1000000ull
#define PAGE_BYTES	4096
#define SHIMS_BYTES	(1024 * 1024)	/* the size of the shim's own buffers */
#define AT_PAGE		0		/* a program's buffer begins at the start of a page */
#define AT_LINE		64		/* the shim's own buffers begin at this offset in a page */
#define NR_SETS		50
#define SET_BYTES	4096

static CUcontext context;
static CUfunction function;
static CUstream stream;
static CUdeviceptr memory;

static __typeof__(&cuptiActivityFlushAll) flush_all;
static __typeof__(&cuptiActivityGetNextRecord) get_next_record;

/* ---- the program's profiler ------------------------------------------------------------------ */

static size_t place;				/* the offset in use: AT_PAGE or AT_LINE */
static atomic_int nr_requested, nr_completed, nr_scribbled;
static atomic_int nr_sets, nr_kernels, nr_wrong_clock;

/*
 * Return: a buffer behind an unreadable page or, with AT_LINE, behind a cache line that must not be
 * written.
 */
static uint8_t *new_buffer(void)
{
	uint8_t *pages = mmap(NULL, SHIMS_BYTES + 3 * PAGE_BYTES, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		exit(1);
	pages += PAGE_BYTES;
	mprotect(pages, SHIMS_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE);
	memset(pages, 0xee, SHIMS_BYTES + PAGE_BYTES);
	return pages + place;
}

static void CUPTIAPI requested(uint8_t **data, size_t *bytes, size_t *max_records)
{
	*data = new_buffer();
	*bytes = SHIMS_BYTES;
	*max_records = 0;
	atomic_fetch_add(&nr_requested, 1);
}

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void CUPTIAPI completed(CUcontext ctx, uint32_t stream_id, uint8_t *data, size_t bytes,
			       size_t valid_bytes)
{
	uint8_t *pages = (uint8_t *)((uintptr_t)data & -(uintptr_t)PAGE_BYTES);
	CUpti_Activity *record = NULL;

	(void)ctx;
	(void)stream_id;
	(void)bytes;
	while (get_next_record(data, valid_bytes, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;
		const CUpti_ActivityMemset4 *set = (const void *)record;

		if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			nr_sets++;
			nr_wrong_clock += set->end > real_ns() ||
					  set->start + 60000 * MS < real_ns();
		} else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			nr_kernels++;
			nr_wrong_clock += !kernel->end;
		}
	}
	for (; pages < data; pages++)
		nr_scribbled += *pages != 0xee;
	nr_completed++;
}

static void forget(void)
{
	nr_sets = nr_kernels = nr_wrong_clock = 0;
}

static void set_all(void)
{
	int i;

	for (i = 0; i < NR_SETS; i++)
		cuMemsetD8Async(memory, i, SET_BYTES, stream);
	cuStreamSynchronize(stream);
}

/* ---- the shim -------------------------------------------------------------------------------- */

/* Launches until a launch is tagged, which shows that the shim is awake. */
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

/* Launches 100 kernels. Return: whether the shim records all of them. */
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

static char message[sizeof(listener.message)];	/* the last message that was checked */

static bool was_told(const char *what)
{
	int i;

	for (i = 0; i < 500; i++) {
		pthread_mutex_lock(&listener__lock);
		memcpy(message, listener.message, sizeof(message));
		pthread_mutex_unlock(&listener__lock);
		if (strstr(message, what))
			return true;
		pause_ms(20);
	}
	return false;
}

/* ---- actions of the program ------------------------------------------------------------------ */

/* The shim records again while CUPTI still has full buffers of the program. */
static void flush_late(size_t where, const char *name)
{
	uint32_t sets = heard(nr_memsets);

	place = where;
	forget();
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	ok(wait_awake(),
	   "%s: when the program has disabled its kinds without a flush, the shim records again",
	   name);
	flush_all(0);
	is_int(nr_sets, NR_SETS, "%s: after a later flush the program has all its records", name);
	is_int(nr_wrong_clock, 0, "%s: the records have CUPTI's times", name);
	is_int(nr_scribbled, 0, "%s: nothing is written before the program's buffers", name);
	is_int(heard(nr_memsets) - sets, 0,
	       "%s: the listener has none of the program's records", name);
	ok(records(), "%s: the listener gets all later records", name);
}

/*
 * Tests that the shim waits for the end of the program's work. Otherwise the program would get the
 * shim's records.
 */
static void unfinished(void)
{
	CUstream another;
	int had_kernels;

	sim_core(SIM_ABI)->kernel_cost_arg(function, 0);	/* argument 0 is the duration */
	cuStreamCreate(&another, CU_STREAM_NON_BLOCKING);
	forget();
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	device__launch(function, another, 2000 * MS);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	ok(wait_awake(),
	   "a kernel of the program's profile still ran: afterwards the shim records again");
	had_kernels = nr_kernels;
	is_int(had_kernels, 1, "the shim waited until the program had the record of its kernel");
	ok(records(), "the listener gets later kernels");
	flush_all(0);
	is_int(nr_kernels, 1, "the program does not get later kernels");
	is_int(nr_wrong_clock, 0, "the program's kernel has an end");
	cuStreamDestroy(another);
}

/* Tests a program that disables an activity kind that it never enabled. */
static void disable_again(void)
{
	is_int(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS,
	       "a kind that is already disabled can be disabled once more");
	ok(records(), "kernels are still recorded");
}

/* Writes late, as CUPTI might, to memory that the shim may be clearing at the same time. */
__attribute__((noinline, no_sanitize("thread"))) static void write_late(uint8_t *data)
{
	*(volatile uint8_t *)data = 1;
}

static void nobody_listens(void)
{
	size_t bytes, max_records;
	uint8_t *data;

	forget();
	activity__requested(&data, &bytes, &max_records);
	activity__completed(NULL, 0, data, bytes, 0);
	listener__detach();
	listener__settle();
	pause_ms(300);			/* by now, the shim has noticed that nobody listens */
	write_late(data + bytes - 1);
	ok(true, "a late write to a buffer that came back does no harm");
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	flush_all(0);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	is_int(nr_sets, NR_SETS, "when the listener has left, the program has its records");
	is_int(nr_wrong_clock, 0, "the program's records have CUPTI's times");
	listener__attach();
	ok(wait_awake(), "a listener can come back");
}

/*
 * Tests a thread that requested a buffer just when the program took over CUPTI. The thread got one
 * of the shim's buffers, and fills it with the program's records.
 */
static void late_thread(void)
{
	CUpti_ActivityMemset4 set = { .kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = real_ns(),
				      .end = real_ns(), .bytes = SET_BYTES };
	size_t bytes = 0, max_records = 1;
	uint8_t *data = NULL;

	forget();
	activity__requested(&data, &bytes, &max_records);
	ok(data && bytes == SHIMS_BYTES && !max_records,
	   "the late thread got one of the shim's buffers");
	memcpy(data, &set, sizeof(set));
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	activity__completed(NULL, 0, data, bytes, sizeof(set));
	is_int(nr_sets, 1, "the program's records in the shim's buffer reach the program");
	is_int(nr_completed, nr_requested,
	       "the program's records reach the program in one of its own buffers");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
	ok(wait_awake() && records(),
	   "after the program's records came in the shim's buffer the shim still records");
}

/* In twice() the program's callback reads in front of a buffer that the shim has already taken. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:^completed$\n";
}

/* Tests a buffer that is delivered twice, which CUPTI would not do. It is taken once. */
static void twice(void)
{
	size_t bytes, max_records;
	uint8_t *data;
	int before = nr_completed;

	activity__requested(&data, &bytes, &max_records);
	activity__completed(NULL, 0, data, bytes, 0);
	activity__completed(NULL, 0, data, bytes, 0);
	is_int(nr_completed, before + 1, "a buffer that comes back twice is taken once");
	ok(records(), "after a buffer came back twice the shim still records");
}

/* Tests a callback that the shim does not know, which frees each buffer that it gets. */
static void freed(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(1, "the sanitizer's free() has words of its own");
#else
	size_t bytes, max_records;
	uint8_t *data;

	activity__requested(&data, &bytes, &max_records);
	free(data);
	ok(records(), "the shim still records after the program freed one of the shim's buffers");
#endif
}

/*
 * Tests a freed buffer: other data are at its address now, and CUPTI passes that address to the
 * shim.
 */
static void replaced(void)
{
	size_t bytes, max_records, i, nr = 0;
	int before = nr_completed;
	uint8_t *data, *pages;

	activity__requested(&data, &bytes, &max_records);
	pages = mmap(data - AT_LINE, bytes + PAGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (pages == MAP_FAILED)
		exit(1);
	memset(pages, 0xee, bytes + PAGE_BYTES);
	activity__completed(NULL, 0, data, bytes, 0);
	is_int(nr_completed, before + 1,
	       "a buffer of the program at the address of a freed buffer is not the shim's buffer");
	for (i = 0; i < bytes + PAGE_BYTES; i++)
		nr += pages[i] != 0xee;
	is_int(nr, 0, "a buffer of the program at the address of a freed buffer is not written to");
	ok(records(),
	   "after a buffer of the program at the address of a freed buffer the shim still records");
}

/* ---- the shim without its thread ------------------------------------------------------------- */

static bool no_thread;

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
							  const pthread_attr_t *attr,
							  void *(*fn)(void *), void *arg)
{
	__typeof__(&pthread_create) real;

	if (no_thread)
		return EAGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attr, fn, arg);
}

static void find_cupti(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);

	if (!cupti)
		exit(2);
	*(void **)&flush_all = dlsym(cupti, "cuptiActivityFlushAll");
	*(void **)&get_next_record = dlsym(cupti, "cuptiActivityGetNextRecord");
}

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

static int without_thread(void)
{
	CUpti_SubscriberHandle subscriber;
	uint32_t kernels;
	CUmodule module;

	listener__attach();
	cuInit(0);
	no_thread = true;
	InitializeInjection();
	no_thread = false;
	find_cupti();
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&memory, SET_BYTES);
	device__launch(function, stream, 1);
	cuStreamSynchronize(stream);
	if (cuptiSubscribe(&subscriber, nothing, NULL) != CUPTI_SUCCESS)
		return 3;
	kernels = heard(nr_kernels);
	if (kernels != 1 || heard(nr_launches) != 1)
		return 4;
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	set_all();
	flush_all(0);
	return nr_sets == NR_SETS && !nr_scribbled && heard(nr_launches) == 1 ? 0 : 5;
}

/* ---- threads that are about to enter a callback ---------------------------------------------- */

#define NR_LAUNCHERS	4

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
	return NULL;
}

/* The simulated CUPTI aborts if a thread calls a subscriber that has unsubscribed. */
static int late_callbacks(void)
{
	pthread_t launchers[NR_LAUNCHERS];
	CUpti_SubscriberHandle subscriber;
	CUmodule module;
	uint32_t before;
	int i, k;

	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < NR_LAUNCHERS; i++)
		pthread_create(&launchers[i], NULL, launcher, NULL);
	for (i = 0; i < 5; i++) {
		before = heard(nr_launches);
		listener__attach();
		for (k = 0; k < 500 && heard(nr_launches) == before; k++)
			pause_ms(20);
		if (k == 500)
			return 3;
		if (i == 4 && cuptiSubscribe(&subscriber, nothing, NULL) != CUPTI_SUCCESS)
			return 4;
		listener__detach();
		pause_ms(300);		/* now the shim has noticed the detach */
	}
	launchers_end = true;
	for (i = 0; i < NR_LAUNCHERS; i++)
		pthread_join(launchers[i], NULL);
	return 0;
}

/* ---- functions of CUPTI that the shim defines, too ------------------------------------------- */

static CUpti_SubscriberHandle own_handle;
static atomic_int nr_called_inside;
static atomic_bool may_launch;

static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	uint64_t now;
	uint32_t on;

	(void)userdata;
	(void)data;
	if (cuptiEnableCallback(1, own_handle, domain, cbid) == CUPTI_SUCCESS &&
	    cuptiGetCallbackState(&on, own_handle, domain, cbid) == CUPTI_SUCCESS && on &&
	    cuptiGetTimestamp(&now) == CUPTI_SUCCESS)
		nr_called_inside++;
}

/* A library opened from a pipe keeps the dynamic loader's lock until someone writes to the pipe. */
static void *loads(void *path)
{
	dlopen(path, RTLD_NOW);
	return NULL;
}

static void *launches_once(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(context);
	while (!may_launch)
		pause_ms(1);
	device__launch(function, stream, 1);
	return NULL;
}

/* Without --cupti share, the program's calls go straight to CUPTI, and wait for no lock. */
static void straight(void)
{
	CUpti_EventID id = 7;
	CUpti_EventGroupSets *sets = NULL;
	pthread_t loader, launcher;
	char path[] = "./pipe";
	int i, fd;

	is_int(cuptiEventGroupSetsCreate(context, sizeof(id), &id, &sets), CUPTI_SUCCESS,
	       "a function of four arguments is called");
	ok((void *)sets == (void *)&id, "a function of four arguments gets all of them");
	is_int(cuptiActivityEnableHWTrace(0), CUPTI_SUCCESS,
	       "a function with an argument of one byte is called");
	is_int(cuptiActivityEnableHWTrace(1), CUPTI_ERROR_NOT_SUPPORTED,
	       "a function with an argument of one byte gets it");
	is_int(cuptiActivityEnableCudaEventDeviceTimestamps(1), CUPTI_ERROR_NOT_INITIALIZED,
	       "a function that this CUPTI lacks fails");
	is_int(cuptiEnableDomain(1, NULL, CUPTI_CB_DOMAIN_DRIVER_API),
	       CUPTI_ERROR_INVALID_PARAMETER, "an error of CUPTI is returned unchanged");

	is_int(cuptiSubscribe(&own_handle, on_call, NULL), CUPTI_SUCCESS,
	       "the program subscribes with CUPTI itself");
	is_int(cuptiEnableDomain(1, own_handle, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS,
	       "the program enables a domain");
	mkfifo("pipe", 0600);
	pthread_create(&launcher, NULL, launches_once, NULL);
	pthread_create(&loader, NULL, loads, path);
	pause_ms(100);
	nr_called_inside = 0;
	may_launch = true;
	for (i = 0; i < 100 && nr_called_inside < 2; i++)
		pause_ms(20);
	ok(nr_called_inside >= 2, "calls inside a callback do not wait for the dynamic loader");
	fd = open("pipe", O_WRONLY);
	close(fd);
	pthread_join(loader, NULL);
	pthread_join(launcher, NULL);
	is_int(cuptiEnableAllDomains(0, own_handle), CUPTI_SUCCESS,
	       "the program disables all domains");
	is_int(cuptiUnsubscribe(own_handle), CUPTI_SUCCESS,
	       "the program unsubscribes from CUPTI itself");
	is_int(cuptiUnsubscribe(own_handle), CUPTI_ERROR_INVALID_PARAMETER,
	       "the program cannot unsubscribe twice");
	ok(wait_awake() && records(),
	   "after the program unsubscribed from CUPTI the shim records again");
}

/* CUPTI still has the records of migrations when the program takes over. */
static int migrations(void)
{
	struct sim_migration m = {
		.counter = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
		.source = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID, .value = SET_BYTES,
	};
	CUmodule module;
	int i;

	listener__want_memory(true);
	listener__attach();
	device__start(&context, &module, &function);
	if (!wait_awake())
		return 2;
	cuMemAllocManaged(&memory, SET_BYTES, CU_MEM_ATTACH_GLOBAL);
	m.address = memory;
	for (i = 0; i < 10; i++)
		sim_migrate(&m);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	return listener__wait(&listener.nr_migrations, 10) && !heard(nr_bad) ? 0 : 3;
}

int main(int argc, char **argv)
{
	uint8_t *strange;
	CUmodule module;

	if (argc > 1 && !strcmp(argv[1], "late"))
		return late_callbacks();
	if (argc > 1 && !strcmp(argv[1], "migrations"))
		return migrations();
	if (argc > 1)
		return without_thread();
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&memory, SET_BYTES);
	listener__attach();
	ok(wait_awake(), "the shim is awake");
	find_cupti();

	strange = new_buffer();
	activity__completed(NULL, 0, strange, SHIMS_BYTES, 0);
	ok(was_told("CUPTI gave the shim 1 buffer that another profiler"),
	   "a buffer of an unknown owner is left alone, and a message says so");
	ok(records(), "after a buffer of an unknown owner the shim still records");

	flush_late(AT_PAGE, "at a page's start");
	flush_late(AT_LINE, "where the shim's are");
	ok(was_told("the program collected 50 device records itself, which are not in the "
		    "recording"), "a message says how much the program collected: %s", message);
	pthread_mutex_lock(&listener__lock);
	is_int(listener.counters.nr_taken, 100, "the records of both flushes are counted");
	pthread_mutex_unlock(&listener__lock);
	unfinished();
	disable_again();
	nobody_listens();
	late_thread();
	twice();
	freed();
	replaced();
	straight();
	is_int(nr_completed, nr_requested + 2,
	       "the program gets its own buffers back, and two with records that the shim took");
	is_int(listener__run(argv[0], "no thread", "XPUSHIM_WAITS", "off"), 0,
	       "without its thread the shim leaves CUPTI to the program, too");
	is_int(listener__run(argv[0], "late", "XPU_SIM_LATE_CALLBACKS", "1"), 0,
	       "the shim leaves CUPTI only when no thread is about to enter a callback");
	is_int(listener__run(argv[0], "migrations", "XPUSHIM_MIGRATIONS", "on"), 0,
	       "the program takes CUPTI over: migrations that CUPTI still had are recorded");
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	return done_testing();
}
