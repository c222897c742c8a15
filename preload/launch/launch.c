// SPDX-License-Identifier: MIT
/*
 * The launch path. A warm thread does what the callback below shows and nothing more: it finds its
 * call path, and makes an entry in its log or calls the probe, all in memory of its own. It takes
 * no lock, allocates nothing, makes no system call and touches no shared cache line. For programs
 * that unload modules see names.h.
 */
#include "launch/launch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "arch/machine.h"
#include "base/clock.h"
#include "base/cupti_lib.h"
#include "base/hot.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "launch/allocs.h"
#include "launch/calls.h"
#include "base/walk_fp.h"
#include "launch/in_range.h"
#include "launch/names.h"
#include "launch/notes.h"
#include "launch/stalls.h"
#include "launch/paths.h"
#include "wire/probe.h"
#include "wire/shm.h"
#include "python/python.h"
#include "launch/refused.h"
#include "base/life.h"
#include "launch/unwind.h"
#include "launch/wait.h"
#include "launch/window.h"
#include "xpu_record.h"
#include "xpu_shm.h"

#define CLOSE_PAUSE_NS	20000
#define CLOSE_WAIT_NS	100000000	/* a launch may wait for a queue that needs this thread */

/*
 * One for each thread that has launched, in pages of its own, so that its totals outlive the
 * thread.
 */
struct launcher {
	struct xpu_slot slot;
	struct paths *paths;			/* in memory behind this struct */
	struct unwinder *unwinder;		/* in memory behind paths, or NULL */
	struct python *python;			/* NULL without Python on this thread */
	struct call_log *calls;			/* in memory behind unwinder */
	unsigned int level;			/* launches in progress: 2 or more in signal
						 * handlers */
	atomic_uint range_logged;		/* the range_id that the log's entries belong to */
	atomic_uint_fast64_t nr_launches;	/* written by the thread alone */
	atomic_uint_fast64_t nr_ranges;		/* the same */
	uint32_t stuck_id;			/* a launch that launch__close() has waited for;
						 * under lock */
	atomic_uint_fast64_t nr_allocs;		/* the same */
	struct alloc_call alloc_call;
	struct launcher *next;
	unsigned int pages;			/* of shared memory: see shm__take_pages() */
	atomic_bool dead;			/* the thread has ended */
} __attribute__((aligned(128)));		/* threads share no (pair of) cache lines */

_Static_assert(sizeof(struct launcher) + PATHS_LOG_END <= XPU_SHM_THREAD_BYTES,
	       "the first pages have the log");

#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))

static __thread struct launcher *this_thread INITIAL_EXEC;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* see lock.h */
static struct launcher *threads;			/* used under lock */
static struct launch_totals dead;		/* totals of threads that have ended */
static atomic_uint_fast64_t nr_nested;		/* launches in signal handlers that interrupted a
						 * launch */
static atomic_uint_fast64_t nr_untagged;	/* launches that had no memory for a tag; reported
						 * as missing */
static HOT_DATA atomic_uint gate;		/* 0: closed; else a number for each opening */
static atomic_uint last_gate;

const struct cupti *launch__cupti;

/* Notes that the calling thread is in the launch @id; 0: in none. launch__close() reads it. */
static inline void set_launch(struct launcher *t, uint32_t id)
{
	__atomic_store_n(&t->slot.correlation_id, id, __ATOMIC_RELEASE);
}

/* Return: the launch that @t's thread is in, or 0. On any thread. */
static uint32_t launch_of(const struct launcher *t)
{
	return __atomic_load_n(&t->slot.correlation_id, __ATOMIC_ACQUIRE);
}

void launch__exit(void)
{
	struct launcher *t = this_thread;

	if (!t)
		return;
	this_thread = NULL;
	if (call_log__is_open(t->calls))
		calls__count_bad();
	paths__send(t->paths);
	atomic_store_explicit(&t->dead, true, memory_order_release);
}

/* Return: the offset of the log of calls behind the struct. */
static size_t calls_at(void)
{
	return (paths__bytes() + unwinder__bytes() + 63) & ~63ul;
}

static size_t launcher_bytes(void)
{
	return sizeof(struct launcher) + calls_at() + call_log__bytes();
}

