// SPDX-License-Identifier: MIT
/*
 * shim [--cold [STEPS]] - measures each part of the shim's work at a launch, in nanoseconds
 *
 * It calls the shim's own objects as CUPTI calls them, without CUPTI and with nobody attached to
 * the probe sites. Caches are warm, and the best of many rounds is taken, because machines are
 * busy. With --cold, the program runs a lot of other code between its launches. A second series
 * also allocates a block of memory before each launch, in a function some frames deeper. To count
 * instructions and cache misses:
 *
 *	valgrind --tool=callgrind --cache-sim=yes --LL=2097152,16,64 --collect-atstart=no \
 *		--toggle-collect=tell_made --toggle-collect=tell_launch build/bench/shim --cold 6
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/cupti/callback.h"
#include "gpu/cupti/cumem.h"
#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/kinds.h"
#include "launch/allocs.h"
#include "launch/launch.h"
#include "launch/launcher.h"
#include "launch/paths.h"
#include "wire/probe.h"
#include "launch/unwind.h"
#include "xpu_record.h"

#define ROUNDS		2000
#define LAUNCHES	XPU_LOG_ENTRIES		/* launches in each round, which fill one log */
#define CBID		CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
#define NR_SITES	8		/* call paths, which take turns */

static double time_ns_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static double best_ns(void (*part)(void))
{
	double best = 1e18, start, ns;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		start = time_ns_now();
		/* One call site, so that all launches come from one place. */
#pragma GCC unroll 1
		for (i = 0; i < LAUNCHES; i++)
			part();
		ns = (time_ns_now() - start) / LAUNCHES;
		if (ns < best)
			best = ns;
	}
	return best;
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- the parts ------------------------------------------------------------------------------- */

static uint32_t correlation_id;
static struct unwinder *unwinder;
static struct unwind_trace *trace;	/* the trace to compare the stack with; NULL: unwind */
static uint64_t nr_again;
static struct paths *paths;
static struct xpu_slot slots[NR_SITES];	/* slots whose chains were unwound beforehand */

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
	asm volatile("" : : : "memory");
}

static CUpti_CallbackFunc volatile callback = callback__call;

static __attribute__((noinline)) void whole(void)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t data = 0;
	CUpti_CallbackData d = { .callbackSite = CUPTI_API_ENTER,
				 .correlationId = ++correlation_id, .correlationData = &data,
				 .functionReturnValue = &result };

	callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CBID, &d);
	d.callbackSite = CUPTI_API_EXIT;
	callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CBID, &d);
}

/* Functions that launch from different call sites, as in programs. */
#define SITE(n)	static __attribute__((noinline)) void site_##n(void) { whole(); asm volatile(""); }
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)

static void (*const sites[NR_SITES])(void) = {
	site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7
};

static __attribute__((noinline)) void from_many_places(void)
{
	sites[correlation_id % NR_SITES]();
	asm volatile("");
}

/* Launches from sixteen call sites, in turn or in random order. */
#define NR_MIXED	16
#define NR_ORDER	4096
SITE(8) SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)

static void (*const mixed_sites[NR_MIXED])(void) = {
	site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7,
	site_8, site_9, site_10, site_11, site_12, site_13, site_14, site_15,
};

static uint8_t order[NR_ORDER];

static void set_order(bool random)
{
	unsigned int seed = 12345;
	int i;

	for (i = 0; i < NR_ORDER; i++) {
		seed = seed * 1103515245u + 12345u;
		order[i] = random ? seed >> 16 & (NR_MIXED - 1) : (unsigned int)i % NR_MIXED;
	}
}

static __attribute__((noinline)) void mixed(void)
{
	mixed_sites[order[correlation_id % NR_ORDER]]();
	asm volatile("");
}

/* Memory events: mixed_events() makes them from eight call sites. */
static uint8_t alloc_what;
static uint32_t nr_events;

static inline __attribute__((always_inline)) void tell_block(uint8_t what)
{
	const struct alloc a = {
		.what = what, .space = XPU_SPACE_BLOCK, .address = 0x1000, .bytes = 512,
		.order = allocs__order(1),
	};

	launch__tell_alloc(&a, XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH);
}

static __attribute__((noinline)) void event(void)
{
	nr_events++;
	tell_block(alloc_what);
	asm volatile("");
}

