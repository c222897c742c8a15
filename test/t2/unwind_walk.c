// SPDX-License-Identifier: MIT
/*
 * Tests the unwinder alone, by a comparison with the compiler's own unwinder (_Unwind_Backtrace):
 * known and unknown code, libraries that are loaded and unloaded, locks of the dynamic loader that
 * another thread holds, and misleading stacks. Then tests that a warm walk makes no system call and
 * keeps errno.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "assembly.h"
#include "tap.h"
#include "launch/unwind.h"
#include "xpu_record.h"

#define NOINLINE	__attribute__((noinline))
#define NO_TAIL_CALL()	__asm__ volatile("" : : : "memory")
#define MAX		XPU_MAX_FRAMES

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED	true
#else
#define SANITIZED	false
#endif

struct _Unwind_Context;
int _Unwind_Backtrace(int (*fn)(struct _Unwind_Context *, void *), void *arg);
uintptr_t _Unwind_GetIPInfo(struct _Unwind_Context *context, int *ip_before_insn);
void launch(void);		/* called by plug-ins */

struct chain {
	uint64_t frames[MAX];
	unsigned int nr, flags;
};

static __thread struct unwinder *u;
static __thread struct chain mine, theirs;
static int nr_same, nr_differ;

static __thread bool is_loading;	/* this code runs in the constructor of a library that is
					 * being loaded */
static bool walked_in_constructor;

static bool thread_can_walk(void);

static int take_frame(struct _Unwind_Context *context, void *arg)
{
	struct chain *c = arg;
	int exact = 0;
	uintptr_t ip = _Unwind_GetIPInfo(context, &exact);

	if (c->nr == MAX || !ip)
		return 5;		/* _URC_END_OF_STACK */
	/*
	 * Two addresses in a chain are not return addresses: the address of the instruction that a
	 * signal interrupted, and the address to which the signal handler returns.
	 */
	if (exact && c->nr)
		c->frames[c->nr - 1]++;
	c->frames[c->nr++] = ip + !!exact;
	return 0;
}

