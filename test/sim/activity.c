// SPDX-License-Identifier: MIT
/*
 * activity.c - libcupti.so.N: activity records and the buffers that carry them
 *
 * Each launching thread fills its own buffer, as CUPTI does by default. Space for a record is
 * reserved at the launch, and its timestamps are filled in when the work has ended. A thread of
 * this library returns a buffer to the client when the buffer is full and all its records are
 * complete, or when a flush finds them complete. A forced flush returns every buffer.
 *
 * One lock guards lanes, buffers and the queue. The client's bufferRequested is called with the
 * lock held, because CUPTI may hold a lock of its own there, too. So a client may do no more than
 * move memory in bufferRequested. bufferCompleted is called without the lock.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler.h"
#include "uuid.h"

#define RECORD_ALIGN	8

struct buffer {
	uint8_t *data;			/* the client's memory */
	size_t bytes;
	size_t used;
	size_t max_records;		/* 0: as many records as fit */
	size_t nr_records;
	unsigned int nr_incomplete;
	unsigned int nr_refs;		/* records that are not complete, plus one until the buffer
					 * is delivered */
	bool closed;			/* takes no more records */
	unsigned int client;
	bool posted;			/* is being delivered; from then on the client owns the
					 * data */
	struct buffer *next;		/* in live_buffers, then in the queue */
};

/*
 * A lane holds the buffers of one thread, one for each client. An unused lane belongs to no thread.
 */
struct lane {
	struct buffer *buffers[NR_CLIENTS];
	struct lane *next;
	bool in_use;
};

/* Device work has a record for each client that wants one. */
struct record {
	struct buffer *buffers[NR_CLIENTS];
	size_t offsets[NR_CLIENTS];
};

/* Since 13.2, buffer callbacks get a further structure. */
typedef void (*request_v2_t)(uint8_t **data, size_t *bytes, size_t *max_records, void *info);
typedef void (*complete_v2_t)(uint8_t *data, size_t bytes, size_t valid_bytes, void *info);

static struct client {
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	request_v2_t request_v2;
	complete_v2_t complete_v2;
	uint8_t kinds[NR_KINDS];	/* enabled kinds */
	bool zeroed;			/* the client's buffers are zeroed:
					 * CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER */
} clients[NR_CLIENTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lane *lanes;
static struct buffer *live_buffers;	/* buffers that were requested and are not posted yet */

static struct {
	pthread_cond_t changed;
	struct buffer *first;
	struct buffer **last;
	uint64_t nr_posted;
	uint64_t nr_delivered;
	bool started;
	pthread_t thread;
} queue = {
	.changed = PTHREAD_COND_INITIALIZER,
	.last = &queue.first,
};

static CUpti_TimestampCallbackFunc client_clock;
static int64_t clock_offset_ns;
static uint8_t call_enabled[CUPTI_CB_DOMAIN_SIZE][NR_CBIDS];	/* calls with API records:
								 * enabling a kind sets all of
								 * its calls */
static CUpti_ActivityThreadIdType thread_id_type;
static uint64_t nr_dropped;
static uint64_t nr_device_records;
static uint64_t nr_completed;
static uint64_t drop_every;
static uint64_t zero_times_every, flush_us;
static uint64_t flush_period_ms;
static size_t attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS + 1] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP] = 8388608,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE] = 25000,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE] = 3,
	[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = 1,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS] = 16777216,
};

static bool client__wants(unsigned int client, CUpti_ActivityKind kind)
{
	return __atomic_load_n(&clients[client].kinds[kind], __ATOMIC_RELAXED);
}

/* Return: whether the client without a subscriber wants records of @kind */
static bool kind_is_enabled(CUpti_ActivityKind kind)
{
	return client__wants(0, kind);
}

static bool client__has_buffers(unsigned int client)
{
	return __atomic_load_n(&clients[client].request, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&clients[client].request_v2, __ATOMIC_ACQUIRE);
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/*
 * Return: the offset between the client's clock and CLOCK_MONOTONIC, the best of several
 * measurements. If the clock's values show that it is CLOCK_MONOTONIC, the offset is 0, and the
 * records have exactly the timestamps of the device model.
 */
static int64_t measure_offset(CUpti_TimestampCallbackFunc clock)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t before = core->now_ns();
		uint64_t other = clock();
		uint64_t took = core->now_ns() - before;

		if (took < best) {
			best = took;
			offset = (int64_t)(other - before - took / 2);
		}
	}
	return offset > -(int64_t)best - 1000 && offset < (int64_t)best + 1000 ? 0 : offset;
}

static void set_clock(CUpti_TimestampCallbackFunc clock)
{
	int64_t offset = measure_offset(clock ? clock : realtime_ns);

	__atomic_store_n(&client_clock, clock, __ATOMIC_RELEASE);
	__atomic_store_n(&clock_offset_ns, offset, __ATOMIC_RELAXED);
	core->set_clock_offset(offset);
}

