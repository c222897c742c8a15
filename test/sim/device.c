// SPDX-License-Identifier: MIT
/*
 * device.c - the device model: contexts, streams, work, time, memory
 *
 * Work gets its start and end when it is enqueued. Each device keeps its unfinished work in a heap,
 * ordered by end. The device's thread sleeps until the first end has passed, then moves the data,
 * has the activity record completed, and wakes the waiting threads. When an end is assigned, it is
 * always in the future. So each device has one number, done_ns: all work with an end up to done_ns
 * has ended. A thread that waits for a stream, an event or a context waits until done_ns reaches
 * the tail of that object.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

#include "core.h"

#define NSEC_PER_SEC		1000000000ull
#define LAUNCH_LATENCY_NS	1500	/* time from a call to the earliest start of its work */
#define STREAM_GAP_NS		100	/* time between two pieces of work in one stream */
#define COARSE_NS		200000	/* how late work may complete while nobody waits for it */
#define MAX_PENDING		1024	/* pieces of work in a stream; the next launch waits */
#define FIRST_STREAM_ID		7	/* CUPTI's id of a context's NULL stream */
#define HIDDEN_STREAMS		6	/* the driver's own streams, which have the next IDs */
#define TRACE_BYTES		65536

struct device {
	int ordinal;
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* tells the device's thread that it has work */
	pthread_cond_t progress;	/* tells all other threads that done_ns grew, or that the
					 * device's thread ended */
	struct work **heap;		/* ordered by (end_ns, seq) */
	size_t nr_heap;
	size_t size_heap;
	struct work *finishing;		/* taken off the heap, not done yet */
	uint64_t done_ns;		/* all work that ends at or before this time has ended */
	uint64_t next_seq;
	uint64_t kernel_tail_ns;	/* end of the last kernel; CUPTI_ACTIVITY_KIND_KERNEL
					 * serializes kernels */
	unsigned int nr_waiters;
	bool idle;			/* the device's thread sleeps without a deadline */
	bool started;
	bool stop;
	bool stopped;
	struct CUctx_st *primary;
	unsigned int nr_primary_refs;
};

struct allocation {
	char *base;
	size_t bytes;
	int device;
	struct CUctx_st *ctx;		/* the context whose end frees the memory; NULL: no context
					 * owns the memory */
	uint8_t kind;			/* CUpti_ActivityMemoryKind */
	bool registered;		/* host memory that cuMemHostRegister registered */
};

enum init_state { INIT_NONE, INIT_RUNNING, INIT_DONE };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t owner;
	int state;			/* enum init_state; read without the lock */
	bool recursed;
	int failed;
	int forked;
	pid_t pid;
	int deinitialized;
} init = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

struct kernel_name {
	struct kernel_name *next;
	char name[];
};

static struct {
	pthread_mutex_t lock;
	struct CUctx_st *contexts;
	struct CUstream_st *streams;
	struct kernel_name *names;
	uint32_t next_context_id;
	uint32_t next_stream_id;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER, .next_stream_id = FIRST_STREAM_ID };

static struct {
	pthread_rwlock_t lock;
	struct allocation *v;		/* sorted by base */
	size_t nr;
	size_t size;
	_Atomic size_t used[SIM_MAX_DEVICES];	/* bytes in use */
	_Atomic size_t pool[SIM_MAX_DEVICES];	/* part of used: bytes that the default pool has
						 * reserved but does not use */
	size_t total;			/* bytes of each device */
} memory = { .lock = PTHREAD_RWLOCK_INITIALIZER, .total = (size_t)80 << 30 };

static struct {
	pthread_mutex_t lock;
	int fd;				/* -1: no trace */
	size_t bytes;
	bool headed;
	char buf[TRACE_BYTES];
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static struct device devices[SIM_MAX_DEVICES];
static unsigned int nr_devices;
static uint64_t default_kernel_ns = 4000;
static uint64_t launch_ms;		/* see XPU_SIM_LAUNCH_MS */
static int64_t clock_offset_ns;
static uint64_t stats[SIM_STAT_NR];

static const struct sim_tool *the_tool;
static uint32_t tool_active;
static uint32_t tool_serialize;
static uint32_t last_correlation_id;

static __thread struct thread self;
static pthread_key_t self_key;
static pthread_once_t self_once = PTHREAD_ONCE_INIT;

static const char *const stat_names[SIM_STAT_NR] = {
	[SIM_STAT_KERNELS]		= "kernels",
	[SIM_STAT_MEMCPYS]		= "memcpys",
	[SIM_STAT_MEMSETS]		= "memsets",
	[SIM_STAT_RECORDS]		= "records",
	[SIM_STAT_DROPPED]		= "dropped",
	[SIM_STAT_ORPHANED]		= "orphaned",
	[SIM_STAT_BUFFERS_REQUESTED]	= "buffers_requested",
	[SIM_STAT_BUFFERS_COMPLETED]	= "buffers_completed",
	[SIM_STAT_BUFFERS_DIRTY]	= "buffers_dirty",
	[SIM_STAT_CUPTI_AFTER_FORK]	= "cupti_after_fork",
	[SIM_STAT_KERNELS_LATE]		= "kernels_late",
};

/* ---- small functions ------------------------------------------------------------------------- */

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t env_u64(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);
	char *end;
	uint64_t v;

	if (!s || !*s)
		return otherwise;
	v = strtoull(s, &end, 0);
	if (*end) {
		fprintf(stderr, "sim: %s=%s is not a number\n", name, s);
		return otherwise;
	}
	return v;
}

void count(enum sim_stat stat, uint64_t nr)
{
	__atomic_fetch_add(&stats[stat], nr, __ATOMIC_RELAXED);
}

void sim_migrate(const struct sim_migration *migration)
{
	const struct sim_tool *t = tool();
	struct sim_migration m = *migration;

	if (!m.start_ns)
		m.start_ns = m.end_ns = now_ns();
	if (t && __atomic_load_n(&tool_active, __ATOMIC_RELAXED))
		t->migrate(&m);
}

