// SPDX-License-Identifier: MIT
/*
 * Launches are logged with the number of their call path. Each launch is received once, with its
 * own path, even if a log is full or being sent, or its thread is interrupted or ends. Memory
 * events get the number of the path on which they happen, even if launches use the same path.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "launch/allocs.h"
#include "launch/paths.h"
#include "tap.h"
#include "launch/unwind.h"
#include "xpu_slot.h"

#define BITS		14		/* bits of a call path: each bit selects the function at one
					 * level */
#define NR_PATHS	(1 << BITS)	/* more paths than a thread can remember */
#define NR_HELD		(4u * XPU_LOG_ENTRIES)	/* launches while a log is being sent */
#define NESTED_ID	0x70000000u
#define NESTED_CBID	1

static CUcontext context;
static CUfunction function;

/* ---- call paths ------------------------------------------------------------------------------ */

struct way {
	uint32_t bits;
	int left;			/* number of levels still to call */
	CUstream stream;
};

static void *return_addresses[2];	/* return addresses in step_0() and step_1() */

static void step_0(const struct way *way, int caller);
static void step_1(const struct way *way, int caller);
static void step_end(const struct way *way, int caller);

static void (*const steps[])(const struct way *, int) = { step_0, step_1, step_end };

static inline __attribute__((always_inline)) void step(const struct way *way, int me, int caller,
						       void *return_address)
{
	struct way next = { way->bits >> 1, way->left - 1, way->stream };
	static const uint8_t which[2][2] = { { 2, 2 }, { 0, 1 } };

	if (caller >= 0)
		__atomic_store_n(&return_addresses[caller], return_address, __ATOMIC_RELAXED);
	/* Call by a table, without branches, so that each function has exactly one such call. */
	steps[which[!!way->left][way->bits & 1]](&next, me);
	asm volatile("" : : "r"(&next) : "memory");	/* prevents a tail call */
}

static __attribute__((noinline)) void step_0(const struct way *way, int caller)
{
	step(way, 0, caller, __builtin_return_address(0));
}

static __attribute__((noinline)) void step_1(const struct way *way, int caller)
{
	step(way, 1, caller, __builtin_return_address(0));
}

static __attribute__((noinline)) void step_end(const struct way *way, int caller)
{
	(void)caller;
	device__launch(function, way->stream, 1);
	asm volatile("" : : : "memory");
}

static void launch(uint32_t bits, CUstream stream)
{
	struct way way = { bits >> 1, BITS - 1, stream };

	steps[bits & 1](&way, -1);
}

/*
 * Return: the number of the path that a received launch has; -1: it has none. Frames are ordered
 * from the innermost.
 */
static int heard_bits(const struct listener_launch *l)
{
	int bits = 0, nr = 0;
	uint32_t i, bit;

	for (i = 0; i < l->nr_frames; i++) {
		for (bit = 0; bit < 2; bit++)
			if (l->frames[i] == (uintptr_t)return_addresses[bit])
				break;
		if (bit < 2) {
			bits = bits << 1 | bit;
			nr++;
		}
	}
	return nr == BITS ? bits : -1;
}

/*
 * Return: how many of the @nr launches from number @from on do not have the expected paths @first,
 * @first + @by, ... modulo @mod.
 */
static int nr_wrong(uint32_t from, uint32_t nr, uint32_t first, uint32_t by, uint32_t mod)
{
	uint32_t i;
	int wrong = 0;

	listener__sort_launches(from);
	for (i = 0; i < nr; i++)
		wrong += heard_bits(&listener.launches[from + i]) !=
			 (int)((first + i * by) % mod);
	return wrong;
}

/* ---- interruptions --------------------------------------------------------------------------- */

static pid_t nesting;		/* the thread that launches while it sends its log */

static void nested(void)
{
	if (gettid() == nesting)
		device__call_back(NESTED_ID);
	else
		listener__interrupt_log = nested;
}

static void *short_life(void *arg)
{
	CUstream stream;
	int i;

	(void)arg;
	cuCtxSetCurrent(context);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < 5; i++)
		launch(42, stream);
	cuStreamDestroy(stream);
	return NULL;
}

/* ---- guesses --------------------------------------------------------------------------------- */

static struct paths *own_paths;
static struct unwinder *unwinder;
static unsigned int nr_right;