static void launcher__free(struct launcher *t)
{
	unsigned int pages = t->pages;

	munmap(t, launcher_bytes());
	if (pages)
		shm__give_pages(pages);
}

/*
 * Makes the struct at the first launch of a thread. Return: NULL if memory is short, which leaves
 * the launch untagged. This may run in a signal handler that interrupted malloc(), and a signal may
 * arrive while the lock is held.
 */
static __attribute__((noinline, cold)) struct launcher *launcher__new(void)
{
	int saved_errno = errno;
	struct launcher *t;
	sigset_t old;

	signals__block(&old);
	t = this_thread;
	if (t)
		goto out;		/* a signal handler has made it meanwhile */
	t = memory__map(launcher_bytes());
	if (!t)
		goto out;
	pthread_mutex_lock(&lock);
	if (probe__way == PROBE_SHM &&
	    !shm__take_pages(t, sizeof(*t) + paths__log_at(), &t->pages)) {
		munmap(t, launcher_bytes());
		t = NULL;
		goto unlock;
	}
	if (!shim__watch_thread()) {
		launcher__free(t);
		t = NULL;
		goto unlock;
	}
	t->slot.size = sizeof(t->slot);
	t->slot.home = (uintptr_t)&t->slot;
	t->paths = (struct paths *)(t + 1);
	paths__start(t->paths, &t->slot);
	if (unwinder__bytes())
		t->unwinder = (struct unwinder *)((char *)(t + 1) + paths__bytes());
	t->calls = (struct call_log *)((char *)(t + 1) + calls_at());
	call_log__start(t->calls);
	t->next = threads;
	threads = t;
	this_thread = t;
unlock:
	pthread_mutex_unlock(&lock);
	if (t)
		ranges__have_log();
out:
	signals__restore(&old);
	errno = saved_errno;
	return t;
}

/*
 * Logs the thread's current range before a launch: a range entry in the log applies to the launches
 * after it.
 */
static __attribute__((noinline, cold)) void log_range(struct launcher *t)
{
	if (ranges__sync() && atomic_load(&t->range_logged) != t->slot.range_id)
		launch__log_range(0, t->slot.range_id, XPU_LOG_RANGE | XPU_RANGE_SET);
}

/*
 * Records the launch in @slot, whose chain was walked or is empty: adds Python's frames, then logs
 * the launch or calls the probe. @known: its path may be remembered.
 */
static __attribute__((noinline)) uint64_t tell_walked(struct launcher *t, struct xpu_slot *slot,
						      unsigned int level, enum python_mode python,
						      bool known)
{
	if (python != PYTHON_OFF)
		python__chain(&t->python, level,
			      t->unwinder ? unwinder__stack(t->unwinder, level) : NULL, slot);
	if (known && slot->nr_frames)
		return paths__tell_walked(t->paths, slot, t->unwinder, t->python, python);
	probe__launch(slot);
	return 0;
}

/* An unwind_other_fn: the launch of @launcher does not come from the path that was guessed. */
static const struct unwind_trace *guess_again(void *launcher, const struct unwind_miss *miss)
{
	struct launcher *t = launcher;

	return paths__guess_again(t->paths, &t->slot,
				  atomic_load_explicit(&python__mode, memory_order_relaxed), miss);
}

/*
 * Records every launch, every call that has waited, and every graph node that is made:
 *
 *	paths__guess()		guesses the path: the one that followed the last path before
 *	unwinder__chain()	checks the guess, then paths__guess_again()'s guesses, else walks
 *	paths__tell_guessed()	a guess was right: logs the launch, or calls the probe for it
 *	paths__tell_walked()	the stack was walked: remembers the path and logs the launch, or
 *				calls the probe for it
 *	probe__launch()		remembers nothing: for a launch that interrupts another one, or has
 *				no frames, or is in a range that the log lacks, and for a graph node
 *
 * Inlined: a frame of its own would be one more to unwind. @level: see unwinder__chain().
 * Return: the CPU's ticks just before the log's entry was made; 0 if the probe was called.
 */
