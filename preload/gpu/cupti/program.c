// SPDX-License-Identifier: MIT
#include "gpu/cupti/program.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

#define QUIET_NS	500000000	/* how long to wait after the program's last call, because
					 * another may follow */

static _Atomic(CUpti_BuffersCallbackRequestFunc) requested;
static _Atomic(CUpti_BuffersCallbackCompleteFunc) completed;
static _Atomic(CUpti_TimestampCallbackFunc) timestamp;

static atomic_uint_fast64_t kinds;

static atomic_int nr_calls;			/* number of calls in progress */
static atomic_uint_fast64_t last_call_ns;	/* when the last call ended */

void program__callbacks(CUpti_BuffersCallbackRequestFunc *request,
			CUpti_BuffersCallbackCompleteFunc *complete)
{
	*request = atomic_load(&requested);
	*complete = atomic_load(&completed);
}

void program__set_callbacks(CUpti_BuffersCallbackRequestFunc request,
			    CUpti_BuffersCallbackCompleteFunc complete)
{
	atomic_store(&completed, complete);
	atomic_store(&requested, request);
}

CUpti_TimestampCallbackFunc program__clock(void)
{
	return atomic_load(&timestamp);
}

void program__set_clock(CUpti_TimestampCallbackFunc clock)
{
	atomic_store(&timestamp, clock);
}

_Static_assert(CUPTI_ACTIVITY_KIND_COUNT <= 64, "a bit for each kind");

void program__note_kind(CUpti_ActivityKind kind, bool on)
{
	uint64_t bit = kind < CUPTI_ACTIVITY_KIND_COUNT ? UINT64_C(1) << kind : 0;

	if (on)
		atomic_fetch_or(&kinds, bit);
	else
		atomic_fetch_and(&kinds, ~bit);
}

uint64_t program__kinds(void)
{
	return atomic_load(&kinds);
}

void program__call_begins(void)
{
	atomic_fetch_add(&nr_calls, 1);
}

void program__call_ends(void)
{
	atomic_store(&last_call_ns, clock__ns());
	atomic_fetch_sub(&nr_calls, 1);
}

bool program__is_calling(void)
{
	return atomic_load(&nr_calls) || clock__ns() - atomic_load(&last_call_ns) < QUIET_NS;
}