static const struct unwind_trace *again(void *slot, const struct unwind_miss *miss)
{
	return paths__guess_again(own_paths, slot, PYTHON_OFF, miss);
}

/* Launches with a guessed path, as launch.c does. */
static __attribute__((noinline)) void launch_by_guess(uint32_t id)
{
	struct xpu_slot slot = { .size = sizeof(slot), .correlation_id = id, .cbid = NESTED_CBID,
				 .domain = CUPTI_CB_DOMAIN_DRIVER_API };
	const struct unwind_trace *guess = paths__guess(own_paths, &slot, PYTHON_OFF);

	if (unwinder__chain(unwinder, 0, &slot, guess, again, &slot)) {
		paths__tell_guessed(own_paths, &slot);
		nr_right++;
	} else {
		paths__tell_walked(own_paths, &slot, unwinder, NULL, PYTHON_OFF);
	}
}

static __attribute__((noinline)) void here(uint32_t id)
{
	launch_by_guess(id);
	asm volatile("");
}

static __attribute__((noinline)) void there(uint32_t id)
{
	launch_by_guess(id);
	asm volatile("");
}

/* Makes launches whose frames are equal, but at different stack addresses. */
static __attribute__((noinline)) void anywhere(uint32_t id, size_t bytes)
{
	volatile char *pad = __builtin_alloca(bytes);

	pad[0] = 0;
	launch_by_guess(id);
	asm volatile("" : : "r"(pad) : "memory");
}

#define PLACE(n)							\
	static __attribute__((noinline)) void place_##n(uint32_t id)	\
	{								\
		launch_by_guess(id);					\
		asm volatile("");					\
	}

PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7)
PLACE(8) PLACE(9) PLACE(10) PLACE(11) PLACE(12) PLACE(13) PLACE(14) PLACE(15)

#define NR_PLACES	16
#define NR_RANDOM	4000

static void (*const places[NR_PLACES])(uint32_t id) = {
	place_0, place_1, place_2, place_3, place_4, place_5, place_6, place_7,
	place_8, place_9, place_10, place_11, place_12, place_13, place_14, place_15,
};

/*
 * Launches in random order, sometimes through an additional function. Nearly every guess is wrong,
 * and the path that is found instead is right.
 */
static __attribute__((noinline)) void through(unsigned int place, uint32_t id)
{
	places[place](id);
	asm volatile("");
}

static void test_random_order(uint32_t *id)
{
	static unsigned int order[NR_RANDOM];
	uint64_t first_frame[2 * NR_PLACES] = { 0 };
	unsigned int seed = 1, nr_wrong_frames = 0;
	uint32_t before, i, k;

	paths__send(own_paths);
	before = heard(nr_launches);
	nr_right = 0;
	for (i = 0; i < NR_RANDOM; i++) {
		seed = seed * 1103515245u + 12345u;
		order[i] = seed >> 16 & (2 * NR_PLACES - 1);
		if (order[i] < NR_PLACES)
			places[order[i]](++*id);
		else
			through(order[i] - NR_PLACES, ++*id);
	}
	paths__send(own_paths);
	is_int(heard(nr_launches) - before, NR_RANDOM, "random order: all launches are received");
	ok(nr_right >= NR_RANDOM - 200, "random order: %u launches are not unwound", nr_right);
	listener__sort_launches(before);
	for (i = 0; i < NR_RANDOM; i++) {
		const struct listener_launch *l = &listener.launches[before + i];
		/*
		 * Launches differ in the innermost frame. With the additional function, they also
		 * differ in the number of frames.
		 */
		uint64_t frame = l->frames[0] ^ (uint64_t)l->nr_frames << 56;

		if (!first_frame[order[i]])
			first_frame[order[i]] = frame;
		nr_wrong_frames += first_frame[order[i]] != frame;
	}
	for (i = 0; i < 2 * NR_PLACES; i++)
		for (k = 0; k < i; k++)
			nr_wrong_frames += first_frame[i] == first_frame[k];
	is_int(nr_wrong_frames, 0, "random order: each launch has the frames of its own path");
}

