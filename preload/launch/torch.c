// SPDX-License-Identifier: MIT
#include "launch/torch.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hot.h"
#include "base/loaded.h"
#include "base/lock.h"
#include "launch/launch.h"
#include "xpu_record.h"
#include "xpu_slot.h"

#define EXPORT __attribute__((visibility("default")))

#define REPORT		_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define NAME_(x)	#x
#define NAME(x)		NAME_(x)

/* c10::Device is two bytes: its type and its ordinal. */
#define DEVICE_TYPE(device)	((uint8_t)(device))
#define DEVICE_INDEX(device)	((device) >> 8 & 0xff)
#define TYPE_CUDA		1

/*
 * Totals are sent after a device's first block, after every TOTALS_EVERY blocks, and after the
 * first block that follows a change of the memory that the allocator has from CUDA.
 */
#define TOTALS_EVERY	1024
#define MAX_DEVICES	256

typedef void (*report_t)(void *ptr, int64_t bytes, size_t allocated, size_t reserved,
			 uint32_t device);

EXPORT void REPORT(void *ptr, int64_t bytes, size_t allocated, size_t reserved, uint32_t device);

static void find_first(void *ptr, int64_t bytes, size_t allocated, size_t reserved,
		       uint32_t device);
static void record(void *ptr, int64_t bytes, size_t allocated, size_t reserved, uint32_t device);

/*
 * The function that reportMemoryUsageToProfiler() jumps to: find_first(), record() or PyTorch's own
 * function.
 */
static HOT_DATA _Atomic(report_t) target = find_first;
static HOT_DATA _Atomic(report_t) real;		/* PyTorch's function; NULL: not found yet */
static atomic_bool is_watched;

/* Written under the lock of the device's allocator, and when watching begins. */
static struct {
	atomic_size_t reserved;		/* reserved bytes, as last reported with a block */
	atomic_uint nr_blocks;		/* number of blocks so far; 0: totals are due */
} devices[MAX_DEVICES];

/* ---- PyTorch's own function ------------------------------------------------------------------ */

struct search {
	struct symbol found;
	bool has_allocator;		/* libc10_cuda is loaded */
};

/* Whether the object is the shim, whose function is not wanted. */
static bool is_shim(const struct dl_phdr_info *info)
{
	uintptr_t own = (uintptr_t)&target, lo;
	const ElfW(Phdr) *p;

	for (p = info->dlpi_phdr; p < info->dlpi_phdr + info->dlpi_phnum; p++) {
		lo = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && own >= lo && own < lo + p->p_memsz)
			return true;
	}
	return false;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;

	(void)size;
	if (!info->dlpi_name || !strstr(info->dlpi_name, "/libc10") || is_shim(info))
		return 0;
	s->has_allocator |= strstr(info->dlpi_name, "/libc10_cuda.so") != NULL;
	if (!s->found.address)
		symbol__find_in(info, NAME(REPORT), &s->found);
	return 0;
}

static void search(struct search *s)
{
	sigset_t old;

	signals__block(&old);
	dl_iterate_phdr(look_into, s);
	signals__restore(&old);
}

static __attribute__((noinline)) report_t find_real(void)
{
	report_t fn = atomic_load(&real);
	struct search s = { 0 };

	if (fn)
		return fn;
	search(&s);
	fn = (report_t)s.found.address;
	if (fn)
		atomic_store(&real, fn);
	return fn;
}

static void find_first(void *ptr, int64_t bytes, size_t allocated, size_t reserved, uint32_t device)
{
	report_t fn = find_real();

	if (!fn)
		return;			/* without PyTorch's function, only PyTorch's profilers miss
					 * the report */
	if (!atomic_load(&is_watched))
		atomic_store(&target, fn);
	fn(ptr, bytes, allocated, reserved, device);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Whether to send the totals of a device. Only one thread at a time calls this for a device. */
static inline bool wants_totals(unsigned int device, size_t reserved)
{
	unsigned int nr = atomic_load_explicit(&devices[device].nr_blocks, memory_order_relaxed);
	bool same =
		atomic_load_explicit(&devices[device].reserved, memory_order_relaxed) == reserved;

	atomic_store_explicit(&devices[device].nr_blocks, nr + 1, memory_order_relaxed);
	if (__builtin_expect(same && nr % TOTALS_EVERY, 1))
		return false;
	atomic_store_explicit(&devices[device].reserved, reserved, memory_order_relaxed);
	return true;
}

/* Sends the allocator's totals, as an event whose number is higher than the block's number. */
static __attribute__((noinline, cold)) void tell_totals(unsigned int device, size_t allocated,
							size_t reserved)
{
	const struct alloc a = {
		.what = XPU_ALLOC_TOTALS,
		.space = XPU_SPACE_BLOCK,
		.device = device,
		.address = allocated,
		.bytes = reserved,
		.order = allocs__order(1),
	};

	launch__tell_alloc(&a, XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH);
}

static inline void tell_block(void *ptr, int64_t bytes, unsigned int device)
{
	const struct alloc a = {
		.what = bytes < 0 ? XPU_ALLOC_FREED : XPU_ALLOC_MADE,
		.space = XPU_SPACE_BLOCK,
		.device = device,
		.address = (uintptr_t)ptr,
		.bytes = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes,
		.order = allocs__order(1),
	};

	launch__tell_alloc(&a, XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH);
}

/*
 * Records a report. PyTorch holds the lock of the device's allocator, so events are in the
 * allocator's order. A report of 0 bytes, which PyTorch's own allocators never make, means that
 * nothing was allocated or freed.
 */
static HOT_MEMORY void record(void *ptr, int64_t bytes, size_t allocated, size_t reserved,
			      uint32_t device)
{
	report_t fn = atomic_load_explicit(&real, memory_order_acquire);

	if (DEVICE_TYPE(device) == TYPE_CUDA && bytes && allocs__are_on()) {
		tell_block(ptr, bytes, DEVICE_INDEX(device));
		if (wants_totals(DEVICE_INDEX(device), reserved))
			tell_totals(DEVICE_INDEX(device), allocated, reserved);
	}
	if (__builtin_expect(!fn, 0) && !(fn = find_real()))
		return;
	fn(ptr, bytes, allocated, reserved, device);
}

HOT_CODE void REPORT(void *ptr, int64_t bytes, size_t allocated, size_t reserved, uint32_t device)
{
	atomic_load_explicit(&target, memory_order_relaxed)(ptr, bytes, allocated, reserved,
							    device);
}

void torch__watch(bool on)
{
	size_t i;

	for (i = 0; on && i < MAX_DEVICES; i++)
		atomic_store(&devices[i].nr_blocks, 0);
	atomic_store(&is_watched, on);
	atomic_store(&target, on ? record : find_first);
}

const char *torch__message(void)
{
	static bool is_over;
	struct search s = { 0 };

	if (is_over || !atomic_load(&is_watched))
		return NULL;
	search(&s);
	is_over = s.has_allocator;
	return s.has_allocator && !s.found.address ?
	       "PyTorch's allocator reports its blocks in an unknown format: its memory is "
	       "recorded only as segments that it got from CUDA" : NULL;
}