uint64_t sim_stat(enum sim_stat stat)
{
	return stat < SIM_STAT_NR ? __atomic_load_n(&stats[stat], __ATOMIC_RELAXED) : 0;
}

void registry__lock(void)
{
	pthread_mutex_lock(&registry.lock);
}

void registry__unlock(void)
{
	pthread_mutex_unlock(&registry.lock);
}

const struct sim_tool *tool(void)
{
	return __atomic_load_n(&the_tool, __ATOMIC_ACQUIRE);
}

void tool__resource(uint32_t cbid, struct CUctx_st *ctx, struct CUstream_st *stream, void *desc)
{
	const struct sim_tool *t = tool();

	if (t && __atomic_load_n(&tool_active, __ATOMIC_RELAXED))
		t->resource(cbid, ctx, stream, desc);
}

void tool__synchronized(uint32_t cbid, struct CUctx_st *ctx, struct CUstream_st *stream)
{
	const struct sim_tool *t = tool();

	if (t && __atomic_load_n(&tool_active, __ATOMIC_RELAXED))
		t->synchronized(cbid, ctx, stream);
}

static void thread__exit(void *arg)
{
	struct thread *t = arg;
	const struct sim_tool *tl = tool();

	for (unsigned int i = 0; i < SIM_MAX_DEVICES; i++) {
		if (t->per_thread[i])
			stream__destroy(t->per_thread[i]);
		t->per_thread[i] = NULL;
	}
	if (tl && t->tool_data)
		tl->thread_exit(t->tool_data);
	t->tool_data = NULL;
	t->has_destructor = false;	/* a later TLS destructor may call CUDA again */
}

static void thread__make_key(void)
{
	pthread_key_create(&self_key, thread__exit);
}

struct thread *thread__self(void)
{
	if (!self.has_destructor) {
		self.has_destructor = true;
		pthread_once(&self_once, thread__make_key);
		pthread_setspecific(self_key, &self);
	}
	return &self;
}

/* ---- the ground truth ------------------------------------------------------------------------ */

static void trace__write_out(void)
{
	size_t done = 0;

	while (done < trace.bytes) {
		ssize_t n = write(trace.fd, trace.buf + done, trace.bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fprintf(stderr, "sim: writing XPU_SIM_TRACE: %s\n", strerror(errno));
			break;
		}
		done += (size_t)n;
	}
	trace.bytes = 0;
}

static void trace__flush(void)
{
	if (trace.fd < 0)
		return;
	pthread_mutex_lock(&trace.lock);
	trace__write_out();
	pthread_mutex_unlock(&trace.lock);
}

static void trace__open(void)
{
	const char *path = getenv("XPU_SIM_TRACE");

	if (!path || !*path)
		return;
	trace.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (trace.fd < 0)
		fprintf(stderr, "sim: XPU_SIM_TRACE=%s: %s\n", path, strerror(errno));
}

static const char *copy_name(uint8_t copy_kind)
{
	switch (copy_kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
		return "HtoD";
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
		return "DtoH";
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
		return "DtoD";
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return "HtoH";
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return "PtoP";
	default:
		return "-";
	}
}

static void trace__work(const struct work *work, bool finished)
{
	static const char *const kinds[] = { "kernel", "memcpy", "memset" };
	const struct sim_activity *act = &work->act;
	const char *name = "-";
	int64_t offset;
	char line[1024];
	int len;

	if (trace.fd < 0 || act->kind == SIM_HOST)
		return;
	offset = __atomic_load_n(&clock_offset_ns, __ATOMIC_RELAXED);
	if (act->kind == SIM_KERNEL)
		name = act->name;
	else if (act->kind == SIM_MEMCPY)
		name = copy_name(act->copy_kind);
	len = snprintf(line, sizeof(line),
		       "%d %" PRIu32 " %s %.512s %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32
		       " %" PRIu32 " %" PRIu64 "\n",
		       (int)getpid(), act->correlation_id, kinds[act->kind], name,
		       act->start_ns + (uint64_t)offset,
		       finished ? act->end_ns + (uint64_t)offset : 0, act->device, act->context,
		       act->stream, act->graph_node);
	pthread_mutex_lock(&trace.lock);
	if (trace.bytes + (size_t)len + 64 > sizeof(trace.buf))
		trace__write_out();
	if (!trace.headed) {
		trace.bytes += (size_t)snprintf(trace.buf + trace.bytes, 64, "# image %d\n",
						(int)getpid());
		trace.headed = true;
	}
	memcpy(trace.buf + trace.bytes, line, (size_t)len);
	trace.bytes += (size_t)len;
	pthread_mutex_unlock(&trace.lock);
}

static void stats__write(void)
{
	const char *path = getenv("XPU_SIM_STATS");
	char buf[1024];
	int len = 0;
	int fd;

	if (!path || !*path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0) {
		fprintf(stderr, "sim: XPU_SIM_STATS=%s: %s\n", path, strerror(errno));
		return;
	}
	for (int i = 0; i < SIM_STAT_NR; i++)
		len += snprintf(buf + len, sizeof(buf) - (size_t)len, "%d %s %" PRIu64 "\n",
				(int)getpid(), stat_names[i], sim_stat((enum sim_stat)i));
	if (write(fd, buf, (size_t)len) != len)
		fprintf(stderr, "sim: writing XPU_SIM_STATS: %s\n", strerror(errno));
	close(fd);
}

/* ---- work ------------------------------------------------------------------------------------ */

struct work *work__new(struct CUstream_st *stream, enum sim_kind kind)
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->stream = stream;
	work->act.kind = kind;
	work->act.correlation_id = self.in_callback ? 0 : self.correlation_id;
	work->act.device = (uint32_t)stream->ctx->dev->ordinal;
	work->act.context = stream->ctx->uid;
	work->act.stream = stream->id;
	return work;
}

/* Frees work; @work may be NULL. Work that was enqueued belongs to its device. */
void work__free(struct work *work)
{
	if (!work)
		return;
	free(work->staging);
	free(work);
}

