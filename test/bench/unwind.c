// SPDX-License-Identifier: MIT
/*
 * Measures the time to unwind a call chain with the shim's unwinder and, if libunwind is installed,
 * with unw_backtrace(). Takes the best of many rounds, because machines are busy. Measures warm
 * walks, and the first walk of a thread, which is cold.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "launch/unwind.h"
#include "xpu_record.h"

#define ROUNDS		3000
#define WALKS		100		/* walks in each round */

static struct unwinder *u;
static int (*unw_backtrace)(void **buffer, int size);
static struct xpu_slot slot;

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static __attribute__((noinline)) int walk_ours(void)
{
	unwinder__chain(u, 0, &slot, NULL, NULL, NULL);
	return slot.nr_frames;
}

static __attribute__((noinline)) int walk_theirs(void)
{
	static void *frames[XPU_MAX_FRAMES];

	return unw_backtrace(frames, XPU_MAX_FRAMES);
}

static double best_ns(int (*walk)(void), int *nr)
{
	double best = 1e18, start, ns;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		start = now_ns();
		for (i = 0; i < WALKS; i++)
			*nr = walk();
		ns = (now_ns() - start) / WALKS;
		if (ns < best)
			best = ns;
	}
	return best;
}

static int measure(void)
{
	double cold, warm, theirs;
	int nr, their_nr;

	memset(u, 0, unwinder__bytes());
	cold = now_ns();
	walk_ours();
	cold = now_ns() - cold;
	warm = best_ns(walk_ours, &nr);
	printf("%8d %8.0f %8.1f %8.0f", nr, warm, warm / nr, cold);
	if (unw_backtrace) {
		theirs = best_ns(walk_theirs, &their_nr);
		printf(" %10.0f %8.2f", theirs, warm / theirs);
	}
	putchar('\n');
	return 0;
}

/* 64 functions, each of which calls the next one, so that return addresses and frames differ. */
#define EIGHT(p, q) \
	FN(f_##p##0, f_##p##1) FN(f_##p##1, f_##p##2) FN(f_##p##2, f_##p##3) \
	FN(f_##p##3, f_##p##4) FN(f_##p##4, f_##p##5) FN(f_##p##5, f_##p##6) \
	FN(f_##p##6, f_##p##7) FN(f_##p##7, f_##q##0)
#define RING \
	EIGHT(0, 1) EIGHT(1, 2) EIGHT(2, 3) EIGHT(3, 4) \
	EIGHT(4, 5) EIGHT(5, 6) EIGHT(6, 7) EIGHT(7, 0)

/* clang-format off */
#define FN(name, next) static int name(int depth);
RING
#undef FN
#define FN(name, next)							\
static __attribute__((noinline)) int name(int depth)			\
{									\
	volatile char pad[__LINE__ % 7 * 16 + __COUNTER__ % 5 * 48 + 8];	\
									\
	pad[0] = depth;							\
	return (depth ? next(depth - 1) : measure()) + pad[0];		\
}
RING
/* clang-format on */

int main(void)
{
	static const int depths[] = { 10, 20, 65, 127, 500 };
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	const char *why;
	int level, base;
	size_t i;

	if (handle)
		*(void **)&unw_backtrace = dlsym(handle, "unw_backtrace");
	setenv("XPUSHIM_MAX_FRAMES", "1000", 1);
	unwind__init();
	why = unwind__message(&level);
	if (why) {
		fprintf(stderr, "unwind: %s\n", why);
		return 1;
	}
	u = mmap(NULL, unwinder__bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	base = walk_ours();
	printf("unwinding a call chain, ns, best of %d rounds\n%8s %8s %8s %8s%s\n", ROUNDS,
	       "frames", "warm", "a frame", "first", unw_backtrace ? "  libunwind    ratio" : "");
	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		f_00(depths[i] - base - 2);	/* measure() and f_00() have frames, too */
	return 0;
}
