// SPDX-License-Identifier: MIT
/*
 * A walk stops when its frames equal frames of the last walk, and reuses the rest of that walk. Its
 * chain must equal the chain of a complete walk, in each frame and each stack pointer, whatever
 * changed in between. If nothing that an earlier walk read has changed, its chain must equal the
 * chain of a new walk.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "assembly.h"
#include "tap.h"
#include "launch/unwind.h"
#include "xpu_record.h"

#define NOINLINE	__attribute__((noinline))
#define NO_TAIL_CALL()	__asm__ volatile("" : : : "memory")
#define NR_WALKS	200000
#define MAX_DEPTH	60

static struct unwinder *u;
static unsigned int nr_walks, nr_wrong, nr_cut;
static uint64_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

/* The number of earlier walks that are kept. */
#define NR_TRACES	16
#define MAX_WORDS	200

static struct earlier {
	union {
		struct unwind_trace trace;
		uint64_t room[sizeof(struct unwind_trace) / 8 + MAX_WORDS * 3 / 2];
	};
	uint64_t frames[XPU_MAX_FRAMES];
	uint32_t nr_frames;		/* 0: not a walk */
	bool again;			/* a complete walk would give an equal chain */
} earlier[NR_TRACES];
static unsigned int nr_again, nr_traced;

static void keep(struct earlier *e, const struct xpu_slot *slot)
{
	size_t bytes = unwinder__trace_bytes(u);

	e->nr_frames = 0;
	if (!bytes || bytes > sizeof(e->room))
		return;
	unwinder__trace(u, &e->trace);
	e->nr_frames = slot->nr_frames;
	memcpy(e->frames, (void *)(uintptr_t)slot->frames, slot->nr_frames * 8ull);
	nr_traced++;
}

/* A walk to make. */
struct call {
	unsigned int level;
	struct xpu_slot *slot;
	const struct unwind_trace *trace;
	bool again;
};

/* The frames and stack of the last walk at level 0. */
static uint64_t last_frames[XPU_MAX_FRAMES], last_stack[XPU_MAX_FRAMES];

static NOINLINE bool walk(unsigned int level, struct xpu_slot *slot,
			  const struct unwind_trace *trace)
{
	bool again = unwinder__chain(u, level, slot, trace, NULL, NULL);

	NO_TAIL_CALL();
	if (level || trace)
		return again;
	memcpy(last_frames, (void *)(uintptr_t)slot->frames, slot->nr_frames * 8ull);
	memcpy(last_stack, unwinder__stack(u, 0), slot->nr_frames * 8ull);
	return again;
}

/*
 * Makes all walks from one place, so that they have the same caller frame. With a condition in the
 * loop, or an unrolled loop, a compiler could make two calls.
 */
static NOINLINE void walk_all(struct call *call, const struct call *end)
{
#pragma GCC unroll 1
	for (; call < end; call++)
		call->again = walk(call->level, call->slot, call->trace);
}

static NOINLINE void check(void)
{
	struct xpu_slot slot[2] = { { .size = sizeof(slot[0]) }, { .size = sizeof(slot[0]) } };
	struct call calls[NR_TRACES + 2];
	struct earlier *e, *of[NR_TRACES];
	struct xpu_slot unused;
	int nr = 0, i;

	for (i = 0; i < NR_TRACES; i++) {
		e = &earlier[i];
		if (!e->nr_frames)
			continue;
		of[nr] = e;
		calls[nr++] = (struct call){ 0, &unused, &e->trace, false };
	}
	/* Level 1 is for walks that interrupt another walk: they do not reuse the last walk. */
	calls[nr] = (struct call){ 0, &slot[0], NULL, false };
	calls[nr + 1] = (struct call){ 1, &slot[1], NULL, false };
	walk_all(calls, calls + nr + 2);
	for (i = 0; i < nr; i++)
		of[i]->again = calls[i].again;
	nr_walks++;
	nr_cut += slot[1].flags != 0;
	nr_wrong += slot[0].nr_frames != slot[1].nr_frames || slot[0].flags != slot[1].flags ||
		    !slot[1].nr_frames ||
		    memcmp(last_frames, (void *)(uintptr_t)slot[1].frames,
			   slot[1].nr_frames * 8ull) ||
		    memcmp(last_stack, unwinder__stack(u, 1), slot[1].nr_frames * 8ull);
	for (i = 0; i < NR_TRACES; i++) {
		e = &earlier[i];
		if (!e->nr_frames || !e->again)
			continue;
		nr_again++;
		nr_wrong += e->nr_frames != slot[1].nr_frames || slot[1].flags ||
			    memcmp(e->frames, (void *)(uintptr_t)slot[1].frames,
				   e->nr_frames * 8ull);
	}
	if (any(2))
		keep(&earlier[any(NR_TRACES)], &slot[0]);
}

