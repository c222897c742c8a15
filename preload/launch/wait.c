// SPDX-License-Identifier: MIT
#include "launch/wait.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/cupti_lib.h"
#include "base/environment.h"
#include "xpu_record.h"

/* Where each event was last recorded, hashed by address, so that one event may displace another. */
#define NR_EVENTS	4096		/* a power of two */

struct event {
	_Atomic(CUevent) handle;	/* NULL while the entry changes */
	atomic_uint_fast32_t context, stream;	/* CUPTI's ids */
	atomic_uint_fast32_t flags;	/* XPU_WAIT_* */
};

uint8_t wait__calls[WAIT_MAX_CBID], wait__sizes[WAIT_MAX_CBID];

static bool is_async[WAIT_MAX_CBID];	/* a copy or set that names its stream */
static struct event events[NR_EVENTS];
static const struct cupti *cupti;
/* These two are one instant, read on two clocks. */
static uint64_t start_ticks, start_ns;

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

/*
 * Return: the value for wait__sizes[]. It is 0 for calls whose parameters point to a description of
 * the copy, and for the calls of CUDA 3.1 and before, with sizes of 32 bits.
 */
static uint8_t sizes_of(const char *name)
{
#define SIZE(fn, member)	(offsetof(fn##_params, member) / sizeof(uint64_t))
#define LINEAR(fn, member)	{ #fn, SIZE(fn, member) }
#define COPY(fn)		LINEAR(fn, ByteCount)
#define SET(fn)			LINEAR(fn, N)
#define SET_2D(fn)		{ #fn, SIZE(fn, Width) | SIZE(fn, Height) << 4 }
	static const struct {
		const char *name;
		uint8_t sizes;
	} table[] = {
		COPY(cuMemcpy), COPY(cuMemcpyAsync), COPY(cuMemcpyPeer), COPY(cuMemcpyPeerAsync),
		COPY(cuMemcpyHtoD_v2), COPY(cuMemcpyDtoH_v2), COPY(cuMemcpyDtoD_v2),
		COPY(cuMemcpyHtoDAsync_v2), COPY(cuMemcpyDtoHAsync_v2), COPY(cuMemcpyDtoDAsync_v2),
		COPY(cuMemcpyDtoA_v2), COPY(cuMemcpyAtoD_v2),
		COPY(cuMemcpyHtoA_v2), COPY(cuMemcpyAtoH_v2), COPY(cuMemcpyAtoA_v2),
		COPY(cuMemcpyHtoAAsync_v2), COPY(cuMemcpyAtoHAsync_v2),
		SET(cuMemsetD8_v2), SET(cuMemsetD16_v2), SET(cuMemsetD32_v2),
		SET(cuMemsetD8Async), SET(cuMemsetD16Async), SET(cuMemsetD32Async),
		SET_2D(cuMemsetD2D8_v2), SET_2D(cuMemsetD2D16_v2), SET_2D(cuMemsetD2D32_v2),
		SET_2D(cuMemsetD2D8Async), SET_2D(cuMemsetD2D16Async), SET_2D(cuMemsetD2D32Async),
	};
	size_t i, len;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		len = strlen(table[i].name);
		if (has_prefix(name, table[i].name) &&
		    (!name[len] || !strcmp(name + len, "_ptds") || !strcmp(name + len, "_ptsz")))
			return table[i].sizes;
	}
	return 0;
}

bool wait__watch(uint32_t cbid, const char *name)
{
	static const struct {
		const char *prefix;
		uint8_t call;
	} table[] = {
		{ "cuStreamSynchronize", WAIT_STREAM },
		{ "cuCtxSynchronize", WAIT_CONTEXT },
		{ "cuEventSynchronize", WAIT_EVENT },
		{ "cuEventRecord", WAIT_RECORD },
		{ "cuMemFree", WAIT_FREE },
		{ "cuMemcpy", WAIT_COPY },
		{ "cuMemset", WAIT_COPY },
	};
	const char *wanted = environment__get(XPU_WAITS_ENV);
	uint8_t call = WAIT_LAUNCH;
	size_t i;

	if (cbid >= WAIT_MAX_CBID)
		return false;
	__atomic_store_n(&wait__sizes[cbid], sizes_of(name), __ATOMIC_RELAXED);
	if (wanted && !strcmp(wanted, "off"))
		return false;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (has_prefix(name, table[i].prefix))
			call = table[i].call;
	if (call == WAIT_COPY)
		is_async[cbid] = strstr(name, "Async");
	if (call == WAIT_FREE && strstr(name, "Async"))
		call = WAIT_LAUNCH;
	if (has_suffix(name, "_ptsz") || has_suffix(name, "_ptds"))
		call |= WAIT_PER_THREAD;
	/* Other threads may be reading it, if this is not the first time. */
	__atomic_store_n(&wait__calls[cbid], call | (wait__flags(cbid) & (WAIT_ALLOC | WAIT_TIMED)),
			 __ATOMIC_RELAXED);
	return call >= WAIT_STREAM;
}

void wait__watch_alloc(uint32_t cbid)
{
	if (cbid < WAIT_MAX_CBID)
		__atomic_fetch_or(&wait__calls[cbid], WAIT_ALLOC, __ATOMIC_RELAXED);
}

