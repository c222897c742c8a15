// SPDX-License-Identifier: MIT
#include "gpu/cupti/activity.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/all_threads.h"
#include "launch/capture_window.h"
#include "wire/sender.h"
#include "wire/work.h"
#include "gpu/cupti/copies.h"
#include "gpu/cupti/device.h"
#include "gpu/cupti/migrations.h"
#include "gpu/cupti/names.h"
#include "gpu/cupti/program.h"
#include "gpu/cupti/share.h"
#include "gpu/cupti/yield.h"

/*
 * Size of the buffers that CUPTI fills, with about 4,600 kernel records: large enough that CUPTI's
 * work per buffer is negligible, small enough that a flush of a quiet program touches little
 * memory. CUPTI uses a buffer for each thread that launches, so buffers are smaller when there are
 * many.
 */
#define BUFFER_BYTES	(1024 * 1024)
#define MANY_BUFFERS	256
#define SMALL_BYTES	(64 * 1024)
#define POOL_SLOTS	64
#define POOL_READY	4		/* number of buffers kept zeroed and faulted in; after a
					 * burst, further buffers are freed */
#define BUSY_BUFFERS	4		/* no flush if this many buffers come back anyway */
#define MAX_BUFFERS	12544		/* maximum number of buffers, 1 GiB; if CUPTI asks for more,
					 * it has stopped giving buffers back */
#define STOP_PAUSE_NS	1000000		/* length of the first pause at a stop, in which device work
					 * may end */
#define STOP_LONGEST_NS	8000000		/* the length of the pauses doubles up to this */
#define STOP_PAUSES	27		/* maximum number of pauses: 0.2 s */
#define WRITERS_WAIT_NS	2000000000ull	/* longest wait at a stop for threads that are inside
					 * CUPTI */

#define NR_LOOKS	5		/* number of comparisons of clocks; the quickest comparison
					 * is used */

/* For each member of a record: the first CUPTI_API_VERSION that has the member. */
#define VERSION_GRAPH_NODE	13	/* CUDA 11.0: graphNodeId */
#define VERSION_GRAPH		14	/* CUDA 11.1: graphId */
#define VERSION_CLUSTER		18	/* CUDA 11.8: clusterX */

/*
 * The last words before the data equal the words that malloc() puts before a block with its own
 * mapping. So if CUPTI gives this buffer to other code, that code may free() it; see own__take().
 */
struct buffer {
	struct buffer *next;
	size_t bytes, valid_bytes;	/* bytes of the data */
	CUcontext context;
	uint32_t stream_id;
	atomic_bool is_out;		/* CUPTI has the buffer */
	bool was_forced;		/* the program forced CUPTI to give the buffer back */
	int64_t shift_ns;		/* ns to add to CUPTI's times */
	size_t chunk_before;		/* number of bytes of the mapping before this member */
	size_t chunk_bytes;		/* number of bytes from this member to the mapping's end,
					 * plus CHUNK_IS_MAPPED */
	uint8_t data[];
};

#define CHUNK_IS_MAPPED	2

_Static_assert(offsetof(struct buffer, data) == 64, "a cache line, and a power of two for free()");
_Static_assert(offsetof(struct buffer, chunk_bytes) == 56, "malloc()'s words are the last ones");

/* All newer versions have the same offsets of the leading members; see the prefix casts below. */
_Static_assert(offsetof(CUpti_ActivityKernel10, start) == 16, "kernel record");
_Static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == 92, "kernel record");
_Static_assert(offsetof(CUpti_ActivityKernel10, name) == 104, "kernel record");
_Static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == 144, "kernel record");
_Static_assert(offsetof(CUpti_ActivityKernel10, graphId) == 156, "kernel record");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, correlationId) == 44, "memcpy record");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, graphId) == 72, "memcpy record");
_Static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, correlationId) == 60, "peer copy record");
_Static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, graphId) == 80, "peer copy record");
_Static_assert(offsetof(CUpti_ActivityMemset4, correlationId) == 44, "memset record");
_Static_assert(offsetof(CUpti_ActivityMemset4, graphId) == 72, "memset record");