static inline __attribute__((always_inline)) uint64_t
tell(struct launcher *t, struct xpu_slot *slot, unsigned int level)
{
	bool known = paths__enabled && !level && !slot->graph_node_id &&
		     atomic_load_explicit(&t->range_logged, memory_order_relaxed) ==
		     slot->range_id;
	const struct unwind_trace *guess = NULL;
	enum python_mode python;
	uint64_t ticks;

	t->level = level + 1;
	atomic_signal_fence(memory_order_seq_cst);
	python = atomic_load_explicit(&python__mode, memory_order_acquire);
	slot->nr_frames = 0;
	slot->flags = 0;
	if (known && t->unwinder)
		guess = paths__guess(t->paths, slot, python);
	if (t->unwinder && python != PYTHON_ONLY &&
	    __builtin_expect(unwinder__chain(t->unwinder, level, slot, guess,
					     known && !slot->wait_ns ? guess_again : NULL, t), 1))
		ticks = paths__tell_guessed(t->paths, slot);
	else
		ticks = tell_walked(t, slot, level, python, known);
	atomic_signal_fence(memory_order_seq_cst);
	t->level = level;
	return ticks;
}

/*
 * Records a launch of a signal handler that interrupted the recording of another launch, without
 * any effect on that launch.
 */
static __attribute__((noinline, cold)) void tell_nested(struct launcher *t, CUpti_CallbackId cbid,
							const CUpti_CallbackData *d)
{
	struct xpu_slot slot = {
		.size = sizeof(slot),
		.correlation_id = d->correlationId,
		.cbid = cbid,
		.domain = CUPTI_CB_DOMAIN_DRIVER_API,
		.home = (uintptr_t)&t->slot,
		.range_id = t->slot.range_id,
	};

	tell(t, &slot, t->level);
	atomic_fetch_add(&nr_nested, 1);
}

/*
 * Records a new graph node. During the capture of a launch the slot still names that launch, so
 * that nobody waits for its device record; in an explicit call the slot names no launch.
 */
static __attribute__((noinline, cold)) void graph_node_created(const CUpti_GraphData *graph)
{
	struct launcher *t = this_thread;
	uint32_t cbid, domain;
	uint64_t node;

	if (!launch__cupti->get_graph_node_id)
		return;
	if (!t && !(t = launcher__new())) {
		atomic_fetch_add(&nr_untagged, 1);
		return;
	}
	if (launch__cupti->get_graph_node_id(graph->node, &node) == CUPTI_SUCCESS) {
		if (names__wanted())
			names__captured(node, t->slot.correlation_id);
		t->slot.graph_node_id = node;
		cbid = t->slot.cbid;
		domain = t->slot.domain;
		if (!t->slot.correlation_id) {
			t->slot.cbid = CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
			t->slot.domain = CUPTI_CB_DOMAIN_RESOURCE;
		}
		tell(t, &t->slot, t->level);
		t->slot.cbid = cbid;
		t->slot.domain = domain;
	}
	t->slot.graph_node_id = 0;
}

static __attribute__((noinline, cold)) void graph_node_cloned(const CUpti_GraphData *graph)
{
	uint64_t node, original;

	if (!launch__cupti->get_graph_node_id ||
	    launch__cupti->get_graph_node_id(graph->node, &node) != CUPTI_SUCCESS ||
	    launch__cupti->get_graph_node_id(graph->originalNode, &original) != CUPTI_SUCCESS)
		return;
	if (names__wanted())
		names__cloned(node, original);
	activity__graph_clone(node, original);
}

static __attribute__((noinline, cold)) void on_resource(CUpti_CallbackId cbid,
							const CUpti_ResourceData *resource)
{
	const CUpti_ModuleResourceData *module;

	/* Also while nobody listens: samples are always read. */
	if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
		stalls__end_module();	/* the names of its functions are lost afterwards */
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
		stalls__remove_context(resource->context);
		allocs__end_context(resource->context);
	}
	if (!probe__launch_attached() || !atomic_load(&gate))
		return;
	switch (cbid) {
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
		graph_node_created(resource->resourceDescriptor);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
		graph_node_cloned(resource->resourceDescriptor);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
		names__start();
		break;
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		module = resource->resourceDescriptor;
		stalls__add_module(module->pCubin, module->cubinSize);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
		stalls__add_context(resource->context);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
		names__start();
		launch__cupti->activity_flush_all(0);	/* before the context's records are lost */
		break;
	}
}

