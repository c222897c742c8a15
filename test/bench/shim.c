// SPDX-License-Identifier: MIT
/*
 * What the shim does at a launch, in nanoseconds, part by part: its own objects, called as CUPTI calls
 * them, with empty probe sites and no CUPTI. Warm; the best of many rounds, for machines are busy.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cupti_lib.h"
#include "launch.h"
#include "paths.h"
#include "probe.h"
#include "unwind.h"
#include "wait.h"
#include "xpu_record.h"

#define ROUNDS		2000
#define LAUNCHES	128		/* in each: one log */
#define CBID		CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
#define NR_SITES	8		/* different call paths in turns */

/* Empty probe sites. */
volatile unsigned short xpu_launch_semaphore = 1, xpu_batch_semaphore = 1;
volatile unsigned short xpu_log_semaphore, xpu_path_semaphore, xpu_hello_semaphore;
volatile unsigned short xpu_live_launch_semaphore = 1, xpu_live_batch_semaphore = 1;
volatile unsigned short xpu_live_log_semaphore, xpu_live_path_semaphore;

static uint64_t nr_launch_probes, nr_log_probes;

void xpu_launch(const struct xpu_slot *slot)
{
	(void)slot;
	nr_launch_probes++;
}

void xpu_log(const struct xpu_log *log, uint64_t end)
{
	(void)log;
	(void)end;
	nr_log_probes++;
}

void xpu_batch(const void *records, size_t bytes)
{
	(void)records;
	(void)bytes;
}

void xpu_path(const struct xpu_slot *slot)
{
	(void)slot;
}

void xpu_live_launch(const struct xpu_slot *slot)
{
	xpu_launch(slot);
}

void xpu_early(const void *records, size_t bytes)
{
	xpu_batch(records, bytes);
}

void xpu_live_batch(const void *records, size_t bytes)
{
	xpu_batch(records, bytes);
}

void xpu_live_log(const struct xpu_log *log, uint64_t end)
{
	xpu_log(log, end);
}

void xpu_live_path(const struct xpu_slot *slot)
{
	xpu_path(slot);
}

static double now_ns(void)
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
		start = now_ns();
		for (i = 0; i < LAUNCHES; i++)
			part();
		ns = (now_ns() - start) / LAUNCHES;
		if (ns < best)
			best = ns;
	}
	return best;
}

/* ---- the parts ------------------------------------------------------------------------------- */

static uint32_t correlation_id;
static struct unwinder *unwinder;
static struct paths *paths;
static struct xpu_slot slots[NR_SITES];	/* unwound before */

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
	asm volatile("" : : : "memory");
}

static CUpti_CallbackFunc volatile callback = launch__callback;

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

/* The same from many places, as programs do. */
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

static __attribute__((noinline)) void unwind(void)
{
	struct xpu_slot slot = { .size = sizeof(slot) };

	unwinder__chain(unwinder, 0, &slot);
	asm volatile("" : : "r"(&slot) : "memory");
}

static __attribute__((noinline)) void find_and_log(void)
{
	struct xpu_slot *slot = &slots[++correlation_id % NR_SITES];

	slot->correlation_id = correlation_id;
	paths__launch(paths, slot);
}

static __attribute__((noinline)) void get_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	asm volatile("" : : "r"(&ts) : "memory");
}

/* ---- depths ---------------------------------------------------------------------------------- */

static double path_ns[2], many_ns[2], launch_ns, unwind_ns[2], find_ns, time_ns, calls_ns;
static uint32_t nr_frames[2];
static int depth_index;

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void measure(void)
{
	static uint64_t frames[NR_SITES][XPU_MAX_FRAMES];
	struct xpu_slot slot = { .size = sizeof(slot) };
	int i;

	unwinder = pages(unwinder__bytes());
	unwinder__chain(unwinder, 0, &slot);
	nr_frames[depth_index] = slot.nr_frames;
	callback = nothing;
	calls_ns = best_ns(whole);
	callback = launch__callback;
	unwind_ns[depth_index] = best_ns(unwind);
	path_ns[depth_index] = best_ns(whole) - calls_ns;
	many_ns[depth_index] = best_ns(from_many_places) - calls_ns;
	if (!paths__bytes()) {
		launch_ns = path_ns[depth_index];
		return;
	}
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
	asm volatile("");		/* no tail call */
}

static void at_depths(void)
{
	static const int depths[2] = { 16, 61 };

	for (depth_index = 0; depth_index < 2; depth_index++)
		recurse(depths[depth_index]);
}

int main(void)
{
	int level, status, fds[2], i;
	const char *why;
	pid_t pid;

	unwind__init();
	why = unwind__message(&level);
	if (why) {
		fprintf(stderr, "shim: %s\n", why);
		return 1;
	}
	wait__watch(CBID, "cuLaunchKernel");
	clock__init();
	for (i = 0; i < 5; i++) {
		usleep(60000);
		clock__watch();
	}
	launch__enable(true);

	/* What it is without paths can only be had from a process of its own. */
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
	printf("  %-52s %6.1f %6.1f\n", "  unwinding", unwind_ns[0], unwind_ns[1]);
	printf("  %-52s %6.1f %6.1f\n", "  all but unwinding", path_ns[0] - unwind_ns[0],
	       path_ns[1] - unwind_ns[1]);
	printf("  %-52s %6s %6.1f\n", "    finding the path, entry in the log", "", find_ns);
	printf("  %-52s %6s %6.1f\n", "      the clock, in place of the tick counter: more by", "",
	       time_ns);
	printf("  %-52s %6.1f\n", "the whole, --probe launch, but for the uprobe", launch_ns);
	return 0;
}