/* Abandons work that was reserved but never enqueued. */
void work__abandon(struct work *work)
{
	const struct sim_tool *t = tool();

	if (t && work->record)
		t->abandon(work->record);
	work__free(work);
}

/* Asks the tool for a record, on the launching thread, with no lock held. */
void work__reserve(struct work *work)
{
	const struct sim_tool *t = tool();

	if (work->act.kind == SIM_KERNEL && launch_ms)
		usleep(launch_ms * 1000);
	work->act.queued_ns = now_ns();
	/* A call without an ID began before the tool subscribed, or comes from a callback. */
	if (t && work->act.kind != SIM_HOST && work->act.correlation_id &&
	    __atomic_load_n(&tool_active, __ATOMIC_RELAXED))
		work->record = t->reserve(&work->act);
	switch (work->act.kind) {
	case SIM_KERNEL:
		count(SIM_STAT_KERNELS, 1);
		break;
	case SIM_MEMCPY:
		count(SIM_STAT_MEMCPYS, 1);
		break;
	case SIM_MEMSET:
		count(SIM_STAT_MEMSETS, 1);
		break;
	case SIM_HOST:
		break;
	}
}

static void work__move_data(const struct work *work)
{
	const char *value = (const char *)&work->act.value;
	char *dst = work->dst;

	switch (work->act.kind) {
	case SIM_MEMCPY:
		memmove(dst, work->staging ? work->staging : work->src, work->act.bytes);
		break;
	case SIM_MEMSET:
		if (work->unit == 1)
			memset(dst, (int)work->act.value, work->act.bytes);
		else
			for (size_t i = 0; i + work->unit <= work->act.bytes; i += work->unit)
				memcpy(dst + i, value, work->unit);
		break;
	case SIM_HOST:
		work->host_fn(work->host_data);
		break;
	case SIM_KERNEL:
		break;
	}
}

static void work__finish(struct work *work)
{
	const struct sim_tool *t = tool();

	work__move_data(work);
	if (t && work->record)
		t->complete(work->record, &work->act);
	trace__work(work, true);
}

static bool work__before(const struct work *a, const struct work *b)
{
	if (a->act.end_ns != b->act.end_ns)
		return a->act.end_ns < b->act.end_ns;
	return a->seq < b->seq;
}

static bool heap__push(struct device *dev, struct work *work)
{
	size_t i;

	if (dev->nr_heap == dev->size_heap) {
		size_t size = dev->size_heap ? dev->size_heap * 2 : 256;
		struct work **heap = reallocarray(dev->heap, size, sizeof(*heap));

		if (!heap)
			return false;
		dev->heap = heap;
		dev->size_heap = size;
	}
	for (i = dev->nr_heap++; i; i = (i - 1) / 2) {
		if (!work__before(work, dev->heap[(i - 1) / 2]))
			break;
		dev->heap[i] = dev->heap[(i - 1) / 2];
	}
	dev->heap[i] = work;
	return true;
}

static struct work *heap__pop(struct device *dev)
{
	struct work *top = dev->heap[0];
	struct work *last = dev->heap[--dev->nr_heap];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= dev->nr_heap)
			break;
		if (child + 1 < dev->nr_heap &&
		    work__before(dev->heap[child + 1], dev->heap[child]))
			child++;
		if (!work__before(dev->heap[child], last))
			break;
		dev->heap[i] = dev->heap[child];
		i = child;
	}
	if (dev->nr_heap)
		dev->heap[i] = last;
	return top;
}

/* ---- the device's thread --------------------------------------------------------------------- */

/* Sleeps until a time or a wakeup. The caller holds the device's lock. */
static void device__sleep_until(struct device *dev, pthread_cond_t *cond, uint64_t time_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(time_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(time_ns % NSEC_PER_SEC),
	};

	pthread_cond_timedwait(cond, &dev->lock, &ts);
}

static void *device__main(void *arg)
{
	struct device *dev = arg;

	pthread_setname_np(pthread_self(), "cuda-EvtHandlr");
	pthread_mutex_lock(&dev->lock);
	while (!dev->stop) {
		uint64_t now = now_ns();
		struct work **tail = &dev->finishing;
		struct work *work, *next;
		uint64_t end_ns;

		while (dev->nr_heap && dev->heap[0]->act.end_ns <= now) {
			*tail = heap__pop(dev);
			tail = &(*tail)->next;
		}
		*tail = NULL;
		if (dev->finishing) {
			pthread_mutex_unlock(&dev->lock);
			for (work = dev->finishing; work; work = work->next)
				work__finish(work);
			pthread_mutex_lock(&dev->lock);
			for (work = dev->finishing; work; work = next) {
				next = work->next;
				work->stream->nr_pending--;
				work__free(work);
			}
			dev->finishing = NULL;
		}
		dev->done_ns = now;
		pthread_cond_broadcast(&dev->progress);
		if (!dev->nr_heap) {
			pthread_mutex_unlock(&dev->lock);
			trace__flush();
			pthread_mutex_lock(&dev->lock);
		}
		if (dev->stop)
			break;
		if (!dev->nr_heap) {
			dev->idle = true;
			pthread_cond_wait(&dev->wake, &dev->lock);
			dev->idle = false;
			continue;
		}
		end_ns = dev->heap[0]->act.end_ns;
		if (!dev->nr_waiters)
			end_ns = max_u64(end_ns, now + COARSE_NS);
		if (end_ns > now_ns())
			device__sleep_until(dev, &dev->wake, end_ns);
	}
	dev->stopped = true;
	pthread_cond_broadcast(&dev->progress);
	pthread_mutex_unlock(&dev->lock);
	return NULL;
}

/*
 * Starts the device's thread. The caller holds the device's lock. The thread blocks signals, so
 * that the program's own threads get them.
 */
static bool device__start(struct device *dev)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	if (dev->started)
		return true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, device__main, dev);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	dev->started = !err;
	return !err;
}

/*
 * Waits until all work that ends by time_ns has ended. The caller holds the lock. Returns early if
 * the device was stopped. Waits with a deadline, because time_ns may come from an event of another
 * device: then this device has no work that ends at time_ns, and its thread may be asleep.
 */