void wait__time(uint32_t cbid, bool on, bool no_launch)
{
	if (cbid >= WAIT_MAX_CBID)
		return;
	if (on)
		__atomic_fetch_or(&wait__calls[cbid], WAIT_TIMED | (no_launch ? WAIT_NO_LAUNCH : 0),
				  __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&wait__calls[cbid], (uint8_t)~WAIT_TIMED, __ATOMIC_RELAXED);
}

void wait__start(const struct cupti *c)
{
	cupti = c;
	start_ns = clock__ns();
	start_ticks = clock__ticks();
}

/* Return: the XPU_WAIT_* flags of a stream. Sets *@id if CUPTI knows the stream. */
static uint32_t stream_flags(CUcontext context, CUstream stream, bool per_thread, uint32_t *id)
{
	if (stream == CU_STREAM_PER_THREAD)
		per_thread = true;
	if (stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY)
		stream = NULL;
	if (!cupti->get_stream_id ||
	    cupti->get_stream_id(context, stream, per_thread, id) != CUPTI_SUCCESS)
		return 0;
	return XPU_WAIT_STREAM | (stream || per_thread ? 0 : XPU_WAIT_OTHERS);
}

static struct event *event__slot(CUevent handle)
{
	uintptr_t key = (uintptr_t)handle;

	return &events[(key >> 4 ^ key >> 16) % NR_EVENTS];
}

void wait__event_recorded(uint32_t cbid, const CUpti_CallbackData *d)
{
	/* The parameters of all these calls begin with the event and the stream. */
	const cuEventRecord_params *p = d->functionParams;
	struct event *e = event__slot(p->hEvent);
	uint32_t stream = 0, flags;

	flags = stream_flags(d->context, p->hStream, wait__call(cbid) & WAIT_PER_THREAD, &stream);
	atomic_store(&e->handle, NULL);
	atomic_store_explicit(&e->context, d->contextUid, memory_order_relaxed);
	atomic_store_explicit(&e->stream, stream, memory_order_relaxed);
	atomic_store_explicit(&e->flags, flags, memory_order_relaxed);
	atomic_store(&e->handle, p->hEvent);
}

static void describe_event(struct xpu_slot *slot, CUevent handle)
{
	struct event *e = event__slot(handle);
	uint32_t context, stream, flags;

	if (atomic_load(&e->handle) != handle)
		return;
	context = atomic_load_explicit(&e->context, memory_order_acquire);
	stream = atomic_load_explicit(&e->stream, memory_order_acquire);
	flags = atomic_load_explicit(&e->flags, memory_order_acquire);
	if (atomic_load(&e->handle) != handle)
		return;			/* the entry changed meanwhile */
	slot->wait_context = context;
	slot->wait_stream = stream;
	slot->wait_flags = flags;
}

bool wait__describe(struct xpu_slot *slot, uint32_t cbid, const CUpti_CallbackData *d,
		    uint64_t ticks)
{
	uint64_t end_ticks = clock__ticks(), end_ns = clock__ns();
	uint8_t call = wait__call(cbid);
	bool per_thread = call & WAIT_PER_THREAD;

	if (ticks < start_ticks || ticks >= end_ticks || end_ns <= start_ns)
		return false;
	slot->wait_ns = (double)(end_ticks - ticks) * (end_ns - start_ns) /
			(end_ticks - start_ticks);
	slot->wait_start_ns = end_ns - slot->wait_ns;
	slot->wait_context = d->contextUid;
	slot->wait_stream = 0;
	slot->wait_flags = 0;
	call &= ~(WAIT_PER_THREAD | WAIT_ALLOC | WAIT_NO_LAUNCH);
	/* A copy with a stream waits like a launch: for room, or for its own bytes. */
	switch (call == WAIT_COPY && is_async[cbid] ? WAIT_LAUNCH : call) {
	case WAIT_STREAM:
		slot->wait_flags = stream_flags(d->context, ((const cuStreamSynchronize_params *)
							     d->functionParams)->hStream,
						per_thread, &slot->wait_stream);
		break;
	case WAIT_EVENT:
		describe_event(slot, ((const cuEventSynchronize_params *)
				      d->functionParams)->hEvent);
		break;
	case WAIT_CONTEXT:
		/* cuCtxSynchronize_v2 names the context; the older one has no parameters. */
		if (d->functionParams && *(CUcontext *)d->functionParams && cupti->get_context_id)
			cupti->get_context_id(*(CUcontext *)d->functionParams, &slot->wait_context);
		break;
	case WAIT_COPY:
		slot->wait_flags = stream_flags(d->context, NULL, per_thread, &slot->wait_stream);
		slot->wait_flags |= XPU_WAIT_OTHERS | XPU_WAIT_WORK;
		break;
	case WAIT_FREE:
		slot->wait_flags = XPU_WAIT_WORK;
		break;
	default:
		slot->wait_flags = XPU_WAIT_LAUNCH | XPU_WAIT_WORK;
		slot->correlation_id = d->correlationId;
		break;
	}
	return slot->wait_ns;
}
