// SPDX-License-Identifier: MIT
#include "launch/launcher.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "arch/this_arch.h"
#include "base/all_threads.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/lock.h"
#include "base/memory.h"
#include "launch/own_maps.h"
#include "wire/probe.h"
#include "wire/shm.h"
#include "xpu_record.h"

#define CLOSE_PAUSE_NS	20000
#define CLOSE_WAIT_NS	100000000	/* limited, since a launch may wait for a queue that needs
					 * this thread */

__thread struct launcher *launcher__this __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* see lock.h */
static struct launcher *threads;			/* used under lock */
static struct launch_totals dead;		/* totals of the threads that have ended */
atomic_uint_fast64_t launcher__nr_nested, launcher__nr_untagged;
atomic_uint_fast64_t launcher__nr_other_allocs, launcher__nr_lost_waits;
HOT_DATA atomic_uint launcher__gate;
static atomic_uint last_gate;

/* Return: the launch that @t's thread is in, or 0. May be called on any thread. */
static uint32_t launch_of(const struct launcher *t)
{
	return __atomic_load_n(&t->slot.correlation_id, __ATOMIC_ACQUIRE);
}

void launcher__exit(void)
{
	struct launcher *t = launcher__this;

	if (!t)
		return;
	launcher__this = NULL;
	if (call_log__is_open(t->calls))
		calls__count_bad();
	paths__send(t->paths);
	atomic_store_explicit(&t->dead, true, memory_order_release);
}

/*
 * Return: the offset of the log of calls from the end of struct launcher. The paths and the
 * unwinder lie before the log.
 */
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

__attribute__((cold)) struct launcher *launcher__new(void)
{
	int saved_errno = errno;
	struct launcher *t;
	sigset_t old;

	signals__block(&old);
	t = launcher__this;
	if (t)
		goto out;		/* a signal handler made the struct meanwhile */
	t = memory__map(launcher_bytes());
	if (!t)
		goto out;
	pthread_mutex_lock(&lock);
	if (probe__shares_memory() &&
	    !shm__take_pages(t, sizeof(*t) + paths__log_at(), &t->pages)) {
		munmap(t, launcher_bytes());
		t = NULL;
		goto unlock;
	}
	if (!all_threads__watch_end()) {
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
	launcher__this = t;
	own_maps__name_thread(((const struct xpu_log *)(uintptr_t)t->slot.log)->tid);
unlock:
	pthread_mutex_unlock(&lock);
out:
	signals__restore(&old);
	errno = saved_errno;
	return t;
}

bool launcher__inside(void)
{
	return launcher__this && launcher__this->level;
}

bool launcher__make_log(void)
{
	return launcher__this || launcher__new();
}

atomic_uint *launcher__range_logged(void)
{
	return launcher__this ? &launcher__this->range_logged : NULL;
}

bool launcher__log_range(uint64_t time_ns, uint32_t id, uint32_t code)
{
	struct launcher *t = launcher__this;
	bool logged;

	if (__builtin_expect(!t, 0) && !(t = launcher__new()))
		return false;
	t->level = 1;
	atomic_signal_fence(memory_order_seq_cst);
	logged = paths__range(t->paths, time_ns, id, code);
	if (logged) {
		if (XPU_LOG_RANGE_WHAT(code) != XPU_RANGE_MARK)
			atomic_store_explicit(&t->range_logged, id, memory_order_relaxed);
		arch__count(&t->nr_ranges);
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->level = 0;
	return logged;
}

void launcher__set_range(uint32_t id, bool logged)
{
	struct launcher *t = launcher__this;

	if (!t)
		return;
	t->slot.range_id = id;
	if (!logged)
		atomic_store_explicit(&t->range_logged, LAUNCH_RANGE_UNKNOWN, memory_order_relaxed);
}

void launcher__forget_ranges(void)
{
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	for (t = threads; t; t = t->next)
		atomic_store(&t->range_logged, LAUNCH_RANGE_UNKNOWN);
	lock__give(&lock, &old);
}

void launcher__enable(bool on)
{
	unsigned int next = 0;

	while (on && !next)		/* after 2^32 openings the number is 0: skip it */
		next = atomic_fetch_add(&last_gate, 1) + 1;
	atomic_store(&launcher__gate, next);
}

/*
 * Return: how many other threads are inside a launch that was tagged. Called with the lock held.
 * @stuck: also count threads that launcher__close() has waited for in vain
 */
static unsigned int nr_in_launch(bool stuck)
{
	unsigned int nr = 0;
	struct launcher *t;
	uint32_t id;

	for (t = threads; t; t = t->next) {
		id = launch_of(t);
		nr += id && (stuck || id != t->stuck_id) && !atomic_load(&t->dead) &&
		      t != launcher__this;
	}
	return nr;
}

bool launcher__any_in_launch(void)
{
	sigset_t old;
	bool any;

	lock__take(&lock, &old);
	any = nr_in_launch(true);
	lock__give(&lock, &old);
	return any;
}

bool launcher__close(void)
{
	const struct timespec pause = { 0, CLOSE_PAUSE_NS };
	uint64_t end = clock__ns() + CLOSE_WAIT_NS;
	struct launcher *t;
	sigset_t old;
	bool any, all;

	launcher__enable(false);
	all_threads__barrier();
	for (;;) {
		lock__take(&lock, &old);
		any = nr_in_launch(false);
		if (any && clock__ns() < end) {
			lock__give(&lock, &old);
			nanosleep(&pause, NULL);
			continue;
		}
		all = !nr_in_launch(true);
		for (t = threads; t; t = t->next)
			t->stuck_id = all ? 0 : launch_of(t);
		lock__give(&lock, &old);
		return all;
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

uint64_t launcher__nr(void)
{
	struct launch_totals totals;
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	totals = dead;
	for (t = threads; t; t = t->next)
		add_totals(&totals, t);
	lock__give(&lock, &old);
	return totals.nr_launches + atomic_load(&launcher__nr_nested);
}

void launcher__send(struct launch_totals *totals)
{
	struct launcher **link = &threads, *t;
	bool is_dead;
	sigset_t old;

	lock__take(&lock, &old);
	*totals = dead;
	totals->nr_launches += atomic_load(&launcher__nr_untagged);
	totals->nr_launches += atomic_load(&launcher__nr_nested);
	totals->nr_allocs += atomic_load(&launcher__nr_other_allocs);
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

void launcher__repeat_definitions(void)
{
	struct launcher *t;
	sigset_t old;

	paths__new_listener();
	lock__take(&lock, &old);
	for (t = threads; t; t = t->next)
		paths__repeat(t->paths);
	lock__give(&lock, &old);
}

void launcher__cut_calls(void)
{
	struct launcher *t;
	sigset_t old;

	lock__take(&lock, &old);
	for (t = threads; t; t = t->next)
		if (!atomic_load(&t->dead) && call_log__is_open(t->calls))
			calls__count_bad();
	lock__give(&lock, &old);
}

void launcher__discard(void)
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

void launcher__forked(void)
{
	struct launcher *t, *next;

	/* The pages that are shared with the recorder still belong to the parent. */
	for (t = threads; t; t = next) {
		next = t->next;
		if (t->pages)
			shm__leave_pages(t);
	}
	threads = NULL;
	atomic_store(&launcher__gate, 0);
	pthread_mutex_init(&lock, NULL);
	/* The parent sends this log's entries; the child must not call a probe site here. */
	launcher__this = NULL;
}