static void device__wait_locked(struct device *dev, uint64_t time_ns)
{
	while (dev->done_ns < time_ns && !dev->stop) {
		dev->nr_waiters++;
		pthread_cond_signal(&dev->wake);
		device__sleep_until(dev, &dev->progress,
				    max_u64(time_ns, now_ns()) + COARSE_NS);
		dev->nr_waiters--;
	}
}

/**
 * device__wait - waits until everything that ends by time_ns has ended
 * @dev: device
 * @time_ns: end of a piece of work, CLOCK_MONOTONIC
 */
void device__wait(struct device *dev, uint64_t time_ns)
{
	pthread_mutex_lock(&dev->lock);
	device__wait_locked(dev, time_ns);
	pthread_mutex_unlock(&dev->lock);
}

bool device__is_done(struct device *dev, uint64_t time_ns)
{
	bool done;

	pthread_mutex_lock(&dev->lock);
	done = dev->done_ns >= time_ns;
	if (!done && now_ns() >= time_ns)
		/* Without this signal, the work would end late. */
		pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->lock);
	return done;
}

/* ---- enqueueing ------------------------------------------------------------------------------ */

/*
 * Gives the work its start and end, and moves the tails of its stream, context and device. The
 * caller holds the device's lock.
 */
static CUresult device__enqueue(struct device *dev, struct work *work)
{
	struct CUstream_st *stream = work->stream;
	struct CUctx_st *ctx = stream->ctx;
	struct sim_activity *act = &work->act;
	bool serialize = act->kind == SIM_KERNEL &&
			 __atomic_load_n(&tool_serialize, __ATOMIC_RELAXED);
	bool blocking = !(stream->flags & CU_STREAM_NON_BLOCKING);
	uint64_t start = now_ns() + LAUNCH_LATENCY_NS;

	if (!device__start(dev))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (work->in_graph)
		start = max_u64(start, work->not_before_ns);
	else if (stream->tail_ns)
		start = max_u64(start, stream->tail_ns + STREAM_GAP_NS);
	if (stream->is_legacy)
		start = max_u64(start, ctx->blocking_tail_ns);
	else if (blocking)
		start = max_u64(start, ctx->legacy->tail_ns);
	if (serialize)
		start = max_u64(start, dev->kernel_tail_ns + STREAM_GAP_NS);
	act->start_ns = start;
	act->end_ns = start + max_u64(work->duration_ns, 1);
	work->seq = dev->next_seq++;
	if (!heap__push(dev, work))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (serialize)
		dev->kernel_tail_ns = act->end_ns;
	stream->tail_ns = max_u64(stream->tail_ns, act->end_ns);
	stream->nr_pending++;
	ctx->tail_ns = max_u64(ctx->tail_ns, act->end_ns);
	if (blocking)
		ctx->blocking_tail_ns = max_u64(ctx->blocking_tail_ns, act->end_ns);
	if (dev->idle)
		pthread_cond_signal(&dev->wake);
	return CUDA_SUCCESS;
}

/* Delays a program that launches faster than the device runs. The caller holds the lock. */
static void device__throttle(struct device *dev, struct CUstream_st *stream)
{
	while (stream->nr_pending >= MAX_PENDING && !dev->stop) {
		dev->nr_waiters++;
		pthread_cond_signal(&dev->wake);
		pthread_cond_wait(&dev->progress, &dev->lock);
		dev->nr_waiters--;
	}
}

/**
 * work__submit - enqueues work in its stream
 * @work: owned by the device after success, freed after failure
 */
CUresult work__submit(struct work *work)
{
	struct device *dev = work->stream->ctx->dev;
	CUresult err;

	pthread_mutex_lock(&dev->lock);
	device__throttle(dev, work->stream);
	err = dev->stop ? CUDA_ERROR_DEINITIALIZED : device__enqueue(dev, work);
	pthread_mutex_unlock(&dev->lock);
	if (err)
		work__abandon(work);
	return err;
}

/**
 * work__submit_graph - enqueues the nodes of one graph launch
 * @works: the nodes, each after the nodes that it depends on; owned as by
 *	work__submit; NULL for an empty node
 * @nr: the number of nodes
 * @first_dep: nr + 1 indices into @deps; node i depends on deps[first_dep[i]] and the next ones
 * @deps: indices into @works
 * @stream: the launch stream; all nodes start after its tail, and its next work starts after them
 */
CUresult work__submit_graph(struct work **works, size_t nr, const uint32_t *first_dep,
			    const uint32_t *deps, struct CUstream_st *stream)
{
	struct device *dev = stream->ctx->dev;
	CUresult err = CUDA_SUCCESS;
	uint64_t tail;
	uint64_t *end_ns = calloc(nr ? nr : 1, sizeof(*end_ns));
	size_t i = 0;

	if (!end_ns)
		err = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&dev->lock);
	device__throttle(dev, stream);
	if (dev->stop)
		err = CUDA_ERROR_DEINITIALIZED;
	tail = stream->tail_ns ? stream->tail_ns + STREAM_GAP_NS : 0;
	for (; i < nr && !err; i++) {
		uint64_t not_before = tail;

		for (uint32_t d = first_dep[i]; d < first_dep[i + 1]; d++)
			not_before = max_u64(not_before, end_ns[deps[d]] + STREAM_GAP_NS);
		end_ns[i] = not_before;
		if (!works[i])
			continue;
		works[i]->in_graph = true;
		works[i]->not_before_ns = not_before;
		err = device__enqueue(dev, works[i]);
		if (err)
			break;
		end_ns[i] = works[i]->act.end_ns;
	}
	pthread_mutex_unlock(&dev->lock);
	for (; i < nr; i++)
		if (works[i])
			work__abandon(works[i]);
	free(end_ns);
	return err;
}

/* ---- streams --------------------------------------------------------------------------------- */

struct CUstream_st *stream__new(struct CUctx_st *ctx, unsigned int flags, int priority)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->magic = SIM_MAGIC_STREAM;
	stream->ctx = ctx;
	stream->flags = flags;
	stream->priority = priority;
	registry__lock();
	stream->id = registry.next_stream_id;
	registry.next_stream_id += ctx->legacy ? 1 : HIDDEN_STREAMS;
	stream->next = registry.streams;
	registry.streams = stream;
	registry__unlock();
	return stream;
}

