// SPDX-License-Identifier: MIT
/*
 * The launch path. A warm thread does what launch__entered() shows and nothing more: it finds its
 * call path, and makes an entry in its log or calls the probe, all in memory of its own. It takes
 * no lock, allocates nothing, makes no system call and touches no shared cache line.
 */
#include "launch/launch.h"

#include <errno.h>
#include <stdatomic.h>

#include "arch/this_arch.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/lock.h"
#include "base/walk_fp.h"
#include "launch/calls.h"
#include "launch/capture_window.h"
#include "launch/generation.h"
#include "launch/launcher.h"
#include "launch/paths.h"
#include "launch/ranges.h"
#include "launch/refused.h"
#include "launch/unwind.h"
#include "python/python.h"
#include "wire/probe.h"
#include "xpu_record.h"

/* Makes the calling thread's struct, and logs the range events that have waited for a log. */
static __attribute__((noinline, cold)) struct launcher *start_thread(void)
{
	int saved_errno = errno;
	struct launcher *t;
	sigset_t old;

	signals__block(&old);
	t = launcher__new();
	if (t)
		ranges__have_log();
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
		launcher__log_range(0, t->slot.range_id, XPU_LOG_RANGE | XPU_RANGE_SET);
}

/* Notices that the code has changed, if the thread has no unwinder to do so; see own_maps.h. */
static __attribute__((noinline, cold)) void meet_code(const struct launcher *t)
{
	if (!t->unwinder)
		generation__meet();
}

/*
 * Records the launch in @slot, whose chain was walked or is empty: adds Python's frames, then logs
 * the launch or calls the probe. @known: whether the path of the launch may be remembered.
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

static __attribute__((noinline, cold)) uint64_t
tell_without_unwinder(struct launcher *t, struct xpu_slot *slot, unsigned int level,
		      enum python_mode python, bool known)
{
	meet_code(t);
	return tell_walked(t, slot, level, python, known);
}

/*
 * Guesses another path if the launch of @launcher does not come from the guessed path. This
 * function is an unwind_other_fn.
 */
static const struct unwind_trace *guess_again(void *launcher, const struct unwind_miss *miss)
{
	struct launcher *t = launcher;

	return paths__guess_again(t->paths, &t->slot,
				  atomic_load_explicit(&python__mode, memory_order_relaxed), miss);
}

/*
 * Records every launch, every call that has waited, and every graph node that is made:
 *
 *	paths__guess()		guesses the path that followed the previous path last time
 *	unwinder__chain()	checks this guess and the guesses of paths__guess_again(); walks the
 *				stack if all guesses are wrong
 *	paths__tell_guessed()	a guess was right: logs the launch, or calls the probe for it
 *	paths__tell_walked()	the stack was walked: remembers the path and logs the launch, or
 *				calls the probe for it
 *	probe__launch()		remembers nothing; used for graph nodes, and for launches that
 *				interrupt another launch, have no frames, or are in a range that the
 *				log lacks
 *
 * The function is inlined, because its own stack frame would have to be unwound, too. @level: see
 * unwinder__chain().
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
	if (!t->unwinder || python == PYTHON_ONLY)
		ticks = tell_without_unwinder(t, slot, level, python, known);
	else if (__builtin_expect(unwinder__chain(t->unwinder, level, slot, guess,
						  known && !slot->wait_ns ? guess_again : NULL, t),
				  1))
		ticks = paths__tell_guessed(t->paths, slot);
	else
		ticks = tell_walked(t, slot, level, python, known);
	atomic_signal_fence(memory_order_seq_cst);
	t->level = level;
	return ticks;
}

/*
 * Records a launch that a signal handler makes after it has interrupted the recording of another
 * launch. The interrupted launch is not affected.
 */
static __attribute__((noinline, cold)) void tell_nested(struct launcher *t, uint32_t domain,
							uint32_t call, uint32_t id)
{
	struct xpu_slot slot = {
		.size = sizeof(slot),
		.correlation_id = id,
		.cbid = call,
		.domain = domain,
		.home = (uintptr_t)&t->slot,
		.range_id = t->slot.range_id,
	};

	tell(t, &slot, t->level);
	atomic_fetch_add(&launcher__nr_nested, 1);
}

/*
 * While a launch is captured, the thread's slot still names it. The node gets the launch's id, so
 * that xpumerge expects no device record for the launch. In an explicit call that adds a node, the
 * slot names no launch, or a launch of another API.
 */
