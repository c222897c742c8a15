// SPDX-License-Identifier: MIT
#include "launch/torch.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hot.h"
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
 * first block since the allocator got memory from CUDA or gave some back.
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
 * The function that a call of reportMemoryUsageToProfiler() goes to: find_first(), record() or
 * PyTorch's own.
 */
static HOT_DATA _Atomic(report_t) target = find_first;
static HOT_DATA _Atomic(report_t) real;		/* PyTorch's function; NULL: not found so far */
static atomic_bool is_watched;

/* Written under the lock of the device's allocator, and when watching begins. */
static struct {
	atomic_size_t reserved;		/* reserved bytes at the last block */
	atomic_uint nr_blocks;		/* number of blocks so far; 0: totals are due */
} devices[MAX_DEVICES];

/* ---- PyTorch's own function ------------------------------------------------------------------ */

struct search {
	const char *name;
	void *found;
	bool has_allocator;		/* libc10_cuda is loaded */
	const void *not_in;		/* an address in the shim, whose function is not wanted */
};

struct tables {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *gnu_hash;
};

static void dynamic__read(const struct dl_phdr_info *info, const ElfW(Dyn) *dyn, struct tables *t)
{
	uintptr_t at;

	for (; dyn->d_tag != DT_NULL; dyn++) {
		at = dyn->d_un.d_ptr;	/* relocated by glibc, except in the vDSO */
		if (at < info->dlpi_addr)
			at += info->dlpi_addr;
		if (dyn->d_tag == DT_SYMTAB)
			t->symbols = (const void *)at;
		else if (dyn->d_tag == DT_STRTAB)
			t->strings = (const void *)at;
		else if (dyn->d_tag == DT_GNU_HASH)
			t->gnu_hash = (const void *)at;
	}
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t hash = 5381;

	for (; *s; s++)
		hash = hash * 33 + (uint8_t)*s;
	return hash;
}

/* Return: the address of a function that the object defines, or NULL. */
static void *tables__find(const struct tables *t, ElfW(Addr) base, const char *name)
{
	uint32_t hash = gnu_hash(name), nr_buckets = t->gnu_hash[0], first = t->gnu_hash[1], i;
	uint32_t bloom_words = t->gnu_hash[2];
	const uint32_t *buckets =
		t->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + nr_buckets;
	const ElfW(Sym) *sym;

	i = nr_buckets ? buckets[hash % nr_buckets] : 0;
	if (i < first || !i)
		return NULL;
	for (;; i++) {
		sym = &t->symbols[i];
		if ((chain[i - first] | 1) == (hash | 1) && sym->st_shndx != SHN_UNDEF &&
		    (sym->st_info & 0xf) == STT_FUNC && !strcmp(t->strings + sym->st_name, name))
			return (void *)(base + sym->st_value);
		if (chain[i - first] & 1)
			return NULL;
	}
}

static int look_into(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const ElfW(Phdr) *p, *dynamic = NULL;
	struct tables tables = { 0 };
	struct search *s = ctx;
	uintptr_t lo, own = (uintptr_t)s->not_in;

	(void)size;
	for (p = info->dlpi_phdr; p < info->dlpi_phdr + info->dlpi_phnum; p++) {
		lo = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && own >= lo && own < lo + p->p_memsz)
			return 0;
		if (p->p_type == PT_DYNAMIC)
			dynamic = p;
	}
	if (!dynamic || !info->dlpi_name)
		return 0;
	s->has_allocator |= strstr(info->dlpi_name, "/libc10_cuda.so") != NULL;
	if (!strstr(info->dlpi_name, "/libc10") || s->found)
		return 0;
	dynamic__read(info, (const void *)(info->dlpi_addr + dynamic->p_vaddr), &tables);
	if (tables.symbols && tables.strings && tables.gnu_hash)
		s->found = tables__find(&tables, info->dlpi_addr, s->name);
	return 0;
}

/* Uses dl_iterate_phdr(), unlike dlsym() never waits for an object that is being loaded. */
static void search(struct search *s)
{
	sigset_t old;

	s->name = NAME(REPORT);
	s->not_in = (const void *)&target;
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
	*(void **)&fn = s.found;
	if (fn)
		atomic_store(&real, fn);
	return fn;
}

static void find_first(void *ptr, int64_t bytes, size_t allocated, size_t reserved, uint32_t device)
{
	report_t fn = find_real();

	if (!fn)
		return;			/* PyTorch's function only informs PyTorch's profilers */
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

/* Sends the allocator's totals, as an event with a higher number than the block has. */
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
 * Records a report. PyTorch holds the lock of the device's allocator, so events have the
 * allocator's order. A report of 0 bytes, which PyTorch's own allocators never make, means that
 * nothing was made or freed.
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
	return s.has_allocator && !s.found ?
	       "PyTorch's allocator reports its blocks in an unknown format: its memory is "
	       "recorded only as segments that it got from CUDA" : NULL;
}