#define EVENT_SITE(n) \
	static __attribute__((noinline)) void event_##n(void) { event(); asm volatile(""); }
EVENT_SITE(0) EVENT_SITE(1) EVENT_SITE(2) EVENT_SITE(3)
EVENT_SITE(4) EVENT_SITE(5) EVENT_SITE(6) EVENT_SITE(7)

static void (*const event_sites[8])(void) = {
	event_0, event_1, event_2, event_3, event_4, event_5, event_6, event_7,
};

static __attribute__((noinline)) void mixed_events(void)
{
	event_sites[order[nr_events % NR_ORDER] % 8]();
	asm volatile("");
}

/* A driver call that allocates or frees memory of a pool. */
#define POOL_CBID(fn)	CUPTI_DRIVER_TRACE_CBID_##fn

static CUptiResult first_device(CUcontext context, uint32_t *device)
{
	(void)context;
	*device = 0;
	return CUPTI_SUCCESS;
}

static __attribute__((noinline)) void pool_call(CUpti_CallbackId cbid, const void *params)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t data = 0;
	CUpti_CallbackData d = { .callbackSite = CUPTI_API_ENTER, .correlationId = ++correlation_id,
				 .correlationData = &data, .functionReturnValue = &result,
				 .functionParams = params, .context = (CUcontext)&data,
				 .contextUid = 1 };

	callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &d);
	d.callbackSite = CUPTI_API_EXIT;
	callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &d);
}

static __attribute__((noinline)) void pool_alloc(void)
{
	CUdeviceptr address = 0x1000;
	const cuMemAllocAsync_params params = { .dptr = &address, .bytesize = 512 };

	pool_call(POOL_CBID(cuMemAllocAsync), &params);
}

static __attribute__((noinline)) void pool_free(void)
{
	const cuMemFreeAsync_params params = { .dptr = 0x1000 };

	pool_call(POOL_CBID(cuMemFreeAsync), &params);
}

static void watch_pool(void)
{
	static const struct cupti cupti = { .get_device_id = first_device };

	cumem__watch(POOL_CBID(cuMemAllocAsync), "cuMemAllocAsync");
	cumem__watch(POOL_CBID(cuMemFreeAsync), "cuMemFreeAsync");
	kinds__watch_alloc(POOL_CBID(cuMemAllocAsync));
	kinds__watch_alloc(POOL_CBID(cuMemFreeAsync));
	cumem__start(&cupti, false);
}

static __attribute__((noinline)) void unwind(void)
{
	struct xpu_slot slot = { .size = sizeof(slot) };

	if (unwinder__chain(unwinder, 0, &slot, trace, NULL, NULL))
		nr_again++;
	else if (trace)			/* only the first time */
		unwinder__trace(unwinder, trace);
	asm volatile("" : : "r"(&slot) : "memory");
}

static __attribute__((noinline)) void find_and_log(void)
{
	struct xpu_slot *slot = &slots[++correlation_id % NR_SITES];

	slot->correlation_id = correlation_id;
	paths__tell_walked(paths, slot, NULL, NULL, PYTHON_OFF);
}

static __attribute__((noinline)) void get_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	asm volatile("" : : "r"(&ts) : "memory");
}

/* ---- cold ------------------------------------------------------------------------------------ */

/*
 * A step of training or inference makes some hundred launches. Each launch has its own call path,
 * whose outer half it shares with the other launches. Before each launch the program reads and runs
 * much other code.
 */
#define NR_PATHS	120
#define NR_STEPS	100		/* default number of steps */
#define NR_WAYS		64		/* functions that a path chooses from */
#define OTHER_DATA	(256u << 10)
#define OTHER_CODE	(128u << 10)
#define LINE		64

static uint8_t *other_data, *other_code;
static uint64_t *cold_ticks, *event_ticks;
static unsigned int nr_cold, nr_steps = NR_STEPS;
static bool with_events;
static bool is_counted;			/* runs in an emulator, which counts instructions and is
					 * slow to translate new code */

/*
 * Each @path has its own cache lines. The lines that are used in a step do not fit into the L2
 * cache.
 */
