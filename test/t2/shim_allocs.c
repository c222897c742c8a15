// SPDX-License-Identifier: MIT
/*
 * Memory events in a signal handler. A program launches, allocates, frees and calls PyTorch's
 * function, while the processor traps after each instruction. At some instructions, which differ
 * from run to run, a signal handler does the same operations. In all runs together, a signal
 * arrives at each instruction of the shim once, and nothing depends on timing.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "device.h"
#include "launch/allocs.h"
#include "listener.h"
#include "tap.h"

#if !defined(__x86_64__) || defined(__SANITIZE_THREAD__)
int main(void)
{
	skip_all("no flag to trap after each instruction, or ThreadSanitizer, which must not be "
		 "interrupted");
}
#else

#define TRAP_FLAG	0x100
#define MAX_SIGNALS	1200		/* the limit for one action of the program */
#define AT_A_TIME	16		/* signals in each run of the action */
#define FIRST_ID	0x70000000
#define PAGE_SHIFT	12
#define CUDA_DEVICE	1		/* c10::Device: of type CUDA, number 0 */

/* PyTorch's function, as the shim defines it. */
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *ptr, int64_t bytes,
							   size_t allocated, size_t reserved,
							   uint32_t device);

static CUcontext context;
static uint32_t next_id = FIRST_ID;
static uint64_t nr_launches, nr_made, nr_freed;		/* allocations and blocks */
static uint64_t handlers_piece, handlers_block;
/* left: instructions until the next signal; apart: instructions between two signals */
static long left, apart;
static long nr_traps;
static unsigned int nr_signals;

static void report(uint64_t block, int64_t bytes)
{
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)block, bytes, 0, 0,
							      CUDA_DEVICE);
}

/* Makes both callbacks of a call, as CUPTI does. */
static void call_back(CUpti_CallbackId cbid, const void *params)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t between = 0;
	CUpti_CallbackData d = {
		.callbackSite = CUPTI_API_ENTER,
		.correlationId = __atomic_fetch_add(&next_id, 1, __ATOMIC_SEQ_CST),
		.correlationData = &between,
		.functionReturnValue = &result,
		.functionParams = params,
		.context = context,
		.contextUid = 5,
	};

	callback__call(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &d);
	d.callbackSite = CUPTI_API_EXIT;
	callback__call(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &d);
}

static uint64_t next_address(void)
{
	return (__atomic_add_fetch(&nr_made, 1, __ATOMIC_SEQ_CST)) << PAGE_SHIFT;
}

/* Return: the size of an allocation, which also identifies it. */
static uint64_t bytes_of(uint64_t address)
{
	return (address >> PAGE_SHIFT) * 3;
}

static uint64_t make_piece(void)
{
	CUdeviceptr address = next_address();
	cuMemAllocAsync_params params = { .dptr = &address, .bytesize = bytes_of(address) };

	call_back(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, &params);
	return address;
}

static void free_piece(uint64_t address)
{
	cuMemFreeAsync_params params = { .dptr = address };

	__atomic_fetch_add(&nr_freed, 1, __ATOMIC_SEQ_CST);
	call_back(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, &params);
}

static uint64_t make_block(void)
{
	uint64_t address = next_address();

	report(address, bytes_of(address));
	return address;
}

static void free_block(uint64_t address)
{
	__atomic_fetch_add(&nr_freed, 1, __ATOMIC_SEQ_CST);
	report(address, -(int64_t)bytes_of(address));
}

static void launch(void)
{
	__atomic_fetch_add(&nr_launches, 1, __ATOMIC_SEQ_CST);
	call_back(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, NULL);
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_trap(int sig, siginfo_t *info, void *ctx)
{
	greg_t *regs = ((ucontext_t *)ctx)->uc_mcontext.gregs;
	static const uint8_t syscall_code[] = { 0x0f, 0x05 };

	(void)sig;
	(void)info;
	nr_traps++;
	/* If this system call blocks signals, the next trap would end the process. */
	if (!memcmp((const void *)regs[REG_RIP], syscall_code, sizeof(syscall_code)))
		regs[REG_EFL] &= ~TRAP_FLAG;
	if (--left)
		return;
	left = apart;
	nr_signals++;
	free_piece(handlers_piece);
	free_block(handlers_block);
	launch();
	handlers_piece = make_piece();
	handlers_block = make_block();
}

/* The second instruction after popfq is the first instruction that traps. */
static inline __attribute__((always_inline)) void trap(bool on)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\t"
		     "orq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
		     : : "r"(on ? (uint64_t)TRAP_FLAG : 0) : "memory", "cc");
}

/*
 * Runs @action once, with a signal after @instructions instructions, and then a signal after every
 * @further instructions.
 */
static void once(void (*action)(void), long instructions, long further)
{
	left = instructions;
	apart = further;
	nr_traps = 0;
	trap(true);
	action();
	trap(false);
}