static const struct cupti *cupti;

/* Empty, zeroed buffers. They are taken and returned by atomic exchanges, so no thread waits. */
static struct buffer *_Atomic pool[POOL_SLOTS];
static atomic_int nr_pool, nr_buffers;

/*
 * All buffers of the shim. Each buffer has one of the OWN_WINDOW places that begin at own__place().
 * No thread waits to read or change a place.
 */
#define OWN_PLACES	32768		/* a power of two, more than twice MAX_BUFFERS */
#define OWN_WINDOW	64

static struct buffer *_Atomic own[OWN_PLACES];

/* Whether CUPTI collects for the shim. If not, CUPTI gets its buffers from the program. */
static atomic_bool collecting;

/*
 * Whether the shim is one of several subscribers, and if so, the ns to add to CUPTI's timestamps.
 */
static atomic_bool is_among;
static atomic_int_fast64_t shift_ns;

/* Full buffers, latest first. */
static struct buffer *_Atomic completed;
static atomic_uint nr_completed;

static atomic_uint_fast64_t nr_dropped_cupti;
static atomic_uint nr_packed;		/* number of buffers packed: a sign of progress */
static atomic_uint nr_strange;		/* number of buffers of unknown owners, not reported yet */
static bool packed_forced;		/* the buffer being packed has unfinished records */
static atomic_bool forced;		/* CUPTI had to hand out unfinished records */

/*
 * Whether a thread may still write to a buffer that a forced flush has already returned. With CUPTI
 * 13.0, a thread wrote to memory that was already unmapped, after 1 of about 150 forced flushes.
 */
static atomic_bool late_writers;

/* Buffers that came back in a flush that the program forced: threads may still write to them. */
static atomic_int nr_forcing, nr_out;
static struct buffer *_Atomic resting;

/* ---- buffers --------------------------------------------------------------------------------- */

static size_t own__place(const struct buffer *b)
{
	_Static_assert(OWN_PLACES == 1 << 15, "the hash's shift");
	return ((uintptr_t)b / PAGE * 0x9e3779b97f4a7c15ull) >> (64 - 15);
}

static bool own__change(struct buffer *from, struct buffer *to)
{
	size_t at = own__place(from ?: to), i;
	struct buffer *was;

	for (i = 0; i < OWN_WINDOW; i++) {
		was = from;
		if (atomic_compare_exchange_strong(&own[(at + i) % OWN_PLACES], &was, to))
			return true;
	}
	return false;
}

static bool own__has(const struct buffer *b)
{
	size_t at = own__place(b), i;

	for (i = 0; i < OWN_WINDOW; i++)
		if (atomic_load(&own[(at + i) % OWN_PLACES]) == b)
			return true;
	return false;
}

/*
 * Return: the shim's buffer with its data at @data, if CUPTI had it; otherwise NULL. If @data is
 * not a buffer of the shim, the memory before it is not even read. If other code has freed one of
 * the shim's buffers and reused its address, the size and is_out tell the two buffers apart.
 */
static struct buffer *own__take(uint8_t *data, size_t bytes)
{
	struct buffer *b = (struct buffer *)((uintptr_t)data - offsetof(struct buffer, data));

	if ((uintptr_t)b % PAGE || !own__has(b) || b->bytes != bytes ||
	    !atomic_exchange(&b->is_out, false))
		return NULL;
	atomic_fetch_sub(&nr_out, 1);
	return b;
}

static size_t buffer__mapped(size_t bytes)
{
	return (sizeof(struct buffer) + bytes + PAGE - 1) & ~(PAGE - 1);
}

static struct buffer *buffer__new(int map_flags)
{
	int nr = atomic_fetch_add(&nr_buffers, 1);
	size_t bytes = nr < MANY_BUFFERS ? BUFFER_BYTES : SMALL_BYTES;
	struct buffer *b;