void activity__init_clock(void)
{
	drop_every = profiler__env("XPU_SIM_DROP");
	zero_times_every = profiler__env("XPU_SIM_ZERO_TIMES");
	flush_us = profiler__env("XPU_SIM_FLUSH_US");
	set_clock(NULL);
}

uint64_t activity__now(void)
{
	CUpti_TimestampCallbackFunc clock = __atomic_load_n(&client_clock, __ATOMIC_ACQUIRE);

	return clock ? clock() : realtime_ns();
}

static uint64_t client_time(uint64_t mono_ns)
{
	return mono_ns + (uint64_t)__atomic_load_n(&clock_offset_ns, __ATOMIC_RELAXED);
}

/*
 * ---- records: their size in each CUPTI version, and their contents -----------------------------
 */

static size_t kernel_bytes(void)
{
	uint32_t v = profiler__version();

	if (v < 13)
		return sizeof(CUpti_ActivityKernel4);
	if (v < 15)
		return sizeof(CUpti_ActivityKernel5);
	if (v < 17)
		return sizeof(CUpti_ActivityKernel6);
	if (v < 18)
		return sizeof(CUpti_ActivityKernel7);
	if (v < 19)
		return sizeof(CUpti_ActivityKernel8);
	if (v < 130000)
		return sizeof(CUpti_ActivityKernel9);
	return sizeof(CUpti_ActivityKernel10);
}

static size_t memcpy_bytes(void)
{
	uint32_t v = profiler__version();

	if (v < 14)
		return sizeof(CUpti_ActivityMemcpy3);
	if (v < 17)
		return sizeof(CUpti_ActivityMemcpy4);
	if (v < 26)
		return sizeof(CUpti_ActivityMemcpy5);
	return sizeof(CUpti_ActivityMemcpy6);
}

static size_t peer_bytes(void)
{
	uint32_t v = profiler__version();

	if (v < 14)
		return sizeof(CUpti_ActivityMemcpyPtoP2);
	if (v < 17)
		return sizeof(CUpti_ActivityMemcpyPtoP3);
	return sizeof(CUpti_ActivityMemcpyPtoP4);
}

static size_t memset_bytes(void)
{
	uint32_t v = profiler__version();

	if (v < 14)
		return sizeof(CUpti_ActivityMemset2);
	if (v < 17)
		return sizeof(CUpti_ActivityMemset3);
	return sizeof(CUpti_ActivityMemset4);
}

/* Return: the size of a record; 0 for kinds that are never written */
static size_t record_bytes(CUpti_ActivityKind kind)
{
	size_t bytes;

	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		bytes = kernel_bytes();
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		bytes = memcpy_bytes();
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		bytes = peer_bytes();
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		bytes = memset_bytes();
		break;
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		bytes = sizeof(CUpti_ActivityAPI);
		break;
	case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
		bytes = profiler__version() < 130000 ? sizeof(CUpti_ActivityUnifiedMemoryCounter2) :
						       sizeof(CUpti_ActivityUnifiedMemoryCounter3);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		bytes = profiler__version() < 20 ? sizeof(CUpti_ActivityDevice4) :
						   sizeof(CUpti_ActivityDevice5);
		break;
	default:
		return 0;
	}
	return (bytes + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
}

union any_record {
	CUpti_Activity head;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemcpyPtoP4 peer;
	CUpti_ActivityMemset4 set;
	CUpti_ActivityAPI api;
	CUpti_ActivityDevice5 device;
};

