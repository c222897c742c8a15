// SPDX-License-Identifier: MIT
#include "gpu/opencl/work.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/memory.h"
#include "gpu/opencl/objects.h"
#include "launch/refused.h"
#include "launch/capture_window.h"
#include "wire/sender.h"
#include "wire/work.h"

#define CHUNK		64		/* number of structs that are mapped at once */
#define MAX_CHUNKS	(1u << 14)	/* maximum number in a process: a million launches in
					 * flight */
#define NR_WAKE		4096		/* number of ended pieces of work that wakes the shim's
					 * thread */

/*
 * A pool holds the structs of one thread. When the thread has ended, another thread gets the pool.
 */
struct pool {
	struct pool *next;
	struct work *free;		/* free structs; only the thread uses them */
	struct work *_Atomic back;	/* structs that the shim's thread gave back, latest first */
	atomic_uint nr_begun;		/* written by the thread only */
	atomic_bool is_taken;
	bool is_busy;			/* the thread is in work__new(), which its signal handlers
					 * must not enter */
};

struct chunk {
	struct chunk *next;
	struct work v[CHUNK];
};

static struct pool *_Atomic pools;
static struct chunk *_Atomic chunks;
static __thread struct pool *own __attribute__((tls_model("initial-exec")));
static pthread_key_t at_end;		/* its destructor gives a thread's pool back */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct work *_Atomic dones;	/* ended work, latest first */
/* Every thread writes this at each launch, so it has cache lines of its own. */
static struct {
	_Alignas(128) atomic_uint last;
} ids;
static atomic_uint nr_done, nr_packed, nr_chunks, session;
static atomic_uint_fast64_t nr_lost;

/* ---- pools ----------------------------------------------------------------------------------- */

static void thread_ends(void *pool)
{
	own = NULL;
	atomic_store(&((struct pool *)pool)->is_taken, false);
}

static void make_key(void)
{
	pthread_key_create(&at_end, thread_ends);
}

/* Gives the calling thread a pool: the pool of a thread that has ended, or a new pool. */
static __attribute__((noinline, cold)) struct pool *pool__get(void)
{
	struct pool *p;
	sigset_t old;
	bool taken;

	signals__block(&old);
	pthread_once(&once, make_key);
	for (p = atomic_load(&pools); p; p = p->next) {
		taken = false;
		if (atomic_compare_exchange_strong(&p->is_taken, &taken, true))
			break;
	}
	if (!p && (p = memory__map(sizeof(*p)))) {
		atomic_store(&p->is_taken, true);
		p->next = atomic_load(&pools);
		while (!atomic_compare_exchange_weak(&pools, &p->next, p))
			;
	}
	own = p;
	if (p)
		pthread_setspecific(at_end, p);
	signals__restore(&old);
	return p;
}

static __attribute__((noinline, cold)) struct work *pool__grow(struct pool *p)
{
	struct chunk *c;
	size_t i;

	if (atomic_fetch_add(&nr_chunks, 1) >= MAX_CHUNKS || !(c = memory__map(sizeof(*c)))) {
		atomic_fetch_sub(&nr_chunks, 1);
		return NULL;
	}
	for (i = 0; i < CHUNK; i++) {
		c->v[i].pool = p;
		c->v[i].next = i + 1 < CHUNK ? &c->v[i + 1] : NULL;
	}
	c->next = atomic_load(&chunks);
	while (!atomic_compare_exchange_weak(&chunks, &c->next, c))
		;
	return c->v;
}

/*
 * Return: a new id. Ids increase in the order of launches, so readers can recognize launches that
 * are older than the recording.
 */
uint32_t work__next_id(void)
{
	uint32_t id = atomic_fetch_add_explicit(&ids.last, 1, memory_order_relaxed) + 1;

	return id ? id : work__next_id();
}

void work__lost(void)
{
	atomic_fetch_add(&nr_lost, 1);
}

struct work *work__new(void)
{
	struct pool *p = own;
	struct work *w;

	if (__builtin_expect(!p, 0) && !(p = pool__get()))
		goto lost;
	if (p->is_busy)
		goto lost;
	p->is_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	w = p->free;
	if (!w)
		w = atomic_exchange_explicit(&p->back, NULL, memory_order_acquire);
	if (__builtin_expect(!w, 0))
		w = pool__grow(p);
	if (w) {
		p->free = w->next;
		w->id = work__next_id();
		atomic_store_explicit(&p->nr_begun, atomic_load_explicit(&p->nr_begun,
				      memory_order_relaxed) + 1, memory_order_relaxed);
	}
	atomic_signal_fence(memory_order_seq_cst);
	p->is_busy = false;
	if (!w)
		goto lost;
	w->session = atomic_load_explicit(&session, memory_order_relaxed);
	return w;
lost:
	work__lost();
	return NULL;
}

static void push(struct work *_Atomic *list, struct work *w)
{
	w->next = atomic_load_explicit(list, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(list, &w->next, w, memory_order_release,
						      memory_order_relaxed))
		;
}

void work__cancel(struct work *w)
{
	push(&w->pool->back, w);
	atomic_fetch_add(&nr_done, 1);
}

/* ---- the end of device work ------------------------------------------------------------------ */

static void done(struct work *w)
{
	push(&dones, w);
	if (atomic_fetch_add(&nr_done, 1) % NR_WAKE == NR_WAKE - 1)
		sender__wake();
}

static uint64_t time_of(cl_event event, cl_profiling_info what)
{
	cl_ulong ns;

	return opencl.clGetEventProfilingInfo(event, what, sizeof(ns), &ns, NULL) ? 0 : ns;
}