static void *pages(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * Tests launches that repeat in a cycle. From the second cycle, every guess is right, and nothing
 * is unwound.
 */
static void test_guesses(void)
{
	uint32_t before = heard(nr_launches), id = NESTED_ID;
	struct xpu_slot slot = { .size = sizeof(slot) };
	int i;

	own_paths = pages(paths__bytes());
	unwinder = pages(unwinder__bytes());
	if (own_paths == MAP_FAILED || unwinder == MAP_FAILED)
		bail("no memory");
	paths__start(own_paths, &slot);
	for (i = 0; i < 100; i++) {
		here(++id);
		there(++id);
		there(++id);
	}
	paths__send(own_paths);
	is_int(heard(nr_launches) - before, 300,
	       "two paths in a cycle of three: all launches are received");
	ok(nr_right >= 290 - 5,
	   "two paths in a cycle of three: %u launches are not unwound", nr_right);
	nr_right = 0;
	for (i = 0; i < 100; i++) {
		here(++id);
		there(++id);
	}
	ok(nr_right >= 190, "two alternating paths: %u of 200 launches are not unwound", nr_right);
	nr_right = 0;
	for (i = 0; i < 200; i++) {
		anywhere(++id, i % 2 ? 16 : 1000);
		if (i % 2)
			here(++id);
		else
			there(++id);
	}
	ok(nr_right >= 380,
	   "one path on two stacks, each before another path: %u of 400 launches are not unwound",
	   nr_right);
	test_random_order(&id);
	for (i = 0; i < 1000; i++)	/* from more call sites than the table holds */
		anywhere(++id, 16 + i * 7 % 40 * 16);
	paths__send(own_paths);
	is_int(heard(nr_launches) - before, 300 + 200 + 400 + NR_RANDOM + 1000,
	       "cycles: all launches are received");
	paths__send(own_paths);
	paths__free(own_paths);
	munmap(own_paths, paths__bytes());
	munmap(unwinder, unwinder__bytes());
}

/* ---- pages that are not mapped --------------------------------------------------------------- */

#define NR_UNMAPPED	900		/* launches: their entries span several pages */

static int pagemap;
static unsigned int nr_seen, nr_unmapped;	/* pages of the log */

/* Called before the log is read. BPF reads a log with page faults off. */
static void see_pages(void)
{
	uint64_t from = (uintptr_t)own_paths + paths__log_at(), page = sysconf(_SC_PAGESIZE),
		 present;
	uint64_t end = from + sizeof(struct xpu_log) + NR_UNMAPPED * sizeof(struct xpu_log_entry);

	for (from -= from % page; from < end; from += page) {
		if (pread(pagemap, &present, sizeof(present), from / page * 8) != sizeof(present))
			bail("cannot read the page map");
		nr_unmapped += !(present >> 63);
		nr_seen++;
	}
}

/*
 * Tests a log whose pages the kernel unmaps before the log is sent, as when the kernel swaps them
 * out or migrates them.
 */
static void test_unmapped(void)
{
	uint32_t before = heard(nr_launches), id = NESTED_ID;
	struct xpu_slot slot = { .size = sizeof(slot) };
	int fd = memfd_create("paths", 0), i;

	pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (pagemap < 0 || fd < 0 || ftruncate(fd, paths__bytes()))
		bail("no page map, or no memory");
	own_paths = mmap(NULL, paths__bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unwinder = pages(unwinder__bytes());
	if (own_paths == MAP_FAILED || unwinder == MAP_FAILED)
		bail("no memory");
	paths__start(own_paths, &slot);
	for (i = 0; i < NR_UNMAPPED; i++)
		here(++id);
	if (madvise(own_paths, paths__bytes(), MADV_DONTNEED))	/* the memfd keeps the data */
		bail("madvise failed");
	listener__interrupt_log = see_pages;
	paths__send(own_paths);
	is_int(heard(nr_launches) - before, NR_UNMAPPED,
	       "a log of several pages: all launches are received");
	ok(nr_seen && !nr_unmapped,
	   "a log of %u pages: %u are not mapped when the kernel reads them", nr_seen,
	   nr_unmapped);
	paths__free(own_paths);
	munmap(own_paths, paths__bytes());
	munmap(unwinder, unwinder__bytes());
	close(pagemap);
	close(fd);
}

/* ---- memory events --------------------------------------------------------------------------- */

static struct unwinder *real_unwinder;	/* always unwinds */
static enum python_mode event_mode;
static unsigned int nr_events, nr_walked, nr_wrong_frames;
static uint32_t launch_id = NESTED_ID;

/* Makes a memory event, as launch.c does, and compares its path with the actual stack. */
static __attribute__((noinline)) void event(void)
{
	struct xpu_slot slot, whole = { .size = sizeof(whole) }, real = whole;
	const struct listener_path *path;
	uint32_t id;

	id = paths__number(own_paths, unwinder, &slot, XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH,
			   event_mode);
	if (id > XPU_MAX_PATHS) {
		whole.cbid = slot.cbid;
		whole.domain = slot.domain;
	}
	if (id == PATHS_WALKED) {
		whole.flags = slot.flags;
		whole.frames = slot.frames;
		whole.nr_frames = slot.nr_frames;
		id = paths__number_walked(own_paths, &whole, unwinder, NULL, event_mode);
		nr_walked++;
	} else if (id == PATHS_UNTOLD) {
		id = paths__define(own_paths, &whole);
	}
	unwinder__chain(real_unwinder, 0, &real, NULL, NULL, NULL);	/* notices new code */
	unwinder__chain(real_unwinder, 1, &real, NULL, NULL, NULL);	/* unwinds completely,
									 * without comparing */
	path = &listener.paths[id % LISTENER_PATHS];
	nr_events++;
	/* The first frame of the event is in this function. */
	nr_wrong_frames += !id || path->cbid != XPU_ALLOCATOR_TORCH || path->flags != real.flags ||
			   path->nr_frames != real.nr_frames + 1 ||
			   memcmp(path->frames + 1, (const void *)(uintptr_t)real.frames,
				  real.nr_frames * sizeof(uint64_t)) != 0;
}

static __attribute__((noinline)) void allocate(int depth)
{
	if (depth)
		allocate(depth - 1);
	else
		event();
	asm volatile("");
}

static __attribute__((noinline)) void kernel(void)
{
	launch_by_guess(++launch_id);
	asm volatile("");
}

/* A call path: a few functions, each with more or less stack, and an action at the end. */
struct plan {
	uint32_t bits;			/* the function at each level */
	uint32_t pads;			/* 2 bits for each level */
	int left;			/* number of levels */
	unsigned int what;
};

enum { ALLOCATES = 1, ALLOCATES_TWICE = 2, LAUNCHES = 4, SIGNALS = 8 };

static void branch_0(const struct plan *plan);
static void branch_1(const struct plan *plan);

static __attribute__((noinline)) void operate(const struct plan *plan)
{
	if (plan->what & ALLOCATES)
		allocate(2);
	if (plan->what & ALLOCATES_TWICE)
		allocate(plan->bits & 3);
	if (plan->what & SIGNALS)
		raise(SIGUSR1);
	if (plan->what & LAUNCHES)
		kernel();
	asm volatile("");
}

static inline __attribute__((always_inline)) void branch(const struct plan *plan)
{
	static void (*const next[])(const struct plan *) = { branch_0, branch_1, operate };
	struct plan rest = { plan->bits >> 1, plan->pads >> 2, plan->left - 1, plan->what };
	volatile char *pad = __builtin_alloca((plan->pads & 3) * 32 + 16);

	pad[0] = 0;
	next[rest.left < 0 ? 2 : plan->bits & 1](&rest);
	asm volatile("" : : "r"(&rest), "r"(pad) : "memory");
}

static __attribute__((noinline)) void branch_0(const struct plan *plan)
{
	branch(plan);
}

static __attribute__((noinline)) void branch_1(const struct plan *plan)
{
	branch(plan);
}

static __attribute__((noinline)) void run(const struct plan *plan)
{
	branch_0(plan);
	asm volatile("");
}

static struct plan handlers_plan;

static void handler(int sig)
{
	(void)sig;
	run(&handlers_plan);
}

static unsigned int next_random(unsigned int limit)
{
	static unsigned int seed = 7;

	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % limit;
}

/* A program step: several call paths in sequence. */
#define NR_OPS	16

static void step_of(unsigned int nr, uint32_t pads)
{
	struct plan plan = { .left = 12 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		plan.bits = i * 0x155;
		plan.pads = pads;
		plan.what = ALLOCATES | LAUNCHES | (i % 3 ? 0 : ALLOCATES_TWICE);
		run(&plan);
	}
}

/* Makes all steps at one place in the code. The counts begin at the fifth step. */
static __attribute__((noinline)) void same_steps(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (i == 4)
			nr_walked = nr_right = 0;
		step_of(NR_OPS, 0);
	}
}

static void random_steps(int nr)
{
	static const uint32_t what[] = {
		ALLOCATES | LAUNCHES, ALLOCATES, LAUNCHES, ALLOCATES | ALLOCATES_TWICE | LAUNCHES,
		ALLOCATES_TWICE | LAUNCHES,
	};
	struct plan plan;

	while (nr--) {
		plan = (struct plan){
			.bits = next_random(32), .left = 12, .what = what[next_random(5)],
			/*
			 * Often one of the two outermost functions uses more stack, so that the
			 * frames inside it move.
			 */
			.pads = next_random(3) ? 0 : next_random(2) ? 0x000001 : 0x000004,
		};
		run(&plan);
	}
}

static void other_stack_steps(int nr)
{
	struct plan plan = { .left = 12 };
	int i;

	for (i = 0; i < nr; i++) {
		plan.bits = i % 5;
		plan.what = ALLOCATES | SIGNALS | LAUNCHES;
		handlers_plan =
			(struct plan){ .bits = i % 3, .left = 5, .what = ALLOCATES | LAUNCHES };
		run(&plan);
	}
}

/* Events in short and in long form are received as they were sent. */
static void test_forms(void)
{
	static const struct {
		uint64_t address, bytes, order;
		uint32_t extra;
	} v[] = {
		{ 0x7f0000000000, 512, 1, 0 }, { 0, 0, 2, 0 }, { 0x7f0000000200, 511, 3, 0 },
		{ 0xffffffffffff, (1ull << 38) - 512, 0xfffffffffffe, 0 },
		{ 0xffffffffffff, (1ull << 38) - 511, 0xffffffffffff, 0 },
		{ 0x1000, 1ull << 38, 5, 0 }, { 1ull << 48, 1024, 6, 0 }, { UINT64_MAX, 0, 7, 2 },
		{ 0x2000, UINT64_MAX, 8, 0 }, { 0x3000, 8191 * 512, 9, 0 },
		{ 0x3000, 8192 * 512, 10, 0 },
		{ 0x4000, 0x123456789 * 512 % (1ull << 38), 0x123456789abc, 0 },
		{ 0x5000, 512, 11, 1 }, { 0x6000, 512, 12, UINT32_MAX },
	};
	uint32_t before, i, wrong = 0;
	const struct listener_alloc *l;
	struct alloc a;

	paths__send(own_paths);
	before = heard(nr_allocs);
	for (i = 0; i < 1000; i++) {
		a = (struct alloc){
			.what = i % 2 ? XPU_ALLOC_FREED : XPU_ALLOC_MADE, .space = i % XPU_SPACE_NR,
			.device = i % 3 ? i % XPU_ALLOC_NO_DEVICE : XPU_ALLOC_NO_DEVICE,
			.address = v[i % 14].address, .bytes = v[i % 14].bytes,
			.order = v[i % 14].order, .extra = v[i % 14].extra,
		};
		if (!paths__alloc(own_paths, &a, 0))
			wrong++;
	}
	paths__send(own_paths);
	is_int(heard(nr_allocs) - before, 1000, "events with numbers of all sizes are received");
	for (i = 0; i < 1000; i++) {
		l = &listener.allocs[before + i];
		wrong += l->what != (i % 2 ? XPU_ALLOC_FREED : XPU_ALLOC_MADE) ||
			 l->space != i % XPU_SPACE_NR ||
			 l->device != (i % 3 ? i % XPU_ALLOC_NO_DEVICE : XPU_ALLOC_NO_DEVICE) ||
			 l->address != v[i % 14].address || l->bytes != v[i % 14].bytes ||
			 l->order != v[i % 14].order || l->extra != v[i % 14].extra || l->path_id;
	}
	is_int(wrong, 0, "events with numbers of all sizes are as they were sent");
}

static void test_events(void)
{
	static const char *const others[] = {
		"libanl.so.1", "libBrokenLocale.so.1", "libutil.so.1", "libthread_db.so.1",
	};
	struct sigaction sa = { .sa_handler = handler }, old;
	struct xpu_slot slot = { .size = sizeof(slot) };
	static char stack[256 << 10];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	stack_t old_stack;
	struct plan plan;
	unsigned int i;
	void *other;

	own_paths = pages(paths__bytes());
	unwinder = pages(unwinder__bytes());
	real_unwinder = pages(unwinder__bytes());
	if (own_paths == MAP_FAILED || unwinder == MAP_FAILED || real_unwinder == MAP_FAILED)
		bail("no memory");
	paths__start(own_paths, &slot);

	same_steps(24);
	test_forms();
	is_int(nr_walked, 0, "events before launches, in a cycle: no event is unwound");
	is_int(nr_right, 20 * NR_OPS, "events before launches, in a cycle: no launch is unwound");

	/* The frames stay the same, but move to other addresses: chains are written again. */
	for (i = 0; i < 200; i++)
		step_of(NR_OPS, i % 3 ? 0 : i % 2 ? 0x010000 : 0x000004);
	random_steps(8000);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		other = dlopen(others[i], RTLD_NOW);
		step_of(NR_OPS, 0);
		if (other)
			dlclose(other);
		step_of(NR_OPS, 0);
	}
	same_steps(24);
	is_int(nr_walked, 0, "after code was loaded, no event is unwound again");
	is_int(nr_wrong_frames, 0,
	       "after code was loaded, each of %u events has its own frames", nr_events);

	nr_events = 0;
	for (i = 0; i < 200; i++) {
		paths__new_listener();
		step_of(i % NR_OPS, 0);
	}
	is_int(nr_wrong_frames, 0,
	       "with new listeners each of %u events has its own frames", nr_events);

	nr_events = 0;
	sigaction(SIGUSR1, &sa, &old);
	other_stack_steps(500);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, NULL);
	sigaltstack(&alternate, &old_stack);
	other_stack_steps(500);
	sigaltstack(&old_stack, NULL);
	sigaction(SIGUSR1, &old, NULL);
	is_int(nr_wrong_frames, 0,
	       "in signal handlers each of %u events has its own frames", nr_events);

	nr_events = 0;
	for (i = 0; i < 400; i++) {
		event_mode = i % 7 ? PYTHON_OFF : PYTHON_ON;
		step_of(NR_OPS, 0);
	}
	event_mode = PYTHON_OFF;
	is_int(nr_wrong_frames, 0,
	       "after the kinds of frames changed each of %u events has its own frames", nr_events);

	/* More paths and places than fit into the tables, including the step's own paths. */
	nr_events = 0;
	for (i = 0; i < 3 * NR_PATHS; i++) {
		plan = (struct plan){
			.bits = i * 12345 % NR_PATHS, .left = 12, .what = ALLOCATES | LAUNCHES,
			.pads = i / NR_PATHS,
		};
		run(&plan);
		if (!(i % 64))
			step_of(NR_OPS, 0);
	}
	is_int(nr_wrong_frames, 0,
	       "all paths are forgotten from time to time: each of %u events has its own "
	       "frames", nr_events);
	paths__send(own_paths);
	paths__free(own_paths);
	munmap(own_paths, paths__bytes());
	munmap(unwinder, unwinder__bytes());
	munmap(real_unwinder, unwinder__bytes());
}

