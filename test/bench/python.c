// SPDX-License-Identifier: MIT
/*
 * Measures the cost of Python's frames at a launch. The shim's own objects are linked into a
 * library, which python.py loads with ctypes. python.py calls measure() at the end of a long call
 * chain, and from many lines in turn.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "launch/paths.h"
#include "wire/probe.h"
#include "python/python.h"
#include "launch/unwind.h"

#define ROUNDS		1000
#define WALKS		100		/* walks in each round */
#define EXPORT		__attribute__((visibility("default")))

static struct unwinder *unwinder;
static struct python *python;
static struct xpu_slot slot = { .size = sizeof(slot) };

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static __attribute__((noinline)) void native(void)
{
	unwinder__chain(unwinder, 0, &slot, NULL, NULL, NULL);
}

static __attribute__((noinline)) void both(void)
{
	unwinder__chain(unwinder, 0, &slot, NULL, NULL, NULL);
	python__chain(&python, 0, unwinder__stack(unwinder, 0), &slot);
}

/* Measures an unchanged chain, the usual case, in which the walk compares all of its input. */
static uint64_t trace[1 << 14];
static unsigned int nr_not_again;

static __attribute__((noinline)) void again(void)
{
	nr_not_again += !python__holds((struct python_trace *)trace);
}

static double best_ns(void (*walk)(void))
{
	double best = 1e18, start, ns;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		start = now_ns();
		for (i = 0; i < WALKS; i++)
			walk();
		ns = (now_ns() - start) / WALKS;
		if (ns < best)
			best = ns;
	}
	return best;
}

EXPORT int start(void);
EXPORT void measure(int nr_functions);

EXPORT int start(void)
{
	unwind__init();
	if (!unwinder__bytes())
		return 1;
	unwinder = mmap(NULL, unwinder__bytes(), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	python__look(true);
	return atomic_load(&python__mode) != PYTHON_ON;
}

EXPORT void measure(int nr_functions)
{
	uint32_t nr_native, nr_both;
	double native_ns, both_ns, again_ns;

	native();
	nr_native = slot.nr_frames;
	both();
	nr_both = slot.nr_frames;
	native_ns = best_ns(native);
	both_ns = best_ns(both);
	printf("%3d Python functions: %3u native frames %4.0f ns, %3u with Python's %4.0f ns, "
	       "Python's share %4.0f ns", nr_functions, nr_native, native_ns, nr_both, both_ns,
	       both_ns - native_ns);
	if (python__trace_bytes(python) && python__trace_bytes(python) <= sizeof(trace)) {
		python__trace(python, (struct python_trace *)trace);
		again_ns = best_ns(again);
		printf(", compared %4.0f ns%s", again_ns, nr_not_again ? " (not the same)" : "");
	}
	printf("\n");
	fflush(stdout);
}