/* Begins to measure a call, since @ticks, or since now if @ticks is 0. */
static inline void begin_call(struct launcher *t, CUpti_CallbackId cbid,
			      const CUpti_CallbackData *d, uint64_t ticks)
{
	if (!wait__call(cbid))
		return;
	t->slot.in_call = 1;
	*d->correlationData = ticks ? ticks : clock__ticks();
}

/*
 * Records a call that took long, so it may have waited for the device. The call has ended, so this
 * may take time.
 */
static __attribute__((noinline, cold)) void waited(CUpti_CallbackId cbid,
						   const CUpti_CallbackData *d)
{
	struct launcher *t = this_thread;		/* measuring the call has made it */
	struct xpu_slot slot = {
		.size = sizeof(slot),
		.cbid = cbid,
		.domain = CUPTI_CB_DOMAIN_DRIVER_API,
	};

	if (!t || !probe__launch_attached() || !atomic_load(&gate) ||
	    !wait__describe(&slot, cbid, d, *d->correlationData))
		return;
	slot.home = t->slot.home;
	slot.range_id = t->slot.range_id;
	tell(t, &slot, t->level);
}

/* Announces the slot of a thread that waits but has never launched anything. */
static __attribute__((noinline, cold)) struct launcher *introduce(void)
{
	struct launcher *t = launcher__new();

	if (t)
		probe__launch(&t->slot);
	return t;
}

/*
 * Handles a call that is no launch, but waits, records an event that may be waited for, or makes or
 * frees memory.
 */
static __attribute__((noinline)) void on_wait_call(CUpti_CallbackId cbid,
						   const CUpti_CallbackData *d)
{
	uint8_t call = wait__call(cbid) & ~WAIT_NO_LAUNCH;
	bool record = (call & ~WAIT_ALLOC) >= WAIT_RECORD;
	struct launcher *t = this_thread;

	if (call & WAIT_ALLOC && allocs__are_on())
		allocs__call(cbid, d);
	if ((call & ~WAIT_ALLOC) < WAIT_STREAM)
		return;
	if (d->callbackSite != CUPTI_API_ENTER) {
		if (t)
			t->slot.in_call = 0;
		if (!record && wait__is_long(*d->correlationData))
			waited(cbid, d);
		return;
	}
	*d->correlationData = 0;
	if (!probe__launch_attached() || !atomic_load_explicit(&gate, memory_order_acquire))
		return;
	if (record) {
		wait__event_recorded(cbid, d);
		return;
	}
	if (t || (t = introduce()))
		begin_call(t, cbid, d, 0);
}

static inline __attribute__((always_inline)) void call_returned(struct launcher *t,
								CUpti_CallbackId cbid,
								const CUpti_CallbackData *d)
{
	const CUresult *result = d->functionReturnValue;
	uint8_t call = wait__call(cbid);

	if (result && __builtin_expect(*result, 0))
		refused__add(d->correlationId, *result);
	else if (wait__has_no_bytes(cbid, d))
		refused__add(d->correlationId, XPU_REFUSED_NO_BYTES);
	if (t && !t->level) {	/* else it is in a signal handler, see tell_nested() */
		set_launch(t, 0);	/* the launch is over */
		t->slot.in_call = 0;
		if (call && __builtin_expect(wait__is_long(*d->correlationData), 0))
			waited(cbid, d);
	}
}

/*
 * Announces the launch that the thread is about to record. If the window closes meanwhile, either
 * this function notices that, or launch__close() sees the launch and waits for it. Return: false if
 * the window has closed.
 */
static inline __attribute__((always_inline)) bool is_inside(struct launcher *t, uint32_t id,
							    unsigned int now)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&gate, memory_order_relaxed) != now, 0)) {
		set_launch(t, 0);
		atomic_signal_fence(memory_order_seq_cst);
		t->level = 0;
		return false;
	}
	window__mark(id);
	return true;
}

/*
 * Handles a launch, copy or set; inlined, see tell(). @windows: a constant, whether launches are
 * recorded only in windows.
 */