static void need_unwinder(void)
{
	if (!u)
		u = mmap(NULL, unwinder__bytes(), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Makes the call chain of the caller's caller, as the shim does. */
static NOINLINE void walk(unsigned int level)
{
	struct xpu_slot slot;

	need_unwinder();
	unwinder__chain(u, level, &slot, NULL, NULL, NULL);
	mine.nr = slot.nr_frames;
	mine.flags = slot.flags;
	if (mine.nr)
		memcpy(mine.frames, (void *)(uintptr_t)slot.frames, 8ull * mine.nr);
}

static void show(const char *what, const struct chain *c)
{
	unsigned int i;
	Dl_info info;

	for (i = 0; i < c->nr; i++) {
		info.dli_sname = info.dli_fname = NULL;
		dladdr((void *)(c->frames[i] - 1), &info);
		diag("%s %2u %#llx %s %s", what, i, (unsigned long long)c->frames[i],
		     info.dli_sname ?: "?", info.dli_fname ?: "?");
	}
	diag("%s flags %u", what, c->flags);
}

/*
 * Walks from here with the shim's and with the compiler's unwinder. Return: whether the chains
 * agree and the shim's chain is complete.
 */
static NOINLINE bool check(unsigned int level)
{
	bool same;

	walk(level);
	theirs.nr = 0;
	_Unwind_Backtrace(take_frame, &theirs);
	/*
	 * Both chains begin in this function, at different calls; all other frames must be equal.
	 */
	same = mine.nr == theirs.nr && mine.nr > 1 && !mine.flags &&
	       !memcmp(mine.frames + 1, theirs.frames + 1, 8ull * (mine.nr - 1));
	/* The compiler's unwinder stops where the linkage table has no unwind information. */
	same |= ASSEMBLY_BARE_STUBS && mine.nr > theirs.nr && theirs.nr > 1 && !mine.flags &&
		!memcmp(mine.frames + 1, theirs.frames + 1, 8ull * (theirs.nr - 1));
	if (!same && !__atomic_fetch_add(&nr_differ, 1, __ATOMIC_SEQ_CST)) {
		show("ours", &mine);
		show("theirs", &theirs);
	}
	if (same)
		__atomic_fetch_add(&nr_same, 1, __ATOMIC_SEQ_CST);
	return same;
}

void launch(void)
{
	if (is_loading)
		walked_in_constructor = thread_can_walk();
	check(0);
	NO_TAIL_CALL();
}

static void agree(const char *what)
{
	ok(nr_same && !nr_differ, "%s: %d chains are equal, %d differ", what, nr_same, nr_differ);
	nr_same = nr_differ = 0;
}

/* ---- known code ------------------------------------------------------------------------------ */

static NOINLINE int recurse(int depth, void (*f)(void))
{
	int sum = depth;

	if (!depth) {
		f();
		return 0;
	}
	__asm__ volatile("" : "+m"(sum));
	return recurse(depth - 1, f) + sum;
}

static int compare(const void *a, const void *b)
{
	launch();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	launch();
	NO_TAIL_CALL();
}

static void test_known(void)
{
	int numbers[] = { 4, 2, 3, 1 }, i;

	for (i = 0; i < 300; i++)
		recurse(i, launch);
	agree("recursion, 0 to 299 deep");

	qsort(numbers, 4, sizeof(numbers[0]), compare);
	agree("through the C library");

	signal(SIGUSR1, on_signal);
	for (i = 0; i < 3; i++)
		raise(SIGUSR1);
	agree("from a signal handler");

	for (i = 0; i < UNWIND_LEVELS; i++)
		ok(check(i), "interrupting %d others", i);
	walk(UNWIND_LEVELS);
	is_int(mine.nr, 0,
	       "a walk that interrupts too many other walks is left to the BPF program");
	nr_same = nr_differ = 0;
}

/*
 * A timer's signal interrupts any instruction: in prologues, in the linkage table, in the vdso,
 * during another walk. A walk that interrupts another walk has another level, as in the shim.
 */
static volatile sig_atomic_t walking, nr_interrupted;

static void on_timer(int sig)
{
	(void)sig;
	nr_interrupted += walking;
	check(walking);
}

static int compare_plainly(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void work_plainly(void)
{
	char text[100];
	int numbers[64], i;
	struct timespec ts;

	for (i = 0; i < 64; i++)
		numbers[i] = i * 7919 % 64;
	qsort(numbers, 64, sizeof(numbers[0]), compare_plainly);
	for (i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "%d %.3f", numbers[i], i / 3.0);
		(void)strtod(text, NULL);
		clock_gettime(CLOCK_MONOTONIC, &ts);
	}
}

static void walk_plainly(void)
{
	struct xpu_slot slot;
	int i;

	for (i = 0; i < 50; i++) {
		walking = 1;
		unwinder__chain(u, 0, &slot, NULL, NULL, NULL);
		walking = 0;
	}
}

static void test_anywhere(void)
{
	/* An emulator is too slow to make progress between frequent signals. */
	const long apart_ns = getenv("XPU_EMULATED") ? 5000000 : 50000;
	struct itimerspec often = { { 0, apart_ns }, { 0, apart_ns } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct timespec now, end;
	timer_t timer;

	sigaction(SIGPROF, &sa, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 2;
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &often, NULL);
	do {
		work_plainly();
		recurse(10, walk_plainly);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	timer_delete(timer);
	note("%d signals interrupted a walk", (int)nr_interrupted);
	agree("at any instruction");
}

static unsigned int deep_nr, deep_flags;

static void walk_only(void)
{
	walk(0);
	deep_nr = mine.nr;
	deep_flags = mine.flags;
	NO_TAIL_CALL();
}

static void test_depth(void)
{
	unsigned int base;

	recurse(0, walk_only);
	base = deep_nr;
	recurse(MAX - base, walk_only);
	is_int(deep_nr, MAX, "a chain of the maximum depth has all frames");
	is_int(deep_flags, 0, "a chain of the maximum depth is complete");
	recurse(MAX - base + 1, walk_only);
	is_int(deep_nr, MAX, "a chain one frame deeper has the same number of frames");
	is_int(deep_flags, XPU_CHAIN_TRUNCATED, "a chain one frame deeper is marked as truncated");
}

/* ---- libraries that come and go -------------------------------------------------------------- */

static void (*use(const char *name, void **handle))(void (*)(void))
{
	void (*work)(void (*)(void));
	char path[4096];

	snprintf(path, sizeof(path), "%s/workload/%s", getenv("XPU_BUILD"), name);
	*handle = dlopen(path, RTLD_NOW);
	if (!*handle)
		bail("%s", dlerror());
	*(void **)&work = dlsym(*handle, "plugin_work");
	return work;
}

static void test_plugins(void)
{
	void (*work[2])(void (*)(void)), *handle;
	int i, same_place = 0;

	for (i = 0; i < 10; i++) {
		work[i % 2] = use(i % 2 ? "stacks_b.so" : "stacks_a.so", &handle);
		work[i % 2](launch);
		work[i % 2](launch);
		dlclose(handle);
		same_place += i && work[0] == work[1];
	}
	note("%d of 9 times another library was in the place of the last one", same_place);
	agree("libraries that replace one another");
}

struct first {
	pthread_t thread;
	bool done;
};

static void *first_walk(void *arg)
{
	struct first *first = arg;

	recurse(10, launch);
	__atomic_store_n(&first->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Return: whether a thread that has never walked can walk while the caller holds the locks. */
static bool thread_can_walk(void)
{
	struct timespec pause = { 0, 1000000 };
	struct first *first = calloc(1, sizeof(*first));
	int i;

	pthread_create(&first->thread, NULL, first_walk, first);
	for (i = 0; i < 5000 && !__atomic_load_n(&first->done, __ATOMIC_SEQ_CST); i++)
		nanosleep(&pause, NULL);
	if (i == 5000)
		return false;
	pthread_join(first->thread, NULL);
	free(first);
	return true;
}

static int in_iterate(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	*(bool *)data = thread_can_walk();
	return 1;
}

static void test_loader_locks(void)
{
	bool walked = false;
	void *handle;

	launch();	/* before glibc 2.35, the first look-up after a change takes the lock */
	dl_iterate_phdr(in_iterate, &walked);
	ok(walked, "while dl_iterate_phdr() holds its lock, another thread walks for the first "
	   "time");
	is_loading = true;
	use("stacks_a.so", &handle);
	is_loading = false;
	ok(walked_in_constructor,
	   "while a constructor holds the loader's lock, another thread walks");
	dlclose(handle);
	agree("around the loader's locks");
}

/* ThreadSanitizer does not know the dynamic loader's locks. The loader may have no symbols. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:_dl_\nrace:ld-linux\n";
}

/* ---- all of these at once -------------------------------------------------------------------- */

#define NR_LOADERS	3
#define NR_WALKERS	3
#define STRESS_S	2

static bool stop;

static void *loader(void *arg)
{
	char path[4096], own[64], command[8300];
	void (*work)(void (*)(void)), *handle;
	int id = (intptr_t)arg;

	snprintf(path, sizeof(path), "%s/workload/%s", getenv("XPU_BUILD"),
		 id % 2 ? "stacks_a.so" : "stacks_b.so");
	snprintf(own, sizeof(own), "./own%d.so", id);
	snprintf(command, sizeof(command), "cp '%s' %s", path, own);
	if (system(command))
		return NULL;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		handle = dlopen(own, RTLD_NOW);	/* its constructor calls launch() */
		if (!handle)
			continue;
		*(void **)&work = dlsym(handle, "plugin_work");
		work(launch);
		dlclose(handle);		/* its destructor calls launch(), too */
	}
	return NULL;
}

static void *walker(void *arg)
{
	int i = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		recurse(i++ % 30, launch);
	return arg;
}

static void test_stress(void)
{
	pthread_t threads[NR_LOADERS + NR_WALKERS];
	struct timespec pause = { STRESS_S, 0 };
	int i;

	for (i = 0; i < NR_LOADERS + NR_WALKERS; i++)
		pthread_create(&threads[i], NULL, i < NR_LOADERS ? loader : walker,
			       (void *)(intptr_t)i);
	nanosleep(&pause, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < NR_LOADERS + NR_WALKERS; i++)
		pthread_join(threads[i], NULL);
	agree("launches in constructors, while other threads load, unload and launch");
}

/* ---- code without unwind information --------------------------------------------------------- */

static unsigned char *code;
static size_t code_used;

static void *emit(const void *bytes, size_t size)
{
	unsigned char *at;

	if (!code)
		code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = code + code_used;
	code_used += (size + 63) & ~(size_t)63;
	memcpy(at, bytes, size);
	__builtin___clear_cache((char *)at, (char *)at + size);
	return at;
}

typedef void call_fn(void (*f)(void));

/* Makes code whose frame pointer is @bp, an invalid address. */
static call_fn *emit_wild(uint64_t bp)
{
	unsigned char bytes[sizeof(code_wild)];
	call_fn *call;

	memcpy(bytes, code_wild, sizeof(bytes));
	memcpy(bytes + ASSEMBLY_WILD_BP, &bp, 8);
	*(void **)&call = emit(bytes, sizeof(bytes));
	return call;
}

static ASSEMBLY_FRAME NOINLINE void call_it(call_fn *call, void (*f)(void))
{
	call(f);
	NO_TAIL_CALL();
}

/* Return: the number of frames between this function and @function, or -1. */
static int find_frame(const struct chain *c, const void *function, size_t size)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->frames[i] - 1 - (uintptr_t)function < size)
			return i;
	return -1;
}

static void test_jit(void)
{
#if defined(__x86_64__)
	static const unsigned char unframed[] = {
		0x53, 0x41, 0x54, 0x55,			/* push %rbx; push %r12; push %rbp */
		0x48, 0x81, 0xec, 0x80, 0, 0, 0,	/* sub $128, %rsp */
		0x31, 0xed,				/* xor %ebp, %ebp */
		0xff, 0xd7,				/* call *%rdi */
		0x48, 0x81, 0xc4, 0x80, 0, 0, 0,	/* add $128, %rsp */
		0x5d, 0x41, 0x5c, 0x5b, 0xc3,		/* pop %rbp, %r12, %rbx; ret */
	};
	static const unsigned char leaves[] = {
		0x55, 0x48, 0x89, 0xe5,			/* push %rbp; mov %rsp, %rbp */
		0x48, 0x83, 0xec, 0x30,			/* sub $48, %rsp */
		0xff, 0xd7, 0xc9, 0xc3,			/* call *%rdi; leave; ret */
	};
#endif
	static const struct {
		const char *name;
		const void *bytes;
		size_t size;
	} codes[] = {
		{ "a frame pointer", code_framed, sizeof(code_framed) },
		{ "what Python's trampoline has", code_trampoline, sizeof(code_trampoline) },
#if defined(__x86_64__)
		{ "none, but it returns after the call", unframed, sizeof(unframed) },
		{ "leave", leaves, sizeof(leaves) },
#endif
	};
	struct chain reference;
	call_fn *call;
	size_t i;
	int at;

	recurse(2, walk_only);
	reference = mine;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		*(void **)&call = emit(codes[i].bytes, codes[i].size);
		call_it(call, walk_only);
		at = find_frame(&mine, (void *)call, codes[i].size);
		ok(at >= 0 && !mine.flags &&
		   (unsigned int)at + 1 < mine.nr &&
		   mine.frames[mine.nr - 1] == reference.frames[reference.nr - 1] &&
		   find_frame(&mine, (void *)call_it, 64) == at + 1,
		   "generated code with %s is one frame, and the walk continues", codes[i].name);
	}
}

/*
 * lie(f, bp) calls f() with frame pointer @bp. The unwind tables of lie() claim that the frame of
 * lie() is at @bp.
 */
void lie(void (*f)(void), uint64_t bp);

__asm__(ASSEMBLY_LIE);

static void test_wild(void)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t words[] = { 0, 0x1234 };
	const uint64_t wild[] = {
		1, 8, 4096, 4096 * 3, here + 1, here - 65536, (here & ~4095ull) + (1ull << 30),
		(uintptr_t)gone, (uintptr_t)gone + 4088, (uintptr_t)code, 1ull << 47, ~0ull, ~7ull,
		0x8000000000000000ull, (uintptr_t)environ, (uintptr_t)words,
	};
	int failed = 0;
	size_t i;

	for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		call_fn *call = emit_wild(wild[i]);
		int at;

		call_it(call, walk_only);
		at = find_frame(&mine, (void *)call, 64);
		if (at < 0 || (unsigned int)at + 1 != mine.nr ||
		    mine.flags != XPU_CHAIN_TRUNCATED) {
			failed++;
			diag("frame pointer %#llx:", (unsigned long long)wild[i]);
			show("ours", &mine);
		}
	}
	is_int(failed, 0,
	       "each of %zu wild frame pointers ends the walk and marks the chain as truncated", i);
	failed = 0;
	for (i = 0; i <= sizeof(wild) / sizeof(wild[0]); i++) {
		lie(walk_only, i ? wild[i - 1] : 0);
		failed += find_frame(&mine, (void *)lie, 64) < 0;
	}
	is_int(failed, 0,
	       "a wild frame pointer on which the unwind tables rely ends the walk, too");
	call_it(emit_wild(0), walk_only);
	ok(mine.nr > 1 && !mine.flags, "a frame pointer of 0 marks the outermost frame");
}