__attribute__((cold)) void launch__node_made(uint64_t node, uint32_t domain, uint32_t call)
{
	struct launcher *t = launcher__this;
	struct xpu_slot slot = {
		.size = sizeof(slot),
		.cbid = call,
		.domain = domain,
		.graph_node_id = node,
	};

	if (!t && !(t = start_thread())) {
		atomic_fetch_add(&launcher__nr_untagged, 1);
		return;
	}
	slot.correlation_id = launch__current(XPU_API(domain));
	if (slot.correlation_id) {
		slot.cbid = t->slot.cbid;
		slot.domain = t->slot.domain;
	}
	slot.home = t->slot.home;
	slot.log = t->slot.log;
	slot.range_id = t->slot.range_id;
	tell(t, &slot, t->level);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

/* Begins to measure a call that began at @ticks; 0: now. */
static inline void begin_call(struct launcher *t, uint64_t *start, uint32_t timed, uint64_t ticks)
{
	if (!timed)
		return;
	t->slot.in_call = 1;
	*start = ticks ? ticks : clock__ticks();
}

/* Records a call that has waited. The call has ended, so this may take time. */
__attribute__((cold)) void launch__waited(uint32_t domain, uint32_t call, const struct gpu_wait *w)
{
	struct launcher *t = launcher__this;		/* made when the measurement of the call
							 * began; NULL: memory was short */
	struct xpu_slot slot = {
		.size = sizeof(slot),
		.correlation_id = w->correlation_id,
		.cbid = call,
		.domain = domain,
		.wait_ns = w->ns,
		.wait_start_ns = w->start_ns,
		.wait_context = w->context,
		.wait_stream = w->stream,
		.wait_flags = w->flags,
	};

	if (!launch__is_on())
		return;
	if (!t) {
		atomic_fetch_add(&launcher__nr_lost_waits, 1);
		return;
	}
	slot.home = t->slot.home;
	slot.range_id = t->slot.range_id;
	tell(t, &slot, t->level);
}

/* Announces the slot of a thread that waits but has never launched anything. */
static __attribute__((noinline, cold)) struct launcher *introduce(void)
{
	struct launcher *t = start_thread();

	if (t)
		probe__launch(&t->slot);
	return t;
}

void launch__wait_entered(uint64_t *start)
{
	struct launcher *t = launcher__this;

	*start = 0;
	if (!launch__is_on())
		return;
	if (t || (t = introduce()))
		begin_call(t, start, true, 0);
	else
		*start = clock__ticks();
}

void launch__wait_left(void)
{
	if (launcher__this)
		launcher__this->slot.in_call = 0;
}

/* ---- launches -------------------------------------------------------------------------------- */

__attribute__((cold)) void launch__refused(uint32_t domain, uint32_t id, uint32_t why)
{
	refused__add(XPU_API(domain), id, why);	/* must be first: launcher__close() waits for
						 * launch__left() */
	launch__left();
}

HOT_CODE void launch__left(void)
{
	struct launcher *t = launcher__this;

	if (t && !t->level) {		/* otherwise this is a signal handler: see tell_nested() */
		launcher__set_launch(t, 0);	/* the launch is over */
		t->slot.in_call = 0;
	}
}

/*
 * Sets a launch's start to 0 if the launch began before the window: no start time was stored then,
 * and *@start has an unrelated value.
 */
void launch__forget_start(uint64_t *start)
{
	if (launcher__this && !launcher__this->slot.in_call)
		*start = 0;
}

bool launch__is_on(void)
{
	return probe__launch_attached() &&
	       atomic_load_explicit(&launcher__gate, memory_order_acquire);
}

bool launch__is_inside(void)
{
	return launcher__inside();
}

uint32_t launch__current(unsigned int api)
{
	const struct launcher *t = launcher__this;

	return t && XPU_API(t->slot.domain) == api ? t->slot.correlation_id : 0;
}

/*
 * Announces the launch that the thread is about to record. If the window closes meanwhile, either
 * this function notices that, or launcher__close() sees the launch and waits for it. Return: false
 * if the window has closed.
 */
static inline __attribute__((always_inline)) bool is_inside(struct launcher *t, uint32_t domain,
							    uint32_t id, unsigned int now)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&launcher__gate, memory_order_relaxed) !=
			     now, 0)) {
		launcher__set_launch(t, 0);
		atomic_signal_fence(memory_order_seq_cst);
		t->level = 0;
		return false;
	}
	capture_window__mark(XPU_API(domain), id);
	return true;
}

/*
 * Handles the entry of a launch, copy or set. Inlined: see tell(). @windows: whether launches are
 * recorded only in windows; always a constant
 */
static inline __attribute__((always_inline)) void
on_launch(uint32_t domain, uint32_t call, uint32_t id, uint64_t *start, uint32_t timed,
	  bool windows)
{
	struct launcher *t = launcher__this;
	unsigned int now;
	uint64_t ticks;

	if (windows)
		*start = 0;
	now = atomic_load_explicit(&launcher__gate, memory_order_acquire);
	if (!probe__launch_attached() || !now)
		return;
	if (__builtin_expect(!t, 0)) {
		t = start_thread();
		if (!t) {
			atomic_fetch_add(&launcher__nr_untagged, 1);
			return;
		}
	}
	if (__builtin_expect(t->level, 0)) {
		if (windows)
			capture_window__mark(XPU_API(domain), id);
		tell_nested(t, domain, call, id);
		begin_call(t, start, timed, 0);
		return;
	}
	if (__builtin_expect(atomic_load_explicit(&t->range_logged, memory_order_relaxed) !=
			     t->slot.range_id, 0))
		log_range(t);
	t->level = 1;
	atomic_signal_fence(memory_order_seq_cst);
	launcher__set_launch(t, id);
	if (windows && !is_inside(t, domain, id, now))
		return;
	t->slot.cbid = call;
	t->slot.domain = domain;
	ticks = tell(t, &t->slot, 0);
	/*
	 * Counted after the launch is logged: a thread that sees the count can also send the
	 * launch.
	 */
	arch__count(&t->nr_launches);
	begin_call(t, start, timed, ticks);
}