static inline __attribute__((always_inline)) void on_launch_call(CUpti_CallbackId cbid,
								 const CUpti_CallbackData *d,
								 bool windows)
{
	struct launcher *t = this_thread;
	unsigned int now;
	uint64_t ticks;

	if (d->callbackSite != CUPTI_API_ENTER) {
		/*
		 * No start time was stored for a launch that began before the window: the word has
		 * another value.
		 */
		if (windows && t && !t->slot.in_call)
			*d->correlationData = 0;
		call_returned(t, cbid, d);
		return;
	}
	if (windows)
		*d->correlationData = 0;
	now = atomic_load_explicit(&gate, memory_order_acquire);
	if (!probe__launch_attached() || !now)
		return;
	if (__builtin_expect(!t, 0)) {
		t = launcher__new();
		if (!t) {
			atomic_fetch_add(&nr_untagged, 1);
			return;
		}
	}
	if (__builtin_expect(names__wanted(), 0))
		names__launch(cbid, d);
	if (__builtin_expect(t->level, 0)) {
		if (windows)
			window__mark(d->correlationId);
		tell_nested(t, cbid, d);
		begin_call(t, cbid, d, 0);
		return;
	}
	if (__builtin_expect(atomic_load_explicit(&t->range_logged, memory_order_relaxed) !=
			     t->slot.range_id, 0))
		log_range(t);
	t->level = 1;
	atomic_signal_fence(memory_order_seq_cst);
	set_launch(t, d->correlationId);
	if (windows && !is_inside(t, d->correlationId, now))
		return;
	t->slot.cbid = cbid;
	t->slot.domain = CUPTI_CB_DOMAIN_DRIVER_API;
	ticks = tell(t, &t->slot, 0);
	/*
	 * Counted after the launch is logged: a thread that sees the count can also send the
	 * launch.
	 */
	machine__count(&t->nr_launches);
	begin_call(t, cbid, d, ticks);
}

/* Logs the call @cbid, numbered as in struct xpu_call, at its entry and exit. */
static inline __attribute__((always_inline)) void time_call(uint16_t cbid,
							    const CUpti_CallbackData *d)
{
	struct launcher *t = this_thread;

	if (d->callbackSite != CUPTI_API_ENTER) {
		if (t)
			call_log__end(t->calls, cbid, d);
		return;
	}
	if (__builtin_expect(!t, 0)) {
		if (!calls__are_wanted())
			return;
		t = launcher__new();
		if (!t) {
			calls__count_bad();
			return;
		}
	}
	call_log__begin(t->calls, cbid, d, __builtin_frame_address(0));
}

/* Calls of the runtime have callbacks only to be logged. */
static HOT_CODE __attribute__((noinline)) void on_runtime_call(CUpti_CallbackId cbid,
							       const CUpti_CallbackData *d)
{
	time_call(cbid | XPU_CALL_RUNTIME, d);
}

/* on_call() for driver calls that are logged as API calls or launch nothing. */
static inline __attribute__((always_inline)) void
on_other(CUpti_CallbackId cbid, const CUpti_CallbackData *d, bool windows)
{
	if (wait__flags(cbid) & WAIT_TIMED)
		time_call(cbid, d);
	if (wait__call(cbid) < WAIT_STREAM)
		on_launch_call(cbid, d, windows);
	else
		on_wait_call(cbid, d);
}

static HOT_CODE __attribute__((noinline)) void on_other_call(CUpti_CallbackId cbid,
							     const CUpti_CallbackData *d)
{
	on_other(cbid, d, false);
}

static __attribute__((noinline)) void on_other_call_in_windows(CUpti_CallbackId cbid,
							       const CUpti_CallbackData *d)
{
	on_other(cbid, d, true);
}

static inline __attribute__((always_inline)) void
on_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data, bool windows)
{
	if (__builtin_expect(domain != CUPTI_CB_DOMAIN_DRIVER_API, 0)) {
		if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
			on_runtime_call(cbid, data);
		else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
			on_resource(cbid, data);
		return;
	}
	if (__builtin_expect(wait__flags(cbid) < WAIT_STREAM, 1))
		on_launch_call(cbid, data, windows);
	else if (windows)
		on_other_call_in_windows(cbid, data);
	else
		on_other_call(cbid, data);
}