/*
 * Reports that @w failed with the driver's @status. PoCL uses -1 if an event that the work waits
 * for has failed. In a recording -1 means something else, so OpenCL's error for that case replaces
 * it.
 */
static void refuse(const struct work *w, cl_int status)
{
	if (status == -1)
		status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	refused__add(XPU_API_OPENCL, w->id, status);
}

/* Records that @w has ended with @status, and releases the event of @w. */
static void ended(struct work *w, cl_int status)
{
	cl_event event = w->event;

	if (status >= CL_COMPLETE) {
		w->at.queued = time_of(event, CL_PROFILING_COMMAND_QUEUED);
		w->at.start = time_of(event, CL_PROFILING_COMMAND_START);
		w->at.end = time_of(event, CL_PROFILING_COMMAND_END);
		done(w);
	} else {
		refuse(w, status);
		work__cancel(w);
	}
	opencl.clReleaseEvent(event);
}

static void CL_CALLBACK completed(cl_event event, cl_int status, void *arg)
{
	int saved_errno = errno;
	struct work *w = arg;
	unsigned int state;

	(void)event;
	w->at.seen_ns = clock__ns();
	w->status = status;
	state = atomic_exchange(&w->state, WORK_COMPLETED);
	if (state == WORK_IN_FLIGHT) {
		atomic_store(&w->state, WORK_ELSEWHERE);
		ended(w, status);
	}
	errno = saved_errno;
}

static void look_at(struct work *w)
{
	unsigned int state = WORK_IN_FLIGHT;
	cl_int status = CL_COMPLETE;

	if (!atomic_compare_exchange_strong(&w->state, &state, WORK_LOOKED_AT))
		return;
	if (opencl.clGetEventInfo(w->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				  &status, NULL))
		status = CL_COMPLETE;
	state = WORK_LOOKED_AT;
	/* The struct of failed work is never reused: the driver may still complete the work. */
	if (status < 0 && atomic_compare_exchange_strong(&w->state, &state, WORK_ELSEWHERE)) {
		refuse(w, status);
		atomic_fetch_add(&nr_done, 1);
	} else if (state == WORK_COMPLETED ||
		   !atomic_compare_exchange_strong(&w->state, &state, WORK_IN_FLIGHT)) {
		atomic_store(&w->state, WORK_ELSEWHERE);
		ended(w, w->status);
	}
}

void work__find_failed(void)
{
	struct chunk *c;
	size_t i;

	for (c = atomic_load(&chunks); c; c = c->next)
		for (i = 0; i < CHUNK; i++)
			look_at(&c->v[i]);
}

void work__watch(struct work *w, cl_event event)
{
	w->at.queued = w->at.start = w->at.end = 0;
	w->event = event;
	atomic_store(&w->state, WORK_IN_FLIGHT);
	if (event && objects__device_can(w->device, DEVICE_CALLS_BACK) &&
	    !opencl.clSetEventCallback(event, CL_COMPLETE, completed, w))
		return;
	/*
	 * No callback will report the end of this work, so its times stay unknown, and are counted
	 * as unknown.
	 */
	if (atomic_exchange(&w->state, WORK_ELSEWHERE) != WORK_IN_FLIGHT)
		return;
	w->at.seen_ns = 0;
	done(w);
	if (event)
		opencl.clReleaseEvent(event);
}

/* ---- sending --------------------------------------------------------------------------------- */

void work__begin_session(void)
{
	atomic_fetch_add(&session, 1);
}

void *work__take(void)
{
	return atomic_exchange_explicit(&dones, NULL, memory_order_acquire);
}

static uint32_t name_of(const struct work *w)
{
	struct xpu_shape shape = { .registers = 0 };

	if (!w->block[0])
		return wire__string(w->name);
	memcpy(shape.grid, w->grid, sizeof(shape.grid));
	memcpy(shape.block, w->block, sizeof(shape.block));
	return wire__kernel(w->name, &shape);
}

static void pack_one(const struct work *w)
{
	struct gpu_work g = {
		.type = w->type,
		.api = XPU_API_OPENCL,
		.correlation_id = w->id,
		.stream = wire__stream(XPU_API_OPENCL, w->device, w->context, w->queue),
		.start = w->at.start,
		.end = w->at.end,
		.shift_ns = clocks__shift(w->device),
		.bytes = w->bytes,
		.is_async = w->is_async,
		.copy_kind = w->copy_kind,
	};

	if (w->type == XPU_RECORD_KERNEL)
		g.name = name_of(w);
	wire__work(&g);
}

static bool is_wanted(const struct work *w)
{
	return w->session == atomic_load(&session) && capture_window__has(XPU_API_OPENCL, w->id);
}

void work__pack(void *taken)
{
	struct work *w, *next, *oldest = NULL;

	objects__define_devices();
	/*
	 * Update the clocks first, so that all work of the batch is converted with the same bounds.
	 */
	for (w = taken; w; w = next) {
		next = w->next;
		w->next = oldest;
		oldest = w;
	}
	for (w = oldest; w; w = w->next)
		clocks__learn(w->device, &w->at);
	clocks__settle();
	for (w = oldest; w; w = next) {
		next = w->next;
		if (is_wanted(w))
			pack_one(w);
		push(&w->pool->back, w);
		atomic_fetch_add(&nr_packed, 1);
	}
	wire__counters.nr_dropped_cupti += atomic_exchange(&nr_lost, 0);
}

bool work__has_more(void)
{
	unsigned int nr = 0;
	struct pool *p;

	for (p = atomic_load(&pools); p; p = p->next)
		nr += atomic_load(&p->nr_begun);
	return nr != atomic_load(&nr_done);
}

unsigned int work__progress(void)
{
	return atomic_load(&nr_done) + atomic_load(&nr_packed);
}