static __attribute__((noinline)) void something_else(unsigned int path)
{
	uint8_t *data = other_data + (size_t)path * OTHER_DATA;
	uint8_t *code = other_code + (size_t)(is_counted ? 0 : path) * OTHER_CODE;
	size_t i;

	for (i = 0; i < OTHER_DATA; i += LINE)
		asm volatile("" : : "r"(*(volatile uint8_t *)(data + i)));
	for (i = 0; i < OTHER_CODE; i += LINE)
		((void (*)(void))(uintptr_t)(code + i))();
}

/* Runs other code between an allocation and the launch that uses it. */
static __attribute__((noinline)) void something_small(unsigned int path)
{
	const uint8_t *data = other_data + (size_t)path * OTHER_DATA;
	size_t i;

	for (i = 0; i < OTHER_DATA / 8; i += LINE)
		asm volatile("" : : "r"(*(const volatile uint8_t *)(data + i)));
}

static __attribute__((noinline)) void tell_made(void)
{
	tell_block(XPU_ALLOC_MADE);
	asm volatile("");
}

static __attribute__((noinline)) void tell_freed(void)
{
	tell_block(XPU_ALLOC_FREED);
	asm volatile("");
}

static __attribute__((noinline)) void tell_launch(CUpti_CallbackData *d)
{
	callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CBID, d);
	d->callbackSite = CUPTI_API_EXIT;
	callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CBID, d);
}

static __attribute__((noinline)) void cold_event(int depth)
{
	uint64_t start;

	if (depth) {
		cold_event(depth - 1);
		asm volatile("");
		return;
	}
	asm volatile("lfence" : : : "memory");
	start = clock__ticks();
	tell_made();
	asm volatile("lfence" : : : "memory");
	event_ticks[nr_cold] = clock__ticks() - start;
}

static __attribute__((noinline)) void cold_launch(unsigned int path)
{
	uint64_t data = 0, start;
	CUpti_CallbackData d = { .callbackSite = CUPTI_API_ENTER,
				 .correlationId = ++correlation_id, .correlationData = &data };

	something_else(path);
	if (with_events) {
		tell_freed();
		cold_event(4);
		something_small(path);
	}
	asm volatile("lfence" : : : "memory");
	start = clock__ticks();
	tell_launch(&d);
	asm volatile("lfence" : : : "memory");
	cold_ticks[nr_cold++] = clock__ticks() - start;
}

struct way {
	unsigned int path, left;
};

static void go(const struct way *way);

#define WAY(n)	static __attribute__((noinline)) void way_##n(const struct way *way)	\
		{ go(way); asm volatile(""); }
#define WAYS8(n) WAY(n##0) WAY(n##1) WAY(n##2) WAY(n##3) WAY(n##4) WAY(n##5) WAY(n##6) WAY(n##7)
WAYS8(0) WAYS8(1) WAYS8(2) WAYS8(3) WAYS8(4) WAYS8(5) WAYS8(6) WAYS8(7)

#define NAMES8(n) way_##n##0, way_##n##1, way_##n##2, way_##n##3, way_##n##4, way_##n##5,	\
		  way_##n##6, way_##n##7
static void (*const ways[NR_WAYS])(const struct way *) = {
	NAMES8(0), NAMES8(1), NAMES8(2), NAMES8(3), NAMES8(4), NAMES8(5), NAMES8(6), NAMES8(7)
};