	if (nr >= MAX_BUFFERS)
		goto undo;
	b = mmap(NULL, buffer__mapped(bytes), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | map_flags, -1, 0);
	if (b == MAP_FAILED)
		goto undo;
	b->bytes = bytes;
	b->chunk_before = offsetof(struct buffer, chunk_before);
	b->chunk_bytes = (buffer__mapped(bytes) - b->chunk_before) | CHUNK_IS_MAPPED;
	if (own__change(NULL, b))
		return b;
	munmap(b, buffer__mapped(bytes));
undo:
	atomic_fetch_sub(&nr_buffers, 1);
	return NULL;
}

static void buffer__free(struct buffer *b)
{
	own__change(b, NULL);
	munmap(b, buffer__mapped(b->bytes));
	atomic_fetch_sub(&nr_buffers, 1);
}

static struct buffer *pool__take(void)
{
	struct buffer *b;
	int i;

	for (i = 0; i < POOL_SLOTS; i++) {
		if (!atomic_load_explicit(&pool[i], memory_order_relaxed))
			continue;
		b = atomic_exchange(&pool[i], NULL);
		if (b) {
			atomic_fetch_sub(&nr_pool, 1);
			return b;
		}
	}
	return NULL;
}

/*
 * Takes over @b: puts it into the pool, with its first @used bytes cleared. If the pool is full,
 * frees @b; if threads may still write to @b, leaks it instead.
 */
static void pool__give(struct buffer *b, size_t used)
{
	struct buffer *empty;
	int i;

	if (b->bytes < BUFFER_BYTES || atomic_load(&nr_pool) >= POOL_SLOTS) {
		if (!atomic_load(&late_writers))
			buffer__free(b);
		return;
	}
	memset(b->data, 0, used);
	for (i = 0; i < POOL_SLOTS; i++) {
		empty = NULL;
		if (atomic_compare_exchange_strong(&pool[i], &empty, b)) {
			atomic_fetch_add(&nr_pool, 1);
			return;
		}
	}
	if (!atomic_load(&late_writers))
		buffer__free(b);
}

/*
 * Gives the memory of the pool's buffers, except their first pages, back to the system. The
 * addresses of the buffers stay valid: see late_writers.
 */
static void pool__rest(void)
{
	struct buffer *b, *next, *all = NULL;

	while ((b = pool__take())) {
		b->next = all;
		all = b;
	}
	for (b = all; b; b = next) {
		next = b->next;
		madvise((uint8_t *)b + PAGE, buffer__mapped(b->bytes) - PAGE, MADV_DONTNEED);
		pool__give(b, PAGE - sizeof(*b));
	}
}

static void pool__fill(void)
{
	struct buffer *b;

	while (atomic_load(&nr_pool) < POOL_READY && atomic_load(&nr_buffers) < MANY_BUFFERS) {
		b = buffer__new(MAP_POPULATE);
		if (!b)
			return;
		pool__give(b, 0);
	}
}

void CUPTIAPI activity__requested(uint8_t **data, size_t *size, size_t *max_records)
{
	int saved_errno = errno;
	struct buffer *b;

	if ((!atomic_load(&collecting) || yield__is_collecting()) &&
	    yield__request(data, size, max_records))
		return;
	b = pool__take();
	if (!b)
		b = buffer__new(0);
	if (b) {
		atomic_store(&b->is_out, true);
		atomic_fetch_add(&nr_out, 1);
	}
	*data = b ? b->data : NULL;	/* without a buffer CUPTI drops records and counts them */
	*size = b ? b->bytes : 0;
	*max_records = 0;		/* as many as fit in the buffer */
	errno = saved_errno;
}