/*
 * Destroys a stream, but keeps its memory: work still points to it, and a stale handle can be
 * recognized.
 */
CUresult stream__destroy(struct CUstream_st *stream)
{
	if (stream->is_users)
		tool__resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream->ctx, stream,
			       NULL);
	__atomic_store_n(&stream->magic, 0, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

static struct CUstream_st *stream__per_thread(struct CUctx_st *ctx)
{
	struct CUstream_st **slot = &thread__self()->per_thread[ctx->dev->ordinal];

	if (!*slot || (*slot)->ctx != ctx)
		*slot = stream__new(ctx, CU_STREAM_DEFAULT, 0);
	return *slot;
}

/**
 * stream__resolve - finds the stream of a handle, which may be a special one
 * @handle: as the program passed it
 * @per_thread: NULL means the per-thread default stream (the API's _ptsz form)
 * @out: the stream, owned by its context
 */
CUresult stream__resolve(CUstream handle, bool per_thread, struct CUstream_st **out)
{
	struct CUctx_st *ctx;

	if (!handle)
		handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
		ctx = ctx__current();
		if (!ctx)
			return CUDA_ERROR_INVALID_CONTEXT;
		*out = handle == CU_STREAM_LEGACY ? ctx->legacy : stream__per_thread(ctx);
		return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (__atomic_load_n(&handle->magic, __ATOMIC_RELAXED) != SIM_MAGIC_STREAM)
		return CUDA_ERROR_INVALID_HANDLE;
	*out = handle;
	return CUDA_SUCCESS;
}

uint64_t stream__tail(struct CUstream_st *stream)
{
	struct CUctx_st *ctx = stream->ctx;
	uint64_t tail;

	pthread_mutex_lock(&ctx->dev->lock);
	tail = stream->tail_ns;
	if (stream->is_legacy)
		tail = max_u64(tail, ctx->blocking_tail_ns);
	pthread_mutex_unlock(&ctx->dev->lock);
	return tail;
}

/* Delays later work in the stream until time_ns, the end of other work. */
void stream__wait_until(struct CUstream_st *stream, uint64_t time_ns)
{
	pthread_mutex_lock(&stream->ctx->dev->lock);
	stream->tail_ns = max_u64(stream->tail_ns, time_ns);
	pthread_mutex_unlock(&stream->ctx->dev->lock);
}

CUresult stream__synchronize(struct CUstream_st *stream)
{
	device__wait(stream->ctx->dev, stream__tail(stream));
	tool__synchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, stream->ctx, stream);
	return core__check();
}

/* ---- contexts and devices -------------------------------------------------------------------- */

struct CUctx_st *ctx__new(struct device *dev, unsigned int flags)
{
	struct CUctx_st *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->magic = SIM_MAGIC_CONTEXT;
	ctx->dev = dev;
	ctx->flags = flags;
	registry__lock();
	ctx->uid = ++registry.next_context_id;
	ctx->next = registry.contexts;
	registry.contexts = ctx;
	registry__unlock();
	pthread_mutex_lock(&dev->lock);
	device__start(dev);
	pthread_mutex_unlock(&dev->lock);
	ctx->legacy = stream__new(ctx, CU_STREAM_DEFAULT, 0);
	if (!ctx->legacy)
		return NULL;
	ctx->legacy->is_legacy = true;
	tool__resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, ctx, NULL, NULL);
	return ctx;
}

static void memory__end_context(const struct CUctx_st *ctx);

CUresult ctx__destroy(struct CUctx_st *ctx)
{
	struct CUstream_st *stream;

	ctx__wait(ctx);
	tool__resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, ctx, NULL, NULL);
	if (__atomic_load_n(&ctx->has_module, __ATOMIC_RELAXED))
		ctx__tell_module(ctx, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
	registry__lock();
	stream = registry.streams;	/* new streams are put first, and no stream is ever freed */
	registry__unlock();
	for (; stream; stream = stream->next)
		if (stream->ctx == ctx &&
		    __atomic_load_n(&stream->magic, __ATOMIC_RELAXED) == SIM_MAGIC_STREAM)
			stream__destroy(stream);
	memory__end_context(ctx);
	__atomic_store_n(&ctx->magic, 0, __ATOMIC_RELAXED);
	return core__check();
}

/* Waits for all work of the context. */
void ctx__wait(struct CUctx_st *ctx)
{
	pthread_mutex_lock(&ctx->dev->lock);
	device__wait_locked(ctx->dev, ctx->tail_ns);
	pthread_mutex_unlock(&ctx->dev->lock);
}

CUresult ctx__synchronize(struct CUctx_st *ctx)
{
	ctx__wait(ctx);
	tool__synchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, ctx, NULL);
	return core__check();
}

/* Return: the module's file, which XPU_SIM_CUBIN names; a dummy file by default */
static const void *module_file(size_t *bytes)
{
	static _Alignas(64) char cubin[64 * 1024] = "simulated";
	const char *path = getenv("XPU_SIM_CUBIN");
	static size_t nr = 64;
	FILE *f = path ? fopen(path, "r") : NULL;

	if (f) {
		nr = fread(cubin, 1, sizeof(cubin), f);
		fclose(f);
	}
	*bytes = nr;
	return cubin;
}

/*
 * Reports a module to CUPTI: when it is loaded, at each launch of its kernels, and at its
 * unloading.
 */
void ctx__tell_module(struct CUctx_st *ctx, uint32_t cbid)
{
	CUpti_ModuleResourceData data = { .moduleId = 1 };

	data.pCubin = module_file(&data.cubinSize);

	if (!__atomic_exchange_n(&ctx->has_module, 1, __ATOMIC_RELAXED))
		tool__resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, ctx, NULL, &data);
	tool__resource(cbid, ctx, NULL, &data);
}

