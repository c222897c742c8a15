// SPDX-License-Identifier: MIT
#include "launch/allocs.h"

#include "base/clock.h"
#include "wire/probe.h"
#include "xpu_record.h"

HOT_DATA atomic_bool allocs__on;
struct allocs_order allocs__last;
atomic_uint_fast64_t allocs__order_at_start;

static atomic_bool is_late;

/* Sends an XPU_ALLOC_START: says which number comes next, and whether events were missed. */
static void tell_start(void)
{
	struct xpu_record_alloc r = {
		.hdr = { XPU_RECORD_ALLOC, 0, sizeof(r) },
		.time_ns = clock__ns(),
		.order = atomic_load(&allocs__last.last) + 1,
		.event = {
			.what = XPU_ALLOC_START,
			.device = XPU_ALLOC_NO_DEVICE,
			.bytes = atomic_load(&is_late),
		},
	};

	probe__batch(&r, sizeof(r));
}

void allocs__tell_level(uint16_t device, uint8_t space, uint64_t bytes, uint64_t total)
{
	struct xpu_record_alloc r = {
		.hdr = { XPU_RECORD_ALLOC, 0, sizeof(r) },
		.time_ns = clock__ns(),
		.order = allocs__order(1),
		.event = {
			.what = XPU_ALLOC_LEVEL,
			.space = space,
			.device = device,
			.bytes = bytes,
			.address = total,
		},
	};

	probe__batch(&r, sizeof(r));
}

void allocs__start(bool late)
{
	atomic_store(&is_late, late);
	atomic_store(&allocs__order_at_start, atomic_load(&allocs__last.last));
	/*
	 * START gives the number from which every event is recorded, so recording must begin before
	 * START is sent.
	 */
	atomic_store(&allocs__on, true);
	tell_start();
}

void allocs__stop(void)
{
	atomic_store(&allocs__on, false);
}

void allocs__repeat(void)
{
	if (!allocs__are_on())
		return;
	/* The new listener has missed the earlier events. */
	if (atomic_load(&allocs__last.last))
		atomic_store(&is_late, true);
	tell_start();
}

bool allocs__are_late(void)
{
	return atomic_load(&is_late);
}
