// SPDX-License-Identifier: MIT
/*
 * Programs that use CUPTI themselves: profilers, torch.profiler in a training script. CUPTI has one
 * subscriber, and one owner of activity buffers, so the shim lets go as soon as the program asks
 * for either, and comes back when the program has let go. What it does in between is as without
 * the shim.
 *
 * This works for programs that are linked to CUPTI. Those that look its functions up with dlsym()
 * find CUPTI in use.
 */
#include "yield.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_lib.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

static atomic_int nr_calls;			/* going on */
static atomic_uint_fast64_t kinds;		/* that the program has enabled */
static _Atomic(CUpti_BuffersCallbackRequestFunc) request;
static _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
static _Atomic(CUpti_TimestampCallbackFunc) timestamp;

_Static_assert(CUPTI_ACTIVITY_KIND_COUNT <= 64, "a bit for each kind");

bool yield__is_taken(void)
{
	return atomic_load(&nr_calls) || atomic_load(&kinds);
}

CUpti_TimestampCallbackFunc yield__clock(void)
{
	return atomic_load(&timestamp);
}

/* The function that the program meant. */
static void *real(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	return fn ? fn : cupti__loaded_symbol(name);
}

void yield__restore(void)
{
	__typeof__(&cuptiActivityRegisterCallbacks) fn;

	*(void **)&fn = real("cuptiActivityRegisterCallbacks");
	if (fn && atomic_load(&request))
		fn(atomic_load(&request), atomic_load(&complete));
}

/* Around a call of the program's; for every thread that is in one, the shim stays away. */
static void begin(const char *name)
{
	atomic_fetch_add(&nr_calls, 1);
	shim__yield(name);
}

static CUptiResult end(CUptiResult err)
{
	atomic_fetch_sub(&nr_calls, 1);
	return err;
}

#define REAL(fn)								\
	__typeof__(&fn) real_##fn;						\
										\
	*(void **)&real_##fn = real(#fn);					\
	if (!real_##fn)								\
		return CUPTI_ERROR_NOT_INITIALIZED

EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
					   CUpti_CallbackFunc callback, void *userdata)
{
	REAL(cuptiSubscribe);
	begin("cuptiSubscribe");
	return end(real_cuptiSubscribe(subscriber, callback, userdata));
}

EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
					      CUpti_CallbackFunc callback, void *userdata,
					      CUpti_SubscriberParams *params)
{
	REAL(cuptiSubscribe_v2);
	begin("cuptiSubscribe_v2");
	return end(real_cuptiSubscribe_v2(subscriber, callback, userdata, params));
}

EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
			       CUpti_BuffersCallbackCompleteFunc completed)
{
	CUptiResult err;

	REAL(cuptiActivityRegisterCallbacks);
	begin("cuptiActivityRegisterCallbacks");
	err = real_cuptiActivityRegisterCallbacks(requested, completed);
	if (err == CUPTI_SUCCESS) {
		atomic_store(&complete, completed);
		atomic_store(&request, requested);
	}
	return end(err);
}

EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	CUptiResult err;

	REAL(cuptiActivityRegisterTimestampCallback);
	begin("cuptiActivityRegisterTimestampCallback");
	err = real_cuptiActivityRegisterTimestampCallback(clock);
	if (err == CUPTI_SUCCESS)
		atomic_store(&timestamp, clock);
	return end(err);
}

static CUptiResult enabled(CUpti_ActivityKind kind, CUptiResult err)
{
	if (err == CUPTI_SUCCESS && kind < CUPTI_ACTIVITY_KIND_COUNT)
		atomic_fetch_or(&kinds, UINT64_C(1) << kind);
	return end(err);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	REAL(cuptiActivityEnable);
	begin("cuptiActivityEnable");
	return enabled(kind, real_cuptiActivityEnable(kind));
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	REAL(cuptiActivityEnableContext);
	begin("cuptiActivityEnableContext");
	return enabled(kind, real_cuptiActivityEnableContext(context, kind));
}

EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	CUptiResult err;

	REAL(cuptiActivityDisable);
	err = real_cuptiActivityDisable(kind);
	if (err == CUPTI_SUCCESS && kind < CUPTI_ACTIVITY_KIND_COUNT)
		atomic_fetch_and(&kinds, ~(UINT64_C(1) << kind));
	return err;
}