struct CUctx_st *ctx__current(void)
{
	struct thread *t = thread__self();
	struct CUctx_st *ctx = t->nr_contexts ? t->contexts[t->nr_contexts - 1] : NULL;

	return ctx && ctx__is_valid(ctx) ? ctx : NULL;
}

bool ctx__is_valid(const struct CUctx_st *ctx)
{
	return ctx && __atomic_load_n(&ctx->magic, __ATOMIC_RELAXED) == SIM_MAGIC_CONTEXT;
}

unsigned int devices__nr(void)
{
	return nr_devices;
}

struct device *device__get(int ordinal)
{
	return ordinal >= 0 && (unsigned int)ordinal < nr_devices ? &devices[ordinal] : NULL;
}

int device__ordinal(const struct device *dev)
{
	return dev->ordinal;
}

/*
 * Guards the creation of primary contexts. The lock of the device cannot do this, because the
 * creation of a context calls the tool.
 */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

struct CUctx_st *device__primary_retain(struct device *dev, CUresult *err)
{
	struct CUctx_st *ctx;

	*err = CUDA_SUCCESS;
	pthread_mutex_lock(&primary_lock);
	ctx = __atomic_load_n(&dev->primary, __ATOMIC_ACQUIRE);
	if (!ctx) {
		ctx = ctx__new(dev, 0);
		__atomic_store_n(&dev->primary, ctx, __ATOMIC_RELEASE);
	}
	if (ctx)
		dev->nr_primary_refs++;
	else
		*err = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&primary_lock);
	return ctx;
}

CUresult device__primary_reset(struct device *dev)
{
	struct CUctx_st *ctx = __atomic_exchange_n(&dev->primary, NULL, __ATOMIC_ACQ_REL);

	return ctx ? ctx__destroy(ctx) : CUDA_SUCCESS;
}

CUresult device__primary_release(struct device *dev)
{
	unsigned int nr_refs;

	pthread_mutex_lock(&primary_lock);
	nr_refs = dev->nr_primary_refs;
	if (nr_refs)
		dev->nr_primary_refs--;
	pthread_mutex_unlock(&primary_lock);
	if (!nr_refs)
		return CUDA_ERROR_INVALID_CONTEXT;
	return nr_refs == 1 ? device__primary_reset(dev) : CUDA_SUCCESS;
}

