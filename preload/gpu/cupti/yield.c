// SPDX-License-Identifier: MIT
/*
 * Lets programs use CUPTI themselves: profilers, for example torch.profiler in a training script.
 * CUPTI has one subscriber and one owner of activity buffers. As soon as the program asks for one
 * of these roles, the shim lets go of CUPTI. The shim comes back when the program has let go.
 * Meanwhile CUPTI works as it does without the shim.
 *
 * CUPTI gives a full buffer to the callback that is registered at that time, even if another
 * callback provided it. So a flush by the shim could give the shim the program's buffers, and vice
 * versa. Therefore CUPTI never gets the program's callbacks. It gets the callbacks in activity.c,
 * which know the shim's own buffers and pass all other buffers on to the program.
 *
 * This works for programs that are linked to CUPTI. A program that looks CUPTI's functions up with
 * dlsym() finds CUPTI in use.
 */
#include "gpu/cupti/yield.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gpu/cupti/buffers.h"
#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/cupti_real.h"
#include "wire/probe.h"
#include "gpu/cupti/copies.h"
#include "gpu/cupti/program.h"
#include "gpu/cupti/way.h"
#include "gpu/cupti/share.h"

#define EXPORT __attribute__((visibility("default")))

static _Atomic(__typeof__(&cuptiActivityGetNextRecord)) get_next_record;

static atomic_int nr_buffers_out;		/* number of the program's buffers that CUPTI has */
static atomic_uint_fast64_t nr_records;		/* number of records of device work in the program's
						 * returned buffers */

bool yield__is_taken(void)
{
	return program__kinds() || program__is_calling();
}

bool yield__is_collecting(void)
{
	return program__kinds();
}

bool yield__buffers_are_out(void)
{
	return atomic_load(&nr_buffers_out) > 0;
}

uint64_t yield__take_nr_records(void)
{
	return atomic_exchange(&nr_records, 0);
}

bool yield__request(uint8_t **data, size_t *bytes, size_t *max_records)
{
	CUpti_BuffersCallbackCompleteFunc complete;
	CUpti_BuffersCallbackRequestFunc fn;

	program__callbacks(&fn, &complete);
	if (!fn)
		return false;
	fn(data, bytes, max_records);
	if (*data)
		atomic_fetch_add(&nr_buffers_out, 1);
	return true;
}

/*
 * Counts the program's device records while somebody listens, because the recording lacks them: the
 * shim cannot record them, since it did not see their launches.
 */
static void count_records(uint8_t *data, size_t valid_bytes)
{
	__typeof__(&cuptiActivityGetNextRecord) next = atomic_load(&get_next_record);
	CUpti_Activity *record = NULL;
	uint64_t nr = 0;

	if (!next || !probe__is_heard())
		return;
	while (next(data, valid_bytes, &record) == CUPTI_SUCCESS)
		nr += activity__is_work(record);
	atomic_fetch_add(&nr_records, nr);
}

bool yield__complete(CUcontext context, uint32_t stream_id, uint8_t *data, size_t bytes,
		     size_t valid_bytes)
{
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc fn;

	program__callbacks(&request, &fn);
	if (!fn)
		return false;
	count_records(data, valid_bytes);
	fn(context, stream_id, data, bytes, valid_bytes);
	atomic_fetch_sub(&nr_buffers_out, 1);
	return true;
}

bool yield__copy(CUcontext context, uint32_t stream_id, const uint8_t *data, size_t valid_bytes)
{
	size_t bytes = 0, max_records = 0;
	uint8_t *copy = NULL;

	if (!yield__request(&copy, &bytes, &max_records) || !copy)
		return false;
	/* The program's buffer is too small: it is returned empty. */
	if (bytes < valid_bytes)
		valid_bytes = 0;
	memcpy(copy, data, valid_bytes);
	return yield__complete(context, stream_id, copy, bytes, valid_bytes) && valid_bytes;
}

static CUptiResult end(CUptiResult err)
{
	program__call_ends();
	return err;
}

/*
 * Begins a call of the program into CUPTI. The shim does not use CUPTI while any thread is in such
 * a call.
 */
static void begin(const char *name)
{
	program__call_begins();
	if (!share__give_back(name))
		way__yield(name);
}

#define REAL(fn)	CUPTI_REAL(fn, fn)

EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
					   CUpti_CallbackFunc callback, void *userdata)
{
	CUptiResult err;

	REAL(cuptiSubscribe);
	cupti__find_real();
	if (share__begins()) {
		err = share__subscribe(subscriber, callback, userdata);
		share__ends();
		return err;
	}
	begin("cuptiSubscribe");
	return end(real_cuptiSubscribe(subscriber, callback, userdata));
}

/*
 * Whether the parameters allow several subscribers. The structure has the member allow_several
 * since CUPTI 13.3.
 */
static bool allows_several(const CUpti_SubscriberParams *params)
{
	return params && params->structSize >= sizeof(struct cupti_subscriber_params) &&
	       ((const struct cupti_subscriber_params *)params)->allow_several;
}