static NOINLINE void go_on(int depth);

/*
 * Frames of all kinds: several functions with equal frame sizes, which can replace each other, and
 * functions with many other sizes.
 */
#define PLAIN(name, bytes)						\
static NOINLINE void name(int depth)					\
{									\
	volatile char pad[bytes];					\
									\
	pad[0] = depth;							\
	go_on(pad[0]);							\
	NO_TAIL_CALL();							\
	pad[0] = 0;							\
}

PLAIN(plain_0, 40) PLAIN(plain_1, 40) PLAIN(plain_2, 40) PLAIN(plain_3, 40)
PLAIN(large_0, 200) PLAIN(large_1, 1000)

/* The walk finds the caller's frame through rbp. */
static NOINLINE void with_alloca(int depth)
{
	volatile char *pad = __builtin_alloca(16 + any(4) * 16);

	pad[0] = depth;
	go_on(depth);
	NO_TAIL_CALL();
	pad[0] = 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define with_variable	with_alloca	/* these builds keep frame pointers */
#define aligned		with_alloca
#else
/* Here the frame pointer register holds an ordinary variable, which called functions save. */
#ifdef ASSEMBLY_WITH_VALUE
void with_value(void (*f)(int), int depth, uint64_t value);
__asm__(ASSEMBLY_WITH_VALUE);

static NOINLINE void with_variable(int depth)
{
	with_value(go_on, depth, any(1000));
	NO_TAIL_CALL();
}
#else
static NOINLINE void with_variable(int depth)
{
	register uint64_t variable __asm__(ASSEMBLY_BP_NAME) = any(1000);

	__asm__ volatile("" : "+r"(variable));
	go_on(depth);
	__asm__ volatile("" : "+r"(variable));
}
#endif

/* The stack pointer is saved in the frame, because the frame is aligned. */
static NOINLINE void aligned(int depth)
{
	volatile _Alignas(64) char pad[64];

	pad[0] = depth;
	go_on(pad[0]);
	NO_TAIL_CALL();
	pad[0] = 0;
}
#endif

static void (*const kinds[])(int) = {
	plain_0, plain_1, plain_2, plain_3, large_0, large_1, with_alloca, with_variable, aligned,
};

/*
 * Sometimes walks the stack, then calls a deeper function from one of two places. Sometimes does
 * all of this twice.
 */
static NOINLINE void go_on(int depth)
{
	int times = 1 + !any(3);

	while (times--) {
		if (nr_walks >= NR_WALKS)
			return;
		if (!any(4) || !depth)
			check();
		if (!depth)
			continue;
		if (any(2)) {
			kinds[any(sizeof(kinds) / sizeof(kinds[0]))](depth - 1);
			NO_TAIL_CALL();
		} else {
			kinds[any(4)](depth - 1);
			NO_TAIL_CALL();
		}
	}
}

/* Two coroutines with their own stacks, which take turns. */
static ucontext_t home, away[2];

static void stroll(void)
{
	int me = any(2);

	for (;;) {
		go_on(any(12));
		swapcontext(&away[me], &home);
	}
}

static NOINLINE void start_stroll(ucontext_t *context, char *stack)
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = 1 << 20;
	makecontext(context, stroll, 0);
}