HOT_CODE void launch__entered(uint32_t domain, uint32_t call, uint32_t id, uint64_t *start,
			      uint32_t timed)
{
	on_launch(domain, call, id, start, timed, false);
}

void launch__entered_in_windows(uint32_t domain, uint32_t call, uint32_t id, uint64_t *start,
				uint32_t timed)
{
	on_launch(domain, call, id, start, timed, true);
}

/* ---- calls of the API ------------------------------------------------------------------------ */

HOT_CODE void launch__call_entered(uint16_t call, uint32_t id, const void *frame)
{
	struct launcher *t = launcher__this;

	if (__builtin_expect(!t, 0)) {
		if (!calls__are_wanted())
			return;
		t = start_thread();
		if (!t) {
			calls__count_bad();
			return;
		}
	}
	call_log__begin(t->calls, call, id, frame);
}

HOT_CODE void launch__call_left(uint16_t call, uint32_t id)
{
	if (launcher__this)
		call_log__end(launcher__this->calls, call, id);
}

/* ---- memory ---------------------------------------------------------------------------------- */

HOT_MEMORY struct alloc_call *launch__alloc_call(void)
{
	struct launcher *t = launcher__this;

	if (__builtin_expect(!t, 0))
		t = start_thread();
	return t ? &t->alloc_call : NULL;
}

__attribute__((cold)) void launch__alloc_lost(void)
{
	atomic_fetch_add(&launcher__nr_other_allocs, 1);
}

/* Fills in the members of an event's slot that are needed only together with its frames. */
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
	if (!slot->nr_frames) {		/* the shim does not unwind: walk as Linux does */
		slot->nr_frames = walk_fp(frames, XPU_FP_FRAMES);
		slot->frames = (uintptr_t)frames;
		slot->flags = slot->nr_frames == XPU_FP_FRAMES ? XPU_CHAIN_TRUNCATED : 0;
	}
	if (!slot->nr_frames)
		return 0;
	return paths__number_walked(t->paths, slot, t->unwinder, t->python, python);
}

/*
 * Does the cold part of path_number(), if the path was not guessed or has to be defined for a new
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
		meet_code(t);
		slot.cbid = cbid;
		slot.domain = domain;
		slot.frames = slot.nr_frames = slot.flags = 0;
	}
	return __builtin_expect(id <= XPU_MAX_PATHS, 1) ? id :
	       number_otherwise(t, &slot, python, id);
}

/*
 * Sends a single event, because the thread has no log, or the log has no room, or the event
 * interrupts a launch.
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
			.api = a->api,
			.extra = a->extra,
			.address = a->address,
			.bytes = a->bytes,
		},
	};

	probe__batch(&r, sizeof(r));
}

/* Whether the log contains the thread's current range. */
static inline bool has_range(const struct launcher *t)
{
	return atomic_load_explicit(&t->range_logged, memory_order_relaxed) == t->slot.range_id;
}

/*
 * Records an event that does not go into the log: the log is full, or the listener does not know
 * the thread yet and learns about it from an event with a path.
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
 * Records an event, with its call path only if it makes memory. The path of a free would cost as
 * much as the path of an allocation and say little: many frees come from a garbage collector or a
 * cache.
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
	arch__count(&t->nr_allocs);
}

/*
 * Records a thread's first event, an event in a signal handler, or an event in a range that the log
 * lacks.
 */
static __attribute__((noinline, cold)) void tell_apart(const struct alloc *a, uint32_t domain,
						       uint32_t cbid)
{
	struct launcher *t = launcher__this;

	if (!t && !(t = start_thread())) {
		send_alloc(NULL, a, 0);
		launch__alloc_lost();
		return;
	}
	if (t->level) {			/* this signal handler interrupted the recording of a
					 * launch */
		send_alloc(t, a, 0);
		arch__count(&t->nr_allocs);
		return;
	}
	if (!has_range(t))
		log_range(t);
	tell_event(t, a, domain, cbid, has_range(t));
}

HOT_MEMORY void launch__tell_alloc(const struct alloc *a, uint32_t domain, uint32_t cbid)
{
	struct launcher *t = launcher__this;

	if (!probe__launch_attached())
		return;
	if (__builtin_expect(!t || t->level || !has_range(t), 0))
		tell_apart(a, domain, cbid);
	else
		tell_event(t, a, domain, cbid, true);
}
