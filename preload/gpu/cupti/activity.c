// SPDX-License-Identifier: MIT
#include "gpu/cupti/activity.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/environment.h"
#include "launch/calls.h"
#include "launch/launch.h"
#include "base/libc.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "launch/names.h"
#include "launch/notes.h"
#include "wire/probe.h"
#include "python/python.h"
#include "nvtx/ranges.h"
#include "launch/refused.h"
#include "launch/window.h"
#include "wire/wire.h"
#include "gpu/cupti/copies.h"
#include "gpu/cupti/program.h"
#include "gpu/cupti/share.h"
#include "gpu/cupti/yield.h"

/*
 * A buffer holds about 4,600 kernel records: large enough that CUPTI's per-buffer work is noise,
 * small enough that a flush of a quiet program does not touch much memory. CUPTI uses a buffer for
 * each thread that launches, so buffers are smaller when there are many.
 */
#define BUFFER_BYTES	(1024 * 1024)
#define MANY_BUFFERS	256
#define SMALL_BYTES	(64 * 1024)
#define POOL_SLOTS	64
#define POOL_READY	4		/* zeroed and faulted in; others are freed after a burst */
#define BUSY_BUFFERS	4		/* if so many return by themselves, do not flush */
#define MAX_BUFFERS	12544		/* 1 GiB: CUPTI has stopped giving buffers back */
#define STOP_PAUSE_NS	10000000	/* a pause at a stop, for device work to end */
#define STOP_PAUSES	20		/* at most this many pauses */
#define WRITERS_WAIT_NS	2000000000ull	/* at a stop, for threads that are inside CUPTI */

#define NR_LOOKS	5		/* comparisons of clocks; the quickest is believed */

/* The first CUPTI_API_VERSION whose records have these members. */
#define VERSION_GRAPH_NODE	13	/* CUDA 11.0: graphNodeId */
#define VERSION_GRAPH		14	/* CUDA 11.1: graphId */
#define VERSION_CLUSTER		18	/* CUDA 11.8: clusterX */

/*
 * The last words before the data are the same as malloc() puts before a block with its own mapping.
 * So if CUPTI gives this buffer to other code, that code may free() it; see own__take().
 */