HOT_CODE void CUPTIAPI launch__callback(void *userdata, CUpti_CallbackDomain domain,
					CUpti_CallbackId cbid, const void *data)
{
	(void)userdata;
	on_call(domain, cbid, data, false);
}

void CUPTIAPI launch__callback_in_windows(void *userdata, CUpti_CallbackDomain domain,
					  CUpti_CallbackId cbid, const void *data)
{
	(void)userdata;
	on_call(domain, cbid, data, true);
}

/* ---- memory ---------------------------------------------------------------------------------- */

HOT_MEMORY struct alloc_call *launch__alloc_call(void)
{
	struct launcher *t = this_thread;

	if (__builtin_expect(!t, 0))
		t = launcher__new();
	return t ? &t->alloc_call : NULL;
}

/* Fills in the members of an event's slot that only readers of its frames need. */
static void complete(const struct launcher *t, struct xpu_slot *slot)
{
	*slot = (struct xpu_slot){
		.size = sizeof(*slot),
		.cbid = slot->cbid,
		.domain = slot->domain,
		.flags = slot->flags,
		.nr_frames = slot->nr_frames,
		.frames = slot->frames,
		.home = t->slot.home,
		.log = t->slot.log,
		.range_id = t->slot.range_id,
	};
}

static __attribute__((noinline)) uint32_t number_walked(struct launcher *t, struct xpu_slot *slot,
							enum python_mode python)
{
	uint64_t frames[XPU_FP_FRAMES];

	complete(t, slot);
	if (python != PYTHON_OFF)
		python__chain(&t->python, 0, t->unwinder ? unwinder__stack(t->unwinder, 0) : NULL,
			      slot);
	if (!slot->nr_frames) {		/* the shim does not unwind: walk as the kernel does */
		slot->nr_frames = walk_fp(frames, XPU_FP_FRAMES);
		slot->frames = (uintptr_t)frames;
		slot->flags = slot->nr_frames == XPU_FP_FRAMES ? XPU_CHAIN_TRUNCATED : 0;
	}
	if (!slot->nr_frames)
		return 0;
	return paths__number_walked(t->paths, slot, t->unwinder, t->python, python);
}

/*
 * The cold part of path_number(): the path was not guessed, or has to be defined for a new
 * listener.
 */
static __attribute__((noinline)) uint32_t
number_otherwise(struct launcher *t, struct xpu_slot *slot, enum python_mode python, uint32_t id)
{
	if (id == PATHS_WALKED)
		return number_walked(t, slot, python);
	slot->frames = slot->nr_frames = slot->flags = 0;
	complete(t, slot);
	return paths__define(t->paths, slot);
}

/*
 * Return: the number of the calling thread's call path to function @cbid of @domain; 0: the path
 * could not be kept.
 */
static inline __attribute__((always_inline)) uint32_t path_number(struct launcher *t,
								  uint32_t domain, uint32_t cbid)
{
	enum python_mode python = atomic_load_explicit(&python__mode, memory_order_acquire);
	struct xpu_slot slot;		/* set by paths__number() and complete() */
	uint32_t id = PATHS_WALKED;

	if (__builtin_expect(t->unwinder && python != PYTHON_ONLY, 1)) {
		id = paths__number(t->paths, t->unwinder, &slot, domain, cbid, python);
	} else {
		slot.cbid = cbid;
		slot.domain = domain;
		slot.frames = slot.nr_frames = slot.flags = 0;
	}
	return __builtin_expect(id <= XPU_MAX_PATHS, 1) ? id :
	       number_otherwise(t, &slot, python, id);
}

/*
 * Sends an event by itself: the thread has no log or no room in it, or the event interrupts a
 * launch.
 */
static __attribute__((noinline, cold)) void send_alloc(struct launcher *t, const struct alloc *a,
						       uint32_t path)
{
	struct xpu_record_alloc r = {
		.hdr = { XPU_RECORD_ALLOC, 0, sizeof(r) },
		.time_ns = clock__ns(),
		.order = a->order,
		.event = {
			.path_id = path,
			.range_id = t ? t->slot.range_id : 0,
			.what = a->what,
			.space = a->space,
			.device = a->device,
			.extra = a->extra,
			.address = a->address,
			.bytes = a->bytes,
		},
	};

	probe__batch(&r, sizeof(r));
}