static inline __attribute__((always_inline)) void go(const struct way *way)
{
	struct way next = { way->path, way->left - 1 };

	if (way->left)
		ways[(way->path * 7919 + way->left * 104729) / 8 % NR_WAYS](&next);
	else
		cold_launch(way->path);
	asm volatile("" : : "r"(&next) : "memory");
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_ns(uint64_t *ticks, const struct xpu_clock *from, const struct xpu_clock *to)
{
	qsort(ticks, nr_cold, sizeof(ticks[0]), by_size);
	return (double)ticks[nr_cold / 2] * (to->ns - from->ns) / (to->ticks - from->ticks);
}

/*
 * Return: the median time of a launch. *@event: the median time of an allocation, if with_events is
 * set.
 */
static double cold_ns(unsigned int nr_inner, double *event)
{
	struct xpu_clock from = { .ticks = clock__ticks(), .ns = clock__ns() }, to;
	struct way way = { .left = nr_inner };
	unsigned int i;

	nr_cold = 0;
	for (i = 0; i < NR_PATHS * nr_steps; i++) {
		way.path = i % NR_PATHS;
		ways[i % 2](&way);
	}
	to = (struct xpu_clock){ .ticks = clock__ticks(), .ns = clock__ns() };
	*event = median_ns(event_ticks, &from, &to);
	return median_ns(cold_ticks, &from, &to);
}

/* @nr_inner: the number of inner frames that are unique to each path */
static __attribute__((noinline)) void measure_cold(unsigned int nr_inner)
{
	double calls, all, event;

	callback = nothing;
	calls = cold_ns(nr_inner, &event);
	callback = callback__call;
	cold_ns(nr_inner, &event);	/* not measured: every path is new in this run */
	all = cold_ns(nr_inner, &event);
	printf("  %-52s %6.1f, with the calls %6.1f\n", "the whole, --probe path, 120 cold paths",
	       all - calls, all);
	with_events = true;
	cold_ns(nr_inner, &event);
	all = cold_ns(nr_inner, &event);
	with_events = false;
	printf("  %-52s %6.1f, a block made before it %6.1f\n", "the whole, with events of memory",
	       all - calls, event);
}

static __attribute__((noinline)) void recurse_cold(int depth, unsigned int nr_inner)
{
	if (depth)
		recurse_cold(depth - 1, nr_inner);
	else
		measure_cold(nr_inner);
	asm volatile("");
}

static int cold(void)
{
	other_data = pages((size_t)NR_PATHS * OTHER_DATA);
	other_code = mmap(NULL, (size_t)NR_PATHS * OTHER_CODE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cold_ticks = calloc(NR_PATHS * nr_steps, sizeof(*cold_ticks));
	event_ticks = calloc(NR_PATHS * nr_steps, sizeof(*event_ticks));
	if (!other_data || other_code == MAP_FAILED || !cold_ticks || !event_ticks)
		return 1;
	memset(other_data, 1, (size_t)NR_PATHS * OTHER_DATA);
	memset(other_code, 0xc3, (size_t)NR_PATHS * OTHER_CODE);	/* 0xc3: ret */
	paths__init();
	printf("the shim at a launch, ns, median, %u KB read and %u KB of code run before each:\n",
	       OTHER_DATA >> 10, OTHER_CODE >> 10);
	printf("  20 frames, 8 of them the path's own\n");
	recurse_cold(4, 8);
	printf("  65 frames, 30 of them the path's own\n");
	recurse_cold(27, 30);
	return 0;
}

/* ---- depths ---------------------------------------------------------------------------------- */

static double cycle_ns[2], random_ns[2], event_ns[2], mixed_event_ns[2], free_ns[2];
static double pool_alloc_ns[2], pool_free_ns[2];
static double path_ns[2], many_ns[2], launch_ns, unwind_ns[2], again_ns[2], find_ns, time_ns,
	calls_ns;
static uint32_t nr_frames[2];
static int depth_index;

static void measure(void)
{
	static uint64_t frames[NR_SITES][XPU_MAX_FRAMES];
	struct xpu_slot slot = { .size = sizeof(slot) };
	int i;

	unwinder = pages(unwinder__bytes());
	unwinder__chain(unwinder, 0, &slot, NULL, NULL, NULL);
	nr_frames[depth_index] = slot.nr_frames;
	callback = nothing;
	calls_ns = best_ns(whole);
	callback = callback__call;
	unwind_ns[depth_index] = best_ns(unwind);
	trace = calloc(1, unwinder__trace_bytes(unwinder));
	again_ns[depth_index] = best_ns(unwind);
	if (nr_again != LAUNCHES * ROUNDS - 1)
		fprintf(stderr, "shim: it was not the same chain again\n");
	nr_again = 0;
	free(trace);
	trace = NULL;
	path_ns[depth_index] = best_ns(whole) - calls_ns;
	many_ns[depth_index] = best_ns(from_many_places) - calls_ns;
	set_order(false);
	cycle_ns[depth_index] = best_ns(mixed) - calls_ns;
	set_order(true);
	random_ns[depth_index] = best_ns(mixed) - calls_ns;
	if (!paths__enabled) {
		launch_ns = path_ns[depth_index];
		return;
	}
	alloc_what = XPU_ALLOC_MADE;
	event_ns[depth_index] = best_ns(event);
	mixed_event_ns[depth_index] = best_ns(mixed_events);
	alloc_what = XPU_ALLOC_FREED;
	free_ns[depth_index] = best_ns(mixed_events);
	watch_pool();
	pool_alloc_ns[depth_index] = best_ns(pool_alloc) - calls_ns;
	pool_free_ns[depth_index] = best_ns(pool_free) - calls_ns;
	allocs__stop();
	paths = pages(paths__bytes());
	for (i = 0; i < NR_SITES; i++) {
		slots[i].size = sizeof(slots[i]);
		paths__start(paths, &slots[i]);
		slots[i].cbid = CBID;
		slots[i].domain = CUPTI_CB_DOMAIN_DRIVER_API;
		slots[i].nr_frames = slot.nr_frames;
		memcpy(frames[i], (void *)(uintptr_t)slot.frames,
		       slot.nr_frames * sizeof(frames[i][0]));
		frames[i][0] += i;
		slots[i].frames = (uintptr_t)frames[i];
	}
	find_ns = best_ns(find_and_log);
	time_ns = best_ns(get_time);
}

static __attribute__((noinline)) void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		measure();
	asm volatile("");		/* prevents a tail call */
}

static void at_depths(void)
{
	static const int depths[2] = { 16, 61 };

	for (depth_index = 0; depth_index < 2; depth_index++)
		recurse(depths[depth_index]);
}

int main(int argc, char **argv)
{
	int level, status, fds[2], i;
	const char *why;
	pid_t pid;

	/* Pretends that a listener is at the probe site. */
	xpu_live_launch_semaphore = 1;
	unwind__init();
	why = unwind__message(&level);
	if (why) {
		fprintf(stderr, "shim: %s\n", why);
		return 1;
	}
	kinds__watch(CBID, "cuLaunchKernel");
	clock__init();
	for (i = 0; i < 5; i++) {
		usleep(60000);
		clock__watch();
	}
	launcher__enable(true);

	if (argc > 1 && !strcmp(argv[1], "--cold")) {
		is_counted = argc > 2;
		nr_steps = is_counted ? strtoul(argv[2], NULL, 10) : NR_STEPS;
		return nr_steps ? cold() : 2;
	}

	/* The cost without paths can only be measured in a separate process. */
	if (pipe(fds))
		return 1;
	pid = fork();
	if (!pid) {
		setenv(XPU_PROBE_ENV, "launch", 1);
		paths__init();
		depth_index = 0;
		recurse(16);
		dprintf(fds[1], "%f", launch_ns);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	paths__init();
	at_depths();

	{
		char text[64] = "";

		if (read(fds[0], text, sizeof(text) - 1) < 0 ||
		    sscanf(text, "%lf", &launch_ns) != 1)
			return 1;
	}
	printf("the shim at a warm launch, ns, without CUPTI and the kernel:\n");
	printf("  %-52s %6.1f %6.1f\n", "frames", (double)nr_frames[0], (double)nr_frames[1]);
	printf("  %-52s %6.1f %6.1f\n", "the whole, --probe path, one call path", path_ns[0],
	       path_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "the whole, 8 call paths in turns", many_ns[0], many_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "the whole, 16 call paths in turns", cycle_ns[0],
	       cycle_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "the whole, 16 call paths in random order", random_ns[0],
	       random_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "a block of memory made, one call path", event_ns[0],
	       event_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "a block made, 8 call paths in random order",
	       mixed_event_ns[0], mixed_event_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "a block freed, 8 call paths in random order", free_ns[0],
	       free_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "cuMemAllocAsync", pool_alloc_ns[0], pool_alloc_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "cuMemFreeAsync", pool_free_ns[0], pool_free_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "  comparing what the chain was made from", again_ns[0],
	       again_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "  all but that", path_ns[0] - again_ns[0],
	       path_ns[1] - again_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "unwinding, where a launch has another path", unwind_ns[0],
	       unwind_ns[1]);
	printf("  %-52s %6s %6.1f\n", "finding that, entry in the log", "", find_ns);
	printf("  %-52s %6s %6.1f\n", "the clock, in place of the tick counter: more by", "",
	       time_ns);
	printf("  %-52s %6.1f\n", "the whole, --probe launch, but for the uprobe", launch_ns);
	return 0;
}