static void fill_kernel(CUpti_ActivityKernel10 *r, const struct sim_activity *act)
{
	r->kind = kind_is_enabled(CUPTI_ACTIVITY_KIND_KERNEL) ?
			  CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	r->registersPerThread = (uint16_t)sim_registers(act->name);
	r->staticSharedMemory = (int32_t)sim_static_bytes(act->name);
	r->localMemoryPerThread = sim_local_bytes(act->name);
	r->clusterX = act->cluster[0];
	r->clusterY = act->cluster[1];
	r->clusterZ = act->cluster[2];
	r->completed = CUPTI_TIMESTAMP_UNKNOWN;
	r->deviceId = act->device;
	r->contextId = act->context;
	r->streamId = act->stream;
	r->gridX = (int32_t)act->grid[0];
	r->gridY = (int32_t)act->grid[1];
	r->gridZ = (int32_t)act->grid[2];
	r->blockX = (int32_t)act->block[0];
	r->blockY = (int32_t)act->block[1];
	r->blockZ = (int32_t)act->block[2];
	r->dynamicSharedMemory = (int32_t)act->shared_bytes;
	r->correlationId = act->correlation_id;
	r->gridId = (int64_t)act->grid_id;
	r->name = act->told;
	r->queued = CUPTI_TIMESTAMP_UNKNOWN;
	r->submitted = CUPTI_TIMESTAMP_UNKNOWN;
	r->launchType = act->cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE :
					   CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	r->graphNodeId = act->graph_node;
	r->graphId = act->graph;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void fill_copy(CUpti_ActivityMemcpy6 *r, const struct sim_activity *act)
{
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r->copyKind = act->copy_kind;
	r->srcKind = act->src_kind;
	r->dstKind = act->dst_kind;
	r->flags = act->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	r->bytes = act->bytes;
	r->deviceId = act->device;
	r->contextId = act->context;
	r->streamId = act->stream;
	r->correlationId = act->correlation_id;
	r->runtimeCorrelationId = 0;
	r->graphNodeId = act->graph_node;
	r->graphId = act->graph;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	r->copyCount = 1;
}

static void fill_peer(CUpti_ActivityMemcpyPtoP4 *r, const struct sim_activity *act)
{
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r->copyKind = act->copy_kind;
	r->srcKind = act->src_kind;
	r->dstKind = act->dst_kind;
	r->flags = act->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	r->bytes = act->bytes;
	r->deviceId = act->device;
	r->contextId = act->context;
	r->streamId = act->stream;
	r->srcDeviceId = act->src_device;
	r->srcContextId = act->src_context;
	r->dstDeviceId = act->dst_device;
	r->dstContextId = act->dst_context;
	r->correlationId = act->correlation_id;
	r->graphNodeId = act->graph_node;
	r->graphId = act->graph;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

static void fill_set(CUpti_ActivityMemset4 *r, const struct sim_activity *act)
{
	r->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r->value = act->value;
	r->bytes = act->bytes;
	r->deviceId = act->device;
	r->contextId = act->context;
	r->streamId = act->stream;
	r->correlationId = act->correlation_id;
	r->flags = act->is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	r->memoryKind = act->src_kind;
	r->graphNodeId = act->graph_node;
	r->graphId = act->graph;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

/* Fills in a record. Return: false if no client can want it. */
static bool fill(union any_record *r, const struct sim_activity *act)
{
	memset(r, 0, sizeof(*r));
	switch (act->kind) {
	case SIM_KERNEL:
		fill_kernel(&r->kernel, act);
		break;
	case SIM_MEMCPY:
		if (act->is_peer)
			fill_peer(&r->peer, act);
		else
			fill_copy(&r->copy, act);
		break;
	case SIM_MEMSET:
		fill_set(&r->set, act);
		break;
	case SIM_HOST:
		return false;
	}
	return true;
}

/* Fills in the timestamps. Their offset in the record depends on the kind. */
static void fill_times(uint8_t *at, uint64_t start, uint64_t end)
{
	CUpti_ActivityKind kind;
	size_t start_at, end_at;

	memcpy(&kind, at, sizeof(kind));
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		start_at = offsetof(CUpti_ActivityMemcpy6, start);
		end_at = offsetof(CUpti_ActivityMemcpy6, end);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		start_at = offsetof(CUpti_ActivityMemcpyPtoP4, start);
		end_at = offsetof(CUpti_ActivityMemcpyPtoP4, end);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		start_at = offsetof(CUpti_ActivityMemset4, start);
		end_at = offsetof(CUpti_ActivityMemset4, end);
		break;
	default:
		start_at = offsetof(CUpti_ActivityKernel10, start);
		end_at = offsetof(CUpti_ActivityKernel10, end);
		memcpy(at + offsetof(CUpti_ActivityKernel10, completed), &end, sizeof(end));
		break;
	}
	memcpy(at + start_at, &start, sizeof(start));
	memcpy(at + end_at, &end, sizeof(end));
}

/* ---- delivery; callers hold the lock --------------------------------------------------------- */

static void buffer__put(struct buffer *buffer)
{
	if (!--buffer->nr_refs)
		free(buffer);
}

static void *queue__main(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "Cupti_Worker_Th");
	pthread_mutex_lock(&lock);
	for (;;) {
		struct buffer *buffer = queue.first;
		CUpti_BuffersCallbackCompleteFunc complete;
		complete_v2_t complete_v2;

		if (!buffer) {
			pthread_cond_wait(&queue.changed, &lock);
			continue;
		}
		queue.first = buffer->next;
		if (!queue.first)
			queue.last = &queue.first;
		pthread_mutex_unlock(&lock);

		complete = __atomic_load_n(&clients[buffer->client].complete, __ATOMIC_ACQUIRE);
		complete_v2 =
			__atomic_load_n(&clients[buffer->client].complete_v2, __ATOMIC_ACQUIRE);
		core->count(SIM_STAT_BUFFERS_COMPLETED, 1);
		if (complete_v2)
			complete_v2(buffer->data, buffer->bytes, buffer->used, NULL);
		else if (complete)
			complete(NULL, 0, buffer->data, buffer->bytes, buffer->used);

		pthread_mutex_lock(&lock);
		buffer__put(buffer);
		queue.nr_delivered++;
		pthread_cond_broadcast(&queue.changed);
	}
	return NULL;
}

/* Starts the delivery thread, which runs until the process ends, also during exit. */
static void queue__start(void)
{
	sigset_t all, old;

	if (queue.started)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	queue.started = !pthread_create(&queue.thread, NULL, queue__main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (queue.started)
		pthread_detach(queue.thread);
}

static void buffer__post(struct buffer *buffer)
{
	struct buffer **p = &live_buffers;

	while (*p != buffer)
		p = &(*p)->next;
	*p = buffer->next;
	buffer->next = NULL;
	buffer->closed = true;
	buffer->posted = true;
	core->count(SIM_STAT_ORPHANED, buffer->nr_incomplete);
	*queue.last = buffer;
	queue.last = &buffer->next;
	queue.nr_posted++;
	queue__start();
	pthread_cond_broadcast(&queue.changed);
}

/* Waits until the client has all buffers that were posted so far. */
static void queue__drain(void)
{
	uint64_t upto = queue.nr_posted;

	if (!queue.started || pthread_equal(queue.thread, pthread_self()))
		return;
	while (queue.nr_delivered < upto)
		pthread_cond_wait(&queue.changed, &lock);
}

/* ---- lanes; callers hold the lock ------------------------------------------------------------ */

static struct lane *lane__get(void)
{
	struct lane **slot = (struct lane **)core->tool_data();
	struct lane *lane = *slot;

	if (lane)
		return lane;
	for (lane = lanes; lane && lane->in_use; lane = lane->next)
		;
	if (!lane) {
		lane = calloc(1, sizeof(*lane));
		if (!lane)
			return NULL;
		lane->next = lanes;
		lanes = lane;
	}
	lane->in_use = true;
	*slot = lane;
	return lane;
}

/* Leaves the buffer in the lane, where flushes find it. The next thread continues to fill it. */
void activity__thread_exit(void *data)
{
	struct lane *lane = data;

	pthread_mutex_lock(&lock);
	lane->in_use = false;
	pthread_mutex_unlock(&lock);
}

static bool is_zero(const uint8_t *data, size_t bytes)
{
	return !bytes || (!data[0] && !memcmp(data, data + 1, bytes - 1));
}

/* Return: a buffer from the client, or NULL if the client has none. */
static struct buffer *buffer__request(unsigned int client)
{
	CUpti_BuffersCallbackRequestFunc request =
		__atomic_load_n(&clients[client].request, __ATOMIC_ACQUIRE);
	request_v2_t request_v2 = __atomic_load_n(&clients[client].request_v2, __ATOMIC_ACQUIRE);
	struct buffer *buffer;
	uint8_t *data = NULL;
	size_t bytes = 0, max_records = 0;
	bool was;

	if (!request && !request_v2)
		return NULL;
	was = core->in_callback(true);
	if (request_v2)
		request_v2(&data, &bytes, &max_records, NULL);
	else
		request(&data, &bytes, &max_records);
	core->in_callback(was);
	core->count(SIM_STAT_BUFFERS_REQUESTED, 1);
	if (!data || (uintptr_t)data % RECORD_ALIGN)
		return NULL;
	if (!__atomic_load_n(&clients[client].zeroed, __ATOMIC_RELAXED)) {
		memset(data, 0, bytes);
	} else if (!is_zero(data, bytes)) {
		core->count(SIM_STAT_BUFFERS_DIRTY, 1);
		fputs("sim: an activity buffer that was promised to be zero is not\n", stderr);
		if (profiler__env("XPU_SIM_STRICT"))
			abort();
	}
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return NULL;
	buffer->data = data;
	buffer->bytes = bytes;
	buffer->max_records = max_records;
	buffer->nr_refs = 1;
	buffer->client = client;
	buffer->next = live_buffers;
	live_buffers = buffer;
	return buffer;
}

static bool buffer__has_room(const struct buffer *buffer, size_t bytes)
{
	return buffer->used + bytes <= buffer->bytes &&
	       (!buffer->max_records || buffer->nr_records < buffer->max_records);
}

static void count_dropped(void)
{
	__atomic_fetch_add(&nr_dropped, 1, __ATOMIC_RELAXED);
	core->count(SIM_STAT_DROPPED, 1);
}

/*
 * Writes a record into the thread's buffer, which gets a reference if the record is incomplete.
 * Return: the buffer.
 */
static struct buffer *lane__append(unsigned int client, const void *record, size_t bytes,
				   bool incomplete, size_t *offset)
{
	struct lane *lane = lane__get();
	struct buffer *buffer = lane ? lane->buffers[client] : NULL;

	if (buffer && !buffer__has_room(buffer, bytes)) {
		lane->buffers[client] = NULL;
		buffer->closed = true;
		if (!buffer->nr_incomplete)
			buffer__post(buffer);	/* otherwise the last record to end posts it */
		buffer = NULL;
	}
	if (!buffer && lane)
		buffer = lane->buffers[client] = buffer__request(client);
	if (!buffer || !buffer__has_room(buffer, bytes)) {
		count_dropped();
		return NULL;
	}
	*offset = buffer->used;
	memcpy(buffer->data + buffer->used, record, bytes);
	buffer->used += bytes;
	buffer->nr_records++;
	buffer->nr_incomplete += incomplete;
	buffer->nr_refs += incomplete;
	return buffer;
}

/* ---- device records -------------------------------------------------------------------------- */

static bool every(uint64_t n, uint64_t *counter)
{
	return n && !(__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED) % n);
}

static bool wanted_by(unsigned int client, CUpti_ActivityKind kind)
{
	return client__has_buffers(client) && client__wants(client, kind);
}

static bool wanted_by_any(CUpti_ActivityKind kind)
{
	for (unsigned int i = 0; i < NR_CLIENTS; i++)
		if (wanted_by(i, kind))
			return true;
	return false;
}

void *activity__reserve(const struct sim_activity *act)
{
	union any_record r;
	struct record *record;
	unsigned int nr = 0;

	if (!fill(&r, act) || !wanted_by_any(r.head.kind))
		return NULL;
	record = every(drop_every, &nr_device_records) ? NULL : calloc(1, sizeof(*record));
	if (!record) {
		count_dropped();
		return NULL;
	}
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < NR_CLIENTS; i++) {
		if (!wanted_by(i, r.head.kind))
			continue;
		record->buffers[i] = lane__append(i, &r, record_bytes(r.head.kind), true,
						  &record->offsets[i]);
		nr += record->buffers[i] != NULL;
	}
	pthread_mutex_unlock(&lock);
	if (!nr) {
		free(record);
		return NULL;
	}
	core->count(SIM_STAT_RECORDS, 1);
	pc__launched(act->correlation_id);
	return record;
}