/* More return addresses than a thread remembers, with frames of different sizes. */
#define NR_STUBS	20000
#define STUB_BYTES	ASSEMBLY_STUB_BYTES

static unsigned char *stubs;

static call_fn *stub(unsigned int i)
{
	call_fn *call;

	*(void **)&call = stubs + i * STUB_BYTES;
	return call;
}

static unsigned int inner_stub;

static ASSEMBLY_FRAME NOINLINE void call_inner(void)
{
	call_it(stub(inner_stub), walk_only);
	NO_TAIL_CALL();
}

static void test_many(void)
{
	unsigned int i, a, b, x = 1, failed = 0;
	uint64_t base;

	stubs = mmap(NULL, NR_STUBS * STUB_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	base = (uintptr_t)stubs;
	for (i = 0; i < NR_STUBS; i++)
		code_stub(stubs + i * STUB_BYTES, i);
	__builtin___clear_cache((char *)stubs, (char *)stubs + NR_STUBS * STUB_BYTES);
	for (i = 0; i < 100000; i++) {
		a = i / 5 % NR_STUBS;			/* the same caller for five walks */
		x = x * 1103515245 + 12345;
		b = (x >> 8) % NR_STUBS;
		inner_stub = b;
		call_it(stub(a), call_inner);
		failed += mine.flags || mine.nr < 6 ||
			  mine.frames[1] != base + b * STUB_BYTES + ASSEMBLY_STUB_RETURN ||
			  mine.frames[4] != base + a * STUB_BYTES + ASSEMBLY_STUB_RETURN;
	}
	is_int(failed, 0, "walks among %d return addresses are right", NR_STUBS);
	munmap(stubs, NR_STUBS * STUB_BYTES);
}

/* ---- stacks of other kinds ------------------------------------------------------------------- */

static ucontext_t main_context, other_context;
static void (*on_stack)(void);

static void start_on_stack(void)
{
	on_stack();
}

static void run_on(void *stack, size_t size, void (*f)(void))
{
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = size;
	other_context.uc_link = &main_context;
	on_stack = f;
	makecontext(&other_context, start_on_stack, 0);
	swapcontext(&main_context, &other_context);
}

static void deep_on_stack(void)
{
	recurse(500, walk_only);
}

/*
 * Makes code that calls as Go calls C: with the caller's frame pointer, on another, distant stack.
 */
static call_fn *emit_switch(void *stack)
{
	unsigned char bytes[sizeof(code_switch)];
	call_fn *call;

	memcpy(bytes, code_switch, sizeof(bytes));
	memcpy(bytes + ASSEMBLY_SWITCH_TO, &stack, 8);
	*(void **)&call = emit(bytes, sizeof(bytes));
	return call;
}

static void test_switch(void)
{
	const size_t size = 64 << 10;
	char *stack = mmap((void *)0x10000000, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct chain reference;
	call_fn *call;
	int at, i;

	recurse(2, walk_only);
	reference = mine;
	call = emit_switch(stack + size);
	for (i = 0; i < 3; i++)
		call_it(call, walk_only);
	at = find_frame(&mine, (void *)call, 64);
	ok(at >= 0 && !mine.flags && find_frame(&mine, (void *)call_it, 64) == at + 1 &&
	   mine.frames[mine.nr - 1] == reference.frames[reference.nr - 1],
	   "generated code that switches stacks: the walk continues on the other stack");
	munmap(stack, size);
}

static call_fn *wild_call;

static void wild_on_stack(void)
{
	call_it(wild_call, walk_only);
}

static void test_stacks(void)
{
	size_t large = 192 << 10, small = 184 << 10;
	char *stack = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	run_on(stack, large, deep_on_stack);
	ok(mine.nr > 500 && !mine.flags,
	   "a coroutine's stack: the walk finds %u frames and the outermost frame", mine.nr);

	/* A smaller stack at the same address: the memory above it is unreadable now. */
	munmap(stack + small, large - small);
	wild_call = emit_wild((uintptr_t)stack + large - 2048);
	run_on(stack, small, wild_on_stack);
	ok(mine.nr && mine.flags == XPU_CHAIN_TRUNCATED,
	   "a pointer to a stack that was replaced by a smaller stack ends the walk");
	munmap(stack, small);
}

/* ---- what a warm walk does not do ------------------------------------------------------------ */

static volatile sig_atomic_t nr_syscalls;

static void on_sigsys(int sig)
{
	(void)sig;
	nr_syscalls++;
}

static void walk_1000(void)
{
	struct xpu_slot slot;
	int i;

	for (i = 0; i < 1000; i++)
		unwinder__chain(u, 0, &slot, NULL, NULL, NULL);
}

/*
 * Runs in a child process, because afterwards every system call is trapped, except exit_group() and
 * rt_sigreturn().
 */
static int count_syscalls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	signal(SIGSYS, on_sigsys);
	recurse(40, walk_1000);			/* reads all unwind rules that the walk needs */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	recurse(40, walk_1000);
	recurse(30, walk_1000);
	if (nr_syscalls)
		return 1;
	getppid();				/* tests the trap: this call must trap */
	return nr_syscalls == 1 ? 0 : 2;
}

static void test_warm(void)
{
	int status;
	pid_t pid;

	if (SANITIZED) {
		skip(1, "the sanitizer makes system calls");
		goto keeps_errno;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(count_syscalls());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
		skip(1, "no seccomp here");
	else
		is_int(status, 0, "2000 warm walks make no system call");
keeps_errno:
	dlclose(dlopen("libm.so.6", RTLD_NOW));	/* makes the unwinder discard all rules */
	errno = 12345;
	walk(0);
	is_int(errno, 12345, "a cold walk keeps errno");
	walk(0);
	is_int(errno, 12345, "a warm walk keeps errno");
}

int main(int argc, char **argv)
{
	const char *why;
	int level;

	(void)argc;
	(void)argv;
	alarm(120);				/* ends a deadlock */
	setenv("XPUSHIM_MAX_FRAMES", "1000", 1);
	unwind__init();
	why = unwind__message(&level);
	if (why)
		skip_all("%s", why);

	test_known();
	test_anywhere();
	test_depth();
	test_plugins();
	test_loader_locks();
	test_stress();
	test_jit();
	test_wild();
	test_many();
	test_stacks();
	test_switch();
	test_warm();
	return done_testing();
}