void CUPTIAPI activity__completed(CUcontext context, uint32_t stream_id, uint8_t *data,
				  size_t size, size_t valid_bytes)
{
	int saved_errno = errno;
	struct buffer *b;

	if (!data)
		return;
	b = own__take(data, size);
	if (!b) {
		if (!yield__complete(context, stream_id, data, size, valid_bytes))
			atomic_fetch_add(&nr_strange, 1);
		return;
	}
	if (valid_bytes > b->bytes)
		valid_bytes = b->bytes;
	/*
	 * CUPTI asked for this buffer just before the program took over, so it holds the program's
	 * records.
	 */
	if (yield__is_collecting() && yield__copy(context, stream_id, b->data, valid_bytes)) {
		pool__give(b, b->bytes);
		errno = saved_errno;
		return;
	}
	b->was_forced = atomic_load(&nr_forcing) > 0;
	b->shift_ns = atomic_load(&is_among) ? atomic_load(&shift_ns) : 0;
	b->valid_bytes = valid_bytes;
	b->context = context;
	b->stream_id = stream_id;
	b->next = atomic_load(&completed);
	while (!atomic_compare_exchange_weak(&completed, &b->next, b))
		;
	atomic_fetch_add(&nr_completed, 1);
	sender__wake();
	errno = saved_errno;
}

/* ---- packing --------------------------------------------------------------------------------- */

static struct xpu_shape shape_of(const CUpti_ActivityKernel10 *k)
{
	struct xpu_shape shape = {
		.grid = { k->gridX, k->gridY, k->gridZ },
		.block = { k->blockX, k->blockY, k->blockZ },
		.registers = k->registersPerThread,
		.static_bytes = k->staticSharedMemory,
		.dynamic_bytes = k->dynamicSharedMemory,
		.local_bytes = k->localMemoryPerThread,
	};

	if (cupti->version >= VERSION_CLUSTER) {
		shape.cluster[0] = k->clusterX;
		shape.cluster[1] = k->clusterY;
		shape.cluster[2] = k->clusterZ;
	}
	return shape;
}

/*
 * The members that all records of device work have; their names are the same in all of CUPTI's
 * structures.
 */
#define WORK_OF(record_type, r, shift)							\
	{										\
		.type = record_type,							\
		.api = XPU_API_CUDA,							\
		.correlation_id = (r)->correlationId,					\
		.stream = device__stream((r)->deviceId, (r)->contextId, (r)->streamId),	\
		.start = (r)->start,							\
		.end = (r)->end,							\
		.shift_ns = shift,							\
		.may_be_unfinished = forced || packed_forced,				\
		.graph_node_id = cupti->version >= VERSION_GRAPH_NODE ?			\
				 (r)->graphNodeId : 0,					\
		.graph_id = cupti->version >= VERSION_GRAPH ? (r)->graphId : 0,		\
	}

static void pack_kernel(const CUpti_Activity *record, int64_t shift)
{
	const CUpti_ActivityKernel10 *k = (const void *)record;	/* a prefix, see above */
	struct gpu_work w = WORK_OF(XPU_RECORD_KERNEL, k, shift);
	struct xpu_shape shape = shape_of(k);

	w.name = wire__kernel(names__of(w.graph_node_id, k->correlationId) ?: k->name, &shape);
	wire__work(&w);
}

/* Packs a record of a copy, in either of CUPTI's two structures for copies. */
#define PACK_COPY(m, shift)								\
({											\
	struct gpu_work w = WORK_OF(XPU_RECORD_MEMCPY, m, shift);			\
											\
	w.bytes = (m)->bytes;								\
	w.is_async = (m)->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;			\
	w.copy_kind = (m)->copyKind;							\
	w.src_kind = (m)->srcKind;							\
	w.dst_kind = (m)->dstKind;							\
	wire__work(&w);									\
})

static void pack_copy(const CUpti_Activity *record, int64_t shift)
{
	PACK_COPY((const CUpti_ActivityMemcpy6 *)record, shift);
}

static void pack_peer_copy(const CUpti_Activity *record, int64_t shift)
{
	PACK_COPY((const CUpti_ActivityMemcpyPtoP4 *)record, shift);
}

static void pack_memset(const CUpti_Activity *record, int64_t shift)
{
	const CUpti_ActivityMemset4 *m = (const void *)record;
	struct gpu_work w = WORK_OF(XPU_RECORD_MEMSET, m, shift);

	w.bytes = m->bytes;
	w.is_async = m->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
	w.dst_kind = m->memoryKind;
	wire__work(&w);
}