/*
 * Timestamps of 0 mean that the work was abandoned. A buffer that a forced flush has delivered
 * belongs to the client.
 */
static void record__end(struct record *record, uint64_t start_ns, uint64_t end_ns)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < NR_CLIENTS; i++) {
		struct buffer *buffer = record->buffers[i];

		if (!buffer)
			continue;
		buffer->nr_incomplete--;
		if (!buffer->posted) {
			fill_times(buffer->data + record->offsets[i], start_ns, end_ns);
			if (buffer->closed && !buffer->nr_incomplete)
				buffer__post(buffer);
		}
		buffer__put(buffer);
	}
	pthread_mutex_unlock(&lock);
	free(record);
}

void activity__complete(void *record, const struct sim_activity *act)
{
	if (act->kind == SIM_KERNEL)
		pc__kernel(act);
	pc__over();
	if (every(zero_times_every, &nr_completed))
		record__end(record, 0, 0);
	else
		record__end(record, client_time(act->start_ns), client_time(act->end_ns));
}

void activity__abandon(void *record)
{
	pc__over();
	record__end(record, 0, 0);
}

/* ---- managed memory -------------------------------------------------------------------------- */

#define NR_COUNTERS	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT

static bool counter_is_on[NR_COUNTERS];

SIM_EXPORT CUptiResult CUPTIAPI
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					   uint32_t nr)
{
	uint64_t refused = profiler__env("XPU_SIM_NO_MIGRATIONS");

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(config);
	if (core->check())
		return profiler__result(CUPTI_ERROR_NOT_INITIALIZED);
	if (refused)
		return profiler__result((CUptiResult)refused);
	for (uint32_t i = 0; i < nr; i++)
		PROFILER_CHECK_ARG(config[i].kind > 0 && config[i].kind < NR_COUNTERS);
	for (uint32_t i = 0; i < nr; i++)
		__atomic_store_n(&counter_is_on[config[i].kind], config[i].enable,
				 __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

void activity__migrate(const struct sim_migration *m)
{
	CUpti_ActivityUnifiedMemoryCounter3 r = {
		.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
		.counterKind = (CUpti_ActivityUnifiedMemoryCounterKind)m->counter,
		.value = m->value,
		.start = client_time(m->start_ns),
		.end = client_time(m->end_ns),
		.address = m->address,
		.srcId = m->source,
		.dstId = m->target,
		.streamId = UINT32_MAX,
		.processId = (uint32_t)getpid(),
		.flags = m->flags,
	};
	size_t offset;

	if (m->counter >= NR_COUNTERS || !wanted_by_any(r.kind) ||
	    !__atomic_load_n(&counter_is_on[m->counter], __ATOMIC_RELAXED))
		return;
	if (every(drop_every, &nr_device_records)) {
		count_dropped();
		return;
	}
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < NR_CLIENTS; i++)
		if (wanted_by(i, r.kind))
			lane__append(i, &r, record_bytes(r.kind), false, &offset);
	pthread_mutex_unlock(&lock);
}

/* ---- API and device records ------------------------------------------------------------------ */

static CUpti_ActivityKind call_kind(const struct sim_call *call)
{
	return call->domain == CUPTI_CB_DOMAIN_DRIVER_API ? CUPTI_ACTIVITY_KIND_DRIVER :
							    CUPTI_ACTIVITY_KIND_RUNTIME;
}

/*
 * Return: whether a call has a record. A driver call inside a runtime call has a callback, but no
 * record.
 */
bool activity__wants_call(const struct sim_call *call)
{
	if (call->nested)
		return false;
	return call->cbid < NR_CBIDS &&
	       __atomic_load_n(&call_enabled[call->domain][call->cbid], __ATOMIC_RELAXED);
}

static uint32_t thread_id(void)
{
	if (__atomic_load_n(&thread_id_type, __ATOMIC_RELAXED) ==
	    CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return (uint32_t)gettid();
	return (uint32_t)(uintptr_t)pthread_self();
}

void activity__call(const struct sim_call *call)
{
	CUpti_ActivityAPI r = {
		.kind = call_kind(call),
		.cbid = call->cbid,
		.start = call->start_ns,
		.end = activity__now(),
		.processId = (uint32_t)getpid(),
		.threadId = thread_id(),
		.correlationId = call->correlation_id,
	};
	size_t offset;

	memcpy(&r.returnValue, call->result, sizeof(r.returnValue));
	pthread_mutex_lock(&lock);
	lane__append(0, &r, sizeof(r), false, &offset);
	pthread_mutex_unlock(&lock);
}

void activity__devices(void)
{
	static const char *const names[] = {
		"Simulated GPU 0", "Simulated GPU 1", "Simulated GPU 2", "Simulated GPU 3",
		"Simulated GPU 4", "Simulated GPU 5", "Simulated GPU 6", "Simulated GPU 7",
	};
	size_t offset;

	if (!kind_is_enabled(CUPTI_ACTIVITY_KIND_DEVICE))
		return;
	for (uint32_t i = 0; i < core->nr_devices(); i++) {
		CUpti_ActivityDevice5 r = {
			.kind = CUPTI_ACTIVITY_KIND_DEVICE,
			.globalMemorySize = (uint64_t)80 << 30,
			.numMultiprocessors = 132,
			.maxThreadsPerBlock = 1024,
			.computeCapabilityMajor = 9,
			.id = i,
			.name = names[i],
			.isCudaVisible = 1,
		};

		sim_uuid(r.uuid.bytes, (int)i);
		pthread_mutex_lock(&lock);
		lane__append(0, &r, record_bytes(CUPTI_ACTIVITY_KIND_DEVICE), false, &offset);
		pthread_mutex_unlock(&lock);
	}
}

/* ---- exported: kinds ------------------------------------------------------------------------- */

bool activity__any_enabled(void)
{
	for (unsigned int client = 0; client < NR_CLIENTS; client++)
		for (int i = 0; i < NR_KINDS; i++)
			if (client__wants(client, i))
				return true;
	for (int i = 0; i < NR_CBIDS; i++)
		if (__atomic_load_n(&call_enabled[CUPTI_CB_DOMAIN_DRIVER_API][i],
				    __ATOMIC_RELAXED) ||
		    __atomic_load_n(&call_enabled[CUPTI_CB_DOMAIN_RUNTIME_API][i],
				    __ATOMIC_RELAXED))
			return true;
	return false;
}

bool activity__serializes(void)
{
	return kind_is_enabled(CUPTI_ACTIVITY_KIND_KERNEL);
}

/* Sets whether calls of a domain get records, overriding earlier settings of single calls. */
static void enable_calls(uint32_t domain, bool on)
{
	for (int i = 0; i < NR_CBIDS; i++)
		__atomic_store_n(&call_enabled[domain][i], on, __ATOMIC_RELAXED);
}

/*
 * Return: an error if some clients pass their subscriber to the functions of CUPTI, because CUPTI
 * then refuses the other clients
 */
static CUptiResult alone(void)
{
	return profiler__several() ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

bool activity__is_used_alone(void)
{
	for (int i = 0; i < NR_KINDS; i++)
		if (kind_is_enabled(i))
			return true;
	return false;
}

/* Sets whether a client of CUPTI gets records of a kind. */
static void set_kind(unsigned int client, CUpti_ActivityKind kind, bool on)
{
	if (on && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !client__wants(client, kind) &&
	    client__wants(client, CUPTI_ACTIVITY_KIND_MEMCPY))
		core->count(SIM_STAT_KERNELS_LATE, 1);
	__atomic_store_n(&clients[client].kinds[kind], on, __ATOMIC_RELAXED);
}

static CUptiResult enable(CUpti_ActivityKind kind, bool on)
{
	if (alone())
		return alone();
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind > CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS)
		return CUPTI_ERROR_NOT_COMPATIBLE;	/* CUPTI returns this, not INVALID_KIND */
	if (on && ((kind == CUPTI_ACTIVITY_KIND_KERNEL &&
		    kind_is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
		   (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    kind_is_enabled(CUPTI_ACTIVITY_KIND_KERNEL))))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (on && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !kind_is_enabled(kind) &&
	    pc__is_on())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	set_kind(0, kind, on);
	if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
		enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, on);
	else if (kind == CUPTI_ACTIVITY_KIND_RUNTIME)
		enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, on);
	profiler__update();
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	PROFILER_CHECK();
	return profiler__result(enable(kind, true));
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	CUptiResult err;

	PROFILER_CHECK();
	err = enable(kind, true);
	if (!err && kind == CUPTI_ACTIVITY_KIND_DEVICE && !core->check())
		activity__devices();
	return profiler__result(err);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	PROFILER_CHECK();
	return profiler__result(enable(kind, false));
}

static CUptiResult enable_call(uint32_t domain, uint32_t cbid, bool on)
{
	if (cbid >= NR_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_store_n(&call_enabled[domain][cbid], on, __ATOMIC_RELAXED);
	profiler__update();
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on)
{
	PROFILER_CHECK();
	return profiler__result(enable_call(CUPTI_CB_DOMAIN_DRIVER_API, cbid, on));
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on)
{
	PROFILER_CHECK();
	return profiler__result(enable_call(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, on));
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t on)
{
	PROFILER_CHECK();
	(void)on;	/* queueing and submission stay CUPTI_TIMESTAMP_UNKNOWN */
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t on)
{
	PROFILER_CHECK();
	return profiler__result(on ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS);
}

/* ---- exported: buffers ----------------------------------------------------------------------- */

SIM_EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
			       CUpti_BuffersCallbackCompleteFunc complete)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(request && complete);
	if (alone())
		return profiler__result(alone());
	__atomic_store_n(&clients[0].complete, complete, __ATOMIC_RELEASE);
	__atomic_store_n(&clients[0].request, request, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

/* @clients_wanted: bit mask of clients */
static void flush(bool forced, unsigned int clients_wanted)
{
	struct buffer *buffer, *next;

	pthread_mutex_lock(&lock);
	for (struct lane *lane = lanes; lane; lane = lane->next) {
		for (unsigned int i = 0; i < NR_CLIENTS; i++) {
			buffer = lane->buffers[i];
			if (!buffer || !(clients_wanted & 1u << i) ||
			    (!forced && (!buffer->nr_records || buffer->nr_incomplete)))
				continue;
			lane->buffers[i] = NULL;
			buffer__post(buffer);
		}
	}
	/* The remaining buffers are closed, and wait until the work of their records has ended. */
	for (buffer = forced ? live_buffers : NULL; buffer; buffer = next) {
		next = buffer->next;
		if (clients_wanted & 1u << buffer->client)
			buffer__post(buffer);
	}
	queue__drain();
	pthread_mutex_unlock(&lock);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	PROFILER_CHECK();
	if (!profiler__several() && !__atomic_load_n(&clients[0].complete, __ATOMIC_ACQUIRE))
		return profiler__result(CUPTI_ERROR_INVALID_OPERATION);
	if (flush_us)
		usleep(flush_us);
	flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, ~0u);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext ctx, uint32_t stream, uint32_t flag)
{
	(void)ctx, (void)stream;	/* ignored by CUPTI too */
	return cuptiActivityFlushAll(flag);
}

/* Buffers that are full and complete are delivered at once here, so there is no periodic work. */
SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t ms)
{
	PROFILER_CHECK();
	__atomic_store_n(&flush_period_ms, ms, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
							   CUpti_Activity **record)
{
	CUpti_ActivityKind kind;
	size_t at = 0, bytes;

	PROFILER_CHECK_ARG(buffer && record);
	if (*record) {
		at = (size_t)((uint8_t *)*record - buffer);
		at += record_bytes((*record)->kind);
	}
	if (at + sizeof(kind) > valid_bytes)
		return profiler__result(CUPTI_ERROR_MAX_LIMIT_REACHED);
	memcpy(&kind, buffer + at, sizeof(kind));
	bytes = record_bytes(kind);
	if (!bytes || at + bytes > valid_bytes)
		return profiler__result(CUPTI_ERROR_INVALID_KIND);
	*record = (CUpti_Activity *)(buffer + at);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream,
								  size_t *dropped)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(dropped);
	(void)ctx, (void)stream;	/* there is only one queue */
	*dropped = __atomic_exchange_n(&nr_dropped, 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

/* ---- exported: attributes and time ----------------------------------------------------------- */

static size_t attribute_bytes(CUpti_ActivityAttribute attr)
{
	switch (attr) {
	case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
	case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
	case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
		return sizeof(uint8_t);
	default:
		return sizeof(size_t);
	}
}

static bool attribute_exists(CUpti_ActivityAttribute attr)
{
	return (size_t)attr < sizeof(attributes) / sizeof(attributes[0]);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attr,
							  size_t *bytes, void *value)
{
	size_t v;

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(bytes && value && attribute_exists(attr));
	if (*bytes < attribute_bytes(attr))
		return profiler__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	*bytes = attribute_bytes(attr);
	v = __atomic_load_n(&attributes[attr], __ATOMIC_RELAXED);
	memcpy(value, &v, *bytes);	/* little endian, like every machine with this API */
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attr,
							  size_t *bytes, void *value)
{
	size_t v = 0;

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(bytes && value && attribute_exists(attr));
	if (*bytes < attribute_bytes(attr))
		return profiler__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	if (alone())
		return profiler__result(alone());
	memcpy(&v, value, attribute_bytes(attr));
	__atomic_store_n(&attributes[attr], v, __ATOMIC_RELAXED);
	if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		__atomic_store_n(&clients[0].zeroed, v != 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(clock);
	if (alone())
		return profiler__result(alone());
	set_clock(clock);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(timestamp);
	*timestamp = activity__now();
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(type < CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE);
	__atomic_store_n(&thread_id_type, type, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(type);
	*type = __atomic_load_n(&thread_id_type, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

/* ---- exported: functions that get their subscriber, from 13.3 on ----------------------------- */

#if SIM_CUDA_MAJOR >= 13

SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
								  request_v2_t request,
								  complete_v2_t complete);
SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber,
						       CUpti_ActivityKind kind, void *config);
SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber,
							CUpti_ActivityKind kind, void *config);
SIM_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
							     CUpti_ActivityAttribute attr,
							     size_t *bytes, void *value);
SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber,
							      uint8_t *buffer, size_t valid_bytes,
							      CUpti_Activity **record);
SIM_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords_v2(
	CUpti_SubscriberHandle subscriber, CUcontext ctx, uint32_t stream, size_t *dropped);
SIM_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber,
						     uint64_t *timestamp);

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
					      request_v2_t request, complete_v2_t complete)
{
	unsigned int client = profiler__client(subscriber);

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(client && request && complete);
	__atomic_store_n(&clients[client].complete_v2, complete, __ATOMIC_RELEASE);
	__atomic_store_n(&clients[client].request_v2, request, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

static CUptiResult enable_v2(unsigned int client, CUpti_ActivityKind kind, bool on)
{
	if (!client || kind <= CUPTI_ACTIVITY_KIND_INVALID ||
	    kind > CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	set_kind(client, kind, on);
	profiler__update();
	return CUPTI_SUCCESS;
}

/* Without a configuration, a client gets whole records. */
CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				   void *config)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(!config);
	return profiler__result(enable_v2(profiler__client(subscriber), kind, true));
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				    void *config)
{
	PROFILER_CHECK();
	(void)config;
	return profiler__result(enable_v2(profiler__client(subscriber), kind, false));
}

CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityAttribute attr, size_t *bytes, void *value)
{
	unsigned int client = profiler__client(subscriber);
	uint8_t v;

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(client && bytes && value && attribute_exists(attr));
	if (*bytes < attribute_bytes(attr))
		return profiler__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	memcpy(&v, value, sizeof(v));
	if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		__atomic_store_n(&clients[client].zeroed, v != 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer,
					  size_t valid_bytes, CUpti_Activity **record)
{
	PROFILER_CHECK_ARG(subscriber);
	return cuptiActivityGetNextRecord(buffer, valid_bytes, record);
}

CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext ctx,
						 uint32_t stream, size_t *dropped)
{
	PROFILER_CHECK_ARG(subscriber);
	return cuptiActivityGetNumDroppedRecords(ctx, stream, dropped);
}

CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t *timestamp)
{
	PROFILER_CHECK_ARG(subscriber);
	return cuptiGetTimestamp(timestamp);
}

#endif

void activity__leave(unsigned int client)
{
	memset(clients[client].kinds, 0, sizeof(clients[client].kinds));
	profiler__update();
	flush(true, 1u << client);
	__atomic_store_n(&clients[client].request_v2, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&clients[client].complete_v2, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&clients[client].zeroed, false, __ATOMIC_RELAXED);
}

void activity__reset(void)
{
	for (int i = 0; i < NR_KINDS; i++)
		__atomic_store_n(&clients[0].kinds[i], 0, __ATOMIC_RELAXED);
	enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, false);
	enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, false);
	if (__atomic_load_n(&clients[0].complete, __ATOMIC_ACQUIRE))
		flush(true, 1);
	__atomic_store_n(&clients[0].request, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&clients[0].complete, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&clients[0].zeroed, false, __ATOMIC_RELAXED);
	set_clock(NULL);
}