/* Whether the log has the thread's current range. */
static inline bool has_range(const struct launcher *t)
{
	return atomic_load_explicit(&t->range_logged, memory_order_relaxed) == t->slot.range_id;
}

/*
 * The log has no room, or the listener does not know the thread yet: an event with a path
 * introduces it.
 */
static __attribute__((noinline, cold)) void tell_otherwise(struct launcher *t,
							   const struct alloc *a, uint32_t domain,
							   uint32_t cbid, uint32_t path)
{
	if (!path && !paths__is_told(t->paths)) {
		path = path_number(t, domain, cbid);
		if (paths__alloc(t->paths, a, path))
			return;
	}
	send_alloc(t, a, path);
}

/*
 * Records an event, with its call path only if it makes memory. A free's path would cost as much as
 * an allocation's and says little: a garbage collector or a cache makes many of the frees.
 */
static inline __attribute__((always_inline)) void
tell_event(struct launcher *t, const struct alloc *a, uint32_t domain, uint32_t cbid, bool log)
{
	uint32_t path = 0;

	t->level = 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (a->what == XPU_ALLOC_MADE || a->what == XPU_ALLOC_FAILED)
		path = path_number(t, domain, cbid);
	if (!log)
		send_alloc(t, a, path);
	else if (__builtin_expect(!paths__alloc(t->paths, a, path), 0))
		tell_otherwise(t, a, domain, cbid, path);
	atomic_signal_fence(memory_order_seq_cst);
	t->level = 0;
	machine__count(&t->nr_allocs);
}

/*
 * Records a thread's first event, an event in a signal handler, or one in a range that the log
 * lacks.
 */
static __attribute__((noinline, cold)) void tell_apart(const struct alloc *a, uint32_t domain,
						       uint32_t cbid)
{
	struct launcher *t = this_thread;

	if (!t && !(t = launcher__new())) {
		send_alloc(NULL, a, 0);
		return;
	}
	if (t->level) {			/* a signal handler interrupted the recording of a launch */
		send_alloc(t, a, 0);
		machine__count(&t->nr_allocs);
		return;
	}
	if (!has_range(t))
		log_range(t);
	tell_event(t, a, domain, cbid, has_range(t));
}

HOT_MEMORY void launch__tell_alloc(const struct alloc *a, uint32_t domain, uint32_t cbid)
{
	struct launcher *t = this_thread;

	if (!probe__launch_attached())
		return;
	if (__builtin_expect(!t || t->level || !has_range(t), 0))
		tell_apart(a, domain, cbid);
	else
		tell_event(t, a, domain, cbid, true);
}

bool launch__is_launch(const char *name)
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

bool launch__inside(void)
{
	return this_thread && this_thread->level;
}

bool launch__make_log(void)
{
	return this_thread || launcher__new();
}

atomic_uint *launch__range_logged(void)
{
	return this_thread ? &this_thread->range_logged : NULL;
}