int main(int argc, char **argv)
{
	uint32_t before, logs, paths, i;
	pthread_t threads[16];
	CUstream stream;
	CUmodule module;

	listener.keep_frames = true;
	listener__attach();
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	launch(0, stream);
	launch(NR_PATHS - 1, stream);
	before = listener__settle();

	if (argc > 1) {
		for (i = 0; i < 1000; i++)
			launch(i % 10, stream);
		cuStreamSynchronize(stream);
		return heard(nr_launches) - before == 1000 && !heard(nr_logs) &&
			!heard(nr_paths) && !heard(nr_bad) &&
			!nr_wrong(before, 1000, 0, 1, 10) ? 0 : 1;
	}

	logs = heard(nr_logs);
	for (i = 0; i < 10000; i++)
		launch(i * 7 % 10, stream);
	is_int(listener__settle() - before, 10000, "ten paths in turns: all launches are received");
	is_int(nr_wrong(before, 10000, 0, 7, 10), 0,
	       "ten paths in turns: each launch has its own path");
	ok(heard(nr_logs) - logs < 10000 / 10,
	   "ten paths in turns: the launches come in only %u logs",
	   heard(nr_logs) - logs);

	before = listener__settle();
	for (i = 0; i < 3 * NR_PATHS; i++)
		launch((5 + i * 12345) % NR_PATHS, stream);
	is_int(listener__settle() - before, 3 * NR_PATHS,
	       "more paths than can be kept: all launches are received");
	is_int(nr_wrong(before, 3 * NR_PATHS, 5, 12345, NR_PATHS), 0,
	       "more paths than can be kept: each launch has its own path");
	cuStreamSynchronize(stream);

	before = listener__settle();
	for (i = 0; i < 3; i++)
		launch(i, stream);
	is_int(listener__settle() - before, 3,
	       "the log of a quiet thread is sent by another thread");

	before = listener__settle();
	nesting = gettid();
	listener__interrupt_log = nested;
	for (i = 0; i < 3 * XPU_LOG_ENTRIES; i++)
		launch(7, stream);
	is_int(listener__settle() - before, 3 * XPU_LOG_ENTRIES + 1,
	       "a launch interrupts the sending of a log: all launches are received");
	listener__sort_launches(before);
	is_int(listener.launches[before + 3 * XPU_LOG_ENTRIES].correlation_id, NESTED_ID,
	       "a launch interrupts the sending of a log: the launch has its own id");
	is_int(nr_wrong(before, 3 * XPU_LOG_ENTRIES, 7, 0, NR_PATHS), 0,
	       "a launch interrupts the sending of a log: the other launches have their path");

	before = listener__settle();
	listener__interrupt_log = listener__hold;
	for (i = 0; i < NR_HELD; i++) {
		launch(9, stream);
		/*
		 * The first launch called the probe; the second launch is in the log, which the
		 * shim's thread sends.
		 */
		if (i == 1)
			listener__wait_held();
	}
	ok(heard(nr_launches) - before >= NR_HELD - 2 * XPU_LOG_ENTRIES,
	   "another thread sends the log: meanwhile %u launches are sent without the log",
	   heard(nr_launches) - before);
	listener__let_go();
	is_int(listener__settle() - before, NR_HELD,
	       "another thread sends the log: in the end all launches are received once");
	is_int(nr_wrong(before, NR_HELD, 9, 0, NR_PATHS), 0,
	       "another thread sends the log: all launches have their path");

	before = listener__settle();
	for (i = 0; i < 16; i++)
		pthread_create(&threads[i], NULL, short_life, NULL);
	for (i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	is_int(heard(nr_launches) - before, 16 * 5, "threads send their logs before they end");

	before = heard(nr_repeated_paths);
	listener__hello(true);
	ok(listener__wait(&listener.nr_repeated_paths, before + 5),
	   "a second listener gets the paths, too");
	listener__hello(false);

	/*
	 * Entries that are logged while the last listener leaves are not sent to the next listener.
	 */
	launch(3, stream);
	before = listener__settle();
	listener__detach();
	for (i = 0; i < 10; i++)
		launch(3, stream);
	pause_ms(300);
	paths = heard(nr_repeated_paths);
	listener__attach();
	listener__wait(&listener.nr_repeated_paths, paths + 1);	/* the shim is awake */
	listener__settle();
	is_int(heard(nr_launches) - before, 0, "launches made without a listener are not received");
	for (i = 0; i < 10; i++)
		launch(3, stream);
	is_int(listener__settle() - before, 10, "all launches made with a listener are received");
	is_int(nr_wrong(before, 10, 3, 0, NR_PATHS), 0,
	       "all launches made with a listener have their path");

	cuStreamSynchronize(stream);
	listener__settle();
	is_int(heard(counters.nr_launches), heard(nr_launches), "the shim's own count is right");
	test_guesses();
	test_unmapped();
	test_events();
	is_int(listener__run(argv[0], "launch", XPU_PROBE_ENV, "launch"), 0,
	       "XPUSHIM_PROBE=launch calls the probe for each launch");
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	cuModuleUnload(module);
	return done_testing();
}