/* The kinds of records that the shim packs, one in each row. */
static const struct kind {
	/* Packs a record of this kind. @shift: ns to add to the record's times */
	void (*pack)(const CUpti_Activity *record, int64_t shift);
	uint8_t launch_at;		/* offset of the launch's id in the record; 0: the record
					 * has no launch */
} kinds[CUPTI_ACTIVITY_KIND_COUNT] = {
#define WORK(pack, type)	{ pack, offsetof(type, correlationId) }
	[CUPTI_ACTIVITY_KIND_KERNEL] = WORK(pack_kernel, CUpti_ActivityKernel10),
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = WORK(pack_kernel, CUpti_ActivityKernel10),
	[CUPTI_ACTIVITY_KIND_MEMCPY] = WORK(pack_copy, CUpti_ActivityMemcpy6),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = WORK(pack_peer_copy, CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_MEMSET] = WORK(pack_memset, CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = { .pack = migrations__pack },
#undef WORK
};

/*
 * The kinds of records that activity__collect() enables in CUPTI. Kernels come first: if copies are
 * enabled before kernels while threads launch, CUPTI 13.0 loses the kernels of more than half of a
 * window's launches.
 */
static const CUpti_ActivityKind collected[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
};

#define NR_COLLECTED	(sizeof(collected) / sizeof(collected[0]))

static const struct kind *kind_of(const CUpti_Activity *record)
{
	static const struct kind none;

	return record->kind < CUPTI_ACTIVITY_KIND_COUNT ? &kinds[record->kind] : &none;
}

/* Gives the program copies of the records that it asked for. */
static void share_buffer(struct buffer *b)
{
	CUpti_Activity *record = NULL, *next;
	CUptiResult err;

	if (!share__serves() || !copies__are_wanted() ||
	    cupti__next_record(cupti, b->data, b->valid_bytes, &record) != CUPTI_SUCCESS)
		return;
	for (; record; record = next) {
		next = record;
		err = cupti__next_record(cupti, b->data, b->valid_bytes, &next);
		if (err == CUPTI_SUCCESS) {
			copies__keep(record, (uint8_t *)next - (uint8_t *)record);
			continue;
		}
		next = NULL;
		/* After an error, the length of the last record is unknown. */
		copies__keep(record, err == CUPTI_ERROR_MAX_LIMIT_REACHED ?
			     (size_t)(b->data + b->valid_bytes - (uint8_t *)record) : 0);
	}
}

static uint32_t launch_of(const CUpti_Activity *record, const struct kind *kind)
{
	return *(const uint32_t *)((const uint8_t *)record + kind->launch_at);
}

static void pack_buffer(struct buffer *b)
{
	CUpti_Activity *record = NULL;
	size_t nr_dropped = 0;
	const struct kind *kind;

	packed_forced = b->was_forced;
	share_buffer(b);
	while (cupti__next_record(cupti, b->data, b->valid_bytes, &record) == CUPTI_SUCCESS) {
		kind = kind_of(record);
		if (capture_window__are_used && kind->launch_at &&
		    !capture_window__has(XPU_API_CUDA, launch_of(record, kind)))
			continue;
		if (kind->pack)
			kind->pack(record, b->shift_ns);
	}
	if (cupti__num_dropped(cupti, b->context, b->stream_id, &nr_dropped) == CUPTI_SUCCESS)
		atomic_fetch_add(&nr_dropped_cupti, nr_dropped);
	atomic_fetch_add(&nr_packed, 1);
}

unsigned int activity__progress(void)
{
	return atomic_load(&nr_completed) + atomic_load(&nr_packed);
}

/* Reports buffers of unknown owners. The caller holds the lock. */
static void tell_of_strangers(void)
{
	unsigned int nr = atomic_exchange(&nr_strange, 0);
	char text[256];

	if (!nr)
		return;
	snprintf(text, sizeof(text), "CUPTI gave the shim %u buffer%s that another profiler in "
				     "this program had supplied: that profiler lacks the activity "
				     "records in them", nr,
		 nr == 1 ? "" : "s");
	wire__message(XPU_MESSAGE_WARNING, text);
}

static void rest_or_give(struct buffer *b)
{
	if (!b->was_forced) {
		pool__give(b, b->bytes);
		return;
	}
	b->next = atomic_load(&resting);
	while (!atomic_compare_exchange_weak(&resting, &b->next, b))
		;
}

void activity__end_rest(void)
{
	struct buffer *b = atomic_exchange(&resting, NULL), *next;

	if (b)
		all_threads__wait_moved(WRITERS_WAIT_NS);
	for (; b; b = next) {
		next = b->next;
		pool__give(b, b->bytes);
	}
}

void *activity__take(void)
{
	return atomic_exchange(&completed, NULL);
}

void activity__pack(void *taken)
{
	struct buffer *b, *next, *oldest = NULL;

	for (b = taken; b; b = next) {
		next = b->next;
		b->next = oldest;
		oldest = b;
	}
	tell_of_strangers();
	for (b = oldest; b; b = next) {
		next = b->next;
		pack_buffer(b);
		rest_or_give(b);
	}
	copies__kept();
	/* Another vendor adds to this counter, too. */
	wire__counters.nr_dropped_cupti += atomic_exchange(&nr_dropped_cupti, 0);
}

void activity__drained(bool any, bool last)
{
	struct buffer *b;

	if (last) {
		pool__rest();
		return;
	}
	forced = false;			/* the process continues after all: its exec has failed */
	late_writers = false;
	if (!any && atomic_load(&nr_pool) > POOL_READY) {
		b = pool__take();
		if (b)
			buffer__free(b);
	}
	pool__fill();
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static bool have_clock;			/* CUPTI takes timestamps from monotonic_ns() */

static uint64_t CUPTIAPI monotonic_ns(void)
{
	return clock__ns();
}

/* Reads the clock that CUPTI uses if no other clock is registered. */
static uint64_t CUPTIAPI realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

/*
 * Tells CUPTI whether buffers are zeroed, so that it need not clear them on the application's
 * thread. The shim's buffers are zeroed, the program's buffers are not. Older versions of CUPTI
 * have no such setting.
 */
static void set_zeroed(uint8_t zeroed)
{
	size_t size = sizeof(zeroed);

	cupti__set_attribute(cupti, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
}

/* Makes CUPTI ask the program for buffers, if the program collects activity records. */
static void give_back(void)
{
	set_zeroed(0);
	atomic_store(&collecting, false);
}

bool activity__collects(void)
{
	return atomic_load(&collecting);
}

static void CUPTIAPI requested_v2(uint8_t **data, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	activity__requested(data, size, max_records);
}

static void CUPTIAPI completed_v2(uint8_t *data, size_t size, size_t valid_bytes, void *info)
{
	(void)info;
	activity__completed(NULL, 0, data, size, valid_bytes);
}

/*
 * Measures the difference between CUPTI's clock and the shim's clock. As one of several subscribers
 * the shim registers no clock, so records have timestamps of CUPTI's clock. The clocks are compared
 * periodically, using the quickest of a few comparisons.
 */
static void measure_shift(void)
{
	uint64_t before, theirs, took, best = UINT64_MAX;
	int i;

	for (i = 0; i < NR_LOOKS; i++) {
		before = clock__ns();
		if (cupti->get_timestamp_v2(cupti->among, &theirs) != CUPTI_SUCCESS)
			return;
		took = clock__ns() - before;
		if (took >= best)
			continue;
		best = took;
		atomic_store(&shift_ns, before + took / 2 - theirs);
	}
}

bool activity__is_among(void)
{
	return atomic_load(&is_among);
}

CUptiResult activity__collect(bool on)
{
	CUptiResult err;
	size_t i;

	for (i = 0; i < NR_COLLECTED; i++) {
		err = cupti__enable(cupti, collected[i], on);
		if (on && err != CUPTI_SUCCESS)
			goto disable;
	}
	return CUPTI_SUCCESS;

disable:
	while (i--)
		cupti__enable(cupti, collected[i], false);
	return err;
}

CUptiResult activity__start(const struct cupti *c, bool collect, const char **what)
{
	CUptiResult err;

	cupti = c;
	forced = false;
	pool__fill();
	atomic_store(&is_among, c->among != NULL);
	if (c->among)
		measure_shift();
	/*
	 * Registers the clock only once: reports say that registering late or twice gives zero
	 * timestamps.
	 */
	if (!have_clock && !c->among) {
		*what = "cuptiActivityRegisterTimestampCallback";
		err = c->activity_register_timestamp(monotonic_ns);
		if (err != CUPTI_SUCCESS)
			return err;
		have_clock = true;
	}
	atomic_store(&collecting, true);
	set_zeroed(1);
	*what = "cuptiActivityRegisterCallbacks";
	if (c->among)
		err = c->activity_register_callbacks_v2(c->among, requested_v2, completed_v2);
	else
		err = c->activity_register_callbacks(activity__requested, activity__completed);
	if (err != CUPTI_SUCCESS) {
		give_back();
		return err;
	}
	*what = "cuptiActivityEnable";
	err = collect ? activity__collect(true) : CUPTI_SUCCESS;
	if (err != CUPTI_SUCCESS)
		give_back();
	return err;
}

/*
 * Flushes if needed. A flush delays every thread that launches meanwhile. No flush is needed while
 * buffers fill quickly and come back without a flush, unless names.h notes the names of kernels:
 * then records must not arrive late.
 */
void activity__flush_if_quiet(void)
{
	static unsigned int before;

	if (names__wanted() || atomic_load(&nr_completed) - before < BUSY_BUFFERS)
		activity__flush(false);
	before = atomic_load(&nr_completed);
}

void activity__flush(bool force)
{
	if (cupti->among)
		measure_shift();
	if (force) {
		atomic_store(&late_writers, true);
		atomic_store(&forced, true);
	}
	cupti->activity_flush_all(force ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

/* Whether CUPTI holds buffers of the shim: a flush does not return buffers with unfinished work. */
static bool buffers_are_out(void)
{
	const struct buffer *b;
	int nr = atomic_load(&nr_buffers) - atomic_load(&nr_pool);

	for (b = atomic_load(&completed); b; b = b->next)	/* only the caller takes buffers
								 * from the list */
		nr--;
	for (b = atomic_load(&resting); b; b = b->next)
		nr--;
	return nr > 0;
}

bool activity__has_buffers_out(void)
{
	return atomic_load(&nr_out) > 0;
}

void activity__flush_for_program(void)
{
	atomic_fetch_add(&nr_forcing, 1);
	cupti->activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	atomic_fetch_sub(&nr_forcing, 1);
}

bool activity__has_kind(CUpti_ActivityKind kind)
{
	size_t i;

	for (i = 0; i < NR_COLLECTED; i++)
		if (collected[i] == kind)
			return true;
	return false;
}

bool activity__is_work(const CUpti_Activity *record)
{
	return kind_of(record)->launch_at;
}

/* Waits until no thread in CUPTI uses a buffer or callback that it got before this call. */
static void wait_for_writers(void)
{
	all_threads__wait_moved(WRITERS_WAIT_NS);
	atomic_store(&late_writers, false);
}

void activity__stop(void)
{
	struct timespec pause = { 0, STOP_PAUSE_NS };
	size_t i;

	activity__flush(false);
	activity__collect(false);
	migrations__end();
	for (i = 0; i < STOP_PAUSES && buffers_are_out(); i++) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < STOP_LONGEST_NS)
			pause.tv_nsec *= 2;
		activity__flush(false);
	}
	give_back();
	wait_for_writers();
}

bool activity__is_free(const struct cupti *c)
{
	if (yield__buffers_are_out())
		c->activity_flush_all(0);
	return !yield__buffers_are_out();
}

bool activity__yield(void)
{
	bool took = false;

	if (!cupti)
		return false;
	/*
	 * If CUPTI kept a buffer of the shim, it would put the program's records into that buffer.
	 */
	if (buffers_are_out() && !yield__buffers_are_out()) {
		activity__flush(true);
		wait_for_writers();
		took = true;
	}
	if (have_clock)
		cupti->activity_register_timestamp(program__clock() ?: realtime_ns);
	have_clock = false;
	return took;
}
