// SPDX-License-Identifier: MIT
#include "launch/refused.h"

#include <stdatomic.h>
#include <stddef.h>

#include "wire/sender.h"
#include "wire/wire.h"
#include "xpu_record.h"

/*
 * Refused launches are kept in a ring, because malloc() must not be called where a launch is
 * refused. A launch that is pushed out of a full ring is not reported, so it counts as pending.
 */
#define NR_REFUSED	65536		/* a power of two */
#define NR_WAKE		4096

/*
 * Each entry is 0 if empty; otherwise it has the API in 4 bits, the result in 28 bits, and the id.
 */
static atomic_uint_fast64_t refused[NR_REFUSED];
static atomic_uint next;

void refused__add(unsigned int api, uint32_t correlation_id, uint32_t result)
{
	uint32_t n = atomic_fetch_add(&next, 1);

	atomic_store(&refused[n % NR_REFUSED], (uint64_t)api << 60 |
		     (uint64_t)(result << 4) << 28 | correlation_id);
	if (n % NR_WAKE == NR_WAKE - 1)
		sender__wake();
}

bool refused__drain(void)
{
	static uint32_t done;
	struct xpu_record_refused *r;
	uint32_t end = atomic_load(&next);
	bool any = false;
	uint64_t what;

	if (end - done > NR_REFUSED)
		done = end - NR_REFUSED;
	for (; done != end; done++) {
		what = atomic_exchange(&refused[done % NR_REFUSED], 0);
		if (!what)
			break;		/* another thread is writing the entry */
		r = wire__reserve(XPU_RECORD_REFUSED, XPU_WITH_API(what >> 60, 0), sizeof(*r));
		r->correlation_id = (uint32_t)what;
		r->result = (int32_t)(what >> 28) >> 4;
		any = true;
	}
	return any;
}