struct buffer {
	struct buffer *next;
	size_t bytes, valid_bytes;	/* of the data */
	CUcontext context;
	uint32_t stream_id;
	atomic_bool is_out;		/* CUPTI has it */
	bool was_forced;		/* CUPTI gave it back because the program forced it to */
	int64_t shift_ns;		/* ns to add to CUPTI's times */
	size_t chunk_before;		/* bytes of the mapping before this member */
	size_t chunk_bytes;		/* bytes from this member to the mapping's end, with
					 * CHUNK_IS_MAPPED */
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

/* Empty, zeroed buffers. They are taken and returned by an atomic exchange, so no thread waits. */
static struct buffer *_Atomic pool[POOL_SLOTS];
static atomic_int nr_pool, nr_buffers;

/*
 * All buffers of the shim, each at one of the OWN_WINDOW places after own__place(). No thread
 * waits.
 */
#define OWN_PLACES	32768		/* a power of two, more than twice MAX_BUFFERS */
#define OWN_WINDOW	64

static struct buffer *_Atomic own[OWN_PLACES];

/* Whether CUPTI collects for the shim. If not, CUPTI gets its buffers from the program. */
static atomic_bool collecting;

/* For a shim that is one of several subscribers: ns to add to CUPTI's times. */
static atomic_bool is_among;
static atomic_int_fast64_t shift_ns;

/* Full buffers, latest first. */
static struct buffer *_Atomic completed;
static atomic_uint nr_completed;

/* A graph node and the node that it is a copy of, not yet sent. */
struct clone {
	struct clone *next;
	uint64_t node_id, original_id;
};

static struct clone *_Atomic clones;

static atomic_uint_fast64_t nr_dropped_cupti, nr_dropped_shim;
static atomic_uint nr_packed;		/* buffers packed: a sign of progress */
static atomic_uint nr_strange;		/* buffers of unknown owners, not yet reported */
static int64_t packed_shift_ns;		/* of the buffer being packed */
static bool packed_forced;		/* the buffer being packed has unfinished records */
static atomic_bool forced;		/* CUPTI had to hand out unfinished records */

/*
 * Whether a thread may be about to write to a buffer that a forced flush has already returned. With
 * 13.0 this happened in a launch after 1 of about 150 forced flushes, and the memory was already
 * unmapped.
 */
static atomic_bool late_writers;

/* Buffers that came back in a flush that the program forced: threads may still write to them. */
static atomic_int nr_forcing, nr_out;
static struct buffer *_Atomic resting;

static sem_t wakeup;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* wire.c, packing; lock.h */

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

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
 * Return: the shim's buffer with its data at @data, if CUPTI had it; else NULL. The memory before
 * foreign @data is not even read. If other code has freed one of the shim's buffers and reused the
 * address, the size and is_out tell them apart.
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
 * frees @b, or leaks it while threads may still write to it.
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
 * Gives the memory of the pool's buffers back to the kernel, except their first pages. Their
 * addresses stay valid, see late_writers.
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
	*max_records = 0;		/* as many as fit */
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
	sem_post(&wakeup);
	errno = saved_errno;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Sets the times of a packed record and returns its misc. */
static uint16_t pack_times(uint64_t start, uint64_t end, __u64 *start_ns, __u64 *duration_ns)
{
	if ((start || forced || packed_forced) && !end) {
		wire__counters.nr_unfinished++;
	} else if (!start || end < start) {
		wire__counters.nr_bad_times++;
	} else {
		*start_ns = start + packed_shift_ns;
		*duration_ns = end - start;
		return 0;
	}
	*start_ns = 0;
	*duration_ns = 0;
	return XPU_MISC_BAD_TIME;
}

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

static void pack_kernel(const CUpti_Activity *record)
{
	const CUpti_ActivityKernel10 *k = (const void *)record;	/* a prefix, see above */
	uint64_t node = cupti->version >= VERSION_GRAPH_NODE ? k->graphNodeId : 0;
	uint32_t stream = wire__stream(k->deviceId, k->contextId, k->streamId);
	struct xpu_shape shape = shape_of(k);
	uint32_t name = wire__kernel(names__of(node, k->correlationId) ?: k->name, &shape);
	struct xpu_record_kernel *r;

	r = wire__reserve(XPU_RECORD_KERNEL, node ? XPU_MISC_GRAPH_NODE : 0,
			  sizeof(*r) + (node ? sizeof(node) : 0));
	r->hdr.misc |= pack_times(k->start, k->end, &r->start_ns, &r->duration_ns);
	r->correlation_id = k->correlationId;
	r->name = name;
	r->stream = stream;
	if (node) {
		r->graph_id = cupti->version >= VERSION_GRAPH ? k->graphId : 0;
		r->graph_node_id[0] = node;
	}
	wire__counters.nr_kernels++;
}

/* Packs the members that copies and sets share, by their common names in CUPTI's structures. */
#define PACK_MEMORY(type, m, async)							\
({											\
	uint64_t node = cupti->version >= VERSION_GRAPH_NODE ? (m)->graphNodeId : 0;	\
	uint32_t stream = wire__stream((m)->deviceId, (m)->contextId, (m)->streamId);	\
	struct xpu_record_memory *r;							\
											\
	r = wire__reserve(type, node ? XPU_MISC_GRAPH_NODE : 0,				\
			  sizeof(*r) + (node ? sizeof(node) : 0));			\
	r->hdr.misc |= pack_times((m)->start, (m)->end, &r->start_ns, &r->duration_ns);	\
	r->correlation_id = (m)->correlationId;						\
	r->stream = stream;								\
	r->bytes = (m)->bytes;								\
	r->is_async = !!((m)->flags & (async));						\
	if (node) {									\
		r->graph_id = cupti->version >= VERSION_GRAPH ? (m)->graphId : 0;	\
		r->graph_node_id[0] = node;						\
	}										\
	r;										\
})

#define PACK_COPY(m)									\
({											\
	struct xpu_record_memory *copy = PACK_MEMORY(XPU_RECORD_MEMCPY, m,		\
						     CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);	\
											\
	copy->copy_kind = (m)->copyKind;						\
	copy->src_kind = (m)->srcKind;							\
	copy->dst_kind = (m)->dstKind;							\
	wire__counters.nr_memcpys++;							\
})

static void pack_memset(const CUpti_Activity *record)
{
	const CUpti_ActivityMemset4 *m = (const void *)record;
	struct xpu_record_memory *set = PACK_MEMORY(XPU_RECORD_MEMSET, m,
						    CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);

	set->dst_kind = m->memoryKind;
	wire__counters.nr_memsets++;
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

/* Return: the correlation id of a record of device work; 0 for other records. */
static uint32_t launch_of(const CUpti_Activity *record)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return ((const CUpti_ActivityKernel10 *)record)->correlationId;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return ((const CUpti_ActivityMemcpy6 *)record)->correlationId;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return ((const CUpti_ActivityMemcpyPtoP4 *)record)->correlationId;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return ((const CUpti_ActivityMemset4 *)record)->correlationId;
	default:
		return 0;
	}
}

