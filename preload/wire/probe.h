/* SPDX-License-Identifier: MIT */
/* probe.h - the probe sites of probe.S; bpf/xpu_slot.h explains them */
#ifndef XPU_PROBE_H
#define XPU_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hot.h"
#include "arch/this_arch.h"
#include "wire/shm.h"
#include "xpu_slot.h"

#define PROBE_ABI __attribute__((visibility("protected")))

PROBE_ABI void xpu_launch(const struct xpu_slot *slot);
PROBE_ABI void xpu_batch(const void *records, size_t bytes);
PROBE_ABI void xpu_log(const struct xpu_log *log, uint64_t end);
PROBE_ABI void xpu_path(const struct xpu_slot *slot);
PROBE_ABI void xpu_range(const void *record, size_t bytes);
PROBE_ABI void xpu_early(const void *records, size_t bytes);
PROBE_ABI void xpu_live_launch(const struct xpu_slot *slot);
PROBE_ABI void xpu_live_batch(const void *records, size_t bytes);
PROBE_ABI void xpu_live_log(const struct xpu_log *log, uint64_t end);
PROBE_ABI void xpu_live_path(const struct xpu_slot *slot);
PROBE_ABI void xpu_live_range(const void *record, size_t bytes);
PROBE_ABI void xpu_live_init(unsigned long heard);

/* Whether a listener is attached: 0 or 1, written by the kernel. */
extern PROBE_ABI volatile unsigned short xpu_launch_semaphore, xpu_batch_semaphore;
extern PROBE_ABI volatile unsigned short xpu_live_launch_semaphore, xpu_live_batch_semaphore;
extern PROBE_ABI volatile unsigned short xpu_hello_semaphore, xpu_live_api_semaphore;
extern PROBE_ABI volatile unsigned short xpu_live_stalls_semaphore, xpu_live_memory_semaphore;
extern PROBE_ABI volatile unsigned short xpu_range_semaphore, xpu_live_range_semaphore;

/*
 * Where this process's records go: to one of the two sets of sites, or into memory that is shared
 * with xpuload (shm.h). With shared memory, the shim itself raises the semaphores of a set, so only
 * the functions below depend on the way. The way is chosen when the shim is loaded. Later,
 * life/sharing.c switches between PROBE_LIVE and PROBE_LIVE_SHM, while nothing is recorded.
 */
enum probe_way {
	PROBE_RUN	= 0,
	PROBE_LIVE	= 1,
	PROBE_SHM	= 2,
	PROBE_LIVE_SHM	= PROBE_LIVE | PROBE_SHM,
};

extern uint8_t probe__way HIDDEN;

/*
 * Set in a child whose parent had listeners when it forked. Linux copies the parent's counts to the
 * child. Until a listener attaches to the child itself, each listener that leaves any process also
 * lowers the child's counts.
 */
extern atomic_bool probe__inherited HIDDEN;

/* Whether xpuload comes and goes while the process runs. */
static inline bool probe__live(void)
{
	return probe__way & PROBE_LIVE;
}

static inline bool probe__shares_memory(void)
{
	return probe__way & PROBE_SHM;
}

static inline unsigned short probe__read(const volatile unsigned short *semaphore)
{
	return __atomic_load_n(semaphore, __ATOMIC_RELAXED);
}

/* Adds a listener to the count or removes one, as Linux does for probes. */
static inline void probe__count(volatile unsigned short *semaphore, bool more)
{
	__atomic_fetch_add(semaphore, more ? 1 : -1, __ATOMIC_RELAXED);
}

static inline bool probe__launch_attached(void)
{
	return probe__read(probe__live() ? &xpu_live_launch_semaphore : &xpu_launch_semaphore) ||
		atomic_load_explicit(&probe__inherited, memory_order_relaxed);
}

static inline void probe__launch(const struct xpu_slot *slot)
{
	if (__builtin_expect(probe__way == PROBE_RUN, 1))
		xpu_launch(slot);
	else if (probe__way == PROBE_LIVE)
		xpu_live_launch(slot);
	else
		shm__launch(slot);
}

/*
 * Touches memory that may have been written long ago. BPF programs cannot read a page while it is
 * swapped out, or while NUMA balancing has unmapped it to watch accesses.
 */
static inline void probe__touch(const void *from, size_t bytes)
{
	const uint64_t page = 4096;	/* no Linux has smaller pages */
	uint64_t at = (uintptr_t)from & ~(page - 1);

	for (; at < (uintptr_t)from + bytes; at += page)
		arch__load(at);
}

static inline void probe__batch(const void *records, size_t bytes)
{
	probe__touch(records, bytes);
	if (__builtin_expect(probe__way == PROBE_RUN, 1))
		xpu_batch(records, bytes);
	else if (probe__way == PROBE_LIVE)
		xpu_live_batch(records, bytes);
	else
		shm__batch(records, bytes);
}

/* Sends the entries of @log whose numbers are below @end. */
static inline void probe__log(const struct xpu_log *log, uint64_t end)
{
	probe__touch(&log->entries[log->tail % XPU_LOG_ENTRIES],
		     (end - log->tail) * sizeof(log->entries[0]));
	if (__builtin_expect(probe__way == PROBE_RUN, 1))
		xpu_log(log, end);
	else if (probe__way == PROBE_LIVE)
		xpu_live_log(log, end);
	else
		shm__log(log, end);
}

static inline void probe__path(const struct xpu_slot *slot)
{
	probe__touch((const void *)(uintptr_t)slot->frames, slot->nr_frames * sizeof(uint64_t));
	if (__builtin_expect(probe__way == PROBE_RUN, 1))
		xpu_path(slot);
	else if (probe__way == PROBE_LIVE)
		xpu_live_path(slot);
	else
		shm__launch(slot);
}

/* Whether somebody listens to NVTX ranges. */
static inline bool probe__ranges_wanted(void)
{
	return probe__read(probe__live() ? &xpu_live_range_semaphore : &xpu_range_semaphore);
}

static inline void probe__range(const void *record, size_t bytes)
{
	if (__builtin_expect(probe__way == PROBE_RUN, 1))
		xpu_range(record, bytes);
	else if (probe__way == PROBE_LIVE)
		xpu_live_range(record, bytes);
	else
		shm__batch(record, bytes);
}

/* Whether somebody listens to launches and to their device work. */
static inline bool probe__is_heard(void)
{
	return probe__launch_attached() &&
		(probe__read(probe__live() ? &xpu_live_batch_semaphore : &xpu_batch_semaphore) ||
		 atomic_load_explicit(&probe__inherited, memory_order_relaxed));
}

/* Reports that the process has called CUDA, if a listener records this process's tree. */
static inline void probe__init(void)
{
	if (probe__live())
		xpu_live_init(probe__is_heard());
}

/* Whether a listener wants CUDA's API calls, in a process that xpuload did not start. */
static inline bool probe__live_api(void)
{
	return probe__read(&xpu_live_api_semaphore);
}

/* Whether a listener wants PC samples, in a process that xpuload did not start. */
static inline bool probe__live_stalls(void)
{
	return probe__read(&xpu_live_stalls_semaphore);
}

/* Whether a listener wants memory events, in a process that xpuload did not start. */
static inline bool probe__live_memory(void)
{
	return probe__read(&xpu_live_memory_semaphore);
}

/* Whether there is a new listener, which may lack the definitions. */
static inline bool probe__hello(void)
{
	return probe__read(&xpu_hello_semaphore);
}

#endif /* XPU_PROBE_H */