static uint64_t piece, block;

static void make_pieces(void)
{
	piece = make_piece();
}

static void free_pieces(void)
{
	free_piece(piece);
}

static void make_blocks(void)
{
	block = make_block();
}

static void free_blocks(void)
{
	free_block(block);
}

/* Interrupts @action at each of its instructions. @before: prepares the data that @action uses */
static void everywhere(const char *what, void (*action)(void), void (*before)(void))
{
	long nr, step, i;

	nr_signals = 0;
	for (i = 0; i < 20; i++) {		/* until the shim knows the path */
		if (before)
			before();
		once(action, 1000000000, 1);
	}
	nr = nr_traps;
	step = nr / MAX_SIGNALS + 1;
	for (i = 1; i <= nr / AT_A_TIME + 1; i += step) {
		if (before)
			before();
		once(action, i, nr / AT_A_TIME + 1);
	}
	ok(nr_signals > 50, "%s: %u signals at its %ld instructions", what, nr_signals, nr);
}

/* ---- the events that were received ----------------------------------------------------------- */

/* Checks that each event arrived once, with its size, and each free after its allocation. */
static void check_events(void)
{
	struct { uint64_t made, freed; } *pieces = calloc(nr_made + 1, sizeof(*pieces));
	uint32_t i, nr = heard(nr_allocs), nr_numbers = 0, nr_wrong = 0, nr_twice = 0;
	bool *numbers = calloc(nr + 1, sizeof(*numbers));
	uint64_t n, seen_made = 0, seen_freed = 0;

	for (i = 0; i < nr; i++) {
		const struct listener_alloc *a = &listener.allocs[i];

		if (a->what == XPU_ALLOC_START)
			continue;
		nr_numbers++;
		if (a->order > nr || numbers[a->order])
			nr_wrong++;
		else
			numbers[a->order] = true;
		if (a->what != XPU_ALLOC_MADE && a->what != XPU_ALLOC_FREED)
			continue;
		n = a->address >> PAGE_SHIFT;
		if (!n || n > nr_made || (a->bytes && a->bytes != bytes_of(a->address))) {
			nr_wrong++;
		} else if (a->what == XPU_ALLOC_MADE) {
			nr_wrong += !a->bytes;
			nr_twice += pieces[n].made != 0;
			pieces[n].made = a->order;
			seen_made++;
		} else {
			nr_twice += pieces[n].freed != 0;
			pieces[n].freed = a->order;
			seen_freed++;
		}
	}
	is_int(seen_made, nr_made, "each allocation is received");
	is_int(seen_freed, nr_freed, "each free is received");
	for (n = 1; n <= nr_made; n++)
		nr_wrong += pieces[n].freed && pieces[n].freed < pieces[n].made;
	is_int(nr_twice, 0, "no event is received twice");
	is_int(nr_wrong, 0, "events have the right sizes and numbers");
	for (n = 1, i = 0; n <= nr_numbers; n++)
		i += !numbers[n];
	is_int(i, 0, "no event number is missing");
	free(numbers);
	free(pieces);
}

static bool is_of_program(const struct listener_alloc *a)
{
	return a->what != XPU_ALLOC_START && a->what != XPU_ALLOC_LEVEL;
}

static bool is_told(void)
{
	return heard(counters.nr_allocs) >= nr_made + nr_freed;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	CUfunction function;
	CUmodule module;
	uint32_t i, nr_told = 0;

	listener__want_memory(true);
	listener__attach();
	device__start(&context, &module, &function);
	for (i = 0; i < 200 && !allocs__are_on(); i++)
		pause_ms(100);
	if (!allocs__are_on())
		bail("no events of memory");
	sigaction(SIGTRAP, &sa, NULL);
	launch();
	handlers_piece = make_piece();
	handlers_block = make_block();
	everywhere("a launch", launch, NULL);
	everywhere("an allocation", make_pieces, NULL);
	everywhere("a free", free_pieces, make_pieces);
	everywhere("a block of PyTorch's", make_blocks, NULL);
	everywhere("a free of one", free_blocks, make_blocks);
	report(handlers_block, 0);		/* neither allocates nor frees */
	device__launch(function, NULL, 1);	/* the kernel's record brings all counts */
	cuCtxSynchronize();
	nr_launches++;
	for (i = 0; i < 100 && !(is_told() && heard(nr_launches) >= nr_launches); i++)
		pause_ms(100);
	listener__settle();
	is_int(heard(nr_launches), nr_launches, "each launch is received");
	check_events();
	for (i = 0; i < heard(nr_allocs); i++)
		nr_told += is_of_program(&listener.allocs[i]);
	is_int(heard(counters.nr_allocs), nr_told, "as many events are counted as were sent");
	is_int(heard(counters.nr_launches), nr_launches,
	       "as many launches are counted as were received");
	is_int(heard(nr_bad), 0, "no invalid record is received");
	return done_testing();
}

#endif