bool device__primary_active(struct device *dev)
{
	return __atomic_load_n(&dev->primary, __ATOMIC_ACQUIRE);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/*
 * Return: a copy of @name that is never freed, because activity records point to it. The caller
 * holds the registry lock.
 */
const char *kernel__name(const char *name)
{
	struct kernel_name *n;
	size_t bytes = strlen(name) + 1;

	for (n = registry.names; n; n = n->next)
		if (!strcmp(n->name, name))
			return n->name;
	n = malloc(sizeof(*n) + bytes);
	if (!n)
		return NULL;
	memcpy(n->name, name, bytes);
	n->next = registry.names;
	registry.names = n;
	return n->name;
}

/*
 * Return: the name that CUPTI reports. CUPTI 13.0 caches a name by the address of the driver's
 * string, here in the handle. It keeps the old name when the module is gone and that address has
 * another kernel's name.
 */
const char *kernel__told(struct CUfunc_st *kernel)
{
	const char *told;

	if (!tool() || !__atomic_load_n(&tool_active, __ATOMIC_RELAXED))
		return kernel->name;
	told = __atomic_load_n(&kernel->told, __ATOMIC_RELAXED);
	if (!told) {
		told = kernel->name;
		__atomic_store_n(&kernel->told, told, __ATOMIC_RELAXED);
	}
	return told;
}

uint64_t kernel__duration(const struct CUfunc_st *kernel, void *const *params)
{
	int arg = __atomic_load_n(&kernel->cost_arg, __ATOMIC_RELAXED);
	uint64_t ns;

	if (arg < 0 || !params)
		return default_kernel_ns;
	memcpy(&ns, params[arg], sizeof(ns));
	return ns;
}

uint64_t copy__duration(size_t bytes)
{
	return 1500 + bytes / 20;	/* PCIe: 20 bytes per ns */
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Return: the index of the first allocation after ptr. The caller holds the lock. */
static size_t memory__behind(const void *ptr)
{
	size_t lo = 0, hi = memory.nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if ((const char *)memory.v[mid].base <= (const char *)ptr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct allocation *memory__lookup(const void *ptr)
{
	size_t i = memory__behind(ptr);
	struct allocation *a;

	if (!i)
		return NULL;
	a = &memory.v[i - 1];
	return (const char *)ptr < a->base + a->bytes ? a : NULL;
}

static CUresult memory__insert(const struct allocation *a)
{
	CUresult err = CUDA_SUCCESS;
	size_t i;

	pthread_rwlock_wrlock(&memory.lock);
	if (memory.nr == memory.size) {
		size_t size = memory.size ? memory.size * 2 : 64;
		struct allocation *v = reallocarray(memory.v, size, sizeof(*v));

		if (!v) {
			err = CUDA_ERROR_OUT_OF_MEMORY;
			goto out;
		}
		memory.v = v;
		memory.size = size;
	}
	i = memory__behind(a->base);
	memmove(&memory.v[i + 1], &memory.v[i], (memory.nr - i) * sizeof(*a));
	memory.v[i] = *a;
	memory.nr++;
out:
	pthread_rwlock_unlock(&memory.lock);
	return err;
}

/*
 * Takes back unused memory of pools, as CUDA does before it refuses memory. Return: the number of
 * bytes that were taken back
 */
static size_t memory__trim_pool(int device)
{
	return atomic_exchange(&memory.pool[device], 0);
}

bool memory__take(int device, size_t bytes)
{
	size_t used = atomic_load(&memory.used[device]);

	do {
		if (bytes > memory.total - used) {
			memory__give(device, memory__trim_pool(device));
			return false;
		}
	} while (!atomic_compare_exchange_weak(&memory.used[device], &used, used + bytes));
	return true;
}

void memory__give(int device, size_t bytes)
{
	atomic_fetch_sub(&memory.used[device], bytes);
}

size_t memory__pool(int device)
{
	return atomic_load(&memory.pool[device]);
}

void memory__info(int device, size_t *free_bytes, size_t *total)
{
	*total = memory.total;
	*free_bytes = memory.total - atomic_load(&memory.used[device]);
}

/* Frees all objects of a context. */
static void memory__end_context(const struct CUctx_st *ctx)
{
	struct allocation *a;
	size_t i, nr = 0;

	pthread_rwlock_wrlock(&memory.lock);
	for (i = 0; i < memory.nr; i++) {
		a = &memory.v[i];
		if (a->ctx != ctx) {
			memory.v[nr++] = *a;
			continue;
		}
		if (a->kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)
			memory__give(a->device, a->bytes);
		if (!a->registered)
			free(a->base);
	}
	memory.nr = nr;
	pthread_rwlock_unlock(&memory.lock);
}

static CUresult memory__remove(void *ptr, uint8_t kind, bool registered)
{
	CUresult err = CUDA_ERROR_INVALID_VALUE;
	struct allocation *a;

	pthread_rwlock_wrlock(&memory.lock);
	a = memory__lookup(ptr);
	if (a && a->base == ptr && a->registered == registered && (!kind || a->kind == kind)) {
		if (a->kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)
			memory__give(a->device, a->bytes);
		memmove(a, a + 1, (size_t)(&memory.v[--memory.nr] - a) * sizeof(*a));
		err = CUDA_SUCCESS;
	}
	pthread_rwlock_unlock(&memory.lock);
	return err;
}

CUresult memory__alloc(size_t bytes, uint8_t kind, int device, void **out)
{
	struct allocation a = {
		.bytes = bytes, .kind = kind, .device = device, .ctx = ctx__current()
	};
	bool on_device = kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	CUresult err;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (on_device && !memory__take(device, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = posix_memalign((void **)&a.base, 256, bytes) ? CUDA_ERROR_OUT_OF_MEMORY :
	      memory__insert(&a);
	if (!err) {
		*out = a.base;
		return err;
	}
	free(a.base);
	if (on_device)
		memory__give(device, bytes);
	return err;
}

CUresult memory__free(void *ptr, uint8_t kind)
{
	CUresult err = memory__remove(ptr, kind, false);

	if (!err)
		free(ptr);
	return err;
}

CUresult memory__register(void *ptr, size_t bytes)
{
	struct allocation a = {
		.base = ptr,
		.bytes = bytes,
		.kind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
		.registered = true,
	};

	return ptr && bytes ? memory__insert(&a) : CUDA_ERROR_INVALID_VALUE;
}

CUresult memory__unregister(void *ptr)
{
	return memory__remove(ptr, 0, true);
}

bool memory__find(const void *ptr, uint8_t *kind, int *device, void **base, size_t *bytes)
{
	struct allocation *a;

	pthread_rwlock_rdlock(&memory.lock);
	a = memory__lookup(ptr);
	if (a) {
		*kind = a->kind;
		*device = a->device;
		*base = a->base;
		*bytes = a->bytes;
	}
	pthread_rwlock_unlock(&memory.lock);
	return a;
}

uint8_t memory__kind(const void *ptr)
{
	uint8_t kind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	size_t bytes;
	void *base;
	int device;

	memory__find(ptr, &kind, &device, &base, &bytes);
	return kind;
}

/* ---- start and end of the process ------------------------------------------------------------ */

static void core__in_child(void)
{
	__atomic_store_n(&init.forked, 1, __ATOMIC_RELAXED);
}

/*
 * Stops the device threads, so that nothing calls into a library that is being torn down.
 * Unfinished work is not freed: leak checkers can still see it.
 */
static void core__teardown(void)
{
	struct timespec deadline;

	if (__atomic_load_n(&init.forked, __ATOMIC_RELAXED) || getpid() != init.pid)
		return;		/* the device threads do not exist in this process */
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += 2;	/* a client that blocks its callback must not hang the exit */
	for (unsigned int i = 0; i < nr_devices; i++) {
		struct device *dev = &devices[i];

		pthread_mutex_lock(&dev->lock);
		dev->stop = true;
		pthread_cond_broadcast(&dev->wake);
		pthread_cond_broadcast(&dev->progress);
		while (dev->started && !dev->stopped)
			if (pthread_cond_timedwait(&dev->progress, &dev->lock, &deadline))
				break;
		for (size_t w = 0; w < dev->nr_heap; w++)
			trace__work(dev->heap[w], false);
		pthread_mutex_unlock(&dev->lock);
	}
	__atomic_store_n(&init.deinitialized, 1, __ATOMIC_RELEASE);
	trace__flush();
	stats__write();
}

static void core__inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);
	void *lib;

	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	*(void **)&initialize = dlsym(lib, "InitializeInjection");
	if (initialize)
		initialize();
}

static void core__setup(void)
{
	pthread_condattr_t attr;
	uint64_t nr = env_u64("XPU_SIM_DEVICES", 1);

	nr_devices = (unsigned int)(nr < SIM_MAX_DEVICES ? nr : SIM_MAX_DEVICES);
	memory.total = env_u64("XPU_SIM_MEMORY", memory.total);
	for (unsigned int i = 0; i < SIM_MAX_DEVICES; i++) {
		memory.pool[i] = env_u64("XPU_SIM_POOL", 0);
		memory.used[i] = env_u64("XPU_SIM_REST", 0) + memory.pool[i];
	}
	default_kernel_ns = env_u64("XPU_SIM_KERNEL_NS", default_kernel_ns);
	launch_ms = env_u64("XPU_SIM_LAUNCH_MS", 0);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < nr_devices; i++) {
		devices[i].ordinal = (int)i;
		pthread_mutex_init(&devices[i].lock, NULL);
		pthread_cond_init(&devices[i].wake, &attr);
		pthread_cond_init(&devices[i].progress, &attr);
	}
	pthread_condattr_destroy(&attr);
	trace__open();
	init.pid = getpid();
	pthread_atfork(NULL, NULL, core__in_child);
	atexit(core__teardown);
}

/*
 * Initializes CUDA. The injected library runs inside the first cuInit and must not use CUDA there.
 * If it does, its cuInit succeeds, its other calls fail, and CUDA does not work after that.
 */
CUresult core__init(void)
{
	const struct sim_tool *t;
	bool recursed;

	if (__atomic_load_n(&init.state, __ATOMIC_ACQUIRE) == INIT_DONE)
		return core__check();
	pthread_mutex_lock(&init.lock);
	if (init.state == INIT_RUNNING && pthread_equal(init.owner, pthread_self())) {
		init.recursed = true;
		pthread_mutex_unlock(&init.lock);
		return CUDA_SUCCESS;
	}
	while (init.state == INIT_RUNNING)
		pthread_cond_wait(&init.changed, &init.lock);
	if (init.state == INIT_DONE) {
		pthread_mutex_unlock(&init.lock);
		return core__check();
	}
	init.owner = pthread_self();
	__atomic_store_n(&init.state, INIT_RUNNING, __ATOMIC_RELEASE);
	core__setup();
	pthread_mutex_unlock(&init.lock);

	core__inject();

	pthread_mutex_lock(&init.lock);
	recursed = init.recursed;
	__atomic_store_n(&init.failed, recursed, __ATOMIC_RELAXED);
	__atomic_store_n(&init.state, INIT_DONE, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&init.changed);
	pthread_mutex_unlock(&init.lock);
	t = tool();
	if (!recursed && t && __atomic_load_n(&tool_active, __ATOMIC_RELAXED))
		t->initialized();
	return core__check();
}

/* Return: whether an API call can continue. */
CUresult core__check(void)
{
	if (__atomic_load_n(&init.state, __ATOMIC_ACQUIRE) != INIT_DONE ||
	    __atomic_load_n(&init.failed, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&init.forked, __ATOMIC_RELAXED))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (__atomic_load_n(&init.deinitialized, __ATOMIC_ACQUIRE))
		return CUDA_ERROR_DEINITIALIZED;
	return nr_devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* ---- calls, and the table for the other two libraries ---------------------------------------- */

static void core__call_enter(struct sim_call *call)
{
	const struct sim_tool *t = tool();
	struct thread *thread = thread__self();

	call->live = false;
	call->entered = false;
	call->start_ns = 0;
	call->sticks = false;
	if (!t || thread->in_callback || __atomic_load_n(&init.forked, __ATOMIC_RELAXED))
		return;
	call->live = true;
	/* A runtime call and the driver calls inside it share one ID. */
	while (!thread->depth && !thread->correlation_id)
		thread->correlation_id =
			__atomic_add_fetch(&last_correlation_id, 1, __ATOMIC_RELAXED);
	call->nested = thread->depth++;
	call->correlation_id = thread->correlation_id;
	t->api_enter(call);
}

static void core__call_exit(struct sim_call *call)
{
	const struct sim_tool *t = tool();
	struct thread *thread = thread__self();

	if (!call->live)
		return;
	if (t)
		t->api_exit(call);
	thread->is_stuck |= call->sticks;
	if (!--thread->depth && !thread->is_stuck)
		thread->correlation_id = 0;
}

void call__enter(struct sim_call *call)
{
	if (__atomic_load_n(&tool_active, __ATOMIC_ACQUIRE))
		core__call_enter(call);
	else
		call->live = false;
}

void call__exit(struct sim_call *call)
{
	if (call->live)
		core__call_exit(call);
}

static void core__set_tool(const struct sim_tool *t, bool active, bool serialize)
{
	__atomic_store_n(&the_tool, t, __ATOMIC_RELEASE);
	__atomic_store_n(&tool_serialize, serialize, __ATOMIC_RELAXED);
	__atomic_store_n(&tool_active, active, __ATOMIC_RELEASE);
}

static void **core__tool_data(void)
{
	return &thread__self()->tool_data;
}

static bool core__in_callback(bool now)
{
	bool was = self.in_callback;

	self.in_callback = now;
	return was;
}

static void core__set_clock_offset(int64_t offset_ns)
{
	__atomic_store_n(&clock_offset_ns, offset_ns, __ATOMIC_RELAXED);
}

static bool core__forked(void)
{
	return __atomic_load_n(&init.forked, __ATOMIC_RELAXED);
}

static bool core__context_id(CUcontext ctx, uint32_t *id, uint32_t *device)
{
	if (!ctx__is_valid(ctx))
		return false;
	*id = ctx->uid;
	*device = (uint32_t)ctx->dev->ordinal;
	return true;
}

static bool core__stream_id(CUcontext ctx, CUstream handle, bool per_thread, uint32_t *id)
{
	struct CUstream_st *stream;

	if (!handle && !per_thread && ctx && ctx->legacy)
		stream = ctx->legacy;
	else if (stream__resolve(handle, per_thread, &stream))
		return false;
	if (ctx && stream->ctx != ctx)
		return false;
	*id = stream->id;
	return true;
}

static void core__kernel_cost_arg(CUfunction kernel, unsigned int arg)
{
	__atomic_store_n(&kernel->cost_arg, (int)arg, __ATOMIC_RELAXED);
}

static const struct sim_core the_core = {
	.abi = SIM_ABI,
	.bytes = sizeof(struct sim_core),
	.active = &tool_active,
	.call_enter = core__call_enter,
	.call_exit = core__call_exit,
	.set_tool = core__set_tool,
	.tool_data = core__tool_data,
	.in_callback = core__in_callback,
	.now_ns = now_ns,
	.set_clock_offset = core__set_clock_offset,
	.check = core__check,
	.forked = core__forked,
	.nr_devices = devices__nr,
	.current = ctx__current,
	.context_id = core__context_id,
	.stream_id = core__stream_id,
	.graph_id = graph__id,
	.graph_exec_id = graph_exec__id,
	.graph_node_id = graph_node__id,
	.count = count,
	.kernel_cost_arg = core__kernel_cost_arg,
};

const struct sim_core *sim_core(uint32_t abi)
{
	return abi == SIM_ABI ? &the_core : NULL;
}