/*
 * Subscribes the program. The shim leaves CUPTI before the call, and afterwards subscribes again,
 * as one of several subscribers.
 */
static CUptiResult subscribe_beside(__typeof__(&cuptiSubscribe_v2) real,
				    CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				    void *userdata, CUpti_SubscriberParams *params)
{
	CUptiResult err;

	/*
	 * If the shim is the only subscriber, it must leave; it subscribes alongside the program
	 * afterwards.
	 */
	if (!activity__is_among())
		way__make_room("cuptiSubscribe_v2");
	err = real(subscriber, callback, userdata, params);
	way__join();
	return err;
}

EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
					      CUpti_CallbackFunc callback, void *userdata,
					      CUpti_SubscriberParams *params)
{
	CUptiResult err;

	REAL(cuptiSubscribe_v2);
	cupti__find_real();
	if (share__begins()) {
		err = share__subscribe(subscriber, callback, userdata);
		share__ends();
		return err;
	}
	if (allows_several(params))
		return subscribe_beside(real_cuptiSubscribe_v2, subscriber, callback, userdata,
					params);
	begin("cuptiSubscribe_v2");
	return end(real_cuptiSubscribe_v2(subscriber, callback, userdata, params));
}

static void remember(CUpti_BuffersCallbackRequestFunc requested,
		     CUpti_BuffersCallbackCompleteFunc completed)
{
	static struct cupti_real next_record = { "cuptiActivityGetNextRecord", NULL };
	__typeof__(&cuptiActivityGetNextRecord) next;

	*(void **)&next = cupti__real(&next_record);
	atomic_store(&get_next_record, next);
	program__set_callbacks(requested, completed);
}

EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
			       CUpti_BuffersCallbackCompleteFunc completed)
{
	CUpti_BuffersCallbackRequestFunc old_request;
	CUpti_BuffersCallbackCompleteFunc old_complete;
	CUptiResult err;

	REAL(cuptiActivityRegisterCallbacks);
	if (requested && completed && share__begins()) {
		remember(requested, completed);
		share__ends();
		return CUPTI_SUCCESS;
	}
	begin("cuptiActivityRegisterCallbacks");
	program__callbacks(&old_request, &old_complete);
	if (!requested || !completed)	/* let CUPTI return the right error */
		return end(real_cuptiActivityRegisterCallbacks(requested, completed));
	remember(requested, completed);
	err = real_cuptiActivityRegisterCallbacks(activity__requested, activity__completed);
	if (err != CUPTI_SUCCESS)
		program__set_callbacks(old_request, old_complete);
	return end(err);
}

EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	CUptiResult err;

	REAL(cuptiActivityRegisterTimestampCallback);
	if (clock && share__begins()) {
		program__set_clock(clock);
		share__ends();
		copies__read_clocks();
		return CUPTI_SUCCESS;
	}
	begin("cuptiActivityRegisterTimestampCallback");
	err = real_cuptiActivityRegisterTimestampCallback(clock);
	if (err == CUPTI_SUCCESS)
		program__set_clock(clock);
	return end(err);
}

static CUptiResult enabled(CUpti_ActivityKind kind, CUptiResult err)
{
	if (err == CUPTI_SUCCESS)
		program__note_kind(kind, true);
	return end(err);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	CUptiResult err = CUPTI_SUCCESS;

	REAL(cuptiActivityEnable);
	if (copies__know(kind) && share__begins()) {
		if (!activity__has_kind(kind))
			err = real_cuptiActivityEnable(kind);
		if (err == CUPTI_SUCCESS)
			copies__enable(kind);
		share__ends();
		share__deliver();	/* asks the program for its first buffer */
		return err;
	}
	begin("cuptiActivityEnable");
	return enabled(kind, real_cuptiActivityEnable(kind));
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	REAL(cuptiActivityEnableAndDump);
	begin("cuptiActivityEnableAndDump");
	return enabled(kind, real_cuptiActivityEnableAndDump(kind));
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	REAL(cuptiActivityEnableContext);
	begin("cuptiActivityEnableContext");
	return enabled(kind, real_cuptiActivityEnableContext(context, kind));
}

EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	CUptiResult err = CUPTI_SUCCESS;

	REAL(cuptiActivityDisable);
	if (copies__know(kind) && share__begins()) {
		share__await_buffer();
		copies__disable(kind);
		if (!activity__has_kind(kind))
			err = real_cuptiActivityDisable(kind);
		share__ends();
		return err;
	}
	/* The shim, not the program, has enabled the kind: it stays enabled. */
	if (kind < CUPTI_ACTIVITY_KIND_COUNT && !(program__kinds() & UINT64_C(1) << kind) &&
	    activity__collects())
		return CUPTI_SUCCESS;
	program__call_begins();
	err = real_cuptiActivityDisable(kind);
	if (err == CUPTI_SUCCESS)
		program__note_kind(kind, false);
	return end(err);
}
