// SPDX-License-Identifier: MIT
#include "gpu/cupti/kinds.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/environment.h"
#include "gpu/cupti/cupti_lib.h"
#include "xpu_record.h"

/*
 * Where each event was last recorded. Events are hashed by their addresses, so one event may
 * displace another.
 */
#define NR_EVENTS	4096		/* a power of two */

struct event {
	_Atomic(CUevent) handle;	/* NULL while the entry changes */
	atomic_uint_fast32_t context, stream;	/* CUPTI's ids */
	atomic_uint_fast32_t flags;	/* XPU_WAIT_* */
};

uint8_t kinds__calls[KIND_MAX_CBID], kinds__sizes[KIND_MAX_CBID];

static bool is_async[KIND_MAX_CBID];	/* the call is a copy or set with a stream argument */
static struct event events[NR_EVENTS];
static const struct cupti *cupti;

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
 * Return: the value of kinds__sizes[] for the call @name. It is 0 for calls whose parameters point
 * to a description of the copy, and for calls of CUDA 3.1 and earlier, whose sizes have 32 bits.
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
		COPY(cuMemcpyDtoA_v2), COPY(cuMemcpyAtoD_v2), COPY(cuMemcpyHtoA_v2),
		COPY(cuMemcpyAtoH_v2), COPY(cuMemcpyAtoA_v2),
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

bool kinds__watch(uint32_t cbid, const char *name)
{
	static const struct {
		const char *prefix;
		uint8_t call;
	} table[] = {
		{ "cuStreamSynchronize", KIND_STREAM },
		{ "cuCtxSynchronize", KIND_CONTEXT },
		{ "cuEventSynchronize", KIND_EVENT },
		{ "cuEventRecord", KIND_RECORD },
		{ "cuMemFree", KIND_FREE },
		{ "cuMemcpy", KIND_COPY },
		{ "cuMemset", KIND_COPY },
	};
	const char *wanted = environment__get(XPU_WAITS_ENV);
	uint8_t call = KIND_LAUNCH;
	size_t i;

	if (cbid >= KIND_MAX_CBID)
		return false;
	__atomic_store_n(&kinds__sizes[cbid], sizes_of(name), __ATOMIC_RELAXED);
	if (wanted && !strcmp(wanted, "off"))
		return false;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (has_prefix(name, table[i].prefix))
			call = table[i].call;
	if (call == KIND_COPY)
		is_async[cbid] = strstr(name, "Async");
	if (call == KIND_FREE && strstr(name, "Async"))
		call = KIND_LAUNCH;
	if (has_suffix(name, "_ptsz") || has_suffix(name, "_ptds"))
		call |= KIND_PER_THREAD;
	/* If the entry was set before, other threads may be reading it. */
	__atomic_store_n(&kinds__calls[cbid],
			 call | (kind__flags(cbid) & (KIND_ALLOC | KIND_TIMED)), __ATOMIC_RELAXED);
	return call >= KIND_STREAM;
}

void kinds__watch_alloc(uint32_t cbid)
{
	if (cbid < KIND_MAX_CBID)
		__atomic_fetch_or(&kinds__calls[cbid], KIND_ALLOC, __ATOMIC_RELAXED);
}

void kinds__time(uint32_t cbid, bool on, bool no_launch)
{
	if (cbid >= KIND_MAX_CBID)
		return;
	if (on)
		__atomic_fetch_or(&kinds__calls[cbid],
				  KIND_TIMED | (no_launch ? KIND_NO_LAUNCH : 0), __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&kinds__calls[cbid], (uint8_t)~KIND_TIMED, __ATOMIC_RELAXED);
}

bool kinds__is_launch(const char *name)
{
	static const char *const prefixes[] = {
		"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset",
	};
	static const char *const others[] = { "cuLaunchHostFunc" };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

enum xpu_call_class kinds__class(const char *name)
{
	if (kinds__is_launch(name)) {
		if (strstr(name, "Graph") || strstr(name, "Batch") || strstr(name, "MultiDevice"))
			return XPU_CALL_IS_LAUNCHES;
		return has_prefix(name, "cuLaunch") ? XPU_CALL_IS_LAUNCH : XPU_CALL_IS_COPY;
	}
	if (has_prefix(name, "cuMem"))
		return XPU_CALL_IS_ALLOCATION;
	return strstr(name, "Synchronize") ? XPU_CALL_IS_WAIT : XPU_CALL_IS_OTHER;
}

void kinds__start(const struct cupti *c)
{
	cupti = c;
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

void kinds__event_recorded(uint32_t cbid, const CUpti_CallbackData *d)
{
	/* The parameters of all these calls begin with the event and the stream. */
	const cuEventRecord_params *p = d->functionParams;
	struct event *e = event__slot(p->hEvent);
	uint32_t stream = 0, flags;

	flags = stream_flags(d->context, p->hStream, kind__call(cbid) & KIND_PER_THREAD, &stream);
	atomic_store(&e->handle, NULL);
	atomic_store_explicit(&e->context, d->contextUid, memory_order_relaxed);
	atomic_store_explicit(&e->stream, stream, memory_order_relaxed);
	atomic_store_explicit(&e->flags, flags, memory_order_relaxed);
	atomic_store(&e->handle, p->hEvent);
}

static void describe_event(struct gpu_wait *w, CUevent handle)
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
	w->context = context;
	w->stream = stream;
	w->flags = flags;
}

void kinds__describe(struct gpu_wait *w, uint32_t cbid, const CUpti_CallbackData *d)
{
	uint8_t call = kind__call(cbid);
	bool per_thread = call & KIND_PER_THREAD;

	w->context = d->contextUid;
	call &= ~(KIND_PER_THREAD | KIND_ALLOC | KIND_NO_LAUNCH);
	/*
	 * A copy that names its stream is described like a launch: it waits for room in the queue,
	 * or until its own bytes are copied.
	 */
	switch (call == KIND_COPY && is_async[cbid] ? KIND_LAUNCH : call) {
	case KIND_STREAM:
		w->flags = stream_flags(d->context, ((const cuStreamSynchronize_params *)
							     d->functionParams)->hStream,
						per_thread, &w->stream);
		break;
	case KIND_EVENT:
		describe_event(w, ((const cuEventSynchronize_params *)
				      d->functionParams)->hEvent);
		break;
	case KIND_CONTEXT:
		/* cuCtxSynchronize_v2 names the context; the older version has no parameters. */
		if (d->functionParams && *(CUcontext *)d->functionParams && cupti->get_context_id)
			cupti->get_context_id(*(CUcontext *)d->functionParams, &w->context);
		break;
	case KIND_COPY:
		w->flags = stream_flags(d->context, NULL, per_thread, &w->stream);
		w->flags |= XPU_WAIT_OTHERS | XPU_WAIT_WORK;
		break;
	case KIND_FREE:
		w->flags = XPU_WAIT_WORK;
		break;
	default:
		w->flags = XPU_WAIT_LAUNCH | XPU_WAIT_WORK;
		w->correlation_id = d->correlationId;
		break;
	}
}