static void pack_buffer(struct buffer *b)
{
	CUpti_Activity *record = NULL;
	size_t nr_dropped = 0;

	packed_forced = b->was_forced;
	packed_shift_ns = b->shift_ns;
	share_buffer(b);
	while (cupti__next_record(cupti, b->data, b->valid_bytes, &record) == CUPTI_SUCCESS) {
		if (window__are_used && !window__has(launch_of(record)))
			continue;
		switch (record->kind) {
		case CUPTI_ACTIVITY_KIND_KERNEL:
		case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
			pack_kernel(record);
			break;
		case CUPTI_ACTIVITY_KIND_MEMCPY:
			PACK_COPY((const CUpti_ActivityMemcpy6 *)record);
			break;
		case CUPTI_ACTIVITY_KIND_MEMCPY2:
			PACK_COPY((const CUpti_ActivityMemcpyPtoP4 *)record);
			break;
		case CUPTI_ACTIVITY_KIND_MEMSET:
			pack_memset(record);
			break;
		default:
			break;
		}
	}
	if (cupti__num_dropped(cupti, b->context, b->stream_id, &nr_dropped) == CUPTI_SUCCESS)
		atomic_fetch_add(&nr_dropped_cupti, nr_dropped);
	atomic_fetch_add(&nr_packed, 1);
}

unsigned int activity__progress(void)
{
	return atomic_load(&nr_completed) + atomic_load(&nr_packed);
}

/*
 * CUPTI calls this inside cuGraphInstantiate(), perhaps with locks of the driver held that packing
 * may take, too. So it must not wait for the packer.
 */
void activity__graph_clone(uint64_t node_id, uint64_t original_id)
{
	int saved_errno = errno;
	struct clone *c = malloc(sizeof(*c));

	if (c) {
		c->node_id = node_id;
		c->original_id = original_id;
		c->next = atomic_load(&clones);
		while (!atomic_compare_exchange_weak(&clones, &c->next, c))
			;
	} else {
		atomic_fetch_add(&nr_dropped_shim, 1);
	}
	errno = saved_errno;
}

/* Sends the recorded clones. Return: whether there were any. */
static bool drain_clones(void)
{
	struct clone *c, *next, *all = atomic_exchange(&clones, NULL);

	for (c = all; c; c = next) {
		next = c->next;
		wire__graph_clone(c->node_id, c->original_id);
		free(c);
	}
	return all != NULL;
}