bool launch__log_range(uint64_t time_ns, uint32_t id, uint32_t code)
{
	struct launcher *t = this_thread;
	bool logged;

	if (__builtin_expect(!t, 0) && !(t = launcher__new()))
		return false;
	t->level = 1;
	atomic_signal_fence(memory_order_seq_cst);
	logged = paths__range(t->paths, time_ns, id, code);
	if (logged) {
		if (XPU_LOG_RANGE_WHAT(code) != XPU_RANGE_MARK)
			atomic_store_explicit(&t->range_logged, id, memory_order_relaxed);
		machine__count(&t->nr_ranges);
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->level = 0;
	return logged;
}

void launch__set_range(uint32_t id, bool logged)
{
	struct launcher *t = this_thread;

	if (!t)
		return;
	t->slot.range_id = id;
	if (!logged)
		atomic_store_explicit(&t->range_logged, LAUNCH_RANGE_UNKNOWN, memory_order_relaxed);
}

void launch__forget_ranges(void)
{
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	for (t = threads; t; t = t->next)
		atomic_store(&t->range_logged, LAUNCH_RANGE_UNKNOWN);
	lock__give(&lock, &old);
}

void launch__enable(bool on)
{
	unsigned int next = 0;

	while (on && !next)		/* 0 after 2^32 openings */
		next = atomic_fetch_add(&last_gate, 1) + 1;
	atomic_store(&gate, next);
}

/* Return: whether a thread is inside a launch that was recorded. Called with the lock held. */
static bool any_in_launch(void)
{
	struct launcher *t;
	uint32_t id;

	for (t = threads; t; t = t->next) {
		id = launch_of(t);
		if (id && id != t->stuck_id && !atomic_load(&t->dead) && t != this_thread)
			return true;
	}
	return false;
}

void launch__close(void)
{
	const struct timespec pause = { 0, CLOSE_PAUSE_NS };
	uint64_t end = clock__ns() + CLOSE_WAIT_NS;
	struct launcher *t;
	sigset_t old;
	bool any;

	launch__enable(false);
	threads__barrier();
	for (;;) {
		lock__take(&lock, &old);
		any = any_in_launch();
		if (any && clock__ns() < end) {
			lock__give(&lock, &old);
			nanosleep(&pause, NULL);
			continue;
		}
		for (t = threads; t; t = t->next)
			t->stuck_id = any ? launch_of(t) : 0;
		lock__give(&lock, &old);
		break;
	}
}

static void add_totals(struct launch_totals *totals, struct launcher *t)
{
	totals->nr_launches += atomic_load_explicit(&t->nr_launches, memory_order_acquire);
	totals->nr_ranges += atomic_load_explicit(&t->nr_ranges, memory_order_acquire);
	totals->nr_allocs += atomic_load_explicit(&t->nr_allocs, memory_order_acquire);
	totals->nr_calls += call_log__nr(t->calls);
	totals->nr_threads++;
}

uint64_t launch__nr(void)
{
	struct launch_totals totals;
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	totals = dead;
	for (t = threads; t; t = t->next)
		add_totals(&totals, t);
	lock__give(&lock, &old);
	return totals.nr_launches + atomic_load(&nr_nested);
}

void launch__send(struct launch_totals *totals)
{
	struct launcher **link = &threads, *t;
	bool is_dead;
	sigset_t old;

	lock__take(&lock, &old);
	*totals = dead;
	totals->nr_launches += atomic_load(&nr_untagged) + atomic_load(&nr_nested);
	while ((t = *link)) {
		is_dead = atomic_load_explicit(&t->dead, memory_order_acquire);
		add_totals(totals, t);
		paths__send(t->paths);
		call_log__send(t->calls);
		if (is_dead) {
			add_totals(&dead, t);
			*link = t->next;
			python__free(t->python);
			paths__free(t->paths);
			launcher__free(t);
		} else {
			link = &t->next;
		}
	}
	lock__give(&lock, &old);
}

void launch__repeat_definitions(void)
{
	struct launcher *t;
	sigset_t old;

	paths__new_listener();
	lock__take(&lock, &old);
	for (t = threads; t; t = t->next)
		paths__repeat(t->paths);
	lock__give(&lock, &old);
	if (probe__ranges_wanted())
		ranges__repeat();
	calls__repeat_definitions();
}

void launch__cut_calls(void)
{
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	for (t = threads; t; t = t->next)
		if (!atomic_load(&t->dead) && call_log__is_open(t->calls))
			calls__count_bad();
	lock__give(&lock, &old);
}

void launch__discard(void)
{
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	for (t = threads; t; t = t->next) {
		paths__discard(t->paths);
		call_log__discard(t->calls);
		t->slot.range_id = 0;
	}
	lock__give(&lock, &old);
}

void launch__forked(void)
{
	struct launcher *t, *next;

	/* The parent goes on using the pages that it shares with the recorder. */
	for (t = threads; t; t = next) {
		next = t->next;
		if (t->pages)
			shm__leave_pages(t);
	}
	threads = NULL;
	atomic_store(&gate, 0);
	pthread_mutex_init(&lock, NULL);
	/*
	 * The parent sends the entries of this thread's log; the child must not call a probe site
	 * here.
	 */
	this_thread = NULL;
}