static void test_stacks(void)
{
	char *stacks = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	start_stroll(&away[0], stacks);
	start_stroll(&away[1], stacks + (1 << 20));
	while (nr_walks < NR_WALKS) {
		if (any(3) == 2)
			go_on(any(12));
		else
			swapcontext(&home, &away[any(2)]);
	}
	munmap(stacks, 2 << 20);
}

/* ---- stacks that are freed ------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void test_smaller_stack(void)
{
	skip(1, "sanitizers do not know of such stacks");
}
#else
/*
 * run_there(top, arg) calls run_here(arg) on another stack, whose outermost frame belongs to
 * run_there().
 */
void run_here(int depth);
void run_there(char *top, int depth);

__asm__(ASSEMBLY_RUN_THERE);

#define SMALL	(64u << 10)
#define LARGE	(256u << 10)

static char *last_frame;
static size_t frame_bytes;
static struct xpu_slot there;
static const struct unwind_trace *trace_there;

NOINLINE void run_here(int depth)
{
	volatile char pad[16 << 10];

	pad[0] = depth;
	frame_bytes = last_frame - pad;
	last_frame = (char *)pad;
	if (depth)
		run_here(depth - 1);
	else
		walk(0, &there, trace_there);
	NO_TAIL_CALL();
	pad[0] = 0;
}

/*
 * Tests a coroutine's freed stack. A smaller stack replaces the inner part of the freed stack, and
 * has the same inner frames, but the memory of the outer frames no longer exists.
 */
static void test_smaller_stack(void)
{
	static union {
		struct unwind_trace trace;
		uint64_t room[1024];
	} kept;
	char *stack = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int nr_good = 0;
	size_t above;
	int depth;

	run_there(stack + LARGE - 64, 2);
	above = 8 * frame_bytes;
	for (depth = 0; depth < 3; depth++) {
		mprotect(stack, LARGE, PROT_READ | PROT_WRITE);
		trace_there = NULL;
		run_there(stack + SMALL - 64 + above, depth + 8);
		if (unwinder__trace_bytes(u) > sizeof(kept))
			break;
		if (unwinder__trace_bytes(u))
			unwinder__trace(u, &kept.trace);
		nr_good += there.nr_frames == (unsigned int)depth + 10;
		mprotect(stack + SMALL, LARGE - SMALL, PROT_NONE);
		trace_there = unwinder__trace_bytes(u) ? &kept.trace : NULL;
		run_there(stack + SMALL - 64, depth);
		nr_good += there.nr_frames == (unsigned int)depth + 2;
	}
	is_int(nr_good, 6, "after a larger stack, a smaller stack is walked right");
	munmap(stack, LARGE);
}
#endif

int main(void)
{
	const char *why;
	int level;

	setenv(XPU_MAX_FRAMES_ENV, "40", 1);
	unwind__init();
	why = unwind__message(&level);
	if (why) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	u = mmap(NULL, unwinder__bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);

	while (nr_walks < NR_WALKS)
		go_on(any(MAX_DEPTH / 3));
	is_int(nr_wrong, 0, "%u walks through calls that come and go are right", nr_walks);
	nr_walks = 0;
	while (nr_walks < NR_WALKS)
		go_on(MAX_DEPTH);
	is_int(nr_wrong, 0, "%u walks, some deeper than the limit, are right", nr_walks);
	ok(nr_cut > NR_WALKS / 20 && nr_cut < NR_WALKS * 2,
	   "%u walks deeper than the limit are cut", nr_cut);
	nr_walks = 0;
	test_stacks();
	is_int(nr_wrong, 0, "%u walks on three stacks in turns are right", nr_walks);
	ok(nr_again > NR_WALKS / 40, "%u times one of %u earlier walks is used again",
	   nr_again, nr_traced);
	test_smaller_stack();
	return done_testing();
}