/* Reports buffers of unknown owners. The caller holds the lock. */
static void tell_of_strangers(void)
{
	unsigned int nr = atomic_exchange(&nr_strange, 0);
	char text[256];

	if (!nr)
		return;
	snprintf(text, sizeof(text), "CUPTI gave the shim %u buffer%s of activity records that "
		 "another user of CUPTI in this program had lent it: that user lacks them", nr,
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
		threads__wait_moved(WRITERS_WAIT_NS);
	for (; b; b = next) {
		next = b->next;
		pool__give(b, b->bytes);
	}
}

static bool drain(bool last)
{
	struct buffer *b, *next, *oldest = NULL;
	struct launch_totals totals;
	bool done_any;
	sigset_t old;

	lock__take(&lock, &old);
	/*
	 * Full buffers are taken before launches are sent, and are sent after them, so that no
	 * device work is sent before its launch: other threads launch all the time.
	 */
	b = atomic_exchange(&completed, NULL);
	if (last)
		launch__enable(false);
	launch__send(&totals);
	wire__counters.nr_launches = totals.nr_launches;
	wire__counters.nr_slots = totals.nr_threads;
	wire__counters.nr_ranges = totals.nr_ranges;
	wire__counters.nr_allocs = totals.nr_allocs;
	wire__counters.nr_calls = totals.nr_calls;
	wire__counters.nr_bad_calls = calls__nr_bad();
	wire__counters.nr_dropped_ranges = ranges__nr_dropped();
	for (; b; b = next) {
		next = b->next;
		b->next = oldest;
		oldest = b;
	}
	done_any = python__drain();
	done_any = drain_clones() || done_any || oldest;
	done_any = refused__drain() || done_any;
	tell_of_strangers();
	for (b = oldest; b; b = next) {
		next = b->next;
		pack_buffer(b);
		rest_or_give(b);
	}
	copies__kept();
	if (last) {
		wire__repeat_definitions();
		launch__repeat_definitions();
	}
	wire__counters.hdr.misc = last ? XPU_MISC_COUNTERS_LAST : 0;
	wire__counters.nr_dropped_cupti = atomic_load(&nr_dropped_cupti);
	wire__counters.nr_dropped_shim = atomic_load(&nr_dropped_shim);
	if (done_any || last)
		wire__flush();
	lock__give(&lock, &old);
	return oldest;
}

void activity__drain(bool last)
{
	bool any = drain(last);
	struct buffer *b;

	if (last) {
		pool__rest();
	} else {
		forced = false;		/* the process goes on after all: an exec has failed */
		late_writers = false;
		if (!any && atomic_load(&nr_pool) > POOL_READY) {
			b = pool__take();
			if (b)
				buffer__free(b);
		}
		pool__fill();
	}
}

void activity__drain_for_program(void)
{
	drain(false);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static bool have_clock;			/* CUPTI takes times from monotonic_ns() */

static uint64_t CUPTIAPI monotonic_ns(void)
{
	return clock__ns();
}

/* The clock that CUPTI uses if none is registered. */
static uint64_t CUPTIAPI realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

void activity__init(void)
{
	sem_init(&wakeup, 0, 0);
	wire__labels(environment__labels());
}

/*
 * Tells CUPTI whether buffers are zeroed, so that it need not clear them on the application's
 * thread. The shim's buffers are, the program's are not. Older versions of CUPTI cannot be told.
 */
static void set_zeroed(uint8_t zeroed)
{
	size_t size = sizeof(zeroed);

	cupti__set_attribute(cupti, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
}

/* Makes CUPTI ask the program for buffers, if the program collects. */
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
 * As one of several subscribers the shim registers no clock: records have CUPTI's times. The clocks
 * are compared periodically, and the quickest of a few comparisons is believed.
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

	for (i = 0; i < NR_KINDS; i++) {
		err = cupti__enable(cupti, kinds[i], on);
		if (on && err != CUPTI_SUCCESS)
			goto disable;
	}
	return CUPTI_SUCCESS;

disable:
	while (i--)
		cupti__enable(cupti, kinds[i], false);
	return err;
}

CUptiResult activity__start(const struct cupti *c, bool collect, const char **what)
{
	CUptiResult err;

	cupti = c;
	forced = false;
	wire__counters.hdr.misc = 0;	/* the last batch said that the shim stops */
	pool__fill();
	atomic_store(&is_among, c->among != NULL);
	if (c->among)
		measure_shift();
	/*
	 * Registers the clock only once: registering late or twice is reported to give zero times.
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
 * A flush delays every thread that launches meanwhile. None is needed while buffers fill quickly
 * and come back by themselves, unless names would wait too long.
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

	for (b = atomic_load(&completed); b; b = b->next)	/* only the caller takes them */
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

	for (i = 0; i < NR_KINDS; i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

/* Waits until no thread in CUPTI uses a buffer or callback that it got before this call. */
static void wait_for_writers(void)
{
	threads__wait_moved(WRITERS_WAIT_NS);
	atomic_store(&late_writers, false);
}

void activity__stop(void)
{
	const struct timespec pause = { 0, STOP_PAUSE_NS };
	size_t i;

	activity__flush(false);
	activity__collect(false);
	for (i = 0; i < STOP_PAUSES && buffers_are_out(); i++) {
		nanosleep(&pause, NULL);
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

void activity__yield(void)
{
	if (!cupti)
		return;
	/* If CUPTI kept a buffer of the shim, it would put the program's records there. */
	if (buffers_are_out() && !yield__buffers_are_out()) {
		activity__flush(true);
		wait_for_writers();
		activity__drain(true);
	}
	if (have_clock)
		cupti->activity_register_timestamp(program__clock() ?: realtime_ns);
	have_clock = false;
}

void activity__count_taken(uint64_t nr)
{
	sigset_t old;

	lock__take(&lock, &old);
	wire__counters.nr_taken += nr;
	lock__give(&lock, &old);
}

void activity__pack(void (*pack)(void *ctx), void *ctx)
{
	sigset_t old;

	lock__take(&lock, &old);
	pack(ctx);
	lock__give(&lock, &old);
}

void activity__message(int level, const char *text)
{
	sigset_t old;

	lock__take(&lock, &old);
	wire__message(level, text);
	lock__give(&lock, &old);
}

void activity__name_api(uint32_t domain, uint32_t cbid, const char *name)
{
	sigset_t old;

	lock__take(&lock, &old);
	wire__api(domain, cbid, name);
	lock__give(&lock, &old);
}

void activity__repeat_definitions(void)
{
	sigset_t old;

	lock__take(&lock, &old);
	wire__repeat_definitions();
	wire__flush();
	launch__repeat_definitions();
	lock__give(&lock, &old);
}

void activity__wait(long timeout_ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += timeout_ns;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	while (libc__wait_until(&wakeup, &ts) && errno == EINTR)
		;
	while (!sem_trywait(&wakeup))	/* one drain takes all buffers */
		;
}

void activity__wake(void)
{
	sem_post(&wakeup);
}
